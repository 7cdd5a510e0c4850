// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Candidates a second through one training step of the authors' network: forward, LambdaRank, backward, clip, Adam. of_fma is the dense network's
// multiply-adds (93 MFLOP a candidate, no row shared) a second, over the peak (limit/fma_f32) of as many cores at the same moment.
#include <augur/tlp/train/forward_backward.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <augur/tlp/features.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/tbb/executor.hpp>
#include <benchmark/benchmark.h>

#include "limits.hpp"
#include "tlp_rounds.hpp"

namespace {

/// 1024 candidates, 64 of each of 16 convolutions, as rows of the authors' schema with its rows of padding.
struct training_batch {
    augur::tlp::schema schema = augur::tlp::schema::authors_cpu();
    augur::tlp::deduplicated_batch bags{schema.columns};
    std::vector<float> labels;

    training_batch() {
        const auto kernels = tlp_rounds::convolutions();
        std::vector<float> rows(schema.rows * schema.columns);
        augur::random_engine rng(2);
        for (std::size_t k = 0; k < 16; ++k)
            for (const auto& s : tlp_rounds::round_of(kernels[k * kernels.size() / 16], 64)) {
                const auto n = augur::tlp::extract_features(s, schema, rows);
                if (!n) std::abort();
                bags.add(std::span<const float>(rows).first(*n * schema.columns));
                labels.push_back(static_cast<float>(rng.uniform()));
            }
    }
};
const training_batch& batch() {
    static const training_batch the_batch;
    return the_batch;
}

void step(benchmark::State& state, std::size_t threads) {
    const auto& b = batch();
    auto config = augur::tlp::config::authors(static_cast<augur::nn::index>(b.schema.columns));
    config.scaling = augur::tlp::scaling::logarithm; // raw inputs saturate the loss: its gradient is then mostly 0
    auto net = augur::tlp::model<float>::random_init(config, augur::random_engine(1));
    auto grad = net;
    augur::nn::adam<augur::tlp::model<float>> adam(net, {.learning_rate = 1e-5});
    augur::nn::lambda_rank rank;
    augur::tbb_executor executor(threads);
    augur::tlp::forward_backward<float> pass;
    std::vector<float> scores(b.bags.size()), d_scores(b.bags.size());
    const auto one_step = [&] {
        const double begin = limits::thread_seconds();
        const auto wall = std::chrono::steady_clock::now();
        pass.forward_to_train(net, b.bags, executor, scores);
        benchmark::DoNotOptimize(rank(std::span<const float>(scores), std::span<const float>(b.labels), std::span<float>(d_scores)));
        pass.backward(net, b.bags, executor, std::span<const float>(d_scores), grad);
        augur::nn::clip_norm(grad, 0.5);
        adam.step(net, grad);
        return threads == 1 ? limits::thread_seconds() - begin : std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
    };
    one_step(); // takes its memory
    limits::share_of_peak share;
    const auto n = static_cast<double>(b.bags.size());
    for (auto _ : state) {
        share.begin();
        const double spent = one_step();
        share.end(n * 93e6 / static_cast<double>(threads), spent);
        state.SetIterationTime(spent);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(b.bags.size()));
    state.counters["of_fma"] = share.value();
    state.counters["rows"] = static_cast<double>(b.bags.ids().size()) / n; // distinct ones a candidate
    state.counters["distinct"] = static_cast<double>(b.bags.distinct());   // in the batch
}

void one_thread(benchmark::State& state) { step(state, 1); }
void two_threads(benchmark::State& state) { step(state, 2); }

} // namespace

BENCHMARK(one_thread)->Name("tlp/train/step1024")->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK(two_threads)->Name("tlp/train/step1024/threads:2")->Unit(benchmark::kMillisecond)->UseManualTime();
