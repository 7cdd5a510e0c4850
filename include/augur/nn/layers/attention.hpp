// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_ATTENTION_HPP
#define AUGUR_NN_LAYERS_ATTENTION_HPP

/// @file
/// Multi-head self-attention over many short sequences.

#include <cstdint>
#include <span>
#include <vector>

#include <augur/nn/detail/attention_lanes.hpp>
#include <augur/nn/layers/dropout.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// Layout of N sequences stored one after the other in the rows of a matrix. Sequence n has the rows [begin[n], begin[n + 1]).
struct sequences {
    std::span<const index> begin;          ///< (N + 1), begin[0] = 0
    std::span<const std::uint32_t> repeat; ///< (T) multiplicity of each row in its sequence; empty: 1 each; 0: masked as a key
    bool causal = false;                   ///< a row attends to itself and the rows before it only
    std::span<const index> prefix = {};    ///< (N) an earlier sequence whose rows come before as keys, -1: none; empty: none has one

    [[nodiscard]] index count() const { return static_cast<index>(begin.size()) - 1; }
    [[nodiscard]] index rows() const { return begin.back(); }
    [[nodiscard]] index length(index n) const { return begin[static_cast<std::size_t>(n) + 1] - begin[static_cast<std::size_t>(n)]; }
    /// The prefix of a sequence; -1: it has none.
    [[nodiscard]] index prefix_of(index n) const { return prefix.empty() ? -1 : prefix[static_cast<std::size_t>(n)]; }
    [[nodiscard]] index prefix_length(index n) const { return prefix_of(n) < 0 ? 0 : length(prefix_of(n)); }
};

/// Activations that `attention::forward` stores for `attention::backward`, and scratch memory of both.
template <scalar S>
struct attention_activation {
    buffer<S> qkv;          ///< (T, 3D) queries, keys, values
    buffer<S> context;      ///< (T, D) concatenated results of the heads
    std::vector<S> weights; ///< softmax weights: for each sequence of length l with m keys, H blocks (l, m), or in lanes (kernels/head_lanes.hpp)
    std::vector<std::size_t> weights_at; ///< (N) offset of each sequence in `weights`
    buffer<S> d_context, d_qkv;          ///< backward only
    buffer<S> scratch, thinned;          ///< (l, m); thinned: weights after dropout
    dropout drop;                        ///< of the forward pass
    detail::lane_room lanes;
};

/// Self-attention: y = concat_h( softmax(Q_h K_h^T / sqrt(D / H)) V_h ) Wo + bo with [Q | K | V] = x Wi + bi, within each sequence.
///
///     x, y (T, D)    in_proj (D, 3D)    out_proj (D, D)    head h owns columns h D/H .. (h + 1) D/H
///
/// As `torch.nn.MultiheadAttention`, whose dropout is on the softmax weights. A row that occurs r times in its sequence is stored once, with
/// multiplicity r: its weight as a key is r exp(.), its result is the same for each occurrence, and they are dropped together. r = 0 masks padding.
///
/// Sequences that begin alike, such as the samples of one prompt, store the beginning once, as a sequence that is the prefix of theirs. A prefix has no
/// prefix, and where there is one no row has a multiplicity.
///
/// `forward` is in_proj, `attend`, out_proj; a caller that shares projections between equal rows calls the parts.
template <scalar S>
struct attention {
    linear<S> in_proj;  ///< (D, 3D)
    linear<S> out_proj; ///< (D, D)
    index heads = 1;

    /// pre: heads divides width
    static attention zeros(index width, index heads);
    [[nodiscard]] index width() const { return out_proj.W.rows(); }

    /// y <- attention of x. Stores the activations for backward in `kept`.
    void forward(in<S> x, const sequences& layout, attention_activation<S>& kept, out<S> y, const dropout& drop = {}) const;
    /// dx <- dL/dx, grad += dL/d(parameters).   pre: `kept` from forward of the same x
    void backward(in<S> x, const sequences& layout, attention_activation<S>& kept, in<S> dy, out<S> dx, attention& grad) const;

    /// kept.context <- results of the heads, from kept.qkv.   pre: kept.qkv is (T, 3D)
    void attend(const sequences& layout, attention_activation<S>& kept, const dropout& drop = {}) const;
    /// kept.d_qkv <- dL/d(qkv), given kept.d_context.   pre: `kept` from attend
    void attend_backward(const sequences& layout, attention_activation<S>& kept) const;

    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("in_proj_weight", layers.in_proj.W...);
        f("in_proj_bias", layers.in_proj.b...);
        f("out_proj.weight", layers.out_proj.W...);
        f("out_proj.bias", layers.out_proj.b...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/attention_impl.hpp>

#endif
