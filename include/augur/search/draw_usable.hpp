// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_DRAW_USABLE_HPP
#define AUGUR_SEARCH_DRAW_USABLE_HPP

/// @file
/// Uniform samples that the scorer does not exclude.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/detail/score_cache.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// Appends up to `n` uniform samples that are not in `seen`, and adds them to `seen`. Samples with score -infinity or NaN come last: only if the
/// space has no other unseen points, or 127 n samples do not give enough of them.
///
/// Returns fewer than `n` points only where `draw_unseen` does.   Errors: those of the scorer
template <class Space, class F>
[[nodiscard]] result<void> draw_usable(const Space& space, F& scorer, seen_points& seen, std::size_t n, random_engine& rng,
                                       std::vector<decision_vector>& out) {
    const std::size_t wanted = out.size() + n;
    seen_points drawn = seen; // those that are not taken may be proposed later
    std::vector<decision_vector> excluded;
    const auto take = [&](decision_vector& point) {
        seen.insert(fingerprint_decisions(space, point));
        out.push_back(std::move(point));
    };
    for (std::size_t size = n, round = 0; out.size() < wanted && round < 7; size *= 2, ++round) {
        std::vector<decision_vector> batch;
        draw_unseen(space, drawn, size, rng, batch);
        if (batch.empty()) break;
        std::vector<float> scores(batch.size(), 0.0F);
        if (auto ok = scorer(std::span<const decision_vector>(batch), std::span<float>(scores)); !ok) return ok;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            if (!(scores[i] > unusable_score)) excluded.push_back(std::move(batch[i]));
            else if (out.size() < wanted) take(batch[i]);
        }
    }
    for (std::size_t i = 0; i < excluded.size() && out.size() < wanted; ++i) take(excluded[i]);
    return {};
}

} // namespace augur::inline v0

#endif
