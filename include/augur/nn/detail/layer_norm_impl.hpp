// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_LAYER_NORM_IMPL_HPP
#define AUGUR_NN_DETAIL_LAYER_NORM_IMPL_HPP

/// @file
/// Definitions of nn/layers/layer_norm.hpp.

#include <concepts>

#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/layers/layer_norm.hpp>
#include <augur/nn/sum.hpp>

namespace augur::inline v0 {
namespace nn {

template <scalar S>
void layer_norm<S>::forward(in<S> x, out<S> normal, out<S> deviation, out<S> y) const {
    using std::sqrt;
    const index d = gamma.cols();
    AUGUR_ASSERT(x.cols() == d && normal.rows() == x.rows() && normal.cols() == d && deviation.rows() == x.rows() && y.rows() == x.rows(),
                 "layer_norm: shape");
    if constexpr (std::same_as<S, float>) {
        for (index t = 0; t < x.rows(); ++t)
            kernels::layer_norm(x.data() + t * x.outerStride(), d, static_cast<float>(epsilon), gamma.data(), beta.data(),
                                normal.data() + t * normal.outerStride(), &deviation(t, 0), y.data() + t * y.outerStride());
        return;
    }
    const S count = static_cast<S>(static_cast<double>(d));
    for (index t = 0; t < x.rows(); ++t) {
        const S mean = sum_of_four<S>(d, [&](index i) { return x(t, i); }) / count;
        const S squares = sum_of_four<S>(d, [&](index i) { return (x(t, i) - mean) * (x(t, i) - mean); }); // in two passes: no cancellation
        const S below = sqrt(squares / count + S(epsilon));
        deviation(t, 0) = below;
        for (index i = 0; i < d; ++i) {
            normal(t, i) = (x(t, i) - mean) / below;
            y(t, i) = gamma[i] * normal(t, i) + beta[i];
        }
    }
}

template <scalar S>
void layer_norm<S>::backward(in<S> normal, in<S> deviation, in<S> dy, out<S> dx, layer_norm& grad) const {
    const index d = gamma.cols();
    AUGUR_ASSERT(dy.cols() == d && dx.rows() == dy.rows() && dx.cols() == d && normal.rows() == dy.rows(), "layer_norm: shape");
    const S count = static_cast<S>(static_cast<double>(d));
    for (index t = 0; t < dy.rows(); ++t) {
        S mean(0), along(0); // of g = gamma dy, and of g times the normalised row
        for (index i = 0; i < d; ++i) {
            const S g = gamma[i] * dy(t, i);
            mean += g;
            along += g * normal(t, i);
            grad.gamma[i] += dy(t, i) * normal(t, i);
            grad.beta[i] += dy(t, i);
        }
        mean /= count;
        along /= count;
        for (index i = 0; i < d; ++i) dx(t, i) = (gamma[i] * dy(t, i) - mean - normal(t, i) * along) / deviation(t, 0);
    }
}

} // namespace nn
} // namespace augur::inline v0

#endif
