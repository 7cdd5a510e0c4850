// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_CONCEPTS_HPP
#define AUGUR_SEARCH_CONCEPTS_HPP

/// @file
/// The concepts `search_strategy` (proposes points to measure) and `point_scorer` (scores points).

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0 {

/// A measured point of the space.
struct measured_decisions {
    decision_vector decisions;
    double latency = 0; ///< seconds; infinity if the trial failed
};

/// Scores decision vectors; usually a cost model with the space and the task bound to it (`bound_scorer`). Higher is better.
///
/// Syntax      `s(span<const decision_vector>, span<float>) -> result<void>`; -infinity for a vector that cannot be realised
template <class F>
concept point_scorer = requires(F& f, std::span<const decision_vector> points, std::span<float> scores) {
    { f(points, scores) } -> std::same_as<result<void>>;
};

/// The score of a point that must not be proposed as long as there are others.
inline constexpr float unusable_score = -std::numeric_limits<float>::infinity();

/// Scores every point 0: for a strategy without a cost model, and for tests of a strategy.
struct constant_scorer {
    result<void> operator()(std::span<const decision_vector>, std::span<float> scores) const {
        std::fill(scores.begin(), scores.end(), 0.0F);
        return {};
    }
};

namespace detail {
template <class T>
concept expects_latency = requires(const T& t, std::span<const std::uint64_t> point) {
    { t.expected_latency(point) } -> std::same_as<double>;
};

/// What a strategy expects of a point; infinity if it has no opinion, or never says one.
template <class T>
[[nodiscard]] double expected_latency_of([[maybe_unused]] const T& strategy, [[maybe_unused]] std::span<const std::uint64_t> point) {
    if constexpr (expects_latency<T>) return strategy.expected_latency(point);
    else return std::numeric_limits<double>::infinity();
}
} // namespace detail

/// Proposes points of one space to measure next.
///
/// Syntax      `s.propose(space, scorer, n, random&) -> result<std::vector<decision_vector>>`
///             `s.observe(span<const measured_decisions>)`
/// Semantics   `propose` returns at most n points, all complete and legal, none of them proposed before; fewer than n only if no further point was
///             found: the space is used up, or so large and skewed that `draw_unseen` gave up. The tuner ends a task when a round gives no new
///             candidate. Equal state, scores and random engine give an equal proposal, for every number of threads.
///             `observe` gets points with their latencies, infinity for a failure; among them may be points that were never proposed (records of an
///             earlier run), and a point may come twice
/// Optional    `s.expected_latency(span<const std::uint64_t> point) const -> double`: the seconds that the strategy expects of a point that it proposed,
///             infinity if it has no opinion. The progress of a tuner tells it where no cost model has an opinion; no decision depends on it
/// Errors      of `propose`: those of the scorer, among others. The tuner then asks once more, with a scorer that gives every point 0
/// Threads     one call at a time
template <class T, class Space>
concept search_strategy =
    requires(T& t, const Space& space, constant_scorer& scorer, std::size_t n, random_engine& rng, std::span<const measured_decisions> points) {
        { t.propose(space, scorer, n, rng) } -> std::same_as<result<std::vector<decision_vector>>>;
        t.observe(points);
    };

} // namespace augur::inline v0

#endif
