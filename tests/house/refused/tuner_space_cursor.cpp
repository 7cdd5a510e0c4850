// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: the space has a member `cursor` that is not `cursor() const`
#include <augur/search/random.hpp>
#include <augur/tune/tuner.hpp>
struct plan {
    void visit(auto& sink) const { sink.primitive("split"); }
};
struct kernel {
    [[nodiscard]] const char* key() const { return "dense"; }
};
struct walk {
    [[nodiscard]] static std::optional<augur::decision> next() { return {}; }
    static void choose(std::uint64_t) {}
};
struct space {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return {}; }
    [[nodiscard]] augur::result<plan> realise(std::span<const std::uint64_t>) const { return plan{}; }
#if FAIL // not const
    walk cursor() { return {}; }
#else
    [[nodiscard]] walk cursor() const { return {}; }
#endif
};
void check(std::span<const kernel> tasks, std::span<const space> spaces, std::span<augur::random_search> strategies) {
    augur::tuner t(tasks, spaces, strategies);
}
