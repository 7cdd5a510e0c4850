// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast the schedules of one kernel are adapted to another of its class, as they are or by words, beside a replay of each, and how fast classes are
// compared. One thread; items are schedules, or pairs of kernels.
#include <augur/transfer/schedule_pool.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/loopnest/ir/dag_class.hpp>
#include <augur/loopnest/lower/replay.hpp>
#include <augur/loopnest/lower/replay_cache.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>
#include <augur/workload/class_levels.hpp>

#include "../tests/loopnest/dags.hpp"

namespace {

using namespace augur;

/// Random schedules of a convolution, and the space of one of another shape.
struct transfers {
    loopnest::testing_dags::dag_ptr small = loopnest::testing_dags::conv2d_nhwc_bias_relu(28, 28, 128, 128, 3, 1, 1);
    loopnest::testing_dags::dag_ptr large = loopnest::testing_dags::conv2d_nhwc_bias_relu(56, 56, 64, 64, 3, 1, 1);
    loopnest::ansor_space source = space_of(small), target = space_of(large);
    class_levels levels = loopnest::class_levels_of(*large);
    transfer::schedule_pool pool;
    std::vector<step_list> steps;

    explicit transfers(std::size_t n) {
        random_engine rng(1);
        for (std::size_t i = 0; i < n; ++i) {
            const auto point = sample_path(source, rng).values;
            if (i < 1000) (void)static_cast<bool>(pool.add("conv2d", loopnest::class_levels_of(*small), "", source, point, 1));
            steps.push_back(*source.realise(point));
        }
    }
    static loopnest::ansor_space space_of(const loopnest::testing_dags::dag_ptr& dag) {
        loopnest::ansor_options options;
        options.num_cores = 2;
        return *loopnest::ansor_space::create(dag, options);
    }
};

/// By `replay_cache`, which checks each structure once.
void adapt(benchmark::State& state) {
    const transfers t(static_cast<std::size_t>(state.range(0)));
    std::size_t structures = 0;
    for (auto _ : state) {
        loopnest::replay_cache cache(t.large);
        for (const auto& list : t.steps) {
            auto verdict = cache.check(list);
            benchmark::DoNotOptimize(verdict);
        }
        structures = cache.structures();
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
    state.counters["structures"] = static_cast<double>(structures);
}

/// Each decision takes the nearest legal words.
void adapt_words(benchmark::State& state) {
    const transfers t(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        auto found = t.pool.adapt(t.target, t.levels, "");
        benchmark::DoNotOptimize(found);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// What TVM does with a schedule of another kernel.
void replay(benchmark::State& state) {
    const transfers t(1024);
    std::size_t i = 0;
    for (auto _ : state) {
        auto replayed = loopnest::replay(t.large, t.steps[i++ % t.steps.size()]);
        benchmark::DoNotOptimize(replayed);
    }
    state.SetItemsProcessed(state.iterations());
}

/// Classes at all levels, or by `names` alone.
void match(benchmark::State& state, bool names) {
    const transfers t(1);
    const auto other = loopnest::class_levels_of(*t.small);
    for (auto _ : state) {
        if (names) {
            bool equal = t.levels.at(class_level::operations) == other.at(class_level::operations);
            benchmark::DoNotOptimize(equal);
        } else {
            auto finest = class_agreement(t.levels, other).finest();
            benchmark::DoNotOptimize(finest);
        }
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(adapt)->Name("transfer/adapt")->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(adapt_words)->Name("transfer/adapt/words")->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(replay)->Name("transfer/adapt/replay");
BENCHMARK_CAPTURE(match, levels, false)->Name("transfer/match");
BENCHMARK_CAPTURE(match, names, true)->Name("transfer/match/names");

} // namespace
