// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_GRAPH_CONVOLUTION_IMPL_HPP
#define AUGUR_NN_DETAIL_GRAPH_CONVOLUTION_IMPL_HPP

/// @file
/// Definitions of nn/layers/graph_convolution.hpp.

#include <algorithm>
#include <cmath>

#include <augur/nn/layers/graph_convolution.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/product.hpp>

namespace augur::inline v0 {
namespace nn {

inline void graph_batch::add(index nodes, std::span<const graph_edge> edges) {
    const auto n = static_cast<std::size_t>(nodes);
    const std::size_t before = first_.size() - 1; // nodes of the earlier graphs
    const auto each_message = [&](const auto& f) {
        for (const graph_edge& e : edges) {
            AUGUR_ASSERT(e.source < n && e.target < n, "graph_batch: a node beyond the graph");
            f(std::size_t{e.source}, std::size_t{e.target});
            if (options_.undirected) f(std::size_t{e.target}, std::size_t{e.source});
        }
        if (options_.self_loops)
            for (std::size_t i = 0; i < n; ++i) f(i, i);
    };

    out_.assign(n, 0);
    next_.assign(n, 0);
    each_message([&](std::size_t source, std::size_t target) {
        ++out_[source];
        ++next_[target];
    });
    for (std::size_t& next : next_) { // number of messages -> place of the next message
        const std::size_t messages = next;
        next = first_.back();
        first_.push_back(first_.back() + messages);
    }
    source_.resize(first_.back());
    each_message([&](std::size_t source, std::size_t target) { source_[next_[target]++] = static_cast<index>(before + source); });

    const auto at_least_one = [](std::size_t degree) { return static_cast<double>((std::max)(degree, std::size_t{1})); };
    for (std::size_t target = before; target < before + n; ++target) {
        const double in = at_least_one(first_[target + 1] - first_[target]);
        for (std::size_t m = first_[target]; m < first_[target + 1]; ++m) {
            const double out = at_least_one(out_[static_cast<std::size_t>(source_[m]) - before]);
            coefficient_.push_back(options_.norm == degree_norm::none ? 1 : options_.norm == degree_norm::right ? 1 / in : 1 / std::sqrt(out * in));
        }
    }
    begin_.push_back(begin_.back() + nodes);
}

inline void graph_batch::clear() {
    begin_.resize(1);
    first_.resize(1);
    source_.clear();
    coefficient_.clear();
}

namespace detail {
/// to <- to + factor x   (n)
template <scalar S>
void add_scaled(const S& factor, const S* x, S* to, index n) {
    for (index i = 0; i < n; ++i) to[i] += factor * x[i];
}
} // namespace detail

template <scalar S>
void graph_convolution<S>::forward(in<S> x, const graph_batch& graphs, out<S> scratch, out<S> y) const {
    AUGUR_ASSERT(x.rows() == graphs.nodes() && x.cols() == W.rows() && y.rows() == x.rows() && y.cols() == W.cols(), "graph_convolution: shape");
    multiply<S>(x, W, scratch); // (N,I)(I,O)
    for (index n = 0; n < y.rows(); ++n) {
        S* const sum = y.data() + n * y.outerStride();
        std::copy_n(b.data(), b.size(), sum);
        graphs.each_message(n, [&](index source, double coefficient) {
            detail::add_scaled(S(coefficient), scratch.data() + source * scratch.outerStride(), sum, y.cols());
        });
    }
}

template <scalar S>
void graph_convolution<S>::backward(in<S> x, const graph_batch& graphs, in<S> dy, out<S> scratch, graph_convolution& grad) const {
    AUGUR_ASSERT(x.rows() == graphs.nodes() && dy.rows() == x.rows() && dy.cols() == W.cols() && scratch.rows() == dy.rows() &&
                     scratch.cols() == dy.cols(),
                 "graph_convolution: shape");
    scratch.setZero();
    for (index n = 0; n < dy.rows(); ++n) // scratch <- A^T dy, in the order of the targets
        graphs.each_message(n, [&](index source, double coefficient) {
            detail::add_scaled(S(coefficient), dy.data() + n * dy.outerStride(), scratch.data() + source * scratch.outerStride(), dy.cols());
        });
    multiply_outer<S>(x, scratch, grad.W, true); // (I,N)(N,O)
    detail::add_rows<S>(dy, grad.b);
}

template <scalar S>
void graph_convolution<S>::backward(in<S> x, const graph_batch& graphs, in<S> dy, out<S> scratch, out<S> dx, graph_convolution& grad) const {
    backward(x, graphs, dy, scratch, grad);
    multiply_transposed<S>(scratch, W, dx); // (N,O)(O,I)
}

} // namespace nn
} // namespace augur::inline v0

#endif
