// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_LOWER_BOUNDS_HPP
#define AUGUR_LOOPNEST_LOWER_BOUNDS_HPP

/// @file
/// Bound inference: the box of each tensor that its stage computes, and the extent of each loop.
///
/// Stages are visited consumers first. A root stage computes its whole tensor. A stage computed inside a loop of another stage computes the box
/// that its readers access while the loops inside that loop run.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/affine.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/schedule/state.hpp>

namespace augur::inline v0::loopnest {

/// A box of a tensor, per axis: the least index, as an affine expression of the enclosing loops, and the extent.
struct tensor_box {
    std::vector<affine> low;
    std::vector<std::int64_t> extent;
};

/// The inferred bounds of one stage.
struct bounded_stage {
    tensor_box box;
    std::vector<std::int64_t> extents; ///< one per loop variable of the stage
    std::vector<int> loops;            ///< the term of each iter; -1 for a loop that runs once
    std::vector<affine> axes;          ///< values of the root axes and reduce axes inside all loops
    std::vector<affine> room;          ///< one per split that overshoots its loop; an iteration is skipped if some value is negative
    std::vector<int> around;           ///< terms of the enclosing loops of other stages
};

/// Largest number of iterations of one stage, all loops multiplied; products of some of its extents therefore do not overflow.
inline constexpr std::int64_t max_stage_iterations = std::int64_t{1} << 50U;

/// Largest number of expression nodes of one stage after inlining; each read of an inlined stage copies its expression.
inline constexpr double max_expression_nodes = 1 << 16U;

/// The inferred bounds of all stages of a state. Inlined stages and placeholders have an empty entry.
struct bounded_state {
    term_table terms;
    std::vector<expr> bodies; ///< one per stage, with inlined stages substituted
    std::vector<bounded_stage> stages;
};

namespace detail {

/// Nodes and axis leaves of an expression, counted as a tree. Doubles: each stage of an inlined chain may double the count.
struct expr_size {
    double nodes = 1;
    double axes = 0;
};
/// An upper bound of the size of `e` after its reads of inlined stages of `s` are replaced by expressions of `sizes`.
inline expr_size inlined_size(const expr& e, const loop_state& s, const std::vector<expr_size>& sizes) {
    expr_size all{1, e->op == expr_op::axis ? 1.0 : 0.0}, most{1, 0};
    for (const auto& o : e->operands) {
        const auto one = inlined_size(o, s, sizes);
        all.nodes += one.nodes, all.axes += one.axes;
        most = {(std::max)(most.nodes, one.nodes), (std::max)(most.axes, one.axes)};
    }
    if (e->op != expr_op::read) return all;
    const auto at = s.dag().index_of(static_cast<int>(e->integer));
    if (s.stages()[at].placement != stage::place::inlined) return all;
    return {sizes[at].nodes + sizes[at].axes * (most.nodes - 1), sizes[at].axes * most.axes};
}
/// The first stage whose expression is too large after inlining; npos: none.
inline std::size_t too_large_inlined(const loop_state& s) {
    const auto& ops = s.dag().ops;
    if (std::none_of(s.stages().begin(), s.stages().end(), [](const stage& x) { return x.placement == stage::place::inlined; }))
        return loop_state::npos;
    std::vector<expr_size> sizes(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].placeholder()) continue;
        sizes[i] = inlined_size(ops[i].body, s, sizes);
        if (sizes[i].nodes > max_expression_nodes) return i;
    }
    return loop_state::npos;
}

/// The bodies of all stages with inlined stages substituted; empty for placeholders and inlined stages.
inline std::vector<expr> effective_bodies(const loop_state& s) {
    const auto& ops = s.dag().ops;
    std::vector<expr> bodies(ops.size());
    bool any = false;
    for (std::size_t i = 0; i < ops.size(); ++i) any = any || s.stages()[i].placement == stage::place::inlined;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].placeholder()) continue;
        bodies[i] = !any ? ops[i].body : rewrite(ops[i].body, [&](const expr_node& n, const std::vector<expr>& operands) {
            if (n.op != expr_op::read) return expr();
            const auto at = s.dag().index_of(static_cast<int>(n.integer));
            return s.stages()[at].placement == stage::place::inlined ? substitute_axes(bodies[at], operands) : expr();
        });
    }
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (s.stages()[i].placement == stage::place::inlined) bodies[i] = expr();
    return bodies;
}

