// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: deleted
#include <vector>

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
};
void check(std::vector<kernel> tasks, std::vector<space> spaces, std::vector<augur::random_search> strategies) {
#if FAIL // the tuner would keep a reference to a vector that is gone
    augur::tuner t(std::vector<kernel>(1), spaces, strategies);
#endif
    augur::tuner u(tasks, spaces, strategies);
}
