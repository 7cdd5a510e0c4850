// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_GAUSSIAN_PROCESS_HPP
#define AUGUR_SEARCH_BAYES_GAUSSIAN_PROCESS_HPP

/// @file
/// Gaussian-process regression: Matern 5/2 covariance with a lengthscale a dimension, constant mean, Gaussian noise.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/search/bayes/hyperparameters.hpp>

namespace augur::inline v0 {

namespace detail {

/// Squared distances become covariances, element by element: with s = sqrt(5) r, signal (1 + s + s^2 / 3) exp(-s).
template <class Array>
void matern52(Array&& squared, double signal) {
    squared = (5.0 * squared.max(0.0)).sqrt();
    squared = signal * (1.0 + squared * (1.0 + squared * (1.0 / 3.0))) * (-squared).exp();
}

/// Points (d, n) in units of the lengthscales.
[[nodiscard]] inline Eigen::MatrixXd scaled_points(const Eigen::MatrixXd& points, const Eigen::VectorXd& lengthscales) {
    return lengthscales.cwiseInverse().asDiagonal() * points;
}

/// Covariances (n, m) of the function at scaled points (d, n) and (d, m). Distances are a product of matrices and two norms: where points coincide r
/// is wrong by 1e-8, and the covariance, which is flat there, by 1e-16.
[[nodiscard]] inline Eigen::MatrixXd cross_covariance(const Eigen::MatrixXd& a, const Eigen::Ref<const Eigen::MatrixXd>& b, double signal) {
    Eigen::MatrixXd out(a.cols(), b.cols());
    out.noalias() = -2.0 * a.transpose() * b;
    const Eigen::ArrayXd norms = a.colwise().squaredNorm().transpose();
    for (Eigen::Index j = 0; j < out.cols(); ++j) {
        auto column = out.col(j).array();
        column += norms + b.col(j).squaredNorm();
        matern52(column, signal);
    }
    return out;
}

/// The least jitter and the greatest one, and the variance of a row given those before that is no more than rounding; shares of the signal variance.
inline constexpr double least_jitter = 1e-10, most_jitter = 1e-2, no_variance = 1e-12;

/// Factorises the matrix whose lower half `fill(lower, jitter)` writes, with that added to the diagonal, in place; of jitters 0, 1e-10, 1e-9, ...,
/// 1e-2 of `scale` with the first that makes it positive definite. Returns that jitter; nullopt: none did.
template <class Fill>
[[nodiscard]] std::optional<double> factorise(Eigen::Ref<Eigen::MatrixXd> lower, double scale, Fill&& fill) {
    for (double share = 0; share <= most_jitter * 1.5; share = share > 0 ? 10 * share : least_jitter) {
        fill(lower, share * scale);
        const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>, Eigen::Lower> llt(lower);
        if (llt.info() == Eigen::Success && (lower.diagonal().array().square() > no_variance * scale).all()) return share * scale; // false for NaN
    }
    return std::nullopt;
}

} // namespace detail

/// What a Gaussian process knows of some points.
struct gp_posterior {
    Eigen::VectorXd mean;     ///< (m) of the function, without the noise of a label
    Eigen::VectorXd variance; ///< (m) of the function; not negative
    /// (n, m) inverse factor times the covariances with the n known points: cov(a, b) = k(a, b) - whitened(a) . whitened(b).
    Eigen::MatrixXd whitened;
};

/// A Gaussian process conditioned on labelled points, in double precision.
///
/// A point may come twice, with two labels: they are two noisy observations. A kernel matrix that is singular in double precision gets the least
/// `jitter` on its diagonal that mends it, as if labels were that much noisier.
///
/// Source   Rasmussen, Williams 2006, algorithm 2.1
/// Cost     `create` n^3/3 multiplications for n points, `add` and `relabel` n^2, `posterior` n^2 a point
/// Threads  concurrent const calls are allowed
class gaussian_process {
public:
    /// @param points  (d, n), one a column; none: the posterior is the prior      @param labels  (n)
    /// Errors  `shape_mismatch`; `invalid_argument`: a number that is not finite, a lengthscale or a variance outside its domain, a matrix
    ///         that a jitter of 1e-2 signal variances does not mend
    [[nodiscard]] static result<gaussian_process> create(Eigen::MatrixXd points, Eigen::VectorXd labels, gp_hyperparameters h) {
        if (points.cols() != labels.size() || points.rows() != h.lengthscales.size())
            return error{errc::shape_mismatch, "gaussian process: expected a label a point and a lengthscale a dimension, got " +
                                                   std::to_string(points.cols()) + " points of " + std::to_string(points.rows()) + ", " +
                                                   std::to_string(labels.size()) + " labels, " + std::to_string(h.lengthscales.size()) +
                                                   " lengthscales"};
        if (!points.allFinite() || !labels.allFinite())
            return error{errc::invalid_argument, "gaussian process: expected finite points and labels, got others"};
        if (!h.lengthscales.allFinite() || (h.lengthscales.array() <= 0).any() || !(h.signal_variance > 0) || !std::isfinite(h.signal_variance) ||
            !(h.noise_variance >= 0) || !std::isfinite(h.noise_variance) || !std::isfinite(h.mean))
            return error{errc::invalid_argument, "gaussian process: expected positive lengthscales and variances and a finite mean, got others"};
        gaussian_process out;
        out.scaled_ = detail::scaled_points(points, h.lengthscales);
        out.labels_ = std::move(labels);
        out.parameters_ = std::move(h);
        if (auto ok = out.factorise(); !ok) return ok.error();
        return out;
    }

