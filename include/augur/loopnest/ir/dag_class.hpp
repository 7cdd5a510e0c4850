// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_IR_DAG_CLASS_HPP
#define AUGUR_LOOPNEST_IR_DAG_CLASS_HPP

/// @file
/// The kernel class of a compute DAG at every level but the workload, equal for a DAG of the embedded compiler and one that TVM printed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/number.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/workload/class_levels.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// Writes the bodies of a DAG without what depends on its extents.
class body_printer {
public:
    explicit body_printer(const compute_dag& dag) : dag_(&dag) {}

    /// The formula: every index, and which stage is read. Within a condition and the values it chooses from, which pad, no number is told.
    [[nodiscard]] std::string whole(const expr& e, bool chosen = false) const {
        std::string out = head(*e);
        if (e->op == expr_op::read) out += std::to_string(dag_->index_of(static_cast<int>(e->integer)));
        if (e->op == expr_op::axis || (e->op == expr_op::integer && !chosen)) out += std::to_string(e->integer);
        std::vector<std::string> parts;
        for (const auto& x : e->operands) parts.push_back(whole(x, chosen || e->op == expr_op::select));
        return out + in_brackets(parts);
    }

    /// The operation: which operands are tensors of the kernel, which are inputs, and which of these are spread over an axis (a bias); the operands of a
    /// sum, a product, a minimum or a maximum in one order.
    [[nodiscard]] std::string operation(const expr& e, std::size_t axes) const {
        if (e->op == expr_op::read) {
            const auto& from = dag_->ops[dag_->index_of(static_cast<int>(e->integer))];
            if (!from.placeholder()) return "t";
            std::vector<bool> used(axes, false);
            for (const auto& i : e->operands)
                walk(i, [&](const expr_node& n) {
                    if (n.op == expr_op::axis && static_cast<std::size_t>(n.integer) < axes) used[static_cast<std::size_t>(n.integer)] = true;
                });
            return std::find(used.begin(), used.end(), false) == used.end() ? "p" : "b";
        }
        std::vector<std::string> parts;
        for (const auto& x : e->operands) parts.push_back(operation(x, axes));
        if (commutes(e->op)) std::sort(parts.begin(), parts.end());
        return head(*e) + in_brackets(parts);
    }

    static bool commutes(expr_op op) { return op == expr_op::add || op == expr_op::mul || op == expr_op::min || op == expr_op::max; }

private:
    const compute_dag* dag_;

    static std::string head(const expr_node& n) {
        std::string out = "o" + std::to_string(static_cast<int>(n.op));
        if (n.op != expr_op::constant) return out;
        if (std::isfinite(n.value)) augur::append_number(out += ":", n.value);
        else out += std::isnan(n.value) ? ":nan" : n.value > 0 ? ":inf" : ":-inf";
        return out;
    }
    static std::string in_brackets(const std::vector<std::string>& parts) {
        if (parts.empty()) return "";
        std::string out;
        for (const auto& p : parts) out.append(out.empty() ? "(" : ",").append(p);
        return out + ")";
    }
};

