// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_RETRAINING_SCHEDULE_HPP
#define AUGUR_CORE_RETRAINING_SCHEDULE_HPP

/// @file
/// When to do again what depends on all that came so far: at a number of things, and whenever it has grown by a factor.

#include <cmath>
#include <cstddef>

namespace augur::inline v0 {

/// The least growth that marks may have. Closer to 1 they are more than a search has records.
inline constexpr double least_retraining_growth = 1.01;

/// The greatest of first, first * growth, first * growth^2, ... (rounded down) that is at most `count`; 0 where there is none.
/// pre: first > 0, growth >= `least_retraining_growth`
[[nodiscard]] inline std::size_t last_retraining(std::size_t count, std::size_t first, double growth) {
    std::size_t mark = 0;
    for (auto next = static_cast<double>(first); std::floor(next) <= static_cast<double>(count); next *= growth)
        mark = static_cast<std::size_t>(next);
    return mark;
}

} // namespace augur::inline v0

#endif
