// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_CHAMELEON_HPP
#define AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_CHAMELEON_HPP

/// @file
/// Chameleon's search for any described space and any scorer, to compare searches with.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/detail/best_points.hpp>
#include <augur/search/draw_usable.hpp>
#include <augur/search/detail/score_cache.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/walk.hpp>

#include "adaptive_sampling.hpp"
#include "choices.hpp"
#include "ppo.hpp"

namespace examples {

/// Parameters of the search; the defaults are Chameleon's.
struct chameleon_options {
    std::size_t walks = 128;  ///< of a plan
    std::size_t steps = 500;  ///< of a walk, at most
    double settled = 0.75;    ///< a walk ends with a step in which this share of its knobs stays or arrives at its first or last option
    std::size_t plan = 64;    ///< the best points of the walks, which are clustered
    std::size_t clusters = 8; ///< the first number of clusters, and the step to the next one
    double threshold = 2.5;   ///< more clusters are tried as long as the loss falls by this factor
    double eps_greedy = 0.05; ///< so many random points, as a fraction of `plan`, truncated, take places of a plan, however few clusters it has
    ppo_options agent{};
};

/// Chameleon: an agent walks through the space, and the clusters of the best points that it passed are the plan of what is measured next.
///
/// Adaptive exploration: from uniform samples on, one walk after the other, each knob (a decision) moves to the option before or after its own one, or
/// stays. The agent sees the index of each option as a fraction of the number of options, and learns after each walk, by proximal policy optimisation
/// (`ppo_agent`), which lives as long as the strategy. Its reward is the score of the point to which a step leads, as it is: like Chameleon's it should
/// be a throughput as a fraction of the best one, from a model that is trained with a regression loss.
///
/// Adaptive sampling: the `plan` best new points are clustered by the indices of the two knobs with the most options (`adaptive_clusters`). A cluster
/// proposes one point: these two knobs from its centroid, each other knob from a member at random. A plan is proposed to its end before the agent walks
/// again. So with rounds of `clusters` points the searches are Chameleon's; a larger proposal may need more than a plan has, and the best points of the
/// walks fill it.
///
/// If all scores of the samples are equal, as with an untrained model, the result is a random search. A point with score -infinity or NaN counts as the
/// worst one to the agent, and is proposed only if no other point is left.
///
/// Where a step or a centroid leads to no point, because the options depend on what was decided before, each decision takes the option nearest to its
/// words, and moves from there. Decisions with one option are no knobs. Knobs are told by name; one that has not been met before starts a new agent.
///
/// The published code does not run as it is: names are not imported, and the sampler is not passed on to the tuner that should call it. Repaired here,
/// too: the other knobs of a cluster come from its members (published: from all points); a point that is not new is tried some times (published:
/// endlessly) and then left out; see also `ppo_agent` and `k_means`.
///
/// Source   Ahn, Pilligundla, Yazdanbakhsh, Esmaeilzadeh, Chameleon: Adaptive Code Optimization for Expedited Deep Neural Network Compilation (ICLR
///          2020); the authors' code (rl_model_optimizer.py, ppo_core.py, adaptive_sampler.py, model_based_tuner.py)
/// Cost     of a plan: up to walks * steps scores and steps of the agent; with 8 knobs a third of them is usual, and a tenth of a second
/// Threads  one thread per object, as each walk depends on what was learned from the one before; a scorer may use more
class chameleon {
public:
    using decision_vectors = std::vector<augur::decision_vector>;

    /// pre: options.walks, steps, clusters >= 1; plan >= clusters; threshold > 0
    explicit chameleon(chameleon_options options = {}) : options_(options) {
        AUGUR_ASSERT(options.walks >= 1 && options.steps >= 1 && options.clusters >= 1 && options.plan >= options.clusters && options.threshold > 0,
                     "chameleon: options");
    }

    [[nodiscard]] const chameleon_options& options() const noexcept { return options_; }

    /// See `augur::search_strategy`. Errors: those of the scorer.
    template <augur::described_space Space, augur::point_scorer F>
    [[nodiscard]] augur::result<decision_vectors> propose(const Space& space, F& scorer, std::size_t n, augur::random_engine& rng) {
        decision_vectors waiting; // points of another space, until the space has them
        for (augur::decision_vector& d : observed_) {
            if (augur::trace_path(space, d)) seen_.insert(augur::fingerprint_decisions(space, d));
            else waiting.push_back(std::move(d));
        }
        observed_ = std::move(waiting);
        decision_vectors out;
        if (n == 0) return out;

        augur::seen_points seen = seen_; // after an error nothing has been proposed
        decision_vectors plan = plan_;
        const auto take = [&](decision_vectors& from) {
            std::size_t at = 0;
            for (; at < from.size() && out.size() < n; ++at)
                if (augur::trace_path(space, from[at]) && seen.insert(augur::fingerprint_decisions(space, from[at])))
                    out.push_back(std::move(from[at]));
            from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(at));
        };
        take(plan);
        if (out.size() < n) {
            auto best = explore(space, scorer, n - out.size(), seen, rng);
            if (!best) return best.error();
            auto next = sample(space, scorer, *best, seen, rng);
            if (!next) return next.error();
            plan = *std::move(next);
            take(plan);
            take(*best);
        }
        if (out.size() < n)
            if (auto ok = augur::draw_usable(space, scorer, seen, n - out.size(), rng, out); !ok) return ok.error();
        seen_ = std::move(seen);
        plan_ = std::move(plan);
        return out;
    }

