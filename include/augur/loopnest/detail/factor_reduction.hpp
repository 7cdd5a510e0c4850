// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_FACTOR_REDUCTION_HPP
#define AUGUR_LOOPNEST_DETAIL_FACTOR_REDUCTION_HPP

/// @file
/// The operations that rfactor makes of a reduction: partial results along one reduce loop, and their combination (Suriana et al., Parallel
/// associative reductions in Halide, CGO 2017; TVM, te::Schedule::rfactor).

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/schedule/stage.hpp>

namespace augur::inline v0::loopnest::detail {

/// The root axes of a stage as expressions of its loops.
struct axis_values {
    std::vector<expr> value; ///< per loop variable of the stage
    expr in_bounds;          ///< false in iterations beyond a root axis or another split loop; null: there are none
};

/// Computes every split or fused variable from its parts, and every part of a fusion from the fused variable, beginning with the innermost loops.
///
/// @param value  per variable: the expression of each loop; null for variables without a loop
/// Errors: illegal_schedule if a split makes far more iterations than its loop has (`max_rfactor_overshoot`).
inline result<axis_values> invert_relations(const stage& s, std::vector<expr> value) {
    expr in_bounds;
    for (std::size_t r = s.relations.size(); r-- > 0;) {
        const auto& rel = s.relations[r];
        if (rel.type == loop_relation::kind::fuse) {
            std::int64_t inner = 1;
            for (std::size_t k = rel.parts.size(); k-- > 0;) {
                expr part = inner == 1 ? value[rel.parent] : ex::floor_div(value[rel.parent], inner);
                value[rel.parts[k]] = k == 0 ? part : ex::floor_mod(part, s.vars[rel.parts[k]].extent);
                inner *= s.vars[rel.parts[k]].extent;
            }
            continue;
        }
        if (value[rel.parent]) continue;
        const auto extent = s.vars[rel.parent].extent;
        expr sum = value[rel.parts[0]];
        std::int64_t covered = s.vars[rel.parts[0]].extent;
        for (std::size_t k = 1; k < rel.parts.size(); ++k) {
            sum = sum * ex::integer(s.vars[rel.parts[k]].extent) + value[rel.parts[k]];
            covered *= s.vars[rel.parts[k]].extent;
        }
        if (covered > max_rfactor_overshoot * extent + rfactor_free_steps)
            return error{errc::illegal_schedule, "the lengths of a split make " + std::to_string(covered) + " iterations of a loop of " +
                                                     std::to_string(extent) + ", rfactor would compute them all"};
        value[rel.parent] = sum;
        if (covered > extent) {
            expr in_extent = ex::less(sum, ex::integer(extent));
            in_bounds = in_bounds ? ex::both(in_bounds, in_extent) : in_extent;
        }
    }
    return axis_values{std::move(value), std::move(in_bounds)};
}

/// A reduction in two operations.
struct factored_reduction {
    operation partial; ///< one result per iteration of the factored loop, which is a space axis here; reduces over the other reduce loops
    operation total;   ///< reduces `partial` over the factored loop; has the id and name of the original operation
};

/// Factors loop variable `factored` of the reduction `op` out of its stage.
///
/// @param factor_axis  axis number of the factored loop in `partial`, at most the number of space axes
/// @param partial_id   tensor id of `partial`
/// pre: the space axes are loops of `s`, `factored` is a reduce loop, and all loops have an extent
/// Errors: those of `invert_relations`
inline result<factored_reduction> factor_reduction(const operation& op, const stage& s, std::size_t factored, std::size_t factor_axis,
                                                   int partial_id) {
    const loop_axis factor{s.vars[factored].name, s.vars[factored].extent};
    factored_reduction out;
    operation& partial = out.partial;
    partial.id = partial_id;
    partial.name = op.name + ".rf";
    partial.combine = op.combine;
    std::vector<expr> loops(s.vars.size()); // the axis of `partial` of each loop variable
    for (std::size_t a = 0; a <= op.axes.size(); ++a) {
        if (a == factor_axis) {
            loops[factored] = ex::axis(static_cast<std::int64_t>(a));
            partial.axes.push_back(factor);
        }
        if (a < op.axes.size()) {
            loops[a] = ex::axis(static_cast<std::int64_t>(partial.axes.size()));
            partial.axes.push_back(op.axes[a]);
        }
    }
    for (const bool whole : {true, false}) // axes that are not split come first, as in TVM
        for (const auto& iter : s.iters) {
            if (!s.vars[iter.var].reduce || iter.var == factored || (iter.var < op.axis_count()) != whole) continue;
            loops[iter.var] = ex::axis(static_cast<std::int64_t>(partial.axis_count()));
            partial.reduce_axes.push_back({s.vars[iter.var].name, s.vars[iter.var].extent});
        }
    auto axes = invert_relations(s, std::move(loops));
    if (!axes) return axes.error();
    partial.body = substitute_axes(op.body, axes->value);
    if (axes->in_bounds) partial.body = ex::select(axes->in_bounds, partial.body, ex::constant(identity_of(op.combine)));
    if (partial.reduce_axes.empty()) partial.combine = reducer::none;

    out.total = op;
    out.total.reduce_axes = {factor};
    std::vector<expr> at_partial;
    for (std::size_t a = 0; a <= op.axes.size(); ++a) {
        if (a == factor_axis) at_partial.push_back(ex::axis(static_cast<std::int64_t>(op.axes.size())));
        if (a < op.axes.size()) at_partial.push_back(ex::axis(static_cast<std::int64_t>(a)));
    }
    out.total.body = ex::read(partial_id, std::move(at_partial));
    return out;
}

} // namespace augur::inline v0::loopnest::detail

#endif
