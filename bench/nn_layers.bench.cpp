// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The float product against Eigen's on TLP's shapes, and the ranking loss.
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/train/loss.hpp>

#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/init.hpp>
#include <benchmark/benchmark.h>

namespace nn = augur::nn;

namespace {
nn::matrix<float> draw(nn::index rows, nn::index cols, std::uint64_t seed) {
    augur::random_engine rng(seed);
    nn::matrix<float> m(rows, cols);
    nn::fill_uniform(m, 1, rng);
    return m;
}
void flops(benchmark::State& state, nn::index m, nn::index n, nn::index k) {
    state.counters["GFLOP/s"] =
        benchmark::Counter(2e-9 * static_cast<double>(m * n * k) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
} // namespace

static void product_ours(benchmark::State& state) {
    const auto m = state.range(0), k = state.range(1), n = state.range(2);
    const auto x = draw(m, k, 1), w = draw(k, n, 2);
    nn::matrix<float> y(m, n);
    for (auto _ : state) {
        nn::multiply<float>(x, w, y);
        benchmark::DoNotOptimize(y.data());
    }
    flops(state, m, n, k);
}
/// For the instruction set of the build, SSE2 where no flag says more; ours chooses at run time.
static void product_eigen(benchmark::State& state) {
    const auto m = state.range(0), k = state.range(1), n = state.range(2);
    const auto x = draw(m, k, 1), w = draw(k, n, 2);
    nn::matrix<float> y(m, n);
    for (auto _ : state) {
        y.noalias() = x * w;
        benchmark::DoNotOptimize(y.data());
    }
    flops(state, m, n, k);
}
static void product_outer_ours(benchmark::State& state) { // the gradient of a weight
    const auto t = state.range(0), i = state.range(1), o = state.range(2);
    const auto x = draw(t, i, 1), dy = draw(t, o, 2);
    nn::matrix<float> g(i, o);
    for (auto _ : state) {
        nn::multiply_outer<float>(x, dy, g);
        benchmark::DoNotOptimize(g.data());
    }
    flops(state, t, i, o);
}
static void shapes(benchmark::internal::Benchmark* b) {
    b->ArgNames({"M", "K", "N"});
    for (const std::int64_t m : {288, 2048})
        for (const std::vector<std::int64_t>& kn : {std::vector<std::int64_t>{256, 256}, {256, 768}, {256, 128}, {64, 64}, {22, 64}})
            b->Args({m, kn[0], kn[1]});
}
BENCHMARK(product_ours)->Apply(shapes);
BENCHMARK(product_eigen)->Apply(shapes);
BENCHMARK(product_outer_ours)->Args({576, 256, 256})->Args({576, 64, 64});

static void lambda_rank(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    augur::random_engine rng(1);
    std::vector<float> score(n), label(n), gradient(n);
    for (std::size_t i = 0; i < n; ++i) {
        score[i] = static_cast<float>(rng.uniform(-2, 2));
        label[i] = static_cast<float>(rng.uniform());
    }
    nn::lambda_rank rank;
    for (auto _ : state) {
        double loss = rank(std::span<const float>(score), std::span<const float>(label), std::span<float>(gradient));
        benchmark::DoNotOptimize(loss);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n * (n - 1) / 2));
}
BENCHMARK(lambda_rank)->Arg(64)->Arg(1024)->Unit(benchmark::kMicrosecond);
