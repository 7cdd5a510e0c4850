// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast the schedules of one kernel are adapted to another of its class, as they are or by words, beside a replay of each, how fast classes are
// compared, and how fast the nearest records of a kernel are found. One thread; items are schedules, pairs of kernels, or kernels.
#include <augur/transfer/schedule_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/loopnest/ir/dag_class.hpp>
#include <augur/loopnest/lower/replay.hpp>
#include <augur/loopnest/lower/replay_cache.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/space/walk.hpp>
#include <augur/transfer/record_index.hpp>
#include <augur/transfer/workload_distance.hpp>
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

/// A million records of 2000 kernels in 50 classes, each class of four DAGs.
struct records {
    static constexpr std::size_t count = 1'000'000;
    std::vector<class_levels> levels;
    std::vector<transfer::workload_arguments> arguments;
    std::vector<std::uint32_t> kernel_of;
    std::vector<double> latency;
    transfer::record_index index;

    records() {
        random_engine rng(1);
        for (int k = 0; k < 2000; ++k) {
            const auto operations = "conv2d add relu of class " + std::to_string(rng.below(50)), dag = operations + std::to_string(rng.below(4));
            transfer::workload_arguments a;
            a.dag = dag;
            std::string text = dag;
            for (int i = 0; i < 8; ++i) {
                a.arguments.push_back({std::int64_t{1} << rng.below(5), {}});
                text += "," + std::to_string(a.arguments.back().number);
            }
            arguments.push_back(std::move(a));
            levels.push_back(class_levels().set(class_level::operations, operations).set(class_level::dag, dag).set(class_level::workload, text));
            index.add_kernel(levels.back(), arguments.back());
        }
        for (std::size_t r = 0; r < count; ++r) {
            kernel_of.push_back(static_cast<std::uint32_t>(rng.below(levels.size())));
            latency.push_back(1 + static_cast<double>(rng.below(1000)));
            index.add_record(kernel_of.back(), r, latency.back());
        }
    }
};

/// The 16 nearest records of a kernel, by the index, or by a look at all of them.
void nearest(benchmark::State& state, bool scan) {
    const records r;
    std::size_t target = 0;
    for (auto _ : state) {
        target = (target + 1) % r.levels.size();
        std::vector<transfer::near_record> out;
        if (scan) {
            for (std::size_t i = 0; i < records::count; ++i) {
                const auto k = r.kernel_of[i];
                const class_agreement agreement(r.levels[k], r.levels[target]);
                if (!agreement.at(class_level::operations) || agreement.at(class_level::workload)) continue;
                const transfer::near_record one{i, k, *agreement.finest(), workload_distance(r.arguments[target], r.arguments[k]), r.latency[i]};
                if (out.size() == 16 && !(one < out.back())) continue;
                out.insert(std::upper_bound(out.begin(), out.end(), one), one);
                if (out.size() > 16) out.pop_back();
            }
        } else {
            out = r.index.nearest(r.levels[target], r.arguments[target], 16);
        }
        benchmark::DoNotOptimize(out);
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK(adapt)->Name("transfer/adapt")->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(adapt_words)->Name("transfer/adapt/words")->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(replay)->Name("transfer/adapt/replay");
BENCHMARK_CAPTURE(nearest, index, false)->Name("transfer/nearest16");
BENCHMARK_CAPTURE(nearest, scan, true)->Name("transfer/scan");
BENCHMARK_CAPTURE(match, levels, false)->Name("transfer/match");
BENCHMARK_CAPTURE(match, names, true)->Name("transfer/match/names");

} // namespace
