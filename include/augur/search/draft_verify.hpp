// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_DRAFT_VERIFY_HPP
#define AUGUR_SEARCH_DRAFT_VERIFY_HPP

/// @file
/// A search with two scorers: a cheap one drafts many points, a dear one verifies them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// Sizes and shares of a `draft_then_verify`.
struct draft_options {
    std::size_t drafted = 8; ///< points drafted for each point that is proposed; at least 1
    /// Drafted points that are kept for later proposals and verified again; the others are only used when nothing else is left.
    std::size_t pool = 2048;
    double draft_share = 0.25; ///< fraction of a proposal that the draft alone chooses, for the dear scorer may be wrong at first
};

/// Lets another strategy search under a cheap scorer, and proposes those of its points that the dear scorer, which `propose` gets, ranks highest.
///
/// What was drafted and not proposed stays in the pool, and is verified again in later proposals, with what the dear scorer has learned since; the draft
/// scores it once. As long as the dear scorer ranks nothing (all scores are equal, as of an untrained model), the draft alone chooses. Points that the
/// dear scorer excludes (-infinity or NaN) are proposed when no others are left, observed points never. Points of the pool that the space does not have
/// any more, because it has changed, are neither scored nor proposed until it has them.
///
/// ```cpp
/// augur::bound_scorer<schedule, space, crop_model, task> draft(where, what, crop); // cheap: no measurement, no training
/// augur::draft_then_verify search(augur::evolutionary<>(), draft);
/// ```
///
/// Cost     of a proposal of n points: one proposal of `drafted` * n points by the strategy, a walk for each point of the pool, `drafted` * n scores of
///          the draft and `pool` + `drafted` * n of the dear scorer at most; after an error also those of what had been drafted
/// Memory   each drafted point that was not proposed, also those that the pool has no place for; a hash of each observed one
/// Threads  one thread per object. Equal proposals for any number of threads if the strategy and the scorers keep to that
template <class Strategy, point_scorer Draft>
class draft_then_verify {
public:
    /// pre: `draft` outlives the strategy, and scores a point alike in every call: it does not learn; options.drafted >= 1, 0 <= options.draft_share <= 1
    draft_then_verify(Strategy strategy, Draft& draft, draft_options options = {})
        : strategy_(std::move(strategy)), draft_(&draft), options_(options) {
        AUGUR_ASSERT(options.drafted >= 1 && options.draft_share >= 0 && options.draft_share <= 1, "draft_then_verify: options");
    }

    /// See `search_strategy`. Errors: those of the strategy and of both scorers.
    template <class Space, point_scorer F>
        requires search_strategy<Strategy, Space>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& verifier, std::size_t n, random_engine& rng) {
        std::vector<decision_vector> out;
        if (n == 0) return out;
        take_observed(space, observed_, seen_);
        auto drafted = strategy_.propose(space, *draft_, n * options_.drafted, rng);
        if (!drafted) return drafted.error();
        const std::size_t legal = gather(space, *std::move(drafted), n);
        if (auto ok = score_new(legal); !ok) return ok.error();
        std::vector<float> cheap(cheap_.begin(), cheap_.begin() + static_cast<std::ptrdiff_t>(legal));
        std::vector<float> dear(legal);
        if (auto ok = verifier(std::span<const decision_vector>(pool_.data(), legal), std::span<float>(dear)); !ok) return ok.error();
        std::replace_if(dear.begin(), dear.end(), is_nan, unusable_score);
        for (std::size_t i = 0; i < legal; ++i)
            if (dear[i] == unusable_score) cheap[i] = unusable_score;
        const bool ranks = std::any_of(dear.begin(), dear.end(), [&](float s) { return s != dear.front(); });
        const auto by_cheap = order_of(cheap), by_dear = ranks ? order_of(dear) : by_cheap;

        const auto wanted = (std::min)(n, legal);
        const auto by_draft = static_cast<std::size_t>(std::lround(options_.draft_share * static_cast<double>(wanted)));
        std::vector<bool> taken(legal, false);
        const auto take = [&](const std::vector<std::size_t>& order, std::size_t until) {
            for (std::size_t i = 0; out.size() < until; ++i) {
                if (taken[order[i]]) continue;
                taken[order[i]] = true;
                out.push_back(std::move(pool_[order[i]]));
            }
        };
        take(by_dear, wanted - by_draft);
        take(by_cheap, wanted);

        std::vector<decision_vector> kept;
        std::vector<float> kept_cheap;
        const auto keep = [&](std::size_t i) {
            if (kept.size() >= options_.pool) {
                spare_.push_back(std::move(pool_[i]));
                return;
            }
            kept.push_back(std::move(pool_[i]));
            kept_cheap.push_back(cheap_[i]);
        };
        for (const auto i : by_dear)
            if (!taken[i]) keep(i);
        for (std::size_t i = legal; i < pool_.size(); ++i) keep(i);
        pool_ = std::move(kept);
        cheap_ = std::move(kept_cheap);
        return out;
    }

    void observe(std::span<const measured_decisions> points) {
        for (const measured_decisions& p : points) observed_.push_back(p.decisions);
        strategy_.observe(points);
    }

    /// What the strategy expects of a point, see `search_strategy`.
    [[nodiscard]] double expected_latency(std::span<const std::uint64_t> point) const { return detail::expected_latency_of(strategy_, point); }

    [[nodiscard]] const draft_options& options() const noexcept { return options_; }

