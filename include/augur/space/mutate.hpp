// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_MUTATE_HPP
#define AUGUR_SPACE_MUTATE_HPP

/// @file
/// Mutation and crossover of decision vectors for evolutionary search; the results are legal by construction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// Probability weights of the decision kinds for mutation, in the order of `decision_kind`. Kinds without a decision of two or more options in the
/// vector are left out, and the other weights are renormalised. If no weight is left, all decisions with two or more options are equally likely.
struct mutation_weights {
    std::array<double, decision_kinds> values{};

    [[nodiscard]] constexpr double& operator[](decision_kind k) noexcept { return values[static_cast<std::size_t>(k)]; }
    [[nodiscard]] constexpr double operator[](decision_kind k) const noexcept { return values[static_cast<std::size_t>(k)]; }

    /// Ansor's weights for CPUs (sketch_policy.cc), and 0.10 for kinds that Ansor does not have. The sketch and the vector width are never mutated.
    [[nodiscard]] static constexpr mutation_weights cpu() noexcept {
        mutation_weights w;
        w[decision_kind::tile_size] = 0.90;
        w[decision_kind::unroll] = 0.04;
        w[decision_kind::compute_location] = 0.05;
        w[decision_kind::parallel] = 0.01;
        w[decision_kind::other] = 0.10;
        return w;
    }
    /// Ansor's weights for GPUs, and 0.10 for kinds that Ansor does not have.
    [[nodiscard]] static constexpr mutation_weights gpu() noexcept {
        mutation_weights w;
        w[decision_kind::tile_size] = 0.90;
        w[decision_kind::unroll] = 0.10;
        w[decision_kind::other] = 0.10;
        return w;
    }
};

namespace detail {

/// Matches the decisions of a child with those of a parent by kind and ordinal: the third tile size of the parent goes to the third tile size of the
/// child. So an added or removed decision does not shift the decisions of other kinds.
class parent_values {
public:
    explicit parent_values(decision_path_view parent) noexcept : parent_(parent) {}

    /// The parent's value for the child's decision `d`; nullopt if there is none or it is illegal here. Call it once per decision, in order.
    [[nodiscard]] std::optional<std::uint64_t> match(const decision& d) noexcept {
        std::size_t& at = next_[static_cast<std::size_t>(d.kind)];
        while (at < parent_.values.size() && parent_.decisions[at].kind != d.kind) ++at;
        if (at >= parent_.values.size()) return std::nullopt;
        const std::uint64_t value = parent_.values[at++];
        if (value < d.options) return value;
        return std::nullopt;
    }

private:
    decision_path_view parent_;
    std::array<std::size_t, decision_kinds> next_{};
};

inline constexpr std::size_t no_decision = (std::numeric_limits<std::size_t>::max)();

/// Draws the decision that a mutation changes; `no_decision` if no decision has two options.
inline std::size_t choose_decision(std::span<const decision> decisions, const mutation_weights& weights, random_engine& rng) {
    std::array<std::size_t, decision_kinds> movable{};
    std::size_t movable_count = 0;
    for (const decision& d : decisions) {
        if (d.options < 2) continue;
        ++movable[static_cast<std::size_t>(d.kind)];
        ++movable_count;
    }
    if (movable_count == 0) return no_decision;
    double total = 0;
    for (std::size_t k = 0; k < decision_kinds; ++k)
        if (movable[k] > 0) total += weights.values[k];
    std::size_t kind = decision_kinds; // means any kind
    if (total > 0) {
        double x = rng.uniform() * total;
        for (std::size_t k = 0; k < decision_kinds; ++k) {
            if (movable[k] == 0 || weights.values[k] <= 0) continue;
            kind = k;
            if (x < weights.values[k]) break;
            x -= weights.values[k];
        }
    }
    std::uint64_t skip = rng.below(kind == decision_kinds ? movable_count : movable[kind]);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        if (decisions[i].options < 2 || (kind != decision_kinds && static_cast<std::size_t>(decisions[i].kind) != kind)) continue;
        if (skip-- == 0) return i;
    }
    return no_decision;
}

} // namespace detail

/// Changes one decision of the parent to another legal value. The decisions after it keep the parent's value (matched by kind and ordinal) if the
/// value is still legal; otherwise they are sampled, or take `preferred` if `sampled` is false.
///
/// The kind is drawn by `weights`, the decision uniformly among those of its kind that have two or more options, the value by `space.neighbour` if
/// the space has it, else uniformly among the other values. Source: Ansor, sketch_policy_rules.cc. Unlike Ansor's unroll rule, this function never
/// draws the old value.
///
/// pre: `parent` is a complete walk of this space.   Returns the parent if no decision has two options.
template <decision_tree P>
[[nodiscard]] decision_path mutate_path(const P& space, decision_path_view parent, const mutation_weights& weights, random_engine& rng) {
    const std::size_t mutated = detail::choose_decision(parent.decisions, weights, rng);
    detail::parent_values values(parent);
    std::size_t i = 0;
    return detail::walk(space, [&](const decision& d, std::span<const std::uint64_t> prefix) -> std::uint64_t {
        const std::optional<std::uint64_t> old = values.match(d);
        if (i++ != mutated || !old) return old ? *old : detail::draw(d, rng);
        if constexpr (detail::offers_neighbour<P>) {
            const auto neighbour = static_cast<std::uint64_t>(space.neighbour(prefix, *old, rng));
            AUGUR_ASSERT(neighbour < d.options, "neighbour: a value outside the options");
            if (neighbour != *old) return neighbour;
        } else {
            static_cast<void>(prefix);
        }
        const std::uint64_t drawn = rng.below(d.options - 1);
        return drawn < *old ? drawn : drawn + 1;
    });
}

/// Uniform crossover: each decision takes the value of one parent, drawn with equal probability. If that value is illegal it takes the value of the
/// other parent, and if both are illegal it is sampled. Values are matched by kind and ordinal, as in `mutate_path`.
///
/// pre: both parents are complete walks of this space
template <decision_tree P>
[[nodiscard]] decision_path cross_paths(const P& space, decision_path_view a, decision_path_view b, random_engine& rng) {
    detail::parent_values first(a);
    detail::parent_values second(b);
    return detail::walk(space, [&](const decision& d, std::span<const std::uint64_t>) -> std::uint64_t {
        auto x = first.match(d);
        auto y = second.match(d);
        if (rng.below(2) == 1) std::swap(x, y);
        if (x) return *x;
        return y ? *y : detail::draw(d, rng);
    });
}

} // namespace augur::inline v0

#endif
