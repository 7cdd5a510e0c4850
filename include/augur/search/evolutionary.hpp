// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_EVOLUTIONARY_HPP
#define AUGUR_SEARCH_EVOLUTIONARY_HPP

/// @file
/// Ansor's evolutionary search for any decision space and any scorer.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
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
#include <augur/space/describe.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// Selection probabilities of the parents.
enum class parent_selection : std::uint8_t {
    /// Weight (fraction of the population with no better score) ^ pressure; equal scores have equal weights. Only the order of the scores matters, so
    /// it suits models trained with a ranking loss, whose scores have no origin and no scale, as well as models that predict throughputs.
    ranked,
    /// Weight max(score, 0), as in Ansor. Points with negative scores never become parents. If no score is positive, all points are equally likely
    /// (Ansor divides by zero there).
    proportional,
};

/// Parameters of the search. The defaults are Ansor's (python/tvm/auto_scheduler/search_policy.py) unless a comment says otherwise.
struct evolutionary_options {
    std::size_t population = 2048;
    std::size_t generations = 4;
    double mutation_probability = 0.85;
    double crossover_probability = 0;  ///< fraction of children from crossover of two parents
    bool crossover_by_words = false;   ///< by the meaning of values (`cross_words`), if the space is described; else by their indices (`cross_paths`)
    double measured_ratio = 0.2;       ///< the best measured points join the initial population, up to this fraction of `population`
    std::size_t min_population = 50;   ///< sampling continues in batches of `population` until it has this many distinct points
    std::size_t fruitless_batches = 5; ///< after this many consecutive batches without a new point, min_population is halved
    std::size_t best_kept = 2;         ///< number of best unseen points kept, as a multiple of the requested points
    double eps_greedy = 0.05;          ///< fraction of random points in a proposal
    bool truncate_eps = false; ///< true: int(eps n) random points as in Ansor, so none for n = 10; false: rounded, and at least one for n >= 10
    parent_selection selection = parent_selection::ranked;
    double pressure = 5; ///< selection pressure of `ranked`; 1 is linear ranking
    mutation_weights weights = mutation_weights::cpu();
};

/// Evolves a population under the scorer and proposes the best points that were not proposed before, plus some random points.
///
/// Each proposal starts with a new population of uniform samples and the best measured points, followed by `generations` rounds of roulette selection
/// and mutation. A point with score -infinity or NaN is never a parent and is proposed only if no other point is left. If all scores are equal, as
/// with an untrained model, the result is a random search. Observed and given points that the space does not have, because it has changed, are passed
/// over; of descriptions nothing is kept.
/// Source: Ansor (OSDI 2020) section 5.1, sketch_policy.cc.
///
/// Threads  one thread per object; work is distributed over the executor. The result does not depend on the number of threads.
template <bulk_executor E = serial_executor>
class evolutionary {
public:
    /// pre: options.population >= 1
    explicit evolutionary(evolutionary_options options = {}) : options_(options), min_population_(options.min_population) { check(); }
    /// pre: as above; `executor` outlives the strategy
    evolutionary(evolutionary_options options, E& executor) : options_(options), executor_(executor), min_population_(options.min_population) {
        check();
    }

    [[nodiscard]] const evolutionary_options& options() const noexcept { return options_; }

    /// See `search_strategy`. Errors: those of the scorer.
    template <decision_tree Space, point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        take_observed(space, new_, seen_);
        std::vector<decision_vector> out;
        if (n == 0) return out;

        scores_.clear();
        population current;
        if (auto ok = sample(space, scorer, rng, current); !ok) return ok.error();
        const std::size_t sampled = current.points.size();
        std::vector<decision_vector> samples(current.points.begin(), current.points.end());
        if (auto ok = add_known(space, scorer, current); !ok) return ok.error();

        detail::best_points best(options_.best_kept <= std::numeric_limits<std::size_t>::max() / n ? n * options_.best_kept : options_.best_kept,
                                 seen_);
        const auto offer = [&](const population& p) {
            for (std::size_t i = 0; i < p.points.size(); ++i) best.offer(p.scores[i], p.fingerprints[i], p.points[i]);
        };
        offer(current);
        if (!flat(current.scores)) {
            for (std::size_t g = 0; g < options_.generations; ++g) {
                population next = breed(space, current, rng);
                if (auto ok = score(space, scorer, next); !ok) return ok.error();
                current = std::move(next);
                offer(current);
            }
        }

