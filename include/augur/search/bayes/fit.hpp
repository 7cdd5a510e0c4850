// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_FIT_HPP
#define AUGUR_SEARCH_BAYES_FIT_HPP

/// @file
/// Hyper-parameters of a Gaussian process from labelled points: the marginal likelihood, its gradient, and its maximum.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/search/bayes/gaussian_process.hpp>
#include <augur/search/bayes/hyperparameters.hpp>

namespace augur::inline v0 {

namespace detail {

inline constexpr Eigen::Index unblocked = 64; ///< rows of a triangle that is not halved any more

/// The inverse of a lower triangle, in place: n^3/3 multiplications, half by the recursion into blocks what solving for the unit matrix would take.
inline void invert_lower(Eigen::Ref<Eigen::MatrixXd> l) {
    const Eigen::Index n = l.rows(), h = n / 2;
    if (n <= unblocked) {
        Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(n, n);
        l.triangularView<Eigen::Lower>().solveInPlace(inverse);
        l.triangularView<Eigen::Lower>() = inverse;
        return;
    }
    auto a = l.topLeftCorner(h, h), b = l.bottomLeftCorner(n - h, h), c = l.bottomRightCorner(n - h, n - h);
    c.triangularView<Eigen::Lower>().solveInPlace(b);
    a.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(b);
    b = -b;
    invert_lower(a);
    invert_lower(c);
}

/// The lower half of M^T M of a lower triangle M, in place: n^3/3 multiplications.
inline void gram_of_lower(Eigen::Ref<Eigen::MatrixXd> m) {
    const Eigen::Index n = m.rows(), h = n / 2;
    if (n <= unblocked) {
        const Eigen::MatrixXd lower = m.triangularView<Eigen::Lower>();
        m.triangularView<Eigen::Lower>() = lower.transpose() * lower;
        return;
    }
    auto a = m.topLeftCorner(h, h), b = m.bottomLeftCorner(n - h, h), c = m.bottomRightCorner(n - h, n - h);
    gram_of_lower(a);
    a.selfadjointView<Eigen::Lower>().rankUpdate(b.transpose());
    b = c.triangularView<Eigen::Lower>().transpose() * b;
    gram_of_lower(c);
}

} // namespace detail

/// The log marginal likelihood of labelled points as a function of the hyper-parameters, with its gradient. Holds its workspace of 16 n^2 bytes.
///
/// The gradient needs the inverse of the kernel matrix, twice the work of the factorisation. Beyond that a lengthscale costs a column of a product
/// with a symmetric (n, n) matrix w, the derivatives by the squared distances: sum w(i,j) (z(i) - z(j))^2 = 2 sum z(i)^2 w(i,.) - 2 z^T w z.
///
/// Source   Rasmussen, Williams 2006, equation 5.9
/// Cost     n^3 multiplications with the gradient, n^3/3 without, and one exp for each pair of points
class gp_likelihood {
public:
    /// @param points  (d, n), one a column, finite     @param labels  (n), finite
    gp_likelihood(Eigen::MatrixXd points, Eigen::VectorXd labels)
        : points_(std::move(points)), labels_(std::move(labels)), lower_(labels_.size(), labels_.size()), slopes_(labels_.size(), labels_.size()) {
        AUGUR_ASSERT(points_.cols() == labels_.size() && labels_.size() > 0, "gp_likelihood: a label a point");
        points_.colwise() -= points_.rowwise().mean().eval(); // distances stay, their rounding errors shrink
    }

    /// The value; nullopt: the kernel matrix is singular and no jitter mends it.
    ///
    /// @param gradient  (d + 3), if it is not null: by log lengthscales, log signal variance, log noise variance, mean
    [[nodiscard]] std::optional<double> operator()(const gp_hyperparameters& h, Eigen::VectorXd* gradient = nullptr) {
        const Eigen::Index n = labels_.size(), d = points_.rows();
        AUGUR_ASSERT(h.lengthscales.size() == d, "gp_likelihood: a lengthscale a dimension");
        const Eigen::MatrixXd scaled = detail::scaled_points(points_, h.lengthscales);
        const auto jitter =
            detail::factorise(lower_, h.signal_variance, [&](Eigen::Ref<Eigen::MatrixXd>, double extra) { covariances(scaled, h, extra); });
        if (!jitter) return std::nullopt;
        const Eigen::VectorXd residual = labels_.array() - h.mean;
        Eigen::VectorXd weights = lower_.triangularView<Eigen::Lower>().solve(residual);
        const double value =
            -0.5 * weights.squaredNorm() - lower_.diagonal().array().log().sum() - 0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi);
        if (gradient == nullptr) return value;
        lower_.triangularView<Eigen::Lower>().transpose().solveInPlace(weights);

