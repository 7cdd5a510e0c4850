// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_BODY_HPP
#define AUGUR_IO_LOOPNEST_DETAIL_TVM_DAG_BODY_HPP

/// @file
/// Parser of the body expression of one operation in the text of a TVM compute DAG (io/loopnest/tvm_dag.hpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/io/loopnest/detail/tvm_dag_lexer.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::detail {

/// Read of a body whose tensor is not resolved yet.
struct tvm_dag_read {
    std::string_view name, indices;
    std::size_t at, rank;
    std::size_t tensor = 0;
};

/// Recursive-descent parser of the body of one operation. The tensor id of a read expression is an index into `reads()`.
class tvm_dag_body_parser {
public:
    /// `axes`: names of the axes of the operation. `reduces`: an unknown name in an index is a reduce axis. `depth`: limit on the nesting.
    tvm_dag_body_parser(tvm_dag_lexer& in, std::vector<std::string_view> axes, bool reduces, int depth)
        : in_(in), axes_(std::move(axes)), spatial_(axes_.size()), reduces_(reduces), depth_(depth) {}

    /// Parses the rest of the line.
    bool parse(loopnest::expr& out) {
        term body;
        if (!expression(body, 1, depth_) || !value(body)) return false;
        if (!in_.at_line_end()) return in_.expected("an operator or the end of the line");
        out = std::move(body.e);
        return true;
    }
    [[nodiscard]] std::span<const std::string_view> spatial_axes() const noexcept { return std::span(axes_).first(spatial_); }
    [[nodiscard]] std::span<const std::string_view> reduce_axes() const noexcept { return std::span(axes_).subspan(spatial_); }
    [[nodiscard]] std::vector<tvm_dag_read>& reads() noexcept { return reads_; }

private:
    enum class sort : std::uint8_t { value, index, condition };
    /// Part of a body. An index is also valid as a value.
    struct term {
        loopnest::expr e;
        sort kind = sort::value;
        int height = 0;
    };

    bool value(const term& t) { return t.kind != sort::condition || in_.expected("a value, not a condition, before this"); }
    bool index(const term& t) { return t.kind == sort::index || in_.expected("an index, not a value or a condition, before this"); }

    /// Makes a term of `e`, whose operands have at most this height. Error: limit.
    bool combine(term& out, loopnest::expr e, sort kind, int height) {
        if (height >= depth_) return in_.fail(errc::limit, "expected expressions at most " + std::to_string(depth_) + " deep");
        out = {std::move(e), kind, height + 1};
        return true;
    }

    /// Operators and their precedence: 1: ||  2: &&  3: comparisons  4: + -  5: * /
    static constexpr std::pair<std::string_view, int> operators[] = {{"||", 1}, {"&&", 2}, {"<=", 3}, {">=", 3}, {"==", 3}, {"!=", 3},
                                                                     {"<", 3},  {">", 3},  {"+", 4},  {"-", 4},  {"*", 5},  {"/", 5}};

    bool expression(term& out, int least, int depth) {
        if (depth <= 0) return in_.fail(errc::limit, "expected expressions at most " + std::to_string(depth_) + " deep");
        if (!primary(out, depth)) return false;
        for (;;) {
            std::string_view op;
            int level = 0;
            const auto begin = (in_.skip_space(), in_.position());
            for (const auto& [token, precedence] : operators)
                if (op.empty() && precedence >= least && in_.accept(token)) op = token, level = precedence;
            if (op.empty()) return true;
            term right;
            if (!expression(right, level + 1, depth - 1) || !binary(out, op, level, right, begin)) return false;
        }
    }

    bool binary(term& left, std::string_view op, int level, term& right, std::size_t at) {
        const bool both_indices = left.kind == sort::index && right.kind == sort::index;
        const int height = (std::max)(left.height, right.height);
        auto& a = left.e;
        auto& b = right.e;
        const auto wrong = [&](const char* operands) {
            return in_.fail(errc::unsupported, "expected " + std::string(operands) + " around '" + std::string(op) + "'", at);
        };
        if (level <= 2) {
            if (left.kind != sort::condition || right.kind != sort::condition) return wrong("conditions");
            return combine(left, op == "&&" ? loopnest::ex::both(a, b) : loopnest::ex::either(a, b), sort::condition, height);
        }
        if (level == 3) {
            if (!both_indices) return wrong("indices");
            loopnest::expr e = op == "<" || op == "!=" ? loopnest::ex::less(a, b)
                               : op == "<="            ? loopnest::ex::less_equal(a, b)
                               : op == ">"             ? loopnest::ex::less(b, a)
                               : op == ">="            ? loopnest::ex::less_equal(b, a)
                                                       : loopnest::ex::equal(a, b);
            if (op == "!=") e = loopnest::ex::either(e, loopnest::ex::less(b, a));
            return combine(left, std::move(e), sort::condition, height + (op == "!=" ? 1 : 0));
        }
        if (left.kind == sort::condition || right.kind == sort::condition) return wrong("numbers");
        if (op == "/" && both_indices) return wrong("at least one value, not indices,");
        return combine(left, op == "+" ? a + b : op == "-" ? a - b : op == "*" ? a * b : a / b, both_indices ? sort::index : sort::value, height);
    }

