// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_METATUNE_DATA_HPP
#define AUGUR_TESTS_METATUNE_DATA_HPP

/// @file
/// What the MetaTune tests share: random candidates.

#include <cstdint>

#include <augur/core/random_engine.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/network.hpp>

namespace metatune_data {

/// Slots with features in [-1, 1), one in `absent` of them absent, each below any earlier one.
inline augur::metatune::loop_rows random_loops(augur::nn::index slots, augur::nn::index features, augur::random_engine& rng,
                                               std::uint64_t absent = 4) {
    augur::metatune::loop_rows loops;
    loops.features.setZero(slots, features);
    for (augur::nn::index s = 0; s < slots; ++s) {
        const bool there = rng.below(absent) != 0;
        for (augur::nn::index f = 0; there && f < features; ++f) loops.features(s, f) = static_cast<float>(rng.uniform(-1, 1));
        loops.present.push_back(there ? 1 : 0);
        loops.parents.push_back(s == 0 ? augur::metatune::loop_rows::no_parent
                                       : static_cast<std::uint32_t>(rng.below(static_cast<std::uint64_t>(s))));
    }
    return loops;
}

} // namespace metatune_data

#endif
