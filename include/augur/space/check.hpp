// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_CHECK_HPP
#define AUGUR_SPACE_CHECK_HPP

/// @file
/// Randomised contract check of a search space (`decision_space`), for a user's tests.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0::testing {

namespace detail {
inline std::string spell(std::span<const std::uint64_t> values) {
    std::string out = "[";
    for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(values[i]);
    return out + "]";
}
inline error broken(const std::string& violation, std::span<const std::uint64_t> prefix) {
    return {errc::illegal_schedule, violation + ", at prefix " + spell(prefix)};
}

/// One random walk with checks at every decision. With `ends`, the first and the last option are drawn more often.
template <decision_tree P>
[[nodiscard]] result<decision_path> checked_walk(const P& space, bool ends, std::size_t max_decisions, random_engine& rng) {
    decision_path path;
    auto cursor = augur::detail::cursor_of(space);
    for (;;) {
        const std::span<const std::uint64_t> prefix(path.values);
        const std::optional<decision> d = space.next(prefix);
        if (d != space.next(prefix)) return broken("two calls of next gave different decisions", prefix);
        if (d != cursor.next()) return broken("the cursor and next gave different decisions", prefix);
        if (!d) return path;
        if (d->options == 0) return broken("a legal prefix must have a legal completion, next gave a decision without options", prefix);
        if (d->preferred >= d->options)
            return broken("expected a preferred value below " + std::to_string(d->options) + ", got " + std::to_string(d->preferred), prefix);
        if (path.values.size() == max_decisions) return broken("no end after " + std::to_string(max_decisions) + " decisions", {});
        std::uint64_t value = rng.below(d->options);
        if (ends && rng.below(2) == 0) value = rng.below(2) == 0 ? 0 : d->options - 1;
        if constexpr (augur::detail::offers_neighbour<P>) {
            if (static_cast<std::uint64_t>(space.neighbour(prefix, value, rng)) >= d->options)
                return broken("neighbour gave a value outside the " + std::to_string(d->options) + " options", prefix);
        }
        path.values.push_back(value);
        path.decisions.push_back(*d);
        cursor.choose(value);
    }
}
} // namespace detail

/// Walks the space at random and checks the semantic requirements of the concept: `next` is deterministic, every walk ends within `max_decisions`,
/// options and preferred values are valid, the cursor agrees with `next`, neighbours and mutants are legal, every leaf can be realised, and equal
/// vectors and equal fingerprints give schedules with equal visits. Half of the walks draw the first and the last option of a decision more often.
/// Error: illegal_schedule, which names the first prefix that violates a requirement.
template <class S, class P>
    requires decision_space<P, S>
[[nodiscard]] result<void> check_space(const P& space, random_engine& rng, std::size_t walks = 200, std::size_t max_decisions = 10000) {
    std::map<std::uint64_t, std::pair<decision_vector, std::vector<schedule_item>>> seen;
    for (std::size_t i = 0; i < walks; ++i) {
        auto path = detail::checked_walk(space, i % 2 == 1, max_decisions, rng);
        if (!path) return path.error();
        decision_path mutant = mutate_path(space, *path, mutation_weights::cpu(), rng);
        for (const decision_vector& leaf : {path->values, mutant.values}) {
            if (auto legal = trace_path(space, leaf); !legal) return legal.error();
            auto schedule = space.realise(leaf);
            if (!schedule) return detail::broken("a legal leaf was not realised: " + schedule.error().detail, leaf);
            auto repeated = space.realise(leaf);
            if (!repeated) return detail::broken("a leaf was realised once and then not: " + repeated.error().detail, leaf);
            recording_sink first;
            recording_sink second;
            schedule_traits<S>::visit(*schedule, first);
            schedule_traits<S>::visit(*repeated, second);
            if (first.items != second.items) return detail::broken("two realisations of one vector differ", leaf);
            const auto [at, fresh] = seen.try_emplace(fingerprint_decisions(space, leaf), leaf, first.items);
            if (!fresh && at->second.second != first.items)
                return detail::broken("the same fingerprint as " + detail::spell(at->second.first) + " but another schedule", leaf);
        }
    }
    return {};
}

} // namespace augur::inline v0::testing

#endif
