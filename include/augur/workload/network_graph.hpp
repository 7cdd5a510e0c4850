// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_NETWORK_GRAPH_HPP
#define AUGUR_WORKLOAD_NETWORK_GRAPH_HPP

/// @file
/// A network as a directed acyclic graph of kernel calls: what a program of the whole network is made from.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/printable.hpp>
#include <augur/workload/detail/kernel_parameters.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/kernel_signature.hpp>
#include <augur/workload/network.hpp>

namespace augur::inline v0 {

/// A tensor that the caller of the network gives.
struct network_input {
    std::vector<std::int64_t> shape;
};
/// A kernel; its inputs are the producers of its operands that are not constant, in their order. Each call has constants of its own.
struct kernel_call {
    kernel workload;
};
/// The same elements in another shape. Costs nothing.
struct reshape {
    std::vector<std::int64_t> shape;
};
/// A copy of elements of the input: element (i, j, ..) is that at offset + i strides[0] + j strides[1] + ... A slice, a permutation of axes, a repetition.
/// The stride of an axis of extent 1 does not count.
struct strided_copy {
    std::vector<std::int64_t> shape, strides;
    std::int64_t offset = 0;
};
/// The inputs behind each other along an axis.
struct concatenation {
    std::size_t axis = 0;
};
using node_action = std::variant<network_input, kernel_call, reshape, strided_copy, concatenation>;

/// A step of a network and the tensor that it makes.
struct network_node {
    std::string name; ///< that of a kernel call is the prefix of its constants' names: `layer1.0.conv1` has `layer1.0.conv1.weight`
    node_action action;
    std::vector<std::size_t> inputs; ///< nodes
};

/// A network in an order of execution. Immutable and valid: every producer stands before its readers, shapes meet, and every tensor is read or is an output.
class network_graph {
public:
    /// Sorts the nodes so that producers come first; otherwise they keep their order.
    ///
    /// @param outputs  nodes whose tensors are the results, each with a buffer of its own
    /// Errors: invalid_argument, with the name of the node (no nodes, no kernel, no outputs; a producer that there is not; a cycle; a name that is empty or
    ///         not distinct; a wrong number of inputs; a tensor that nobody reads; an output that is an input); shape_mismatch; limit (a tensor of more
    ///         than 2^31 elements, as for kernels)
    /// Cost:   quadratic in the number of nodes
    [[nodiscard]] static result<network_graph> create(std::string name, std::vector<network_node> nodes, std::vector<std::size_t> outputs) {
        network_graph out;
        out.name_ = std::move(name);
        const auto refused = [&](const error& e) { return error{e.code, "network '" + printable(out.name_) + "': " + e.detail}; };
        if (auto ordered = out.order(std::move(nodes), std::move(outputs)); !ordered) return refused(ordered.error());
        for (std::size_t i = 0; i < out.nodes_.size(); ++i) {
            if (auto shaped = out.add_shape(i); !shaped)
                return refused({shaped.error().code, "node '" + printable(out.nodes_[i].name) + "': " + shaped.error().detail});
        }
        if (auto used = out.check_uses(); !used) return refused(used.error());
        return out;
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// The nodes in the order of execution.
    [[nodiscard]] const std::vector<network_node>& nodes() const noexcept { return nodes_; }
    [[nodiscard]] const std::vector<std::size_t>& outputs() const noexcept { return outputs_; }
    /// The shape of a node's tensor.   pre: node < nodes().size(), also below
    [[nodiscard]] const std::vector<std::int64_t>& shape_of(std::size_t node) const { return shapes_[node]; }
    /// The kernel that a node calls; null: it calls none.
    [[nodiscard]] const kernel* kernel_of(std::size_t node) const {
        const auto* call = std::get_if<kernel_call>(&nodes_[node].action);
        return call == nullptr ? nullptr : &call->workload;
    }
    /// The node in whose buffer a tensor lies: behind all reshapes.
    [[nodiscard]] std::size_t buffer_of(std::size_t node) const {
        while (std::holds_alternative<reshape>(nodes_[node].action)) node = nodes_[node].inputs.front();
        return node;
    }
    /// The last node that reads the buffer of a node; the node itself if none does.
    [[nodiscard]] std::size_t last_use(std::size_t node) const {
        auto last = node = buffer_of(node);
        for (std::size_t i = node + 1; i < nodes_.size(); ++i)
            for (const auto p : nodes_[i].inputs)
                if (buffer_of(p) == node) last = i;
        return last;
    }
    [[nodiscard]] bool is_output(std::size_t node) const {
        return std::any_of(outputs_.begin(), outputs_.end(), [&](std::size_t o) { return buffer_of(o) == buffer_of(node); });
    }

    /// The distinct kernels, in the order of their first use.
    [[nodiscard]] network kernels() const {
        network out{name_, {}};
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (const auto* k = kernel_of(i)) out.add(*k);
        return out;
    }

    /// The name and the shape of a node's tensor: `fc 1x1000`.
    [[nodiscard]] std::string describe(std::size_t node) const { return printable(nodes_[node].name) + " " + text_of(shapes_[node]); }

    /// The graph in the language of Graphviz.
    [[nodiscard]] std::string dot() const {
        const auto quoted = [](std::string text) {
            std::replace_if(text.begin(), text.end(), [](char c) { return c == '"' || c == '\\' || c < ' '; }, '?');
            return '"' + text + '"';
        };
        std::string out = "digraph " + quoted(name_) + " {\n";
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const auto* k = kernel_of(i);
            out += "  n" + std::to_string(i) +
                   " [label=" + quoted(nodes_[i].name + (k != nullptr ? " " + k->class_name() : "") + " " + text_of(shapes_[i])) +
                   (k != nullptr ? ", shape=box" : "") + (is_output(i) ? ", peripheries=2" : "") + "];\n";
            for (const auto p : nodes_[i].inputs) out += "  n" + std::to_string(p) + " -> n" + std::to_string(i) + ";\n";
        }
        return out + "}\n";
    }

private:
    using shape = std::vector<std::int64_t>;

