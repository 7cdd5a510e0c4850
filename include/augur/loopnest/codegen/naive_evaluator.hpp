// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_NAIVE_EVALUATOR_HPP
#define AUGUR_LOOPNEST_CODEGEN_NAIVE_EVALUATOR_HPP

/// @file
/// Evaluates a compute DAG without a schedule, point by point and in double precision: the reference for kernels of small shapes.
///
/// Independent of the C of `codegen/naive_program.hpp`, which is the reference for the shapes that are measured.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/expr_types.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// Evaluates operations point by point. Index arithmetic wraps, so an overflow is harmless until the bounds check.
class point_evaluator {
public:
    point_evaluator(const compute_dag& dag, std::span<std::vector<float>> tensors) : dag_(dag), tensors_(tensors) {
        for (std::size_t i = 0; i < dag.ops.size(); ++i) {
            const auto id = static_cast<std::size_t>(dag.ops[i].id);
            if (id >= place_.size()) place_.resize(id + 1, 0);
            place_[id] = i;
        }
    }

    /// Computes operation `at` from its inputs; returns false after a read outside a tensor.
    bool run(std::size_t at) {
        const auto& op = dag_.ops[at];
        point_.assign(op.axis_count(), 0);
        std::size_t element = 0;
        do {
            double sum = identity_of(op.combine);
            do {
                const double v = value(*op.body);
                sum = op.combine == reducer::none ? v : combine(op.combine, sum, v);
            } while (advance(op, op.axes.size(), op.axis_count()));
            tensors_[at][element++] = as_float(sum);
        } while (in_bounds_ && advance(op, 0, op.axes.size()));
        return in_bounds_;
    }

private:
    const compute_dag& dag_;
    std::span<std::vector<float>> tensors_;
    std::vector<std::size_t> place_; ///< index in dag.ops of each tensor id
    std::vector<std::int64_t> point_;
    bool in_bounds_ = true;

    /// Advances to the next point over the axes [first, last), the last axis fastest; returns false after the last point.
    bool advance(const operation& op, std::size_t first, std::size_t last) {
        for (std::size_t a = last; a-- > first;) {
            if (++point_[a] < op.axis(a).extent) return true;
            point_[a] = 0;
        }
        return false;
    }

    static std::int64_t wrapped(expr_op op, std::int64_t a, std::int64_t b) {
        const auto x = static_cast<std::uint64_t>(a);
        const auto y = static_cast<std::uint64_t>(b);
        return static_cast<std::int64_t>(op == expr_op::add ? x + y : op == expr_op::sub ? x - y : x * y);
    }

    [[nodiscard]] std::int64_t index(const expr_node& n) const {
        switch (n.op) {
        case expr_op::integer: return n.integer;
        case expr_op::axis: return point_[static_cast<std::size_t>(n.integer)];
        default: break;
        }
        const auto a = index(*n.operands[0]);
        const auto b = index(*n.operands[1]);
        switch (n.op) {
        case expr_op::min: return a < b ? a : b;
        case expr_op::max: return a > b ? a : b;
        case expr_op::floor_div: return a / b - (a % b < 0 ? 1 : 0);
        case expr_op::floor_mod: return a % b < 0 ? a % b + b : a % b;
        default: return wrapped(n.op, a, b);
        }
    }

    [[nodiscard]] bool holds(const expr_node& n) const {
        switch (n.op) {
        case expr_op::logical_and: return holds(*n.operands[0]) && holds(*n.operands[1]);
        case expr_op::logical_or: return holds(*n.operands[0]) || holds(*n.operands[1]);
        case expr_op::less: return index(*n.operands[0]) < index(*n.operands[1]);
        case expr_op::less_equal: return index(*n.operands[0]) <= index(*n.operands[1]);
        default: return index(*n.operands[0]) == index(*n.operands[1]);
        }
    }

    double read(const expr_node& n) {
        const auto at = place_[static_cast<std::size_t>(n.integer)];
        const auto& axes = dag_.ops[at].axes;
        std::int64_t flat = 0;
        for (std::size_t a = 0; a < axes.size(); ++a) {
            const auto i = index(*n.operands[a]);
            if (i < 0 || i >= axes[a].extent) {
                in_bounds_ = false;
                return 0;
            }
            flat = flat * axes[a].extent + i;
        }
        return static_cast<double>(tensors_[at][static_cast<std::size_t>(flat)]);
    }

    double value(const expr_node& n) {
        const auto operand = [&](std::size_t i) { return value(*n.operands[i]); };
        switch (n.op) {
        case expr_op::constant: return static_cast<double>(as_float(n.value));
        case expr_op::read: return read(n);
        case expr_op::select: return holds(*n.operands[0]) ? operand(1) : operand(2);
        case expr_op::div: return operand(0) / operand(1);
        case expr_op::exp: return std::exp(operand(0));
        case expr_op::tanh: return std::tanh(operand(0));
        case expr_op::erf: return std::erf(operand(0));
        case expr_op::sqrt: return std::sqrt(operand(0));
        default: break;
        }
        if (n.is_index()) return static_cast<double>(index(n));
        const double a = operand(0);
        const double b = operand(1);
        switch (n.op) {
        case expr_op::add: return a + b;
        case expr_op::sub: return a - b;
        case expr_op::mul: return a * b;
        case expr_op::min: return min_of(a, b);
        default: return max_of(a, b);
        }
    }
};

} // namespace detail

/// Computes every operation of `dag` point by point. Sums are in double; each element of each tensor is rounded to float.
///
/// @param tensors  one per operation, in the order of `dag.ops`, row-major; placeholders are inputs, the others are resized and overwritten
/// Errors: those of `dag.check`; shape_mismatch if a placeholder's buffer has the wrong size or a body reads outside a tensor; limit for a tensor
/// of more than 2^31 elements. No DAG can cause an access outside the tensors.
/// Cost: about 10 ns per node of the body and point.
inline result<void> evaluate(const compute_dag& dag, std::span<std::vector<float>> tensors) {
    if (auto checked = detail::check_bodies(dag); !checked) return checked;
    if (tensors.size() != dag.ops.size())
        return error{errc::shape_mismatch, "expected " + std::to_string(dag.ops.size()) + " tensors, came " + std::to_string(tensors.size())};
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        const auto& op = dag.ops[i];
        if (op.elements() > std::int64_t{1} << 31) return error{errc::limit, op.name + ": more than 2^31 elements"};
        if (op.placeholder() && tensors[i].size() != static_cast<std::size_t>(op.elements()))
            return error{errc::shape_mismatch,
                         op.name + ": expected " + std::to_string(op.elements()) + " elements, came " + std::to_string(tensors[i].size())};
    }
    detail::point_evaluator at(dag, tensors);
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        if (dag.ops[i].placeholder()) continue;
        tensors[i].assign(static_cast<std::size_t>(dag.ops[i].elements()), 0.0F);
        if (!at.run(i)) return error{errc::shape_mismatch, dag.ops[i].name + ": reads outside a tensor"};
    }
    return {};
}

} // namespace augur::inline v0::loopnest

#endif
