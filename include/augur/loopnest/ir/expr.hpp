// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_IR_EXPR_HPP
#define AUGUR_LOOPNEST_IR_EXPR_HPP

/// @file
/// Immutable expression trees: the formula of one element of a tensor.
///
/// Values are IEEE 754 single precision: NaN, infinities and denormals pass through, whatever the schedule. The rules where that leaves a choice:
/// - `min` and `max` of floats are `min_of` and `max_of`: if an operand is NaN, the result is the second one. So relu, max(x, 0), of NaN is 0, and
///   relu6 is 6.
/// - A reduction by max or min combines by `max_of(element, result so far)`: it skips NaN, in any order, and is `identity_of` if nothing is left.
/// - exp, and what contains it, is 0 instead of a denormal result, below 2^-126.5.
/// - A quotient by a number that many results share, as in a softmax, may be a product with its reciprocal: it differs by a unit in the last place. The
///   divisor is expected between 2^-126 and 2^126; the reciprocal of a lesser one is an infinity.
/// - An intermediate that overflows single precision is an infinity, except where the schedule's code keeps it wider, as in a fused multiply-add.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0::loopnest {

/// Operators of an expression node. Index operators yield int64, all others float32 values or conditions.
enum class expr_op : std::uint8_t {
    constant, ///< float32 `value`
    integer,  ///< int64 `integer`
    axis,     ///< the loop axis `integer` of the operation: its space axes first, then its reduce axes
    read,     ///< the element of tensor `integer` at the indices `operands`
    // on floats, or on integers when both operands are indices
    add,
    sub,
    mul,
    min, ///< of floats: `min_of`
    max, ///< of floats: `max_of`
    // on indices, rounding to minus infinity; the divisor is a positive integer constant
    floor_div,
    floor_mod,
    // on floats
    div,
    exp,
    tanh,
    erf,
    sqrt,
    // conditions on indices, and operators that combine or use them
    less,
    less_equal,
    equal,
    logical_and,
    logical_or,
    select, ///< operands: condition, value if true, value if false; evaluates only the chosen value
};

/// The lesser and the greater of two values; `b` if one is NaN. One instruction on x86.
template <class T>
constexpr T min_of(T a, T b) noexcept {
    return a < b ? a : b;
}
template <class T>
constexpr T max_of(T a, T b) noexcept {
    return a > b ? a : b;
}

struct expr_node;

/// A shared immutable expression. Copying is cheap; a default-constructed one is empty.
class expr {
public:
    expr() = default;
    explicit expr(std::shared_ptr<const expr_node> node) : node_(std::move(node)) {}
    explicit operator bool() const noexcept { return node_ != nullptr; }
    const expr_node& operator*() const { return *node_; }
    const expr_node* operator->() const { return node_.get(); }

private:
    std::shared_ptr<const expr_node> node_;
};

struct expr_node {
    expr_op op{};
    double value = 0;
    std::int64_t integer = 0;
    std::vector<expr> operands;

    [[nodiscard]] bool is_index() const noexcept {
        switch (op) {
        case expr_op::integer:
        case expr_op::axis:
        case expr_op::floor_div:
        case expr_op::floor_mod: return true;
        case expr_op::add:
        case expr_op::sub:
        case expr_op::mul:
        case expr_op::min:
        case expr_op::max: return operands[0]->is_index() && operands[1]->is_index();
        default: return false;
        }
    }
};

/// Builder functions. The namespace `ex` keeps their short names away from a host that writes `using namespace augur`.
namespace ex {

inline expr make(expr_op op, std::vector<expr> operands, double value = 0, std::int64_t integer = 0) {
    return expr(std::make_shared<const expr_node>(expr_node{op, value, integer, std::move(operands)}));
}
inline expr constant(double v) { return make(expr_op::constant, {}, v); }
inline expr integer(std::int64_t v) { return make(expr_op::integer, {}, 0, v); }
inline expr axis(std::int64_t i) { return make(expr_op::axis, {}, 0, i); }
inline expr read(int tensor, std::vector<expr> indices) { return make(expr_op::read, std::move(indices), 0, tensor); }
inline expr floor_div(expr a, std::int64_t b) { return make(expr_op::floor_div, {std::move(a), integer(b)}); }
inline expr floor_mod(expr a, std::int64_t b) { return make(expr_op::floor_mod, {std::move(a), integer(b)}); }
inline expr min(expr a, expr b) { return make(expr_op::min, {std::move(a), std::move(b)}); }
inline expr max(expr a, expr b) { return make(expr_op::max, {std::move(a), std::move(b)}); }
inline expr exp(expr a) { return make(expr_op::exp, {std::move(a)}); }
inline expr tanh(expr a) { return make(expr_op::tanh, {std::move(a)}); }
inline expr erf(expr a) { return make(expr_op::erf, {std::move(a)}); }
inline expr sqrt(expr a) { return make(expr_op::sqrt, {std::move(a)}); }
inline expr less(expr a, expr b) { return make(expr_op::less, {std::move(a), std::move(b)}); }
inline expr less_equal(expr a, expr b) { return make(expr_op::less_equal, {std::move(a), std::move(b)}); }
inline expr equal(expr a, expr b) { return make(expr_op::equal, {std::move(a), std::move(b)}); }
inline expr both(expr a, expr b) { return make(expr_op::logical_and, {std::move(a), std::move(b)}); }
inline expr either(expr a, expr b) { return make(expr_op::logical_or, {std::move(a), std::move(b)}); }
inline expr select(expr c, expr a, expr b) { return make(expr_op::select, {std::move(c), std::move(a), std::move(b)}); }

} // namespace ex

inline expr operator+(expr a, expr b) { return ex::make(expr_op::add, {std::move(a), std::move(b)}); }
inline expr operator-(expr a, expr b) { return ex::make(expr_op::sub, {std::move(a), std::move(b)}); }
inline expr operator*(expr a, expr b) { return ex::make(expr_op::mul, {std::move(a), std::move(b)}); }
inline expr operator/(expr a, expr b) { return ex::make(expr_op::div, {std::move(a), std::move(b)}); }

/// Calls `f(node)` for every node, parents first.
template <class F>
void walk(const expr& e, F&& f) {
    f(*e);
    for (const auto& child : e->operands) walk(child, f);
}

/// Rebuilds an expression bottom-up with `f(node, new operands) -> expr`; an empty result keeps the node, with its new operands.
/// Unchanged subtrees are shared.
template <class F>
expr rewrite(const expr& e, F&& f) {
    std::vector<expr> operands;
    operands.reserve(e->operands.size());
    bool same = true;
    for (const auto& child : e->operands) {
        operands.push_back(rewrite(child, f));
        same = same && &*operands.back() == &*child;
    }
    if (expr out = f(*e, operands)) return out;
    return same ? e : ex::make(e->op, std::move(operands), e->value, e->integer);
}

/// `e` with axis i replaced by `axes[i]`.
inline expr substitute_axes(const expr& e, const std::vector<expr>& axes) {
    return rewrite(
        e, [&](const expr_node& n, const std::vector<expr>&) { return n.op == expr_op::axis ? axes[static_cast<std::size_t>(n.integer)] : expr(); });
}

} // namespace augur::inline v0::loopnest

#endif
