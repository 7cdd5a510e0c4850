// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_STATISTICS_HPP
#define AUGUR_EXAMPLES_SUPPORT_STATISTICS_HPP

/// @file
/// Means with intervals, medians, and the correlation of ranks.

#include <cstddef>
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

} // namespace examples

#endif
