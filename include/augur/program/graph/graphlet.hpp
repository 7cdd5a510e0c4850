// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_GRAPH_GRAPHLET_HPP
#define AUGUR_PROGRAM_GRAPH_GRAPHLET_HPP

/// @file
/// Task graphlets (Crop, section 3.1.2), the data-dependence graph of a basic block: the type `graphlet`, a builder, conversion from other graph
/// types, superblocks and a content hash.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/program/concepts.hpp>
#include <augur/program/graph/compact_graph.hpp>

namespace augur::inline v0 {

/// The instructions of a basic block in program order; an edge leads from an instruction to each user of its result.
using graphlet = compact_graph<instruction>;
static_assert(task_graphlet<graphlet>);

/// A data dependence between two consecutive blocks: `from` is the vertex of the earlier block that defines the value, `to` the vertex of the later
/// block that uses it.
struct dependence {
    std::uint32_t from = 0;
    std::uint32_t to = 0;

    friend bool operator==(const dependence&, const dependence&) = default;
};

/// Builds a graphlet, one instruction at a time.
///
/// ```cpp
/// graphlet_builder b;
/// const auto x = b.add({instruction_class::load, element_type::f32, fold_hint::none, 8});
/// b.add({instruction_class::fadd, element_type::f32, fold_hint::none, 8}, {x, x});
/// graphlet g = std::move(b).take();
/// ```
class graphlet_builder {
public:
    /// Appends an instruction that uses the results of `operands`, and returns its vertex. pre: the operands were added before
    std::uint32_t add(instruction value, std::initializer_list<std::uint32_t> operands = {}) {
        return add(value, std::span<const std::uint32_t>(operands.begin(), operands.size()));
    }
    std::uint32_t add(instruction value, std::span<const std::uint32_t> operands) {
        const auto v = static_cast<std::uint32_t>(code_.size());
        code_.push_back(value);
        for (const auto o : operands) after(o, v);
        return v;
    }
    /// Adds an edge: `later` uses the result of `earlier`. pre: earlier < later < size()
    void after(std::uint32_t earlier, std::uint32_t later) {
        AUGUR_ASSERT(earlier < later && later < code_.size(), "graphlet_builder: an operand stands before its user");
        edges_.push_back({earlier, later, {}});
    }
    [[nodiscard]] std::size_t size() const noexcept { return code_.size(); }
    [[nodiscard]] graphlet take() && { return {std::move(code_), std::move(edges_)}; }

private:
    std::vector<instruction> code_;
    std::vector<graphlet::new_edge> edges_;
};

/// Converts any `task_graphlet` to a `graphlet`; vertices keep their order.
/// @note errors: invalid_argument, for an edge that does not lead from an earlier vertex to a later one. O(E log V).
template <task_graphlet G>
[[nodiscard]] result<graphlet> to_graphlet(const G& g) {
    using vertex = typename boost::graph_traits<G>::vertex_descriptor;
    const auto code = graphlet_traits<G>::instructions(g);
    std::vector<std::pair<vertex, std::uint32_t>> places;
    std::vector<instruction> values;
    const auto [first, last] = vertices(g);
    for (auto v = first; v != last; ++v) {
        places.emplace_back(*v, static_cast<std::uint32_t>(values.size()));
        values.push_back(static_cast<instruction>(get(code, *v)));
    }
    std::sort(places.begin(), places.end());
    const auto place_of = [&](const vertex& v) { // descriptors may be of any ordered type, for example pointers
        const auto at = std::lower_bound(places.begin(), places.end(), v, [](const auto& p, const vertex& w) { return p.first < w; });
        return at->second;
    };
    std::vector<graphlet::new_edge> new_edges;
    std::uint32_t from = 0;
    for (auto v = first; v != last; ++v, ++from) {
        const auto [out, end] = out_edges(*v, g);
        for (auto e = out; e != end; ++e) {
            const auto to = place_of(target(*e, g));
            if (to <= from)
                return error{errc::invalid_argument, "graphlet: an edge from vertex " + std::to_string(from) + " to " + std::to_string(to) +
                                                         ", expected one to a later vertex"};
            new_edges.push_back({from, to, {}});
        }
    }
    return graphlet(std::move(values), std::move(new_edges));
}

/// Crop's superblock (section 3.1.2): a block and its successor as one graphlet, first the vertices of `p`, then those of `b`.
/// @param carried  values that `b` takes from `p`; pre: `from` is a vertex of `p`, `to` a vertex of `b`
[[nodiscard]] inline graphlet superblock(const graphlet& p, const graphlet& b, std::span<const dependence> carried) {
    std::vector<instruction> code(p.values().begin(), p.values().end());
    code.insert(code.end(), b.values().begin(), b.values().end());
    std::vector<graphlet::new_edge> list;
    list.reserve(p.edge_count() + b.edge_count() + carried.size());
    const auto shift = static_cast<std::uint32_t>(p.size());
    for (std::uint32_t e = 0; e < p.edge_count(); ++e) list.push_back({p.edge(e).source, p.edge(e).target, {}});
    for (const auto& d : carried) list.push_back({d.from, d.to + shift, {}});
    for (std::uint32_t e = 0; e < b.edge_count(); ++e) list.push_back({b.edge(e).source + shift, b.edge(e).target + shift, {}});
    return {std::move(code), std::move(list)};
}

/// 64-bit hash of the instructions and edges in order (FNV-1a over 64-bit words). The same on every machine and in every process.
[[nodiscard]] inline std::uint64_t content_hash(const graphlet& g) noexcept {
    std::uint64_t h = 0xCBF29CE484222325ULL;
    const auto add = [&](std::uint64_t v) { h = (h ^ v) * 0x100000001B3ULL, h ^= h >> 29U; };
    for (const auto& i : g.values())
        add(static_cast<std::uint64_t>(i.op) | static_cast<std::uint64_t>(i.type) << 8U | static_cast<std::uint64_t>(i.fold) << 16U |
            static_cast<std::uint64_t>(i.lanes) << 24U);
    add(g.size());
    for (std::uint32_t e = 0; e < g.edge_count(); ++e) add(static_cast<std::uint64_t>(g.edge(e).source) << 32U | g.edge(e).target);
    return h;
}

} // namespace augur::inline v0

#endif
