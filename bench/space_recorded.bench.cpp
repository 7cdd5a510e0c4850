// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a replayed search costs besides its model: points proposed a second in a recorded space, and measurements looked up a second.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/configuration.hpp>
#include <augur/search/random.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/replay_runner.hpp>

namespace {

struct nameless {
    [[nodiscard]] static std::string_view key() { return "kernel"; }
};

/// Distinct points of eight parameters with five values each, of 390625 in all.
std::vector<augur::configuration> points(std::size_t n) {
    augur::random_engine rng(1);
    std::vector<std::uint64_t> ids(390625);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
    rng.shuffle(std::span<std::uint64_t>(ids));
    std::vector<augur::configuration> out(n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t p = 0; p < 8; ++p, ids[i] /= 5)
            out[i].parameters.push_back({"parameter_" + std::to_string(p), static_cast<std::int64_t>(ids[i] % 5 * 16)});
    return out;
}

augur::result<void> constant(std::span<const augur::decision_vector>, std::span<float>) { return {}; }

void build(benchmark::State& state) {
    const auto records = points(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        auto space = augur::recorded_space::build(records);
        benchmark::DoNotOptimize(space);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(build)->Name("replay/build")->ArgName("points")->Arg(100000)->Unit(benchmark::kMillisecond);

// Half of the points of a space of 10^5, by a search that begins anew. items = points proposed.
void propose(benchmark::State& state) {
    const auto space = *augur::recorded_space::build(points(static_cast<std::size_t>(state.range(0))));
    auto scorer = constant;
    const auto n = static_cast<std::size_t>(state.range(1));
    for (auto _ : state) {
        augur::random_search search;
        augur::random_engine rng(1);
        auto proposed = search.propose(space, scorer, n, rng);
        if (!proposed || proposed->size() != n) return state.SkipWithError("fewer points than asked for");
        benchmark::DoNotOptimize(proposed->data());
    }
    state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(propose)
    ->Name("replay/propose")
    ->ArgNames({"points", "proposed"})
    ->Args({100000, 1000})
    ->Args({100000, 50000})
    ->Unit(benchmark::kMillisecond);

void measure(benchmark::State& state) {
    const auto records = points(static_cast<std::size_t>(state.range(0)));
    augur::replay_runner runner;
    augur::measurement m;
    m.status = augur::outcome::ok;
    m.seconds.assign(32, 1e-3);
    m.total_seconds = 1;
    for (const auto& c : records) runner.add(augur::task_identity(nameless()), c, m);
    const auto batch = std::span<const augur::configuration>(records).first(4096);
    for (auto _ : state) {
        auto measured = runner.measure(nameless(), batch);
        benchmark::DoNotOptimize(measured.data());
    }
    state.SetItemsProcessed(state.iterations() * 4096);
}
BENCHMARK(measure)->Name("replay/measure")->ArgName("points")->Arg(100000)->Unit(benchmark::kMillisecond);

} // namespace
