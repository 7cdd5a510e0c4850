// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_DETAIL_ROWS_HPP
#define AUGUR_NN_DETAIL_ROWS_HPP

/// @file
/// Operations on single rows, by kernels for float.

#include <concepts>

#include <augur/nn/kernels/graph.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn::detail {

/// to <- to + factor x   (n)
template <scalar S>
void add_scaled(const S& factor, const S* x, S* to, index n) {
    if constexpr (std::same_as<S, float>) return kernels::add_scaled(factor, x, to, n);
    for (index i = 0; i < n; ++i) to[i] += factor * x[i];
}

/// sum of x[i] y[i]   (n)
template <scalar S>
[[nodiscard]] S dot(const S* x, const S* y, index n) {
    if constexpr (std::same_as<S, float>) return kernels::dot(x, y, n);
    S sum(0);
    for (index i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

} // namespace nn::detail
} // namespace augur::inline v0

#endif
