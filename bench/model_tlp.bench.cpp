// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Candidates that TLP scores per second, and candidates that it learns from; a dense forward in plain Eigen, as a yard-stick.
#include <augur/tlp/scorer.hpp>
#include <augur/tlp/train/online_trainer.hpp>

#include <string_view>
#include <vector>

#include <augur/schedule/steps.hpp>
#include <augur/tbb/executor.hpp>
#include <benchmark/benchmark.h>

namespace {

struct kernel {
    [[nodiscard]] static std::string_view key() { return "conv2d"; }
};

/// A tiled convolution of 21 steps, seven of them random splits: some 250 distinct rows in 2048 candidates, as in a round of evolutionary search.
augur::step_list candidate(augur::random_engine& rng) {
    using namespace augur;
    const auto power = [&](std::uint64_t most) { return std::int64_t{1} << rng.below(most + 1); };
    step_list s;
    s.steps.emplace_back(compute_inline_step{1});
    for (std::int64_t axis = 0; axis < 4; ++axis) s.steps.emplace_back(split_step{3, 4 * axis, 64, {power(1), power(1), power(2)}, true});
    for (std::int64_t axis = 0; axis < 3; ++axis) s.steps.emplace_back(split_step{3, 16 + 2 * axis, 64, {power(5)}, true});
    s.steps.emplace_back(reorder_step{3, {0, 4, 8, 12, 1, 5, 9, 13, 16, 18, 20, 2, 6, 10, 14, 17, 19, 21, 3, 7, 11, 15}});
    for (std::int64_t axis = 0; axis < 4; ++axis) s.steps.emplace_back(follow_split_step{4, 3 * axis, axis + 1, 2});
    s.steps.emplace_back(reorder_step{4, {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}});
    s.steps.emplace_back(compute_at_step{3, 4, static_cast<std::int64_t>(rng.below(8))});
    s.steps.emplace_back(fuse_step{4, {0, 1, 2, 3}});
    s.steps.emplace_back(annotate_step{4, 0, loop_annotation::parallel});
    s.steps.emplace_back(pragma_step{3, 0, rng.below(2) == 0 ? "auto_unroll_max_step$16" : "auto_unroll_max_step$512"});
    s.steps.emplace_back(annotate_step{3, 21, loop_annotation::vectorize});
    return s;
}
std::vector<augur::step_list> candidates(std::size_t n) {
    augur::random_engine rng(1);
    std::vector<augur::step_list> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(candidate(rng));
    return all;
}

augur::tlp::trained_model model_of(bool authors) {
    const auto schema = authors ? augur::tlp::schema::authors_cpu() : augur::tlp::schema::ansor();
    auto model = augur::tlp::trained_model::random_init(schema, authors ? augur::tlp::config::authors(0) : augur::tlp::config::small(0),
                                                        augur::random_engine(1));
    if (!model) std::abort();
    return *std::move(model);
}

} // namespace

