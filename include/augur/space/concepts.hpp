// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_CONCEPTS_HPP
#define AUGUR_SPACE_CONCEPTS_HPP

/// @file
/// The concepts `decision_tree` and `decision_space`: a search space as a sequence of decisions, each with its legal options given the earlier ones.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// The kind of a decision. Mutation weights are per kind: with the default, `mutation_weights::cpu()`, `evolutionary` never mutates `sketch` and
/// `vectorize`, and mutates `parallel` rarely (0.01, against 0.9 of `tile_size` and 0.1 of `other`). If unsure, use `other`, or set
/// `evolutionary_options::weights`.
enum class decision_kind : std::uint8_t { sketch, tile_size, compute_location, parallel, unroll, vectorize, other };

/// The number of decision kinds.
inline constexpr std::size_t decision_kinds = 7;

/// One decision: its kind and the number of its legal options, given the values of the earlier decisions.
struct decision {
    decision_kind kind = decision_kind::other;
    std::uint64_t options = 1;   ///< legal values are 0 .. options-1; never 0
    std::uint64_t preferred = 0; ///< the space's default value, e.g. from Ansor's parallel rule
    bool sampled = true;         ///< false: a uniform sample takes `preferred`; only mutation changes the value
    std::uint64_t likely = 0;    ///< a uniform sample takes one of the first `likely` options, 0: of all; mutation reaches the others, too

    /// The number of options among which a uniform sample chooses, if it does.
    [[nodiscard]] constexpr std::uint64_t sampled_options() const noexcept { return likely > 0 ? likely : options; }

    friend bool operator==(const decision&, const decision&) = default;
};

/// The values chosen so far, in the order of the decisions.
using decision_vector = std::vector<std::uint64_t>;

/// A tree of decisions: the part of a search space that sampling and mutation need, without the schedules at the leaves.
///
/// Syntax      `space.next(prefix) -> std::optional<decision>`: the decision after `prefix`; nullopt if the prefix is complete
/// Semantics   the number of decisions and their options may depend on the prefix; every legal prefix has a legal completion. A walk of the library that
///             meets a decision without options all the same ends there; `trace_path` reports its incomplete point, and `realise` must refuse it. A
///             space may change between two calls of a strategy (points of before may then be illegal, and are kept until they are legal again), never
///             during a call; a `tuner` keeps its spaces const
/// Cost        `next` is linear in the prefix or better
/// Threads     concurrent const calls are allowed
///
/// Optional members, which the algorithms use if they exist:
///
///     space.cursor()                         an object with `next() -> std::optional<decision>` and `choose(value)`, which walks the tree
///                                            without replaying the prefix at every step
///     space.neighbour(prefix, value, rng)    a value near `value` for the decision after `prefix` (e.g. a tile size with one divisor moved). If
///                                            it returns `value` itself, another value is drawn uniformly
///     space.fingerprint(decisions)           64-bit hash, equal for complete vectors that give equal schedules
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
/// Optional: `space.decide(s) -> result<decision_vector>`, the inverse of `realise`. With it, schedules of a log become points: for the strategies of a
/// resumed tuning run, for transfer between kernels and for the sentences of a language model.
template <class P, class S>
concept decision_space = decision_tree<P> && schedule<S> && requires(const P& p, std::span<const std::uint64_t> decisions) {
    { p.realise(decisions) } -> std::same_as<result<S>>;
};

} // namespace augur::inline v0

#endif
