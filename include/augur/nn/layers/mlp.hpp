// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_MLP_HPP
#define AUGUR_NN_LAYERS_MLP_HPP

/// @file
/// Multilayer perceptron: linear layers with an activation function between them.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/nn/layers/activation.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// Activations that `mlp::forward` stores for `mlp::backward`, and scratch memory of both.
template <scalar S>
struct mlp_activation {
    std::vector<buffer<S>> before, after; ///< (T, width) of each layer but the last, before and after the activation function
    buffer<S> d[2];                       ///< (T, width) gradients of two neighbouring layers
};

/// y = l_n(f(... f(l_1(x))))   x (T, I)    y (T, O)
///
/// The parameters have the names of a `torch.nn.Sequential`. A value, as every layer.
///
/// @tparam Activation  `rectifier<S>` or another one of layers/activation.hpp
template <scalar S, class Activation = rectifier<S>>
struct mlp {
    std::vector<linear<S>> layers; ///< at least one

    /// @param widths  I, the widths of the hidden layers, O
    static mlp zeros(std::span<const index> widths) {
        AUGUR_ASSERT(widths.size() > 1, "mlp: no layer");
        mlp net;
        for (std::size_t l = 0; l + 1 < widths.size(); ++l) net.layers.push_back(linear<S>::zeros(widths[l], widths[l + 1]));
        return net;
    }

    /// y <- output for x. Stores the activations for backward in `kept`.
    void forward(in<S> x, mlp_activation<S>& kept, out<S> y) const {
        kept.before.resize(layers.size() - 1);
        kept.after.resize(layers.size() - 1);
        for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
            map<S> before = kept.before[l].shape(x.rows(), layers[l].W.cols()), after = kept.after[l].shape(x.rows(), layers[l].W.cols());
            layers[l].forward(input(x, kept, l), before);
            activate<Activation, S>(before, after);
        }
        layers.back().forward(input(x, kept, layers.size() - 1), y);
    }
    /// Given dL/dy: dx <- dL/dx, and grad += dL/d(parameters).   pre: `kept` from forward of the same x
    void backward(in<S> x, mlp_activation<S>& kept, in<S> dy, out<S> dx, mlp& grad) const {
        layers.front().backward(x, backward_to_first(x, kept, dy, grad), dx, grad.layers.front());
    }
    /// Backward without dL/dx.
    void backward(in<S> x, mlp_activation<S>& kept, in<S> dy, mlp& grad) const {
        layers.front().backward(x, backward_to_first(x, kept, dy, grad), grad.layers.front());
    }

    template <class F, class... M>
    static void visit(F&& f, M&... nets) {
        const std::size_t depth[] = {nets.layers.size()...};
        for (std::size_t l = 0; l < depth[0]; ++l) {
            const std::string at = std::to_string(2 * l); // activation functions are modules without parameters
            f(at + ".weight", nets.layers[l].W...);
            f(at + ".bias", nets.layers[l].b...);
        }
    }

private:
    static Eigen::Ref<const matrix<S>> input(in<S> x, const mlp_activation<S>& kept, std::size_t layer) {
        if (layer == 0) return x;
        return kept.after[layer - 1].view();
    }
    /// Backward through all layers but the first; returns the gradient by the output of the first one.
    Eigen::Ref<const matrix<S>> backward_to_first(in<S> x, mlp_activation<S>& kept, in<S> dy, mlp& grad) const {
        if (layers.size() == 1) return dy;
        for (std::size_t l = layers.size() - 1; l > 0; --l) {
            map<S> dx = kept.d[l % 2].shape(x.rows(), layers[l].W.rows());
            if (l + 1 == layers.size()) layers[l].backward(input(x, kept, l), dy, dx, grad.layers[l]);
            else layers[l].backward(input(x, kept, l), kept.d[(l + 1) % 2].view(), dx, grad.layers[l]);
            activate_backward<Activation, S>(kept.before[l - 1].view(), dx);
        }
        return kept.d[1].view();
    }
};

} // namespace nn
} // namespace augur::inline v0

#endif