    /// Adds an observation: a row of the factor, from one triangular solve. Only where the row makes the matrix singular it is factorised anew.
    ///
    /// @param point  (d)      Errors: as `create`; after a matrix that stays singular it is of no use
    [[nodiscard]] result<void> add(const Eigen::VectorXd& point, double label) {
        if (point.size() != scaled_.rows())
            return error{errc::shape_mismatch, "gaussian process: expected a point of as many dimensions as the others"};
        if (!point.allFinite() || !std::isfinite(label)) return error{errc::invalid_argument, "gaussian process: expected a finite point and label"};
        const Eigen::Index n = size();
        const Eigen::VectorXd scaled = point.cwiseQuotient(parameters_.lengthscales);
        Eigen::VectorXd row = detail::cross_covariance(scaled_, scaled, parameters_.signal_variance);
        factor().triangularView<Eigen::Lower>().solveInPlace(row);
        const double pivot = parameters_.signal_variance + parameters_.noise_variance + jitter_ - row.squaredNorm();
        scaled_.conservativeResize(Eigen::NoChange, n + 1);
        scaled_.col(n) = scaled;
        labels_.conservativeResize(n + 1);
        labels_[n] = label;
        if (!(pivot > detail::no_variance * parameters_.signal_variance)) return factorise();
        if (storage_.rows() == n) storage_.conservativeResize(n + n / 4 + 8, n + n / 4 + 8);
        storage_.row(n).head(n) = row.transpose();
        storage_(n, n) = std::sqrt(pivot);
        whiten();
        return {};
    }

    /// Other labels of the same points; the factor stays.   pre: labels.size() == size(), all finite
    void relabel(Eigen::VectorXd labels) {
        AUGUR_ASSERT(labels.size() == size() && labels.allFinite(), "gaussian_process: labels");
        labels_ = std::move(labels);
        whiten();
    }

    /// The mean of the function at points (d, m), n multiplications a point.
    [[nodiscard]] Eigen::VectorXd mean(const Eigen::Ref<const Eigen::MatrixXd>& points) const {
        const Eigen::VectorXd weights = factor().transpose().triangularView<Eigen::Upper>().solve(residual_);
        return (cross(points).transpose() * weights).array() + parameters_.mean;
    }

    /// Mean and variance of the function at points (d, m). What belongs to a point depends on the other points of the call in the last bits only.
    [[nodiscard]] gp_posterior posterior(const Eigen::Ref<const Eigen::MatrixXd>& points) const {
        gp_posterior out;
        out.whitened = cross(points);
        factor().triangularView<Eigen::Lower>().solveInPlace(out.whitened);
        out.mean = (out.whitened.transpose() * residual_).array() + parameters_.mean;
        out.variance = (parameters_.signal_variance - out.whitened.colwise().squaredNorm().array()).max(0.0).transpose();
        return out;
    }

    /// The joint covariance (m, m) of the function at points (d, m).
    [[nodiscard]] Eigen::MatrixXd covariance(const Eigen::MatrixXd& points) const {
        const Eigen::MatrixXd whitened = posterior(points).whitened;
        const Eigen::MatrixXd scaled = detail::scaled_points(points, parameters_.lengthscales);
        return detail::cross_covariance(scaled, scaled, parameters_.signal_variance) - whitened.transpose() * whitened;
    }

    /// log p(labels | points)
    [[nodiscard]] double log_marginal_likelihood() const {
        return -0.5 * residual_.squaredNorm() - factor().diagonal().array().log().sum() -
               0.5 * static_cast<double>(size()) * std::log(2 * std::numbers::pi);
    }

    [[nodiscard]] Eigen::Index size() const noexcept { return labels_.size(); }
    [[nodiscard]] const gp_hyperparameters& hyperparameters() const noexcept { return parameters_; }
    /// What the diagonal got beside the noise variance; 0 where the matrix was positive definite as it is.
    [[nodiscard]] double jitter() const noexcept { return jitter_; }

private:
    gp_hyperparameters parameters_;
    Eigen::MatrixXd scaled_; ///< (d, n) points in units of the lengthscales
    Eigen::VectorXd labels_;
    Eigen::MatrixXd storage_;  ///< its first (n, n), the lower half, is the factor; the others are room for rows
    Eigen::VectorXd residual_; ///< (n) inverse factor times (labels - mean)
    double jitter_ = 0;

    [[nodiscard]] Eigen::Block<const Eigen::MatrixXd> factor() const { return storage_.topLeftCorner(size(), size()); }

    [[nodiscard]] Eigen::MatrixXd cross(const Eigen::Ref<const Eigen::MatrixXd>& points) const {
        AUGUR_ASSERT(points.rows() == scaled_.rows(), "gaussian_process: points of other dimensions");
        return detail::cross_covariance(scaled_, detail::scaled_points(points, parameters_.lengthscales), parameters_.signal_variance);
    }

    [[nodiscard]] result<void> factorise() {
        storage_.resize(size(), size());
        const auto jitter = detail::factorise(storage_, parameters_.signal_variance, [&](Eigen::Ref<Eigen::MatrixXd> lower, double extra) {
            lower = detail::cross_covariance(scaled_, scaled_, parameters_.signal_variance);
            lower.diagonal().setConstant(parameters_.signal_variance + parameters_.noise_variance + extra);
        });
        if (!jitter)
            return error{errc::invalid_argument, "gaussian process: a kernel matrix of " + std::to_string(size()) + " points stays singular"};
        jitter_ = *jitter;
        whiten();
        return {};
    }

    void whiten() {
        residual_ = labels_.array() - parameters_.mean;
        factor().triangularView<Eigen::Lower>().solveInPlace(residual_);
    }
};

} // namespace augur::inline v0

#endif
