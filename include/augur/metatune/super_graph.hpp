// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_SUPER_GRAPH_HPP
#define AUGUR_METATUNE_SUPER_GRAPH_HPP

/// @file
/// The super-graph of MetaTune (section 3.2): one graph with a slot for each loop of a set of operators, which all their candidates fill.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/printable.hpp>
#include <augur/metatune/detail/iterator_keys.hpp>
#include <augur/metatune/loop_graph.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/workload/iterator_features.hpp>

namespace augur::inline v0 {
namespace metatune {

/// A loop of a super-graph. Its operator, the loops around it and its own name tell it from all others.
struct loop_slot {
    std::uint32_t parent = loop_rows::no_parent; ///< index of the next outer loop, which is before this one
    std::string role;                            ///< of an outermost loop, the operator; empty: the one of the parent
    std::string axis;                            ///< as in `loop_features`
    std::uint32_t level = 0;                     ///< as in `loop_features`
    std::uint32_t repeat = 0;                    ///< how many loops of the same name inside the same parent are before it

    friend bool operator==(const loop_slot&, const loop_slot&) = default;
};

/// An access to a buffer. Its columns are the same in all slots.
struct touch_slot {
    std::string buffer;
    std::uint32_t repeat = 0; ///< how many buffers of that name are before it
    std::uint32_t access = 0; ///< as in `buffer_touch`

    friend bool operator==(const touch_slot&, const touch_slot&) = default;
};

/// The union of the graphs of candidates, of any operators. The paper's is a fixed table for the convolutions of TVM; this one is made at run time.
///
/// ```cpp
/// augur::metatune::super_graph graph;
/// if (auto added = graph.add(*features, "conv2d"); !added) return added.error(); // of a candidate of each structure, of each operator
/// auto rows = graph.place(*features, "conv2d");                                  // (S, F), the same S and F for all
/// ```
///
/// The role is what the caller takes for one operator: the name of a template, or of a family whose templates are to share the loops of equal names.
/// The order of adding does not matter: slots are sorted by parent, role and name, so graphs of equal sets are equal and so are their texts.
///
/// A value. Threads: concurrent const calls are allowed
class super_graph {
public:
    static constexpr std::size_t max_slots = 4096;
    static constexpr std::size_t max_touches = 256;
    static constexpr std::size_t max_name = 256; ///< bytes of a role, an axis, the name of a buffer; they are printable ASCII

    /// A graph of given slots and accesses, as `slots` and `touches` give them.
    /// Errors: invalid_argument, an order other than theirs, a slot or access that is there twice, a parent behind its slot, a role inside, a repeat
    /// without the slot before it, a name that is not printable ASCII; limit
    [[nodiscard]] static result<super_graph> make(std::vector<loop_slot> slots, std::vector<touch_slot> touches);

    /// Adds the loops and accesses of a candidate that are not there yet; on an error nothing. No loops: nothing to add.
    /// Errors: invalid_argument, features that `iterator_features_of` does not make: an inner loop before the outer one, a touch without a buffer,
    /// touches out of order; or a name that is not printable ASCII; limit, more than one of the limits above
    [[nodiscard]] result<void> add(const iterator_features& features, std::string_view role);

    /// The rows of a candidate in the slots of its loops; other slots are absent: null nodes, all 0. No loops: all slots are absent.
    /// Errors: those of `add`; not_found, a loop without a slot or an access without columns, named.   Cost: about 10 us for 21 loops
    [[nodiscard]] result<loop_rows> place(const iterator_features& features, std::string_view role) const;

    [[nodiscard]] const std::vector<loop_slot>& slots() const noexcept { return slots_; }
    [[nodiscard]] const std::vector<touch_slot>& touches() const noexcept { return touches_; }
    /// F: the columns of a loop and of each touch, as `write_iterator_row` writes them.
    [[nodiscard]] std::size_t columns() const noexcept { return iterator_row_columns(touches_.size()); }
    /// For each slot "role: axis[level]", for `to_dot`.
    [[nodiscard]] std::vector<std::string> names() const;

    friend bool operator==(const super_graph&, const super_graph&) = default;

private:
    using slot_key = std::tuple<std::uint32_t, std::string_view, std::string_view, std::uint32_t, std::uint32_t>;
    using touch_key = detail::touch_key;

