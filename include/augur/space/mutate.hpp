// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_MUTATE_HPP
#define AUGUR_SPACE_MUTATE_HPP

/// @file
/// New decision vectors out of old ones: mutation and crossover, both legal by construction.

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

/// How often mutation picks each kind of decision, one weight a kind in the order of `decision_kind`. Kinds that a vector does not have, or
/// whose decisions have one option, drop out and the rest is renormalised; when nothing is left every decision that can move is equally likely.
struct mutation_weights {
    std::array<double, decision_kinds> of{};

    [[nodiscard]] constexpr double& operator[](decision_kind k) noexcept { return of[static_cast<std::size_t>(k)]; }
    [[nodiscard]] constexpr double operator[](decision_kind k) const noexcept { return of[static_cast<std::size_t>(k)]; }

    /// Ansor's rules for a CPU (sketch_policy.cc), and a tenth for kinds that Ansor has not. The sketch and the vector width are never moved.
    [[nodiscard]] static constexpr mutation_weights cpu() noexcept {
        mutation_weights w;
        w[decision_kind::tile_size] = 0.90;
        w[decision_kind::unroll] = 0.04;
        w[decision_kind::compute_location] = 0.05;
        w[decision_kind::parallel] = 0.01;
        w[decision_kind::other] = 0.10;
        return w;
    }
    /// Ansor's rules for a GPU, likewise.
    [[nodiscard]] static constexpr mutation_weights gpu() noexcept {
        mutation_weights w;
        w[decision_kind::tile_size] = 0.90;
        w[decision_kind::unroll] = 0.10;
        w[decision_kind::other] = 0.10;
        return w;
    }
};

namespace detail {

/// Gives the values of a parent by kind and ordinal: the third tile size of the parent is offered to the third tile size of the child, so that a
/// decision which comes or goes does not shift all the others.
class value_donor {
public:
    explicit value_donor(decision_path_view parent) noexcept : parent_(parent) {}

    /// The parent's value for the child's next decision of this kind, if it has one that is legal there. Call once a decision, in order.
    [[nodiscard]] std::optional<std::uint64_t> offer(const decision& d) noexcept {
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

/// Which decision a mutation moves; `no_decision` when none has two options.
inline std::size_t choose_decision(std::span<const decision> decisions, const mutation_weights& weights, random_engine& rng) {
    std::array<std::size_t, decision_kinds> movable{};
    std::size_t any = 0;
    for (const decision& d : decisions) {
        if (d.options < 2) continue;
        ++movable[static_cast<std::size_t>(d.kind)];
        ++any;
    }
    if (any == 0) return no_decision;
    double total = 0;
    for (std::size_t k = 0; k < decision_kinds; ++k)
        if (movable[k] > 0) total += weights.of[k];
    std::size_t kind = decision_kinds; // any
    if (total > 0) {
        double x = rng.uniform() * total;
        for (std::size_t k = 0; k < decision_kinds; ++k) {
            if (movable[k] == 0 || weights.of[k] <= 0) continue;
            kind = k;
            if (x < weights.of[k]) break;
            x -= weights.of[k];
        }
    }
    std::uint64_t skip = rng.below(kind == decision_kinds ? any : movable[kind]);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        if (decisions[i].options < 2 || (kind != decision_kinds && static_cast<std::size_t>(decisions[i].kind) != kind)) continue;
        if (skip-- == 0) return i;
    }
    return no_decision;
}

} // namespace detail

/// Moves one decision to another legal value and walks on: the decisions after it keep the parent's value where there is one (matched by kind and
/// ordinal) and it is still legal; the others are sampled anew, or `preferred` where the space does not want them sampled.
///
/// The kind is drawn by `weights`, the decision uniformly among those of its kind that have two options or more, the value by `space.neighbour`
/// where the space offers it, else uniformly among the other values. (Ansor, sketch_policy_rules.cc; its unroll rule may draw the old value again,
/// this one never does.)
///
/// pre: `parent` is a complete walk of this space.   Returns the parent when no decision has two options.
template <decision_tree P>
[[nodiscard]] decision_path mutate_path(const P& space, decision_path_view parent, const mutation_weights& weights, random_engine& rng) {
    const std::size_t moved = detail::choose_decision(parent.decisions, weights, rng);
    detail::value_donor donor(parent);
    std::size_t i = 0;
    return detail::walk(space, [&](const decision& d, std::span<const std::uint64_t> prefix) -> std::uint64_t {
        const std::optional<std::uint64_t> old = donor.offer(d);
        if (i++ != moved || !old) return old ? *old : detail::draw(d, rng);
        if constexpr (detail::offers_neighbour<P>) {
            const auto near = static_cast<std::uint64_t>(space.neighbour(prefix, *old, rng));
            AUGUR_ASSERT(near < d.options, "neighbour: a value outside the options");
            if (near != *old) return near;
        } else {
            static_cast<void>(prefix);
        }
        const std::uint64_t other = rng.below(d.options - 1);
        return other < *old ? other : other + 1;
    });
}

/// Uniform crossover: each decision takes the value of either parent with equal chance, the other parent's where that is not legal, and is sampled
/// anew where neither is. Values are matched by kind and ordinal, as in `mutate_path`.
///
/// pre: both are complete walks of this space
template <decision_tree P>
[[nodiscard]] decision_path cross_paths(const P& space, decision_path_view a, decision_path_view b, random_engine& rng) {
    detail::value_donor first(a);
    detail::value_donor second(b);
    return detail::walk(space, [&](const decision& d, std::span<const std::uint64_t>) -> std::uint64_t {
        auto x = first.offer(d);
        auto y = second.offer(d);
        if (rng.below(2) == 1) std::swap(x, y);
        if (x) return *x;
        return y ? *y : detail::draw(d, rng);
    });
}

} // namespace augur::inline v0

#endif
