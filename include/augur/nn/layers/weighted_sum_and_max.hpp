// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_WEIGHTED_SUM_AND_MAX_HPP
#define AUGUR_NN_LAYERS_WEIGHTED_SUM_AND_MAX_HPP

/// @file
/// Read-out of graphs: a gated sum and the maximum over the nodes of each graph.

#include <cstdint>
#include <span>
#include <vector>

#include <augur/nn/layers/linear.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// What `weighted_sum_and_max::forward` stores for `backward`.
template <scalar S>
struct weighted_sum_and_max_activation {
    buffer<S> weight;                   ///< (N, 1) sigmoid(gate); not set for masked nodes
    std::vector<std::int32_t> present;  ///< nodes that are not masked, graph by graph
    std::vector<std::size_t> begin;     ///< (G + 1) first one of each graph in `present`
    std::vector<std::int32_t> greatest; ///< (G, M) node of the maximum; -1: a graph without nodes
};

/// One row per graph from the rows of its nodes: y_g = [ sum_i sigmoid(a . h_i + c) h_i | max_i h_i ].
///
///     h (N, M)    gate: a (M, 1), c (1)    y (G, 2M)    nodes of graph g: [begin[g], begin[g + 1])
///
/// The gradient of a maximum goes to the first node that has it. The row of a graph without nodes is 0. Masked nodes, e.g. the null nodes of
/// MetaTune's super-graph, count neither in the sum nor in the maximum, and the gradient by them is 0.
///
/// As dgl-lifesci's `WeightedSumAndMax`, whose parameter names it has. A value, as every layer.
template <scalar S>
struct weighted_sum_and_max {
    linear<S> gate; ///< (M, 1)

    static weighted_sum_and_max zeros(index width) { return {linear<S>::zeros(width, 1)}; }

    /// y <- read-out of h.
    /// @param begin    (G + 1) first node of each graph, begin[0] = 0, e.g. `graph_batch::begin`
    /// @param present  (N) 0: a masked node; empty: none is masked
    void forward(in<S> h, std::span<const index> begin, std::span<const std::uint8_t> present, weighted_sum_and_max_activation<S>& kept,
                 out<S> y) const;
    /// Given dL/dy (G, 2M): dh <- dL/dh (N, M), grad += dL/d(gate).   pre: `kept` from forward of the same h
    void backward(in<S> h, const weighted_sum_and_max_activation<S>& kept, in<S> dy, out<S> dh, weighted_sum_and_max& grad) const;

    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("weight_and_sum.atom_weighting.0.weight", layers.gate.W...);
        f("weight_and_sum.atom_weighting.0.bias", layers.gate.b...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/weighted_sum_and_max_impl.hpp>

#endif
