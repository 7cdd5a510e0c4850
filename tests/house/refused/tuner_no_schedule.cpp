// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: what the space realises is no schedule: specialise augur::schedule_traits for it
#include <augur/search/random.hpp>
#include <augur/tune/tuner.hpp>
struct plan {
#if !FAIL
    void visit(auto& sink) const { sink.primitive("split"); }
#endif
};
struct kernel {
    [[nodiscard]] const char* key() const { return "dense"; }
};
struct space {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return {}; }
    [[nodiscard]] augur::result<plan> realise(std::span<const std::uint64_t>) const { return plan{}; }
};
void check(std::span<const kernel> tasks, std::span<const space> spaces, std::span<augur::random_search> strategies) {
    augur::tuner t(tasks, spaces, strategies);
}
