// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_TVM_DAG_EXTENTS_HPP
#define AUGUR_IO_DETAIL_TVM_DAG_EXTENTS_HPP

/// @file
/// Inference of the extents that the text of a TVM compute DAG lacks: those of computed tensors and of reduce axes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0 {

namespace detail {

inline constexpr std::size_t tvm_max_axes = 64;           ///< limit on the axes of one operation: a set of axes is a 64-bit mask
inline constexpr double tvm_max_extent = 1099511627776.0; ///< 2^40, the limit of loop_state

/// Range of an index, both ends included. Doubles are exact up to 2^53 and have an infinity for an unknown end.
struct index_range {
    double low = 0, high = 0;
};

inline double range_product(double a, double b) noexcept { return a == 0 || b == 0 ? 0 : a * b; }

/// Interval arithmetic: range of an index expression from the ranges of its axes. Exact if each axis occurs once, else an over-approximation.
inline index_range range_of(const loopnest::expr& e, const std::vector<index_range>& axes) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto operand = [&](std::size_t i) { return range_of(e->operands[i], axes); };
    switch (e->op) {
    case loopnest::expr_op::integer: return {static_cast<double>(e->integer), static_cast<double>(e->integer)};
    case loopnest::expr_op::axis: return axes[static_cast<std::size_t>(e->integer)];
    case loopnest::expr_op::add: {
        const auto a = operand(0), b = operand(1);
        return {a.low + b.low, a.high + b.high};
    }
    case loopnest::expr_op::sub: {
        const auto a = operand(0), b = operand(1);
        return {a.low - b.high, a.high - b.low};
    }
    case loopnest::expr_op::mul: {
        const auto a = operand(0), b = operand(1);
        const auto ends = {range_product(a.low, b.low), range_product(a.low, b.high), range_product(a.high, b.low), range_product(a.high, b.high)};
        return {(std::min)(ends), (std::max)(ends)};
    }
    case loopnest::expr_op::min: {
        const auto a = operand(0), b = operand(1);
        return {(std::min)(a.low, b.low), (std::min)(a.high, b.high)};
    }
    case loopnest::expr_op::max: {
        const auto a = operand(0), b = operand(1);
        return {(std::max)(a.low, b.low), (std::max)(a.high, b.high)};
    }
    case loopnest::expr_op::floor_div: {
        const auto a = operand(0), b = operand(1);
        return {std::floor(a.low / b.low), std::floor(a.high / b.low)};
    }
    case loopnest::expr_op::floor_mod: {
        const auto a = operand(0), b = operand(1);
        return a.low >= 0 && a.high < b.low ? a : index_range{0, b.low - 1};
    }
    default: return {-infinity, infinity};
    }
}

/// Upper bound on the magnitude of every integer in the evaluation of `e`.
inline double largest_integer(const loopnest::expr& e, const loopnest::operation& op) {
    if (e->op == loopnest::expr_op::integer) return std::fabs(static_cast<double>(e->integer));
    if (e->op == loopnest::expr_op::axis) return static_cast<double>(op.axis(static_cast<std::size_t>(e->integer)).extent);
    double most = 0, sum = 0, product = 1;
    for (const auto& o : e->operands) {
        const double x = largest_integer(o, op);
        most = (std::max)(most, x);
        sum += x;
        product *= x;
    }
    if (!e->is_index()) return most;
    return e->op == loopnest::expr_op::add || e->op == loopnest::expr_op::sub ? sum
           : e->op == loopnest::expr_op::mul                                  ? (std::max)(most, product)
                                                                              : most;
}

/// Bit mask of the axes in `e`. Axes that occur more than once are also set in `twice`.
inline std::uint64_t axes_in(const loopnest::expr& e, std::uint64_t* twice = nullptr) {
    std::uint64_t seen = 0;
    walk(e, [&](const loopnest::expr_node& n) {
        if (n.op != loopnest::expr_op::axis) return;
        const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(n.integer);
        if (twice != nullptr) *twice |= seen & bit;
        seen |= bit;
    });
    return seen;
}

