// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_DETAIL_STANDARDISED_PROCESS_HPP
#define AUGUR_SEARCH_BAYES_DETAIL_STANDARDISED_PROCESS_HPP

/// @file
/// A Gaussian process of labels of any mean and variance.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <augur/search/bayes/fit.hpp>
#include <augur/search/bayes/gaussian_process.hpp>

namespace augur::inline v0::detail {

/// Hyper-parameters of standardised labels in `d` dimensions that nothing is known of.
[[nodiscard]] inline gp_hyperparameters unfitted_hyperparameters(Eigen::Index d) {
    return {Eigen::VectorXd::Constant(d, 0.5 * std::sqrt(static_cast<double>(d))), 1, 1e-2, 0};
}

/// A Gaussian process of standardised labels.
struct standardised_process {
    gaussian_process process;
    double shift, scale; ///< label = shift + scale * standardised

    /// Fits hyper-parameters and makes the process; nullopt: no jitter mends its kernel matrix.
    ///
    /// @param points  (d, n)    @param labels  (n)    @param fitted  the columns from which hyper-parameters are fitted
    [[nodiscard]] static std::optional<standardised_process> fit(const Eigen::MatrixXd& points, const Eigen::VectorXd& labels,
                                                                 const std::vector<Eigen::Index>& fitted, const gp_fit_options& options) {
        const double shift = labels.mean(), deviation = std::sqrt((labels.array() - shift).square().mean());
        const bool constant = !(deviation > 1e-12 * (1 + std::abs(shift)));
        const double scale = constant ? 1 : deviation;
        const Eigen::VectorXd standardised = (labels.array() - shift) / scale;
        const Eigen::Index d = points.rows();
        gp_hyperparameters h = unfitted_hyperparameters(d);
        if (!constant) {
            const auto found = fit_hyperparameters(points(Eigen::all, fitted), standardised(fitted), gp_priors::unit_cube(d), options);
            if (found) h = found->parameters;
        }
        auto process = gaussian_process::create(points, standardised, std::move(h));
        if (!process) return std::nullopt;
        return standardised_process{*std::move(process), shift, scale};
    }

    /// The logarithm of the mean, cut to `least` and 1, of labels that are 1 for a success and 0 for a failure: the chance that each point is valid.
    ///
    /// @param points  (d, n)    @return  (n)
    template <class E>
    [[nodiscard]] Eigen::VectorXd log_chance(const Eigen::MatrixXd& points, double least, const E& executor) const {
        Eigen::VectorXd out(points.cols());
        constexpr Eigen::Index chunk = 256;
        executor.bulk(static_cast<std::size_t>((points.cols() + chunk - 1) / chunk), [&](std::size_t i) {
            const Eigen::Index begin = static_cast<Eigen::Index>(i) * chunk, size = (std::min)(chunk, points.cols() - begin);
            out.segment(begin, size) = process.mean(points.middleCols(begin, size));
        });
        return (shift + scale * out.array()).max(least).min(1.0).log();
    }
};

} // namespace augur::inline v0::detail

#endif
