// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_BOUNDED_BLEND_HPP
#define AUGUR_MODEL_BOUNDED_BLEND_HPP

/// @file
/// Two cost models that know different things of a candidate, as one.

#include <cmath>
#include <cstddef>
#include <span>

#include <augur/core/config.hpp>
#include <augur/model/task_normaliser.hpp>

namespace augur::inline v0 {

/// What a second model thinks of a candidate, compared with the other candidates of its task, added to the first one's score.
///
///     const auto all = task_normaliser::of(said, 1);       // what the second says of the task's candidates, once a task
///     bounded_blend().add(all, said, scores);
///
/// Unlike an `ensemble`, whose members learned alike and have one scale. It is bounded: the second decides among candidates that the first thinks
/// alike, and lifts none over one that the first thinks better by twice the weight. It is relative: what the second says of all candidates alike does
/// not matter. The defaults are for `task_normalised_trees` as the first (the cube of a relative speed) and an ensemble of TLP's networks as the second,
/// chosen on classes of kernels that were held out (decision 18).
struct bounded_blend {
    float weight = 0.2F; ///< the most that is added or taken
    float scale = 4;     ///< so far from the middle three quarters of that are reached   pre: above 0

    /// scores[i] += weight * tanh((said[i] - middle) / scale). Nothing where one of the models could not score: a score of -infinity stays, one of
    /// `said` is no opinion. O(N).
    ///
    /// @param all     of what the second says of candidates of the task, one column. Where its middle is not finite the second has no opinion at all
    /// @param said    (N) the second's scores, scores (N) the first's; higher is better.   pre: none is NaN
    void add(const task_normaliser& all, std::span<const float> said, std::span<float> scores) const {
        AUGUR_ASSERT(all.middle().size() == 1 && said.size() == scores.size() && scale > 0, "second_opinion: a column, as many scores, a scale");
        const float middle = all.middle().front();
        if (!std::isfinite(middle)) return;
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (std::isfinite(said[i])) scores[i] += weight * std::tanh((said[i] - middle) / scale);
    }
};

} // namespace augur::inline v0

#endif