/// Coefficient of `axis` in the index expression `e`; nullopt if `e` is not linear in `axis`.
inline std::optional<double> slope_of(const loopnest::expr& e, std::size_t axis) {
    if ((axes_in(e) >> axis & 1U) == 0) return 0.0;
    if (e->op == loopnest::expr_op::axis) return 1.0;
    if (e->op == loopnest::expr_op::add || e->op == loopnest::expr_op::sub) {
        const auto a = slope_of(e->operands[0], axis), b = slope_of(e->operands[1], axis);
        if (!a || !b) return std::nullopt;
        return e->op == loopnest::expr_op::add ? *a + *b : *a - *b;
    }
    if (e->op == loopnest::expr_op::mul)
        for (std::size_t i = 0; i < 2; ++i)
            if (e->operands[i]->op == loopnest::expr_op::integer)
                if (const auto a = slope_of(e->operands[1 - i], axis)) return *a * static_cast<double>(e->operands[i]->integer);
    return std::nullopt;
}

/// Narrows the range of an axis by `x <= y + k`, where x or y is the axis and the other is an integer; else does nothing.
inline void narrow_to_at_most(const loopnest::expr& x, const loopnest::expr& y, double k, std::vector<index_range>& axes) {
    if (x->op == loopnest::expr_op::axis && y->op == loopnest::expr_op::integer) {
        auto& high = axes[static_cast<std::size_t>(x->integer)].high;
        high = (std::min)(high, static_cast<double>(y->integer) + k);
    } else if (x->op == loopnest::expr_op::integer && y->op == loopnest::expr_op::axis) {
        auto& low = axes[static_cast<std::size_t>(y->integer)].low;
        low = (std::max)(low, static_cast<double>(x->integer) - k);
    }
}

/// Narrows the ranges of the axes by a condition that is true (`holds`) or false.
inline void narrow(const loopnest::expr& condition, bool holds, std::vector<index_range>& axes) {
    const auto& a = condition->operands[0];
    const auto& b = condition->operands[1];
    switch (condition->op) {
    case loopnest::expr_op::logical_and:
    case loopnest::expr_op::logical_or:
        if (holds == (condition->op == loopnest::expr_op::logical_and)) {
            narrow(a, holds, axes);
            narrow(b, holds, axes);
        }
        break;
    case loopnest::expr_op::less: holds ? narrow_to_at_most(a, b, -1, axes) : narrow_to_at_most(b, a, 0, axes); break;
    case loopnest::expr_op::less_equal: holds ? narrow_to_at_most(a, b, 0, axes) : narrow_to_at_most(b, a, -1, axes); break;
    case loopnest::expr_op::equal:
        if (holds) {
            narrow_to_at_most(a, b, 0, axes);
            narrow_to_at_most(b, a, 0, axes);
        }
        break;
    default: break;
    }
}

/// Calls `f(node, ranges, named)` for each read in `e`. `ranges`: axis ranges under the enclosing select conditions; `named`: mask of the axes in
/// those conditions.
template <class F>
void for_each_read(const loopnest::expr& e, const std::vector<index_range>& axes, std::uint64_t named, F&& f) {
    if (e->op == loopnest::expr_op::read) return f(*e, axes, named);
    if (e->op != loopnest::expr_op::select) {
        for (const auto& o : e->operands) for_each_read(o, axes, named, f);
        return;
    }
    named |= axes_in(e->operands[0]);
    for (const bool holds : {true, false}) {
        auto narrowed = axes;
        narrow(e->operands[0], holds, narrowed);
        for_each_read(e->operands[holds ? 1 : 2], narrowed, named, f);
    }
}

/// Infers the extents that are 0. A tensor id is an index into `ops`.
class extent_inference {
public:
    extent_inference(loopnest::compute_dag& dag, std::vector<std::string>& assumed) : dag_(&dag), assumed_(&assumed), data_(dag.ops.size()) {
        for (std::size_t i = 0; i < dag.ops.size(); ++i) data_[i].resize(dag.ops[i].axes.size());
    }

    result<void> run() {
        do {
            while (from_producers()) {}
        } while (from_consumers() || from_windows());
        for (std::size_t i = 0; i < dag_->ops.size(); ++i)
            for (std::size_t a = 0; a < dag_->ops[i].axis_count(); ++a)
                if (unknown(i, a))
                    return error{errc::unsupported, location(i) + "the extent of axis " + dag_->ops[i].axis(a).name + " cannot be inferred"};
        return check();
    }

