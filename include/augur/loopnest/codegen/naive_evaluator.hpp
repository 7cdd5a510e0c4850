// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_NAIVE_EVALUATOR_HPP
#define AUGUR_LOOPNEST_CODEGEN_NAIVE_EVALUATOR_HPP

/// @file
/// Two independent reference implementations of a compute DAG without a schedule: an evaluator in double precision, and naive C loops.
///
/// The evaluator checks small shapes. The C program is the reference output and the baseline latency of measured shapes.

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

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
                switch (op.combine) {
                case reducer::none: sum = v; break;
                case reducer::sum: sum += v; break;
                case reducer::max: sum = v > sum ? v : sum; break;
                case reducer::min: sum = v < sum ? v : sum; break;
                }
            } while (advance(op, op.axes.size(), op.axis_count()));
            tensors_[at][element++] = static_cast<float>(sum);
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
        case expr_op::min: return a < b ? a : b;
        default: return a > b ? a : b;
        }
    }
};

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

namespace detail {

/// Writes C. All identifiers are generated: b<buffer>, i<axis>, and helpers prefixed with the entry name.
class naive_writer {
public:
    naive_writer(const compute_dag& dag, std::string_view entry) : dag_(dag), entry_(entry), buffer_(dag.ops.size(), 0) {}

    generated_program run() {
        generated_program out;
        out.entry = entry_;
        out.flops = dag_.flops();
        using role = program_buffer::role;
        for (const auto wanted : {role::input, role::output, role::scratch}) {
            for (std::size_t i = 0; i < dag_.ops.size(); ++i) {
                const auto& op = dag_.ops[i];
                const auto buffer_role = op.placeholder() ? role::input : dag_.is_output(i) ? role::output : role::scratch;
                if (buffer_role != wanted) continue;
                buffer_[i] = out.buffers.size();
                program_buffer b;
                b.purpose = op.placeholder() && op.constant ? role::weight : buffer_role;
                b.elements = op.elements();
                b.fill = static_cast<std::uint64_t>(op.id);
                out.buffers.push_back(b);
            }
        }
        std::string loops;
        for (std::size_t i = 0; i < dag_.ops.size(); ++i) {
            const auto name = std::to_string(buffer_[i]);
            loops +=
                std::string("    ") + (dag_.ops[i].placeholder() ? "const float" : "float") + " *restrict b" + name + " = buffers[" + name + "];\n";
        }
        for (std::size_t i = 0; i < dag_.ops.size(); ++i)
            if (!dag_.ops[i].placeholder()) nest(loops, i);
        out.source =
            "#include <stdint.h>\n#include <math.h>\n" + helpers() + "void " + entry_ +
            "(float *const *buffers, void (*launch)(void (*body)(void *, int64_t, int64_t), void *context, int64_t n)) {\n    (void)launch;\n" +
            loops + "}\n";
        return out;
    }

private:
    const compute_dag& dag_;
    std::string entry_;
    std::vector<std::size_t> buffer_; ///< buffer number of each operation
    bool index_helpers_ = false;

    [[nodiscard]] std::string helpers() const {
        const auto min_max = [&](std::string_view type, std::string_view suffix) {
            std::string out;
            for (const auto* function : {"min", "max"})
                out += std::string("static inline ") + std::string(type) + " " + entry_ + "_" + function + std::string(suffix) + "(" +
                       std::string(type) + " a, " + std::string(type) + " b) { return a " + (function[1] == 'i' ? "<" : ">") + " b ? a : b; }\n";
            return out;
        };
        std::string out = min_max("float", "f");
        if (index_helpers_)
            out += min_max("int64_t", "i") + "static inline int64_t " + entry_ + "_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }\n" +
                   "static inline int64_t " + entry_ + "_mod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }\n";
        return out;
    }

    static std::string number(std::int64_t v) {
        if (v == (std::numeric_limits<std::int64_t>::min)()) return "INT64_MIN";
        return v < 0 ? "(" + std::to_string(v) + "LL)" : std::to_string(v) + "LL";
    }

    /// A hexadecimal float literal: exact and independent of the locale.
    static std::string number(double v) {
        if (std::isnan(v)) return "NAN";
        const auto f = as_float(v);
        if (std::isinf(f)) return f > 0 ? "INFINITY" : "(-INFINITY)";
        std::array<char, 64> text{};
        const auto magnitude = static_cast<double>(std::fabs(f));
        const auto end = std::to_chars(text.data(), text.data() + text.size(), magnitude, std::chars_format::hex).ptr;
        const auto digits = "0x" + std::string(text.data(), end) + "f";
        return std::signbit(f) ? "(-" + digits + ")" : digits;
    }

    static std::string flat(const std::vector<loop_axis>& axes, const std::vector<std::string>& at) {
        std::string out;
        for (std::size_t a = 0; a < axes.size(); ++a) out = a == 0 ? at[a] : "(" + out + ") * " + std::to_string(axes[a].extent) + " + " + at[a];
        return out.empty() ? "0" : out;
    }

