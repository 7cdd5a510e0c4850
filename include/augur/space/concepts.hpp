// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_CONCEPTS_HPP
#define AUGUR_SPACE_CONCEPTS_HPP

/// @file
/// What the library asks of a search space: decisions in an order, each with its legal options given the ones before.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// What a decision is about. Mutation draws its rule by this.
enum class decision_kind : std::uint8_t { sketch, tile_size, compute_location, parallel, unroll, vectorize, other };

/// How many kinds there are.
inline constexpr std::size_t decision_kinds = 7;

/// One decision: which kind, and how many legal options it has after its prefix.
struct decision {
    decision_kind kind = decision_kind::other;
    std::uint64_t options = 1;   ///< legal values are 0 .. options-1; never 0
    std::uint64_t preferred = 0; ///< what the space would take by itself, e.g. Ansor's parallel rule
    bool sampled = true;         ///< false: a uniform sample takes `preferred`; only mutation moves it

    friend bool operator==(const decision&, const decision&) = default;
};

/// The values chosen so far, in the order of the decisions.
using decision_vector = std::vector<std::uint64_t>;

/// The part of a space that walking needs: a tree of decisions, without the schedules at its leaves.
///
/// Syntax      `space.next(prefix) -> std::optional<decision>`: the decision after `prefix`, nothing when the prefix is complete
/// Semantics   how many decisions there are and their options may depend on the prefix; every legal prefix has a legal completion
/// Cost        `next` is linear in the prefix or better
/// Threads     concurrent const calls are allowed
///
/// A space may also offer, and the algorithms use where it is there:
///
///     space.cursor()                         an object with `next() -> std::optional<decision>` and `choose(value)`, which walks the tree
///                                            without replaying the prefix at every step
///     space.neighbour(prefix, value, rng)    a value near `value` for the decision after `prefix` (a tile with one divisor moved); `value`
///                                            itself where it has no opinion, and then any other value is drawn
///     space.fingerprint(decisions)           64 bits, equal for complete vectors that give equal schedules
template <class P>
concept decision_tree = requires(const P& p, std::span<const std::uint64_t> prefix) {
    { p.next(prefix) } -> std::same_as<std::optional<decision>>;
};

/// A space of schedules: a tree of decisions with a schedule at each leaf.
///
/// Syntax      as `decision_tree`, and `space.realise(decisions) -> result<S>`: the schedule of a complete prefix
/// Semantics   equal vectors give equal schedules
/// Threads     concurrent const calls are allowed
///
/// It may also offer `space.decide(s) -> result<decision_vector>`, the inverse of `realise`: then a resumed run gives its strategies the points that
/// were measured before.
template <class P, class S>
concept decision_space = decision_tree<P> && schedule<S> && requires(const P& p, std::span<const std::uint64_t> decisions) {
    { p.realise(decisions) } -> std::same_as<result<S>>;
};

} // namespace augur::inline v0

#endif
