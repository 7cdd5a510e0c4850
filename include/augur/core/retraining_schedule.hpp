// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_RETRAINING_SCHEDULE_HPP
#define AUGUR_CORE_RETRAINING_SCHEDULE_HPP

/// @file
/// Geometric retraining schedule: retrain after n, n g, n g^2, ... records, where g is the growth factor.

#include <cmath>
#include <cstddef>

namespace augur::inline v0 {

/// The smallest growth factor allowed. With a factor closer to 1 there would be more retraining points than records.
inline constexpr double least_retraining_growth = 1.01;

/// The last retraining point: the greatest of first, first * growth, first * growth^2, ... (rounded down) that is at most `count`, else 0.
/// pre: first > 0, growth >= `least_retraining_growth`
[[nodiscard]] inline std::size_t last_retraining(std::size_t count, std::size_t first, double growth) {
    std::size_t last = 0;
    for (auto next = static_cast<double>(first); std::floor(next) <= static_cast<double>(count); next *= growth)
        last = static_cast<std::size_t>(next);
    return last;
}

} // namespace augur::inline v0

#endif
