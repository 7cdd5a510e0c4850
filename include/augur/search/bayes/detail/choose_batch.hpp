// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_DETAIL_CHOOSE_BATCH_HPP
#define AUGUR_SEARCH_BAYES_DETAIL_CHOOSE_BATCH_HPP

/// @file
/// The candidates of a batch by an acquisition function, chosen one after the other under hallucinated labels.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <vector>

#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/acquisition.hpp>
#include <augur/search/bayes/batch_posterior.hpp>
#include <augur/search/bayes/detail/standardised_process.hpp>
#include <augur/search/bayes/gaussian_process.hpp>
#include <augur/search/bayes/options.hpp>

namespace augur::inline v0::detail {

/// Chooses n candidates, each time the one whose `value` is highest, of equal ones the first. `chosen(c)` sees each before it is hallucinated.
///
/// @param near   distinct candidates    @param local  of the n: the last ones, chosen among `near` as long as there are such
/// pre: n <= posterior.size(), local <= n
template <class Value, class Chosen>
[[nodiscard]] std::vector<std::size_t> choose_batch(batch_posterior& posterior, std::size_t n, const Value& value, const Chosen& chosen,
                                                    const std::vector<std::size_t>& near = {}, std::size_t local = 0) {
    struct bid {
        double value;
        std::size_t candidate;
        bool operator<(const bid& other) const { return value != other.value ? value < other.value : candidate > other.candidate; }
    };
    std::vector<std::size_t> out;
    std::vector<bool> taken(posterior.size(), false);
    const auto offer = [&](std::priority_queue<bid>& bids, std::size_t c) {
        const double v = value(c);
        bids.push({std::isnan(v) ? -std::numeric_limits<double>::infinity() : v, c});
    };
    const auto choose_from = [&](std::priority_queue<bid>& bids, std::size_t until) {
        while (posterior.chosen() < until && !bids.empty()) {
            const std::size_t c = bids.top().candidate;
            bids.pop();
            if (taken[c]) continue;
            if (!posterior.current(c)) {
                posterior.follow(c);
                offer(bids, c);
                continue;
            }
            chosen(c);
            posterior.choose(c);
            taken[c] = true;
            out.push_back(c);
        }
    };
    std::priority_queue<bid> everywhere, nearby;
    for (std::size_t c = 0; c < posterior.size(); ++c) offer(everywhere, c);
    choose_from(everywhere, n - local);
    if (local == 0) return out;
    for (const std::size_t c : near) {
        posterior.follow(c);
        offer(nearby, c);
    }
    choose_from(nearby, n);
    choose_from(everywhere, n);
    return out;
}
template <class Value>
[[nodiscard]] std::vector<std::size_t> choose_batch(batch_posterior& posterior, std::size_t n, const Value& value) {
    return choose_batch(posterior, n, value, [](std::size_t) {});
}

/// Chooses n candidates by `options.by`.
///
/// @param best       the highest label
/// @param mean       of the label of a candidate, a function
/// @param log_valid  the logarithm of the chance that a candidate is valid, a function
/// @param near, local  as above
template <class Mean, class Valid>
[[nodiscard]] std::vector<std::size_t> choose_by_acquisition(batch_posterior& posterior, std::size_t n, const bayesian_options& options, double best,
                                                             const Mean& mean, const Valid& log_valid, const std::vector<std::size_t>& near,
                                                             std::size_t local, random_engine& rng) {
    const auto ignore = [](std::size_t) {};
    if (options.by == acquisition::upper_confidence_bound)
        return choose_batch(
            posterior, n, [&](std::size_t c) { return upper_confidence_bound(mean(c), posterior.deviation(c), options.beta) + log_valid(c); }, ignore,
            near, local);
    if (options.by == acquisition::log_expected_improvement)
        return choose_batch(
            posterior, n, [&](std::size_t c) { return log_expected_improvement(mean(c), posterior.deviation(c), best) + log_valid(c); }, ignore, near,
            local);
    const auto samples = static_cast<Eigen::Index>(options.samples);
    const Eigen::MatrixXd normals = standard_normals(samples, static_cast<Eigen::Index>(n), rng);
    Eigen::ArrayXd reached = Eigen::ArrayXd::Constant(samples, best);
    const auto sampled = [&](std::size_t c) -> Eigen::ArrayXd {
        const auto k = static_cast<Eigen::Index>(posterior.chosen());
        if (k == normals.cols()) return reached; // the batch is complete
        return (normals.leftCols(k) * posterior.loadings(c)).array() + mean(c) + posterior.deviation(c) * normals.col(k).array();
    };
    const auto improvement = [&](std::size_t c) {
        const double gain = (sampled(c) - reached).max(0.0).mean();
        return (gain > 0 ? std::log(gain) : log_expected_improvement(mean(c), posterior.deviation(c), reached.mean())) + log_valid(c);
    };
    return choose_batch(posterior, n, improvement, [&](std::size_t c) { reached = reached.max(sampled(c)); }, near, local);
}

/// Chooses n candidates by their scores alone: in units of their deviation these are taken to have a correlation of 0.8 with the labels, and a process
/// without points models the rest, so that a batch does not rely on one opinion. None if all scores are equal.
///
/// @param scores  (m)    @param inputs  (d, m) the candidates
template <class E>
[[nodiscard]] std::vector<std::size_t> choose_by_scores(const std::vector<double>& scores, const Eigen::MatrixXd& inputs, std::size_t n,
                                                        const E& executor) {
    constexpr double correlation = 0.8, beta = 1; // chosen on recorded spaces, as bayesian_options::range
    const Eigen::Map<const Eigen::ArrayXd> x(scores.data(), inputs.cols());
    const double shift = x.mean(), deviation = std::sqrt((x - shift).square().mean());
    if (!(deviation > 1e-12 * (1 + std::abs(shift)))) return {};
    gp_hyperparameters h = unfitted_hyperparameters(inputs.rows());
    h.signal_variance = 1 - correlation * correlation;
    const auto prior = gaussian_process::create(Eigen::MatrixXd(inputs.rows(), 0), Eigen::VectorXd(0), h);
    AUGUR_ASSERT(prior, "bayesian_search: a process without points");
    batch_posterior posterior(*prior, inputs, n, h.noise_variance, executor);
    return choose_batch(posterior, n, [&](std::size_t c) {
        return upper_confidence_bound(correlation * (scores[c] - shift) / deviation, posterior.deviation(c), beta);
    });
}

} // namespace augur::inline v0::detail

#endif
