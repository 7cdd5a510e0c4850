// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_NAIVE_PROGRAM_HPP
#define AUGUR_LOOPNEST_CODEGEN_NAIVE_PROGRAM_HPP

/// @file
/// Translates a compute DAG to naive C loops, without a schedule: the reference outputs and the baseline latency of measured kernels.

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/expr_types.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::loopnest {

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
        std::string out = min_max("float", "f") + "#ifndef AUG_BRANCH /* the prelude has it */\n#define AUG_BRANCH 1\n#endif\n";
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
        case expr_op::select: return "(" + text(*n.operands[0]) + " && AUG_BRANCH ? " + value(*n.operands[1]) + " : " + value(*n.operands[2]) + ")";
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
            else out += "sum = " + entry_ + (op.combine == reducer::max ? "_maxf" : "_minf") + "(" + result + ", sum);\n";
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