    /// Checks by interval arithmetic that all extents are in 1..2^40, that no index expression overflows 64 bits, and that all reads are in bounds.
    /// Errors: limit, shape_mismatch.
    [[nodiscard]] result<void> check() const {
        for (std::size_t i = 0; i < dag_->ops.size(); ++i) {
            const auto& op = dag_->ops[i];
            for (std::size_t a = 0; a < op.axis_count(); ++a)
                if (op.axis(a).extent < 1 || static_cast<double>(op.axis(a).extent) > tvm_max_extent)
                    return error{errc::limit,
                                 location(i) + "expected extents in 1..2^40, axis " + op.axis(a).name + " has " + std::to_string(op.axis(a).extent)};
            if (op.placeholder()) continue;
            if (largest_integer(op.body, op) > 4e18) return error{errc::limit, location(i) + "an index passes 64 bits"};
            std::string outside;
            reads(i, [&](const loopnest::expr_node& n, const std::vector<index_range>& axes, std::uint64_t named) {
                const auto& source = dag_->ops[static_cast<std::size_t>(n.integer)];
                for (std::size_t d = 0; d < n.operands.size() && outside.empty(); ++d) {
                    std::uint64_t twice = 0;
                    if ((axes_in(n.operands[d], &twice) & named) != 0 || twice != 0) continue;
                    const auto r = range_of(n.operands[d], axes);
                    if (r.low < 0 || r.high >= static_cast<double>(source.axes[d].extent))
                        outside = "dimension " + std::to_string(d) + " of " + source.name + " has extent " + std::to_string(source.axes[d].extent) +
                                  ", is read from " + std::to_string(static_cast<long long>(r.low)) + " to " +
                                  std::to_string(static_cast<long long>(r.high));
                }
            });
            if (!outside.empty()) return error{errc::shape_mismatch, location(i) + outside};
        }
        return {};
    }

    /// Enlarges computed tensors to cover all reads.
    void grow() {
        for (std::size_t i = dag_->ops.size(); i-- > 0;) {
            if (dag_->ops[i].placeholder()) continue;
            reads(i, [&](const loopnest::expr_node& n, const std::vector<index_range>& axes, std::uint64_t) {
                auto& source = dag_->ops[static_cast<std::size_t>(n.integer)];
                for (std::size_t d = 0; d < n.operands.size() && !source.placeholder(); ++d) {
                    const double need = range_of(n.operands[d], axes).high + 1;
                    if (need <= tvm_max_extent) source.axes[d].extent = (std::max)(source.axes[d].extent, static_cast<std::int64_t>(need));
                }
            });
        }
    }

private:
    /// Range [begin, end) of a padded axis that has data. end 0: not padded.
    struct data_part {
        double begin = 0, end = 0;
    };
    loopnest::compute_dag* dag_;
    std::vector<std::string>* assumed_;
    std::vector<std::vector<data_part>> data_;

