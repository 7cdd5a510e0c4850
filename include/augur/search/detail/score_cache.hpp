// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_DETAIL_SCORE_CACHE_HPP
#define AUGUR_SEARCH_DETAIL_SCORE_CACHE_HPP

/// @file
/// The scores of one proposal, so that no point is scored twice.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0::detail {

/// Scores by fingerprint.
class score_cache {
public:
    void clear() { scores_.clear(); }

    /// Writes the fingerprints and the scores of `points`; those not scored since `clear` are scored in one call. NaN becomes -infinity.
    ///
    /// pre: spans of equal size   Errors: those of the scorer
    template <class Space, class F, class E>
    [[nodiscard]] result<void> score(const Space& space, F& scorer, const executor_ref<E>& executor, std::span<decision_vector> points,
                                     std::span<std::uint64_t> fingerprints, std::span<float> scores) {
        executor.bulk(points.size(), [&](std::size_t i) { fingerprints[i] = fingerprint_decisions(space, points[i]); });
        unscored_.clear();
        for (std::size_t i = 0; i < points.size(); ++i)
            if (scores_.try_emplace(fingerprints[i], unusable_score).second) unscored_.push_back(i);
        if (!unscored_.empty()) {
            std::vector<decision_vector> batch;
            batch.reserve(unscored_.size());
            for (const std::size_t i : unscored_) batch.push_back(std::move(points[i]));
            std::vector<float> answers(batch.size(), 0.0F);
            auto ok = scorer(std::span<const decision_vector>(batch), std::span<float>(answers));
            for (std::size_t k = 0; k < batch.size(); ++k) {
                points[unscored_[k]] = std::move(batch[k]);
                scores_[fingerprints[unscored_[k]]] = std::isnan(answers[k]) ? unusable_score : answers[k];
            }
            if (!ok) return ok;
        }
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = scores_[fingerprints[i]];
        return {};
    }

private:
    std::unordered_map<std::uint64_t, float> scores_; ///< no result depends on its order
    std::vector<std::size_t> unscored_;
};

} // namespace augur::inline v0::detail

#endif
