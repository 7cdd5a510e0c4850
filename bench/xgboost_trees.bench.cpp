// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boosted trees on what schedules do: how fast they are trained, and how fast candidates get a score. A round of 2048 candidates of a 3x3 convolution,
// 300 trees of depth 6 as `task_normalised_trees` has them; one thread.
#ifdef AUGUR_HAS_XGBOOST

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/xgboost/task_normalised_model.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

#include "tlp_rounds.hpp"

namespace {

using namespace augur;

using namespace augur::loopnest;

constexpr std::size_t columns = nest_feature_count, programs = 2048, teachers = 16;

struct convolution {
    kernel what = *kernel::parse("conv2d:n=1,h=56,w=56,c=64,f=64,k=3,stride=1,pad=1,layout=nhwc,bias,relu");
    kernel_task task = *kernel_task::create(what, hardware_params{});
    std::vector<step_list> round = tlp_rounds::round_of(what, programs);
    nest_row row_of{nest_target{}};
    std::vector<float> rows = std::vector<float>(round.size() * columns);

    convolution() {
        for (std::size_t i = 0; i < round.size(); ++i)
            if (!row_of(task, round[i], std::span(rows).subspan(i * columns, columns))) std::abort();
    }
    static const convolution& once() {
        static const convolution c;
        return c;
    }
};

/// The round as the candidates of several tasks. Labels hang on the features and on luck, so that the trees are full, as real ones are.
task_normalised_samples samples_of(const convolution& from) {
    task_normalised_samples out(columns);
    augur::random_engine rng(1);
    const std::size_t each = from.round.size() / teachers;
    for (std::size_t t = 0; t < teachers; ++t) {
        const auto rows = std::span(from.rows).subspan(t * each * columns, each * columns);
        std::vector<float> labels(each);
        for (std::size_t i = 0; i < each; ++i) {
            const auto told = mix64(static_cast<std::uint64_t>(rows[i * columns + i % 7] * 1024.0F));
            labels[i] = (static_cast<float>(told % 1024) + static_cast<float>(rng.below(1024))) / 2048.0F;
        }
        if (!out.add(task_normaliser::fit(rows, columns), {rows.begin(), rows.end()}, labels)) std::abort();
    }
    return out;
}
std::vector<task_normalised_trees> trained(std::size_t members) {
    auto trees = task_normalised_trees::train_members(samples_of(convolution::once()), task_normalised_trees::defaults(), members);
    if (!trees) std::abort();
    return *std::move(trees);
}
const std::vector<task_normalised_trees>& five_members() {
    static const auto trees = trained(5);
    return trees;
}

void train(benchmark::State& state) {
    const auto samples = samples_of(convolution::once());
    auto o = task_normalised_trees::defaults();
    o.threads = static_cast<std::uint32_t>(state.range(0));
    for (auto _ : state) {
        auto trees = task_normalised_trees::train(samples, o);
        benchmark::DoNotOptimize(trees);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(samples.size()));
}
BENCHMARK(train)->Name("xgboost/relative_trees/train")->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Only the features: what scoring by trees is to be compared with.
void rows(benchmark::State& state) {
    const auto& c = convolution::once();
    nest_row row_of = c.row_of;
    std::vector<float> row(columns);
    std::size_t i = 0;
    for (auto _ : state) {
        auto done = row_of(c.task, c.round[i++ % c.round.size()], row);
        benchmark::DoNotOptimize(done);
        benchmark::DoNotOptimize(row.data());
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(rows)->Name("xgboost/rows");

// Only the trees.
void score_rows(benchmark::State& state) {
    const auto& c = convolution::once();
    const auto& trees = five_members().front();
    const auto all = task_normaliser::fit(c.rows, columns);
    std::vector<float> related, scores(c.round.size());
    for (auto _ : state) {
        related = c.rows;
        auto done = trees.score(all, related, scores);
        benchmark::DoNotOptimize(done);
        benchmark::DoNotOptimize(scores.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(scores.size()));
}
BENCHMARK(score_rows)->Name("xgboost/relative_trees/score")->Unit(benchmark::kMillisecond);

// From steps to scores, as a search asks.
void score_steps(benchmark::State& state) {
    const auto& c = convolution::once();
    std::vector<task_normalised_trees> members(five_members().begin(), five_members().begin() + state.range(0));
    task_normalised_model<step_list, kernel_task, nest_row> model(std::move(members), c.row_of);
    if (!model.set_normaliser(c.task, c.round)) std::abort();
    std::vector<float> scores(c.round.size());
    for (auto _ : state) {
        auto done = model.score(c.task, c.round, scores);
        benchmark::DoNotOptimize(done);
        benchmark::DoNotOptimize(scores.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(scores.size()));
}
BENCHMARK(score_steps)->Name("xgboost/relative_model/score")->ArgName("members")->Arg(1)->Arg(5)->Unit(benchmark::kMillisecond);

} // namespace

#endif
