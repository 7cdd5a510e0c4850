// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_PRODUCT_IMPL_HPP
#define AUGUR_NN_DETAIL_PRODUCT_IMPL_HPP

/// @file
/// Definitions of nn/product.hpp.

#include <concepts>

#include <augur/nn/kernels/dual_pairs.hpp>
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/product.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {

template <class S>
inline constexpr bool is_dual = false;
template <class T>
inline constexpr bool is_dual<dual<T>> = true;

/// values, tangents <- the parts of a matrix of duals.
template <class T>
void split(in<dual<T>> from, out<T> values, out<T> tangents) {
    for (index r = 0; r < from.rows(); ++r) {
        const dual<T>* const row = from.data() + r * from.outerStride();
        T* const value = values.data() + r * values.outerStride();
        T* const tangent = tangents.data() + r * tangents.outerStride();
        if constexpr (std::same_as<T, float>) {
            kernels::split_pairs(reinterpret_cast<const float*>(row), value, tangent, from.cols());
            continue;
        }
        for (index i = 0; i < from.cols(); ++i) {
            value[i] = row[i].value;
            tangent[i] = row[i].tangent;
        }
    }
}

/// Whether a tangent is not 0: data do not depend on the direction of the derivative.
template <class T>
bool has_tangents(in<dual<T>> x) {
    for (index r = 0; r < x.rows(); ++r) {
        const dual<T>* const row = x.data() + r * x.outerStride();
        int any = 0; // a row without branches
        for (index i = 0; i < x.cols(); ++i) any |= static_cast<int>(!(row[i].tangent == T(0)));
        if (any != 0) return true;
    }
    return false;
}

template <class T>
matrix<T> values_of(in<dual<T>> x) {
    return x.unaryExpr([](const dual<T>& number) { return number.value; });
}

/// The same memory, (T, O) duals as (T, 2O) numbers in pairs of value and tangent.
template <class T>
auto as_pairs(in<dual<T>> x) {
    static_assert(sizeof(dual<T>) == 2 * sizeof(T));
    return Eigen::Map<const matrix<T>, 0, Eigen::OuterStride<>>(reinterpret_cast<const T*>(x.data()), x.rows(), 2 * x.cols(),
                                                                Eigen::OuterStride<>(2 * x.outerStride()));
}
template <class T>
auto as_pairs(out<dual<T>>& x) {
    return Eigen::Map<matrix<T>, 0, Eigen::OuterStride<>>(reinterpret_cast<T*>(x.data()), x.rows(), 2 * x.cols(),
                                                          Eigen::OuterStride<>(2 * x.outerStride()));
}

/// y <- [y +] a product of duals: values from the product of xv and wv, tangents from that of xs and ws, which have both parts of the operands.
template <class T>
void multiply_parts(in<T> xv, in<T> wv, in<T> xs, in<T> ws, out<dual<T>> y, bool accumulate, void (*product)(in<T>, in<T>, out<T>, bool)) {
    matrix<T> values(y.rows(), y.cols()), tangents(y.rows(), y.cols());
    product(xv, wv, values, false);
    product(xs, ws, tangents, false);
    for (index r = 0; r < y.rows(); ++r) {
        dual<T>* const to = y.data() + r * y.outerStride();
        const T* const value = values.data() + r * y.cols();
        const T* const tangent = tangents.data() + r * y.cols();
        if constexpr (std::same_as<T, float>) kernels::join_pairs(value, tangent, reinterpret_cast<float*>(to), y.cols(), accumulate);
        else if (accumulate)
            for (index i = 0; i < y.cols(); ++i) to[i] += {value[i], tangent[i]};
        else
            for (index i = 0; i < y.cols(); ++i) to[i] = {value[i], tangent[i]};
    }
}

} // namespace detail

template <scalar S>
void multiply(in<S> x, in<S> w, out<S> y, bool accumulate) {
    AUGUR_ASSERT(x.cols() == w.rows() && y.rows() == x.rows() && y.cols() == w.cols(), "multiply: shape");
    if constexpr (std::same_as<S, float>) {
        kernels::gemm(x.rows(), w.cols(), x.cols(), {x.data(), x.outerStride(), 1}, {w.data(), w.outerStride(), 1}, y.data(), y.outerStride(),
                      {accumulate ? y.data() : nullptr, y.outerStride()});
    } else if constexpr (detail::is_dual<S>) {
        using T = decltype(S::value);
        if (!detail::has_tangents<T>(x)) return multiply<T>(detail::values_of<T>(x), detail::as_pairs<T>(w), detail::as_pairs<T>(y), accumulate);
        const index i = x.cols();
        matrix<T> xs(x.rows(), 2 * i), ws(2 * i, w.cols()); // [values | tangents], [tangents; values]
        detail::split<T>(x, xs.leftCols(i), xs.rightCols(i));
        detail::split<T>(w, ws.bottomRows(i), ws.topRows(i));
        detail::multiply_parts<T>(xs.leftCols(i), ws.bottomRows(i), xs, ws, y, accumulate, multiply<T>); // (T,2I)(2I,O)
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
    } else if constexpr (detail::is_dual<S>) {
        using T = decltype(S::value);
        const index o = x.cols();
        matrix<T> xs(x.rows(), 2 * o), ws(w.rows(), 2 * o); // [values | tangents], [tangents | values]
        detail::split<T>(x, xs.leftCols(o), xs.rightCols(o));
        detail::split<T>(w, ws.rightCols(o), ws.leftCols(o));
        detail::multiply_parts<T>(xs.leftCols(o), ws.rightCols(o), xs, ws, y, accumulate,
                                  multiply_transposed<T>); // (T,2O)(I,2O)^T
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
    } else if constexpr (detail::is_dual<S>) {
        using T = decltype(S::value);
        if (!detail::has_tangents<T>(x))
            return multiply_outer<T>(detail::values_of<T>(x), detail::as_pairs<T>(y), detail::as_pairs<T>(g), accumulate);
        const index t = x.rows();
        matrix<T> xs(2 * t, x.cols()), ys(2 * t, y.cols()); // [values; tangents], [tangents; values]
        detail::split<T>(x, xs.topRows(t), xs.bottomRows(t));
        detail::split<T>(y, ys.bottomRows(t), ys.topRows(t));
        detail::multiply_parts<T>(xs.topRows(t), ys.bottomRows(t), xs, ys, g, accumulate, multiply_outer<T>); // (2T,I)^T(2T,O)
    } else if (accumulate) {
        g.noalias() += x.transpose() * y;
    } else {
        g.noalias() = x.transpose() * y;
    }
}

} // namespace nn
} // namespace augur::inline v0

#endif
