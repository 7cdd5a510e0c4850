// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_ACCESS_ANALYSIS_HPP
#define AUGUR_LOOPNEST_SCHEDULE_ACCESS_ANALYSIS_HPP

/// @file
/// Access analysis of a compute DAG: readers of each operation and their index patterns, for the sketch rules (Ansor's AccessAnalyzer,
/// src/auto_scheduler/compute_dag.cc).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/schedule/state.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// The value of an index expression that contains no axis.
inline std::optional<std::int64_t> constant_index(const expr& e) {
    if (e->op == expr_op::integer) return e->integer;
    if (e->op != expr_op::add && e->op != expr_op::sub && e->op != expr_op::mul) return std::nullopt;
    const auto a = constant_index(e->operands[0]);
    const auto b = constant_index(e->operands[1]);
    if (!a || !b) return std::nullopt;
    return e->op == expr_op::add ? *a + *b : e->op == expr_op::sub ? *a - *b : *a * *b;
}

/// The axis of an index expression that is one axis plus a constant: i, i + 3, i - 1.
inline std::optional<std::size_t> shifted_axis(const expr& e) {
    if (e->op == expr_op::axis) return static_cast<std::size_t>(e->integer);
    if (e->op != expr_op::add && e->op != expr_op::sub && e->op != expr_op::mul) return std::nullopt;
    const auto left = constant_index(e->operands[0]);
    const auto right = constant_index(e->operands[1]);
    switch (e->op) {
    case expr_op::add: return left ? shifted_axis(e->operands[1]) : right ? shifted_axis(e->operands[0]) : std::nullopt;
    case expr_op::sub: return right ? shifted_axis(e->operands[0]) : std::nullopt;
    default: return left == 1 ? shifted_axis(e->operands[1]) : right == 1 ? shifted_axis(e->operands[0]) : std::nullopt;
    }
}

/// The index pattern of one read, relative to the axes of the reading operation.
struct access_form {
    bool simple = true;   ///< each index is a constant or a space axis plus a constant; the other members are valid only if true
    bool missing = false; ///< some space axis occurs in no index
    bool twice = false;   ///< some space axis occurs in two indices
    bool in_order = true; ///< axes occur in the order of the operation's axes
};

inline access_form form_of(const operation& op, const expr_node& read) {
    access_form out;
    std::vector<int> used(op.axes.size(), 0);
    std::size_t last = 0;
    for (const auto& index : read.operands) {
        if (constant_index(index)) continue;
        const auto axis = shifted_axis(index);
        if (!axis || *axis >= op.axes.size()) {
            out.simple = false;
            return out;
        }
        ++used[*axis];
        out.in_order = out.in_order && *axis >= last;
        last = *axis;
    }
    for (const int n : used) {
        out.missing = out.missing || n == 0;
        out.twice = out.twice || n > 1;
    }
    return out;
}

} // namespace detail

/// Access facts of a DAG. Operations are identified by their index in `ops`, as stages are.
///
/// Cost     construction is linear in body size times axes; queries are look-ups, except `consumers` and `matches_elementwise`
/// Threads  immutable after construction
class access_analysis {
public:
    static constexpr std::size_t npos = static_cast<std::size_t>(-1);

    explicit access_analysis(const compute_dag& dag) : facts_(dag.ops.size()) {
        for (std::size_t i = 0; i < dag.ops.size(); ++i) {
            facts_[i].axes.reserve(dag.ops[i].axes.size());
            for (const auto& a : dag.ops[i].axes) facts_[i].axes.push_back(a.extent);
            facts_[i].placeholder = dag.ops[i].placeholder();
            if (!facts_[i].placeholder) study(dag, i);
        }
    }

    /// True if `op` is computed and no operation reads it.
    [[nodiscard]] bool output(std::size_t op) const { return !facts_[op].placeholder && facts_[op].readers.empty(); }
    /// True if inlining `op` is always legal and cheap: it has simple reads in axis order and no exp or select, or it reads nothing.
    [[nodiscard]] bool strictly_inlineable(std::size_t op) const { return facts_[op].strictly_inlineable; }
    /// True if `op` reuses data: it reduces and some read misses a space axis longer than 1, or the reads of two tensors miss such an axis.
    [[nodiscard]] bool needs_tiling(std::size_t op) const { return facts_[op].needs_tiling; }
    /// True if each read moves along its innermost dimension with the innermost space axis, as pooling does in any layout.
    [[nodiscard]] bool reads_along_rows(std::size_t op) const { return facts_[op].reads_along_rows; }
    /// The innermost axis of the rows whose reductions `op` reads, e.g. of the row sums that softmax divides by: the last axis of those values, if the
    /// innermost axis of `op` is none of theirs. npos: it reads none, or reduces itself.
    [[nodiscard]] std::size_t row_axis(std::size_t op) const { return facts_[op].row_axis; }
    /// The operations that read `op`, ascending.
    [[nodiscard]] const std::vector<std::size_t>& readers(std::size_t op) const { return facts_[op].readers; }

