// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_IR_DAG_HPP
#define AUGUR_LOOPNEST_IR_DAG_HPP

/// @file
/// Compute DAG of a kernel: float32 operations in topological order, producers first, each with its axes and its expression body.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::loopnest {

/// A dimension of an operation.
struct loop_axis {
    std::string name;
    std::int64_t extent = 1;
};

/// How a reduction combines its elements.
enum class reducer : std::uint8_t { none, sum, max, min };

/// What a reduction begins with. Of maximum and minimum it is the largest finite float with its sign, so a maximum of -infinities alone is that number.
constexpr double identity_of(reducer r) noexcept { return r == reducer::max ? -3.402823466e+38 : r == reducer::min ? 3.402823466e+38 : 0.0; }

/// One step of a reduction; `r` is not none. The result so far starts as `identity_of(r)` and never becomes NaN in a maximum or minimum.
template <class T>
constexpr T combine(reducer r, T so_far, T element) noexcept {
    return r == reducer::sum ? so_far + element : r == reducer::max ? max_of(element, so_far) : min_of(element, so_far);
}

/// An operation and the tensor that it computes. Readers refer to the tensor by `id`, which does not change when stages are inserted.
struct operation {
    int id = 0;
    std::string name;
    std::vector<loop_axis> axes;        ///< the shape of the tensor
    std::vector<loop_axis> reduce_axes; ///< numbered after `axes` in the body
    reducer combine = reducer::none;
    expr body;                               ///< empty for a placeholder, whose tensor the caller fills
    bool constant = false;                   ///< a placeholder with equal contents in all calls; lowering may change its layout
    bool inline_always = false;              ///< e.g. a rearrangement of a constant, which a compiler folds
    std::vector<std::string> constant_index; ///< names of axes that index only constants (Winograd); the sketch rule unrolls their loops

    [[nodiscard]] bool placeholder() const noexcept { return !body; }
    [[nodiscard]] std::int64_t elements() const noexcept {
        std::int64_t n = 1;
        for (const auto& a : axes) n *= a.extent;
        return n;
    }
    [[nodiscard]] const loop_axis& axis(std::size_t i) const { return i < axes.size() ? axes[i] : reduce_axes[i - axes.size()]; }
    [[nodiscard]] std::size_t axis_count() const noexcept { return axes.size() + reduce_axes.size(); }
};

/// The operations of a kernel in topological order. A copy shares the expression trees of the bodies.
class compute_dag {
public:
    std::vector<operation> ops;

    /// The index of tensor `id` in `ops`; `ops.size()` when there is none.
    [[nodiscard]] std::size_t index_of(int id) const {
        return static_cast<std::size_t>(std::find_if(ops.begin(), ops.end(), [&](const operation& o) { return o.id == id; }) - ops.begin());
    }
    [[nodiscard]] int fresh_id() const {
        int id = 0;
        for (const auto& o : ops) id = (std::max)(id, o.id + 1);
        return id;
    }

    /// Appends a placeholder and returns its tensor id.
    int input(std::string name, const std::vector<std::int64_t>& shape, bool constant = false) {
        operation op;
        op.id = fresh_id();
        op.name = std::move(name);
        op.constant = constant;
        for (std::size_t i = 0; i < shape.size(); ++i) op.axes.push_back({"i" + std::to_string(i), shape[i]});
        ops.push_back(std::move(op));
        return ops.back().id;
    }

    /// Appends a computed tensor and returns its id. The body refers to axis i as `ex::axis(i)`; reduce axes are numbered after the space axes.
    int compute(std::string name, std::vector<loop_axis> axes, expr body, std::vector<loop_axis> reduce_axes = {}, reducer combine = reducer::none) {
        operation op;
        op.id = fresh_id();
        op.name = std::move(name);
        op.axes = std::move(axes);
        op.reduce_axes = std::move(reduce_axes);
        op.combine = combine;
        op.body = std::move(body);
        ops.push_back(std::move(op));
        return ops.back().id;
    }

    /// The operations (indices in `ops`) that read operation `index`, ascending.
    [[nodiscard]] std::vector<std::size_t> consumers(std::size_t index) const {
        std::vector<std::size_t> out;
        for (std::size_t i = index + 1; i < ops.size(); ++i) {
            if (ops[i].placeholder()) continue;
            bool reads = false;
            walk(ops[i].body, [&](const expr_node& n) { reads = reads || (n.op == expr_op::read && n.integer == ops[index].id); });
            if (reads) out.push_back(i);
        }
        return out;
    }
    /// True for a computed tensor that no operation reads: a result of the kernel.
    [[nodiscard]] bool is_output(std::size_t index) const { return !ops[index].placeholder() && consumers(index).empty(); }

    /// Floating-point operations of one run. A reduction step counts one; selects and comparisons count zero.
    [[nodiscard]] double flops() const {
        double total = 0;
        for (const auto& op : ops) {
            if (op.placeholder()) continue;
            double each = op.combine == reducer::none ? 0 : 1;
            walk(op.body, [&](const expr_node& n) {
                switch (n.op) {
                case expr_op::add:
                case expr_op::sub:
                case expr_op::mul:
                case expr_op::min:
                case expr_op::max: each += n.is_index() ? 0 : 1; break;
                case expr_op::div:
                case expr_op::exp:
                case expr_op::tanh:
                case expr_op::erf:
                case expr_op::sqrt: each += 1; break;
                default: break;
                }
            });
            double points = 1;
            for (std::size_t i = 0; i < op.axis_count(); ++i) points *= static_cast<double>(op.axis(i).extent);
            total += points * each;
        }
        return total;
    }

