// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_ROUNDS_HPP
#define AUGUR_EXAMPLES_SUPPORT_ROUNDS_HPP

/// @file
/// Tuned kernels beside their limits on a machine that others disturb.

#include <cstddef>
#include <vector>

#include <augur/core/error.hpp>

#include "console.hpp"
#include "session.hpp"

namespace examples {

/// What a kernel is compared with.
enum class rival { fma_peak, read_bandwidth, function, openblas };

/// A kernel and its limit over some rounds.
///
/// A visit is a process of its own that runs one program for some windows of equal length; its time is the fastest window. A round visits the limit,
/// the kernel and the limit again, all in the same way, kernel after kernel. What disturbs the machine slows a kernel, which needs caches and load ports
/// as well, more than a limit, so only the rounds count in which both visits to the limit came near its fastest one. The share of such a round is the mean
/// of the limit's two times over the kernel's, that of the kernel is the median over them.
struct comparison {
    rival against{};
    double seconds = 0; ///< median over the rounds that count; 0: no round succeeded
    double limit = 0;   ///< seconds that the limit allows, median over the same
    double share = 0;   ///< median of limit over kernel
    double low = 0;     ///< quartiles of it
    double high = 0;
    int counted = 0; ///< rounds that count
    double all = 0;  ///< median of limit over kernel in all rounds, the disturbed ones as well
};

/// Compares the best schedule of each kernel with its limit. Which of the finalists is the best is found out in rounds of their own.
///
/// @param rounds  at least 1; costs about 4 s each for fourteen kernels
/// Errors: io (a limit cannot be measured).   pre: the session's baselines are measured
augur::result<std::vector<comparison>> compare_with_limits(augur::session& s, const augur::search_report& found, int rounds, progress_line& progress);

} // namespace examples

#endif
