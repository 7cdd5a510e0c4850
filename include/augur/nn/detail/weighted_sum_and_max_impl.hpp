// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_WEIGHTED_SUM_AND_MAX_IMPL_HPP
#define AUGUR_NN_DETAIL_WEIGHTED_SUM_AND_MAX_IMPL_HPP

/// @file
/// Definitions of nn/layers/weighted_sum_and_max.hpp.

#include <algorithm>
#include <concepts>
#include <cstddef>

#include <augur/nn/detail/rows.hpp>
#include <augur/nn/kernels/graph.hpp>
#include <augur/nn/layers/activation.hpp>
#include <augur/nn/layers/weighted_sum_and_max.hpp>

namespace augur::inline v0 {
namespace nn {

template <scalar S>
void weighted_sum_and_max<S>::forward(in<S> h, std::span<const index> begin, std::span<const std::uint8_t> present,
                                      weighted_sum_and_max_activation<S>& kept, out<S> y) const {
    const index width = h.cols();
    AUGUR_ASSERT(width == gate.W.rows() && !begin.empty() && begin.back() == h.rows() && y.rows() == static_cast<index>(begin.size()) - 1 &&
                     y.cols() == 2 * width && (present.empty() || static_cast<index>(present.size()) == h.rows()),
                 "weighted_sum_and_max: shape");
    const auto row_of = [&](index i) { return h.data() + i * h.outerStride(); };
    S* const weight = kept.weight.shape(h.rows(), 1).data();
    kept.greatest.resize(static_cast<std::size_t>(y.rows() * width));
    kept.present.clear();
    kept.begin.assign(1, 0);
    for (index g = 0; g < y.rows(); ++g) {
        for (index i = begin[static_cast<std::size_t>(g)]; i < begin[static_cast<std::size_t>(g) + 1]; ++i) {
            if (!present.empty() && present[static_cast<std::size_t>(i)] == 0) continue;
            kept.present.push_back(static_cast<std::int32_t>(i));
            weight[i] = sigmoid<S>(gate.b[0] + detail::dot(row_of(i), gate.W.data(), width));
        }
        const auto nodes = std::span<const std::int32_t>(kept.present).subspan(kept.begin.back());
        kept.begin.push_back(kept.present.size());
        S* const sum = y.data() + g * y.outerStride();
        S* const most = sum + width;
        std::int32_t* const greatest = kept.greatest.data() + g * width;
        const std::int32_t first = nodes.empty() ? -1 : nodes.front();
        if constexpr (std::same_as<S, float>) {
            kernels::gated_sum_and_max({h.data(), h.outerStride()}, nodes.data(), first, std::ssize(nodes), weight, sum, most, greatest, width);
            continue;
        }
        std::fill_n(sum, 2 * width, S(0));
        std::fill_n(greatest, width, first);
        if (!nodes.empty()) std::copy_n(row_of(first), width, most);
        for (const std::int32_t i : nodes) {
            const S* const row = row_of(i);
            detail::add_scaled(weight[i], row, sum, width);
            for (index j = 0; j < width; ++j) {
                if (!(row[j] > most[j])) continue;
                most[j] = row[j];
                greatest[j] = i;
            }
        }
    }
}

template <scalar S>
void weighted_sum_and_max<S>::backward(in<S> h, const weighted_sum_and_max_activation<S>& kept, in<S> dy, out<S> dh,
                                       weighted_sum_and_max& grad) const {
    const index width = h.cols();
    AUGUR_ASSERT(dy.rows() == static_cast<index>(kept.begin.size()) - 1 && dy.cols() == 2 * width && dh.rows() == h.rows() && dh.cols() == width,
                 "weighted_sum_and_max: shape");
    dh.setZero();
    for (index g = 0; g < dy.rows(); ++g) {
        const S* const d_sum = dy.data() + g * dy.outerStride();
        for (std::size_t p = kept.begin[static_cast<std::size_t>(g)]; p < kept.begin[static_cast<std::size_t>(g) + 1]; ++p) {
            const index i = kept.present[p];
            const S* const row = h.data() + i * h.outerStride();
            S* const to = dh.data() + i * dh.outerStride();
            const S w = kept.weight.view()(i, 0), d_gate = detail::dot(d_sum, row, width) * w * (S(1) - w);
            detail::add_scaled(w, d_sum, to, width);
            detail::add_scaled(d_gate, gate.W.data(), to, width);
            detail::add_scaled(d_gate, row, grad.gate.W.data(), width);
            grad.gate.b[0] += d_gate;
        }
        for (index j = 0; j < width; ++j)
            if (const index i = kept.greatest[static_cast<std::size_t>(g * width + j)]; i >= 0) dh(i, j) += d_sum[width + j];
    }
}

} // namespace nn
} // namespace augur::inline v0

#endif