    /// The stages that read `op` directly or through inlined stages, ascending.
    [[nodiscard]] std::vector<std::size_t> consumers(const std::vector<stage>& stages, std::size_t op) const {
        std::vector<std::size_t> out;
        collect(stages, op, out);
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }

    /// True if on the chain from `op` to `target` each reader reads exactly the element that it computes, and all shapes are equal.
    [[nodiscard]] bool matches_elementwise(std::size_t op, std::size_t target) const {
        while (op != target) {
            const auto& f = facts_[op];
            if (f.placeholder || f.readers.size() != 1 || !f.read_in_place || facts_[f.readers[0]].axes != f.axes) return false;
            op = f.readers[0];
        }
        return true;
    }

private:
    struct facts {
        bool placeholder = false;
        bool strictly_inlineable = false;
        bool needs_tiling = false;
        bool reads_along_rows = false;
        bool follows_reduction = false; ///< reduces, or reads an operation that does
        std::size_t row_axis = npos;
        bool read_in_place = true; ///< every read of the tensor is simple, in axis order, and uses each axis of the reader once
        std::vector<std::int64_t> axes;
        std::vector<std::size_t> readers;
    };
    std::vector<facts> facts_;

    void collect(const std::vector<stage>& stages, std::size_t op, std::vector<std::size_t>& out) const {
        for (const auto r : facts_[op].readers) {
            if (stages[r].placement == stage::place::inlined) collect(stages, r, out);
            else out.push_back(r);
        }
    }

    void study(const compute_dag& dag, std::size_t i) {
        const auto& op = dag.ops[i];
        bool simple = true;
        bool ordered = true;
        bool costly = false;
        bool along_rows = !op.axes.empty() && op.axes.back().extent > 1;
        std::vector<std::size_t> sources;
        std::vector<std::vector<bool>> seen; // (sources, space axes): true where the reads of a tensor contain the axis
        walk(op.body, [&](const expr_node& n) {
            costly = costly || n.op == expr_op::exp || n.op == expr_op::select;
            if (n.op != expr_op::read) return;
            const auto form = detail::form_of(op, n);
            simple = simple && form.simple;
            ordered = ordered && form.in_order && !form.twice;
            bool moves = false;
            if (!n.operands.empty())
                walk(n.operands.back(), [&](const expr_node& x) {
                    moves = moves || (x.op == expr_op::axis && static_cast<std::size_t>(x.integer) + 1 == op.axes.size());
                });
            along_rows = along_rows && moves;
            const auto source = dag.index_of(static_cast<int>(n.integer));
            auto at = static_cast<std::size_t>(std::find(sources.begin(), sources.end(), source) - sources.begin());
            if (at == sources.size()) {
                sources.push_back(source);
                seen.emplace_back(op.axes.size(), false);
                facts_[source].readers.push_back(i);
            }
            if (!form.simple || form.missing || form.twice || !form.in_order) facts_[source].read_in_place = false;
            for (const auto& index : n.operands) {
                walk(index, [&](const expr_node& x) {
                    if (x.op == expr_op::axis && static_cast<std::size_t>(x.integer) < op.axes.size())
                        seen[at][static_cast<std::size_t>(x.integer)] = true;
                });
            }
        });
        auto& f = facts_[i];
        f.follows_reduction = !op.reduce_axes.empty();
        for (std::size_t k = 0; k < sources.size(); ++k) {
            f.follows_reduction = f.follows_reduction || facts_[sources[k]].follows_reduction;
            if (!op.reduce_axes.empty() || !facts_[sources[k]].follows_reduction || seen[k].empty() || seen[k].back()) continue;
            for (std::size_t a = 0; a < seen[k].size(); ++a)
                if (seen[k][a]) f.row_axis = a;
        }
        f.reads_along_rows = along_rows && !sources.empty();
        f.strictly_inlineable = sources.empty() || (simple && ordered && !costly);
        int missing = 0;
        for (const auto& axes : seen) {
            bool miss = false;
            for (std::size_t a = 0; a < axes.size(); ++a) miss = miss || (!axes[a] && op.axes[a].extent > 1);
            missing += miss ? 1 : 0;
        }
        f.needs_tiling = op.constant_index.empty() && (missing >= 2 || (missing >= 1 && !op.reduce_axes.empty()));
    }
};

} // namespace augur::inline v0::loopnest

#endif
