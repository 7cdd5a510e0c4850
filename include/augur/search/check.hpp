// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_CHECK_HPP
#define AUGUR_SEARCH_CHECK_HPP

/// @file
/// Randomised contract check of a search strategy (`search_strategy`), for a user's tests.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/count.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0::testing {

namespace detail {
/// A number in [0, 1) that only the point decides.
inline double drawn_for(std::span<const std::uint64_t> point) { return random_engine(hash_decisions(point)).uniform(); }

inline error broken_proposal(const std::string& violation, std::size_t round) {
    return {errc::invalid_argument, "search strategy: " + violation + ", in proposal " + std::to_string(round + 1)};
}
} // namespace detail

/// Lets two equal strategies search the space, and checks the semantic requirements of the concept: a proposal has at most as many points as wanted,
/// each of them is complete and legal, none comes twice, and equal strategies with equal scores, latencies and random numbers propose the same.
/// A space of at most `limit` leaves must be used up in the end, also its points with score -infinity. Scores and latencies are made up from the point;
/// one point in eight has score -infinity, another eighth fails.
///
/// Error  invalid_argument, which names the requirement and the proposal; the errors of `propose`
/// Cost   of the proposals: `rounds` of them, or those that use up the space
/// @param make   `make() -> Strategy`: equal strategies in their initial state
/// @param n      points wanted of each proposal
template <decision_tree Space, class Make>
[[nodiscard]] result<void> check_strategy(const Make& make, const Space& space, std::uint64_t seed, std::size_t n = 8, std::size_t rounds = 16,
                                          std::uint64_t limit = 2000) {
    auto first = make(), second = make();
    static_assert(search_strategy<decltype(first), Space>, "make() must return a search_strategy for this space");
    const auto score = [](std::span<const decision_vector> points, std::span<float> scores) -> result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) {
            const double x = detail::drawn_for(points[i]);
            scores[i] = x < 0.125 ? unusable_score : static_cast<float>(x);
        }
        return {};
    };
    std::size_t leaves = 0;
    seen_points of_leaves;
    const bool small = for_each_leaf(space, limit, [&](std::span<const std::uint64_t> leaf) {
        leaves += of_leaves.insert(fingerprint_decisions(space, leaf)) ? 1U : 0U;
        return true;
    });
    seen_points proposed;
    for (std::size_t round = 0; small ? proposed.size() < leaves : round < rounds; ++round) {
        random_engine numbers = random_engine(seed).stream(round), same = numbers;
        auto scorer = score;
        auto points = first.propose(space, scorer, n, numbers);
        if (!points) return points.error();
        auto again = second.propose(space, scorer, n, same);
        if (!again) return again.error();
        if (*points != *again) return detail::broken_proposal("expected equal proposals of equal strategies, they differ", round);
        if (points->size() > n)
            return detail::broken_proposal("expected at most " + std::to_string(n) + " points, got " + std::to_string(points->size()), round);
        std::vector<measured_decisions> measured;
        for (decision_vector& point : *points) {
            if (auto legal = trace_path(space, point); !legal) return detail::broken_proposal(legal.error().detail, round);
            if (!proposed.insert(fingerprint_decisions(space, point))) return detail::broken_proposal("a point was proposed twice", round);
            const double x = detail::drawn_for(point);
            measured.push_back({std::move(point), x > 0.875 ? std::numeric_limits<double>::infinity() : 1 + x});
        }
        if (points->empty() && small)
            return detail::broken_proposal(
                "expected all " + std::to_string(leaves) + " points of the space in the end, got " + std::to_string(proposed.size()), round);
        first.observe(std::span<const measured_decisions>(measured));
        second.observe(std::span<const measured_decisions>(measured));
    }
    return {};
}

} // namespace augur::inline v0::testing

#endif
