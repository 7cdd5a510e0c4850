// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_CHECK_HPP
#define AUGUR_SPACE_CHECK_HPP

/// @file
/// Randomised contract check of a search space (`decision_space`), for a user's tests.

#include <algorithm>
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
#include <augur/space/describe.hpp>
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

namespace detail {
/// Checks the description of the open decision of a cursor.
template <class C>
[[nodiscard]] result<void> check_description(const C& cursor, const decision& d, std::span<const std::uint64_t> prefix, random_engine& rng) {
    if (d.options == 0) return broken("a legal prefix must have a legal completion, next gave a decision without options", prefix);
    recording_sink name;
    cursor.describe(name);
    if (name.items.empty() || name.items.front().type != schedule_item::kind::primitive)
        return broken("expected a name that begins with a primitive, it is empty or begins otherwise", prefix);
    constexpr std::uint64_t few = 64; // options that are all looked at
    std::uint64_t spelled = 0;
    for (std::uint64_t i = 0; i < (std::min)(d.options, few); ++i) {
        const std::uint64_t value = d.options <= few ? i : rng.below(d.options);
        recording_sink words, again;
        cursor.words(value, words);
        cursor.words(value, again);
        if (words.items != again.items) return broken("two calls of words gave different words for value " + std::to_string(value), prefix);
        const auto back = cursor.nearest(words.items);
        if (back != value)
            return broken("expected the value " + std::to_string(value) + " as the nearest to its own words, got " +
                              (back ? std::to_string(*back) : "none"),
                          prefix);
        // Spells the value: at each word the choice whose text goes on as the words of the value do.
        auto speller = speller_of(cursor);
        std::size_t at = 0;
        while (const std::uint64_t choices = speller.choices()) {
            std::uint64_t found = choices;
            std::size_t length = 0;
            for (std::uint64_t c = 0; c < choices; ++c) {
                recording_sink one;
                speller.word(c, one);
                if (one.items.size() > words.items.size() - at ||
                    !std::equal(one.items.begin(), one.items.end(), words.items.begin() + static_cast<std::ptrdiff_t>(at)))
                    continue;
                if (found != choices)
                    return broken("of two choices of a word of value " + std::to_string(value) + " one begins like the other", prefix);
                found = c;
                length = one.items.size();
            }
            if (found == choices) return broken("the value " + std::to_string(value) + " cannot be spelled", prefix);
            speller.choose(found);
            at += length;
        }
        if (at != words.items.size() || speller.value() != value)
            return broken("spelling the value " + std::to_string(value) + " gave the value " + std::to_string(speller.value()), prefix);
        // And at random: only values come of it, each with the words that were chosen.
        auto random = speller_of(cursor);
        recording_sink chosen;
        while (const std::uint64_t choices = random.choices()) {
            const std::uint64_t c = rng.below(choices);
            random.word(c, chosen);
            random.choose(c);
        }
        if (random.value() >= d.options)
            return broken("spelling gave the value " + std::to_string(random.value()) + ", of " + std::to_string(d.options), prefix);
        recording_sink meant;
        cursor.words(random.value(), meant);
        if (meant.items != chosen.items) return broken("the value that was spelled has other words than those chosen", prefix);
    }
    if (d.options > 4096) return {};
    const auto count = [&spelled](const auto& self, const auto& speller) -> void {
        const std::uint64_t choices = speller.choices();
        if (choices == 0) ++spelled;
        for (std::uint64_t c = 0; c < choices; ++c) {
            auto next = speller;
            next.choose(c);
            self(self, next);
        }
    };
    count(count, speller_of(cursor));
    if (spelled != d.options)
        return broken("expected " + std::to_string(d.options) + " spellings, one a value, got " + std::to_string(spelled), prefix);
    return {};
}
} // namespace detail

/// Walks the space at random and checks the semantic requirements of `described_space` at every decision: names begin with a primitive, `words` is
/// deterministic, `nearest(words(v)) == v`, spelling reaches every value and only values, and the number of spellings is the number of options
/// (counted up to 4096 options). Of a decision with more than 64 options, 64 values are drawn.
/// Error: illegal_schedule, which names the first prefix that violates a requirement.
template <described_space P>
[[nodiscard]] result<void> check_described_space(const P& space, random_engine& rng, std::size_t walks = 20, std::size_t max_decisions = 10000) {
    for (std::size_t i = 0; i < walks; ++i) {
        decision_vector prefix;
        auto cursor = space.cursor();
        while (const std::optional<decision> d = cursor.next()) {
            if (prefix.size() == max_decisions) return detail::broken("no end after " + std::to_string(max_decisions) + " decisions", {});
            if (auto ok = detail::check_description(std::as_const(cursor), *d, prefix, rng); !ok) return ok;
            prefix.push_back(i % 2 == 0 ? rng.below(d->options) : augur::detail::draw(*d, rng));
            cursor.choose(prefix.back());
        }
    }
    return {};
}

} // namespace augur::inline v0::testing

#endif
