// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_DETAIL_PRIOR_MEAN_HPP
#define AUGUR_SEARCH_BAYES_DETAIL_PRIOR_MEAN_HPP

/// @file
/// The scores of a scorer as the mean of a Gaussian process.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <augur/core/error.hpp>
#include <augur/search/bayes/detail/candidates.hpp>
#include <augur/search/bayes/detail/observed_points.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0::detail {

/// Asks the scorer for the known points and the candidates, and removes candidates that cannot be realised (-infinity or NaN) unless all are such. Any
/// other score that is not finite becomes the mean of those of the known points; of the candidates, where no known point has one.
///
/// @param known_prior  one per success   @param prior  one per candidate
/// Errors: those of the scorer
template <class F>
[[nodiscard]] result<void> ask_prior(F& scorer, const observed_points& observed, const std::vector<std::size_t>& successes, candidate_set& candidates,
                                     std::vector<double>& known_prior, std::vector<double>& prior) {
    std::vector<decision_vector> points;
    for (const std::size_t i : successes) points.push_back(observed.decisions(i));
    points.insert(points.end(), candidates.points.begin(), candidates.points.end());
    std::vector<float> scores(points.size(), 0.0F);
    if (auto ok = scorer(std::span<const decision_vector>(points), std::span<float>(scores)); !ok) return ok;
    const auto of_known = std::span<const float>(scores).first(successes.size()),
               of_candidates = std::span<const float>(scores).subspan(successes.size());
    const auto is_finite = [](float s) { return std::isfinite(s); };
    double sum = 0;
    std::size_t finite = 0;
    for (const float s : std::any_of(of_known.begin(), of_known.end(), is_finite) ? of_known : of_candidates)
        if (is_finite(s)) sum += static_cast<double>(s), ++finite;
    const double neutral = finite > 0 ? sum / static_cast<double>(finite) : 0;
    const auto value = [&](float s) { return std::isfinite(s) ? static_cast<double>(s) : neutral; };
    std::transform(of_known.begin(), of_known.end(), known_prior.begin(), value);
    std::transform(of_candidates.begin(), of_candidates.end(), prior.begin(), value);
    const auto unusable = [](float s) { return s == unusable_score || std::isnan(s); };
    if (std::all_of(of_candidates.begin(), of_candidates.end(), unusable)) return {};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < of_candidates.size(); ++i) {
        if (unusable(of_candidates[i])) continue;
        if (kept != i) {
            candidates.points[kept] = std::move(candidates.points[i]);
            candidates.fingerprints[kept] = candidates.fingerprints[i];
            candidates.words[kept] = std::move(candidates.words[i]);
            prior[kept] = prior[i];
        }
        ++kept;
    }
    candidates.points.resize(kept);
    candidates.fingerprints.resize(kept);
    candidates.words.resize(kept);
    prior.resize(kept);
    return {};
}

/// The slope of the least squares of labels by scores; 0 where it is negative, or the scores are equal.
[[nodiscard]] inline double prior_slope(const Eigen::VectorXd& labels, const std::vector<double>& scores) {
    const Eigen::Map<const Eigen::VectorXd> x(scores.data(), labels.size());
    const Eigen::ArrayXd dx = x.array() - x.mean(), dy = labels.array() - labels.mean();
    const double squares = dx.square().sum();
    const double out = squares > 0 ? (dx * dy).sum() / squares : 0;
    return std::isfinite(out) ? (std::max)(out, 0.0) : 0;
}

} // namespace augur::inline v0::detail

#endif