private:
    static constexpr float unscored = std::numeric_limits<float>::quiet_NaN();
    static bool is_nan(float x) { return std::isnan(x); }

    Strategy strategy_;
    Draft* draft_;
    draft_options options_;
    std::vector<decision_vector> pool_;     ///< drafted and not proposed, the best by the last verification first
    std::vector<float> cheap_;              ///< the draft's scores of the pool
    std::vector<decision_vector> spare_;    ///< what the pool had no place for
    seen_points seen_;                      ///< observed, so not proposed
    std::vector<decision_vector> observed_; ///< since the last proposal, or of another space

    /// Puts into the pool what was drafted, and spare points while it has fewer than `n` points of the space. Returns how many points of the space it has:
    /// these come first, those that the space does not have are behind them.
    template <class Space>
    std::size_t gather(const Space& space, std::vector<decision_vector> drafted, std::size_t n) {
        std::vector<decision_vector> points, absent;
        std::vector<float> scores;
        for (std::size_t i = 0; i < pool_.size(); ++i) {
            const bool here = static_cast<bool>(trace_path(space, pool_[i]));
            if (here && observed(space, pool_[i])) continue;
            (here ? points : absent).push_back(std::move(pool_[i]));
            if (here) scores.push_back(cheap_[i]);
        }
        for (decision_vector& point : drafted)
            if (!observed(space, point)) points.push_back(std::move(point));
        std::vector<decision_vector> more; // the last spare points that the space has; it is nearly used up
        for (auto at = spare_.end(); at != spare_.begin() && points.size() + more.size() < n;) {
            --at;
            if (!trace_path(space, *at) || observed(space, *at)) continue;
            more.push_back(std::move(*at));
            at = spare_.erase(at);
        }
        std::move(more.rbegin(), more.rend(), std::back_inserter(points));
        const std::size_t legal = points.size();
        std::move(absent.begin(), absent.end(), std::back_inserter(points));
        scores.resize(points.size(), unscored);
        pool_ = std::move(points);
        cheap_ = std::move(scores);
        return legal;
    }

    template <class Space>
    [[nodiscard]] bool observed(const Space& space, const decision_vector& point) const {
        return seen_.contains(fingerprint_decisions(space, point));
    }

    /// Scores those of the first `legal` points of the pool that the draft has not seen.
    result<void> score_new(std::size_t legal) {
        std::vector<std::size_t> fresh;
        std::vector<decision_vector> points;
        for (std::size_t i = 0; i < legal; ++i) {
            if (!std::isnan(cheap_[i])) continue;
            fresh.push_back(i);
            points.push_back(pool_[i]);
        }
        std::vector<float> scores(points.size());
        if (auto ok = (*draft_)(std::span<const decision_vector>(points), std::span<float>(scores)); !ok) return ok;
        for (std::size_t i = 0; i < fresh.size(); ++i) cheap_[fresh[i]] = std::isnan(scores[i]) ? unusable_score : scores[i];
        return {};
    }

    /// The indices of scores, the highest first; equal ones in their order.
    [[nodiscard]] static std::vector<std::size_t> order_of(std::span<const float> scores) {
        std::vector<std::size_t> order(scores.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
        return order;
    }
};

} // namespace augur::inline v0

#endif
