// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_TILE_LAYOUT_HPP
#define AUGUR_LOOPNEST_DETAIL_TILE_LAYOUT_HPP

/// @file
/// Layouts that follow the tiles of a reader: of constant tensors (Ansor: layout rewrite), which are packed once, and of operands that a schedule copies
/// (CHR).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <augur/loopnest/lower/bounds.hpp>

namespace augur::inline v0::loopnest::detail {

/// The order of the elements of a tensor, or of the box of it that a stage computes. Each dimension is a piece of an axis.
struct tile_layout {
    struct piece {
        std::size_t axis;    ///< index of the axis
        std::int64_t stride; ///< value of the piece: axis value / stride % extent
        std::int64_t extent;
    };
    std::vector<piece> pieces; ///< outermost first; empty: row-major

    [[nodiscard]] std::int64_t elements() const {
        std::int64_t n = 1;
        for (const auto& p : pieces) n *= p.extent;
        return n;
    }
};

/// The only read of a tensor, whose indices are distinct axes of the reader, each as it is or reversed (2 - i), as in a rotated filter.
struct plain_read {
    std::size_t reader = 0;
    std::vector<std::size_t> axis_of; ///< axis of the tensor for each axis of the reader; npos: none
};

/// The only read of the tensor of operation `op`; none if there are more, or an index is no such axis.
inline std::optional<plain_read> only_plain_read(const compute_dag& dag, const std::vector<expr>& bodies, std::size_t op) {
    plain_read out;
    const expr_node* access = nullptr;
    int reads = 0;
    for (std::size_t i = op + 1; i < bodies.size(); ++i) {
        if (!bodies[i]) continue;
        walk(bodies[i], [&](const expr_node& n) {
            if (n.op != expr_op::read || n.integer != dag.ops[op].id) return;
            ++reads;
            out.reader = i;
            access = &n;
        });
    }
    if (reads != 1) return std::nullopt;
    out.axis_of.assign(dag.ops[out.reader].axis_count(), loop_state::npos);
    for (std::size_t a = 0; a < access->operands.size(); ++a) {
        const auto& index = access->operands[a];
        const bool reversed = index->op == expr_op::sub && index->operands[0]->op == expr_op::integer;
        const auto& axis = reversed ? index->operands[1] : index;
        if (axis->op != expr_op::axis) return std::nullopt;
        auto& slot = out.axis_of[static_cast<std::size_t>(axis->integer)];
        if (slot != loop_state::npos) return std::nullopt;
        slot = a;
    }
    return out;
}

/// The layout of a constant tensor in the loop order of its only reader. Row-major if that is no tiled reduction, an axis is split twice, or lengths far
/// from divisors would add too much padding.
inline tile_layout layout_of_constant(const loop_state& state, const bounded_state& bounds, std::size_t tensor) {
    const auto& ops = state.dag().ops;
    const auto read = only_plain_read(state.dag(), bounds.bodies, tensor);
    if (!read) return {};
    const auto& s = state.stages()[read->reader];
    const auto& op = ops[read->reader];
    if (s.relations.empty() || op.combine == reducer::none) return {};
    tile_layout out;
    const auto add = [&](auto&& self, std::size_t var) -> bool { // fused loops are decomposed
        for (const auto& rel : s.relations) {
            if (rel.type == loop_relation::kind::fuse && rel.parent == var)
                return std::all_of(rel.parts.begin(), rel.parts.end(), [&](std::size_t p) { return self(self, p); });
            if (rel.type != loop_relation::kind::split) continue;
            const auto part = std::find(rel.parts.begin(), rel.parts.end(), var);
            if (part == rel.parts.end()) continue;
            if (rel.parent >= op.axis_count() || !rel.inner_to_outer) return false; // the axis was split twice
            const auto a = read->axis_of[rel.parent];
            if (a == loop_state::npos) return true;
            const auto k = static_cast<std::size_t>(part - rel.parts.begin());
            std::int64_t stride = 1;
            for (auto p = rel.lengths.size(); p-- > k;) stride *= rel.lengths[p];
            out.pieces.push_back({a, stride, k == 0 ? (ops[tensor].axes[a].extent + stride - 1) / stride : rel.lengths[k - 1]});
            return true;
        }
        if (var >= op.axis_count()) return false;
        if (const auto a = read->axis_of[var]; a != loop_state::npos) out.pieces.push_back({a, 1, ops[tensor].axes[a].extent});
        return true;
    };
    for (const auto& iter : s.iters)
        if (!add(add, iter.var)) return {};
    std::int64_t elements = 1;
    for (const auto& p : out.pieces) {
        if (p.extent > (4 * ops[tensor].elements() + 1024) / elements) return {};
        elements *= p.extent;
    }
    return out;
}

/// The layout of a copied operand in the order in which the loops of its only reader access it inside the loop where the copy is made, so that the
/// innermost tile reads adjacent elements. Row-major if the schedule has loops of its own for the copy, or a tile is cut by the box.
inline tile_layout layout_of_copy(const loop_state& state, const bounded_state& bounds, std::size_t copy_index) {
    const auto& copy = state.stages()[copy_index];
    const auto plain = [](const loop_iter& iter) { return iter.annotation == loop_annotation::none; };
    if (!copy.relations.empty() || !std::all_of(copy.iters.begin(), copy.iters.end(), plain) || state.has_attached(copy_index)) return {};
    const auto read = only_plain_read(state.dag(), bounds.bodies, copy_index);
    if (!read) return {};
    const auto& s = state.stages()[read->reader];
    const auto& b = bounds.stages[read->reader];
    tile_layout out;
    std::vector<std::int64_t> covered(state.dag().ops[copy_index].axes.size(), 1);
    const std::size_t outside = copy.at_stage == read->reader ? s.iter_of(copy.at_var) + 1 : 0; // loops of the reader around the copy
    for (std::size_t k = s.iters.size(); k-- > outside;) {                                      // innermost first
        const auto var = s.iters[k].var;
        if (b.extents[var] == 1) continue;
        auto root = var;
        std::int64_t stride = 1;
        for (const auto& rel : s.relations) {
            const auto part = std::find(rel.parts.begin(), rel.parts.end(), var);
            if (rel.type == loop_relation::kind::fuse && (rel.parent == var || part != rel.parts.end())) return {};
            if (rel.type != loop_relation::kind::split || part == rel.parts.end()) continue;
            root = rel.parent;
            for (auto inner = part + 1; inner != rel.parts.end(); ++inner) stride *= b.extents[*inner];
        }
        if (root >= read->axis_of.size()) return {}; // the axis was split twice
        const auto a = read->axis_of[root];
        if (a == loop_state::npos) continue;
        if (covered[a] != stride) return {}; // not the next larger piece of the axis
        covered[a] *= b.extents[var];
        out.pieces.insert(out.pieces.begin(), {a, stride, b.extents[var]});
    }
    return covered == bounds.stages[copy_index].box.extent ? out : tile_layout{};
}

} // namespace augur::inline v0::loopnest::detail

#endif
