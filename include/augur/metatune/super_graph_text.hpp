// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_SUPER_GRAPH_TEXT_HPP
#define AUGUR_METATUNE_SUPER_GRAPH_TEXT_HPP

/// @file
/// Super-graphs as a line of JSON, which fits into the metadata of a weights file:
/// `{"format": "augur-super-graph", "version": 1, "touches": [[buffer, repeat, access], ...], "slots": [[parent, role, axis, level, repeat], ...]}`;
/// the parent of an outermost loop is -1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_object.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/metatune/super_graph.hpp>

namespace augur::inline v0 {
namespace metatune {

inline constexpr std::int64_t super_graph_version = 1;

/// Equal graphs have equal texts.
[[nodiscard]] inline std::string to_text(const super_graph& graph) {
    std::string text;
    json_writer out(text);
    out.begin_object().key("format").value("augur-super-graph").key("version").value(super_graph_version);
    out.key("touches").begin_array();
    for (const touch_slot& t : graph.touches()) out.begin_array().value(t.buffer).value(t.repeat).value(t.access).end_array();
    out.end_array().key("slots").begin_array();
    for (const loop_slot& s : graph.slots()) {
        out.begin_array().value(s.parent == loop_rows::no_parent ? -1 : std::int64_t{s.parent});
        out.value(s.role).value(s.axis).value(s.level).value(s.repeat).end_array();
    }
    out.end_array().end_object();
    return text;
}

/// Errors: parse, version_mismatch and limit, with line:column; those of `super_graph::make`
[[nodiscard]] inline result<super_graph> parse_super_graph(std::string_view text) {
    constexpr std::int64_t most = (std::numeric_limits<std::uint32_t>::max)();
    static constexpr std::array<std::string_view, 4> names{"format", "version", "touches", "slots"};
    json_reader in(text);
    const auto word = [&in](std::string& to) { return augur::detail::need_element(in) && in.read(to); };
    const auto number = [&in](std::uint32_t& to) { return augur::detail::need_element(in) && augur::detail::read_integer(in, to, 0, most); };
    const auto list = [&in](auto& to, std::size_t limit, const auto& read) {
        in.begin_array();
        while (in.next_element()) {
            if (to.size() == limit) return in.fail(errc::limit, "expected at most " + std::to_string(limit) + " elements");
            if (!in.begin_array() || !read(to.emplace_back()) || !augur::detail::end_elements(in)) return false;
        }
        return in.ok();
    };
    std::vector<touch_slot> touches;
    std::vector<loop_slot> slots;
    augur::detail::json_members members(in, names);
    if (!members.header("augur-super-graph", super_graph_version)) return in.error();
    for (std::size_t i = 0; members.next(i);) {
        if (i == 2) {
            list(touches, super_graph::max_touches, [&](touch_slot& t) { return word(t.buffer) && number(t.repeat) && number(t.access); });
        } else {
            list(slots, super_graph::max_slots, [&](loop_slot& s) { // a parent of -1 becomes no_parent
                return augur::detail::need_element(in) && augur::detail::read_integer(in, s.parent, -1, super_graph::max_slots) && word(s.role) &&
                       word(s.axis) && number(s.level) && number(s.repeat);
            });
        }
    }
    if (!members.need(0b1111) || !in.finish()) return in.error();
    return super_graph::make(std::move(slots), std::move(touches));
}

} // namespace metatune
} // namespace augur::inline v0

#endif
