// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_WALK_HPP
#define AUGUR_SPACE_WALK_HPP

/// @file
/// Walks of a decision tree: uniform sampling, legality check of a decision vector, and the fingerprint of a leaf.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0 {

/// A complete walk from the root to a leaf: the chosen values and the decisions they answer.
struct decision_path {
    decision_vector values;
    std::vector<decision> decisions; ///< one per value
};

/// A non-owning view of a walk.
struct decision_path_view {
    std::span<const std::uint64_t> values;
    std::span<const decision> decisions;

    decision_path_view(std::span<const std::uint64_t> v, std::span<const decision> d) noexcept : values(v), decisions(d) {}
    // NOLINTNEXTLINE(google-explicit-constructor): a walk converts to a view of it
    decision_path_view(const decision_path& path) noexcept : values(path.values), decisions(path.decisions) {}
};

namespace detail {

template <class C>
concept walk_cursor = requires(C& c, std::uint64_t value) {
    { c.next() } -> std::same_as<std::optional<decision>>;
    c.choose(value);
};

template <class P>
concept offers_cursor = requires(const P& p) {
    { p.cursor() } -> walk_cursor;
};

template <class P>
concept offers_neighbour = requires(const P& p, std::span<const std::uint64_t> prefix, std::uint64_t value, random_engine& rng) {
    { p.neighbour(prefix, value, rng) } -> std::convertible_to<std::uint64_t>;
};

template <class P>
concept offers_fingerprint = requires(const P& p, std::span<const std::uint64_t> decisions) {
    { p.fingerprint(decisions) } -> std::convertible_to<std::uint64_t>;
};

/// The cursor of a space without one: stores the prefix and calls `next`.
template <class P>
class prefix_cursor {
public:
    explicit prefix_cursor(const P& space) : space_(&space) {}
    [[nodiscard]] std::optional<decision> next() const { return space_->next(std::span<const std::uint64_t>(values_)); }
    void choose(std::uint64_t value) { values_.push_back(value); }

private:
    const P* space_;
    decision_vector values_;
};

template <decision_tree P>
[[nodiscard]] auto cursor_of(const P& space) {
    if constexpr (offers_cursor<P>) return space.cursor();
    else return prefix_cursor<P>(space);
}

/// The value that a uniform sample takes at one decision.   pre: it has an option; `walk` ends before one that has none
inline std::uint64_t draw(const decision& d, random_engine& rng) {
    AUGUR_ASSERT(d.options > 0 && d.preferred < d.options && d.likely <= d.options, "decision: no options, or an illegal preferred value");
    return d.sampled ? rng.below(d.sampled_options()) : d.preferred;
}

/// Walks from the root to a leaf; `choose(decision, values so far)` returns each value. At a decision without options, which breaks the contract of
/// `decision_tree`, the walk ends: its values are no point of the space then, and `trace_path` says why.
template <decision_tree P, class F>
[[nodiscard]] decision_path walk(const P& space, F&& choose) {
    decision_path path;
    auto cursor = cursor_of(space);
    while (const std::optional<decision> d = cursor.next()) {
        if (d->options == 0) break;
        const std::uint64_t value = choose(*d, std::span<const std::uint64_t>(path.values));
        AUGUR_ASSERT(value < d->options, "walk: a value outside the options");
        path.values.push_back(value);
        path.decisions.push_back(*d);
        cursor.choose(value);
    }
    return path;
}

} // namespace detail

/// A random walk down the tree. Each decision is uniform over its first `likely` options (all of them if `likely` is 0), or takes `preferred` if
/// `sampled` is false.
/// Leaves are not equally likely if the options depend on the prefix. This is Ansor's sampling, which draws a sketch first. The walk ends at a decision
/// without options.
template <decision_tree P>
[[nodiscard]] decision_path sample_path(const P& space, random_engine& rng) {
    return detail::walk(space, [&](const decision& d, std::span<const std::uint64_t>) { return detail::draw(d, rng); });
}

/// Walks from the root along the given values.
///
/// Errors  `illegal_schedule`: a value outside its options, too few values or too many values, a decision without options
template <decision_tree P>
[[nodiscard]] result<decision_path> trace_path(const P& space, std::span<const std::uint64_t> values) {
    decision_path path;
    auto cursor = detail::cursor_of(space);
    for (std::size_t i = 0;; ++i) {
        const std::optional<decision> d = cursor.next();
        if (!d && i == values.size()) return path;
        if (!d)
            return error{errc::illegal_schedule,
                         "the space is decided after " + std::to_string(i) + " values, " + std::to_string(values.size()) + " came"};
        if (d->options == 0)
            return error{errc::illegal_schedule, "expected at least one option for decision " + std::to_string(i) + ", the space gave none"};
        if (i == values.size())
            return error{errc::illegal_schedule, "expected a value for decision " + std::to_string(i) + ", the vector ends there"};
        if (values[i] >= d->options)
            return error{errc::illegal_schedule, "expected a value below " + std::to_string(d->options) + " for decision " + std::to_string(i) +
                                                     ", " + std::to_string(values[i]) + " came"};
        path.values.push_back(values[i]);
        path.decisions.push_back(*d);
        cursor.choose(values[i]);
    }
}

/// 64-bit hash of a decision vector, the same on every machine.
[[nodiscard]] constexpr std::uint64_t hash_decisions(std::span<const std::uint64_t> values) noexcept {
    std::uint64_t h = mix64(values.size());
    for (const std::uint64_t v : values) h = mix64(h ^ v);
    return h;
}

/// 64-bit fingerprint of a leaf: the space's own fingerprint if it has one, else the hash of the decision vector.
template <decision_tree P>
[[nodiscard]] std::uint64_t fingerprint_decisions(const P& space, std::span<const std::uint64_t> values) {
    if constexpr (detail::offers_fingerprint<P>) return static_cast<std::uint64_t>(space.fingerprint(values));
    else return hash_decisions(values);
}

} // namespace augur::inline v0

#endif
