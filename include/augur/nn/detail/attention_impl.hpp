// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_ATTENTION_IMPL_HPP
#define AUGUR_NN_DETAIL_ATTENTION_IMPL_HPP

/// @file
/// Definitions of nn/layers/attention.hpp.

#include <algorithm>
#include <concepts>

#include <augur/nn/product.hpp>
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/exp.hpp>
#include <augur/nn/layers/attention.hpp>
#include <augur/nn/sum.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {

template <scalar S>
S square_root(index n) {
    return sqrt(S(static_cast<double>(n)));
}

/// Rows of `scores` (l, m) <- softmax of scale * scores, where key j has multiplicity repeat[j]; with `causal`, keys after the query are masked: the
/// queries are the last l of the m keys.
template <scalar S>
void softmax_rows(map<S> scores, const S& scale, std::span<const std::uint32_t> repeat, bool causal = false) {
    const index queries = scores.rows(), l = scores.cols(), before = l - queries;
    S* const all = scores.data();
    const auto times = [&](index i, index j) {
        if (causal && j > i + before) return 0U;
        return repeat.empty() ? 1U : repeat[static_cast<std::size_t>(j)];
    };
    const bool unmasked = !causal && std::find(repeat.begin(), repeat.end(), 0U) == repeat.end();
    for (index i = 0; i < queries; ++i) {
        S* const row = all + i * l;
        if constexpr (std::same_as<S, float>) {
            if (unmasked) {
                kernels::softmax_shift(scale, row, l);
                continue;
            }
        }
        bool any = false;
        S top(0);
        for (index j = 0; j < l; ++j) {
            if (times(i, j) == 0) continue;
            if (!any || row[j] > top) top = row[j];
            any = true;
        }
        for (index j = 0; j < l; ++j) { // the score of a masked key may exceed the maximum of the others
            const S below = (row[j] - top) * scale;
            row[j] = below > S(0) ? S(0) : below;
        }
    }
    if constexpr (std::same_as<S, float>) {
        kernels::exp_nonpositive(all, queries * l);
    } else {
        for (index i = 0; i < queries * l; ++i) all[i] = exp(all[i]);
    }
    for (index i = 0; i < queries; ++i) {
        S* const row = all + i * l;
        for (index j = 0; j < l; ++j)
            if (times(i, j) != 1) row[j] *= S(static_cast<double>(times(i, j)));
        const S sum = sum_of_four<S>(l, [&](index j) { return row[j]; });
        const S share = sum > S(0) ? S(1) / sum : S(0);
        for (index j = 0; j < l; ++j) row[j] *= share;
    }
}

/// Does `attention_in_lanes` compute it?
template <scalar S>
bool in_lanes(index heads, const sequences& layout, const dropout& drop) {
    return std::same_as<S, float> && attention_in_lanes::suits(heads, layout.repeat, layout.causal) && layout.prefix.empty() && !drop.on();
}

} // namespace detail

template <scalar S>
attention<S> attention<S>::zeros(index width, index heads) {
    AUGUR_ASSERT(heads > 0 && width % heads == 0, "attention: heads must divide the width");
    return {linear<S>::zeros(width, 3 * width), linear<S>::zeros(width, width), heads};
}

template <scalar S>
void attention<S>::attend(const sequences& layout, attention_activation<S>& kept, const dropout& drop) const {
    const index width = this->width();
    const index head = width / heads;
    const S scale = S(1) / detail::square_root<S>(head);
    const auto qkv = kept.qkv.view();
    auto context = kept.context.shape(qkv.rows(), width);
    AUGUR_ASSERT(qkv.cols() == 3 * width && layout.rows() == qkv.rows(), "attention: shape");

    kept.drop = drop;
    const detail::attention_in_lanes lanes(width, heads);
    const bool in_lanes = detail::in_lanes<S>(heads, layout, drop);
    kept.weights_at.resize(static_cast<std::size_t>(layout.count()));
    std::size_t total = 0;
    for (index n = 0; n < layout.count(); ++n) {
        const index l = layout.length(n);
        [[maybe_unused]] const index p = layout.prefix_of(n);
        AUGUR_ASSERT(p < n && (p < 0 || (layout.prefix_of(p) < 0 && layout.repeat.empty())),
                     "attention: a prefix is an earlier sequence without one");
        kept.weights_at[static_cast<std::size_t>(n)] = total;
        total += static_cast<std::size_t>(in_lanes ? lanes.size(l) : heads * l * (layout.prefix_length(n) + l));
    }
    if (kept.weights.size() < total) kept.weights.resize(total);

    for (index n = 0; n < layout.count(); ++n) {
        const index first = layout.begin[static_cast<std::size_t>(n)];
        const index l = layout.length(n);
        if (l == 0) continue;
        const auto repeat =
            layout.repeat.empty() ? layout.repeat : layout.repeat.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(l));
        if constexpr (std::same_as<S, float>) {
            if (in_lanes) {
                lanes.forward(l, qkv.data() + first * 3 * width, repeat, kept.weights.data() + kept.weights_at[static_cast<std::size_t>(n)],
                              context.data() + first * width, kept.lanes);
                continue;
            }
        }
        const index p = layout.prefix_length(n), m = p + l; // keys: those of the prefix, then its own
        const index front = p > 0 ? layout.begin[static_cast<std::size_t>(layout.prefix_of(n))] : 0;
        for (index h = 0; h < heads; ++h) {
            map<S> weights(kept.weights.data() + kept.weights_at[static_cast<std::size_t>(n)] + static_cast<std::size_t>(h * l * m), l, m);
            const auto rows = [&](index from, index part, index count) { return qkv.block(from, part * width + h * head, count, head); };
            auto result = context.block(first, h * head, l, head);
            if (p > 0) multiply_transposed<S>(rows(first, 0, l), rows(front, 1, p), weights.leftCols(p));
            multiply_transposed<S>(rows(first, 0, l), rows(first, 1, l), weights.rightCols(l)); // (l,d)(d,l)
            detail::softmax_rows<S>(weights, scale, repeat, layout.causal);
            const auto thinned = drop.stream(static_cast<std::uint64_t>(n * heads + h)).applied(weights, kept.thinned);
            if (p > 0) multiply<S>(thinned.leftCols(p), rows(front, 2, p), result);
            multiply<S>(thinned.rightCols(l), rows(first, 2, l), result, p > 0); // (l,l)(l,d)
        }
    }
}

