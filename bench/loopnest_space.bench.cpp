// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast candidates are drawn, mutated and turned into steps. One thread; items are candidates.
#include <augur/loopnest/schedule/space.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/schedule/hash.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

#include "../tests/loopnest/dags.hpp"

namespace {

using augur::loopnest::testing_dags::dag_ptr;

augur::loopnest::ansor_space space_of(const benchmark::State& state) {
    const dag_ptr dag = state.range(0) == 0   ? augur::loopnest::testing_dags::matmul(512, 512, 512)
                        : state.range(0) == 1 ? augur::loopnest::testing_dags::conv2d_nhwc_bias_relu(56, 56, 64, 64, 3, 1, 1)
                                              : augur::loopnest::testing_dags::softmax({128}, 768);
    augur::loopnest::ansor_options options;
    options.num_cores = 2;
    return *augur::loopnest::ansor_space::create(dag, options);
}

std::vector<augur::decision_path> points(const augur::loopnest::ansor_space& space) {
    std::vector<augur::decision_path> out;
    augur::random_engine rng(1);
    for (int i = 0; i < 256; ++i) out.push_back(augur::sample_path(space, rng));
    return out;
}

void space_create(benchmark::State& state) {
    for (auto _ : state) {
        auto space = space_of(state);
        benchmark::DoNotOptimize(space);
    }
}

void space_sample(benchmark::State& state) {
    const auto space = space_of(state);
    augur::random_engine rng(1);
    for (auto _ : state) {
        auto path = augur::sample_path(space, rng);
        benchmark::DoNotOptimize(path);
    }
    state.SetItemsProcessed(state.iterations());
}

void space_mutate(benchmark::State& state) {
    const auto space = space_of(state);
    const auto parents = points(space);
    augur::random_engine rng(2);
    std::size_t i = 0;
    for (auto _ : state) {
        auto child = augur::mutate_path(space, parents[i++ % parents.size()], augur::mutation_weights::cpu(), rng);
        benchmark::DoNotOptimize(child);
    }
    state.SetItemsProcessed(state.iterations());
}

void space_realise(benchmark::State& state) {
    const auto space = space_of(state);
    const auto all = points(space);
    std::size_t i = 0;
    for (auto _ : state) {
        auto steps = space.realise(all[i++ % all.size()].values);
        benchmark::DoNotOptimize(steps);
    }
    state.SetItemsProcessed(state.iterations());
}

void space_decide(benchmark::State& state) {
    const auto space = space_of(state);
    std::vector<augur::step_list> lists;
    for (const auto& p : points(space)) lists.push_back(*space.realise(p.values));
    std::size_t i = 0;
    for (auto _ : state) {
        auto decisions = space.decide(lists[i++ % lists.size()]);
        benchmark::DoNotOptimize(decisions);
    }
    state.SetItemsProcessed(state.iterations());
}

/// Calls `f(cursor, value)` at each decision of a point.
void at_decisions(const augur::loopnest::ansor_space& space, const augur::decision_vector& point, auto&& f) {
    auto cursor = space.cursor();
    for (const auto value : point) {
        f(cursor, value);
        cursor.choose(value);
    }
}

/// The walk alone, without words: what the three below have in common.
void space_walk(benchmark::State& state) {
    const auto space = space_of(state);
    const auto all = points(space);
    std::size_t i = 0;
    for (auto _ : state)
        at_decisions(space, all[i++ % all.size()].values, [](const auto& cursor, std::uint64_t) { benchmark::DoNotOptimize(&cursor); });
    state.SetItemsProcessed(state.iterations());
}

void space_describe(benchmark::State& state) {
    const auto space = space_of(state);
    const auto all = points(space);
    std::size_t i = 0;
    for (auto _ : state) {
        augur::hashing_sink sink;
        at_decisions(space, all[i++ % all.size()].values, [&](const auto& cursor, std::uint64_t value) {
            cursor.describe(sink);
            cursor.words(value, sink);
        });
        benchmark::DoNotOptimize(sink);
    }
    state.SetItemsProcessed(state.iterations());
}

/// Adapts points of the space to a space whose first axis is half as long.
void space_nearest(benchmark::State& state) {
    const auto space = space_of(state);
    const auto other =
        *augur::loopnest::ansor_space::create(state.range(0) == 0   ? augur::loopnest::testing_dags::matmul(256, 512, 512)
                                              : state.range(0) == 1 ? augur::loopnest::testing_dags::conv2d_nhwc_bias_relu(28, 56, 64, 64, 3, 1, 1)
                                                                    : augur::loopnest::testing_dags::softmax({64}, 768),
                                              space.options());
    std::vector<augur::described_point> words;
    for (const auto& p : points(space)) words.push_back(*augur::describe_point(space, p.values));
    std::size_t i = 0;
    for (auto _ : state) {
        auto adapted = augur::adapt_point(other, words[i++ % words.size()]);
        benchmark::DoNotOptimize(adapted);
    }
    state.SetItemsProcessed(state.iterations());
}

/// Spells points at random, of the likely options as sampling.
void space_spell(benchmark::State& state) {
    const auto space = space_of(state);
    augur::random_engine rng(3);
    for (auto _ : state) {
        augur::hashing_sink sink;
        auto cursor = space.cursor();
        while (const auto d = cursor.next()) {
            auto speller = cursor.speller();
            while (const auto choices = speller.choices()) {
                const auto choice = rng.below(std::min(choices, d->sampled_options()));
                speller.word(choice, sink);
                speller.choose(choice);
            }
            cursor.choose(speller.value());
        }
        benchmark::DoNotOptimize(sink);
    }
    state.SetItemsProcessed(state.iterations());
}

// 0: matmul 512, 1: conv 3x3 NHWC 64x56 with bias and relu, 2: softmax 128x768
BENCHMARK(space_create)->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_sample)->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_mutate)->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_realise)->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_decide)->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_walk)->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_describe)->Name("space/describe")->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_nearest)->Name("space/nearest")->ArgName("kernel")->DenseRange(0, 2);
BENCHMARK(space_spell)->Name("space/spell")->ArgName("kernel")->DenseRange(0, 2);

} // namespace
