// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_TVM_DAG_HPP
#define AUGUR_IO_TVM_DAG_HPP

/// @file
/// Parser for the text form of a TVM auto_scheduler compute DAG (`ComputeDAG.__str__`, src/auto_scheduler/compute_dag.cc), one operation per line:
///
///     p0 = PLACEHOLDER [1, 7, 7, 512]
///     pad_temp(i0, i1, i2, i3) = tir.if_then_else(((((i1 >= 1) && (i1 < 8)) && (i2 >= 1)) && (i2 < 8)), p0[i0, (i1 - 1), ...], 0f)
///     p1 = PLACEHOLDER [3, 3, 512, 512]
///     conv2d_nhwc(nn, yy, xx, ff) += (pad_temp[nn, (yy + ry), (xx + rx), rc]*p1[ry, rx, rc, ff])
///
/// The DAG allows the schedules of a log to be replayed (`loop_state`) and their loop bounds to be inferred (`bound`).
///
/// The text lacks two kinds of information, which the parser infers. It lists the inferences that are not certain in `tvm_dag::assumed`.
///   Extents       of computed tensors and of reduce axes. The output shape is at the end of the workload key. An axis that is an index by itself
///                 covers the whole dimension. Every other tensor is as large as its readers need. Assumption: if the readers need less, the padding
///                 after the data is as large as the padding before it. Assumption: if s window sizes fit a max pooling with stride s > 1, the window
///                 ends with the data.
///   Tensor names  are not unique. TVM prints producers in post-order, directly before their first reader. Reads of a name therefore refer to the
///                 last tensors of that name that have no reader yet, in order. Assumption: if all have readers, a read refers to the latest that
///                 does not add a scalar, because hard-swish multiplies x, not x + 3, by relu6(x + 3).
/// The text has neither constant inputs nor operation attributes (`operation::constant`, `constant_index`).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/io/detail/tvm_dag_extents.hpp>
#include <augur/io/detail/tvm_dag_key.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0 {

/// Limits of `parse_tvm_dag`.
struct tvm_dag_limits {
    std::size_t text = std::size_t{64} << 10U; ///< bytes of text
    std::size_t operations = 1024;
    int depth = 256; ///< nesting depth of an expression; at most 1024
};

/// Parsed DAG. The operations are in text order, and the id of an operation is its position.
struct tvm_dag {
    loopnest::compute_dag dag;
    std::vector<std::string> assumed; ///< one sentence per inference that is not certain; empty: the DAG is certain
};

namespace detail {

/// Recursive-descent parser of a DAG text.
class tvm_dag_parser {
public:
    tvm_dag_parser(std::string_view text, const tvm_dag_limits& limits) : text_(text), limits_(limits) {}

    result<tvm_dag> run(std::string_view key) {
        while (at_ < text_.size()) {
            if (out_.dag.ops.size() == limits_.operations) {
                fail(errc::limit, "expected at most " + std::to_string(limits_.operations) + " operations");
                break;
            }
            line_end_ = (std::min)(text_.find('\n', at_), text_.size());
            const auto omitted = text_.substr(0, line_end_).find("..(OMITTED)..", at_);
            if (omitted != std::string_view::npos) {
                at_ = omitted;
                fail(errc::unsupported, "expected the whole operation, the text was shortened where it was printed");
            }
            if (!failed() && !operation_line()) break;
            if (failed()) break;
            at_ = line_end_ + 1;
            ++line_;
            line_start_ = at_;
        }
        if (failed()) return error_;
        if (out_.dag.ops.empty() || out_.dag.ops.back().placeholder())
            return error{errc::parse, std::to_string(line_) + ":1: expected a computed tensor at the end of the DAG"};
        if (auto done = read_result_shape(key, out_.dag); !done) return done.error();
        if (auto done = extent_inference(out_.dag, out_.assumed).run(); !done) return done.error();
        if (auto done = out_.dag.check(); !done) return done.error();
        return std::move(out_);
    }

private:
    enum class sort : std::uint8_t { value, index, condition };
    /// Part of a body. An index is also valid as a value.
    struct term {
        loopnest::expr e;
        sort kind = sort::value;
        int height = 0;
    };
    /// Read whose tensor is not resolved yet. The read expression has the index in `reads_` as its tensor id.
    struct pending_read {
        std::string_view name, indices;
        std::size_t at, rank;
        std::size_t tensor = 0;
    };

