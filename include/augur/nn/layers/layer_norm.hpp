// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_LAYER_NORM_HPP
#define AUGUR_NN_LAYERS_LAYER_NORM_HPP

/// @file
/// Layer normalisation (Ba, Kiros, Hinton 2016).

#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// Normalises every row to mean 0 and variance 1, then scales and shifts it: y = gamma (x - mean) / sqrt(variance + epsilon) + beta.
///
///     x, y (T, D)    gamma, beta (D)
///
/// The variance is biased (divided by D), as in torch. A value, as every layer.
template <scalar S>
struct layer_norm {
    row_vector<S> gamma; ///< (D)
    row_vector<S> beta;  ///< (D)
    double epsilon = 1e-5;

    static layer_norm zeros(index width, double epsilon = 1e-5) { return {row_vector<S>::Zero(width), row_vector<S>::Zero(width), epsilon}; }

    /// y <- normalised x. For backward: deviation (T, 1) <- sqrt(variance + epsilon), normal (T, D) <- (x - mean) / deviation.
    void forward(in<S> x, out<S> normal, out<S> deviation, out<S> y) const;
    /// dx <- dL/dx, grad += dL/d(gamma, beta).   pre: normal and deviation from forward; dx may be dy
    void backward(in<S> normal, in<S> deviation, in<S> dy, out<S> dx, layer_norm& grad) const;

    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("weight", layers.gamma...);
        f("bias", layers.beta...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/layer_norm_impl.hpp>

#endif
