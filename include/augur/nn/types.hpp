// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_TYPES_HPP
#define AUGUR_NN_TYPES_HPP

/// @file
/// Basic types of the neural-network layers: scalar concept, row-major matrix types, argument types, growing buffers.
///
/// Letters in shapes: T tokens (rows), I features in, O features out, D model width, H heads. N counts the items of a batch: candidates in losses,
/// sequences in attention.hpp, nodes in graph_convolution.hpp and weighted_sum_and_max.hpp. In lstm.hpp H is the hidden width and n counts sequences.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include <augur/core/config.hpp>

namespace augur::inline v0 {
namespace nn {

namespace detail {
// the standard functions for built-in types, argument-dependent lookup for all others
using std::abs;
using std::exp;
using std::log;
using std::sqrt;
template <class S>
concept has_elementary_functions = requires(const S& x) {
    { exp(x) } -> std::convertible_to<S>;
    { log(x) } -> std::convertible_to<S>;
    { sqrt(x) } -> std::convertible_to<S>;
    { abs(x) } -> std::convertible_to<S>;
};
} // namespace detail

/// Number type of parameters and activations: float, double, `dual<T>` or a user's type with `Eigen::NumTraits`.
///
/// Syntax      ordered field: + - * / and their assignments, < and ==, constructible from int and double; exp, log, sqrt, abs by lookup
/// Semantics   comparison uses the value only, so that branches (ReLU, maximum) are the same for a number and its dual
template <class S>
concept scalar = std::regular<S> && std::totally_ordered<S> && std::constructible_from<S, int> && std::constructible_from<S, double> &&
                 detail::has_elementary_functions<S> && requires(S& x, const S& y) {
                     { y + y } -> std::convertible_to<S>;
                     { y - y } -> std::convertible_to<S>;
                     { y* y } -> std::convertible_to<S>;
                     { y / y } -> std::convertible_to<S>;
                     { -y } -> std::convertible_to<S>;
                     x += y;
                     x -= y;
                     x *= y;
                     x /= y;
                 };

using index = Eigen::Index;

template <scalar S>
using matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <scalar S>
using row_vector = Eigen::Matrix<S, 1, Eigen::Dynamic>;
/// View of a row-major matrix in memory owned elsewhere.
template <scalar S>
using map = Eigen::Map<matrix<S>>;

/// Input matrix argument: any row-major matrix, block or map with contiguous rows is passed without a copy.
template <scalar S>
using in = const Eigen::Ref<const matrix<S>>&;
/// Output matrix argument; the caller allocates it with the right shape.
template <scalar S>
using out = Eigen::Ref<matrix<S>>;

/// Memory for an activation. It grows and never shrinks, so a loop over batches allocates nothing after the largest batch.
template <scalar S>
class buffer {
public:
    /// Resizes to rows x cols and returns the matrix; its values are unspecified. Invalidates earlier maps of this buffer.
    map<S> shape(index rows, index cols) {
        const auto need = static_cast<std::size_t>(rows * cols);
        if (storage_.size() < need) storage_.resize(need);
        rows_ = rows;
        cols_ = cols;
        return view();
    }
    /// Matrix of the last `shape`.
    [[nodiscard]] map<S> view() { return map<S>(storage_.data(), rows_, cols_); }
    [[nodiscard]] Eigen::Map<const matrix<S>> view() const { return Eigen::Map<const matrix<S>>(storage_.data(), rows_, cols_); }

private:
    std::vector<S> storage_;
    index rows_ = 0;
    index cols_ = 0;
};

} // namespace nn
} // namespace augur::inline v0

#endif