    std::vector<loop_slot> slots_;    ///< by key
    std::vector<touch_slot> touches_; ///< by key

    /// no_parent + 1 is 0, so outermost loops are first.
    [[nodiscard]] static slot_key key_of(const loop_slot& s) noexcept { return {s.parent + 1, s.role, s.axis, s.level, s.repeat}; }
    [[nodiscard]] static touch_key key_of(const touch_slot& t) noexcept { return {t.buffer, t.repeat, t.access}; }
    template <class Slot, class Key>
    [[nodiscard]] static std::size_t lower_bound(const std::vector<Slot>& sorted, const Key& key) {
        const auto at = std::lower_bound(sorted.begin(), sorted.end(), key, [](const Slot& s, const Key& k) { return key_of(s) < k; });
        return static_cast<std::size_t>(at - sorted.begin());
    }
    template <class Slot, class Key>
    [[nodiscard]] static bool has(const std::vector<Slot>& sorted, std::size_t i, const Key& key) {
        return i < sorted.size() && key_of(sorted[i]) == key;
    }
    [[nodiscard]] static bool is_name(std::string_view text) noexcept {
        return text.size() <= max_name && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    }
    [[nodiscard]] static error bad_name(std::string_view text) {
        return detail::refuse(errc::invalid_argument, "expected a name of at most 256 printable characters of ASCII, got '" + printable(text) + "'");
    }
    [[nodiscard]] static result<void> within_limits(std::size_t slots, std::size_t touches) {
        if (slots > max_slots) return detail::refuse(errc::limit, "more than " + std::to_string(max_slots) + " loops");
        if (touches > max_touches) return detail::refuse(errc::limit, "more than " + std::to_string(max_touches) + " buffers or accesses");
        return {};
    }

