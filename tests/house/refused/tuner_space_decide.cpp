// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: the space has a member `decide` that is not `decide(const S&) const -> result<decision_vector>`
#include <augur/search/random.hpp>
#include <augur/tune/tuner.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct kernel {
    [[nodiscard]] const char* key() const { return "dense"; }
};
struct space {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return {}; }
    [[nodiscard]] augur::result<plan> realise(std::span<const std::uint64_t>) const { return plan{}; }
#if FAIL // not const
    augur::result<augur::decision_vector> decide(const plan&) { return augur::decision_vector{}; }
#else
    [[nodiscard]] augur::result<augur::decision_vector> decide(const plan&) const { return augur::decision_vector{}; }
#endif
};
void check(std::span<const kernel> tasks, std::span<const space> spaces, std::span<augur::random_search> strategies) {
    augur::tuner t(tasks, spaces, strategies);
}
