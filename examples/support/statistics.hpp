// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_STATISTICS_HPP
#define AUGUR_EXAMPLES_SUPPORT_STATISTICS_HPP

/// @file
/// Means with intervals, medians, the correlation of ranks, and when a search has converged.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace examples {

/// A mean with a 95 % interval (Student's t). With fewer than two values the interval is the mean.
struct mean_interval {
    double mean = 0, low = 0, high = 0;
    std::size_t count = 0;
};
mean_interval arithmetic(std::span<const double> values);
/// Of positive numbers: the interval is that of the logarithms.
mean_interval geometric(std::span<const double> values);

/// Median; infinity counts as the largest. pre: not empty
double median(std::vector<double> values);

/// Spearman's correlation, equal values share their rank; 0 where all values of a list are equal.   pre: lists of one length
double spearman(const std::vector<double>& a, const std::vector<double>& b);

/// Sum over the kernels of the least latency after n trials of each, n = 0, 1, ..., `most`: of what the kernel began with and of its first n trials.
/// A kernel with fewer trials keeps its least latency; one without a finite latency among these is left out. If all kernels have fewer trials, the
/// sums end at the largest number of trials.   pre: lists of one length
std::vector<double> total_latencies(std::span<const double> begun, std::span<const std::vector<double>> trials, std::size_t most);

/// The first place in a falling sequence at which the last `window` steps have lowered it by less than `share` of what it was (convergence in Zhai et
/// al. 2024, section 6.2); none: there is no such place. From infinity nothing has converged.
std::optional<std::size_t> converged_at(std::span<const double> falling, std::size_t window, double share);

} // namespace examples

#endif
