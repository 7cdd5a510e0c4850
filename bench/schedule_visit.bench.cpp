// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Visiting a step list, and a plain walk over the same numbers beside it.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/schedule/steps.hpp>
#include <augur/schedule/steps_json.hpp>
#include <benchmark/benchmark.h>

namespace {

/// 25 steps of a tuned 3x3 convolution on a CPU: CHW, SP, RE, FSP, CA, CI, FU, AN, PR.
const augur::step_list& conv2d() {
    static const augur::step_list list = [] {
        auto parsed = augur::parse_steps(
            R"([["CHW", 3, "local"], ["SP", 3, 0, 1, [1, 1, 1], 1], ["SP", 3, 4, 14, [7, 2, 1], 1], ["SP", 3, 8, 14, [14, 1, 1], 1], )"
            R"(["SP", 3, 12, 1024, [2, 2, 16], 1], ["SP", 3, 16, 3, [1], 1], ["SP", 3, 18, 3, [1], 1], ["SP", 3, 20, 512, [4], 1], )"
            R"(["RE", 3, [0, 4, 8, 12, 1, 5, 9, 13, 16, 18, 20, 2, 6, 10, 14, 17, 19, 21, 3, 7, 11, 15]], ["FSP", 4, 0, 1, 2], )"
            R"(["FSP", 4, 3, 2, 2], ["FSP", 4, 6, 3, 2], ["FSP", 4, 9, 4, 2], ["RE", 4, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]], )"
            R"(["CA", 3, 4, 7], ["CI", 1], ["FU", 4, [0, 1, 2, 3, 4, 5, 6, 7]], ["AN", 4, 0, 3], ["PR", 3, 0, "auto_unroll_max_step$16"], )"
            R"(["AN", 3, 21, 2], ["FU", 2, [0, 1, 2]], ["SP", 2, 0, 56, [8], 1], ["AN", 2, 0, 3], ["AN", 2, 1, 2], ["CR", 5]])");
        return parsed ? *std::move(parsed) : augur::step_list{};
    }();
    return list;
}

struct summing_sink {
    std::int64_t sum = 0;
    void primitive(std::string_view kind) { sum += static_cast<std::int64_t>(kind.size()) * 1000; }
    void number(std::int64_t n) { sum += n; }
    void number(double) {}
    void name(std::string_view text) { sum += static_cast<std::int64_t>(text.size()); }
};

} // namespace

static void schedule_visit(benchmark::State& state) {
    const auto& list = conv2d();
    if (list.steps.size() != 25) state.SkipWithError("25 steps expected");
    for (auto _ : state) {
        summing_sink sink;
        augur::schedule_traits<augur::step_list>::visit(list, sink);
        benchmark::DoNotOptimize(sink.sum);
    }
    state.SetItemsProcessed(state.iterations()); // items_per_second = schedules/s; at most 0.5 us each is asked
}
BENCHMARK(schedule_visit);

// The floor: the same numbers in one flat array.
static void flat_walk(benchmark::State& state) {
    augur::recording_sink seen;
    augur::schedule_traits<augur::step_list>::visit(conv2d(), seen);
    std::vector<std::int64_t> flat;
    for (const auto& item : seen.items) flat.push_back(item.integer);
    for (auto _ : state) {
        std::int64_t sum = 0;
        for (const auto n : flat) sum += n;
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(flat_walk);
