// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gcn/score/dense/f32: outputs of 256 candidates of 25 nodes with 32 features, convolutions 128 wide, 1.16 MFLOP each. gcn/score/real/f32: a round of
// 2048 distinct configurations, drawn at random, of a convolution in AutoTVM's template for CUDA, in the super-graph of the three templates whose loops
// are known, as the cost model scores it; plain: in graphs of their own, 43 nodes with 66 features. gcn/train/step: 8 steps of supervised training on
// 128 candidates of MetaTune's default network.
//
// of_fma is the operations of the dense products and messages a second, over the peak (limit/fma_f32) at the same moment; real rounds are counted as if
// each candidate were computed on its own, so their share may be above 1.
#include <augur/metatune/inference.hpp>
#include <augur/metatune/loop_graph.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/metatune/training.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <string_view>
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

/// A convolution of 128 channels of 28 by 28 in one of AutoTVM's templates.
struct convolution {
    augur::autotvm_template form;
    std::int64_t window, padding;

    [[nodiscard]] std::string_view role() const { return augur::autotvm_template_names[static_cast<std::size_t>(form)]; }
};
constexpr convolution of_round{augur::autotvm_template::conv2d_nchw_cuda, 3, 1};
/// One of each structure that the templates have.
constexpr convolution structures[]{of_round,
                                   {augur::autotvm_template::conv2d_nchwc_x86, 3, 1},
                                   {augur::autotvm_template::conv2d_nchwc_x86, 3, 0},
                                   {augur::autotvm_template::conv2d_nchwc_x86, 1, 0},
                                   {augur::autotvm_template::depthwise_conv2d_nchwc_x86, 3, 1},
                                   {augur::autotvm_template::depthwise_conv2d_nchwc_x86, 3, 0}};

/// Iterator features of distinct configurations, drawn at random.
std::vector<augur::iterator_features> configurations(const convolution& what, std::size_t count) {
    const std::int64_t out = 28 + 2 * what.padding - what.window + 1;
    augur::autotvm_convolution c;
    c.form = what.form;
    c.in_channels = c.out_channels = 128;
    for (auto* axis : {&c.y, &c.x}) {
        axis->in = 28;
        axis->out = out;
        axis->k = what.window;
        axis->pad_before = axis->pad_behind = what.padding;
    }
    std::vector<augur::autotvm_knob_space> knobs;
    const auto split = [&](std::string name, std::int64_t extent, std::size_t parts) {
        knobs.push_back(augur::autotvm_split_knob(std::move(name), extent, parts));
    };
    if (what.form == augur::autotvm_template::conv2d_nchw_cuda) {
        split("tile_f", 128, 4);
        split("tile_y", out, 4);
        split("tile_x", out, 4);
        split("tile_rc", 128, 2);
        split("tile_ry", what.window, 2);
        split("tile_rx", what.window, 2);
    } else {
        split("tile_ic", 128, 2);
        split("tile_oc", 128, 2);
        split("tile_ow", out, 2);
        using values = std::vector<std::vector<augur::autotvm_value>>;
        const bool pointwise = what.window == 1;
        knobs.push_back({pointwise ? "tile_oh" : "unroll_kw", augur::autotvm_knob_kind::other,
                         pointwise ? values{{std::int64_t{1}}, {std::int64_t{2}}} : values{{std::string("true")}, {std::string("false")}}});
    }
    const auto space = augur::autotvm_space::make(std::move(knobs));
    std::vector<augur::iterator_features> all;
    augur::random_engine rng(1);
    for (std::set<std::uint64_t> drawn; space && drawn.size() < count;) {
        const std::uint64_t at = rng.below(space->size());
        if (!drawn.insert(at).second) continue;
        const auto config = space->realise(space->decisions_of(at));
        if (!config) std::abort();
        const auto nest = augur::autotvm_nest::make(c, *config);
        if (!nest) std::abort();
        auto features = augur::iterator_features_of(*nest);
        if (!features) std::abort();
        all.push_back(*std::move(features));
    }
    return all;
}

/// Rows to outputs, as a search calls it.
/// @param again  the convolutions are those of the round before, as in a search with frozen convolutions: its table of loops is still there
void score_real(benchmark::State& state, bool in_super_graph, bool again) {
    constexpr std::size_t candidates = 2048;
    mt::super_graph graph;
    for (const auto& one : structures)
        for (const auto& features : configurations(one, 16))
            if (!graph.add(features, one.role())) std::abort();
    std::vector<mt::loop_rows> loops;
    for (const auto& features : configurations(of_round, candidates)) {
        if (!in_super_graph) {
            loops.push_back(mt::rows_of(features));
            continue;
        }
        auto placed = graph.place(features, of_round.role());
        if (!placed) std::abort();
        loops.push_back(*std::move(placed));
    }
    mt::config c;
    c.features = loops[0].features.cols();
    c.convolutions = {128, 128};
    c.head = {128, 64};
    const std::array nets{mt::network<float>::random_init(c, augur::random_engine(1)), mt::network<float>::random_init(c, augur::random_engine(2))};
    std::size_t round = 0;
    mt::inference inference;
    std::vector<mt::loop_rows> recent(8);
    const double nodes = 1 + 2 * static_cast<double>(loops[0].features.rows());
    const double flop = forward_flop(c, static_cast<double>(candidates), nodes);
    limits::share_of_peak share;
    for (auto _ : state) {
        state.PauseTiming();
        share.begin();
        state.ResumeTiming();
        double seconds = 0;
        const auto timed = [&](const auto& work) {
            const double begin = limits::thread_seconds();
            work();
            seconds += limits::thread_seconds() - begin;
        };
        timed([&] { inference.begin(nets[again ? 0 : round++ % 2]); });
        for (std::size_t i = 0; i < loops.size(); i += recent.size()) { // in the cache, as a search has just made them
            state.PauseTiming();
            std::copy_n(loops.begin() + static_cast<std::ptrdiff_t>(i), recent.size(), recent.begin());
            state.ResumeTiming();
            timed([&] {
                for (const auto& one : recent)
                    if (!inference.add(one)) std::abort();
            });
        }
        timed([&] { benchmark::DoNotOptimize(inference.outputs().data()); });
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
BENCHMARK_CAPTURE(score_real, super_graph, true, false)->Name("gcn/score/real/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(score_real, again, true, true)->Name("gcn/score/real/again/f32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(score_real, plain, false, false)->Name("gcn/score/real/plain/f32")->Unit(benchmark::kMillisecond);
BENCHMARK(train_step)->Name("gcn/train/step")->Unit(benchmark::kMillisecond);
