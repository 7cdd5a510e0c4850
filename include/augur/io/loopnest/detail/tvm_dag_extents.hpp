// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_EXTENTS_HPP
#define AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_EXTENTS_HPP

/// @file
/// Inference of the extents that the text of a TVM compute DAG lacks: those of computed tensors and of reduce axes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/io/loopnest/detail/index_range.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::detail {

inline constexpr double tvm_max_extent = 1099511627776.0; ///< 2^40, the limit of loop_state

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

} // namespace augur::inline v0::detail

#endif
