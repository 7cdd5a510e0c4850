// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_INIT_HPP
#define AUGUR_NN_LAYERS_INIT_HPP

/// @file
/// Random initialisation of layers with the defaults of torch, DGL and dgl-lifesci.

#include <cmath>

#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/attention.hpp>
#include <augur/nn/layers/embedding.hpp>
#include <augur/nn/layers/graph_convolution.hpp>
#include <augur/nn/layers/layer_norm.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/layers/lstm.hpp>
#include <augur/nn/layers/mlp.hpp>
#include <augur/nn/layers/transformer.hpp>
#include <augur/nn/layers/weighted_sum_and_max.hpp>

namespace augur::inline v0 {
namespace nn {

/// Every element uniform in [-bound, bound).
template <class P>
void fill_uniform(P& p, double bound, random_engine& rng) {
    using S = typename P::Scalar;
    for (index i = 0; i < p.size(); ++i) p.data()[i] = static_cast<S>(rng.uniform(-bound, bound));
}

/// Every element normal with mean 0 and this standard deviation.
template <class P>
void fill_normal(P& p, double deviation, random_engine& rng) {
    using S = typename P::Scalar;
    for (index i = 0; i < p.size(); ++i) { // Box, Muller 1958
        const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
        p.data()[i] = static_cast<S>(deviation * radius * std::cos(6.28318530717958647693 * rng.uniform()));
    }
}

/// torch.nn.Linear: weight and bias uniform within 1 / sqrt(I).
template <scalar S>
void init(linear<S>& layer, random_engine& rng) {
    const double bound = 1 / std::sqrt(static_cast<double>(layer.W.rows()));
    fill_uniform(layer.W, bound, rng);
    fill_uniform(layer.b, bound, rng);
}

/// Each layer as torch.nn.Linear.
template <scalar S, class F>
void init(mlp<S, F>& net, random_engine& rng) {
    for (auto& layer : net.layers) init(layer, rng);
}

/// DGL's GraphConv: Xavier-uniform weight, bias 0.
template <scalar S>
void init(graph_convolution<S>& layer, random_engine& rng) {
    fill_uniform(layer.W, std::sqrt(6 / static_cast<double>(layer.W.rows() + layer.W.cols())), rng);
    layer.b.setZero();
}

/// dgl-lifesci: the gate as torch.nn.Linear.
template <scalar S>
void init(weighted_sum_and_max<S>& layer, random_engine& rng) {
    init(layer.gate, rng);
}

template <scalar S>
void init(residual<S>& block, random_engine& rng) {
    init(block.inner, rng);
}

/// torch.nn.MultiheadAttention: the joint input projection Xavier-uniform (D in, 3D out), the output projection as a linear layer, biases 0.
template <scalar S>
void init(attention<S>& layer, random_engine& rng) {
    const auto d = static_cast<double>(layer.width());
    fill_uniform(layer.in_proj.W, std::sqrt(6 / (4 * d)), rng);
    layer.in_proj.b.setZero();
    fill_uniform(layer.out_proj.W, 1 / std::sqrt(d), rng);
    layer.out_proj.b.setZero();
}

/// torch.nn.LSTM: all parameters uniform within 1 / sqrt(H).
template <scalar S>
void init(lstm<S>& layer, random_engine& rng) {
    const double bound = 1 / std::sqrt(static_cast<double>(layer.width()));
    lstm<S>::visit([&](auto&&, auto& p) { fill_uniform(p, bound, rng); }, layer);
}

/// torch.nn.LayerNorm: gamma 1, beta 0.
template <scalar S>
void init(layer_norm<S>& layer, random_engine&) {
    layer.gamma.setOnes();
    layer.beta.setZero();
}

/// torch.nn.TransformerEncoderLayer: each part with its own default.
template <scalar S, class F>
void init(transformer_layer<S, F>& layer, random_engine& rng) {
    init(layer.attention, rng);
    init(layer.expand, rng);
    init(layer.contract, rng);
    init(layer.norm_1, rng);
    init(layer.norm_2, rng);
}

template <scalar S, class F>
void init(transformer_stack<S, F>& stack, random_engine& rng) {
    for (auto& layer : stack.layers) init(layer, rng);
    init(stack.last, rng);
}

/// GPT-2 and BERT: normal, with a deviation of 0.02 (torch's default is 1).
template <scalar S>
void init(embedding<S>& layer, random_engine& rng, double deviation = 0.02) {
    fill_normal(layer.W, deviation, rng);
}

} // namespace nn
} // namespace augur::inline v0

#endif