        detail::invert_lower(lower_);
        detail::gram_of_lower(lower_); // the inverse of the kernel matrix
        for (Eigen::Index j = 0; j < n; ++j) {
            const Eigen::Index below = n - j - 1;
            slopes_.col(j).tail(below).array() *= weights[j] * weights.tail(below).array() - lower_.col(j).tail(below).array();
            slopes_(j, j) = 0;
        }
        Eigen::MatrixXd z(n, d + 1); // the last column sums the rows of w
        z.leftCols(d) = scaled.transpose();
        z.col(d).setOnes();
        const Eigen::MatrixXd wz = slopes_.selfadjointView<Eigen::Lower>() * z;
        gradient->resize(d + 3);
        for (Eigen::Index i = 0; i < d; ++i) (*gradient)[i] = (z.col(i).array() * (z.col(i).array() * wz.col(d).array() - wz.col(i).array())).sum();
        const double diagonal = h.noise_variance + *jitter, trace = lower_.trace(), squares = weights.squaredNorm();
        (*gradient)[d] = 0.5 * (weights.dot(residual) - diagonal * squares - static_cast<double>(n) + diagonal * trace);
        (*gradient)[d + 1] = 0.5 * h.noise_variance * (squares - trace);
        (*gradient)[d + 2] = weights.sum();
        return value;
    }

private:
    Eigen::MatrixXd points_;
    Eigen::VectorXd labels_;
    Eigen::MatrixXd lower_;  ///< kernel matrix, factor, inverse
    Eigen::MatrixXd slopes_; ///< lower half: of each covariance by half the squared distance, negative

    /// Writes the lower halves of the kernel matrix and of the slopes.
    void covariances(const Eigen::MatrixXd& scaled, const gp_hyperparameters& h, double jitter) {
        const Eigen::Index n = labels_.size();
        lower_.setZero();
        lower_.selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose(), -2.0);
        const Eigen::ArrayXd norms = scaled.colwise().squaredNorm().transpose();
        Eigen::ArrayXd s(n), decay(n);
        for (Eigen::Index j = 0; j < n; ++j) {
            const Eigen::Index below = n - j - 1;
            auto column = lower_.col(j).tail(below).array();
            s.head(below) = (5.0 * (column + norms.tail(below) + norms[j]).max(0.0)).sqrt();
            decay.head(below) = h.signal_variance * (-s.head(below)).exp();
            slopes_.col(j).tail(below).array() = (5.0 / 3.0) * (1.0 + s.head(below)) * decay.head(below);
            column = (1.0 + s.head(below) * (1.0 + s.head(below) * (1.0 / 3.0))) * decay.head(below);
            lower_(j, j) = h.signal_variance + h.noise_variance + jitter;
        }
    }
};

/// A gamma distribution as the prior of a positive number.
struct gamma_prior {
    double shape = 1; ///< at least 1
    double rate = 0;  ///< shape 1 and rate 0: no preference

    [[nodiscard]] double log_density(double x) const { return (shape - 1) * std::log(x) - rate * x; } ///< but for a constant
    [[nodiscard]] double slope(double x) const { return shape - 1 - rate * x; }                       ///< of `log_density` by log x
};

/// Priors of the hyper-parameters for points in the unit cube and labels of mean 0 and variance 1.
struct gp_priors {
    gamma_prior lengthscale, signal_variance, noise_variance;

    /// Those of BoTorch's SingleTaskGP (models/utils/gpytorch_modules.py), where the lengthscale is in units of the cube's diagonal, so that in many
    /// dimensions points do not become independent of each other (Hvarfner et al. 2024).
    [[nodiscard]] static gp_priors unit_cube(Eigen::Index dimensions) {
        const double diagonal = std::sqrt(static_cast<double>((std::max)(dimensions, Eigen::Index{1})));
        return {{3, 6 / diagonal}, {2, 0.15}, {1.1, 0.05}};
    }
    [[nodiscard]] static gp_priors none() { return {}; }
};

/// Fitted hyper-parameters.
struct gp_fit {
    gp_hyperparameters parameters;
    double log_posterior = 0;    ///< log marginal likelihood and log density of the priors, without the constants of these
    std::size_t evaluations = 0; ///< of the likelihood with its gradient
};

