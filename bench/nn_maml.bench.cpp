// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A step of meta-training beside a plain one on the same data, MetaTune's head on embeddings of graphs: 32 tasks of 20 shots and 20 queries.
#include <augur/nn/train/maml.hpp>

#include <span>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/mlp.hpp>
#include <augur/nn/train/loss.hpp>
#include <benchmark/benchmark.h>

namespace nn = augur::nn;

namespace {
struct labelled_rows {
    nn::matrix<float> x;
    std::vector<float> y;
};

struct head_loss {
    using batch = labelled_rows;
    template <nn::scalar S>
    struct activation {
        nn::mlp_activation<S> net;
        nn::buffer<S> x, score, slope;
        std::vector<S> label;
    };

    template <nn::scalar S>
    [[nodiscard]] nn::mlp<S> zeros() const {
        return nn::mlp<S>::zeros(std::vector<nn::index>{64, 64, 32, 1});
    }
    template <nn::scalar S>
    S operator()(const nn::mlp<S>& net, const labelled_rows& data, activation<S>& kept, nn::mlp<S>& gradient) const {
        const std::size_t n = data.y.size();
        nn::map<S> x = kept.x.shape(data.x.rows(), data.x.cols()), score = kept.score.shape(data.x.rows(), 1),
                   slope = kept.slope.shape(data.x.rows(), 1);
        x = data.x.cast<S>();
        kept.label.assign(data.y.begin(), data.y.end());
        net.forward(x, kept.net, score);
        const S loss = nn::mse<S>(std::span<const S>(score.data(), n), std::span<const S>(kept.label), std::span<S>(slope.data(), n));
        net.backward(x, kept.net, slope, gradient);
        return loss;
    }
};

labelled_rows draw_rows(nn::index n, augur::random_engine& rng) {
    labelled_rows rows{nn::matrix<float>(n, 64), std::vector<float>(static_cast<std::size_t>(n))};
    nn::fill_uniform(rows.x, 1, rng);
    for (float& y : rows.y) y = static_cast<float>(rng.uniform());
    return rows;
}

nn::mlp<float> initial() {
    augur::random_engine rng(1);
    auto net = head_loss{}.zeros<float>();
    nn::init(net, rng);
    return net;
}

constexpr int tasks_of_a_step = 32;
constexpr nn::index shots = 20;

void meta_step(benchmark::State& state, nn::meta_gradient kind) {
    const auto theta = initial();
    augur::random_engine rng(2);
    std::vector<nn::meta_task<labelled_rows>> tasks;
    for (int t = 0; t < tasks_of_a_step; ++t) tasks.push_back({draw_rows(shots, rng), draw_rows(shots, rng)});
    nn::maml<float, head_loss> meta(head_loss{}, {2e-3, 1, kind});
    augur::serial_executor serial;
    auto gradient = theta;
    for (auto _ : state) benchmark::DoNotOptimize(meta.gradient(theta, tasks, serial, gradient));
}

/// Forward and backward over support and query of each task together.
void plain_step(benchmark::State& state) {
    const auto theta = initial();
    augur::random_engine rng(2);
    std::vector<labelled_rows> tasks;
    for (int t = 0; t < tasks_of_a_step; ++t) tasks.push_back(draw_rows(2 * shots, rng));
    head_loss::activation<float> kept;
    auto gradient = theta;
    for (auto _ : state) {
        nn::set_zero(gradient);
        for (const auto& data : tasks) benchmark::DoNotOptimize(head_loss{}(theta, data, kept, gradient));
    }
}
} // namespace

BENCHMARK(plain_step)->Name("maml/step/plain")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(meta_step, first_order, nn::meta_gradient::first_order)->Name("maml/step/first_order")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(meta_step, second_order, nn::meta_gradient::second_order)->Name("maml/step/second_order")->Unit(benchmark::kMicrosecond);