    /// `n` as a float expression; an index is converted.
    std::string value(const expr_node& n) { return n.is_index() ? "(float)" + text(n) : text(n); }
    std::string call(std::string_view function, const expr_node& n) {
        std::string out(function);
        for (std::size_t i = 0; i < n.operands.size(); ++i)
            out += (i == 0 ? "(" : ", ") + (n.is_index() ? text(*n.operands[i]) : value(*n.operands[i]));
        return out + ")";
    }
    std::string arithmetic(char op, const expr_node& n) {
        const bool index = n.is_index();
        return "(" + (index ? text(*n.operands[0]) : value(*n.operands[0])) + " " + op + " " +
               (index ? text(*n.operands[1]) : value(*n.operands[1])) + ")";
    }
    std::string condition(std::string_view op, const expr_node& n) {
        return "(" + text(*n.operands[0]) + " " + std::string(op) + " " + text(*n.operands[1]) + ")";
    }
    std::string helper_call(std::string_view function, const expr_node& n) {
        const bool index = n.is_index();
        index_helpers_ = index_helpers_ || index;
        const bool divides = n.op == expr_op::floor_div || n.op == expr_op::floor_mod;
        return call(entry_ + "_" + std::string(function) + (divides ? "" : index ? "i" : "f"), n);
    }

    std::string text(const expr_node& n) {
        switch (n.op) {
        case expr_op::constant: return number(n.value);
        case expr_op::integer: return number(n.integer);
        case expr_op::axis: return "i" + std::to_string(n.integer);
        case expr_op::read: {
            const auto at = dag_.index_of(static_cast<int>(n.integer));
            std::vector<std::string> index;
            for (const auto& o : n.operands) index.push_back(text(*o));
            return "b" + std::to_string(buffer_[at]) + "[" + flat(dag_.ops[at].axes, index) + "]";
        }
        case expr_op::add: return arithmetic('+', n);
        case expr_op::sub: return arithmetic('-', n);
        case expr_op::mul: return arithmetic('*', n);
        case expr_op::div: return arithmetic('/', n);
        case expr_op::min: return helper_call("min", n);
        case expr_op::max: return helper_call("max", n);
        case expr_op::floor_div: return helper_call("div", n);
        case expr_op::floor_mod: return helper_call("mod", n);
        case expr_op::exp: return call("expf", n);
        case expr_op::tanh: return call("tanhf", n);
        case expr_op::erf: return call("erff", n);
        case expr_op::sqrt: return call("sqrtf", n);
        case expr_op::less: return condition("<", n);
        case expr_op::less_equal: return condition("<=", n);
        case expr_op::equal: return condition("==", n);
        case expr_op::logical_and: return condition("&&", n);
        case expr_op::logical_or: return condition("||", n);
        case expr_op::select: return "(" + text(*n.operands[0]) + " ? " + value(*n.operands[1]) + " : " + value(*n.operands[2]) + ")";
        }
        return {};
    }

    void nest(std::string& out, std::size_t at) {
        const auto& op = dag_.ops[at];
        std::string indent = "    ";
        const auto loop = [&](std::size_t a) {
            const auto i = "i" + std::to_string(a);
            out += indent + "for (int64_t " + i + " = 0; " + i + " < " + std::to_string(op.axis(a).extent) + "; ++" + i + ")";
            indent += "    ";
        };
        std::vector<std::string> point;
        for (std::size_t a = 0; a < op.axes.size(); ++a) {
            loop(a);
            out += " {\n";
            point.push_back("i" + std::to_string(a));
        }
        const auto element = "b" + std::to_string(buffer_[at]) + "[" + flat(op.axes, point) + "]";
        const auto result = value(*op.body);
        if (op.combine == reducer::none) {
            out += indent + element + " = " + result + ";\n";
        } else {
            if (op.axes.empty()) out += indent + "{\n";
            out += indent + "float sum = " + number(identity_of(op.combine)) + ";\n";
            const auto outer_indent = indent;
            for (std::size_t a = op.axes.size(); a < op.axis_count(); ++a) {
                loop(a);
                out += "\n";
            }
            out += indent;
            if (op.combine == reducer::sum) out += "sum += " + result + ";\n";
            else out += "sum = " + entry_ + (op.combine == reducer::max ? "_maxf" : "_minf") + "(sum, " + result + ");\n";
            indent = outer_indent;
            out += indent + element + " = sum;\n";
            if (op.axes.empty()) out += indent + "}\n";
        }
        for (std::size_t a = op.axes.size(); a-- > 0;) {
            indent.resize(indent.size() - 4);
            out += indent + "}\n";
        }
    }
};

} // namespace detail

/// Translates `dag` to plain C loops: one loop per axis, float accumulators, one thread, every intermediate in memory. No name of the DAG reaches
/// the source.
/// Buffers: inputs and weights, then outputs, then scratch, each in the order of the DAG; the fill of a placeholder is its tensor id.
///
/// @param entry  the name of the function, an identifier
/// Errors: those of `dag.check`; invalid_argument if `entry` is not an identifier.
[[nodiscard]] inline result<generated_program> naive_program(const compute_dag& dag, std::string_view entry = "augur_naive") {
    bool identifier = !entry.empty() && entry.size() <= 64 && !(entry[0] >= '0' && entry[0] <= '9');
    for (const char c : entry) identifier = identifier && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
    if (!identifier) return error{errc::invalid_argument, "naive_program: the entry must be a C identifier of at most 64 characters"};
    if (auto checked = detail::check_bodies(dag); !checked) return checked.error();
    return detail::naive_writer(dag, entry).run();
}

} // namespace augur::inline v0::loopnest

#endif