    void observe(std::span<const augur::measured_decisions> points) {
        for (const augur::measured_decisions& p : points) observed_.push_back(p.decisions);
    }

private:
    static constexpr std::size_t no_knob = static_cast<std::size_t>(-1);

    chameleon_options options_;
    augur::seen_points seen_;                              ///< proposed or observed points
    decision_vectors observed_;                            ///< since the last proposal, or of another space
    decision_vectors plan_;                                ///< what is left of it
    std::unordered_map<std::uint64_t, std::size_t> knobs_; ///< by slot
    std::optional<ppo_agent> agent_;
    augur::detail::score_cache scores_; ///< of this plan

    [[nodiscard]] std::size_t knob_of(std::uint64_t slot) const {
        const auto at = knobs_.find(slot);
        return at == knobs_.end() ? no_knob : at->second;
    }

    /// Adaptive exploration. Returns the best points that are not in `seen`, best first, `plan` or `wanted` of them; none if the scores of the samples
    /// tell nothing.
    template <class Space, class F>
    [[nodiscard]] augur::result<decision_vectors> explore(const Space& space, F& scorer, std::size_t wanted, const augur::seen_points& seen,
                                                          augur::random_engine& rng) {
        std::vector<choices> starts(options_.walks);
        decision_vectors points;
        for (choices& s : starts) {
            s = choose_all(space, [&](const augur::decision& d, const auto&, std::uint64_t) { return augur::detail::draw(d, rng); });
            points.push_back(values_of(s));
        }
        scores_.clear();
        augur::detail::best_points best((std::max)(options_.plan, wanted), seen);
        std::vector<float> scores;
        if (auto ok = score(space, scorer, points, scores, best); !ok) return ok.error();
        std::vector<float> finite;
        for (const float s : scores)
            if (std::isfinite(s)) finite.push_back(s);
        const auto range = std::minmax_element(finite.begin(), finite.end());
        if (finite.empty() || *range.first == *range.second) return decision_vectors();
        double worst = static_cast<double>(*range.first);
        find_knobs(starts, rng); // there is one, as two points differ

        for (choices& at : starts) {
            points.clear();
            agent_->begin();
            for (bool moving = true; moving && points.size() < options_.steps;) {
                moving = step(space, at, rng);
                points.push_back(values_of(at));
            }
            if (auto ok = score(space, scorer, points, scores, best); !ok) return ok.error();
            std::vector<double> rewards;
            for (const float s : scores)
                if (std::isfinite(s)) worst = (std::min)(worst, static_cast<double>(s));
            for (const float s : scores) rewards.push_back(std::isfinite(s) ? static_cast<double>(s) : worst);
            agent_->learn(rewards, rng);
        }
        return best.release();
    }

    template <class Space, class F>
    augur::result<void> score(const Space& space, F& scorer, decision_vectors& points, std::vector<float>& scores, augur::detail::best_points& best) {
        std::vector<std::uint64_t> fingerprints(points.size());
        scores.resize(points.size());
        const augur::detail::executor_ref<augur::serial_executor> here;
        if (auto ok = scores_.score(space, scorer, here, points, fingerprints, scores); !ok) return ok;
        for (std::size_t i = 0; i < points.size(); ++i) best.offer(scores[i], fingerprints[i], points[i]);
        return {};
    }

    /// Adds the knobs of the points.
    void find_knobs(std::span<const choices> points, augur::random_engine& rng) {
        const std::size_t known = knobs_.size();
        for (const choices& point : points)
            for (const choice& p : point)
                if (p.options > 1) knobs_.try_emplace(p.slot, knobs_.size());
        if (knobs_.size() > known) agent_.emplace(knobs_.size(), options_.agent, rng);
    }

    /// The agent moves a point. Returns false where too few of its knobs moved on.
    template <class Space>
    [[nodiscard]] bool step(const Space& space, choices& at, augur::random_engine& rng) {
        std::vector<double> state(knobs_.size(), -1);
        for (const choice& p : at)
            if (const std::size_t k = knob_of(p.slot); k != no_knob) state[k] = static_cast<double>(p.value) / static_cast<double>(p.options);
        std::vector<nn::index> actions(knobs_.size());
        agent_->act(state, actions, rng);
        double present = 0, settled = 0;
        at = choose_all(space, [&](const augur::decision& d, const auto& cursor, std::uint64_t slot) -> std::uint64_t {
            const std::size_t k = knob_of(slot);
            if (k != no_knob) ++present;
            const choice* const old = choice_of(at, slot);
            if (old == nullptr) return augur::detail::draw(d, rng);
            std::uint64_t value = nearest_option(cursor, d.options, *old);
            if (k == no_knob) return value;
            if (actions[k] == 0 && value > 0) --value;
            if (actions[k] == 2 && value + 1 < d.options) ++value;
            if (actions[k] == 1 || value == (actions[k] == 0 ? 0 : d.options - 1)) ++settled;
            return value;
        });
        return settled < options_.settled * present;
    }

