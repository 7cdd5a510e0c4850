// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_GRAPH_CONVOLUTION_HPP
#define AUGUR_NN_LAYERS_GRAPH_CONVOLUTION_HPP

/// @file
/// Graph convolution (Kipf, Welling 2017) over many small graphs, packed into one matrix of nodes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// An edge between two nodes of one graph.
struct graph_edge {
    std::uint32_t source, target;
};

/// Coefficient of the message of an edge, with DGL's names. A degree of 0 counts as 1.
enum class degree_norm : std::uint8_t {
    none,  ///< 1
    right, ///< 1 / in(target): the mean of the messages
    both   ///< 1 / sqrt(out(source) in(target))
};

/// How the edges of a graph pass messages. The default is Kipf's normalisation D^-1/2 (A + I) D^-1/2.
struct graph_options {
    degree_norm norm = degree_norm::both;
    bool undirected = true; ///< an edge passes messages in both directions
    bool self_loops = true; ///< each node passes a message to itself
};

/// Graphs packed one after the other: the nodes are the rows of one matrix, the normalised adjacency is in compressed rows (CSR), one row per target.
///
/// Threads: const functions may be called concurrently.
class graph_batch {
public:
    explicit graph_batch(graph_options options = {}) : options_(options) {}

    /// Appends a graph. Equal edges count as often as they occur.   pre: the ends of each edge are below `nodes`
    /// @note O(nodes + edges); allocates nothing after `clear` of as large a batch
    void add(index nodes, std::span<const graph_edge> edges);
    /// Removes all graphs and keeps the memory.
    void clear();

    [[nodiscard]] index size() const { return static_cast<index>(begin_.size()) - 1; } ///< number of graphs, G
    [[nodiscard]] index nodes() const { return begin_.back(); }                        ///< of all graphs, N
    /// (G + 1) graph g has the nodes [begin[g], begin[g + 1]).
    [[nodiscard]] std::span<const index> begin() const { return begin_; }

    /// Messages to a node: their sources and coefficients.
    struct message_list {
        std::span<const index> sources;
        std::span<const double> coefficients;
    };
    /// The messages to node `target`; their order depends on the order of the edges only. Valid until the batch changes.
    [[nodiscard]] message_list messages_to(index target) const {
        const std::size_t first = first_[static_cast<std::size_t>(target)], count = first_[static_cast<std::size_t>(target) + 1] - first;
        return {std::span(source_).subspan(first, count), std::span(coefficient_).subspan(first, count)};
    }

private:
    graph_options options_;
    std::vector<index> begin_{0};
    std::vector<std::size_t> first_{0};   ///< (N + 1) first message of each target
    std::vector<index> source_;           ///< by message
    std::vector<double> coefficient_;     ///< by message
    std::vector<std::size_t> out_, next_; ///< scratch of `add`
    std::vector<double> factor_;          ///< likewise
};

/// Affine map of every node, then the weighted sum of the messages to it: y = A (x W) + b, A the normalised adjacency.
///
///     x (N, I)    W (I, O)    b (O)    y (N, O)    N nodes of all graphs
///
/// As DGL's GraphConv. A node without a message has y = b. A value, as every layer.
template <scalar S>
struct graph_convolution {
    matrix<S> W;     ///< (I, O)
    row_vector<S> b; ///< (O)

    static graph_convolution zeros(index in_features, index out_features) {
        return {matrix<S>::Zero(in_features, out_features), row_vector<S>::Zero(out_features)};
    }

    /// y <- A (x W) + b.   pre: scratch, y (N, O)
    /// @note O(N I O + M O) for M messages
    void forward(in<S> x, const graph_batch& graphs, out<S> scratch, out<S> y) const;
    /// Given dL/dy (N, O): dx <- dL/dx (N, I), and grad += (dL/dW, dL/db).   pre: scratch (N, O)
    void backward(in<S> x, const graph_batch& graphs, in<S> dy, out<S> scratch, out<S> dx, graph_convolution& grad) const;
    /// Backward without dL/dx: grad += (dL/dW, dL/db).
    void backward(in<S> x, const graph_batch& graphs, in<S> dy, out<S> scratch, graph_convolution& grad) const;

    /// As `linear::visit`; names are DGL's.
    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("weight", layers.W...);
        f("bias", layers.b...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#include <augur/nn/detail/graph_convolution_impl.hpp>

#endif
