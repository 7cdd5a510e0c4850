// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_ANNEALING_HPP
#define AUGUR_SEARCH_ANNEALING_HPP

/// @file
/// AutoTVM's simulated annealing for any decision space and any scorer.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/detail/best_points.hpp>
#include <augur/search/draw_usable.hpp>
#include <augur/search/detail/score_cache.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// What a temperature of 1 is.
enum class temperature_unit : std::uint8_t {
    /// An eighth of the distance from the median to the best of uniform samples, which are scored anew in every proposal: at first a walker goes
    /// from the best to the median in e^-8 of the cases. Adding a constant to all scores, or multiplying them by a positive one, changes nothing, so
    /// it suits models trained with a ranking loss, whose scores have no origin and no scale.
    spread,
    /// A score of 1, as in AutoTVM, whose models predict throughputs as fractions of the best one. Scores of another scale make the search greedy
    /// or blind.
    score,
};

/// Parameters of the search. The defaults are AutoTVM's (python/tvm/autotvm/tuner/sa_model_optimizer.py, model_based_tuner.py) unless a comment says
/// otherwise.
struct annealing_options {
    std::size_t walkers = 128;
    std::size_t iterations = 500;
    std::size_t patience = 50;                        ///< a proposal ends after so many iterations without a new point among its best
    double hot = 1, cold = 0;                         ///< the temperature falls from `hot` towards `cold`, linearly
    temperature_unit unit = temperature_unit::spread; ///< AutoTVM: score
    bool persistent = true;                           ///< the walkers of a proposal begin where those of the one before ended
    double eps_greedy = 0.05;   ///< fraction of random points in a proposal; rounded, and at least one for n >= 10 (AutoTVM truncates)
    mutation_weights weights{}; ///< which decision a step changes; all zero: each with the same probability
};

/// The temperature of iteration k of `iterations`.
[[nodiscard]] constexpr double annealing_temperature(std::size_t k, std::size_t iterations, double hot, double cold) noexcept {
    return hot - static_cast<double>(k) * (hot - cold) / (static_cast<double>(iterations) + 1);
}

/// The probability that a walker goes from a point to another one: 1 if its score is no worse, else exp(difference / (temperature + 1e-5)).
[[nodiscard]] inline double acceptance_probability(double score, double next_score, double temperature) noexcept {
    return next_score >= score ? 1.0 : std::exp((next_score - score) / (temperature + 1e-5)); // infinite scores, too: no inf - inf
}

/// Walks through the space with falling temperature, and proposes the best points passed that were not proposed before, plus some random points.
///
/// All walkers take a step before the scorer is called, once an iteration. A step is a mutation: one decision changes, those after it keep their
/// values where they are legal. AutoTVM drops points with negative scores from its plan, good ones if the model has a ranking loss; here the sign of
/// a score means nothing. A point with score -infinity or NaN is left at once and is proposed only if no other point is left. If all scores are
/// equal, as with an untrained model, the result is a random search. Walkers that the space does not have any more, because it has changed since
/// the last proposal, begin anew.
/// Source: Chen et al., Learning to Optimize Tensor Programs (NeurIPS 2018), section 3.3; the code of AutoTVM.
///
/// Cost     of a proposal: (iterations + 2) * walkers scores at most, and a few for random points
/// Threads  one thread per object; steps are distributed over the executor. The result does not depend on the number of threads.
template <bulk_executor E = serial_executor>
class simulated_annealing {
public:
    /// pre: options.walkers >= 1, options.hot >= options.cold >= 0
    explicit simulated_annealing(annealing_options options = {}) : options_(options) { check(); }
    /// pre: as above; `executor` outlives the strategy
    simulated_annealing(annealing_options options, E& executor) : options_(options), executor_(executor) { check(); }

    [[nodiscard]] const annealing_options& options() const noexcept { return options_; }

    /// See `search_strategy`. Errors: those of the scorer.
    template <decision_tree Space, point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        take_observed(space, observed_, seen_);
        std::vector<decision_vector> out;
        if (n == 0) return out;

        scores_.clear();
        detail::best_points best(n, seen_);
        walker_set samples(options_.walkers), walkers;
        const random_engine batch(rng());
        executor_.bulk(options_.walkers, [&](std::size_t i) {
            random_engine item_rng = batch.stream(i);
            samples.put(i, sample_path(space, item_rng));
        });
        if (auto ok = score(space, scorer, samples, best); !ok) return ok.error();
        walkers = samples;
        for (std::size_t i = 0; i < walkers_.size(); ++i)
            if (auto path = trace_path(space, walkers_[i])) walkers.put(i, std::move(*path));
        if (auto ok = score(space, scorer, walkers, best); !ok) return ok.error();
        if (!flat(samples.scores, walkers.scores))
            if (auto ok = anneal(space, scorer, walkers, best, unit_of(samples.scores), rng); !ok) return ok.error();

