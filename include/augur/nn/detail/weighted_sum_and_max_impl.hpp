// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_WEIGHTED_SUM_AND_MAX_IMPL_HPP
#define AUGUR_NN_DETAIL_WEIGHTED_SUM_AND_MAX_IMPL_HPP

/// @file
/// Definitions of nn/layers/weighted_sum_and_max.hpp.

#include <cstddef>

#include <augur/nn/layers/activation.hpp>
#include <augur/nn/layers/weighted_sum_and_max.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {
/// Calls f(graph, node) for each node that is not masked, graph by graph.
template <class F>
void each_present(std::span<const index> begin, std::span<const std::uint8_t> present, const F& f) {
    for (std::size_t g = 0; g + 1 < begin.size(); ++g)
        for (index i = begin[g]; i < begin[g + 1]; ++i)
            if (present.empty() || present[static_cast<std::size_t>(i)] != 0) f(static_cast<index>(g), i);
}
} // namespace detail

template <scalar S>
void weighted_sum_and_max<S>::forward(in<S> h, std::span<const index> begin, std::span<const std::uint8_t> present,
                                      weighted_sum_and_max_activation<S>& kept, out<S> y) const {
    const index width = h.cols();
    AUGUR_ASSERT(width == gate.W.rows() && !begin.empty() && begin.back() == h.rows() && y.rows() == static_cast<index>(begin.size()) - 1 &&
                     y.cols() == 2 * width && (present.empty() || static_cast<index>(present.size()) == h.rows()),
                 "weighted_sum_and_max: shape");
    const map<S> weight = kept.weight.shape(h.rows(), 1);
    gate.forward(h, weight);
    kept.greatest.assign(static_cast<std::size_t>(y.rows() * width), -1);
    y.setZero();
    detail::each_present(begin, present, [&](index g, index i) {
        S& w = kept.weight.view()(i, 0);
        w = sigmoid(w);
        const S* const row = h.data() + i * h.outerStride();
        S* const sum = y.data() + g * y.outerStride();
        S* const most = sum + width;
        index* const greatest = kept.greatest.data() + g * width;
        for (index j = 0; j < width; ++j) {
            sum[j] += w * row[j];
            if (greatest[j] >= 0 && !(row[j] > most[j])) continue;
            most[j] = row[j];
            greatest[j] = i;
        }
    });
}

template <scalar S>
void weighted_sum_and_max<S>::backward(in<S> h, std::span<const index> begin, std::span<const std::uint8_t> present,
                                       weighted_sum_and_max_activation<S>& kept, in<S> dy, out<S> dh, weighted_sum_and_max& grad) const {
    const index width = h.cols();
    AUGUR_ASSERT(dy.rows() == static_cast<index>(begin.size()) - 1 && dy.cols() == 2 * width && dh.rows() == h.rows() && dh.cols() == width,
                 "weighted_sum_and_max: shape");
    map<S> d_gate = kept.d_gate.shape(h.rows(), 1);
    d_gate.setZero();
    dh.setZero();
    detail::each_present(begin, present, [&](index g, index i) {
        const S w = kept.weight.view()(i, 0);
        const S* const row = h.data() + i * h.outerStride();
        const S* const d_sum = dy.data() + g * dy.outerStride();
        S* const to = dh.data() + i * dh.outerStride();
        S d_weight(0);
        for (index j = 0; j < width; ++j) d_weight += d_sum[j] * row[j];
        const S d = d_weight * w * (S(1) - w);
        d_gate(i, 0) = d;
        for (index j = 0; j < width; ++j) to[j] = w * d_sum[j] + d * gate.W(j, 0);
    });
    for (index g = 0; g < dy.rows(); ++g)
        for (index j = 0; j < width; ++j)
            if (const index i = kept.greatest[static_cast<std::size_t>(g * width + j)]; i >= 0) dh(i, j) += dy(g, width + j);
    gate.backward(h, d_gate, grad.gate);
}

} // namespace nn
} // namespace augur::inline v0

#endif