    [[nodiscard]] std::string location(std::size_t i) const { return "operation " + std::to_string(i + 1) + " (" + dag_->ops[i].name + "): "; }
    [[nodiscard]] bool unknown(std::size_t i, std::size_t a) const { return dag_->ops[i].axis(a).extent == 0; }
    void set(std::size_t i, std::size_t a, double extent) {
        auto& op = dag_->ops[i]; // an extent out of range becomes -1, which `check` refuses
        (a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()]).extent =
            extent >= 1 && extent <= tvm_max_extent ? static_cast<std::int64_t>(extent) : -1;
    }
    template <class F>
    void reads(std::size_t i, F&& f) const {
        const auto& op = dag_->ops[i];
        std::vector<index_range> axes;
        for (std::size_t a = 0; a < op.axis_count(); ++a)
            axes.push_back({0, unknown(i, a) ? std::numeric_limits<double>::infinity() : static_cast<double>(op.axis(a).extent - 1)});
        for_each_read(op.body, axes, 0, f);
    }

    /// Infers axes from the tensors they index. An axis that is an index by itself covers the dimension; the axis of floordiv(axis, c) covers c
    /// times the dimension. If a condition contains the axis, the axis is padded, and the condition gives the range that has data.
    bool from_producers() {
        bool changed = false;
        for (std::size_t i = 0; i < dag_->ops.size(); ++i) {
            if (dag_->ops[i].placeholder()) continue;
            reads(i, [&](const loopnest::expr_node& n, const std::vector<index_range>& axes, std::uint64_t named) {
                const auto& source = dag_->ops[static_cast<std::size_t>(n.integer)];
                for (std::size_t d = 0; d < n.operands.size(); ++d) {
                    const auto& index = n.operands[d];
                    const auto bits = axes_in(index);
                    if (bits == 0 || (bits & (bits - 1)) != 0) continue;
                    std::size_t a = 0;
                    while ((bits >> a & 1U) == 0) ++a;
                    if (!unknown(i, a)) continue;
                    const auto extent = static_cast<double>(source.axes[d].extent);
                    if ((named >> a & 1U) != 0) {
                        if (slope_of(index, a) != 1.0 || a >= data_[i].size()) continue;
                        auto at_zero = axes;
                        at_zero[a] = {0, 0};
                        const double shift = range_of(index, at_zero).low;
                        const double end = extent > 0 ? (std::min)(axes[a].high + 1, extent - shift) : axes[a].high + 1;
                        if (std::isfinite(end)) data_[i][a] = {(std::max)(axes[a].low, -shift), end};
                    } else if (extent > 0 && index->op == loopnest::expr_op::axis) {
                        set(i, a, extent);
                        changed = true;
                    } else if (extent > 0 && index->op == loopnest::expr_op::floor_div && index->operands[0]->op == loopnest::expr_op::axis) {
                        set(i, a, extent * static_cast<double>(index->operands[1]->integer));
                        changed = true;
                    }
                }
            });
        }
        return changed;
    }

    /// Infers the dimensions of a tensor from its readers: the largest index plus one, or the size with equal padding on both sides if that is
    /// larger. Handles one operation per call, the last one first.
    bool from_consumers() {
        std::vector<std::vector<double>> need(dag_->ops.size());
        for (std::size_t i = 0; i < need.size(); ++i) need[i].resize(dag_->ops[i].axes.size());
        for (std::size_t i = 0; i < need.size(); ++i) {
            if (dag_->ops[i].placeholder()) continue;
            reads(i, [&](const loopnest::expr_node& n, const std::vector<index_range>& axes, std::uint64_t) {
                auto& sizes = need[static_cast<std::size_t>(n.integer)];
                for (std::size_t d = 0; d < sizes.size(); ++d) sizes[d] = (std::max)(sizes[d], range_of(n.operands[d], axes).high + 1);
            });
        }
        for (std::size_t i = need.size(); i-- > 0;) {
            bool changed = false;
            for (std::size_t a = 0; a < need[i].size(); ++a) {
                if (!unknown(i, a) || need[i][a] < 1 || !std::isfinite(need[i][a])) continue;
                const auto& part = data_[i][a];
                const double alike = part.end > 0 ? part.begin + part.end : 0;
                set(i, a, (std::max)(need[i][a], alike));
                if (need[i][a] < alike)
                    assumed_->push_back(location(i) + "axis " + dag_->ops[i].axis(a).name + " is taken to be padded alike on both sides, to " +
                                        std::to_string(dag_->ops[i].axis(a).extent));
                changed = true;
            }
            if (changed) return true;
        }
        return false;
    }

    /// Infers an unknown axis next to known axes in an index: it reaches to the end of the dimension. For a window with stride s, any of s sizes
    /// gives the known output extent. The smallest size that reaches the last element of the data is taken; if there is padding after the data but
    /// not before it, the smallest size that reaches the first element of that padding.
    bool from_windows() {
        for (std::size_t i = 0; i < dag_->ops.size(); ++i) {
            if (dag_->ops[i].placeholder()) continue;
            bool changed = false;
            reads(i, [&](const loopnest::expr_node& n, const std::vector<index_range>& axes, std::uint64_t named) {
                for (std::size_t d = 0; d < n.operands.size(); ++d) changed = changed || window(i, n, d, axes, named);
            });
            if (changed) return true;
        }
        return false;
    }

    /// Window size from a reader of operation `i`: average pooling divides by the number of averaged elements,
    /// `min(last index, end) - first index + 1`. 0: no reader gives the size.
    [[nodiscard]] double window_from_reader(std::size_t i, const loopnest::expr& index, std::size_t u, std::vector<index_range> axes,
                                            double begin) const {
        double found = 0;
        for (std::size_t j = i + 1; j < dag_->ops.size(); ++j) {
            if (dag_->ops[j].placeholder()) continue;
            std::vector<loopnest::expr> read;
            walk(dag_->ops[j].body, [&](const loopnest::expr_node& n) {
                if (n.op == loopnest::expr_op::read && static_cast<std::size_t>(n.integer) == i) read = n.operands;
            });
            for (std::size_t a = 0; a < read.size(); ++a) {
                const auto slope = slope_of(index, a);
                if (read[a]->op != loopnest::expr_op::axis || !slope || *slope < 1 || slope_of(index, u) != 1.0) continue;
                axes[a] = {0, 0};
                const auto axis = static_cast<std::size_t>(read[a]->integer);
                std::vector<index_range> zero(dag_->ops[j].axis_count());
                walk(dag_->ops[j].body, [&](const loopnest::expr_node& n) {
                    if (n.op != loopnest::expr_op::min || n.operands[1]->op != loopnest::expr_op::integer ||
                        axes_in(n.operands[0]) != std::uint64_t{1} << axis)
                        return;
                    if (slope_of(n.operands[0], axis) == slope) found = range_of(n.operands[0], zero).low - (range_of(index, axes).low - begin) + 1;
                });
            }
        }
        return found;
    }

    bool window(std::size_t i, const loopnest::expr_node& read, std::size_t d, std::vector<index_range> axes, std::uint64_t named) {
        const auto& op = dag_->ops[i];
        const auto& index = read.operands[d];
        const auto bits = axes_in(index);
        std::size_t u = op.axis_count();
        for (std::size_t a = 0; a < op.axis_count(); ++a) {
            if ((bits >> a & 1U) == 0 || !unknown(i, a)) continue;
            if (u != op.axis_count()) return false; // two unknown axes
            u = a;
        }
        if (u == op.axis_count() || (named >> u & 1U) != 0) return false;
        const auto slope = slope_of(index, u);
        if (!slope || *slope < 1) return false;
        const auto from = static_cast<std::size_t>(read.integer);
        const auto& part = data_[from][d];
        const bool padded = unknown(from, d) && part.end > 0;
        const double extent = padded ? part.begin + part.end : static_cast<double>(dag_->ops[from].axes[d].extent);
        if (extent < 1) return false;
        axes[u] = {0, 0};
        const double rest = range_of(index, axes).high; // position of the last window at its first element
        if (!std::isfinite(rest)) return false;
        double stride = std::numeric_limits<double>::infinity();
        for (std::size_t a = 0; a < op.axes.size(); ++a)
            if (a != u && (bits >> a & 1U) != 0)
                if (const auto s = slope_of(index, a); s && *s > 0) stride = (std::min)(stride, *s);
        const double reach = part.end > 0 && padded ? (part.begin > 0 ? part.end - 1 : part.end) : extent - 1;
        double most = std::floor((extent - 1 - rest) / *slope) + 1;
        double taken = most;
        double least = most;
        if (u >= op.axes.size()) {
            least = (std::max)(1.0, std::ceil((extent - rest - stride) / *slope) + 1);
            taken = std::ceil((reach - rest) / *slope) + 1;
            if (padded && part.begin <= 0) most = (std::max)(most, taken);
            taken = (std::min)((std::max)(taken, least), most);
        }
        if (!(taken >= 1)) return false;
        if (const double size = window_from_reader(i, index, u, axes, part.begin); size >= least && size <= most) {
            set(i, u, size);
            return true;
        }
        set(i, u, taken);
        if (padded || least < most || rest + *slope * (taken - 1) < extent - 1)
            assumed_->push_back(location(i) + "axis " + op.axis(u).name + " is taken as " + std::to_string(op.axis(u).extent) +
                                (least < most ? ", the text allows " + std::to_string(static_cast<long long>(least)) + " to " +
                                                    std::to_string(static_cast<long long>(most))
                                              : std::string()) +
                                (padded ? ", its input padded alike on both sides" : ""));
        return true;
    }
};

} // namespace detail

