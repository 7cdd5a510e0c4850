// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/concepts.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct space {
    std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return {}; }
    augur::result<plan> realise(std::span<const std::uint64_t>) const { return plan{}; }
};
struct strategy {
    augur::result<std::vector<augur::decision_vector>> propose(const space&, auto&, std::size_t, augur::random_engine&) {
        return std::vector<augur::decision_vector>{};
    }
#if !FAIL // a strategy that never hears what came of its proposals is refused
    void observe(std::span<const augur::measured_decisions>) {}
#endif
};
template <augur::search_strategy<space> T>
void search(T&) {}
void check(strategy& s) { search(s); }
