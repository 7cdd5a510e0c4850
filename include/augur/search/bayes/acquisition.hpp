// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_ACQUISITION_HPP
#define AUGUR_SEARCH_BAYES_ACQUISITION_HPP

/// @file
/// What a measurement of a point is worth, by mean and standard deviation of a label that is to be large.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/gaussian_process.hpp>

namespace augur::inline v0 {

namespace detail {
/// log (phi(z) + z Phi(z)), the logarithm of the expected improvement of a standard normal number over -z, for every z.
///
/// Below -3 the sum cancels. With t = -z it is phi(t) (1 - t M(t)) with Mills' ratio M; Laplace's continued fraction M = 1 / (t + a),
/// a = 1 / (t + 2 / (t + 3 / ...)) gives 1 - t M = a / (t + a) without a difference. (Ament et al. 2023 take the same from erfcx.)
[[nodiscard]] inline double log_standard_improvement(double z) {
    constexpr double log_root_two_pi = 0.918938533204672742;
    if (z > -3) return std::log(std::exp(-0.5 * z * z - log_root_two_pi) + 0.5 * z * std::erfc(-z / std::numbers::sqrt2));
    const double t = -z;
    double a = 0;
    for (int k = 60; k >= 1; --k) a = k / (t + a);
    return -0.5 * z * z - log_root_two_pi + std::log(a / (t + a));
}
} // namespace detail

/// E max(f - best, 0) for normal f.   pre: deviation >= 0
[[nodiscard]] inline double expected_improvement(double mean, double deviation, double best) {
    if (!(deviation > 0)) return (std::max)(mean - best, 0.0);
    return deviation * std::exp(detail::log_standard_improvement((mean - best) / deviation));
}

/// The logarithm of `expected_improvement`, also where that is 0 in double precision: it orders points that are hardly likely to improve.
/// -infinity only if deviation is 0 and mean <= best.   pre: deviation >= 0
[[nodiscard]] inline double log_expected_improvement(double mean, double deviation, double best) {
    if (!(deviation > 0)) return mean > best ? std::log(mean - best) : -std::numeric_limits<double>::infinity();
    return std::log(deviation) + detail::log_standard_improvement((mean - best) / deviation);
}

/// mean + beta deviation   (Srinivas et al. 2010, whose beta is the square of this one)
[[nodiscard]] constexpr double upper_confidence_bound(double mean, double deviation, double beta) noexcept { return mean + beta * deviation; }

/// Standard normal numbers (rows, columns), by the method of Box and Muller.
[[nodiscard]] inline Eigen::MatrixXd standard_normals(Eigen::Index rows, Eigen::Index columns, random_engine& rng) {
    Eigen::MatrixXd out(rows, columns);
    for (Eigen::Index i = 0; i < out.size(); ++i) {
        const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
        out.data()[i] = radius * std::cos(2 * std::numbers::pi * rng.uniform());
    }
    return out;
}

/// qEI: E max(max_j f_j - best, 0) for jointly normal f, as the mean over given samples (Wang et al. 2016). A covariance that is singular gets the
/// least jitter that mends it.
///
/// @param mean  (q)      @param covariance  (q, q)      @param normals  (q, samples) standard normal numbers
/// Errors  `shape_mismatch`; `invalid_argument`: the covariance is no covariance
[[nodiscard]] inline result<double> monte_carlo_expected_improvement(const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance, double best,
                                                                     const Eigen::MatrixXd& normals) {
    if (covariance.rows() != mean.size() || covariance.cols() != mean.size() || normals.rows() != mean.size() || normals.size() == 0)
        return error{errc::shape_mismatch, "qEI: expected a mean, a row of covariances and a row of samples for each point"};
    Eigen::MatrixXd factor(covariance.rows(), covariance.cols());
    const auto scale = (std::max)(covariance.diagonal().maxCoeff(), std::numeric_limits<double>::min());
    const auto jitter = detail::factorise(factor, scale, [&](Eigen::Ref<Eigen::MatrixXd> lower, double extra) {
        lower = covariance;
        lower.diagonal().array() += extra;
    });
    if (!jitter) return error{errc::invalid_argument, "qEI: the covariance is not positive semidefinite"};
    Eigen::MatrixXd samples = factor.triangularView<Eigen::Lower>() * normals;
    samples.colwise() += mean;
    return (samples.colwise().maxCoeff().array() - best).max(0.0).mean();
}

} // namespace augur::inline v0

#endif
