// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_PRODUCT_IMPL_HPP
#define AUGUR_NN_DETAIL_PRODUCT_IMPL_HPP

/// @file
/// Definitions of nn/detail/product.hpp.

#include <concepts>

#include <augur/nn/product.hpp>

namespace augur::inline v0 {
namespace nn {

template <scalar S>
void multiply(in<S> x, in<S> w, out<S> y, bool accumulate) {
    AUGUR_ASSERT(x.cols() == w.rows() && y.rows() == x.rows() && y.cols() == w.cols(), "multiply: shape");
    if constexpr (std::same_as<S, float>) {
        kernels::gemm(x.rows(), w.cols(), x.cols(), {x.data(), x.outerStride(), 1}, {w.data(), w.outerStride(), 1}, y.data(), y.outerStride(),
                      {accumulate ? y.data() : nullptr, y.outerStride()});
    } else if (accumulate) {
        y.noalias() += x * w;
    } else {
        y.noalias() = x * w;
    }
}

template <scalar S>
void multiply_transposed(in<S> x, in<S> w, out<S> y, bool accumulate) {
    AUGUR_ASSERT(x.cols() == w.cols() && y.rows() == x.rows() && y.cols() == w.rows(), "multiply_transposed: shape");
    if constexpr (std::same_as<S, float>) {
        kernels::gemm(x.rows(), w.rows(), x.cols(), {x.data(), x.outerStride(), 1}, {w.data(), 1, w.outerStride()}, y.data(), y.outerStride(),
                      {accumulate ? y.data() : nullptr, y.outerStride()});
    } else if (accumulate) {
        y.noalias() += x * w.transpose();
    } else {
        y.noalias() = x * w.transpose();
    }
}

template <scalar S>
void multiply_outer(in<S> x, in<S> y, out<S> g, bool accumulate) {
    AUGUR_ASSERT(x.rows() == y.rows() && g.rows() == x.cols() && g.cols() == y.cols(), "multiply_outer: shape");
    if constexpr (std::same_as<S, float>) {
        kernels::gemm(x.cols(), y.cols(), x.rows(), {x.data(), 1, x.outerStride()}, {y.data(), y.outerStride(), 1}, g.data(), g.outerStride(),
                      {accumulate ? g.data() : nullptr, g.outerStride()});
    } else if (accumulate) {
        g.noalias() += x.transpose() * y;
    } else {
        g.noalias() = x.transpose() * y;
    }
}

} // namespace nn
} // namespace augur::inline v0

#endif
