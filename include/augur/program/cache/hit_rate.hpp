// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_CACHE_HIT_RATE_HPP
#define AUGUR_PROGRAM_CACHE_HIT_RATE_HPP

/// @file
/// Hit rate of a set-associative cache from a reuse-distance histogram, with random set placement: Equations 4 and 5 of Crop.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <augur/core/config.hpp>
#include <augur/program/reuse/profile.hpp>

namespace augur::inline v0 {

namespace detail {

/// ln(n!) minus the logarithm of Stirling's approximation.
inline double stirling_error(double n) noexcept {
    constexpr std::array<double, 16> exact{0.0,
                                           0.08106146679532725822,
                                           0.04134069595540929409,
                                           0.02767792568499833915,
                                           0.02079067210376509311,
                                           0.01664469118982119216,
                                           0.01387612882307074800,
                                           0.01189670994589177010,
                                           0.01041126526197209650,
                                           0.009255462182712732918,
                                           0.008330563433362871256,
                                           0.007573675487951840795,
                                           0.006942840107209529866,
                                           0.006408994188004207068,
                                           0.005951370112758847736,
                                           0.005554733551962801371};
    if (n <= 15) return exact[static_cast<std::size_t>(n)];
    const double s = 1 / (n * n);
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - (1.0 / 1188) * s) * s) * s) * s) / n;
}

/// x ln(x / m) + m - x without cancellation.
inline double deviance(double x, double m) noexcept {
    const double d = x - m;
    if (std::fabs(d) >= 0.1 * (x + m)) return x * std::log(x / m) - d;
    const double v = d / (x + m);
    double sum = d * v, term = 2 * x * v;
    for (int j = 3;; j += 2) {
        term *= v * v;
        const double next = sum + term / j;
        if (next == sum) return sum;
        sum = next;
    }
}

/// Binomial probability P(X = x) for n trials of probability p, by the saddle-point expansion (Loader 2000). pre: 0 < p < 1; x is an integer in [0,
/// n]
inline double binomial(double x, double n, double p) noexcept {
    constexpr double two_pi = 6.283185307179586476925;
    if (x == 0) return std::exp(n * std::log1p(-p));
    if (x == n) return std::exp(n * std::log(p));
    const double e = stirling_error(n) - stirling_error(x) - stirling_error(n - x) - deviance(x, n * p) - deviance(n - x, n * (1 - p));
    return std::exp(e) * std::sqrt(n / (two_pi * x * (n - x)));
}

} // namespace detail

/// Stack-distance model of an LRU cache with `lines` lines in sets of `ways`, where each line is in a random set (Brehob, Enbody 1999).
/// The model has no conflict misses of power-of-two strides, so it overestimates their hit rate; `associativity_profile` is exact there.
class random_set_cache {
public:
    /// pre: 1 <= ways <= lines
    random_set_cache(std::uint64_t ways, std::uint64_t lines) noexcept : ways_(static_cast<double>(ways)), lines_(static_cast<double>(lines)) {
        AUGUR_ASSERT(1 <= ways && ways <= lines, "random_set_cache: 1 <= ways <= lines");
        p_ = ways_ / lines_;
        odds_ = ways_ / (lines_ - ways_);
        log_q_ = std::log1p(-p_);
        for (std::size_t a = 1; a < odds_over_.size(); ++a) odds_over_[a] = odds_ / static_cast<double>(a);
    }

    /// Equation 4: the probability that a line is still cached after accesses to `distance` other lines, P(X < ways) for X ~ Bin(distance, ways /
    /// lines). Relative error below 1e-12; 0 only for probabilities below 1e-307. About 11 ns for 16 ways (Zen 5, docs/program.md).
    [[nodiscard]] double hit(double distance) const noexcept {
        if (distance < ways_) return 1;
        if (p_ >= 1) return 0;
        const double log_none = distance * log_q_;
        if (log_none <= -700 || ways_ >= static_cast<double>(odds_over_.size())) return (std::min)(1.0, below(distance, [](double) { return 1.0; }));
        // terms P(X = j) from j = 0, each from the term before; two independent halves, because the dependence chain limits the speed
        const int ways = static_cast<int>(ways_), half = (ways + 1) / 2;
        const auto step = [&](int j) { return (distance + (1 - j)) * odds_over_[static_cast<std::size_t>(j)]; };
        double low = 1, low_sum = 1, high = 1, high_sum = 1;
        for (int j = 1; j < ways - half; ++j) {
            low *= step(j);
            low_sum += low;
            high *= step(half + j);
            high_sum += high;
        }
        for (int j = (std::max)(ways - half, 1); j < half; ++j) low_sum += low *= step(j);
        if (half < ways) low_sum += low * step(half) * high_sum;
        return (std::min)(1.0, std::exp(log_none) * low_sum);
    }