    std::string_view text_;
    tvm_dag_limits limits_;
    std::size_t at_ = 0, line_ = 1, line_start_ = 0, line_end_ = 0;
    error error_;
    tvm_dag out_;
    std::vector<bool> read_;                      ///< (tensors) the tensor has a reader
    std::vector<std::string_view> axes_, reduce_; ///< axes of the current operation
    bool reduces_ = false;
    std::vector<pending_read> reads_;

    [[nodiscard]] bool failed() const noexcept { return error_.code != errc{}; }
    /// Records the first error; later errors are ignored. Returns false.
    bool fail(errc code, const std::string& message, std::size_t at) {
        if (!failed()) error_ = {code, std::to_string(line_) + ":" + std::to_string(at - line_start_ + 1) + ": " + message};
        return false;
    }
    bool fail(errc code, const std::string& message) { return fail(code, message, at_); }
    bool expected(std::string_view item) {
        skip_space();
        std::string got = "the end of the line";
        if (at_ < line_end_) {
            const char c = text_[at_];
            got = c >= ' ' && c <= '~' ? std::string("'") + c + "'" : "byte " + std::to_string(static_cast<unsigned char>(c));
        }
        return fail(errc::parse, "expected " + std::string(item) + ", got " + got);
    }

    void skip_space() {
        while (at_ < line_end_ && text_[at_] == ' ') ++at_;
    }
    [[nodiscard]] char peek() const noexcept { return at_ < line_end_ ? text_[at_] : '\0'; }
    bool accept(std::string_view token) {
        skip_space();
        if (!text_.substr(at_, line_end_ - at_).starts_with(token)) return false;
        at_ += token.size();
        return true;
    }
    bool expect(std::string_view token) { return accept(token) || expected("'" + std::string(token) + "'"); }
    static bool starts_name(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
    /// Reads a name; empty if there is none.
    std::string_view word() {
        skip_space();
        const auto begin = at_;
        if (starts_name(peek()))
            while (starts_name(peek()) || is_digit(peek()) || peek() == '.') ++at_;
        return text_.substr(begin, at_ - begin);
    }
    bool integer(std::int64_t& value, std::string_view item) {
        skip_space();
        const auto begin = at_;
        if (peek() == '-') ++at_;
        while (is_digit(peek())) ++at_;
        const auto digits = text_.substr(begin, at_ - begin);
        if (digits.empty() || digits == "-") return expected(item);
        const auto n = parse_int(digits);
        if (!n || *n > tvm_max_integer || *n < -tvm_max_integer)
            return fail(errc::limit, "expected an integer of at most 2^31, got " + std::string(digits.substr(0, 40)), begin);
        value = *n;
        return true;
    }

    bool operation_line() {
        const auto begin = at_;
        const auto name = word();
        if (name.empty()) return expected("the name of an operation");
        if (accept("=")) {
            if (!expect("PLACEHOLDER") || !expect("[")) return false;
            std::vector<std::int64_t> shape;
            if (!accept("]")) {
                do {
                    if (!integer(shape.emplace_back(), "an extent")) return false;
                    if (shape.back() < 1) return fail(errc::shape_mismatch, "expected extents of at least 1, got " + std::to_string(shape.back()));
                    if (shape.size() > tvm_max_axes) return fail(errc::limit, "expected at most 64 dimensions");
                } while (accept(","));
                if (!expect("]")) return false;
            }
            out_.dag.input(std::string(name), shape);
        } else {
            if (!accept("(")) return expected("'(' or '='");
            axes_.clear();
            reduce_.clear();
            reads_.clear();
            if (!accept(")")) {
                do {
                    const auto axis = word();
                    if (axis.empty()) return expected("the name of an axis");
                    if (std::find(axes_.begin(), axes_.end(), axis) != axes_.end())
                        return fail(errc::parse, "expected axes of different names, got " + std::string(axis) + " twice", at_ - axis.size());
                    if (axes_.size() == tvm_max_axes) return fail(errc::limit, "expected at most 64 axes");
                    axes_.push_back(axis);
                } while (accept(","));
                if (!expect(")")) return false;
            }
            const loopnest::reducer combine = accept("+=")     ? loopnest::reducer::sum
                                              : accept("max=") ? loopnest::reducer::max
                                              : accept("min=") ? loopnest::reducer::min
                                                               : loopnest::reducer::none;
            if (combine == loopnest::reducer::none && !accept("=")) return expected("'=', '+=', 'max=' or 'min='");
            reduces_ = combine != loopnest::reducer::none;
            term body;
            if (!expression(body, 1, limits_.depth) || !value(body)) return false;
            skip_space();
            if (at_ != line_end_) return expected("an operator or the end of the line");
            if (reduces_ && reduce_.empty()) return fail(errc::parse, "expected an axis to reduce over in the body of " + std::string(name), begin);
            if (!resolve_reads()) return false;
            body.e = rewrite(body.e, [&](const loopnest::expr_node& n, const std::vector<loopnest::expr>& operands) {
                return n.op == loopnest::expr_op::read
                           ? loopnest::ex::read(static_cast<int>(reads_[static_cast<std::size_t>(n.integer)].tensor), operands)
                           : loopnest::expr();
            });
            const auto unknown = [](const std::vector<std::string_view>& names) {
                std::vector<loopnest::loop_axis> list;
                for (const auto n : names) list.push_back({std::string(n), 0});
                return list;
            };
            out_.dag.compute(std::string(name), unknown(axes_), std::move(body.e), unknown(reduce_), combine);
        }
        read_.push_back(false);
        skip_space();
        return at_ == line_end_ || expected("the end of the line");
    }

    bool value(const term& t) { return t.kind != sort::condition || expected("a value, not a condition, before this"); }
    bool index(const term& t) { return t.kind == sort::index || expected("an index, not a value or a condition, before this"); }

    /// Makes a term of `e`, whose operands have at most this height. Error: limit.
    bool combine(term& out, loopnest::expr e, sort kind, int height) {
        if (height >= limits_.depth) return fail(errc::limit, "expected expressions at most " + std::to_string(limits_.depth) + " deep");
        out = {std::move(e), kind, height + 1};
        return true;
    }

    /// Operators and their precedence: 1: ||  2: &&  3: comparisons  4: + -  5: * /
    static constexpr std::pair<std::string_view, int> operators[] = {{"||", 1}, {"&&", 2}, {"<=", 3}, {">=", 3}, {"==", 3}, {"!=", 3},
                                                                     {"<", 3},  {">", 3},  {"+", 4},  {"-", 4},  {"*", 5},  {"/", 5}};

    bool expression(term& out, int least, int depth) {
        if (depth <= 0) return fail(errc::limit, "expected expressions at most " + std::to_string(limits_.depth) + " deep");
        if (!primary(out, depth)) return false;
        for (;;) {
            std::string_view op;
            int level = 0;
            const auto begin = (skip_space(), at_);
            for (const auto& [token, precedence] : operators)
                if (op.empty() && precedence >= least && accept(token)) op = token, level = precedence;
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
            return fail(errc::unsupported, "expected " + std::string(operands) + " around '" + std::string(op) + "'", at);
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
        skip_space();
        if (accept("(bool)")) {
            std::int64_t truth = 0;
            return integer(truth, "0 or 1") &&
                   combine(out, loopnest::ex::equal(loopnest::ex::integer(truth != 0 ? 1 : 0), loopnest::ex::integer(1)), sort::condition, 0);
        }
        if (accept("(")) return expression(out, 1, depth - 1) && expect(")");
        if (is_digit(peek()) || peek() == '-') return number(out);
        const auto begin = at_;
        const auto name = word();
        if (name.empty()) return expected("a number, a name or '('");
        if (accept("(")) return call(out, name, begin, depth);
        if (accept("[")) return read(out, name, begin, depth);
        for (auto* list : {&axes_, &reduce_}) {
            const auto found = std::find(list->begin(), list->end(), name);
            const auto place = found - list->begin() + (list == &reduce_ ? static_cast<std::ptrdiff_t>(axes_.size()) : 0);
            if (found != list->end()) return combine(out, loopnest::ex::axis(place), sort::index, 0);
        }
        if (!reduces_) return fail(errc::not_found, "expected an axis of the operation, got " + std::string(name), begin);
        if (axes_.size() + reduce_.size() == tvm_max_axes) return fail(errc::limit, "expected at most 64 axes", begin);
        reduce_.push_back(name); // the text has no list of reduce axes
        return combine(out, loopnest::ex::axis(static_cast<std::int64_t>(axes_.size() + reduce_.size() - 1)), sort::index, 0);
    }

    bool number(term& out) {
        const auto begin = at_;
        if (peek() == '-') ++at_;
        bool real = false;
        while (is_digit(peek()) || peek() == '.' || peek() == 'e' || ((peek() == '+' || peek() == '-') && text_[at_ - 1] == 'e')) {
            real = real || !is_digit(peek());
            ++at_;
        }
        const auto digits = text_.substr(begin, at_ - begin);
        if (peek() == 'f') real = true, ++at_;
        if (starts_name(peek()) || is_digit(peek())) return expected("the end of a number");
        if (!real) {
            at_ = begin;
            std::int64_t n = 0;
            return integer(n, "an integer") && combine(out, loopnest::ex::integer(n), sort::index, 0);
        }
        const auto v = parse_double(digits);
        if (!v) return fail(errc::parse, "expected a number, got " + std::string(digits.substr(0, 40)), begin);
        if (!(*v <= 3.5e38 && *v >= -3.5e38)) return fail(errc::limit, "expected a float32, got " + std::string(digits.substr(0, 40)), begin);
        return combine(out, loopnest::ex::constant(*v), sort::value, 0);
    }

    bool call(term& out, std::string_view name, std::size_t begin, int depth) {
        static constexpr std::pair<std::string_view, std::size_t> functions[] = {
            {"floordiv", 2}, {"floormod", 2}, {"max", 2},      {"min", 2},      {"select", 3}, {"tir.if_then_else", 3},
            {"float32", 1},  {"tir.exp", 1},  {"tir.tanh", 1}, {"tir.sqrt", 1}, {"tir.erf", 1}};
        const auto known = std::find_if(std::begin(functions), std::end(functions), [&](const auto& f) { return f.first == name; });
        if (known == std::end(functions)) return fail(errc::unsupported, "expected a known function, got " + std::string(name.substr(0, 80)), begin);
        std::vector<term> arguments(known->second);
        int height = 0;
        bool all_indices = true;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (i > 0 && !expect(",")) return false;
            auto& a = arguments[i];
            if (!expression(a, 1, depth - 1)) return false;
            if (known->second == 3 && i == 0) {
                if (a.kind != sort::condition) return expected("a condition before this");
            } else if (!value(a)) {
                return false;
            }
            height = (std::max)(height, a.height);
            all_indices = all_indices && a.kind == sort::index;
        }
        if (!expect(")")) return false;
        auto& a = arguments[0].e;
        if (name == "floordiv" || name == "floormod") {
            const auto& divisor = *arguments[1].e;
            if (!all_indices) return fail(errc::unsupported, "expected indices in " + std::string(name), begin);
            if (divisor.op != loopnest::expr_op::integer || divisor.integer < 1)
                return fail(errc::unsupported, "expected a positive number as divisor of " + std::string(name), begin);
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
        const auto first = at_;
        if (!accept("]")) {
            do {
                term i;
                if (!expression(i, 1, depth - 1) || !index(i)) return false;
                if (indices.size() == tvm_max_axes) return fail(errc::limit, "expected at most 64 indices");
                height = (std::max)(height, i.height);
                indices.push_back(std::move(i.e));
            } while (accept(","));
            if (!expect("]")) return false;
        }
        reads_.push_back({name, text_.substr(first, at_ - first), begin, indices.size()});
        return combine(out, loopnest::ex::read(static_cast<int>(reads_.size() - 1), std::move(indices)), sort::value, height);
    }

    [[nodiscard]] bool adds_scalar(std::size_t i) const {
        const auto& body = out_.dag.ops[i].body;
        return body && body->op == loopnest::expr_op::add && std::any_of(body->operands.begin(), body->operands.end(), [](const loopnest::expr& e) {
                   return e->op == loopnest::expr_op::constant || (e->op == loopnest::expr_op::read && e->operands.empty());
               });
    }

    /// Resolves the tensors that the reads of the current operation refer to (rules: head of this file).
    bool resolve_reads() {
        const auto& ops = out_.dag.ops;
        std::vector<bool> done(reads_.size(), false);
        for (std::size_t r = 0; r < reads_.size(); ++r) {
            if (done[r]) continue;
            std::vector<std::size_t> named, unread, group;
            std::size_t other_rank = ops.size();
            for (std::size_t i = 0; i < ops.size(); ++i) {
                if (ops[i].name != reads_[r].name) continue;
                if (ops[i].axes.size() != reads_[r].rank) other_rank = i;
                else named.push_back(i);
            }
            if (named.empty() && other_rank < ops.size())
                return fail(errc::shape_mismatch,
                            "expected " + std::to_string(ops[other_rank].axes.size()) + " indices of " + ops[other_rank].name + ", got " +
                                std::to_string(reads_[r].rank),
                            reads_[r].at);
            if (named.empty())
                return fail(errc::not_found, "expected a tensor defined above, got " + std::string(reads_[r].name.substr(0, 80)), reads_[r].at);
            for (const auto i : named)
                if (!read_[i]) unread.push_back(i);
            std::vector<std::string_view> texts; // distinct reads; equal reads can still refer to two tensors
            for (std::size_t q = r; q < reads_.size(); ++q)
                if (reads_[q].name == reads_[r].name && reads_[q].rank == reads_[r].rank) {
                    group.push_back(q);
                    done[q] = true;
                    if (std::find(texts.begin(), texts.end(), reads_[q].indices) == texts.end()) texts.push_back(reads_[q].indices);
                }
            auto latest = unread.empty() ? named.back() : unread.back();
            if (unread.empty())
                for (auto i = named.size(); i-- > 0 && adds_scalar(latest = named[i]);)
                    if (i == 0) latest = named.back();
            const bool each = unread.size() > 1 && group.size() <= unread.size();
            const bool by_text = unread.size() > 1 && !each && texts.size() == unread.size();
            for (std::size_t k = 0; k < group.size(); ++k) {
                auto& read = reads_[group[k]];
                read.tensor = latest;
                if (each) read.tensor = unread[unread.size() - group.size() + k];
                if (by_text) read.tensor = unread[static_cast<std::size_t>(std::find(texts.begin(), texts.end(), read.indices) - texts.begin())];
            }
            if (named.size() > 1 && !by_text && (unread.empty() || (each ? group.size() > 1 && group.size() < unread.size() : group.size() > 1)))
                out_.assumed.push_back("operation " + std::to_string(ops.size() + 1) + ": " + ops[latest].name + " is taken as operation " +
                                       std::to_string(latest + 1) + ", the text allows " + std::to_string(named.size()));
            for (const auto k : group) read_[reads_[k].tensor] = true;
        }
        return true;
    }
};

} // namespace detail

/// Parses a DAG that TVM printed, for the task with the given workload key (JSON in a string, as in a log).
///
/// Errors    the message begins with line:column or names the operation.
///           parse: syntax error; limit: too long, deep or large; not_found: an unknown name; unsupported: a function that loopnest does not have, a
///           text that TVM shortened ("..(OMITTED).."), or an extent that cannot be inferred; shape_mismatch: the extents contradict each other or
///           the key
/// Cost      linear in the text, times the number of extents to infer
/// Threads   thread-safe; no state
[[nodiscard]] inline result<tvm_dag> parse_tvm_dag(std::string_view text, std::string_view workload_key, const tvm_dag_limits& limits = {}) {
    AUGUR_ASSERT(limits.depth >= 1 && limits.depth <= 1024, "parse_tvm_dag: depth");
    if (text.size() > limits.text)
        return error{errc::limit, "1:1: expected at most " + std::to_string(limits.text) + " bytes, got " + std::to_string(text.size())};
    return detail::tvm_dag_parser(text, limits).run(workload_key);
}

} // namespace augur::inline v0

#endif
