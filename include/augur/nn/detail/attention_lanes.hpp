// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_ATTENTION_LANES_HPP
#define AUGUR_NN_DETAIL_ATTENTION_LANES_HPP

/// @file
/// Self-attention in float with one SIMD lane per head: for short sequences, products and softmax of a single head would spend most of their time in
/// loop remainders.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/kernels/head_lanes.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {
namespace detail {

/// Scratch memory for one sequence.
struct lane_room {
    buffer<float> rows;                    ///< left and right factors of a product, in lanes: queries and keys, or d_context and values
    std::vector<const float*> left, right; ///< pointers to the rows of the factors
    std::vector<float> times;              ///< (l) multiplicities
    buffer<float> d_scores;                ///< shape of the weights
};

/// Attention of one sequence of length l > 0. Weights are (l, l, lanes), padded to whole blocks of queries and keys.
class attention_in_lanes {
public:
    attention_in_lanes(index width, index heads)
        : width_(width), heads_(heads), head_(width / heads), lanes_(kernels::whole_blocks(heads, kernels::head_lanes)),
          scale_(1 / std::sqrt(static_cast<float>(head_))), kernels_(kernels::head_lane_functions()) {}

    /// Is this algorithm applicable and faster? It needs unmasked keys, and with few heads most lanes are empty.
    [[nodiscard]] static bool suits(index heads, std::span<const std::uint32_t> repeat, bool causal) {
        return heads >= 4 && !causal && std::find(repeat.begin(), repeat.end(), 0U) == repeat.end();
    }

    /// Number of floats of the weights.
    [[nodiscard]] index size(index l) const { return kernels::whole_blocks(l, kernels::query_block) * row(l); }

    void forward(index l, const float* qkv, std::span<const std::uint32_t> repeat, float* weights, float* context, lane_room& room) const {
        room.times.assign(static_cast<std::size_t>(l), 1.0F);
        for (std::size_t j = 0; j < repeat.size(); ++j) room.times[j] = static_cast<float>(repeat[j]);
        float* const queries = room.rows.shape(2 * l, lanes_ * head_).data();
        to_lanes(l, qkv, 3 * width_, queries);
        to_lanes(l, qkv + width_, 3 * width_, queries + l * lanes_ * head_);
        kernels::scale(scale_, queries, l * lanes_ * head_);
        multiply(l, weights, room);
        kernels_.soften(weights, l, row(l), room.times.data(), l, lanes_, nullptr);
        for (index h = 0; h < heads_; ++h) // (l,l)(l,d)
            kernels::gemm(l, head_, l, {weights + h, row(l), lanes_}, {qkv + 2 * width_ + h * head_, 3 * width_, 1}, context + h * head_, width_);
    }

    void backward(index l, const float* qkv, const float* weights, const float* d_context, float* d_qkv, lane_room& room) const {
        float* const rows = room.rows.shape(2 * l, lanes_ * head_).data();
        to_lanes(l, d_context, width_, rows);
        to_lanes(l, qkv + 2 * width_, 3 * width_, rows + l * lanes_ * head_);
        float* const d_scores = room.d_scores.shape(1, size(l)).data();
        multiply(l, d_scores, room); // dP = dC V^T
        kernels_.soften_backward(weights, d_scores, l, row(l), l, lanes_, scale_);
        const index wide = 3 * width_;
        for (index h = 0; h < heads_; ++h) {
            const index at = h * head_;
            kernels::gemm(l, head_, l, {d_scores + h, row(l), lanes_}, {qkv + width_ + at, wide, 1}, d_qkv + at, wide);            // dQ = dS K
            kernels::gemm(l, head_, l, {d_scores + h, lanes_, row(l)}, {qkv + at, wide, 1}, d_qkv + width_ + at, wide);            // dK = dS^T Q
            kernels::gemm(l, head_, l, {weights + h, lanes_, row(l)}, {d_context + at, width_, 1}, d_qkv + 2 * width_ + at, wide); // dV = P^T dC
        }
    }

private:
    [[nodiscard]] index row(index l) const { return kernels::whole_blocks(l, kernels::key_block) * lanes_; }

    /// to (l, G, d, 8) <- from (l, heads, d)
    void to_lanes(index l, const float* from, index stride, float* to) const {
        constexpr index eight = kernels::head_lanes;
        for (index i = 0; i < l; ++i, from += stride)
            for (index h = 0; h < heads_; h += eight, to += eight * head_) {
                const index used = (std::min)(eight, heads_ - h);
                if (used < eight) std::fill_n(to, eight * head_, 0.0F);
                kernels::detail::transpose(to, eight, from + h * head_, head_, used, head_);
            }
    }

    /// out (l, l, lanes) <- the first l rows of room.rows times the others
    void multiply(index l, float* out, lane_room& room) const {
        const float* const rows = room.rows.view().data();
        const auto point = [&](std::vector<const float*>& to, index first, index block) {
            to.clear();
            for (index i = 0; i < kernels::whole_blocks(l, block); ++i) to.push_back(rows + (first + (std::min)(i, l - 1)) * lanes_ * head_);
        };
        point(room.left, 0, kernels::query_block);
        point(room.right, l, kernels::key_block);
        kernels_.scores(room.left.data(), l, room.right.data(), l, head_, lanes_ / kernels::head_lanes, out, row(l));
    }

    index width_, heads_, head_, lanes_;
    float scale_;
    kernels::head_lane_kernels kernels_;
};

} // namespace detail
} // namespace nn
} // namespace augur::inline v0

#endif