/// The stages that an operation reads, ascending, each once.
inline std::vector<std::size_t> stages_read(const compute_dag& dag, const operation& op) {
    std::vector<std::size_t> out;
    if (!op.placeholder())
        walk(op.body, [&](const expr_node& n) {
            if (n.op == expr_op::read) out.push_back(dag.index_of(static_cast<int>(n.integer)));
        });
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

/// An element of the result needs one element of each tensor that is read, at the same place: no window, no rearrangement, no condition.
inline bool is_elementwise(const operation& op) {
    if (op.placeholder() || op.combine != reducer::none) return false;
    bool out = true;
    walk(op.body, [&](const expr_node& n) {
        out = out && n.op != expr_op::select;
        if (n.op != expr_op::read) return;
        for (std::size_t i = 0; i < n.operands.size(); ++i) {
            const auto& index = *n.operands[i];
            out = out && (index.op == expr_op::integer || index.op == expr_op::axis);
        }
    });
    return out;
}

/// Copies its input into a larger tensor: a part of the operation that reads it, as TVM's names have it.
inline bool is_padding(const operation& op) {
    return !op.placeholder() && op.combine == reducer::none &&
           (op.body->op == expr_op::select || (op.body->op == expr_op::read && op.name.starts_with("pad")));
}

/// The name of an operation as TVM's function names have it: T_relu is relu, and the number that makes a name unique is left out.
inline std::string plain_name(std::string_view name) {
    if (name.starts_with("T_")) name.remove_prefix(2);
    auto end = name.size();
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
    if (end > 0 && end < name.size() && name[end - 1] == '_') name = name.substr(0, end - 1);
    return std::string(name);
}

} // namespace detail

/// The class of a DAG at the levels prefix, operations, canonical, structure and dag. What depends on extents is in none of them, apart from what padding
/// leaves out of a DAG: without it there is no stage that pads.
///
/// Prefix       the name of the first of the operations
/// Operations   the names of the computed stages in their order; a stage that pads belongs to its reader
/// Canonical    element-wise stages as formulas, whose inputs are whole tensors or spread over an axis, in sorted order where additions, or products,
///              follow each other; other stages by name
/// Structure    of each stage: input, element-wise, other, or how it reduces; the numbers of axes; the stages that it reads
/// Dag          a hash of the structure and of all formulas
[[nodiscard]] inline class_levels class_levels_of(const compute_dag& dag) {
    std::string first, operations, structure, formulas;
    std::vector<std::pair<expr_op, std::string>> canonical; // root operation of element-wise stages, and the text
    const detail::body_printer print(dag);
    for (const auto& op : dag.ops) {
        const bool elementwise = detail::is_elementwise(op);
        structure += op.placeholder() ? 'p' : elementwise ? 'e' : "orMm"[static_cast<std::size_t>(op.combine)];
        structure += std::to_string(op.axes.size()) + "." + std::to_string(op.reduce_axes.size());
        for (const auto i : detail::stages_read(dag, op)) structure += "<" + std::to_string(i);
        structure += ' ';
        if (op.placeholder()) continue;
        formulas += print.whole(op.body) + ";";
        if (detail::is_padding(op)) continue;
        const auto name = detail::plain_name(op.name);
        if (operations.empty()) first = name;
        operations.append(operations.empty() ? "" : "_").append(name);
        const auto root = elementwise && detail::body_printer::commutes(op.body->op) ? op.body->op : expr_op::read;
        canonical.emplace_back(root, elementwise ? print.operation(op.body, op.axes.size()) : name);
    }
    for (std::size_t begin = 0, end = 0; begin < canonical.size(); begin = end) {
        while (end < canonical.size() && canonical[end].first == canonical[begin].first) ++end;
        const auto root = canonical[begin].first;
        if (root == expr_op::add || root == expr_op::mul)
            std::sort(canonical.begin() + static_cast<std::ptrdiff_t>(begin), canonical.begin() + static_cast<std::ptrdiff_t>(end));
    }
    std::string sequence;
    for (const auto& [root, text] : canonical) sequence.append(sequence.empty() ? "" : " ").append(text);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hash;
    const std::uint64_t h = fnv1a64(formulas, fnv1a64(structure));
    for (int shift = 60; shift >= 0; shift -= 4) hash += digits[(h >> static_cast<unsigned>(shift)) & 15U];
    if (!structure.empty()) structure.pop_back();
    return class_levels()
        .set(class_level::prefix, std::move(first))
        .set(class_level::operations, std::move(operations))
        .set(class_level::canonical, std::move(sequence))
        .set(class_level::structure, std::move(structure))
        .set(class_level::dag, std::move(hash));
}

} // namespace augur::inline v0::loopnest

#endif
