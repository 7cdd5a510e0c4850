// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the searches themselves cost, without model and schedules: walks, mutants and proposals a second on the tile space of a 3x3 convolution.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <augur/search/annealing.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/space/factorisation.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

namespace {

// conv2d NHWC, 56x56x64, 3x3: four spatial axes with three lengths each, three reduced ones with one, unroll, parallel.
struct convolution {
    std::vector<augur::factorisation> axes;
    convolution() {
        for (const std::int64_t extent : {1, 56, 56, 64}) axes.emplace_back(extent, 3);
        for (const std::int64_t extent : {3, 3, 64}) axes.emplace_back(extent, 1);
    }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        if (p.size() < axes.size()) return augur::decision{augur::decision_kind::tile_size, axes[p.size()].count(), 0, true};
        if (p.size() == axes.size()) return augur::decision{augur::decision_kind::unroll, 4, 0, true};
        if (p.size() == axes.size() + 1) return augur::decision{augur::decision_kind::parallel, 4, 2, false};
        return std::nullopt;
    }
    [[nodiscard]] std::uint64_t neighbour(std::span<const std::uint64_t> p, std::uint64_t value, augur::random_engine& rng) const {
        return p.size() < axes.size() ? axes[p.size()].neighbour(value, rng) : value;
    }
};

augur::result<void> constant(std::span<const augur::decision_vector>, std::span<float> scores) {
    for (auto& s : scores) s = 1;
    return {};
}
augur::result<void> some_order(std::span<const augur::decision_vector> points, std::span<float> scores) {
    for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(points[i][1] + points[i][2]) - static_cast<float>(points[i][3]);
    return {};
}

void sample(benchmark::State& state) {
    const convolution space;
    augur::random_engine rng(1);
    for (auto _ : state) benchmark::DoNotOptimize(augur::sample_path(space, rng).values.data());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(sample);

void mutate(benchmark::State& state) {
    const convolution space;
    augur::random_engine rng(1);
    const auto parent = augur::sample_path(space, rng);
    for (auto _ : state) benchmark::DoNotOptimize(augur::mutate_path(space, parent, augur::mutation_weights::cpu(), rng).values.data());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(mutate);

// One proposal of 64 points; the population is 2048 over four generations. items = points scored at most.
template <augur::result<void> (*Scorer)(std::span<const augur::decision_vector>, std::span<float>)>
void propose(benchmark::State& state) {
    const convolution space;
    augur::evolutionary<> search;
    augur::random_engine rng(1);
    auto scorer = Scorer;
    for (auto _ : state) {
        auto points = search.propose(space, scorer, 64, rng);
        benchmark::DoNotOptimize(points);
    }
    state.SetItemsProcessed(state.iterations() * 2048 * 5);
}
BENCHMARK(propose<constant>)->Unit(benchmark::kMillisecond);
BENCHMARK(propose<some_order>)->Unit(benchmark::kMillisecond);

// Simulated annealing beside the evolutionary search: as many scores in a proposal of 64 points. items = points scored.
constexpr std::size_t most_scores = 2048 * 5;
template <class Strategy>
void propose_64(benchmark::State& state, Strategy search) {
    const convolution space;
    augur::random_engine rng(1);
    std::int64_t scored = 0;
    auto scorer = [&](std::span<const augur::decision_vector> points, std::span<float> scores) {
        scored += static_cast<std::int64_t>(points.size());
        return some_order(points, scores);
    };
    for (auto _ : state) {
        auto points = search.propose(space, scorer, 64, rng);
        benchmark::DoNotOptimize(points);
    }
    state.SetItemsProcessed(scored);
    state.counters["scores"] = benchmark::Counter(static_cast<double>(scored), benchmark::Counter::kAvgIterations);
}
augur::annealing_options as_many_scores() {
    augur::annealing_options o;
    o.iterations = o.patience = most_scores / o.walkers - 2; // the samples, and the walkers of the proposal before
    return o;
}
BENCHMARK_CAPTURE(propose_64, sa, augur::simulated_annealing(as_many_scores()))->Name("sa/propose/n64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(propose_64, evolutionary, augur::evolutionary())->Name("evolutionary/propose/n64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(propose_64, sa, augur::simulated_annealing())->Name("sa/propose/n64/autotvm")->Unit(benchmark::kMillisecond);

void propose_random(benchmark::State& state) {
    const convolution space;
    augur::random_search search;
    augur::random_engine rng(1);
    auto scorer = constant;
    for (auto _ : state) {
        auto points = search.propose(space, scorer, 64, rng);
        benchmark::DoNotOptimize(points);
    }
    state.SetItemsProcessed(state.iterations() * 64);
}
BENCHMARK(propose_random)->Unit(benchmark::kMicrosecond);

void lengths_of(benchmark::State& state) {
    const augur::factorisation f(state.range(0), 3);
    augur::random_engine rng(1);
    std::vector<std::int64_t> out(3);
    for (auto _ : state) {
        f.lengths_of(f.uniform(rng), out);
        benchmark::DoNotOptimize(out.data());
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lengths_of)->ArgName("extent")->Arg(56)->Arg(1024)->Arg(50176);

} // namespace