        const std::size_t random_points = detail::random_points(options_.eps_greedy, n, options_.truncate_eps);
        std::vector<decision_vector> kept = best.release();
        seen_points seen = seen_; // after an error nothing has been proposed
        auto take = [&](decision_vector& point) {
            if (seen.insert(fingerprint_decisions(space, point))) out.push_back(std::move(point));
        };
        std::size_t at = 0;
        for (; at < kept.size() && out.size() < n - random_points; ++at) take(kept[at]);
        std::vector<std::size_t> order(sampled);
        std::iota(order.begin(), order.end(), std::size_t{0});
        rng.shuffle(std::span<std::size_t>(order));
        for (std::size_t i = 0; i < sampled && out.size() < n; ++i) take(samples[order[i]]);
        for (; at < kept.size() && out.size() < n; ++at) take(kept[at]);
        if (out.size() < n)
            if (auto ok = draw_usable(space, scorer, seen, n - out.size(), rng, out); !ok) return ok.error();
        seen_ = std::move(seen);
        return out;
    }

    /// Points that join the first population of every proposal, for example those that are good for similar tasks. Of another space: they are left out.
    void begin_with(std::vector<decision_vector> points) { given_ = std::move(points); }

    void observe(std::span<const measured_decisions> points) {
        observed_.insert(observed_.end(), points.begin(), points.end());
        for (const measured_decisions& p : points) new_.push_back(p.decisions);
    }

