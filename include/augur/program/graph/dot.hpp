// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_GRAPH_DOT_HPP
#define AUGUR_PROGRAM_GRAPH_DOT_HPP

/// @file
/// Graphviz (dot) output of task graphlets and control-flow graphs.

#include <cstdint>
#include <string>
#include <string_view>

#include <augur/core/number.hpp>
#include <augur/program/graph/control_flow.hpp>

namespace augur::inline v0 {

namespace detail {
/// Appends a quoted string of the dot language: quotes and backslashes are escaped, control characters are dropped.
inline void append_dot_string(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20) continue;
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    out += '"';
}
} // namespace detail

/// The dot text of any `task_graphlet`: a line for each vertex and each edge. `name` is the name of the graph.
template <task_graphlet G>
[[nodiscard]] std::string graphlet_to_dot(const G& g, std::string_view name = "graphlet") {
    std::string out = "digraph ";
    detail::append_dot_string(out, name);
    out += " {\n";
    const auto code = graphlet_traits<G>::instructions(g);
    const auto [first, last] = vertices(g);
    const auto place_of = [&](const auto& v) { // the position in the vertex list, because descriptors need not be numbers
        std::uint32_t place = 0;
        for (auto at = first; at != last && !(*at == v); ++at) ++place;
        return place;
    };
    std::uint32_t place = 0;
    for (auto v = first; v != last; ++v, ++place) {
        const auto i = static_cast<instruction>(get(code, *v));
        out += "  v";
        append_number(out, place);
        std::string label;
        append_number(label, place);
        label.append(" ").append(to_string(i.op)).append(" ").append(to_string(i.type));
        if (i.lanes != 1) append_number(label += "x", i.lanes);
        if (i.fold != fold_hint::none) label.append(" (").append(to_string(i.fold)).append(")");
        detail::append_dot_string(out += " [label=", label);
        out += "];\n";
    }
    place = 0;
    for (auto v = first; v != last; ++v, ++place) {
        const auto [out_first, out_last] = out_edges(*v, g);
        for (auto e = out_first; e != out_last; ++e) {
            append_number(out += "  v", place);
            append_number(out += " -> v", place_of(target(*e, g)));
            out += ";\n";
        }
    }
    return out += "}\n";
}

/// The dot text of a control-flow graph, with the execution counts of blocks and edges.
[[nodiscard]] inline std::string control_flow_to_dot(const control_flow_graph& flow, std::string_view name = "function") {
    std::string out = "digraph ";
    detail::append_dot_string(out, name);
    out += " {\n  node [shape=box];\n";
    for (std::uint32_t b = 0; b < flow.size(); ++b) {
        append_number(out += "  b", b);
        std::string label = flow[b].name;
        append_number(label += ": ", flow[b].code.size());
        append_number(label += " instructions, ", flow[b].count);
        detail::append_dot_string(out += " [label=", label += " times");
        out += "];\n";
    }
    for (std::uint32_t i = 0; i < flow.edge_count(); ++i) {
        const auto e = flow.edge(i);
        append_number(out += "  b", e.source);
        append_number(out += " -> b", e.target);
        append_number(out += " [label=\"", flow[e].count);
        out += "\"];\n";
    }
    return out += "}\n";
}

} // namespace augur::inline v0

#endif
