// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Crop: the pipeline simulator, blocks a second (small blocks are what most of a program's code is; hot loops are larger), and whole predictions.
#include <augur/crop/predictor.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/target/machine_presets.hpp>
#include <benchmark/benchmark.h>

namespace {

using op = augur::instruction_class;

/// A body as loops of tensor programs have them: addresses, loads, arithmetic on them, a store, the counter and the branch.
augur::graphlet loop_body(augur::random_engine& r, std::size_t vertices) {
    constexpr auto f32 = augur::element_type::f32;
    constexpr auto i64 = augur::element_type::i64;
    augur::graphlet_builder b;
    const std::uint32_t lanes = r.below(2) == 0 ? 16 : 1;
    std::vector<std::uint32_t> values;
    while (b.size() + 3 < vertices) {
        const auto kind = r.below(4);
        if (values.size() < 2 || kind == 0) {
            values.push_back(b.add({op::load, f32, augur::fold_hint::none, lanes}));
        } else {
            const auto x = values[r.below(values.size())], y = values[r.below(values.size())];
            values.push_back(b.add({kind == 1 ? op::fma : kind == 2 ? op::fmul : op::fadd, f32, augur::fold_hint::none, lanes}, {x, y}));
        }
    }
    if (!values.empty()) b.add({op::store, f32, augur::fold_hint::none, lanes}, {values.back()});
    const auto counter = b.add({op::ialu, i64, augur::fold_hint::none, 1});
    const auto test = b.add({op::compare, i64, augur::fold_hint::compare_branch, 1}, {counter});
    b.add({op::branch, i64, augur::fold_hint::none, 1}, {test});
    return std::move(b).take();
}

void run_blocks(benchmark::State& state, int number, std::size_t low, std::size_t high, augur::pipeline_options options) {
    augur::random_engine r(1);
    std::vector<augur::graphlet> blocks;
    std::size_t vertices = 0;
    for (int i = 0; i < number; ++i) {
        blocks.push_back(loop_body(r, low + r.below(high - low + 1)));
        vertices += blocks.back().size();
    }
    const augur::cost_table costs(augur::epyc_zen4());
    augur::pipeline p(costs, options);
    for (auto _ : state) {
        double sum = 0;
        for (const auto& g : blocks) sum += p.block(g);
        benchmark::DoNotOptimize(sum);
    }
    const auto rounds = static_cast<double>(state.iterations());
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(blocks.size()));
    state.counters["vertices/s"] = benchmark::Counter(rounds * static_cast<double>(vertices), benchmark::Counter::kIsRate);
}

void small_blocks(benchmark::State& state) { run_blocks(state, 512, 4, 8, {augur::unit_model::ideal, false}); }
void small_blocks_front(benchmark::State& state) { run_blocks(state, 512, 4, 8, {augur::unit_model::ideal, true}); }
void small_blocks_ppt(benchmark::State& state) { run_blocks(state, 512, 4, 8, {augur::unit_model::ppt_compat, false}); }
void large_blocks(benchmark::State& state) { run_blocks(state, 32, 100, 400, {augur::unit_model::ideal, false}); }
void large_blocks_front(benchmark::State& state) { run_blocks(state, 32, 100, 400, {augur::unit_model::ideal, true}); }