private:
    void check() const { AUGUR_ASSERT(options_.population >= 1, "evolutionary: options"); }

    template <class Space>
    [[nodiscard]] decision_path cross(const Space& space, decision_path_view a, decision_path_view b, random_engine& rng) const {
        if constexpr (described_space<Space>)
            if (options_.crossover_by_words) return cross_words(space, a, b, rng);
        return cross_paths(space, a, b, rng);
    }

    struct population {
        std::vector<decision_vector> points;
        std::vector<std::vector<decision>> decisions; ///< the decisions of each point
        std::vector<std::uint64_t> fingerprints;
        std::vector<float> scores;

        explicit population(std::size_t n = 0) : points(n), decisions(n), fingerprints(n), scores(n) {}
        void append(population& from, std::size_t i) {
            points.push_back(std::move(from.points[i]));
            decisions.push_back(std::move(from.decisions[i]));
            fingerprints.push_back(from.fingerprints[i]);
            scores.push_back(from.scores[i]);
        }
        [[nodiscard]] decision_path_view path(std::size_t i) const { return {points[i], decisions[i]}; }
    };

    [[nodiscard]] static bool flat(std::span<const float> scores) {
        return std::adjacent_find(scores.begin(), scores.end(), [](float a, float b) { return a != b; }) == scores.end();
    }

    template <class Space, class F>
    result<void> score(const Space& space, F& scorer, population& p) {
        return scores_.score(space, scorer, executor_, p.points, p.fingerprints, p.scores);
    }

    /// Draws distinct uniform samples with a usable score: one batch, then more batches while there are fewer than min_population_.
    template <class Space, class F>
    result<void> sample(const Space& space, F& scorer, random_engine& rng, population& out) {
        seen_points drawn_before;
        std::size_t fruitless = 0;
        while (out.points.size() < min_population_) {
            const random_engine batch(rng());
            population drawn(options_.population);
            executor_.bulk(options_.population, [&](std::size_t i) {
                random_engine item_rng = batch.stream(i);
                decision_path path = sample_path(space, item_rng);
                drawn.points[i] = std::move(path.values);
                drawn.decisions[i] = std::move(path.decisions);
            });
            if (auto ok = score(space, scorer, drawn); !ok) return ok;
            const std::size_t old_size = out.points.size();
            for (std::size_t i = 0; i < drawn.points.size(); ++i)
                if (drawn.scores[i] != unusable_score && drawn_before.insert(drawn.fingerprints[i])) out.append(drawn, i);
            if (out.points.size() > old_size) {
                fruitless = 0;
            } else if (++fruitless >= options_.fruitless_batches) { // permanently, as in Ansor: later proposals in a small space save these batches
                if (min_population_ <= 1) break;
                min_population_ /= 2;
                fruitless = 0;
            }
        }
        return {};
    }

    /// Adds the given points and the best measured ones to the population.
    template <class Space, class F>
    result<void> add_known(const Space& space, F& scorer, population& out) {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < observed_.size(); ++i)
            if (std::isfinite(observed_[i].latency)) order.push_back(i);
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const double x = observed_[a].latency;
            const double y = observed_[b].latency;
            return x < y || (x == y && a < b);
        });
        const double max_count = options_.measured_ratio * static_cast<double>(options_.population);
        population known;
        const auto add = [&](const decision_vector& point) {
            auto path = trace_path(space, point);
            if (!path) return false; // a point of another space
            known.points.push_back(std::move(path->values));
            known.decisions.push_back(std::move(path->decisions));
            return true;
        };
        for (const auto& point : given_) add(point);
        seen_points added; // a point may have been measured twice
        double count = 0;
        for (std::size_t i = 0; i < order.size() && count + 1 <= max_count; ++i) {
            const decision_vector& point = observed_[order[i]].decisions;
            if (!added.contains(hash_decisions(point)) && add(point)) added.insert(hash_decisions(point)), ++count;
        }
        known.fingerprints.resize(known.points.size());
        known.scores.resize(known.points.size());
        if (auto ok = score(space, scorer, known); !ok) return ok;
        for (std::size_t i = 0; i < known.points.size(); ++i) out.append(known, i);
        return {};
    }

    /// Prefix sums of the selection weights of the points; the last one is the total.
    [[nodiscard]] std::vector<double> roulette(std::span<const float> scores) const {
        const std::size_t n = scores.size();
        std::vector<double> sums(n, 0.0);
        if (options_.selection == parent_selection::proportional) {
            for (std::size_t i = 0; i < n; ++i) sums[i] = std::isfinite(scores[i]) ? (std::max)(0.0, static_cast<double>(scores[i])) : 0.0;
        } else {
            std::vector<std::size_t> order(n);
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
            for (std::size_t i = 0; i < n;) {
                std::size_t end = i;
                while (end < n && scores[order[end]] == scores[order[i]]) ++end;
                const double share = static_cast<double>(i + end) / static_cast<double>(2 * n); // mean rank of the tie
                for (; i < end; ++i) sums[order[i]] = scores[order[i]] == unusable_score ? 0.0 : std::pow(share, options_.pressure);
            }
        }
        std::partial_sum(sums.begin(), sums.end(), sums.begin());
        if (!(sums.back() > 0)) std::iota(sums.begin(), sums.end(), 1.0);
        return sums;
    }

    /// The next generation.
    template <class Space>
    [[nodiscard]] population breed(const Space& space, const population& current, random_engine& rng) const {
        const std::vector<double> sums = roulette(current.scores);
        auto parent = [&](random_engine& r) {
            const auto at = std::upper_bound(sums.begin(), sums.end(), r.uniform() * sums.back());
            return (std::min)(static_cast<std::size_t>(at - sums.begin()), sums.size() - 1);
        };
        population next(options_.population);
        const random_engine generation(rng());
        executor_.bulk(options_.population, [&](std::size_t i) {
            random_engine item_rng = generation.stream(i);
            const std::size_t first = parent(item_rng);
            decision_path child;
            if (options_.crossover_probability > 0 && item_rng.uniform() < options_.crossover_probability)
                child = cross(space, current.path(first), current.path(parent(item_rng)), item_rng);
            else if (item_rng.uniform() < options_.mutation_probability) child = mutate_path(space, current.path(first), options_.weights, item_rng);
            else child = {current.points[first], current.decisions[first]};
            next.points[i] = std::move(child.values);
            next.decisions[i] = std::move(child.decisions);
        });
        return next;
    }

    evolutionary_options options_;
    detail::executor_ref<E> executor_;
    std::size_t min_population_;
    seen_points seen_;                   ///< proposed or observed points
    std::vector<decision_vector> given_; ///< by the caller, before the search
    std::vector<measured_decisions> observed_;
    std::vector<decision_vector> new_; ///< observed since the last proposal, or of another space
    detail::score_cache scores_;       ///< of this proposal
};

} // namespace augur::inline v0

#endif