    /// Where the slot of loop i is or belongs; `key` gets the first `repeat` that is not taken. `at`: the slots of the loops before it
    [[nodiscard]] std::size_t seek(const iterator_features& features, std::string_view role, const std::vector<std::uint32_t>& at,
                                   const std::vector<std::uint8_t>& taken, slot_key& key) const {
        const loop_features& loop = features.loops[at.size()];
        const bool outermost = loop.parent == loop_features::no_parent;
        key = {outermost ? 0 : at[loop.parent] + 1, outermost ? role : std::string_view(), loop.axis, loop.level, 0};
        std::size_t slot = lower_bound(slots_, key);
        for (; has(slots_, slot, key) && taken[slot] != 0; ++slot) ++std::get<4>(key);
        return slot;
    }
    void add_slots(const iterator_features& features, std::string_view role) {
        std::vector<std::uint32_t> at;
        std::vector<std::uint8_t> taken(slots_.size());
        while (at.size() < features.loops.size()) {
            slot_key key;
            const std::size_t slot = seek(features, role, at, taken, key);
            if (!has(slots_, slot, key)) {
                const auto place = static_cast<std::ptrdiff_t>(slot);
                const auto [parent, top, axis, level, repeat] = key;
                slots_.insert(slots_.begin() + place, {parent - 1, std::string(top), std::string(axis), level, repeat});
                taken.insert(taken.begin() + place, 0);
                for (auto& s : slots_) s.parent += s.parent != loop_rows::no_parent && s.parent >= slot ? 1U : 0U;
                for (auto& s : at) s += s >= slot ? 1U : 0U;
            }
            taken[slot] = 1;
            at.push_back(static_cast<std::uint32_t>(slot));
        }
    }
};

inline result<super_graph> super_graph::make(std::vector<loop_slot> slots, std::vector<touch_slot> touches) {
    if (auto good = within_limits(slots.size(), touches.size()); !good) return good.error();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const auto bad = [i](const char* reason) {
            return detail::refuse(errc::invalid_argument, "slot " + std::to_string(i) + ": expected " + reason);
        };
        const loop_slot& s = slots[i];
        if (!is_name(s.role)) return bad_name(s.role);
        if (!is_name(s.axis)) return bad_name(s.axis);
        if (s.parent != loop_rows::no_parent && s.parent >= i) return bad("its parent before it");
        if (s.parent != loop_rows::no_parent && !s.role.empty()) return bad("a role for outermost loops only");
        if (i > 0 && !(key_of(slots[i - 1]) < key_of(s))) return bad("slots ordered by parent, role, axis, level and repeat");
        if (s.repeat == 0) continue;
        loop_slot before = s;
        --before.repeat;
        if (i == 0 || slots[i - 1] != before) return bad("its like of one repeat less before it");
    }
    for (std::size_t i = 0; i < touches.size(); ++i) {
        if (!is_name(touches[i].buffer)) return bad_name(touches[i].buffer);
        if (i > 0 && !(key_of(touches[i - 1]) < key_of(touches[i])))
            return detail::refuse(errc::invalid_argument, "access " + std::to_string(i) + ": expected accesses ordered by buffer, repeat and number");
    }
    super_graph graph;
    graph.slots_ = std::move(slots);
    graph.touches_ = std::move(touches);
    return graph;
}

inline std::vector<std::string> super_graph::names() const {
    std::vector<std::string> roles, names;
    for (const loop_slot& s : slots_) {
        roles.push_back(s.parent == loop_rows::no_parent ? s.role : roles[s.parent]);
        names.push_back(roles.back() + ": " + loop_name(s.axis, s.level));
    }
    return names;
}

inline result<void> super_graph::add(const iterator_features& features, std::string_view role) {
    if (auto good = within_limits(features.loops.size(), features.buffers.size()); !good) return good.error();
    const auto keys = detail::touch_keys_of(features);
    if (!keys) return keys.error();
    if (!is_name(role)) return bad_name(role);
    for (const auto& loop : features.loops)
        if (!is_name(loop.axis)) return bad_name(loop.axis);
    for (const auto& buffer : features.buffers)
        if (!is_name(buffer)) return bad_name(buffer);
    super_graph next = *this;
    next.add_slots(features, role);
    for (const auto& [buffer, repeat, access] : *keys) {
        const touch_key key{buffer, repeat, access};
        const std::size_t i = lower_bound(next.touches_, key);
        if (!has(next.touches_, i, key))
            next.touches_.insert(next.touches_.begin() + static_cast<std::ptrdiff_t>(i), {std::string(buffer), repeat, access});
    }
    if (auto good = within_limits(next.slots_.size(), next.touches_.size()); !good) return good;
    *this = std::move(next);
    return {};
}

inline result<loop_rows> super_graph::place(const iterator_features& features, std::string_view role) const {
    if (auto good = within_limits(features.loops.size(), features.buffers.size()); !good) return good.error();
    const auto keys = detail::touch_keys_of(features);
    if (!keys) return keys.error();
    loop_rows rows;
    rows.features = nn::matrix<float>::Zero(static_cast<nn::index>(slots_.size()), static_cast<nn::index>(columns()));
    rows.present.assign(slots_.size(), 0);
    for (const loop_slot& s : slots_) rows.parents.push_back(s.parent);
    const std::size_t of_loop = iterator_row_columns(0), of_touch = iterator_row_columns(1) - of_loop;
    std::vector<std::uint32_t> at;
    std::vector<float> row;
    for (auto key = keys->begin(); const loop_features& loop : features.loops) {
        slot_key wanted;
        const std::size_t slot = seek(features, role, at, rows.present, wanted);
        if (!has(slots_, slot, wanted))
            return detail::refuse(errc::not_found, "no slot for the loop '" + detail::path_of(features, role, at.size()) + "', there are " +
                                                       std::to_string(slots_.size()));
        at.push_back(static_cast<std::uint32_t>(slot));
        rows.present[slot] = 1;
        row.resize(iterator_row_columns(loop.touches.size()));
        write_iterator_row(loop, row);
        float* const to = rows.features.data() + slot * columns();
        std::copy_n(row.begin(), of_loop, to);
        for (std::size_t t = 0; t < loop.touches.size(); ++t, ++key) {
            const std::size_t i = lower_bound(touches_, *key);
            if (!has(touches_, i, *key))
                return detail::refuse(errc::not_found, "no columns for access " + std::to_string(loop.touches[t].access) + " of buffer '" +
                                                           printable(std::get<0>(*key)) + "', there are " + std::to_string(touches_.size()) +
                                                           " accesses");
            std::copy_n(row.data() + of_loop + t * of_touch, of_touch, to + of_loop + i * of_touch);
        }
    }
    return rows;
}

} // namespace metatune
} // namespace augur::inline v0

#endif