/// Features, de-duplication and network. authors: 1 the paper's network of 676161 parameters, 0 the small online one.
static void tlp_score(benchmark::State& state) {
    const auto model = model_of(state.range(0) != 0);
    const auto batch = candidates(static_cast<std::size_t>(state.range(1)));
    augur::tbb_executor executor(static_cast<std::size_t>(state.range(2)));
    auto scorer = model.scorer(executor);
    std::vector<float> scores(batch.size());
    for (auto _ : state) {
        if (!scorer.score(kernel{}, std::span<const augur::step_list>(batch), std::span<float>(scores))) state.SkipWithError("score");
        benchmark::DoNotOptimize(scores.data());
    }
    state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(tlp_score)
    ->ArgNames({"authors", "N", "threads"})
    ->Args({1, 2048, 1})
    ->Args({1, 2048, 2})
    ->Args({0, 2048, 1})
    ->Args({0, 2048, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// The authors' network layer by layer on all N * 25 rows with Eigen's product: no shared rows, no own kernels, and
/// the instruction set of the build, SSE2 where no flag says more.
static void tlp_score_dense_eigen(benchmark::State& state) {
    namespace nn = augur::nn;
    const auto model = model_of(true);
    const auto& net = model.model;
    const auto batch = candidates(static_cast<std::size_t>(state.range(0)));
    const auto n = static_cast<nn::index>(batch.size());
    const nn::index rows = n * 25, d = 256, heads = 8, width = d / heads;
    nn::matrix<float> x(rows, 22);
    for (std::size_t i = 0; i < batch.size(); ++i)
        if (!augur::tlp::extract_features(batch[i], model.schema, std::span<float>(x.data() + static_cast<nn::index>(i) * 25 * 22, 25 * 22)))
            state.SkipWithError("features");
    const auto layer = [](const nn::linear<float>& l, const nn::matrix<float>& from) {
        nn::matrix<float> to(from.rows(), l.W.cols());
        to.noalias() = from * l.W;
        to.rowwise() += l.b;
        return to;
    };
    for (auto _ : state) {
        nn::matrix<float> h = x;
        for (const auto& l : net.encoder) h = layer(l, h).cwiseMax(0.0F);
        const nn::matrix<float> qkv = layer(net.attention.front().in_proj, h);
        nn::matrix<float> context(rows, d);
        for (nn::index c = 0; c < n; ++c)
            for (nn::index k = 0; k < heads; ++k) {
                const auto part = [&](nn::index which) { return qkv.block(c * 25, which * d + k * width, 25, width); };
                nn::matrix<float> w = part(0) * part(1).transpose() / std::sqrt(static_cast<float>(width));
                w.colwise() -= w.rowwise().maxCoeff().eval();
                w = w.array().exp();
                w.array().colwise() /= w.rowwise().sum().eval().array();
                context.block(c * 25, k * width, 25, width).noalias() = w * part(2);
            }
        nn::matrix<float> z = layer(net.attention.front().out_proj, context) + h;
        for (const auto& b : net.blocks) z = layer(b.inner, z).cwiseMax(0.0F).eval() + z;
        for (std::size_t l = 0; l < net.decoders.front().size(); ++l) {
            z = layer(net.decoders.front()[l], z);
            if (l + 1 < net.decoders.front().size()) z = z.cwiseMax(0.0F).eval();
        }
        benchmark::DoNotOptimize(z.data());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(tlp_score_dense_eigen)->ArgName("N")->Arg(2048)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Features alone.
static void tlp_extract(benchmark::State& state) {
    const auto schema = augur::tlp::schema::ansor();
    const auto batch = candidates(256);
    std::vector<float> rows(schema.rows * schema.columns);
    for (auto _ : state)
        for (const auto& s : batch) {
            auto n = augur::tlp::extract_features(s, schema, rows);
            benchmark::DoNotOptimize(n);
        }
    state.SetItemsProcessed(state.iterations() * 256);
}
BENCHMARK(tlp_extract);

/// Forward, LambdaRank, backward, Adam: samples a second of one epoch of 256 records in four tasks.
static void tlp_train(benchmark::State& state) {
    const auto start = model_of(state.range(0) != 0);
    const auto batch = candidates(256);
    augur::tlp::deduplicated_batch data(start.schema.columns);
    std::vector<float> rows(start.schema.rows * start.schema.columns), labels;
    std::vector<std::uint32_t> groups;
    augur::random_engine rng(2);
    for (const auto& s : batch) {
        const auto n = augur::tlp::extract_features(s, start.schema, rows);
        data.add(std::span<const float>(rows).first(*n * start.schema.columns));
        labels.push_back(static_cast<float>(rng.uniform()));
        groups.push_back(static_cast<std::uint32_t>(groups.size() % 4));
    }
    augur::tbb_executor executor(static_cast<std::size_t>(state.range(1)));
    auto options = augur::tlp::training_options::online();
    options.epochs = 4;
    options.fine.least_steps = 1;
    for (auto _ : state) {
        auto net = start.model;
        auto report = augur::tlp::fit_online(net, data, labels, groups, executor, options);
        benchmark::DoNotOptimize(report);
    }
    state.SetItemsProcessed(state.iterations() * 4 * 256);
}
BENCHMARK(tlp_train)
    ->ArgNames({"authors", "threads"})
    ->Args({1, 1})
    ->Args({1, 2})
    ->Args({0, 1})
    ->Args({0, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