/// Converts an index expression to affine form; nullopt if it contains products of axes, min, max or select.
inline std::optional<affine> to_affine(const expr& e, const std::vector<affine>& axes, term_table& terms) {
    switch (e->op) {
    case expr_op::integer: return affine(e->integer);
    case expr_op::axis: return axes[static_cast<std::size_t>(e->integer)];
    case expr_op::add:
    case expr_op::sub: {
        auto a = to_affine(e->operands[0], axes, terms);
        const auto b = to_affine(e->operands[1], axes, terms);
        if (!a || !b) return std::nullopt;
        return std::move(a->add(*b, e->op == expr_op::add ? 1 : -1));
    }
    case expr_op::mul: {
        const auto a = to_affine(e->operands[0], axes, terms);
        const auto b = to_affine(e->operands[1], axes, terms);
        if (!a || !b) return std::nullopt;
        if (b->is_constant()) return *a * b->constant;
        if (a->is_constant()) return *b * a->constant;
        return std::nullopt;
    }
    case expr_op::floor_div:
    case expr_op::floor_mod: {
        const auto a = to_affine(e->operands[0], axes, terms);
        if (!a) return std::nullopt;
        const auto divisor = e->operands[1]->integer;
        return e->op == expr_op::floor_div ? terms.quotient(*a, divisor) : terms.remainder(*a, divisor);
    }
    default: return std::nullopt;
    }
}

class bound_inference {
public:
    explicit bound_inference(const loop_state& s) : state_(s) {}

    result<bounded_state> run() {
        if (const auto at = too_large_inlined(state_); at != loop_state::npos)
            return error{errc::illegal_schedule, "stage " + std::to_string(at) + ": an expression of more than " +
                                                     std::to_string(static_cast<std::int64_t>(max_expression_nodes)) + " nodes"};
        out_.bodies = effective_bodies(state_);
        out_.stages.resize(state_.stages().size());
        for (std::size_t i = out_.bodies.size(); i-- > 0;) {
            if (!out_.bodies[i]) continue;
            auto done = box(i);
            if (done) done = loops(i);
            if (!done) return refused("stage " + std::to_string(i) + ": " + done.error().detail);
        }
        return std::move(out_);
    }

private:
    const loop_state& state_;
    bounded_state out_;
    static constexpr std::int64_t limit = std::int64_t{1} << 40;

    static error refused(std::string reason) { return {errc::illegal_schedule, std::move(reason)}; }

    /// The position among the loops of `target` of the loop that encloses stage `i`, directly or through other attached stages; npos: not inside.
    [[nodiscard]] std::size_t depth_in(std::size_t i, std::size_t target) const {
        const auto* s = &state_.stages()[i];
        while (s->placement == stage::place::at) {
            if (s->at_stage == target) return state_.stages()[target].iter_of(s->at_var);
            s = &state_.stages()[s->at_stage];
        }
        return loop_state::npos;
    }

    result<void> box(std::size_t i) {
        const auto& op = state_.dag().ops[i];
        const auto& s = state_.stages()[i];
        auto& b = out_.stages[i];
        b.box.low.assign(op.axes.size(), affine());
        b.box.extent.clear();
        for (const auto& a : op.axes) b.box.extent.push_back(a.extent);
        if (s.placement == stage::place::root) return {};

        const auto& target = state_.stages()[s.at_stage];
        const auto& outer = out_.stages[s.at_stage];
        const auto at_iter = target.iter_of(s.at_var);
        if (target.placement == stage::place::inlined || outer.loops.empty()) return refused("computed inside a stage that has no loops");
        if (at_iter >= target.iters.size()) return refused("computed inside a loop that was split or fused away");
        b.around = outer.around;
        for (std::size_t k = 0; k <= at_iter; ++k)
            if (outer.loops[k] >= 0) b.around.push_back(outer.loops[k]);
        const auto varies = [&](int t) { return std::find(b.around.begin(), b.around.end(), t) == b.around.end(); };

        bool first = true;
        std::vector<bool> whole(op.axes.size(), false);
        std::string problem;
        for (std::size_t c = i + 1; c < out_.bodies.size(); ++c) {
            if (!out_.bodies[c]) continue;
            walk(out_.bodies[c], [&](const expr_node& n) {
                if (n.op != expr_op::read || n.integer != op.id) return;
                if (c != s.at_stage) {
                    const auto depth = depth_in(c, s.at_stage);
                    if (depth == loop_state::npos || depth < at_iter)
                        problem = "stage " + std::to_string(c) + " reads it outside the loop in which it is computed";
                }
                if (!problem.empty()) return;
                for (std::size_t a = 0; a < op.axes.size(); ++a) {
                    if (whole[a]) continue;
                    const auto index = to_affine(n.operands[a], out_.stages[c].axes, out_.terms);
                    if (!index) {
                        whole[a] = true;
                        continue;
                    }
                    auto [low, extent] = out_.terms.sweep(*index, varies);
                    if (first) {
                        b.box.low[a] = low;
                        b.box.extent[a] = extent;
                        continue;
                    }
                    const auto distance = low - b.box.low[a];
                    if (!distance.is_constant()) {
                        whole[a] = true;
                        continue;
                    }
                    const auto begin = (std::min)(std::int64_t{0}, distance.constant);
                    const auto end = (std::max)(b.box.extent[a], distance.constant + extent);
                    b.box.low[a].constant += begin;
                    b.box.extent[a] = end - begin;
                }
                first = false;
            });
            if (!problem.empty()) return refused(problem);
        }
        if (first) return refused("computed inside a loop, but no stage reads it");
        for (std::size_t a = 0; a < op.axes.size(); ++a) {
            if (!whole[a] && b.box.extent[a] < op.axes[a].extent) continue;
            b.box.low[a] = affine();
            b.box.extent[a] = op.axes[a].extent;
        }
        return {};
    }

