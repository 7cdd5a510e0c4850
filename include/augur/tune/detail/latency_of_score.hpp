// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_LATENCY_OF_SCORE_HPP
#define AUGUR_TUNE_DETAIL_LATENCY_OF_SCORE_HPP

/// @file
/// The latencies that the scores of a model stand for, from measured candidates.

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

namespace augur::inline v0 {
namespace detail {

/// A line of the logarithm of the latency over the score, by least squares, so that scores of any meaning are latencies of the task.
class latency_of_score {
public:
    static constexpr std::size_t least = 8; ///< measured candidates

    /// Failed candidates (a latency that is not finite) and scores that are not finite are left out. Nullopt: fewer than `least` are left, or a higher
    /// score does not mean a lower latency.   pre: as many scores as latencies
    [[nodiscard]] static std::optional<latency_of_score> fit(std::span<const float> scores, std::span<const double> latencies) {
        double n = 0, mean_score = 0, mean_label = 0, scatter = 0, common = 0;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (!std::isfinite(scores[i]) || !std::isfinite(latencies[i]) || !(latencies[i] > 0)) continue;
            n += 1; // Welford's update
            const double score = static_cast<double>(scores[i]) - mean_score, label = std::log(latencies[i]) - mean_label;
            mean_score += score / n;
            mean_label += label / n;
            scatter += score * (static_cast<double>(scores[i]) - mean_score);
            common += score * (std::log(latencies[i]) - mean_label);
        }
        if (n < static_cast<double>(least) || !(scatter > 0) || !(common < 0)) return std::nullopt;
        return latency_of_score(mean_label, mean_score, common / scatter);
    }
    [[nodiscard]] double operator()(float score) const { return std::exp(label_ + slope_ * (static_cast<double>(score) - score_)); }

private:
    latency_of_score(double label, double score, double slope) : label_(label), score_(score), slope_(slope) {}
    double label_, score_, slope_;
};

} // namespace detail
} // namespace augur::inline v0

#endif
