// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <augur/model/concepts.hpp>
#include <cstdio>

namespace mycc { // a compiler that knows nothing of augur
struct step { const char* what; int factor; };
struct plan { const char* name; std::vector<step> steps; };
struct kernel { static const char* key() { return "dense 128x128x128"; } };
} // namespace mycc

template <> // 1. say how a plan is read: all the glue there is
struct augur::schedule_traits<mycc::plan> {
    static void visit(const mycc::plan& p, auto& sink) {
        for (const auto& s : p.steps) { sink.primitive(s.what); sink.number(s.factor); }
    }
};

struct simd_first { // 2. a cost model: this one by hand, the learned ones have the same shape
    [[maybe_unused]] static constexpr auto meaning = augur::score_meaning::rank;
    static augur::result<void> score(const mycc::kernel&, std::span<const mycc::plan> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            augur::recording_sink seen; // what any model sees of a schedule: primitives, numbers, names
            augur::schedule_traits<mycc::plan>::visit(batch[i], seen);
            scores[i] = static_cast<float>(seen.items.size());
            for (const auto& item : seen.items) if (item.text == "vectorize") scores[i] += 10;
        }
        return {};
    }
};

int main() {
    using namespace mycc;
    std::array<plan, 3> plans{{{"naive", {}}, {"simd", {{"split", 8}, {"vectorize", 8}}}, {"tiled", {{"split", 8}, {"split", 64}, {"reorder", 0}}}}};
    std::array<float, 3> scores{};
    static_assert(augur::cost_model<simd_first, plan, kernel>); // the compiler says what is missing, in the words of the contract
    if (auto done = simd_first::score({}, plans, scores); !done) return std::puts(done.error().detail.c_str()), 1;
    std::array<std::size_t, 3> order{0, 1, 2}; // 3. higher is better
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
    for (auto i : order) std::printf("%-6s %5.1f\n", plans[i].name, static_cast<double>(scores[i]));
    return order.front() == 1 ? 0 : 1; // it runs as a test, so it checks itself
}