    result<void> loops(std::size_t i) {
        const auto& op = state_.dag().ops[i];
        const auto& s = state_.stages()[i];
        auto& b = out_.stages[i];
        b.extents.assign(s.vars.size(), 0);
        for (std::size_t a = 0; a < op.axis_count(); ++a) b.extents[a] = a < op.axes.size() ? b.box.extent[a] : op.axis(a).extent;
        for (const auto& rel : s.relations) {
            if (rel.type == loop_relation::kind::fuse) {
                std::int64_t product = 1;
                for (const auto p : rel.parts) {
                    if (b.extents[p] > limit / (std::max)(product, std::int64_t{1})) return refused("a fused loop is longer than 2^40");
                    product *= b.extents[p];
                }
                b.extents[rel.parent] = product;
                continue;
            }
            // A part is at most as long as the rest of the loop: inside another stage the box may be smaller than the split (TVM: PassDownDomain).
            std::int64_t rest = b.extents[rel.parent];
            const auto n = rel.lengths.size();
            for (std::size_t k = 0; k < n; ++k) {
                const auto from_fixed = rel.inner_to_outer ? n - 1 - k : k;
                const auto length = rel.lengths[from_fixed];
                if (length < 1) return refused("a split length is not chosen");
                b.extents[rel.parts[rel.inner_to_outer ? from_fixed + 1 : from_fixed]] = (std::min)(length, rest);
                rest = (rest + length - 1) / length;
            }
            b.extents[rel.inner_to_outer ? rel.parts.front() : rel.parts.back()] = rest;
        }
        std::int64_t iterations = 1;
        for (const auto& iter : s.iters) {
            if (b.extents[iter.var] > max_stage_iterations / (std::max)(iterations, std::int64_t{1}))
                return refused("its loops have more than 2^50 iterations");
            iterations *= b.extents[iter.var];
        }
        b.loops.clear();
        std::vector<affine> value(s.vars.size());
        for (const auto& iter : s.iters) {
            const auto extent = b.extents[iter.var];
            b.loops.push_back(extent > 1 ? out_.terms.loop(extent) : -1);
            if (extent > 1) value[iter.var] = term_table::value(b.loops.back());
        }
        for (std::size_t r = s.relations.size(); r-- > 0;) {
            const auto& rel = s.relations[r];
            if (rel.type == loop_relation::kind::split) {
                affine sum;
                for (const auto p : rel.parts) sum = sum * b.extents[p] + value[p];
                const auto room = affine(b.extents[rel.parent] - 1) - sum;
                if (out_.terms.range(room).low < 0) b.room.push_back(room);
                value[rel.parent] = sum;
            } else {
                std::int64_t inner = 1;
                for (std::size_t k = rel.parts.size(); k-- > 0;) {
                    const auto extent = b.extents[rel.parts[k]];
                    auto part = out_.terms.quotient(value[rel.parent], inner);
                    value[rel.parts[k]] = k == 0 ? part : out_.terms.remainder(part, extent);
                    inner *= extent;
                }
            }
        }
        b.axes.clear();
        for (std::size_t a = 0; a < op.axis_count(); ++a) {
            b.axes.push_back(a < op.axes.size() ? value[a] + b.box.low[a] : value[a]);
        }
        return {};
    }
};

} // namespace detail

/// Infers the bounds of every stage of `s`.   Errors: illegal_schedule, with the stage and the reason; it includes `max_stage_iterations`.
/// Cost: quadratic in stages, else linear in loops times reads.
[[nodiscard]] inline result<bounded_state> bound(const loop_state& s) { return detail::bound_inference(s).run(); }

/// Sets the extents of all loop variables of `s` (Ansor: InferBound).
inline result<void> infer_bounds(loop_state& s) {
    const auto b = bound(s);
    if (!b) return b.error();
    std::vector<std::vector<std::int64_t>> extents;
    for (const auto& st : b->stages) extents.push_back(st.extents);
    s.set_extents(extents);
    return {};
}

} // namespace augur::inline v0::loopnest

#endif
