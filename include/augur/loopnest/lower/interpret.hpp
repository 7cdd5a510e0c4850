// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_LOWER_INTERPRET_HPP
#define AUGUR_LOOPNEST_LOWER_INTERPRET_HPP

/// @file
/// Interpreter for lowered kernels. It checks every access and is slow: the reference for tests of lowering and of generated C.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/expr_types.hpp>
#include <augur/loopnest/lower/lower.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class interpreter {
public:
    interpreter(const lowered_kernel& k, std::span<std::vector<float>> buffers, std::int64_t most)
        : kernel_(k), buffers_(buffers), left_(most), terms_(k.terms.size(), 0) {}

    result<void> run() {
        for (const auto n : kernel_.packing) enter(kernel_.nests[n], 0);
        for (const auto n : kernel_.roots) enter(kernel_.nests[n], 0);
        if (!problem_.empty()) return error{errc::illegal_schedule, problem_};
        return {};
    }

private:
    const lowered_kernel& kernel_;
    std::span<std::vector<float>> buffers_;
    std::int64_t left_;               ///< iterations that may still run
    std::vector<std::int64_t> terms_; ///< current value of each loop
    std::string problem_;

    [[nodiscard]] std::int64_t eval(const affine& a) const {
        std::int64_t v = a.constant;
        for (const auto& [t, f] : a.terms) {
            const auto& x = kernel_.terms[t];
            if (x.type == term_table::term::kind::loop) {
                v += f * terms_[static_cast<std::size_t>(t)];
                continue;
            }
            const auto operand = eval(x.operand);
            const auto q = floor_div(operand, x.divisor);
            v += f * (x.type == term_table::term::kind::quotient ? q : operand - q * x.divisor);
        }
        return v;
    }

    float* element(int buffer, const affine& index) {
        auto& b = buffers_[static_cast<std::size_t>(buffer)];
        const auto i = eval(index);
        if (i < 0 || static_cast<std::size_t>(i) >= b.size()) {
            if (problem_.empty())
                problem_ = "buffer " + std::to_string(buffer) + ": element " + std::to_string(i) + " of " + std::to_string(b.size());
            return nullptr;
        }
        return &b[static_cast<std::size_t>(i)];
    }

    bool truth(const lowered_expr& e) {
        switch (e.op) {
        case expr_op::less_equal: return eval(e.index) >= 0;
        case expr_op::equal: return eval(e.index) == 0;
        case expr_op::logical_and: return truth(e.operands[0]) && truth(e.operands[1]);
        case expr_op::logical_or: return truth(e.operands[0]) || truth(e.operands[1]);
        default: return false;
        }
    }

    /// @param result  what an epilogue reads as the result of its reduction
    float value(const lowered_expr& e, const float* result = nullptr) {
        const auto at = [&](std::size_t i) { return value(e.operands[i], result); };
        switch (e.op) {
        case expr_op::constant: return detail::as_float(e.value);
        case expr_op::axis: return static_cast<float>(eval(e.index));
        case expr_op::read: {
            const auto* p = e.buffer == lowered_nest::result_buffer ? result : element(e.buffer, e.index);
            return p != nullptr ? *p : 0.0F;
        }
        case expr_op::add: return at(0) + at(1);
        case expr_op::sub: return at(0) - at(1);
        case expr_op::mul: return at(0) * at(1);
        case expr_op::div: return at(0) / at(1);
        case expr_op::min: return min_of(at(0), at(1));
        case expr_op::max: return max_of(at(0), at(1));
        case expr_op::exp: return std::exp(at(0));
        case expr_op::tanh: return std::tanh(at(0));
        case expr_op::erf: return std::erf(at(0));
        case expr_op::sqrt: return std::sqrt(at(0));
        case expr_op::select: return truth(e.operands[0]) ? at(1) : at(2);
        default: return std::numeric_limits<float>::quiet_NaN();
        }
    }

    static bool moves(const lowered_nest& n, const affine& g, const term_table& terms) {
        return terms.depends(
            g, [&](int t) { return std::any_of(n.loops.begin(), n.loops.end(), [&](const lowered_loop& l) { return l.reduce && l.term == t; }); });
    }

    bool may_go_on() {
        if (left_-- <= 0 && problem_.empty()) problem_ = "more iterations than the limit of the interpreter";
        return problem_.empty();
    }

    void enter(const lowered_nest& n, std::size_t depth) {
        if (!problem_.empty()) return;
        if (depth == n.first_reduce() && n.combine != reducer::none) {
            results(n, depth, [&](float& x) { x = static_cast<float>(identity_of(n.combine)); });
            step(n, depth);
            if (n.epilogue) results(n, depth, [&](float& x) { x = value(*n.epilogue, &x); });
            return;
        }
        step(n, depth);
    }

    /// Runs the loops from `depth` on.
    void step(const lowered_nest& n, std::size_t depth) {
        if (depth == n.loops.size()) {
            for (const auto& g : n.guards)
                if (eval(g) < 0) return;
            const auto v = value(n.value);
            auto* p = element(n.buffer, n.index);
            if (p == nullptr) return;
            *p = n.combine == reducer::none ? v : combine(n.combine, *p, v);
            return;
        }
        const auto& l = n.loops[depth];
        for (std::int64_t i = 0; i < l.extent && may_go_on(); ++i) {
            if (l.term >= 0) terms_[static_cast<std::size_t>(l.term)] = i;
            for (const auto a : l.attached) {
                // fill with NaN: old values of an intermediate must not be read
                auto& b = buffers_[static_cast<std::size_t>(kernel_.nests[a].buffer)];
                b.assign(b.size(), std::numeric_limits<float>::quiet_NaN());
                enter(kernel_.nests[a], 0);
            }
            enter(n, depth + 1);
        }
    }

    /// Calls `f` for each result of the loops from `depth` on.
    template <class F>
    void results(const lowered_nest& n, std::size_t depth, const F& f) {
        if (depth == n.loops.size()) {
            for (const auto& g : n.guards)
                if (!moves(n, g, kernel_.terms) && eval(g) < 0) return;
            if (auto* p = element(n.buffer, n.index)) f(*p);
            return;
        }
        const auto& l = n.loops[depth];
        for (std::int64_t i = 0; i < (l.reduce ? 1 : l.extent) && may_go_on(); ++i) {
            if (l.term >= 0) terms_[static_cast<std::size_t>(l.term)] = i;
            results(n, depth + 1, f);
        }
    }
};

} // namespace detail

