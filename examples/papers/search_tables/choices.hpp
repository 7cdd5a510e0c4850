// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_CHOICES_HPP
#define AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_CHOICES_HPP

/// @file
/// A point of a described space as what it has chosen for each decision.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/describe.hpp>

namespace examples {

/// What a point has chosen for one decision.
struct choice {
    std::uint64_t slot; ///< hash of the decision's name, and of how often the point has had it before
    std::uint64_t value, options;
    std::vector<augur::schedule_item> words; ///< of the value
};
using choices = std::vector<choice>;

/// Walks from the root to a leaf; `choose(decision, cursor, slot)` returns each value.
template <augur::described_space Space, class F>
[[nodiscard]] choices choose_all(const Space& space, F&& choose) {
    choices out;
    std::vector<std::uint64_t> names;
    auto cursor = space.cursor();
    while (const std::optional<augur::decision> d = cursor.next()) {
        names.push_back(augur::detail::decision_name(cursor));
        const auto repeats = static_cast<std::uint64_t>(std::count(names.begin(), names.end(), names.back()));
        const std::uint64_t slot = augur::mix64(names.back() + repeats), value = choose(*d, cursor, slot);
        augur::recording_sink words;
        cursor.words(value, words);
        out.push_back({slot, value, d->options, std::move(words.items)});
        cursor.choose(value);
    }
    return out;
}

[[nodiscard]] inline augur::decision_vector values_of(const choices& point) {
    augur::decision_vector out;
    for (const choice& p : point) out.push_back(p.value);
    return out;
}

/// Null: the point does not have the decision.
[[nodiscard]] inline const choice* choice_of(const choices& point, std::uint64_t slot) {
    const auto at = std::find_if(point.begin(), point.end(), [&](const choice& p) { return p.slot == slot; });
    return at == point.end() ? nullptr : &*at;
}

/// The option of the open decision with the words of another point's, else the nearest one.
template <augur::describing_cursor C>
[[nodiscard]] std::uint64_t nearest_option(const C& cursor, std::uint64_t options, const choice& of) {
    if (of.value < options) {
        augur::detail::comparing_sink same(of.words);
        cursor.words(of.value, same);
        if (same.equal()) return of.value;
    }
    const std::optional<std::uint64_t> value = cursor.nearest(of.words);
    return value ? *value : (std::min)(of.value, options - 1);
}

} // namespace examples

#endif