        std::vector<decision_vector> plan = best.release();
        const std::size_t chosen = n - detail::random_points(options_.eps_greedy, n);
        seen_points seen = seen_; // after an error nothing has been proposed
        const auto take = [&](decision_vector& point) {
            if (seen.insert(fingerprint_decisions(space, point))) out.push_back(std::move(point));
        };
        std::size_t at = 0;
        for (; at < plan.size() && out.size() < chosen; ++at) take(plan[at]);
        for (std::size_t i = 0; i < samples.points.size() && out.size() < n; ++i)
            if (samples.scores[i] != unusable_score) take(samples.points[i]);
        for (; at < plan.size() && out.size() < n; ++at) take(plan[at]);
        if (out.size() < n)
            if (auto ok = draw_usable(space, scorer, seen, n - out.size(), rng, out); !ok) return ok.error();
        seen_ = std::move(seen);
        if (options_.persistent) walkers_ = std::move(walkers.points);
        return out;
    }

    void observe(std::span<const measured_decisions> points) {
        for (const measured_decisions& p : points) observed_.push_back(p.decisions);
    }

private:
    struct walker_set {
        std::vector<decision_vector> points;
        std::vector<std::vector<decision>> decisions; ///< the decisions of each point
        std::vector<std::uint64_t> fingerprints;
        std::vector<float> scores;

        explicit walker_set(std::size_t n = 0) : points(n), decisions(n), fingerprints(n), scores(n) {}
        void put(std::size_t i, decision_path path) {
            points[i] = std::move(path.values);
            decisions[i] = std::move(path.decisions);
        }
        void move_to(std::size_t i, walker_set& to) {
            std::swap(points[i], to.points[i]);
            std::swap(decisions[i], to.decisions[i]);
            to.scores[i] = scores[i];
        }
    };

    void check() const { AUGUR_ASSERT(options_.walkers >= 1 && options_.hot >= options_.cold && options_.cold >= 0, "simulated_annealing: options"); }

    /// Scores the points and offers them to the best ones. Returns whether one of them was taken.
    template <class Space, class F>
    result<bool> score(const Space& space, F& scorer, walker_set& w, detail::best_points& best) {
        if (auto ok = scores_.score(space, scorer, executor_, w.points, w.fingerprints, w.scores); !ok) return ok.error();
        bool taken = false;
        for (std::size_t i = 0; i < w.points.size(); ++i) taken = best.offer(w.scores[i], w.fingerprints[i], w.points[i]) || taken;
        return taken;
    }

    template <class Space, class F>
    result<void> anneal(const Space& space, F& scorer, walker_set& walkers, detail::best_points& best, double unit, random_engine& rng) {
        walker_set next(walkers.points.size());
        std::vector<double> luck(walkers.points.size());
        for (std::size_t k = 0, last = 0; k < options_.iterations && k - last < options_.patience; ++k) {
            const double temperature = annealing_temperature(k, options_.iterations, options_.hot, options_.cold);
            const random_engine iteration(rng());
            executor_.bulk(walkers.points.size(), [&](std::size_t i) {
                random_engine item_rng = iteration.stream(i);
                next.put(i, mutate_path(space, decision_path_view(walkers.points[i], walkers.decisions[i]), options_.weights, item_rng));
                luck[i] = item_rng.uniform();
            });
            auto taken = score(space, scorer, next, best);
            if (!taken) return taken.error();
            if (*taken) last = k;
            for (std::size_t i = 0; i < walkers.points.size(); ++i) {
                const double now = static_cast<double>(walkers.scores[i]) / unit, then = static_cast<double>(next.scores[i]) / unit;
                if (luck[i] < acceptance_probability(now, then, temperature)) next.move_to(i, walkers);
            }
        }
        return {};
    }

    /// The score that a temperature of 1 is: not the range of the samples, which one very bad point would stretch.
    [[nodiscard]] double unit_of(std::span<const float> sampled) const {
        if (options_.unit == temperature_unit::score) return 1;
        std::vector<double> finite;
        for (const float s : sampled)
            if (std::isfinite(s)) finite.push_back(static_cast<double>(s));
        if (finite.empty()) return 1;
        std::sort(finite.begin(), finite.end());
        const double spread = finite.back() - finite[finite.size() / 2];
        if (spread > 0) return spread / 8;
        return finite.back() > finite.front() ? (finite.back() - finite.front()) / 8 : 1; // half of the samples are as good as the best
    }

    /// True: no two scores differ, and there is one. Points that cannot be used do not count.
    [[nodiscard]] static bool flat(std::span<const float> sampled, std::span<const float> walking) {
        const float* first = nullptr;
        for (const auto scores : {sampled, walking})
            for (const float& s : scores) {
                if (s == unusable_score) continue;
                if (first != nullptr && s != *first) return false;
                first = &s;
            }
        return first != nullptr;
    }

    annealing_options options_;
    detail::executor_ref<E> executor_;
    seen_points seen_;                      ///< proposed or observed points
    std::vector<decision_vector> observed_; ///< since the last proposal, or of another space
    std::vector<decision_vector> walkers_;  ///< where those of the last proposal ended
    detail::score_cache scores_;            ///< of this proposal
};

} // namespace augur::inline v0

#endif
