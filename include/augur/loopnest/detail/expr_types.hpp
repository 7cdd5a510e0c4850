// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_EXPR_TYPES_HPP
#define AUGUR_LOOPNEST_DETAIL_EXPR_TYPES_HPP

/// @file
/// Type check of operation bodies: which expressions are float32 values, indices or conditions.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::loopnest::detail {

enum class expr_sort : std::uint8_t { value, index, condition };

/// True if `e` is a well-formed expression of sort `wanted`, down to its leaves. An index is also a value.
inline bool has_sort(const expr& e, expr_sort wanted) {
    if (!e) return false;
    const auto all = [&](std::size_t n, expr_sort s) {
        if (e->operands.size() != n) return false;
        for (const auto& o : e->operands)
            if (!has_sort(o, s)) return false;
        return true;
    };
    const bool index = wanted == expr_sort::index;
    switch (e->op) {
    case expr_op::integer:
    case expr_op::axis: return wanted != expr_sort::condition && e->operands.empty();
    case expr_op::floor_div:
    case expr_op::floor_mod:
        return wanted != expr_sort::condition && all(2, expr_sort::index) && e->operands[1]->op == expr_op::integer && e->operands[1]->integer > 0;
    case expr_op::add:
    case expr_op::sub:
    case expr_op::mul:
    case expr_op::min:
    case expr_op::max: return wanted != expr_sort::condition && all(2, wanted);
    case expr_op::constant: return wanted == expr_sort::value && e->operands.empty();
    case expr_op::read: return wanted == expr_sort::value && all(e->operands.size(), expr_sort::index);
    case expr_op::div: return wanted == expr_sort::value && all(2, expr_sort::value);
    case expr_op::exp:
    case expr_op::tanh:
    case expr_op::erf:
    case expr_op::sqrt: return wanted == expr_sort::value && all(1, expr_sort::value);
    case expr_op::select:
        return !index && wanted == expr_sort::value && e->operands.size() == 3 && has_sort(e->operands[0], expr_sort::condition) &&
               has_sort(e->operands[1], expr_sort::value) && has_sort(e->operands[2], expr_sort::value);
    case expr_op::less:
    case expr_op::less_equal:
    case expr_op::equal: return wanted == expr_sort::condition && all(2, expr_sort::index);
    case expr_op::logical_and:
    case expr_op::logical_or: return wanted == expr_sort::condition && all(2, expr_sort::condition);
    }
    return false;
}

/// The float32 value of a constant; values out of range become infinity.
inline float as_float(double v) noexcept {
    constexpr auto limit = static_cast<double>((std::numeric_limits<float>::max)());
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    return v > limit ? infinity : v < -limit ? -infinity : static_cast<float>(v);
}

/// Checks in addition to `compute_dag::check`: each body is a well-formed value, and tensor ids are unique.
inline result<void> check_bodies(const compute_dag& dag) {
    if (auto checked = dag.check(); !checked) return checked;
    for (std::size_t i = 0; i < dag.ops.size(); ++i)
        if (dag.ops[i].id < 0 || dag.ops[i].id > 1'000'000 || dag.index_of(dag.ops[i].id) != i)
            return error{errc::shape_mismatch,
                         dag.ops[i].name + ": tensor id " + std::to_string(dag.ops[i].id) + " is used twice, or not within 0 and 1000000"};
    for (const auto& op : dag.ops)
        if (!op.placeholder() && !has_sort(op.body, expr_sort::value))
            return error{errc::shape_mismatch, op.name + ": the body is not a float32 value, or some node has the wrong operands"};
    return {};
}

} // namespace augur::inline v0::loopnest::detail

#endif
