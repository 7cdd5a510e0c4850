// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_LOOPNEST_DETAIL_INDEX_RANGE_HPP
#define AUGUR_IO_LOOPNEST_DETAIL_INDEX_RANGE_HPP

/// @file
/// Interval arithmetic on the index expressions of a compute DAG.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::detail {

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

} // namespace augur::inline v0::detail

#endif
