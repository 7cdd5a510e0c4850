// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_LOOP_ROWS_HPP
#define AUGUR_METATUNE_LOOP_ROWS_HPP

/// @file
/// A candidate as MetaTune's graph network reads it: a row of features for each loop, or for each slot of a super-graph.

#include <cstdint>
#include <vector>

#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace metatune {

/// The loops of a candidate, or the slots of its super-graph.
///
/// The graph of MetaTune's Figure 2 follows from it: a root, a `for` node for each of the S loops, an `iterval` node for each of them with the loop's
/// features; edges join the root and each `for`, each `for` and its `iterval`, and as an option a `for` and that of the next outer loop. Only
/// `iterval` nodes have features.
struct loop_rows {
    static constexpr std::uint32_t no_parent = 0xFFFFFFFF;

    nn::matrix<float> features;         ///< (S, F); 0 in the rows of absent loops
    std::vector<std::uint8_t> present;  ///< (S) 0: a slot that this candidate does not have
    std::vector<std::uint32_t> parents; ///< (S) index of the next outer loop, or `no_parent`
};

} // namespace metatune
} // namespace augur::inline v0

#endif