template <scalar S>
void attention<S>::attend_backward(const sequences& layout, attention_activation<S>& kept) const {
    const index width = this->width();
    const index head = width / heads;
    const S scale = S(1) / detail::square_root<S>(head);
    const auto qkv = kept.qkv.view();
    const auto d_context = kept.d_context.view();
    auto d_qkv = kept.d_qkv.shape(qkv.rows(), 3 * width);
    AUGUR_ASSERT(d_context.rows() == qkv.rows() && d_context.cols() == width, "attention: shape");

    const detail::attention_in_lanes lanes(width, heads);
    const bool in_lanes = detail::in_lanes<S>(heads, layout, kept.drop);
    for (index n = 0; n < layout.count(); ++n) {
        const index first = layout.begin[static_cast<std::size_t>(n)];
        const index l = layout.length(n);
        if (l == 0) continue;
        if constexpr (std::same_as<S, float>) {
            if (in_lanes) {
                lanes.backward(l, qkv.data() + first * 3 * width, kept.weights.data() + kept.weights_at[static_cast<std::size_t>(n)],
                               d_context.data() + first * width, d_qkv.data() + first * 3 * width, kept.lanes);
                continue;
            }
        }
        const index p = layout.prefix_length(n), m = p + l;
        const index front = p > 0 ? layout.begin[static_cast<std::size_t>(layout.prefix_of(n))] : 0;
        auto d_scores = kept.scratch.shape(l, m);
        for (index h = 0; h < heads; ++h) {
            const map<S> weights(kept.weights.data() + kept.weights_at[static_cast<std::size_t>(n)] + static_cast<std::size_t>(h * l * m), l, m);
            const auto rows = [&](index from, index part, index count) { return qkv.block(from, part * width + h * head, count, head); };
            const auto d_rows = [&](index from, index part, index count) { return d_qkv.block(from, part * width + h * head, count, head); };
            const auto dc = d_context.block(first, h * head, l, head);
            if (p > 0) multiply_transposed<S>(dc, rows(front, 2, p), d_scores.leftCols(p));
            multiply_transposed<S>(dc, rows(first, 2, l), d_scores.rightCols(l)); // dP (l,m)
            const auto drop = kept.drop.stream(static_cast<std::uint64_t>(n * heads + h));
            const auto thinned = drop.applied(weights, kept.thinned);
            drop.apply(d_scores);
            for (index i = 0; i < l; ++i) { // dS = P (dP - sum_j P dP) / sqrt(d)
                const S* const w = weights.data() + i * m;
                const S* const dp = d_scores.data() + i * m;
                const S mean = sum_of_four<S>(m, [&](index j) { return w[j] * dp[j]; });
                if constexpr (std::same_as<S, float>) kernels::softmax_backward(w, mean, scale, d_scores.data() + i * m, m);
                else
                    for (index j = 0; j < m; ++j) d_scores(i, j) = weights(i, j) * (d_scores(i, j) - mean) * scale;
            }
            if (p > 0) { // what stands in the prefix already has its own gradient
                multiply<S>(d_scores.leftCols(p), rows(front, 1, p), d_rows(first, 0, l));
                multiply_outer<S>(d_scores.leftCols(p), rows(first, 0, l), d_rows(front, 1, p), true);
                multiply_outer<S>(thinned.leftCols(p), dc, d_rows(front, 2, p), true);
            }
            multiply<S>(d_scores.rightCols(l), rows(first, 1, l), d_rows(first, 0, l), p > 0);
            multiply_outer<S>(d_scores.rightCols(l), rows(first, 0, l), d_rows(first, 1, l));
            multiply_outer<S>(thinned.rightCols(l), dc, d_rows(first, 2, l));
        }
    }
}

template <scalar S>
void attention<S>::forward(in<S> x, const sequences& layout, attention_activation<S>& kept, out<S> y, const dropout& drop) const {
    in_proj.forward(x, kept.qkv.shape(x.rows(), 3 * width()));
    attend(layout, kept, drop);
    out_proj.forward(kept.context.view(), y);
}

template <scalar S>
void attention<S>::backward(in<S> x, const sequences& layout, attention_activation<S>& kept, in<S> dy, out<S> dx, attention& grad) const {
    out_proj.backward(kept.context.view(), dy, kept.d_context.shape(x.rows(), width()), grad.out_proj);
    attend_backward(layout, kept);
    in_proj.backward(x, kept.d_qkv.view(), dx, grad.in_proj);
}

} // namespace nn
} // namespace augur::inline v0

#endif
