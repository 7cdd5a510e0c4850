// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_LOWERED_STATEMENT_HPP
#define AUGUR_LOOPNEST_DETAIL_LOWERED_STATEMENT_HPP

/// @file
/// Translates lowered expressions to `nest_statement`. An index becomes a sum of strided quotients and remainders of loop variables; a function such
/// as exp becomes the instruction sequence of its C implementation in `program_prelude`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include <augur/loopnest/lower/lower.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0::loopnest::detail {

/// Evaluates affine expressions for given values of the loop variables.
class term_values {
public:
    explicit term_values(const term_table& terms) : terms_(terms), values_(terms.size(), 0) {}
    void set(int term, std::int64_t value) { values_[static_cast<std::size_t>(term)] = value; }
    [[nodiscard]] std::int64_t evaluate(const affine& a) const {
        std::int64_t v = a.constant;
        for (const auto& [t, f] : a.terms) {
            const auto& x = terms_[t];
            if (x.type == term_table::term::kind::loop) {
                v += f * values_[static_cast<std::size_t>(t)];
                continue;
            }
            const auto inner = evaluate(x.operand), q = floor_div(inner, x.divisor);
            v += f * (x.type == term_table::term::kind::quotient ? q : inner - q * x.divisor);
        }
        return v;
    }

private:
    const term_table& terms_;
    std::vector<std::int64_t> values_;
};

/// Builds a statement inside the loops whose terms are `open`, from the outermost.
class lowered_statement {
public:
    lowered_statement(const term_table& terms, const std::vector<int>& open) : terms_(terms), open_(open) {}

    /// The access to an element of a buffer. A quotient or remainder of a sum of several loops is applied to each loop separately; carries between
    /// them are ignored.
    [[nodiscard]] nest_access place(std::uint32_t buffer, const affine& index, bool begins = false) const {
        nest_access a{buffer, element_type::f32, index.constant, {}, begins};
        for (const auto& [t, f] : index.terms) digits(t, f, 1, 0, a);
        return a;
    }
    std::uint32_t load(const nest_access& a) { return s_.load(a); }
    void store(nest_access a, std::uint32_t v) {
        a.begins = false;
        s_.store(std::move(a), v == none ? add(instruction_class::move, {}) : v);
    }
    std::uint32_t combined(reducer r, std::uint32_t a, std::uint32_t b) {
        return add(r == reducer::sum ? instruction_class::fadd : instruction_class::fminmax, {a, b});
    }
    [[nodiscard]] nest_statement take(double share) {
        s_.share = share;
        return std::move(s_);
    }

    /// The operation that computes an epilogue from the result `v` of a reduction.
    std::uint32_t finished(const lowered_expr& epilogue, std::uint32_t v) {
        result_ = v;
        return value(epilogue);
    }

    /// The operation that computes an expression; `none` for a constant.
    std::uint32_t value(const lowered_expr& e) {
        const auto at = [&](std::size_t i) { return value(e.operands[i]); };
        const auto two = [&](instruction_class op) {
            const auto a = at(0), b = at(1);
            return a == none && b == none ? none : add(op, {a, b});
        };
        const auto one = [&](auto&& f) {
            const auto a = at(0);
            return a == none ? none : f(a);
        };
        switch (e.op) {
        case expr_op::constant: return none;
        case expr_op::axis: return add(instruction_class::convert, {});
        case expr_op::read: return e.buffer == lowered_nest::result_buffer ? result_ : load(place(static_cast<std::uint32_t>(e.buffer), e.index));
        case expr_op::add:
        case expr_op::sub: return two(instruction_class::fadd);
        case expr_op::mul: return two(instruction_class::fmul);
        case expr_op::div: return two(is_product_with_reciprocal(e) ? instruction_class::fmul : instruction_class::fdiv); // as the C writer
        case expr_op::min:
        case expr_op::max: return two(instruction_class::fminmax);
        case expr_op::sqrt: return one([&](std::uint32_t a) { return add(instruction_class::fsqrt, {a}); });
        case expr_op::exp: return one([&](std::uint32_t a) { return exponential(a); });
        case expr_op::tanh: return one([&](std::uint32_t a) { return hyperbolic(a); });
        case expr_op::erf: return one([&](std::uint32_t a) { return error_function(a); });
        case expr_op::select: { // padding: the value inside the bounds
            const auto v = at(1), w = at(2);
            return w == none ? v : add(instruction_class::select, {v, w});
        }
        default: return none;
        }
    }

private:
    static constexpr auto none = nest_operation::none;
    const term_table& terms_;
    const std::vector<int>& open_;
    nest_statement s_;
    std::uint32_t result_ = none;

