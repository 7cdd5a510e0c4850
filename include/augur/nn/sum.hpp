// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_SUM_HPP
#define AUGUR_NN_SUM_HPP

/// @file
/// Sums in a fixed order of additions.

#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// Sum of f(0), ..., f(n - 1) in four independent chains, which hide the latency of additions. The order of additions depends on n only.
template <scalar S, class F>
S sum_of_four(index n, const F& f) {
    S chain[4] = {S(0), S(0), S(0), S(0)};
    index j = 0;
    for (; j + 4 <= n; j += 4)
        for (index e = 0; e < 4; ++e) chain[e] += f(j + e);
    for (; j < n; ++j) chain[j % 4] += f(j);
    return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

} // namespace nn
} // namespace augur::inline v0

#endif