    /// Mean of `hit` over the distances first, first + 1, ..., first + count - 1. Costs as much as two calls of `hit`. pre: count >= 1
    ///
    /// Let T be the distance at which the line is evicted. The sum of `hit` over all distances from n is E[(T - n)+] = E[(ways - X)+] / p for
    /// X ~ Bin(n, p) (Wald's identity); the sum of 1 - hit over all distances below n is E[(X - ways)+] / p. Both are sums of positive terms; the
    /// smaller sum is used.
    [[nodiscard]] double mean_hit(double first, double count) const noexcept {
        if (first + count <= ways_) return 1;
        if (p_ >= 1) return (std::max)(0.0, ways_ - first) / count;
        if (count <= 8) {
            double sum = 0;
            for (double d = 0; d < count; ++d) sum += hit(first + d);
            return sum / count;
        }
        const double end = first + count;
        const double mean = end * p_ < ways_ ? 1 - (missed_before(end) - missed_before(first)) / count : (hit_from(first) - hit_from(end)) / count;
        return (std::min)(1.0, (std::max)(0.0, mean));
    }

private:
    /// Sum of weight(j) * P(X = j) over j < ways, for X ~ Bin(n, p). pre: n >= ways - 1
    template <class Weight>
    [[nodiscard]] double below(double n, const Weight& weight) const noexcept {
        const double log_none = n * log_q_;
        if (log_none > -700) { // from j = 0: P(X = 0) does not underflow
            double term = std::exp(log_none);
            double sum = term * weight(0);
            const double few = (std::min)(ways_, static_cast<double>(odds_over_.size()));
            for (double j = 1; j < few; ++j) {
                term *= (n - j + 1) * odds_over_[static_cast<std::size_t>(j)];
                sum += term * weight(j);
            }
            for (double j = few; j < ways_ && (j < n * p_ || term > sum * tiny); ++j) {
                term *= (n - j + 1) / j * odds_;
                sum += term * weight(j);
            }
            return sum;
        }
        const double top = (std::min)(ways_ - 1, std::floor((n + 1) * p_)); // the largest term
        const double most = detail::binomial(top, n, p_);
        double sum = most * weight(top);
        double term = most;
        for (double j = top; j > 0 && term > sum * tiny; --j) {
            term *= j / ((n - j + 1) * odds_);
            sum += term * weight(j - 1);
        }
        term = most;
        for (double j = top + 1; j < ways_ && term > sum * tiny; ++j) {
            term *= (n - j + 1) / j * odds_;
            sum += term * weight(j);
        }
        return sum;
    }
    /// Sum of `hit` over all distances from n.
    [[nodiscard]] double hit_from(double n) const noexcept {
        if (n < ways_) return lines_ - n; // `hit` is 1 below `ways`, and its sum over all distances is `lines`
        return below(n, [this](double j) { return ways_ - j; }) / p_;
    }
    /// Sum of 1 - hit over all distances below n. pre: n * p < ways, so that the terms decrease
    [[nodiscard]] double missed_before(double n) const noexcept {
        if (n <= ways_) return 0;
        double term = detail::binomial(ways_ + 1, n, p_);
        double sum = term;
        for (double j = ways_ + 2; j <= n && term > sum * tiny; ++j) {
            term *= (n - j + 1) / j * odds_;
            sum += term * (j - ways_);
        }
        return sum / p_;
    }

    static constexpr double tiny = 1e-18;
    double ways_, lines_;
    double p_ = 0, odds_ = 0, log_q_ = 0; ///< probability that a line is in a given set; p / (1 - p); ln(1 - p)
    std::array<double, 33> odds_over_{};  ///< odds_ / j
};

/// Equation 5: hit rate of a cache of `lines` lines in sets of `ways`; cold accesses are misses. 1 when there is no access. A bin of several
/// distances has the mean hit rate of its distances.
/// @note Cost: 30 ns for each bin in use. pre: 1 <= ways <= lines
[[nodiscard]] inline double hit_rate(const reuse_profile& profile, std::uint64_t ways, std::uint64_t lines) noexcept {
    const random_set_cache cache(ways, lines);
    double hits = 0, total = static_cast<double>(profile.cold());
    for (std::size_t b = 0; b < reuse_profile::bins; ++b) {
        if (profile.count(b) == 0) continue;
        const auto n = static_cast<double>(profile.count(b));
        total += n;
        const auto first = static_cast<double>(reuse_profile::low(b));
        hits += n * (b < reuse_profile::exact ? cache.hit(first) : cache.mean_hit(first, static_cast<double>(reuse_profile::width(b))));
    }
    return total > 0 ? hits / total : 1;
}

} // namespace augur::inline v0

#endif