/// A tiled matrix product of 10^8 multiply-adds, as a tensor compiler leaves it: a function that deals 64 tiles to the threads, each a nest of five loops around 6 x 2
/// vectors that are summed in registers, four rounds unrolled, and tails that clear and store them.
augur::program_features matmul() {
    constexpr auto f32 = augur::element_type::f32;
    constexpr auto i64 = augur::element_type::i64;
    const auto control = [&](augur::graphlet_builder& b) { // a counter, which is vertex 0, and the branch
        const auto next = b.add({op::ialu, i64, augur::fold_hint::none, 1}, {0});
        const auto test = b.add({op::compare, i64, augur::fold_hint::compare_branch, 1}, {next});
        b.add({op::branch, i64, augur::fold_hint::none, 1}, {test});
        return next;
    };
    augur::graphlet_builder body;
    std::vector<std::uint32_t> sums{body.add({op::move, i64, augur::fold_hint::always, 1})};
    for (int i = 0; i < 12; ++i) sums.push_back(body.add({op::move, f32, augur::fold_hint::always, 16}));
    const auto first = sums;
    for (int k = 0; k < 4; ++k) {
        std::vector<std::uint32_t> b;
        for (int j = 0; j < 2; ++j) b.push_back(body.add({op::load, f32, augur::fold_hint::none, 16}, {0}));
        for (std::size_t i = 0; i < 6; ++i) {
            const auto scalar = body.add({op::load, f32, augur::fold_hint::none, 1}, {0});
            const auto a = body.add({op::shuffle, f32, augur::fold_hint::splat, 16}, {scalar});
            for (std::size_t j = 0; j < 2; ++j) {
                const auto product = body.add({op::fmul, f32, augur::fold_hint::multiply_add, 16}, {a, b[j]});
                auto& sum = sums[1 + i * 2 + j];
                sum = body.add({op::fadd, f32, augur::fold_hint::none, 16}, {sum, product});
            }
        }
    }
    std::vector<augur::dependence> around;
    sums[0] = control(body);
    for (std::size_t i = 1; i < 13; ++i) around.push_back({sums[i], first[i]});
    around.push_back({sums[0], 0});
    std::sort(around.begin(), around.end(), [](const auto& a, const auto& b) { return a.from < b.from; });

    augur::function_features tile;
    tile.name = "parallel_lambda";
    tile.parallel = true;
    tile.count = 64;
    std::vector<augur::basic_block> blocks;
    std::vector<augur::control_flow_graph::new_edge> edges;
    const auto head = [&](std::string name, std::uint64_t count) {
        augur::graphlet_builder b;
        b.add({op::move, i64, augur::fold_hint::always, 1});
        for (int i = 0; i < 3; ++i) b.add({op::ialu, i64, augur::fold_hint::none, 1}, {0});
        control(b);
        blocks.push_back({std::move(name), std::move(b).take(), count});
    };
    // heads 0 to 4, the body 5, then the ends of the loops from the inside out, 6 to 10
    std::uint64_t counts[5] = {64, 128, 512, 2048, 8192};
    for (int d = 0; d < 5; ++d) head("head" + std::to_string(d), counts[d]);
    const std::uint64_t rounds = 8192 * 16;
    blocks.push_back({"body", std::move(body).take(), rounds});
    for (int d = 4; d >= 0; --d) {
        augur::graphlet_builder b;
        b.add({op::move, i64, augur::fold_hint::always, 1});
        for (int i = 0; i < 12; ++i) b.add({op::store, f32, augur::fold_hint::none, 16}, {0});
        control(b);
        blocks.push_back({"end" + std::to_string(d), std::move(b).take(), counts[d]});
    }
    for (std::uint32_t d = 0; d < 4; ++d) edges.push_back({d, d + 1, {counts[d], {{0, 0}}}});
    edges.push_back({4, 5, {8192, {{0, 0}}}});
    edges.push_back({5, 5, {rounds - 8192, around}});
    edges.push_back({5, 6, {8192, {}}});
    for (std::uint32_t d = 4; d > 0; --d) { // the end of loop d goes back to its head, or on to the end of the next
        edges.push_back({10 - d, d, {counts[d] - counts[d - 1], {{13, 0}}}});
        edges.push_back({10 - d, 11 - d, {counts[d - 1], {}}});
    }
    tile.flow = augur::control_flow_graph(std::move(blocks), std::move(edges));

    augur::program_features p;
    p.name = "matmul";
    augur::reuse_profile memory(64);
    memory.add_cold(12288);
    augur::random_engine r(2);
    for (int i = 0; i < 400; ++i) memory.add(r.below(1U << (4 + r.below(12))), 1 + r.below(100'000));
    p.memory = {{1, memory, memory, {}}};
    augur::function_features main;
    main.name = "main";
    augur::graphlet_builder entry;
    entry.add({op::call, i64, augur::fold_hint::none, 1});
    entry.add({op::branch, i64, augur::fold_hint::none, 1});
    main.flow = augur::control_flow_graph({{"entry", std::move(entry).take(), 1}}, {});
    p.functions = {std::move(main), std::move(tile)};
    return p;
}

void predict_features(benchmark::State& state, augur::crop::options options) {
    const auto p = matmul();
    augur::crop::predictor crop(augur::epyc_zen4(), options);
    if (const auto fits = augur::check_features(p); !fits) return state.SkipWithError(fits.error().detail.c_str());
    for (auto _ : state) {
        const auto got = crop.predict(p, 2);
        benchmark::DoNotOptimize(got->seconds);
    }
    const auto got = crop.predict(p, 2);
    state.SetItemsProcessed(state.iterations());
    state.counters["predicted_us"] = got->seconds * 1e6;
    state.SetLabel(augur::crop::limit_text(got->limited_by, got->unit));
}
/// With the machine's tables made anew each time, as crop::predict does it.
void predict_once(benchmark::State& state) {
    const auto p = matmul();
    const auto m = augur::epyc_zen4();
    for (auto _ : state) {
        const auto got = augur::crop::predict(p, m, 2);
        benchmark::DoNotOptimize(got->seconds);
    }
    state.SetItemsProcessed(state.iterations());
}

} // namespace

BENCHMARK_CAPTURE(predict_features, full, augur::crop::options{})->Name("crop/predict/features");
BENCHMARK_CAPTURE(predict_features, published, augur::crop::options::as_published())->Name("crop/predict/features_as_published");
BENCHMARK(predict_once)->Name("crop/predict/features_once");
BENCHMARK(small_blocks)->Name("crop/pipeline/small_blocks");
BENCHMARK(small_blocks_front)->Name("crop/pipeline/small_blocks_front");
BENCHMARK(small_blocks_ppt)->Name("crop/pipeline/small_blocks_ppt");
BENCHMARK(large_blocks)->Name("crop/pipeline/large_blocks");
BENCHMARK(large_blocks_front)->Name("crop/pipeline/large_blocks_front");