    std::string name_;
    std::vector<network_node> nodes_;
    std::vector<std::size_t> outputs_;
    std::vector<shape> shapes_;

    network_graph() = default;

    static error wrong(std::string text) { return {errc::invalid_argument, std::move(text)}; }
    static error misfit(std::string text) { return {errc::shape_mismatch, std::move(text)}; }
    static std::string text_of(const shape& s) {
        std::string out;
        for (const auto n : s) out.append(out.empty() ? "" : "x").append(std::to_string(n));
        return out.empty() ? "scalar" : out;
    }

    /// The nodes, producers first, and their numbers everywhere.
    result<void> order(std::vector<network_node> nodes, std::vector<std::size_t> outputs) {
        const auto has_kernel = [](const network_node& n) { return std::holds_alternative<kernel_call>(n.action); };
        if (std::none_of(nodes.begin(), nodes.end(), has_kernel)) return wrong("expected at least one kernel, got none");
        std::set<std::string> names;
        for (const auto& n : nodes) {
            if (n.name.empty() || !names.insert(n.name).second)
                return wrong("expected names that are distinct and not empty, got '" + printable(n.name) + "'");
            for (const auto p : n.inputs)
                if (p >= nodes.size()) return wrong("node '" + printable(n.name) + "': its producer " + std::to_string(p) + " is missing");
        }
        if (outputs.empty()) return wrong("expected at least one output, got none");
        std::vector<std::size_t> place(nodes.size(), nodes.size()); // where a node went
        for (std::size_t next = 0; next < nodes.size(); ++next) {
            const auto ready = [&](std::size_t i) {
                return place[i] == nodes.size() &&
                       std::all_of(nodes[i].inputs.begin(), nodes[i].inputs.end(), [&](std::size_t p) { return place[p] < next; });
            };
            std::size_t first = 0;
            while (first < nodes.size() && !ready(first)) ++first;
            if (first == nodes.size()) {
                const auto stuck = static_cast<std::size_t>(std::find(place.begin(), place.end(), nodes.size()) - place.begin());
                return wrong("node '" + printable(nodes[stuck].name) + "' is part of a cycle, or behind one");
            }
            place[first] = next;
        }
        nodes_.resize(nodes.size(), {{}, network_input{}, {}});
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            for (auto& p : nodes[i].inputs) p = place[p];
            nodes_[place[i]] = std::move(nodes[i]);
        }
        for (auto& o : outputs) {
            if (o >= nodes_.size()) return wrong("output " + std::to_string(o) + " is missing");
            o = place[o];
        }
        outputs_ = std::move(outputs);
        return {};
    }

