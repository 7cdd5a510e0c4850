// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_GRAPH_CONVOLUTION_IMPL_HPP
#define AUGUR_NN_DETAIL_GRAPH_CONVOLUTION_IMPL_HPP

/// @file
/// Definitions of nn/layers/graph_convolution.hpp.

#include <algorithm>
#include <cmath>
#include <concepts>

#include <augur/nn/detail/rows.hpp>
#include <augur/nn/kernels/graph.hpp>
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

    const auto factor_of = [this](std::size_t degree) { // a root for each node, not for each message
        const auto at_least_one = static_cast<double>((std::max)(degree, std::size_t{1}));
        return options_.norm == degree_norm::none ? 1 : 1 / (options_.norm == degree_norm::right ? at_least_one : std::sqrt(at_least_one));
    };
    factor_.clear();
    if (options_.norm == degree_norm::both)
        for (const std::size_t out : out_) factor_.push_back(factor_of(out));
    else factor_.assign(n, 1);
    for (std::size_t target = before; target < before + n; ++target) {
        const double in = factor_of(first_[target + 1] - first_[target]);
        for (std::size_t m = first_[target]; m < first_[target + 1]; ++m)
            coefficient_.push_back(in * factor_[static_cast<std::size_t>(source_[m]) - before]);
    }
    begin_.push_back(begin_.back() + nodes);
}

inline void graph_batch::clear() {
    begin_.resize(1);
    first_.resize(1);
    source_.clear();
    coefficient_.clear();
}

template <scalar S>
void graph_convolution<S>::forward(in<S> x, const graph_batch& graphs, out<S> scratch, out<S> y) const {
    AUGUR_ASSERT(x.rows() == graphs.nodes() && x.cols() == W.rows() && y.rows() == x.rows() && y.cols() == W.cols(), "graph_convolution: shape");
    constexpr index block = 384; // rows of a product that are in the second-level cache when they are messages
    const std::span<const index> begin = graphs.begin();
    for (std::size_t g = 0; g + 1 < begin.size();) {
        const index first = begin[g++];
        while (g + 1 < begin.size() && begin[g + 1] - first <= block) ++g;
        const index count = begin[g] - first;
        multiply<S>(x.middleRows(first, count), W, scratch.topRows(count)); // (N,I)(I,O)
        for (index n = first; n < begin[g]; ++n) {
            const auto [sources, coefficients] = graphs.messages_to(n);
            S* const sum = y.data() + n * y.outerStride();
            if constexpr (std::same_as<S, float>) {
                kernels::weighted_rows({scratch.data(), scratch.outerStride(), first}, sources.data(), coefficients.data(), std::ssize(sources),
                                       b.data(), sum, y.cols());
            } else {
                std::copy_n(b.data(), b.size(), sum);
                for (std::size_t m = 0; m < sources.size(); ++m)
                    detail::add_scaled(S(coefficients[m]), scratch.data() + (sources[m] - first) * scratch.outerStride(), sum, y.cols());
            }
        }
    }
}

template <scalar S>
void graph_convolution<S>::backward(in<S> x, const graph_batch& graphs, in<S> dy, out<S> scratch, graph_convolution& grad) const {
    AUGUR_ASSERT(x.rows() == graphs.nodes() && dy.rows() == x.rows() && dy.cols() == W.cols() && scratch.rows() == dy.rows() &&
                     scratch.cols() == dy.cols(),
                 "graph_convolution: shape");
    scratch.setZero();
    for (index n = 0; n < dy.rows(); ++n) { // scratch <- A^T dy, in the order of the targets
        const auto [sources, coefficients] = graphs.messages_to(n);
        for (std::size_t m = 0; m < sources.size(); ++m)
            detail::add_scaled(static_cast<S>(coefficients[m]), dy.data() + n * dy.outerStride(), scratch.data() + sources[m] * scratch.outerStride(),
                               dy.cols());
    }
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