/// The default limit of `interpret`: iterations of all loops together; a run of that length takes minutes.
inline constexpr std::int64_t max_interpreted_iterations = std::int64_t{1} << 32U;

/// Runs `k` on `inputs`, one vector per placeholder in the order of the DAG, and returns one vector per output.
/// Errors: shape_mismatch (wrong size of an input); illegal_schedule (an access outside a buffer, which is a defect of lowering, or more than
/// `most` iterations).
[[nodiscard]] inline result<std::vector<std::vector<float>>> interpret(const lowered_kernel& k, std::span<const std::vector<float>> inputs,
                                                                       std::int64_t most = max_interpreted_iterations) {
    std::vector<std::vector<float>> buffers;
    for (const auto& b : k.buffers) {
        const auto i = buffers.size();
        if (b.type == lowered_buffer::kind::input) {
            if (i >= inputs.size() || inputs[i].size() != static_cast<std::size_t>(b.elements))
                return error{errc::shape_mismatch, "input " + std::to_string(i) + ": expected " + std::to_string(b.elements) + " elements"};
            buffers.push_back(inputs[i]);
        } else {
            const bool zero = b.type == lowered_buffer::kind::packed;
            buffers.emplace_back(static_cast<std::size_t>(b.elements), zero ? 0.0F : std::numeric_limits<float>::quiet_NaN());
        }
    }
    if (auto ran = detail::interpreter(k, buffers, most).run(); !ran) return ran.error();
    std::vector<std::vector<float>> out;
    for (std::size_t i = 0; i < buffers.size(); ++i)
        if (k.buffers[i].type == lowered_buffer::kind::output) out.push_back(std::move(buffers[i]));
    return out;
}

} // namespace augur::inline v0::loopnest

#endif
