// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Crop's pipeline simulator: blocks a second. Small blocks are what most of a program's code is; hot loops are larger.
#include <augur/program/pipeline.hpp>

#include <cstdint>
#include <vector>

#include <augur/core/random.hpp>
#include <augur/target/machine_presets.hpp>
#include <benchmark/benchmark.h>

namespace {

using op = augur::instruction_class;

/// A body as loops of tensor programs have them: addresses, loads, arithmetic on them, a store, the counter and the branch.
augur::graphlet loop_body(augur::random& r, std::size_t vertices) {
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
    augur::random r(1);
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

} // namespace

BENCHMARK(small_blocks)->Name("crop/pipeline/small_blocks");
BENCHMARK(small_blocks_front)->Name("crop/pipeline/small_blocks_front");
BENCHMARK(small_blocks_ppt)->Name("crop/pipeline/small_blocks_ppt");
BENCHMARK(large_blocks)->Name("crop/pipeline/large_blocks");
BENCHMARK(large_blocks_front)->Name("crop/pipeline/large_blocks_front");
