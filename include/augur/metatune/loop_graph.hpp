// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_LOOP_GRAPH_HPP
#define AUGUR_METATUNE_LOOP_GRAPH_HPP

/// @file
/// The graph of a candidate (MetaTune, section 3.1 and Figure 2): its rows from the features of its loops, and Graphviz (dot) output.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/number.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/workload/iterator_features.hpp>

namespace augur::inline v0 {
namespace metatune {

/// Checks rows of a producer of your own.
/// Errors: shape_mismatch, other than S rows, presences and parents; invalid_argument, a loop before the one around it, a present loop within an
/// absent one, a feature that is not finite, a feature of an absent loop that is not 0
[[nodiscard]] inline result<void> check(const loop_rows& rows) {
    const auto loops = rows.present.size();
    if (static_cast<std::size_t>(rows.features.rows()) != loops || rows.parents.size() != loops)
        return error{errc::shape_mismatch, "loop rows: expected as many rows and parents as presences, got " + std::to_string(rows.features.rows()) +
                                               ", " + std::to_string(rows.parents.size()) + " and " + std::to_string(loops)};
    for (std::size_t i = 0; i < loops; ++i) {
        const auto refuse = [i](const char* reason) {
            return error{errc::invalid_argument, "loop rows: loop " + std::to_string(i) + ": expected " + reason};
        };
        const std::uint32_t parent = rows.parents[i];
        if (parent != loop_rows::no_parent && parent >= i) return refuse("the loop around it before it");
        if (rows.present[i] != 0 && parent != loop_rows::no_parent && rows.present[parent] == 0) return refuse("the loop around it to be present");
        for (nn::index f = 0; f < rows.features.cols(); ++f) {
            const float x = rows.features(static_cast<nn::index>(i), f);
            if (!std::isfinite(x)) return refuse("finite features");
            if (rows.present[i] == 0 && x != 0) return refuse("features of 0, it is absent");
        }
    }
    return {};
}

/// The plain graph of a candidate: its loops in program order, all present, F = `iterator_row_columns(touches)`. Features are finite.
/// Touches beyond `touches` are left out; a super-graph (metatune/super_graph.hpp) keeps all, in columns that mean the same in all candidates.
[[nodiscard]] inline loop_rows rows_of(const iterator_features& features, std::size_t touches = 8) {
    const std::size_t columns = iterator_row_columns(touches);
    loop_rows rows;
    rows.features.resize(static_cast<nn::index>(features.loops.size()), static_cast<nn::index>(columns));
    rows.present.assign(features.loops.size(), 1);
    for (const loop_features& loop : features.loops) {
        write_iterator_row(loop, {rows.features.data() + rows.parents.size() * columns, columns});
        rows.parents.push_back(loop.parent);
    }
    return rows;
}

/// What a loop is called in texts for people: "ff[2]".
[[nodiscard]] inline std::string loop_name(std::string_view axis, std::uint32_t level) {
    return std::string(axis) + "[" + std::to_string(level) + "]";
}

/// The names of the loops of a candidate, in program order.
[[nodiscard]] inline std::vector<std::string> loop_names(const iterator_features& features) {
    std::vector<std::string> names;
    for (const loop_features& loop : features.loops) names.push_back(loop_name(loop.axis, loop.level));
    return names;
}

/// Options of `to_dot`.
struct dot_options {
    bool nested = false; ///< also edges between the `for` of a loop and those of the loops directly inside it
};

/// The graph in the dot language, as in Figure 2: a root, a `for` node and an `iterval` node for each loop; the `iterval` node has the loop's name,
/// and nodes of absent loops are dashed. A line for each node and each edge.
/// Errors: those of `check`; shape_mismatch, other than S names
[[nodiscard]] inline result<std::string> to_dot(const loop_rows& rows, std::span<const std::string> names, dot_options options = {}) {
    if (auto good = check(rows); !good) return good.error();
    if (names.size() != rows.present.size())
        return error{errc::shape_mismatch,
                     "loop rows: expected " + std::to_string(rows.present.size()) + " names of loops, got " + std::to_string(names.size())};
    std::string out = "digraph loops {\n  root;\n";
    for (std::size_t i = 0; i < names.size(); ++i) {
        const char* const end = rows.present[i] != 0 ? "];\n" : ", style=dashed];\n";
        append_number(out += "  for", i);
        out.append(" [label=\"for\"").append(end);
        append_number(out += "  iterval", i);
        append_json_string(out += " [shape=box, label=", names[i]); // the two languages quote alike
        out += end;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        append_number(out += "  root -> for", i);
        append_number(out += ";\n  for", i);
        append_number(out += " -> iterval", i);
        out += ";\n";
        if (!options.nested || rows.parents[i] == loop_rows::no_parent) continue;
        append_number(out += "  for", rows.parents[i]);
        append_number(out += " -> for", i);
        out += ";\n";
    }
    return out += "}\n";
}

} // namespace metatune
} // namespace augur::inline v0

#endif
