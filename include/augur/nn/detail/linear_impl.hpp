// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_LINEAR_IMPL_HPP
#define AUGUR_NN_DETAIL_LINEAR_IMPL_HPP

/// @file
/// Definitions of nn/layers/linear.hpp.

#include <algorithm>
#include <concepts>

#include <augur/nn/product.hpp>
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/layers/linear.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {
/// sums <- sums + rows of x, added in order.   x (T, O)    sums (O)
template <scalar S>
void add_rows(in<S> x, row_vector<S>& sums) {
    if constexpr (std::same_as<S, float>) return kernels::add_rows(x.data(), x.outerStride(), x.rows(), x.cols(), sums.data());
    for (index t = 0; t < x.rows(); ++t) {
        const S* const row = x.data() + t * x.outerStride();
        for (index o = 0; o < x.cols(); ++o) sums[o] += row[o];
    }
}
} // namespace detail

template <scalar S>
void packed_weights<S>::pack(const linear<S>& layer) {
    if constexpr (std::same_as<S, float>) {
        const auto& W = layer.W;
        forward_.pack(W.rows(), W.cols(), {W.data(), W.outerStride(), 1});
        backward_.pack(W.cols(), W.rows(), {W.data(), 1, W.outerStride()});
    }
}

template <scalar S>
linear<S> linear<S>::zeros(index in_features, index out_features) {
    return {matrix<S>::Zero(in_features, out_features), row_vector<S>::Zero(out_features)};
}

template <scalar S>
void linear<S>::forward(in<S> x, out<S> y, [[maybe_unused]] const packed_weights<S>* packed) const {
    AUGUR_ASSERT(x.cols() == W.rows() && y.rows() == x.rows() && y.cols() == W.cols(), "linear: shape");
    if constexpr (std::same_as<S, float>) { // b is the initial value of the sums; saves a pass over y
        if (packed != nullptr) return packed->forward().gemm(x.rows(), {x.data(), x.outerStride(), 1}, y.data(), y.outerStride(), {b.data(), 0});
        return kernels::gemm(x.rows(), W.cols(), W.rows(), {x.data(), x.outerStride(), 1}, {W.data(), W.outerStride(), 1}, y.data(), y.outerStride(),
                             {b.data(), 0});
    }
    for (index t = 0; t < y.rows(); ++t) std::copy_n(b.data(), b.size(), y.data() + t * y.outerStride());
    multiply<S>(x, W, y, true); // (T,I)(I,O)
}

template <scalar S>
void linear<S>::backward(in<S> x, in<S> dy, linear& grad) const {
    AUGUR_ASSERT(x.cols() == W.rows() && dy.rows() == x.rows() && dy.cols() == W.cols(), "linear: shape");
    multiply_outer<S>(x, dy, grad.W, true); // (I,T)(T,O)
    detail::add_rows<S>(dy, grad.b);
}

template <scalar S>
void linear<S>::backward(in<S> x, in<S> dy, out<S> dx, linear& grad, [[maybe_unused]] const packed_weights<S>* packed) const {
    backward(x, dy, grad);
    if constexpr (std::same_as<S, float>) {
        if (packed != nullptr) return packed->backward().gemm(dy.rows(), {dy.data(), dy.outerStride(), 1}, dx.data(), dx.outerStride());
    }
    multiply_transposed<S>(dy, W, dx); // (T,O)(O,I)
}

template <scalar S>
void relu(out<S> x) {
    if constexpr (std::same_as<S, float>) {
        if (x.outerStride() == x.cols()) return kernels::relu(x.data(), x.size());
    }
    for (index t = 0; t < x.rows(); ++t) {
        S* const row = x.data() + t * x.outerStride();
        for (index i = 0; i < x.cols(); ++i) row[i] = row[i] <= S(0) ? S(0) : row[i]; // a NaN stays one
    }
}

template <scalar S>
void relu_backward(in<S> y, out<S> dy) {
    AUGUR_ASSERT(y.rows() == dy.rows() && y.cols() == dy.cols(), "relu: shape");
    if constexpr (std::same_as<S, float>) {
        if (y.outerStride() == y.cols() && dy.outerStride() == dy.cols()) return kernels::relu_backward(y.data(), dy.data(), dy.data(), dy.size());
    }
    for (index t = 0; t < dy.rows(); ++t) {
        const S* const value = y.data() + t * y.outerStride();
        S* const row = dy.data() + t * dy.outerStride();
        for (index i = 0; i < dy.cols(); ++i) row[i] = value[i] > S(0) ? row[i] : S(0);
    }
}

namespace detail {
/// to <- to + x
template <scalar S>
void add(in<S> x, out<S> to) {
    if constexpr (std::same_as<S, float>) {
        const bool whole = x.outerStride() == x.cols() && to.outerStride() == to.cols();
        if (whole || x.rows() == 1) return kernels::add(x.data(), to.data(), to.size());
    }
    to += x;
}
} // namespace detail

template <scalar S>
void residual<S>::forward(in<S> x, out<S> hidden, out<S> y, const packed_weights<S>* packed) const {
    inner.forward(x, hidden, packed);
    if constexpr (std::same_as<S, float>) {
        if (x.outerStride() == x.cols() && hidden.outerStride() == x.cols() && y.outerStride() == x.cols())
            return kernels::relu_add(x.data(), hidden.data(), y.data(), y.size());
    }
    relu<S>(hidden);
    y = hidden + x;
}

template <scalar S>
void residual<S>::backward(in<S> x, in<S> hidden, in<S> dy, out<S> scratch, out<S> dx, residual& grad, const packed_weights<S>* packed) const {
    bool done = false;
    if constexpr (std::same_as<S, float>) {
        done = hidden.outerStride() == hidden.cols() && dy.outerStride() == dy.cols() && scratch.outerStride() == dy.cols();
        if (done) kernels::relu_backward(hidden.data(), dy.data(), scratch.data(), dy.size());
    }
    if (!done) {
        scratch = dy;
        relu_backward<S>(hidden, scratch);
    }
    if constexpr (std::same_as<S, float>) { // dy is the initial value of the sums; saves a pass over dx
        inner.backward(x, scratch, grad.inner);
        const kernels::operand of_scratch{scratch.data(), scratch.outerStride(), 1};
        const kernels::gemm_start from{dy.data(), dy.outerStride()};
        if (packed != nullptr) return packed->backward().gemm(dy.rows(), of_scratch, dx.data(), dx.outerStride(), from);
        return kernels::gemm(dy.rows(), inner.W.rows(), inner.W.cols(), of_scratch, {inner.W.data(), 1, inner.W.outerStride()}, dx.data(),
                             dx.outerStride(), from);
    }
    inner.backward(x, scratch, dx, grad.inner);
    dx += dy;
}

} // namespace nn
} // namespace augur::inline v0

#endif