/// Maximises the marginal likelihood times the priors, from two starts: labels that are mostly signal, and labels that are mostly noise.
/// Deterministic.
///
/// The method is BFGS on the logarithms, with steps cut at the bounds; there are few dimensions, so the inverse Hessian is dense.
///
/// @param points  (d, n) in the unit cube    @param labels  (n) of mean 0 and variance about 1
/// Errors  `invalid_argument`: points or labels that are not finite, or a kernel matrix that stays singular at both starts
/// Cost    at most 2 `iterations` likelihoods with gradient, and those of steps that were too long
[[nodiscard]] inline result<gp_fit> fit_hyperparameters(const Eigen::MatrixXd& points, const Eigen::VectorXd& labels, const gp_priors& priors,
                                                        const gp_fit_options& options = {}) {
    AUGUR_ASSERT(points.cols() == labels.size() && labels.size() > 0, "fit_hyperparameters: a label a point");
    if (!points.allFinite() || !labels.allFinite())
        return error{errc::invalid_argument, "gaussian process: expected finite points and labels, got others"};
    const Eigen::Index d = points.rows(), size = d + 3;
    gp_likelihood likelihood(points, labels);
    gp_fit best;
    best.log_posterior = -std::numeric_limits<double>::infinity();

    const auto parameters_of = [&](const Eigen::VectorXd& x) {
        return gp_hyperparameters{x.head(d).array().exp(), std::exp(x[d]), std::exp(x[d + 1]), x[d + 2]};
    };
    // The negative log posterior and its gradient.
    const auto evaluate = [&](const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
        const gp_hyperparameters h = parameters_of(x);
        ++best.evaluations;
        const auto value = likelihood(h, &gradient);
        if (!value || !std::isfinite(*value) || !gradient.allFinite()) return std::numeric_limits<double>::infinity();
        double density = priors.signal_variance.log_density(h.signal_variance) + priors.noise_variance.log_density(h.noise_variance);
        for (Eigen::Index i = 0; i < d; ++i) {
            density += priors.lengthscale.log_density(h.lengthscales[i]);
            gradient[i] += priors.lengthscale.slope(h.lengthscales[i]);
        }
        gradient[d] += priors.signal_variance.slope(h.signal_variance);
        gradient[d + 1] += priors.noise_variance.slope(h.noise_variance);
        gradient = -gradient;
        return -*value - density;
    };
    Eigen::VectorXd low = Eigen::VectorXd::Constant(size, -std::log(options.bound)), high = -low;
    low[d + 1] = std::log(options.least_noise);
    low[d + 2] = -std::numeric_limits<double>::max();
    high[d + 2] = std::numeric_limits<double>::max();

    for (const double noise : {0.02, 0.5}) {
        Eigen::VectorXd x = Eigen::VectorXd::Constant(size, std::log(0.5 * std::sqrt(static_cast<double>((std::max)(d, Eigen::Index{1})))));
        x[d] = std::log(1 - noise);
        x[d + 1] = std::log(noise);
        x[d + 2] = labels.mean();
        x = x.cwiseMax(low).cwiseMin(high);
        Eigen::VectorXd gradient, next_gradient;
        double value = evaluate(x, gradient);
        if (!std::isfinite(value)) continue;
        const auto first_scale = [&] {
            return Eigen::MatrixXd(Eigen::MatrixXd::Identity(size, size) / (std::max)(1.0, gradient.cwiseAbs().maxCoeff()));
        };
        Eigen::MatrixXd inverse_hessian = first_scale();
        for (std::size_t i = 0; i < options.iterations; ++i) {
            Eigen::VectorXd step = -inverse_hessian * gradient;
            for (Eigen::Index k = 0; k < size; ++k)
                if ((x[k] <= low[k] && step[k] < 0) || (x[k] >= high[k] && step[k] > 0)) step[k] = 0;
            if (!(gradient.dot(step) < 0)) {
                inverse_hessian = first_scale();
                step = -inverse_hessian * gradient;
            }
            double length = (std::min)(1.0, 2.0 / (std::max)(step.cwiseAbs().maxCoeff(), 1e-300)); // at most a factor of e^2
            Eigen::VectorXd next;
            double next_value = 0;
            bool accepted = false;
            for (int halvings = 0; halvings < 12 && !accepted; ++halvings, length *= 0.35) {
                next = (x + length * step).cwiseMax(low).cwiseMin(high);
                next_value = evaluate(next, next_gradient);
                accepted = std::isfinite(next_value) && next_value <= value + 1e-4 * gradient.dot(next - x);
            }
            if (!accepted) break;
            const Eigen::VectorXd s = next - x, y = next_gradient - gradient;
            const double improvement = value - next_value, sy = s.dot(y);
            x = next;
            value = next_value;
            gradient = next_gradient;
            if (improvement <= options.tolerance * (std::abs(value) + 1)) break;
            if (sy > 1e-12) {
                if (i == 0) inverse_hessian = Eigen::MatrixXd::Identity(size, size) * (sy / y.squaredNorm());
                const Eigen::VectorXd hy = inverse_hessian * y;
                inverse_hessian += ((sy + y.dot(hy)) / (sy * sy)) * s * s.transpose() - (hy * s.transpose() + s * hy.transpose()) / sy;
            }
        }
        if (-value > best.log_posterior) {
            best.log_posterior = -value;
            best.parameters = parameters_of(x);
        }
    }
    if (best.parameters.lengthscales.size() != d || !std::isfinite(best.log_posterior))
        return error{errc::invalid_argument, "gaussian process: a kernel matrix of " + std::to_string(labels.size()) + " points stays singular"};
    return best;
}

} // namespace augur::inline v0

#endif
