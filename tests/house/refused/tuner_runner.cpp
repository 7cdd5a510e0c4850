// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: the runner is no augur::runner: it needs `measure(const Task&, std::span<const S>)
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
struct board {
#if FAIL // one candidate at a time
    augur::measurement measure(const kernel&, const plan&) { return {}; }
#else
    std::vector<augur::measurement> measure(const kernel&, std::span<const plan> c) { return std::vector<augur::measurement>(c.size()); }
#endif
};
bool check(std::span<const kernel> tasks, std::span<const space> spaces, std::span<augur::random_search> strategies, board& b) {
    augur::tuner t(tasks, spaces, strategies);
    return static_cast<bool>(t.run(b));
}
