// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_SURROGATE_SEARCH_HPP
#define AUGUR_SEARCH_SURROGATE_SEARCH_HPP

/// @file
/// A search of what a cost model predicts by any strategy, with few predictions.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/draw_usable.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// Size of the search that a proposal of a `surrogate_search` makes.
struct surrogate_options {
    std::size_t rounds = 4; ///< at least 1
    std::size_t batch = 64; ///< points scored in a round, at least 1; a proposal of n points scores max(batch, n)
};

/// Lets a copy of another strategy search the scores as if they were measurements, and proposes the best points that it found.
///
/// For each proposal the strategy begins anew, because the scorer has learned, so it sees space and description as they are then; it knows the scores of
/// the measured points, but those that the space does not have are passed over. A score s is told as the latency e^-s, s limited to -700 to 700, where
/// that is a positive number; a score that is not finite is told as a failure, and its point is proposed last. If the strategy finds fewer new points
/// than are wanted, points are drawn.
///
/// With `bayesian_search` it is MetaTune's search: batch Bayesian optimisation of the model's predictions.
///
/// Source   Ryu, Sung 2021, section 6
/// Cost     of a proposal of n points: `rounds` proposals of max(`batch`, n) points by the strategy, as many scores, and a score for each measured point
/// Memory   each measured point, a hash of each proposed one
/// Threads  as the strategy
template <class Strategy>
class surrogate_search {
public:
    /// pre: options.rounds, options.batch >= 1
    explicit surrogate_search(Strategy strategy, surrogate_options options = {}) : strategy_(std::move(strategy)), options_(options) {
        AUGUR_ASSERT(options.rounds >= 1 && options.batch >= 1, "surrogate_search: options");
    }

    /// See `search_strategy`. Errors: those of the scorer and of the strategy.
    template <class Space, point_scorer F>
        requires search_strategy<Strategy, Space>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        if (n == 0) return std::vector<decision_vector>();
        Strategy search = strategy_;
        std::vector<scored> found;
        std::vector<decision_vector> points;
        for (const auto& p : measured_)
            if (trace_path(space, p.decisions)) points.push_back(p.decisions); // not of another space
        for (std::size_t round = 0; round <= options_.rounds; ++round) {
            std::vector<float> scores(points.size());
            if (auto ok = scorer(std::span<const decision_vector>(points), std::span<float>(scores)); !ok) return ok.error();
            std::vector<measured_decisions> told;
            for (std::size_t i = 0; i < points.size(); ++i) {
                const auto score = static_cast<double>(scores[i]);
                const bool finite = std::isfinite(score);
                constexpr double infinity = std::numeric_limits<double>::infinity();
                told.push_back({points[i], finite ? std::exp(-std::clamp(score, -700.0, 700.0)) : infinity});
                const auto fingerprint = fingerprint_decisions(space, points[i]);
                if (round == 0) seen_.insert(fingerprint);
                else if (!seen_.contains(fingerprint)) found.push_back({finite ? score : -infinity, found.size(), fingerprint, std::move(points[i])});
            }
            search.observe(told);
            if (round == options_.rounds) break;
            auto next = search.propose(space, scorer, (std::max)(options_.batch, n), rng);
            if (!next) return next.error();
            points = *std::move(next);
        }
        // not std::stable_sort: clang reports a deprecated function inside libstdc++ 12's implementation
        std::sort(found.begin(), found.end(),
                  [](const scored& a, const scored& b) { return a.score != b.score ? a.score > b.score : a.place < b.place; });
        std::vector<decision_vector> out;
        seen_points seen = seen_; // after an error nothing has been proposed
        for (auto& f : found)
            if (out.size() < n && std::isfinite(f.score) && seen.insert(f.fingerprint)) out.push_back(std::move(f.point));
        if (out.size() < n) // the strategy does not know what was proposed and not yet measured
            if (auto ok = draw_usable(space, scorer, seen, n - out.size(), rng, out); !ok) return ok.error();
        seen_ = std::move(seen);
        return out;
    }

    void observe(std::span<const measured_decisions> points) { measured_.insert(measured_.end(), points.begin(), points.end()); }

private:
    struct scored {
        double score;
        std::size_t place; ///< in the order found
        std::uint64_t fingerprint;
        decision_vector point;
    };

    Strategy strategy_;
    surrogate_options options_;
    std::vector<measured_decisions> measured_;
    seen_points seen_; ///< proposed or measured
};

} // namespace augur::inline v0

#endif
