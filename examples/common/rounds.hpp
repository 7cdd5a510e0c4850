// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_ROUNDS_HPP
#define AUGUR_EXAMPLES_ROUNDS_HPP

/// @file
/// Tuned kernels beside their limits on a machine that others disturb.

#include <cstddef>
#include <vector>

#include <augur/core/error.hpp>

#include "console.hpp"
#include "session.hpp"

namespace examples {

/// What a kernel is compared with.
enum class rival { fma_peak, read_bandwidth, openblas };

/// A kernel and its limit over some rounds.
///
/// A visit is a process of its own that runs one program for some windows of equal length; its time is the fastest window. A round visits every
/// kernel and, right before or right after it, its limit, in the same way. A round's share is the one time over the other, so that what slows both
/// of them, or either of them now and then, does not count; the share of the kernel is the median over the rounds.
struct comparison {
    rival against{};
    double seconds = 0; ///< median over the rounds; 0: no round succeeded
    double limit = 0;   ///< seconds that the limit allows, median over the rounds
    double share = 0;   ///< median over the rounds of limit over kernel
    double low = 0;     ///< quartiles of it
    double high = 0;
    double fastest = 0; ///< the limit's fastest window of all rounds over the kernel's
};

/// Compares the best schedule of each kernel with its limit. Which of the finalists is the best is found out in three rounds of their own.
///
/// @param rounds  at least 1; costs about 3 s each for fourteen kernels
/// Errors: io (a limit cannot be measured).   pre: the session's baselines are measured
augur::result<std::vector<comparison>> compare_with_limits(session& s, const searched& found, int rounds, progress_line& progress);

} // namespace examples

#endif
