// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_BATCH_POSTERIOR_HPP
#define AUGUR_SEARCH_BAYES_BATCH_POSTERIOR_HPP

/// @file
/// Candidates under a Gaussian process while a batch of them is chosen: each chosen one is hallucinated to have its mean as label.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/executor.hpp>
#include <augur/search/bayes/gaussian_process.hpp>

namespace augur::inline v0 {

/// The posterior of candidates, given the known points and those candidates that were chosen. A label equal to the mean changes no mean, and
/// variances only shrink: to choose a point is a row of the factor, which each candidate follows when it is asked for.
///
/// Source   GP-BUCB: Desautels, Krause, Burdick 2014, section 4
/// Memory   8 (n + batch) bytes a candidate, for n known points
/// Cost     construction n^2 multiplications a candidate; `follow` n for each point that was chosen since the candidate was last asked for
/// Threads  one thread per object; the construction runs on the executor, with the same result for any number of threads
class batch_posterior {
public:
    /// @param candidates  (d, m)   @param batch  the most points that will be chosen
    /// @param noise       variance of a chosen label: that of the process to hallucinate measurements, 0 to follow the function itself
    template <class E> // a `bulk_executor`, or a reference to one
    batch_posterior(const gaussian_process& process, const Eigen::MatrixXd& candidates, std::size_t batch, double noise, E&& executor)
        : signal_(process.hyperparameters().signal_variance), noise_((std::max)(noise, detail::least_jitter * signal_)),
          scaled_(detail::scaled_points(candidates, process.hyperparameters().lengthscales)), mean_(candidates.cols()), variance_(candidates.cols()),
          whitened_(process.size(), candidates.cols()), rows_(static_cast<Eigen::Index>(batch), candidates.cols()),
          followed_(static_cast<std::size_t>(candidates.cols()), 0) {
        constexpr Eigen::Index chunk = 256; // fixed, so that the result is
        const Eigen::Index all = candidates.cols();
        executor.bulk(static_cast<std::size_t>((all + chunk - 1) / chunk), [&](std::size_t i) {
            const Eigen::Index begin = static_cast<Eigen::Index>(i) * chunk, size = (std::min)(chunk, all - begin);
            gp_posterior some = process.posterior(candidates.middleCols(begin, size));
            mean_.segment(begin, size) = some.mean;
            variance_.segment(begin, size) = some.variance;
            whitened_.middleCols(begin, size) = some.whitened;
        });
    }

    [[nodiscard]] std::size_t size() const noexcept { return followed_.size(); }
    /// The number of points that were chosen.
    [[nodiscard]] std::size_t chosen() const noexcept { return chosen_.size(); }
    [[nodiscard]] double mean(std::size_t candidate) const { return mean_[index(candidate)]; }
    /// Given the chosen points that the candidate has followed.
    [[nodiscard]] double deviation(std::size_t candidate) const { return std::sqrt(variance_[index(candidate)]); }
    [[nodiscard]] bool current(std::size_t candidate) const { return followed_[candidate] == chosen_.size(); }
    /// The loadings of a candidate on the labels of the points chosen so far: its value is mean + loadings . z + deviation z', where the label of the
    /// k-th point is its mean plus what its own loadings give plus pivot(k) z(k), and all z are independent standard normal numbers.
    /// pre: current(candidate)
    [[nodiscard]] auto loadings(std::size_t candidate) const { return rows_.col(index(candidate)).head(static_cast<Eigen::Index>(chosen_.size())); }

    /// Brings a candidate up to the points that were chosen.
    void follow(std::size_t candidate) {
        const Eigen::Index c = index(candidate);
        for (std::size_t& at = followed_[candidate]; at < chosen_.size(); ++at) {
            const auto k = static_cast<Eigen::Index>(at);
            const Eigen::Index other = chosen_[at];
            Eigen::Array<double, 1, 1> covariance((scaled_.col(c) - scaled_.col(other)).squaredNorm());
            detail::matern52(covariance, signal_);
            const double left = covariance[0] - whitened_.col(c).dot(whitened_.col(other)) - rows_.col(c).head(k).dot(rows_.col(other).head(k));
            rows_(k, c) = left / pivots_[at];
            variance_[c] = (std::max)(variance_[c] - rows_(k, c) * rows_(k, c), 0.0);
        }
    }

    /// Takes a candidate into the batch.   pre: fewer than `batch` points were chosen
    void choose(std::size_t candidate) {
        AUGUR_ASSERT(chosen() < static_cast<std::size_t>(rows_.rows()), "batch_posterior: the batch is full");
        follow(candidate);
        chosen_.push_back(index(candidate));
        pivots_.push_back(std::sqrt(variance_[index(candidate)] + noise_));
    }

private:
    double signal_, noise_;
    Eigen::MatrixXd scaled_; ///< (d, m)
    Eigen::VectorXd mean_, variance_;
    Eigen::MatrixXd whitened_; ///< (n, m)
    Eigen::MatrixXd rows_;     ///< (batch, m)
    std::vector<std::size_t> followed_;
    std::vector<Eigen::Index> chosen_;
    std::vector<double> pivots_; ///< of the chosen points

    static Eigen::Index index(std::size_t candidate) { return static_cast<Eigen::Index>(candidate); }
};

} // namespace augur::inline v0

#endif