    /// Evaluations of `function` (exp, tanh, erf, sqrt or div) that one run needs at least: each occurrence counts once for each combination of the axes
    /// on which its operands depend, and not at all if it divides by a constant.
    [[nodiscard]] double evaluations(expr_op function) const {
        double total = 0;
        for (const auto& op : ops) {
            if (op.placeholder()) continue;
            walk(op.body, [&](const expr_node& n) {
                if (n.op != function || n.is_index() || (function == expr_op::div && n.operands[1]->op == expr_op::constant)) return;
                std::vector<bool> used(op.axis_count(), false);
                for (const auto& operand : n.operands)
                    walk(operand, [&](const expr_node& x) {
                        if (x.op == expr_op::axis) used[static_cast<std::size_t>(x.integer)] = true;
                    });
                double points = 1;
                for (std::size_t a = 0; a < used.size(); ++a)
                    if (used[a]) points *= static_cast<double>(op.axis(a).extent);
                total += points;
            });
        }
        return total;
    }

    /// Validates a DAG from a user: extents are positive, products fit into int64, axes and tensors exist, and reads have the right rank.
    /// Errors: shape_mismatch, limit (more than 1e15 points in one operation).
    [[nodiscard]] result<void> check() const {
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const auto& op = ops[i];
            double points = 1;
            for (std::size_t a = 0; a < op.axis_count(); ++a) {
                if (op.axis(a).extent < 1)
                    return error{errc::shape_mismatch,
                                 op.name + ": extent of axis " + op.axis(a).name + ": expected at least 1, got " + std::to_string(op.axis(a).extent)};
                points *= static_cast<double>(op.axis(a).extent);
            }
            if (points > 1e15) return error{errc::limit, op.name + ": more than 1e15 points"};
            if (op.placeholder()) continue;
            if ((op.combine == reducer::none) != op.reduce_axes.empty())
                return error{errc::shape_mismatch, op.name + ": expected reduce axes and a reducer, or neither"};
            if (!is_whole(op.body)) return error{errc::shape_mismatch, op.name + ": an expression without an operand that it needs"};
            std::string problem;
            walk(op.body, [&](const expr_node& n) {
                if (n.op == expr_op::axis && (n.integer < 0 || static_cast<std::size_t>(n.integer) >= op.axis_count()))
                    problem = "expected an axis number below " + std::to_string(op.axis_count()) + ", got " + std::to_string(n.integer);
                if (n.op == expr_op::floor_div || n.op == expr_op::floor_mod)
                    if (n.operands[1]->op != expr_op::integer || n.operands[1]->integer < 1)
                        problem = "expected a positive integer constant as divisor";
                if (n.op == expr_op::read) {
                    const auto at = index_of(static_cast<int>(n.integer));
                    if (at >= i) problem = "expected reads of earlier tensors, got tensor id " + std::to_string(n.integer);
                    else if (ops[at].axes.size() != n.operands.size())
                        problem = "reads " + ops[at].name + ": expected " + std::to_string(ops[at].axes.size()) + " indices, got " +
                                  std::to_string(n.operands.size());
                }
            });
            if (!problem.empty()) return error{errc::shape_mismatch, op.name + ": " + problem};
        }
        if (ops.empty() || ops.back().placeholder()) return error{errc::shape_mismatch, "a kernel must end with a computed tensor"};
        return {};
    }

    /// Whether no operand of an expression is empty, and a division has two.
    [[nodiscard]] static bool is_whole(const expr& e) {
        if (!e || ((e->op == expr_op::floor_div || e->op == expr_op::floor_mod) && e->operands.size() != 2)) return false;
        return std::all_of(e->operands.begin(), e->operands.end(), is_whole);
    }

    /// Cache write (CHW): inserts at `index` a stage `<name>.<scope>` that computes the values; the tensor itself becomes a copy of it, at index+1.
    void cache_write(std::size_t index, std::string_view scope) {
        operation cached = ops[index];
        cached.id = fresh_id();
        cached.name += "." + std::string(scope);
        auto& copy = ops[index];
        copy.reduce_axes.clear();
        copy.combine = reducer::none;
        copy.constant_index.clear();
        copy.body = ex::read(cached.id, identity(copy));
        ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(index), std::move(cached));
    }

    /// Cache read (CHR): inserts after `index` a stage `<name>.<scope>` that copies it; `readers` (indices before the insertion) read the copy.
    void cache_read(std::size_t index, std::string_view scope, const std::vector<std::size_t>& readers) {
        operation copy;
        copy.id = fresh_id();
        copy.name = ops[index].name + "." + std::string(scope);
        copy.axes = ops[index].axes;
        copy.body = ex::read(ops[index].id, identity(copy));
        for (const auto r : readers) {
            ops[r].body = rewrite(ops[r].body, [&](const expr_node& n, const std::vector<expr>& operands) {
                return n.op == expr_op::read && n.integer == ops[index].id ? ex::read(copy.id, operands) : expr();
            });
        }
        ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(copy));
    }

    /// `ex::axis(0) ... ex::axis(n-1)` for the space axes of `op`.
    static std::vector<expr> identity(const operation& op) {
        std::vector<expr> out;
        for (std::size_t i = 0; i < op.axes.size(); ++i) out.push_back(ex::axis(static_cast<std::int64_t>(i)));
        return out;
    }
};

} // namespace augur::inline v0::loopnest

#endif