    /// Adaptive sampling: the plan for these points, some random ones at its end.
    template <class Space, class F>
    [[nodiscard]] augur::result<decision_vectors> sample(const Space& space, F& scorer, const decision_vectors& best, const augur::seen_points& seen,
                                                         augur::random_engine& rng) const {
        decision_vectors out;
        if (best.empty()) return out;
        std::vector<choices> points;
        for (const augur::decision_vector& values : best) {
            auto value = values.begin();
            points.push_back(choose_all(space, [&](const auto&, const auto&, std::uint64_t) { return *value++; }));
        }
        const std::vector<std::size_t> largest = largest_knobs(points);
        Eigen::MatrixXd indices = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(largest.size()), static_cast<Eigen::Index>(points.size()));
        for (std::size_t i = 0; i < points.size(); ++i)
            for (const choice& p : points[i]) {
                const auto row = std::find(largest.begin(), largest.end(), knob_of(p.slot)) - largest.begin();
                if (row < indices.rows()) indices(row, static_cast<Eigen::Index>(i)) = static_cast<double>(p.value);
            }
        const clustering found = adaptive_clusters(indices, options_.clusters, (std::max)(options_.plan, best.size()), options_.threshold, rng);
        const auto clusters = static_cast<std::size_t>(found.centroids.cols());
        std::vector<std::vector<const choices*>> members(clusters);
        for (std::size_t i = 0; i < points.size(); ++i) members[found.member[i]].push_back(&points[i]);

        augur::seen_points taken = seen;
        for (std::size_t c = 0; c < clusters; ++c) {
            constexpr std::size_t tries = 16;
            for (std::size_t i = 0; i < tries && !members[c].empty(); ++i) {
                augur::decision_vector point =
                    values_of(synthesise(space, found.centroids.col(static_cast<Eigen::Index>(c)), largest, members[c], rng));
                if (!taken.insert(augur::fingerprint_decisions(space, point))) continue;
                out.push_back(std::move(point));
                break;
            }
        }
        std::vector<float> scores(out.size(), 0.0F);
        if (!out.empty())
            if (auto ok = scorer(std::span<const augur::decision_vector>(out), std::span<float>(scores)); !ok) return ok.error();
        std::size_t kept = 0;
        for (std::size_t i = 0; i < out.size(); ++i)
            if (scores[i] > augur::unusable_score) std::swap(out[kept++], out[i]);
        const std::size_t random = augur::detail::random_points(options_.eps_greedy, options_.plan, true);
        out.resize(kept - (std::min)(kept, random));
        taken = seen; // without what was left out
        for (const augur::decision_vector& point : out) taken.insert(augur::fingerprint_decisions(space, point));
        if (auto ok = augur::draw_usable(space, scorer, taken, random, rng, out); !ok) return ok.error();
        return out;
    }

    /// The two knobs with the most options in one of the points, or the only one; of equal ones the first.
    [[nodiscard]] std::vector<std::size_t> largest_knobs(std::span<const choices> points) const {
        std::vector<std::uint64_t> options(knobs_.size());
        for (const choices& point : points)
            for (const choice& p : point)
                if (const std::size_t k = knob_of(p.slot); k != no_knob) options[k] = (std::max)(options[k], p.options);
        std::vector<std::size_t> out(options.size());
        std::iota(out.begin(), out.end(), std::size_t{0});
        std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return options[a] != options[b] ? options[a] > options[b] : a < b; });
        if (out.size() > 2) out.erase(out.begin() + 2, out.end());
        return out;
    }

    template <class Space>
    [[nodiscard]] choices synthesise(const Space& space, const Eigen::VectorXd& centroid, std::span<const std::size_t> largest,
                                     std::span<const choices* const> members, augur::random_engine& rng) const {
        return choose_all(space, [&](const augur::decision& d, const auto& cursor, std::uint64_t slot) -> std::uint64_t {
            const auto row = std::find(largest.begin(), largest.end(), knob_of(slot)) - largest.begin();
            if (row < centroid.size()) return (std::min)(static_cast<std::uint64_t>(std::llround(centroid[row])), d.options - 1);
            const choice* const other = choice_of(*members[static_cast<std::size_t>(rng.below(members.size()))], slot);
            return other == nullptr ? augur::detail::draw(d, rng) : nearest_option(cursor, d.options, *other);
        });
    }
};

} // namespace examples

#endif