/// Corrects the inferred extents of a DAG (io/tvm_dag.hpp) with those of a logged schedule. An SP (split) step has the extent of its loop; if the
/// loop is an unsplit axis of a stage at root, that is the extent of the axis. Computed tensors are then enlarged to cover all reads. Returns true
/// if an extent changed.
///
/// Errors    illegal_schedule: a step cannot be applied, or two steps have different extents for one axis;
///           shape_mismatch: a step has another extent for a placeholder, or a read is outside a placeholder. `dag` is unchanged on an error.
/// Cost      that of applying the steps
inline result<bool> adopt_extents(loopnest::compute_dag& dag, const step_list& steps) {
    loopnest::loop_state state(std::make_shared<const loopnest::compute_dag>(dag));
    loopnest::compute_dag out = dag;
    std::vector<std::size_t> origin(dag.ops.size()); // (stages) operation in `dag`; npos: the stage has other axes
    for (std::size_t i = 0; i < origin.size(); ++i) origin[i] = i;
    std::vector<std::vector<bool>> known(dag.ops.size());
    for (std::size_t i = 0; i < known.size(); ++i) known[i].resize(dag.ops[i].axis_count());
    bool changed = false;
    for (const auto& step : steps.steps) {
        const auto* split = std::get_if<split_step>(&step);
        const auto number = split != nullptr && split->stage >= 0 ? static_cast<std::size_t>(split->stage) : origin.size();
        if (number < origin.size() && origin[number] != loopnest::loop_state::npos && split->extent > 0 && split->iter >= 0) {
            const auto& stage = state.stages()[number];
            const auto i = origin[number];
            const auto iter = static_cast<std::size_t>(split->iter);
            const auto axis = iter < stage.iters.size() ? stage.iters[iter].var : loopnest::loop_state::npos;
            if (stage.placement == loopnest::stage::place::root && axis < known[i].size() && axis < state.dag().ops[number].axis_count()) {
                auto& op = out.ops[i];
                auto& extent = (axis < op.axes.size() ? op.axes[axis] : op.reduce_axes[axis - op.axes.size()]).extent;
                const auto wrong = [&](errc code) {
                    return error{code, "step " + std::to_string(state.steps().size()) + " (SP): axis " + op.axis(axis).name + " of " + op.name +
                                           " has extent " + std::to_string(extent) + ", the step has " + std::to_string(split->extent)};
                };
                if (extent != split->extent && known[i][axis]) return wrong(errc::illegal_schedule);
                if (extent != split->extent && op.placeholder()) return wrong(errc::shape_mismatch);
                changed = changed || extent != split->extent;
                extent = split->extent;
                known[i][axis] = true;
            }
        }
        if (auto done = state.apply(step); !done) return done.error();
        const auto insert = [&](std::int64_t at, std::size_t from) { origin.insert(origin.begin() + at, from); };
        if (const auto* w = std::get_if<cache_write_step>(&step)) {
            insert(w->stage, origin[static_cast<std::size_t>(w->stage)]);
        } else if (const auto* r = std::get_if<cache_read_step>(&step)) {
            insert(r->stage + 1, origin[static_cast<std::size_t>(r->stage)]);
        } else if (const auto* f = std::get_if<rfactor_step>(&step)) {
            origin[static_cast<std::size_t>(f->stage)] = loopnest::loop_state::npos;
            insert(f->stage, loopnest::loop_state::npos);
        }
    }
    if (!changed) return false;
    std::vector<std::string> none;
    detail::extent_inference inference(out, none);
    inference.grow();
    if (auto fine = inference.check(); !fine) return fine.error();
    if (auto fine = out.check(); !fine) return fine.error();
    dag = std::move(out);
    return true;
}

} // namespace augur::inline v0

#endif
