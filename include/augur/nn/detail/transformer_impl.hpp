// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_TRANSFORMER_IMPL_HPP
#define AUGUR_NN_DETAIL_TRANSFORMER_IMPL_HPP

/// @file
/// Definitions of nn/layers/transformer.hpp.

#include <augur/nn/layers/transformer.hpp>

namespace augur::inline v0 {
namespace nn {

template <scalar S, class Activation>
void transformer_layer<S, Activation>::forward(in<S> x, const sequences& layout, transformer_activation<S>& k, out<S> y, const dropout& drop) const {
    const index t = x.rows(), d = width(), f = expand.W.cols();
    AUGUR_ASSERT(x.cols() == d && y.rows() == t && y.cols() == d, "transformer: shape");
    const bool early = place == norm_place::before;
    k.drop = drop;
    k.normal_1.shape(t, d);
    k.normal_2.shape(t, d);
    k.deviation_1.shape(t, 1);
    k.deviation_2.shape(t, 1);
    auto first = k.first.shape(t, d);
    auto attended = k.attended.shape(t, d);
    auto second = k.second.shape(t, d);
    auto sum = k.sum.shape(t, d);
    if (early) norm_1.forward(x, k.normal_1.view(), k.deviation_1.view(), first);
    else first = x;
    attention.forward(first, layout, k.attention, attended, drop.stream(0));
    drop.stream(1).apply(attended);
    attended += x;
    if (early) norm_2.forward(attended, k.normal_2.view(), k.deviation_2.view(), second);
    else norm_1.forward(attended, k.normal_1.view(), k.deviation_1.view(), second);
    expand.forward(second, k.wide.shape(t, f));
    activate<Activation, S>(k.wide.view(), k.active.shape(t, f));
    contract.forward(k.active.view(), sum);
    drop.stream(2).apply(sum);
    if (early) {
        y = sum + attended;
    } else {
        sum += second;
        norm_2.forward(sum, k.normal_2.view(), k.deviation_2.view(), y);
    }
}

template <scalar S, class Activation>
void transformer_layer<S, Activation>::backward(in<S> x, const sequences& layout, transformer_activation<S>& k, in<S> dy, out<S> dx,
                                                transformer_layer& grad) const {
    const index t = x.rows(), d = width(), f = expand.W.cols();
    AUGUR_ASSERT(dy.rows() == t && dy.cols() == d && dx.rows() == t && dx.cols() == d, "transformer: shape");
    const bool early = place == norm_place::before;
    auto d_sum = k.d_normalised.shape(t, d); // dL/d(output of the feed-forward block)
    if (early) d_sum = dy;
    else norm_2.backward(k.normal_2.view(), k.deviation_2.view(), dy, d_sum, grad.norm_2);
    auto d_wide = k.d_wide.shape(t, f);
    auto d_second = k.d_second.shape(t, d);
    contract.backward(k.active.view(), k.drop.stream(2).applied(d_sum, k.d_attended), d_wide, grad.contract); // d_attended is not in use yet
    activate_backward<Activation, S>(k.wide.view(), d_wide);
    expand.backward(k.second.view(), d_wide, d_second, grad.expand);
    auto d_attended = k.d_attended.shape(t, d);
    if (early) {
        norm_2.backward(k.normal_2.view(), k.deviation_2.view(), d_second, d_attended, grad.norm_2);
        d_attended += dy;
    } else {
        d_second += d_sum;
        norm_1.backward(k.normal_1.view(), k.deviation_1.view(), d_second, d_attended, grad.norm_1);
    }
    auto d_first = k.d_first.shape(t, d);
    // d_second is no longer in use
    attention.backward(k.first.view(), layout, k.attention, k.drop.stream(1).applied(d_attended, k.d_second), d_first, grad.attention);
    if (early) norm_1.backward(k.normal_1.view(), k.deviation_1.view(), d_first, dx, grad.norm_1);
    else dx = d_first;
    dx += d_attended;
}

template <scalar S, class Activation>
void transformer_stack<S, Activation>::forward(in<S> x, const sequences& layout, transformer_stack_activation<S>& k, out<S> y,
                                               const dropout& drop) const {
    const index t = x.rows(), d = x.cols();
    k.states.resize(layers.size());
    k.layers.resize(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) layers[i].forward(k.input(x, i), layout, k.layers[i], k.states[i].shape(t, d), drop.stream(i));
    last.forward(k.input(x, layers.size()), k.normal.shape(t, d), k.deviation.shape(t, 1), y);
}

template <scalar S, class Activation>
void transformer_stack<S, Activation>::backward(in<S> x, const sequences& layout, transformer_stack_activation<S>& k, in<S> dy, out<S> dx,
                                                transformer_stack& grad) const {
    last.backward(k.normal.view(), k.deviation.view(), dy, dx, grad.last);
    for (std::size_t i = layers.size(); i-- > 0;) layers[i].backward(k.input(x, i), layout, k.layers[i], dx, dx, grad.layers[i]);
}

} // namespace nn
} // namespace augur::inline v0

#endif