    /// Checks the inputs of node `i` and finds its shape.
    result<void> add_shape(std::size_t i) {
        const auto& node = nodes_[i];
        const auto count = [&](std::size_t expected) -> result<void> {
            if (node.inputs.size() == expected) return {};
            return wrong("expected " + std::to_string(expected) + (expected == 1 ? " input" : " inputs") + ", got " +
                         std::to_string(node.inputs.size()));
        };
        // Checked before any product of extents and strides, which then fits into 63 bits.
        const auto sound = [](const shape& s) -> result<void> {
            if (std::any_of(s.begin(), s.end(), [](std::int64_t n) { return n < 1; }))
                return misfit("expected extents of at least 1, got " + text_of(s));
            std::int64_t elements = 1;
            for (const auto extent : s) {
                if (extent > detail::kernel_max_elements / elements)
                    return error{errc::limit, "expected tensors of at most 2^31 elements, got one of " + text_of(s)};
                elements *= extent;
            }
            return {};
        };
        if (const auto* in = std::get_if<network_input>(&node.action)) {
            if (auto none = count(0); !none) return none;
            if (auto fits = sound(in->shape); !fits) return fits;
            shapes_.push_back(in->shape);
        } else if (const auto* call = std::get_if<kernel_call>(&node.action)) {
            auto signature = signature_of(call->workload);
            std::erase_if(signature.operands, [](const kernel_operand& o) { return o.constant; });
            if (auto all = count(signature.operands.size()); !all) return all;
            for (std::size_t k = 0; k < node.inputs.size(); ++k)
                if (const auto& got = shapes_[node.inputs[k]]; got != signature.operands[k].shape)
                    return misfit(call->workload.text() + " reads '" + signature.operands[k].name + "' of " + text_of(signature.operands[k].shape) +
                                  ", '" + printable(nodes_[node.inputs[k]].name) + "' is of " + text_of(got));
            shapes_.push_back(std::move(signature.output));
        } else if (const auto* view = std::get_if<reshape>(&node.action)) {
            if (auto one = count(1); !one) return one;
            if (auto fits = sound(view->shape); !fits) return fits;
            if (const auto& from = shapes_[node.inputs[0]]; elements_of(view->shape) != elements_of(from))
                return misfit("a reshape of " + text_of(from) + " to " + text_of(view->shape));
            shapes_.push_back(view->shape);
        } else if (const auto* copy = std::get_if<strided_copy>(&node.action)) {
            if (auto one = count(1); !one) return one;
            if (auto fits = sound(copy->shape); !fits) return fits;
            if (copy->strides.size() != copy->shape.size()) return misfit("expected one stride for each extent of " + text_of(copy->shape));
            const auto& from = shapes_[node.inputs[0]];
            const auto elements = elements_of(from);
            auto low = copy->offset, high = copy->offset;
            bool far = copy->offset < 0 || copy->offset >= elements; // further than the tensor is long
            for (std::size_t a = 0; a < copy->shape.size(); ++a)
                far = far || (copy->shape[a] > 1 && (copy->strides[a] < -elements || copy->strides[a] > elements));
            if (far)
                return misfit("expected an offset below, and strides of at most, the " + std::to_string(elements) + " elements of " + text_of(from));
            for (std::size_t a = 0; a < copy->shape.size(); ++a)
                if (copy->shape[a] > 1) (copy->strides[a] < 0 ? low : high) += (copy->shape[a] - 1) * copy->strides[a];
            if (low < 0 || high >= elements)
                return misfit("reads elements " + std::to_string(low) + " to " + std::to_string(high) + " of " + text_of(from));
            shapes_.push_back(copy->shape);
        } else {
            const auto axis = std::get<concatenation>(node.action).axis;
            if (node.inputs.empty()) return wrong("expected inputs, got none");
            auto all = shapes_[node.inputs[0]];
            if (axis >= all.size()) return misfit("axis " + std::to_string(axis) + " of " + text_of(all));
            for (std::size_t k = 1; k < node.inputs.size(); ++k) {
                const auto& next = shapes_[node.inputs[k]];
                auto same = next;
                if (next.size() == all.size()) same[axis] = all[axis];
                if (same != all)
                    return misfit("a concatenation of " + text_of(all) + " and " + text_of(next) + " along axis " + std::to_string(axis));
                all[axis] += next[axis];
            }
            if (auto fits = sound(all); !fits) return fits;
            shapes_.push_back(std::move(all));
        }
        return {};
    }

    result<void> check_uses() const {
        for (const auto o : outputs_)
            if (std::holds_alternative<network_input>(nodes_[buffer_of(o)].action))
                return wrong("output '" + printable(nodes_[o].name) + "' is an input");
        for (std::size_t k = 0; k < outputs_.size(); ++k)
            for (std::size_t m = 0; m < k; ++m)
                if (buffer_of(outputs_[k]) == buffer_of(outputs_[m]))
                    return wrong("output '" + printable(nodes_[outputs_[k]].name) + "' is given twice");
        std::vector<bool> read(nodes_.size(), false);
        for (const auto& n : nodes_)
            for (const auto p : n.inputs) read[p] = true;
        for (const auto o : outputs_) read[o] = true;
        const auto idle = static_cast<std::size_t>(std::find(read.begin(), read.end(), false) - read.begin());
        if (idle < read.size()) return wrong("nobody reads node '" + printable(nodes_[idle].name) + "', and it is no output");
        return {};
    }
};

} // namespace augur::inline v0

#endif
