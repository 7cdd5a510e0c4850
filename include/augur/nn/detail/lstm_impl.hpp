// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_LSTM_IMPL_HPP
#define AUGUR_NN_DETAIL_LSTM_IMPL_HPP

/// @file
/// Definitions of nn/layers/lstm.hpp.

#include <concepts>

#include <augur/nn/product.hpp>
#include <augur/nn/kernels/lstm.hpp>
#include <augur/nn/layers/activation.hpp>
#include <augur/nn/layers/lstm.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {
/// tanh as in the forward pass: for float the function of the forward kernel.
template <scalar S>
S cell_tanh(const S& x) {
    if constexpr (std::same_as<S, float>) return kernels::detail::tanh(x);
    else return hyperbolic_tangent(x);
}
} // namespace detail

template <scalar S>
void lstm<S>::step(in<S> h_before, in<S> c_before, out<S> gates, out<S> c, out<S> h) const {
    const index d = width();
    AUGUR_ASSERT(h_before.cols() == d && c_before.rows() == h_before.rows() && gates.rows() == h_before.rows() && gates.cols() == 4 * d &&
                     c.rows() == h_before.rows() && h.rows() == h_before.rows() && c.cols() == d && h.cols() == d,
                 "lstm: shape");
    gates.rowwise() += state.b;
    multiply<S>(h_before, state.W, gates, true); // (n,H)(H,4H)
    for (index n = 0; n < gates.rows(); ++n) {
        S* const row = gates.data() + n * gates.outerStride();
        const S* const before = c_before.data() + n * c_before.outerStride();
        S* const cell = c.data() + n * c.outerStride();
        S* const out_h = h.data() + n * h.outerStride();
        if constexpr (std::same_as<S, float>) {
            kernels::lstm_gates(row, before, cell, out_h, d);
        } else {
            for (index j = 0; j < d; ++j) {
                S &i = row[j], &f = row[d + j], &g = row[2 * d + j], &o = row[3 * d + j];
                i = sigmoid(i);
                f = sigmoid(f);
                g = hyperbolic_tangent(g);
                o = sigmoid(o);
                cell[j] = f * before[j] + i * g;
                out_h[j] = o * hyperbolic_tangent(cell[j]);
            }
        }
    }
}

template <scalar S>
void lstm<S>::step_backward(in<S> h_before, in<S> c_before, in<S> gates, in<S> c, in<S> dh, in<S> dc, out<S> d_gates, out<S> dh_before,
                            out<S> dc_before, lstm& grad) const {
    const index d = width();
    AUGUR_ASSERT(gates.cols() == 4 * d && d_gates.rows() == gates.rows() && d_gates.cols() == 4 * d && dh.rows() == gates.rows() &&
                     dc.rows() == gates.rows() && dc_before.rows() == gates.rows(),
                 "lstm: shape");
    for (index n = 0; n < gates.rows(); ++n)
        for (index j = 0; j < d; ++j) {
            const S i = gates(n, j), f = gates(n, d + j), g = gates(n, 2 * d + j), o = gates(n, 3 * d + j);
            const S t = detail::cell_tanh<S>(c(n, j));
            const S d_cell = dc(n, j) + dh(n, j) * o * (S(1) - t * t);
            d_gates(n, j) = d_cell * g * i * (S(1) - i);
            d_gates(n, d + j) = d_cell * c_before(n, j) * f * (S(1) - f);
            d_gates(n, 2 * d + j) = d_cell * i * (S(1) - g * g);
            d_gates(n, 3 * d + j) = dh(n, j) * t * o * (S(1) - o);
            dc_before(n, j) = d_cell * f;
        }
    state.backward(h_before, d_gates, dh_before, grad.state);
}

} // namespace nn
} // namespace augur::inline v0

#endif
