// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: the model has a member `meaning` that is not `static constexpr augur::score_meaning meaning`
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
struct model {
#if FAIL // a word is not one of the meanings
    static constexpr const char* meaning = "rank";
#else
    static constexpr auto meaning = augur::score_meaning::rank;
#endif
    augur::result<void> score(const kernel&, std::span<const plan>, std::span<float>) { return {}; }
};
void check(std::span<const kernel> tasks, std::span<const space> spaces, std::span<augur::random_search> strategies, model& m) {
    augur::tuner t(tasks, spaces, strategies, m);
}
