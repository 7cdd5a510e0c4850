// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_BOUNDED_BLEND_HPP
#define AUGUR_MODEL_BOUNDED_BLEND_HPP

/// @file
/// Adds a bounded correction from a second cost model to the scores of a first one.

#include <cmath>
#include <cstddef>
#include <span>

#include <augur/core/config.hpp>
#include <augur/model/task_normaliser.hpp>

namespace augur::inline v0 {

/// Blends the scores of two cost models: first score + weight * tanh((second score - median of the second scores in the task) / scale).
///
/// ```cpp
/// const auto all = task_normaliser::fit(second, 1); // median of the second model's scores over the task's candidates, once per task
/// bounded_blend().add(all, second, scores);
/// ```
///
/// The correction is bounded by `weight`: the second model decides between candidates with similar first scores, and cannot reverse a difference of
/// 2 * weight. A constant added to all second scores has no effect. Unlike in an `ensemble`, the models may have different score scales. The
/// defaults are for `task_normalised_trees` (predicted cube of the relative speed) with an ensemble of TLP models as the second, tuned on held-out
/// classes of kernels (decision 18).
struct bounded_blend {
    float weight = 0.2F; ///< maximum absolute correction
    float scale = 4;     ///< distance from the median at which the correction is tanh(1) = 76 % of `weight`   pre: above 0

    /// scores[i] += weight * tanh((second[i] - median) / scale). A first score of -infinity stays; a second score that is not finite adds 0. O(N).
    ///
    /// @param all     normaliser of the second model's scores of the task's candidates, one column; no correction if its median is not finite
    /// @param second  (N) scores of the second model, scores (N) of the first; higher is better.   pre: none is NaN
    void add(const task_normaliser& all, std::span<const float> second, std::span<float> scores) const {
        AUGUR_ASSERT(all.middle().size() == 1 && second.size() == scores.size() && scale > 0, "bounded_blend: shape or scale");
        const float median = all.middle().front();
        if (!std::isfinite(median)) return;
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (std::isfinite(second[i])) scores[i] += weight * std::tanh((second[i] - median) / scale);
    }
};

} // namespace augur::inline v0

#endif