    bool primary(term& out, int depth) {
        in_.skip_space();
        if (in_.accept("(bool)")) {
            std::int64_t truth = 0;
            return in_.integer(truth, "0 or 1") &&
                   combine(out, loopnest::ex::equal(loopnest::ex::integer(truth != 0 ? 1 : 0), loopnest::ex::integer(1)), sort::condition, 0);
        }
        if (in_.accept("(")) return expression(out, 1, depth - 1) && in_.expect(")");
        if (in_.at_number()) return number(out);
        const auto begin = in_.position();
        const auto name = in_.word();
        if (name.empty()) return in_.expected("a number, a name or '('");
        if (in_.accept("(")) return call(out, name, begin, depth);
        if (in_.accept("[")) return read(out, name, begin, depth);
        const auto axis = std::find(axes_.begin(), axes_.end(), name) - axes_.begin();
        if (static_cast<std::size_t>(axis) == axes_.size()) { // a reduce axis: the text has no list of them
            if (!reduces_) return in_.fail(errc::not_found, "expected an axis of the operation, got " + std::string(name), begin);
            if (axes_.size() == tvm_max_axes) return in_.fail(errc::limit, "expected at most 64 axes", begin);
            axes_.push_back(name);
        }
        return combine(out, loopnest::ex::axis(axis), sort::index, 0);
    }

    bool number(term& out) {
        tvm_dag_lexer::number n;
        if (!in_.read(n)) return false;
        return n.is_integer ? combine(out, loopnest::ex::integer(n.integer), sort::index, 0)
                            : combine(out, loopnest::ex::constant(n.real), sort::value, 0);
    }

    bool call(term& out, std::string_view name, std::size_t begin, int depth) {
        static constexpr std::pair<std::string_view, std::size_t> functions[] = {
            {"floordiv", 2}, {"floormod", 2}, {"max", 2},      {"min", 2},      {"select", 3}, {"tir.if_then_else", 3},
            {"float32", 1},  {"tir.exp", 1},  {"tir.tanh", 1}, {"tir.sqrt", 1}, {"tir.erf", 1}};
        const auto known = std::find_if(std::begin(functions), std::end(functions), [&](const auto& f) { return f.first == name; });
        if (known == std::end(functions))
            return in_.fail(errc::unsupported, "expected a known function, got " + std::string(name.substr(0, 80)), begin);
        std::vector<term> arguments(known->second);
        int height = 0;
        bool all_indices = true;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (i > 0 && !in_.expect(",")) return false;
            auto& a = arguments[i];
            if (!expression(a, 1, depth - 1)) return false;
            if (known->second == 3 && i == 0) {
                if (a.kind != sort::condition) return in_.expected("a condition before this");
            } else if (!value(a)) {
                return false;
            }
            height = (std::max)(height, a.height);
            all_indices = all_indices && a.kind == sort::index;
        }
        if (!in_.expect(")")) return false;
        auto& a = arguments[0].e;
        if (name == "floordiv" || name == "floormod") {
            const auto& divisor = *arguments[1].e;
            if (!all_indices) return in_.fail(errc::unsupported, "expected indices in " + std::string(name), begin);
            if (divisor.op != loopnest::expr_op::integer || divisor.integer < 1)
                return in_.fail(errc::unsupported, "expected a positive number as divisor of " + std::string(name), begin);
            return combine(out, name == "floordiv" ? loopnest::ex::floor_div(a, divisor.integer) : loopnest::ex::floor_mod(a, divisor.integer),
                           sort::index, height);
        }
        if (name == "max" || name == "min") {
            auto& b = arguments[1].e;
            return combine(out, name == "max" ? loopnest::ex::max(a, b) : loopnest::ex::min(a, b), all_indices ? sort::index : sort::value, height);
        }
        if (known->second == 3) {
            if (a->op == loopnest::expr_op::equal && a->operands[0]->op == loopnest::expr_op::integer &&
                a->operands[1]->op == loopnest::expr_op::integer) {
                out = std::move(arguments[a->operands[0]->integer == a->operands[1]->integer ? 1 : 2]); // constant condition: select((bool)1, ., .)
                return true;
            }
            return combine(out, loopnest::ex::select(a, arguments[1].e, arguments[2].e), sort::value, height);
        }
        if (name == "float32") out = {std::move(a), sort::value, height};
        else
            return combine(out,
                           name == "tir.exp"    ? loopnest::ex::exp(a)
                           : name == "tir.tanh" ? loopnest::ex::tanh(a)
                           : name == "tir.sqrt" ? loopnest::ex::sqrt(a)
                                                : loopnest::ex::erf(a),
                           sort::value, height);
        return true;
    }

    bool read(term& out, std::string_view name, std::size_t begin, int depth) {
        std::vector<loopnest::expr> indices;
        int height = 0;
        const auto first = in_.position();
        if (!in_.accept("]")) {
            do {
                term i;
                if (!expression(i, 1, depth - 1) || !index(i)) return false;
                if (indices.size() == tvm_max_axes) return in_.fail(errc::limit, "expected at most 64 indices");
                height = (std::max)(height, i.height);
                indices.push_back(std::move(i.e));
            } while (in_.accept(","));
            if (!in_.expect("]")) return false;
        }
        reads_.push_back({name, in_.since(first), begin, indices.size()});
        return combine(out, loopnest::ex::read(static_cast<int>(reads_.size() - 1), std::move(indices)), sort::value, height);
    }

    tvm_dag_lexer& in_;
    std::vector<std::string_view> axes_; ///< the spatial axes, then the reduce axes
    std::size_t spatial_;
    bool reduces_;
    int depth_;
    std::vector<tvm_dag_read> reads_;
};

} // namespace augur::inline v0::detail

#endif
