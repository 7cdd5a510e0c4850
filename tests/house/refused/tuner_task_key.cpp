// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: the task has a member `key` that is not `key() const -> std::string_view`
#include <augur/search/random.hpp>
#include <augur/tune/tuner.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct kernel {
#if FAIL // not const: naming a task must not change it
    [[nodiscard]] const char* key() { return "dense"; }
#else
    [[nodiscard]] const char* key() const { return "dense"; }
#endif
};
struct space {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return {}; }
    [[nodiscard]] augur::result<plan> realise(std::span<const std::uint64_t>) const { return plan{}; }
};
void check(std::span<const kernel> tasks, std::span<const space> spaces, std::span<augur::random_search> strategies) {
    augur::tuner t(tasks, spaces, strategies);
}
