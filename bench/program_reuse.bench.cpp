// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Crop: accesses a second from a trace to its reuse profile, on one core if the name does not say otherwise, beside the tree that everybody uses;
// per-set and sampled profiles; Equation 4. Each iteration begins with nothing and goes through the whole trace.
#include <augur/program/reuse/parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/program/cache/hit_rate.hpp>
#include <augur/program/reuse/sampled.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <benchmark/benchmark.h>

#include "../tests/search/threads.hpp"
#include "olken.hpp"
#include "traces.hpp"

namespace {

const traces::lines& matmul() { // 512 by 512, tiles of 64, vectors of 16: 27 million accesses to 49 152 lines
    static const auto lines = traces::mm_blocked(512, 64, 16, 512);
    return lines;
}
const traces::lines& conv() { // 64 to 128 channels, 56 by 56 points: 16 million to 43 152
    static const auto lines = traces::conv16c(64, 128, 56, 56);
    return lines;
}
const traces::lines& uniform1e6() { // ten million to a million
    static const auto lines = traces::uniform(10000000, 1000000);
    return lines;
}

void items(benchmark::State& state, const traces::lines& lines) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(lines.size()));
}

void exact(benchmark::State& state, const traces::lines& (*trace)(), augur::isa level) {
    const auto& lines = trace();
    std::size_t bytes = 0;
    for (auto _ : state) {
        augur::reuse_stream stream(level);
        augur::reuse_profile profile;
        stream.feed(lines, profile);
        benchmark::DoNotOptimize(profile);
        bytes = stream.bytes() / stream.lines();
    }
    items(state, lines);
    state.counters["bytes/line"] = static_cast<double>(bytes);
}

void parallel(benchmark::State& state, const traces::lines& (*trace)()) {
    const auto& lines = trace();
    toy::threads executor{2};
    for (auto _ : state) {
        augur::reuse_stream stream;
        augur::reuse_profile profile;
        augur::reuse_parallel(stream, lines, profile, executor);
        benchmark::DoNotOptimize(profile);
    }
    items(state, lines);
}

void tree(benchmark::State& state, const traces::lines& (*trace)()) {
    const auto& lines = trace();
    for (auto _ : state) {
        olken::tree tree;
        augur::reuse_profile profile;
        for (const auto line : lines) {
            const auto d = tree.access(line);
            if (d == olken::tree::cold) profile.add_cold(1);
            else profile.add(d);
        }
        benchmark::DoNotOptimize(profile);
    }
    items(state, lines);
}

void sets(benchmark::State& state, const traces::lines& (*trace)(), std::uint64_t count) { // accesses a second for one set count, 16 places
    const auto& lines = trace();
    for (auto _ : state) {
        auto stream = *augur::associativity_stream::create(count, 16);
        stream.feed(lines);
        benchmark::DoNotOptimize(stream);
    }
    items(state, lines);
}

void sampled(benchmark::State& state, const traces::lines& (*trace)()) {
    const auto& lines = trace();
    for (auto _ : state) {
        auto stream = *augur::sampled_reuse_stream::create(0.01);
        stream.feed(lines);
        auto profile = stream.profile();
        benchmark::DoNotOptimize(profile);
    }
    items(state, lines);
}

void eq4(benchmark::State& state, std::uint64_t ways, std::uint64_t lines) { // items are evaluations, at distances from 0.2 to 2.2 times the cache
    const augur::random_set_cache cache(ways, lines);
    augur::random_engine draw(1);
    std::vector<double> distances(4096);
    for (auto& d : distances) d = draw.uniform(0.2, 2.2) * static_cast<double>(lines);
    for (auto _ : state) {
        double sum = 0;
        for (const double d : distances) sum += cache.hit(d);
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(distances.size()));
}

void eq5(benchmark::State& state) { // a whole profile for one cache; items are profiles
    augur::reuse_stream stream;
    augur::reuse_profile profile;
    stream.feed(conv(), profile);
    for (auto _ : state) {
        auto rate = augur::hit_rate(profile, 8, 512);
        benchmark::DoNotOptimize(rate);
    }
    state.SetItemsProcessed(state.iterations());
}

constexpr auto ms = benchmark::kMillisecond;

} // namespace

BENCHMARK_CAPTURE(exact, matmul, matmul, augur::best_isa())->Name("reuse/exact/matmul")->Unit(ms);
BENCHMARK_CAPTURE(tree, matmul, matmul)->Name("reuse/olken/matmul")->Unit(ms);
BENCHMARK_CAPTURE(exact, conv, conv, augur::best_isa())->Name("reuse/exact/conv")->Unit(ms);
BENCHMARK_CAPTURE(exact, uniform1e6, uniform1e6, augur::best_isa())->Name("reuse/exact/uniform1e6")->Unit(ms);
BENCHMARK_CAPTURE(tree, uniform1e6, uniform1e6)->Name("reuse/olken/uniform1e6")->Unit(ms);
BENCHMARK_CAPTURE(exact, scalar_matmul, matmul, augur::isa::generic)->Name("reuse/exact_scalar/matmul")->Unit(ms);
BENCHMARK_CAPTURE(exact, scalar_conv, conv, augur::isa::generic)->Name("reuse/exact_scalar/conv")->Unit(ms);
BENCHMARK_CAPTURE(exact, scalar_uniform1e6, uniform1e6, augur::isa::generic)->Name("reuse/exact_scalar/uniform1e6")->Unit(ms);
BENCHMARK_CAPTURE(parallel, matmul, matmul)->Name("reuse/parallel/matmul/threads:2")->Unit(ms)->UseRealTime();
BENCHMARK_CAPTURE(parallel, conv, conv)->Name("reuse/parallel/conv/threads:2")->Unit(ms)->UseRealTime();
BENCHMARK_CAPTURE(parallel, uniform1e6, uniform1e6)->Name("reuse/parallel/uniform1e6/threads:2")->Unit(ms)->UseRealTime();
BENCHMARK_CAPTURE(sets, matmul, matmul, 64)->Name("reuse/sets/matmul")->Unit(ms);
BENCHMARK_CAPTURE(sets, matmul_l2, matmul, 2048)->Name("reuse/sets/matmul/2048")->Unit(ms);
BENCHMARK_CAPTURE(sets, conv, conv, 64)->Name("reuse/sets/conv")->Unit(ms);
BENCHMARK_CAPTURE(sets, uniform1e6, uniform1e6, 32768)->Name("reuse/sets/uniform1e6/32768")->Unit(ms);
BENCHMARK_CAPTURE(sampled, matmul, matmul)->Name("reuse/sampled/matmul")->Unit(ms);
BENCHMARK_CAPTURE(sampled, conv, conv)->Name("reuse/sampled/conv")->Unit(ms);
BENCHMARK_CAPTURE(eq4, A16, 16, 524288)->Name("crop/eq4/A16");
BENCHMARK_CAPTURE(eq4, A8, 8, 512)->Name("crop/eq4/A8");
BENCHMARK(eq5)->Name("crop/eq5/conv");
