// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_TRANSFORMER_HPP
#define AUGUR_NN_LAYERS_TRANSFORMER_HPP

/// @file
/// Transformer encoder layer (Vaswani et al. 2017), and a stack of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/nn/layers/activation.hpp>
#include <augur/nn/layers/attention.hpp>
#include <augur/nn/layers/dropout.hpp>
#include <augur/nn/layers/layer_norm.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {
/// A visitor that calls f with `part` in front of each name.
template <class F>
auto under(F& f, std::string part) {
    return [&f, part = std::move(part)](std::string_view leaf, auto&... p) { f(part + std::string(leaf), p...); };
}
} // namespace detail

/// Position of the layer normalisation.
enum class norm_place : std::uint8_t {
    after, ///< post-norm, after each residual sum: BERT, torch's default
    before ///< pre-norm, before attention and before the affine maps: GPT-2
};

/// Activations that `transformer_layer::forward` stores for `backward`, and scratch memory of both.
template <scalar S>
struct transformer_activation {
    attention_activation<S> attention;
    buffer<S> first, attended;                                     ///< (T, D) input of attention; its residual sum
    buffer<S> normal_1, normal_2, deviation_1, deviation_2;        ///< (T, D), (T, D), (T, 1), (T, 1)
    buffer<S> second;                                              ///< (T, D) input of the affine maps
    buffer<S> wide, active;                                        ///< (T, F) before and after the activation function
    buffer<S> sum;                                                 ///< (T, D)
    buffer<S> d_wide, d_second, d_attended, d_first, d_normalised; ///< backward only
    dropout drop;                                                  ///< of the forward pass
};

/// Self-attention and a feed-forward block (two affine maps with an activation between them), each with a residual path and a normalisation.
///
///     after:   a = norm1(x + attention(x))           y = norm2(a + contract(f(expand(a))))
///     before:  a = x + attention(norm1(x))           y = a + contract(f(expand(norm2(a))))
///
///     x, y (T, D)    expand (D, F)    contract (F, D)
///
/// Dropout is where BERT and GPT-2 have it: on the softmax weights (stream 0), on the outputs of attention (1) and of contract (2).
///
/// With `sequences::causal` a row attends to itself and the rows before it (GPT), else to all rows of its sequence (BERT). The parameters have the
/// names of `torch.nn.TransformerEncoderLayer`. A value, as every layer.
///
/// @tparam Activation  `rectifier<S>`, `gelu_exact<S>` or `gelu_tanh<S>`
template <scalar S, class Activation = gelu_tanh<S>>
struct transformer_layer {
    nn::attention<S> attention;
    linear<S> expand, contract;
    layer_norm<S> norm_1, norm_2;
    norm_place place = norm_place::after;

    /// pre: heads divides width
    static transformer_layer zeros(index width, index heads, index hidden, norm_place place = norm_place::after) {
        return {nn::attention<S>::zeros(width, heads), linear<S>::zeros(width, hidden), linear<S>::zeros(hidden, width),
                layer_norm<S>::zeros(width),           layer_norm<S>::zeros(width),     place};
    }
    [[nodiscard]] index width() const { return attention.width(); }

    /// y <- output of the layer for x. Stores the activations for backward in `kept`.   y is not x
    void forward(in<S> x, const sequences& layout, transformer_activation<S>& kept, out<S> y, const dropout& drop = {}) const;
    /// dx <- dL/dx, grad += dL/d(parameters).   pre: `kept` from forward of the same x; dx may be dy
    void backward(in<S> x, const sequences& layout, transformer_activation<S>& kept, in<S> dy, out<S> dx, transformer_layer& grad) const;

    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        nn::attention<S>::visit(detail::under(f, "self_attn."), layers.attention...);
        linear<S>::visit(detail::under(f, "linear1."), layers.expand...);
        linear<S>::visit(detail::under(f, "linear2."), layers.contract...);
        layer_norm<S>::visit(detail::under(f, "norm1."), layers.norm_1...);
        layer_norm<S>::visit(detail::under(f, "norm2."), layers.norm_2...);
    }
};

/// Activations that `transformer_stack::forward` stores for `backward`, and scratch memory of both.
template <scalar S>
struct transformer_stack_activation {
    std::vector<buffer<S>> states;                 ///< (T, D) output of each layer
    std::vector<transformer_activation<S>> layers; ///< of each layer
    buffer<S> normal, deviation;                   ///< of the last normalisation: (T, D), (T, 1)

    /// Input of layer i, or of the last normalisation for i = layers.size(), given the input x of the stack.
    [[nodiscard]] Eigen::Ref<const matrix<S>> input(in<S> x, std::size_t i) const {
        if (i == 0) return x;
        return states[i - 1].view();
    }
};

/// Pre-norm layers one after the other, and a last normalisation, as their residual path has none (GPT-2, Radford et al. 2019, section 2.3).
///
///     y = last(layer_n(... layer_1(x)))    x, y (T, D)
///
/// The parameters have the names of `torch.nn.TransformerEncoder`. A value, as every layer.
template <scalar S, class Activation = gelu_tanh<S>>
struct transformer_stack {
    std::vector<transformer_layer<S, Activation>> layers; ///< `norm_place::before`
    layer_norm<S> last;

    /// pre: heads divides width
    static transformer_stack zeros(index depth, index width, index heads, index hidden) {
        return {std::vector(static_cast<std::size_t>(depth), transformer_layer<S, Activation>::zeros(width, heads, hidden, norm_place::before)),
                layer_norm<S>::zeros(width)};
    }

    /// y <- output of the stack for x. Stores the activations for backward in `kept`. Layer i drops by stream i of `drop`.   y is not x
    void forward(in<S> x, const sequences& layout, transformer_stack_activation<S>& kept, out<S> y, const dropout& drop = {}) const;
    /// dx <- dL/dx, grad += dL/d(parameters).   pre: `kept` from forward of the same x; dx may be dy
    void backward(in<S> x, const sequences& layout, transformer_stack_activation<S>& kept, in<S> dy, out<S> dx, transformer_stack& grad) const;

    template <class F, class... L>
    static void visit(F&& f, L&... stacks) {
        const std::size_t depth[] = {stacks.layers.size()...};
        for (std::size_t i = 0; i < depth[0]; ++i)
            transformer_layer<S, Activation>::visit(detail::under(f, "layers." + std::to_string(i) + "."), stacks.layers[i]...);
        layer_norm<S>::visit(detail::under(f, "norm."), stacks.last...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/transformer_impl.hpp>

#endif
