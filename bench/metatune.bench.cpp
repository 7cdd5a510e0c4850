// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gcn/score/dense/f32: outputs of 256 candidates of 25 nodes with 32 features, convolutions 128 wide, 1.16 MFLOP each. gcn/score/real/f32: a round of
// 2048 distinct configurations of a convolution of AutoTVM's template for CUDA, 43 nodes with 66 features, as the cost model scores it; super_graph: the
// same in the super-graph of two templates. gcn/train/step: 8 steps of supervised training on 128 candidates of MetaTune's default network.
//
// of_fma is the operations of the dense products and messages a second, over the peak (limit/fma_f32) at the same moment; real rounds are counted as if
// each candidate were computed on its own, so their share may be above 1.
#include <augur/metatune/inference.hpp>
#include <augur/metatune/loop_graph.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/metatune/training.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/space/autotvm_convolution.hpp>
#include <augur/space/autotvm_nest.hpp>
#include <augur/space/autotvm_space.hpp>
#include <augur/workload/iterator_features.hpp>
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

/// Packing and forward.
void score_dense(benchmark::State& state) {
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

/// Iterator features of distinct configurations, drawn at random, of a convolution of ResNet-18's second stage.
std::vector<augur::iterator_features> configurations(augur::autotvm_template form, std::size_t count) {
    augur::autotvm_convolution c;
    c.form = form;
    c.in_channels = c.out_channels = 128;
    c.y.in = c.x.in = c.y.out = c.x.out = 28;
    c.y.k = c.x.k = 3;
    c.y.pad_before = c.x.pad_before = c.y.pad_behind = c.x.pad_behind = 1;
    const auto split = [](std::string name, std::int64_t extent, std::size_t parts) {
        return augur::autotvm_split_knob(std::move(name), extent, parts);
    };
    std::vector<augur::autotvm_knob_space> knobs;
    if (form == augur::autotvm_template::conv2d_nchw_cuda)
        knobs = {split("tile_f", 128, 4),  split("tile_y", 28, 4), split("tile_x", 28, 4),
                 split("tile_rc", 128, 2), split("tile_ry", 3, 2), split("tile_rx", 3, 2)};
    else
        knobs = {split("tile_ic", 128, 2),
                 split("tile_oc", 128, 2),
                 split("tile_ow", 28, 2),
                 {"unroll_kw", augur::autotvm_knob_kind::other, {{std::string("true")}, {std::string("false")}}}};
    const auto space = augur::autotvm_space::make(std::move(knobs));
    std::vector<augur::iterator_features> all;
    augur::random_engine rng(1);
    for (std::set<std::uint64_t> drawn; space && drawn.size() < count;) {
        const std::uint64_t at = rng.below(space->size());
        if (!drawn.insert(at).second) continue;
        const auto config = space->realise(space->decisions_of(at));
        const auto nest = augur::autotvm_nest::make(c, *config);
        if (!nest) std::abort();
        auto features = augur::iterator_features_of(*nest);
        if (!features) std::abort();
        all.push_back(*std::move(features));
    }
    return all;
}

/// Rows to outputs, as a search calls it.
void score_real(benchmark::State& state, bool in_super_graph) {
    constexpr std::size_t candidates = 2048;
    const auto form = augur::autotvm_template::conv2d_nchw_cuda;
    const auto drawn = configurations(form, candidates);
    mt::super_graph graph;
    for (const auto one : {form, augur::autotvm_template::conv2d_nchwc_x86})
        for (const auto& features : configurations(one, 16))
            if (!graph.add(features, augur::autotvm_template_names[static_cast<std::size_t>(one)])) std::abort();
    std::vector<mt::loop_rows> loops;
    for (const auto& features : drawn) {
        if (!in_super_graph) {
            loops.push_back(mt::rows_of(features));
            continue;
        }
        auto placed = graph.place(features, augur::autotvm_template_names[static_cast<std::size_t>(form)]);
        if (!placed) std::abort();
        loops.push_back(*std::move(placed));
    }
    mt::config c;
    c.features = loops[0].features.cols();
    c.convolutions = {128, 128};
    c.head = {128, 64};
    const auto net = mt::network<float>::random_init(c, augur::random_engine(1));
    mt::inference inference;
    const double nodes = 1 + 2 * static_cast<double>(loops[0].features.rows());
    const double flop = forward_flop(c, static_cast<double>(candidates), nodes);
    limits::share_of_peak share;
    for (auto _ : state) {
        state.PauseTiming();
        share.begin();
        state.ResumeTiming();
        const double begin = limits::thread_seconds();
        inference.begin(net);
        for (const auto& one : loops)
            if (!inference.add(one)) std::abort();
        benchmark::DoNotOptimize(inference.outputs().data());
        const double seconds = limits::thread_seconds() - begin;
        state.PauseTiming();
        share.end(flop, seconds);
        state.ResumeTiming();
    }
    state.counters["nodes"] = nodes;
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

BENCHMARK(score_dense)->Name("gcn/score/dense/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(score_real, plain, false)->Name("gcn/score/real/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(score_real, super_graph, true)->Name("gcn/score/real/super_graph/f32")->Unit(benchmark::kMillisecond);
BENCHMARK(train_step)->Name("gcn/train/step")->Unit(benchmark::kMillisecond);
