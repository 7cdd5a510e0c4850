// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// limit/*: multiply-adds a second and bytes a second of one core.
#include "limits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/nn/kernels/panel.hpp>

#if defined(__x86_64__)
#include <immintrin.h>

namespace {

// twelve independent chains: enough for any latency; assembly, so that nothing is folded or spilled
#define AUGUR_BENCH_CHAINS(vector, instruction)                                                                                                      \
    vector x0{}, x1{}, x2{}, x3{}, x4{}, x5{}, x6{}, x7{}, x8{}, x9{}, xa{}, xb{};                                                                   \
    const vector y{};                                                                                                                                \
    for (std::int64_t i = 0; i < n; ++i)                                                                                                             \
    asm volatile(instruction " %12,%12,%0\n" instruction " %12,%12,%1\n" instruction " %12,%12,%2\n" instruction " %12,%12,%3\n" instruction         \
                             " %12,%12,%4\n" instruction " %12,%12,%5\n" instruction " %12,%12,%6\n" instruction " %12,%12,%7\n" instruction         \
                             " %12,%12,%8\n" instruction " %12,%12,%9\n" instruction " %12,%12,%10\n" instruction " %12,%12,%11\n"                   \
                 : "+v"(x0), "+v"(x1), "+v"(x2), "+v"(x3), "+v"(x4), "+v"(x5), "+v"(x6), "+v"(x7), "+v"(x8), "+v"(x9), "+v"(xa), "+v"(xb)            \
                 : "v"(y))
__attribute__((target("avx2,fma"), noinline)) void chains_avx2(std::int64_t n) { AUGUR_BENCH_CHAINS(__m256, "vfmadd231ps"); }
__attribute__((target("avx512f"), noinline)) void chains_avx512(std::int64_t n) { AUGUR_BENCH_CHAINS(__m512, "vfmadd231ps"); }
__attribute__((target("avx512f,avx512bf16"), noinline)) void chains_bf16(std::int64_t n) { AUGUR_BENCH_CHAINS(__m512, "vdpbf16ps"); }
#undef AUGUR_BENCH_CHAINS

/// The best of some tries of n rounds.
double rate(void (*chains)(std::int64_t), double operations, int tries = 20, std::int64_t n = 1000000) {
    double best = 0;
    for (int i = 0; i < tries; ++i) {
        const double start = limits::thread_seconds();
        chains(n);
        best = (std::max)(best, 12.0 * static_cast<double>(n) * operations / (limits::thread_seconds() - start));
    }
    return best;
}

constexpr int tries_now = 4; // a few milliseconds
constexpr std::int64_t rounds_now = 100000;

} // namespace

double limits::fma_f32_now() {
    switch (augur::best_isa()) {
    case augur::isa::avx512: return rate(chains_avx512, 32, tries_now, rounds_now);
    case augur::isa::avx2: return rate(chains_avx2, 16, tries_now, rounds_now);
    default: return 0;
    }
}
double limits::fma_f32() {
    static const double best = [] {
        double most = 0;
        for (int i = 0; i < 50; ++i) most = (std::max)(most, fma_f32_now());
        return most;
    }();
    return best;
}
double limits::dot_bf16_now() { return augur::nn::kernels::has_bf16() ? rate(chains_bf16, 64, tries_now, rounds_now) : 0; }
double limits::dot_bf16() {
    static const double best = augur::nn::kernels::has_bf16() ? rate(chains_bf16, 64) : 0;
    return best;
}
#else
double limits::fma_f32_now() { return 0; }
double limits::fma_f32() { return 0; }
double limits::dot_bf16_now() { return 0; }
double limits::dot_bf16() { return 0; }
#endif

static void limit(benchmark::State& state, double (*of)()) {
    const double best = of();
    if (best == 0) state.SkipWithError("this processor has no such instruction");
    for (auto _ : state) benchmark::DoNotOptimize(of());
    state.counters["items_per_second"] = best;
}
BENCHMARK_CAPTURE(limit, fma, limits::fma_f32)->Name("limit/fma_f32");
BENCHMARK_CAPTURE(limit, bf16, limits::dot_bf16)->Name("limit/bf16");

/// Bytes a second out of 256 MiB, far more than the caches hold.
static void read_bandwidth(benchmark::State& state) {
    std::vector<std::uint64_t> memory(std::size_t{1} << 25U, 1);
    for (auto _ : state) {
        std::uint64_t sum[8] = {};
        for (std::size_t i = 0; i < memory.size(); i += 8)
            for (std::size_t j = 0; j < 8; ++j) sum[j] += memory[i + j];
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(memory.size() * sizeof memory[0]));
}
BENCHMARK(read_bandwidth)->Name("limit/read_bandwidth")->Unit(benchmark::kMillisecond);
