// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LAYERS_EMBEDDING_HPP
#define AUGUR_NN_LAYERS_EMBEDDING_HPP

/// @file
/// Embedding layer: a table of learned vectors for token ids or positions.

#include <cstdint>
#include <span>

#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// y[t] += W[ids[t]].
///
///     ids (T), each below V    W (V, D)    y (T, D)
///
/// It adds to y, so that token and position embeddings are summed: y.setZero(), tokens.add(...), positions.add(...). A value, as every layer.
template <scalar S>
struct embedding {
    matrix<S> W; ///< (V, D)

    static embedding zeros(index words, index width) { return {matrix<S>::Zero(words, width)}; }

    /// y <- y + rows of the table.
    void add(std::span<const std::uint32_t> ids, out<S> y) const {
        AUGUR_ASSERT(static_cast<index>(ids.size()) == y.rows() && y.cols() == W.cols(), "embedding: shape");
        for (std::size_t t = 0; t < ids.size(); ++t) {
            AUGUR_ASSERT(static_cast<index>(ids[t]) < W.rows(), "embedding: an id beyond the table");
            y.row(static_cast<index>(t)) += W.row(static_cast<index>(ids[t]));
        }
    }
    /// Given dL/dy: grad += dL/dW.
    static void backward(std::span<const std::uint32_t> ids, in<S> dy, embedding& grad) {
        AUGUR_ASSERT(static_cast<index>(ids.size()) == dy.rows() && dy.cols() == grad.W.cols(), "embedding: shape");
        for (std::size_t t = 0; t < ids.size(); ++t) grad.W.row(static_cast<index>(ids[t])) += dy.row(static_cast<index>(t));
    }

    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("weight", layers.W...);
    }
};

} // namespace nn
} // namespace augur::inline v0

#endif
