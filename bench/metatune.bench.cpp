// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gcn/score/dense/f32: outputs of 256 candidates of 25 nodes with 32 features, convolutions 128 wide, 1.16 MFLOP each; gcn/train/step: 8 steps of
// supervised training on 128 candidates of MetaTune's default network.
//
// of_fma is the operations of the dense products and messages a second, over the peak (limit/fma_f32) at the same moment.
#include <augur/metatune/network.hpp>
#include <augur/metatune/training.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <benchmark/benchmark.h>

#include "limits.hpp"

namespace mt = augur::metatune;
namespace nn = augur::nn;

namespace {

mt::loop_rows random_loops(nn::index slots, nn::index features, augur::random_engine& rng) {
    mt::loop_rows loops;
    loops.features.resize(slots, features);
    nn::fill_uniform(loops.features, 1, rng);
    loops.present.assign(static_cast<std::size_t>(slots), 1);
    loops.parents.assign(static_cast<std::size_t>(slots), mt::loop_rows::no_parent);
    return loops;
}

/// Floating-point operations of a forward pass: multiply-adds count twice. A graph of n nodes has 2 (n - 1) + n messages.
double forward_flop(const mt::config& c, double graphs, double nodes) {
    double of_node = 0, of_graph = 0;
    auto in = c.features;
    for (const auto w : c.convolutions) {
        of_node += static_cast<double>(w) * (static_cast<double>(in) + 3 - 2 / nodes);
        in = w;
    }
    of_node += 3 * static_cast<double>(in); // gate, weighted sum, maximum
    const auto widths = c.head_widths();
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) of_graph += static_cast<double>(widths[l] * widths[l + 1]);
    return 2 * graphs * (nodes * of_node + of_graph);
}

/// Packing and forward, as a search calls it.
void score(benchmark::State& state) {
    constexpr std::size_t candidates = 256;
    constexpr nn::index slots = 12; // 25 nodes
    mt::config c;
    c.features = 32;
    c.convolutions = {128, 128};
    c.head = {128, 64};
    const auto net = mt::network<float>::random_init(c, augur::random_engine(1));
    augur::random_engine rng(2);
    std::vector<mt::loop_rows> loops;
    for (std::size_t i = 0; i < candidates; ++i) loops.push_back(random_loops(slots, c.features, rng));
    mt::candidate_graphs graphs(c);
    mt::network_activation<float> kept;
    nn::matrix<float> y(static_cast<nn::index>(candidates), c.outputs);
    const double flop = forward_flop(c, static_cast<double>(candidates), 1 + 2 * static_cast<double>(slots));
    limits::share_of_peak share;
    for (auto _ : state) {
        state.PauseTiming();
        share.begin();
        state.ResumeTiming();
        const double begin = limits::thread_seconds();
        graphs.clear();
        for (const auto& one : loops)
            if (!graphs.add(one)) std::abort();
        net.forward(graphs, kept, y);
        benchmark::DoNotOptimize(y.data());
        const double seconds = limits::thread_seconds() - begin;
        state.PauseTiming();
        share.end(flop, seconds);
        state.ResumeTiming();
    }
    state.counters["MFLOP_a_graph"] = flop / static_cast<double>(candidates) * 1e-6;
    state.counters["of_fma"] = share.value();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(candidates));
}

/// A training of one epoch of 8 steps: packing, forward, backward, Adam.
void train_step(benchmark::State& state) {
    constexpr std::size_t steps = 8, batch = 128;
    const mt::config c;
    augur::random_engine rng(2);
    std::vector<mt::task_samples> tasks(1);
    for (std::size_t i = 0; i < steps * batch; ++i) {
        tasks[0].candidates.push_back(random_loops(12, c.features, rng));
        tasks[0].seconds.push_back(i % 4 == 0 ? std::numeric_limits<double>::infinity() : rng.uniform(1e-3, 1e-2));
    }
    mt::pretraining_options options;
    options.epochs = 1;
    options.batch = batch;
    augur::serial_executor serial;
    limits::share_of_peak share;
    const double flop = 3 * forward_flop(c, static_cast<double>(steps * batch), 25);
    for (auto _ : state) {
        state.PauseTiming();
        mt::training_state training(mt::network<float>::random_init(c, augur::random_engine(1)));
        share.begin();
        state.ResumeTiming();
        const double begin = limits::thread_seconds();
        const auto done = mt::pretrain(training, tasks, serial, options, [](const mt::training_progress&) { return true; });
        if (!done) std::abort();
        const double seconds = limits::thread_seconds() - begin;
        state.PauseTiming();
        share.end(flop, seconds);
        state.ResumeTiming();
    }
    state.counters["steps/s"] = benchmark::Counter(static_cast<double>(steps) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["of_fma"] = share.value();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(steps * batch));
}

} // namespace

BENCHMARK(score)->Name("gcn/score/dense/f32")->Unit(benchmark::kMillisecond);
BENCHMARK(train_step)->Name("gcn/train/step")->Unit(benchmark::kMillisecond);
