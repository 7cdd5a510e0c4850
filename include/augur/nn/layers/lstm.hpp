// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_LSTM_HPP
#define AUGUR_NN_LAYERS_LSTM_HPP

/// @file
/// LSTM layer (Hochreiter, Schmidhuber 1997) with a batched single-step interface.

#include <augur/nn/layers/linear.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// One layer of an LSTM, with torch's gates i, f, g, o and its two biases:
///
///     [i | f | g | o] = x Wi + bi + h Wh + bh    c' = sigmoid(f) c + sigmoid(i) tanh(g)    h' = sigmoid(o) tanh(c')
///
///     x (n, I)    h, c (n, H)    input (I, 4H)    state (H, 4H)
///
/// The caller loops over the time steps. So the state of a common prefix of several sequences is computed once, and the input part of the gates,
/// `input.forward(x)`, once for all steps or once per distinct x. A value, as every layer.
template <scalar S>
struct lstm {
    linear<S> input; ///< (I, 4H)
    linear<S> state; ///< (H, 4H)

    static lstm zeros(index in_features, index hidden) { return {linear<S>::zeros(in_features, 4 * hidden), linear<S>::zeros(hidden, 4 * hidden)}; }
    [[nodiscard]] index width() const { return state.W.rows(); }

    /// Computes the states h, c of n sequences after one step.
    ///
    /// @param gates  (n, 4H) in: input.forward(x); out: the activated gates, for backward
    /// @note row i of the results depends on row i of the arguments only
    void step(in<S> h_before, in<S> c_before, out<S> gates, out<S> c, out<S> h) const;

    /// Given dL/dh and dL/dc of the state after the step: d_gates <- dL/d(gates before activation), which is dL/d(input.forward(x)) as well;
    /// dh_before, dc_before <- dL/d(state before); grad.state += dL/d(state).   pre: gates and c from step; d_gates is not gates
    void step_backward(in<S> h_before, in<S> c_before, in<S> gates, in<S> c, in<S> dh, in<S> dc, out<S> d_gates, out<S> dh_before, out<S> dc_before,
                       lstm& grad) const;

    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("weight_ih_l0", layers.input.W...);
        f("weight_hh_l0", layers.state.W...);
        f("bias_ih_l0", layers.input.b...);
        f("bias_hh_l0", layers.state.b...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/lstm_impl.hpp>

#endif