    std::uint32_t add(instruction_class op, std::initializer_list<std::uint32_t> operands) { return s_.add(op, element_type::f32, operands); }
    std::uint32_t whole(std::initializer_list<std::uint32_t> operands) { return s_.add(instruction_class::ialu, element_type::i32, operands); }

    /// Adds stride * (t / divide % modulo) to the digits of an access.
    void digits(int t, std::int64_t stride, std::int64_t divide, std::int64_t modulo, nest_access& a) const {
        const auto& x = terms_[t];
        if (x.type == term_table::term::kind::loop) {
            for (std::uint32_t i = 0; i < open_.size(); ++i)
                if (open_[i] == t) a.digits.push_back({i, stride, divide, modulo});
            return;
        }
        for (const auto& [inner, factor] : x.operand.terms) { // (factor * inner) / by or % by; tiling makes factor a divisor of `by`
            const auto f = factor > 0 ? factor : 1;
            if (x.type == term_table::term::kind::quotient) {
                const auto divisor = (std::max)(x.divisor / f, std::int64_t{1}) * divide;
                digits(inner, stride * (std::max)(f / x.divisor, std::int64_t{1}), divisor, modulo, a);
            } else { // the requested digits of a remainder
                const auto period = (std::max)(x.divisor / f, std::int64_t{1});
                const auto room = (std::max)(period / divide, std::int64_t{1});
                digits(inner, stride * f, divide, modulo > 0 ? (std::min)(modulo, room) : room, a);
            }
        }
    }

    // The vector functions of program_prelude.
    std::uint32_t exponential(std::uint32_t x) {
        using enum instruction_class;
        x = add(fminmax, {x});
        const auto shifted = add(fma, {add(fminmax, {x})});
        const auto k = add(fadd, {shifted});
        x = add(fma, {add(fma, {x, k}), k});
        auto p = add(fma, {x});
        for (int i = 0; i < 4; ++i) p = add(fma, {p, x});
        p = add(fadd, {add(fma, {add(fmul, {p, x}), x})});
        return add(fmul, {p, whole({shifted})});
    }
    std::uint32_t magnitude(std::uint32_t x) { return add(instruction_class::fminmax, {x, add(instruction_class::fadd, {x})}); }
    std::uint32_t copy_sign(std::uint32_t x, std::uint32_t y) {
        using enum instruction_class;
        return add(select, {add(compare, {x}), y, add(fadd, {y})});
    }
    std::uint32_t hyperbolic(std::uint32_t x) {
        using enum instruction_class;
        const auto a = magnitude(x), e = exponential(add(fmul, {a}));
        const auto small = add(fma, {add(fmul, {add(fmul, {a, a}), a}), a});
        const auto large = add(fdiv, {add(fadd, {e}), add(fadd, {e})});
        return copy_sign(x, add(select, {add(compare, {a}), small, large}));
    }
    std::uint32_t error_function(std::uint32_t x) {
        using enum instruction_class;
        const auto a = magnitude(x), t = add(fdiv, {add(fma, {a})});
        auto y = add(fma, {t});
        for (int i = 0; i < 3; ++i) y = add(fma, {y, t});
        const auto e = exponential(add(fmul, {a, a}));
        return copy_sign(x, add(fadd, {add(fmul, {add(fmul, {y, t}), e})}));
    }
};

} // namespace augur::inline v0::loopnest::detail

#endif
