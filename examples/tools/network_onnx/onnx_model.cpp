// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onnx_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <augur/core/printable.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/kernel_signature.hpp>

#include "protobuf.hpp"

namespace examples {

namespace {

using augur::errc;
using augur::error;
using augur::fused_op;
using augur::kernel_kind;
using augur::result;
using shape = std::vector<std::int64_t>;

/// Where the channels return to the end.
shape channels_last_axes(std::size_t rank) {
    shape out{0};
    for (std::size_t a = 2; a < rank; ++a) out.push_back(static_cast<std::int64_t>(a));
    out.push_back(1);
    return out;
}
shape taken(const shape& from, const shape& axes) {
    shape out;
    for (const auto a : axes) out.push_back(from[static_cast<std::size_t>(a)]);
    return out;
}

/// A strided copy as operators: a reshape to `grid`, a slice of it from `begin` in the direction of `step`, and a permutation of its axes.
struct grid_copy {
    shape grid, begin, extent, step, axes;
};
/// Nothing where the strides, the largest first, are no products of the extents of a grid.
std::optional<grid_copy> grid_of(const augur::strided_copy& c, std::int64_t elements) {
    shape order; // axes of the copy, the largest stride first
    for (std::size_t a = 0; a < c.shape.size(); ++a)
        if (c.shape[a] > 1) order.push_back(static_cast<std::int64_t>(a));
    const auto stride = [&](std::int64_t a) { return c.strides[static_cast<std::size_t>(a)]; };
    const auto before = [&](std::int64_t a, std::int64_t b) {
        return std::abs(stride(a)) != std::abs(stride(b)) ? std::abs(stride(a)) > std::abs(stride(b)) : a < b;
    };
    std::sort(order.begin(), order.end(), before);
    grid_copy out;
    auto rest = c.offset, outer = elements; // outer: elements from one step of the axis before to its next one
    for (const auto a : order) {
        const auto s = std::abs(stride(a)), n = c.shape[static_cast<std::size_t>(a)], step = stride(a) < 0 ? std::int64_t{-1} : std::int64_t{1};
        if (s == 0 || outer % s != 0) return std::nullopt;
        const auto first = rest / s, last = first + step * (n - 1);
        if (last < 0 || (std::max)(first, last) >= outer / s) return std::nullopt;
        out.grid.push_back(outer / s);
        out.begin.push_back(first);
        out.extent.push_back(n);
        out.step.push_back(step);
        rest %= s;
        outer = s;
    }
    if (outer > 1) { // one of the elements within the smallest stride
        out.grid.push_back(outer);
        out.begin.push_back(rest);
        out.extent.push_back(1);
        out.step.push_back(1);
    }
    for (std::size_t a = 0; a < c.shape.size(); ++a) {
        const auto at = std::find(order.begin(), order.end(), static_cast<std::int64_t>(a));
        if (at != order.end()) out.axes.push_back(at - order.begin());
    }
    if (out.axes.size() < out.grid.size()) out.axes.push_back(static_cast<std::int64_t>(out.axes.size()));
    return out;
}

/// Fields of onnx.proto.
class onnx_writer {
public:
    onnx_writer(const augur::network_graph& g, std::span<const std::vector<float>> constants)
        : graph_(g), constants_(constants), names_(g.nodes().size()) {}

    result<onnx_model> run() {
        if (std::endian::native != std::endian::little) return error{errc::unsupported, "onnx: expected a machine with little-endian numbers"};
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
            if (auto added = add_node(i); !added)
                return error{added.error().code, "onnx: node '" + augur::printable(graph_.nodes()[i].name) + "': " + added.error().detail};
        if (used_ != constants_.size()) return error{errc::invalid_argument, "onnx: more constants than the network has"};
        for (const auto o : graph_.outputs()) {
            out_.outputs.push_back({tensor(o, false), graph_.shape_of(o), false});
            body_.add_message(12, value_info(out_.outputs.back()));
        }
        body_.add_bytes(2, graph_.name());
        if (body_.bytes().size() > (std::numeric_limits<std::int32_t>::max)() - std::size_t{4096})
            return error{errc::limit,
                         "onnx: the model has " + std::to_string(body_.bytes().size()) + " bytes, a file of Protocol Buffers at most 2 GiB"};
        protobuf_message model, opset;
        opset.add_integer(2, 17);
        model.add_integer(1, 8); // version of the format
        model.add_bytes(2, "augur");
        model.add_message(8, opset);
        model.add_message(7, body_);
        out_.bytes = model.bytes();
        return std::move(out_);
    }

private:
    enum type : std::int64_t { float32 = 1, int64 = 7 }; // of tensors
    struct attribute {
        const char* name;
        std::variant<std::int64_t, shape> value;
    };

    const augur::network_graph& graph_;
    std::span<const std::vector<float>> constants_;
    std::size_t used_ = 0;
    onnx_model out_;
    protobuf_message body_;
    std::set<std::string> taken_;                   ///< names
    std::vector<std::array<std::string, 2>> names_; ///< of each node's tensor: as it is, with channels first; empty: not made so far

    static error unsupported(std::string text) { return {errc::unsupported, std::move(text)}; }

    std::string distinct(const std::string& name) {
        auto out = name;
        for (int n = 1; !taken_.insert(out).second; ++n) out = name + ":" + std::to_string(n);
        return out;
    }
    static protobuf_message value_info(const onnx_value& v) {
        protobuf_message dims, tensor, type, info;
        for (const auto n : v.shape) {
            protobuf_message dim;
            dim.add_integer(1, n);
            dims.add_message(1, dim);
        }
        tensor.add_integer(1, float32);
        tensor.add_message(2, dims);
        type.add_message(1, tensor);
        info.add_bytes(1, v.name);
        info.add_message(2, type);
        return info;
    }
    std::string initializer(const std::string& name, type t, const shape& dims, std::string_view raw) {
        protobuf_message m;
        const auto out = distinct(name);
        for (const auto n : dims) m.add_integer(1, n);
        m.add_integer(2, t);
        m.add_bytes(8, out);
        m.add_bytes(9, raw);
        body_.add_message(5, m);
        return out;
    }
    std::string floats(const std::string& name, const shape& dims, std::span<const float> values) {
        return initializer(name, float32, dims, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    }
    std::string scalar(const std::string& name, float value) { return floats(name, {}, {&value, 1}); }
    std::string integers(const std::string& name, const shape& values) {
        return initializer(name, int64, {static_cast<std::int64_t>(values.size())},
                           {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
    }
    /// Adds an operator and returns the name of its result.
    std::string emit(const std::string& name, std::string_view op, const std::vector<std::string>& inputs,
                     const std::vector<attribute>& attributes = {}) {
        protobuf_message node;
        const auto out = distinct(name);
        for (const auto& i : inputs) node.add_bytes(1, i);
        node.add_bytes(2, out);
        node.add_bytes(3, out);
        node.add_bytes(4, op);
        for (const auto& a : attributes) {
            protobuf_message m;
            m.add_bytes(1, a.name);
            if (const auto* number = std::get_if<std::int64_t>(&a.value)) {
                m.add_integer(3, *number);
                m.add_integer(20, 2);
            } else {
                for (const auto n : std::get<shape>(a.value)) m.add_integer(8, n);
                m.add_integer(20, 7);
            }
            node.add_message(5, m);
        }
        body_.add_message(1, node);
        return out;
    }

    /// The tensor of a node in an order of axes; it is transposed the first time that this order is asked for.
    const std::string& tensor(std::size_t node, bool channels_first) {
        auto& name = names_[node][channels_first ? 1 : 0];
        const auto rank = graph_.shape_of(node).size();
        if (name.empty())
            name = emit(graph_.nodes()[node].name, "Transpose", {names_[node][channels_first ? 0 : 1]},
                        {{"perm", channels_first ? channels_first_axes(rank) : channels_last_axes(rank)}});
        return name;
    }
    static bool reads_channels_first(const augur::kernel* k) { return k != nullptr && k->is_image() && k->layout() == augur::tensor_layout::nhwc; }

    result<void> add_node(std::size_t i) {
        const auto& node = graph_.nodes()[i];
        if (const auto* k = graph_.kernel_of(i)) return add_kernel(i, *k);
        if (std::holds_alternative<augur::network_input>(node.action)) {
            const auto& nodes = graph_.nodes();
            bool first = true; // where every reader would transpose it, the caller does
            for (std::size_t r = i + 1; r < nodes.size(); ++r)
                if (std::count(nodes[r].inputs.begin(), nodes[r].inputs.end(), i) > 0) first = first && reads_channels_first(graph_.kernel_of(r));
            const auto& own = graph_.shape_of(i);
            out_.inputs.push_back({distinct(node.name), first ? taken(own, channels_first_axes(own.size())) : own, first});
            names_[i][first ? 1 : 0] = out_.inputs.back().name;
            body_.add_message(11, value_info(out_.inputs.back()));
        } else if (std::holds_alternative<augur::reshape>(node.action)) {
            const auto p = node.inputs[0];
            const auto& from = graph_.shape_of(p);
            // an image of one pixel has its elements in the same order both ways
            const bool first = names_[p][0].empty() && augur::elements_of(from) == from.front() * from.back();
            names_[i][0] = reshaped(node.name, tensor(p, first), graph_.shape_of(i));
        } else if (const auto* copy = std::get_if<augur::strided_copy>(&node.action)) {
            return add_copy(i, *copy);
        } else {
            const auto& c = std::get<augur::concatenation>(node.action);
            const auto made = [&](std::size_t p) { return !names_[p][1].empty(); };
            const bool first = std::all_of(node.inputs.begin(), node.inputs.end(), made);
            const auto rank = graph_.shape_of(i).size();
            const auto axis = first ? channels_last_axes(rank)[c.axis] : static_cast<std::int64_t>(c.axis);
            std::vector<std::string> inputs;
            for (const auto p : node.inputs) inputs.push_back(tensor(p, first));
            names_[i][first ? 1 : 0] = emit(node.name, "Concat", inputs, {{"axis", axis}});
        }
        return {};
    }
    std::string reshaped(const std::string& name, const std::string& from, const shape& to) {
        return emit(name, "Reshape", {from, integers(name + ".shape", to)});
    }

    result<void> add_copy(std::size_t i, const augur::strided_copy& c) {
        const auto& node = graph_.nodes()[i];
        auto from = graph_.shape_of(node.inputs[0]);
        const auto how = grid_of(c, augur::elements_of(from));
        if (!how) return unsupported("its strides are not those of a slice of a reshape");
        auto name = tensor(node.inputs[0], false);
        if (from != how->grid) name = reshaped(node.name, name, how->grid);
        if (how->extent != how->grid || std::count(how->step.begin(), how->step.end(), -1) > 0) {
            shape ends, axes(how->grid.size());
            for (std::size_t a = 0; a < how->grid.size(); ++a) {
                const auto end = how->begin[a] + how->step[a] * how->extent[a];
                ends.push_back(end < 0 ? (std::numeric_limits<std::int64_t>::min)() : end); // -1 would be the last element
            }
            std::iota(axes.begin(), axes.end(), 0);
            name = emit(node.name, "Slice",
                        {name, integers(node.name + ".begin", how->begin), integers(node.name + ".end", ends), integers(node.name + ".axes", axes),
                         integers(node.name + ".step", how->step)});
        }
        if (!std::is_sorted(how->axes.begin(), how->axes.end())) name = emit(node.name, "Transpose", {name}, {{"perm", how->axes}});
        if (taken(how->extent, how->axes) != c.shape) name = reshaped(node.name, name, c.shape);
        names_[i][0] = name;
        return {};
    }

    result<void> add_kernel(std::size_t i, const augur::kernel& k) {
        const auto& node = graph_.nodes()[i];
        const auto signature = augur::signature_of(k);
        const bool first = reads_channels_first(&k);
        const auto rank = k.rank();
        const auto constant_count = std::count_if(signature.operands.begin(), signature.operands.end(), [](const auto& o) { return o.constant; });
        auto next = used_;
        for (const auto& o : signature.operands)
            if (o.constant && (next == constants_.size() || static_cast<std::int64_t>(constants_[next++].size()) != augur::elements_of(o.shape)))
                return error{errc::invalid_argument, "expected " + std::to_string(constant_count) + " constants of its sizes"};

        auto operand = signature.operands.begin();
        auto producer = node.inputs.begin();
        const auto input = [&] {
            ++operand;
            return tensor(*producer++, first);
        };
        const auto constant = [&](const shape& axes, const shape& to) { // axes: empty: as they are
            const auto& o = *operand++;
            const auto& values = constants_[used_++];
            const auto name = node.name + "." + o.name;
            return axes.empty() ? floats(name, to, values) : floats(name, to, permuted(values, o.shape, axes));
        };
        const auto vector = [&] { return constant({}, {augur::elements_of(operand->shape)}); };
        const auto per_channel = [&] { // for broadcasting
            shape to(1 + rank, 1);
            to[0] = augur::elements_of(operand->shape);
            return constant({}, to);
        };
        auto fused = k.fused().begin();
        std::vector<std::string> inputs{input()};
        const auto add_bias = [&] { // which the operator itself adds
            if (fused == k.fused().end() || *fused != fused_op::bias) return;
            inputs.push_back(vector());
            ++fused;
        };
        std::string name;
        switch (k.kind()) {
        case kernel_kind::conv1d:
        case kernel_kind::conv2d:
        case kernel_kind::conv3d:
        case kernel_kind::depthwise_conv2d: {
            const bool depthwise = k.kind() == kernel_kind::depthwise_conv2d;
            const auto r = static_cast<std::int64_t>(rank);
            shape axes;
            if (first) axes = depthwise ? shape{r, r + 1} : shape{r + 1, r}; // (K.., C/G, F), or (K.., C, 1)
            for (std::int64_t a = 0; first && a < r; ++a) axes.push_back(a);
            inputs.push_back(constant(axes, first ? taken(operand->shape, axes) : operand->shape));
            add_bias();
            auto attributes = window_of(k, true);
            attributes.push_back({"group", depthwise ? k["c"] : k["groups"]});
            name = emit(node.name, "Conv", inputs, attributes);
            break;
        }
        case kernel_kind::max_pool2d: name = emit(node.name, "MaxPool", inputs, window_of(k, true)); break;
        case kernel_kind::avg_pool2d: {
            if (k.window(0).dilation != 1 || k.window(1).dilation != 1) return unsupported("average pooling with a dilation");
            auto attributes = window_of(k, false);
            attributes.push_back({"count_include_pad", 1});
            name = emit(node.name, "AveragePool", inputs, attributes);
            break;
        }
        case kernel_kind::global_avg_pool2d: name = emit(node.name, "GlobalAveragePool", inputs); break;
        case kernel_kind::dense:
            inputs.push_back(constant({}, operand->shape));
            add_bias();
            name = emit(node.name, "Gemm", inputs, {{"transB", 1}});
            break;
        case kernel_kind::matmul:
            inputs.push_back(input());
            name = emit(node.name, "MatMul", inputs);
            break;
        case kernel_kind::batch_matmul:
            inputs.push_back(input());
            if (k["transa"] != 0) inputs[0] = emit(node.name, "Transpose", {inputs[0]}, {{"perm", shape{0, 2, 1}}});
            if (k["transb"] != 0) inputs[1] = emit(node.name, "Transpose", {inputs[1]}, {{"perm", shape{0, 2, 1}}});
            name = emit(node.name, "MatMul", inputs);
            break;
        case kernel_kind::softmax: name = emit(node.name, "Softmax", inputs, {{"axis", 1}}); break;
        case kernel_kind::layer_norm:
            inputs.push_back(vector());
            inputs.push_back(vector());
            name = emit(node.name, "LayerNormalization", inputs); // the default epsilon is that of the kernel
            break;
        case kernel_kind::elementwise: name = inputs[0]; break;
        default: return unsupported("a kernel " + k.text());
        }
        for (; fused != k.fused().end(); ++fused) {
            switch (*fused) {
            case fused_op::bias: name = emit(node.name, "Add", {name, per_channel()}); break;
            case fused_op::scale:
                name = emit(node.name, "Mul", {name, per_channel()});
                name = emit(node.name, "Add", {name, per_channel()});
                break;
            case fused_op::add: name = emit(node.name, "Add", {name, input()}); break;
            case fused_op::relu: name = emit(node.name, "Relu", {name}); break;
            case fused_op::relu6: name = emit(node.name, "Clip", {name, scalar(node.name + ".min", 0), scalar(node.name + ".max", 6)}); break;
            case fused_op::gelu: { // in the form that ONNX Runtime knows
                auto y = emit(node.name, "Div", {name, scalar(node.name + ".sqrt2", 1.41421356F)});
                y = emit(node.name, "Add", {emit(node.name, "Erf", {y}), scalar(node.name + ".one", 1)});
                name = emit(node.name, "Mul", {emit(node.name, "Mul", {name, y}), scalar(node.name + ".half", 0.5F)});
                break;
            }
            case fused_op::tanh: name = emit(node.name, "Tanh", {name}); break;
            case fused_op::sigmoid: name = emit(node.name, "Sigmoid", {name}); break;
            }
        }
        names_[i][first ? 1 : 0] = name;
        return {};
    }

    static std::vector<attribute> window_of(const augur::kernel& k, bool dilations) {
        shape extent, stride, dilation, pad(2 * k.rank());
        for (std::size_t a = 0; a < k.rank(); ++a) {
            const auto w = k.window(a);
            extent.push_back(w.k);
            stride.push_back(w.stride);
            dilation.push_back(w.dilation);
            pad[a] = w.pad_before;
            pad[k.rank() + a] = w.pad_behind;
        }
        std::vector<attribute> out{{"kernel_shape", extent}, {"strides", stride}, {"pads", pad}};
        if (dilations) out.push_back({"dilations", dilation});
        return out;
    }
};

} // namespace

std::vector<std::int64_t> channels_first_axes(std::size_t rank) {
    shape out{0, static_cast<std::int64_t>(rank) - 1};
    for (std::size_t a = 1; a + 1 < rank; ++a) out.push_back(static_cast<std::int64_t>(a));
    return out;
}

std::vector<float> permuted(std::span<const float> values, std::span<const std::int64_t> shape_of, std::span<const std::int64_t> axes) {
    const auto rank = axes.size();
    shape stride(rank, 1), extent, step, at(rank, 0);
    for (std::size_t a = rank - 1; a-- > 0;) stride[a] = stride[a + 1] * shape_of[a + 1];
    for (const auto a : axes) {
        extent.push_back(shape_of[static_cast<std::size_t>(a)]);
        step.push_back(stride[static_cast<std::size_t>(a)]);
    }
    std::vector<float> out;
    out.reserve(values.size());
    std::int64_t from = 0;
    while (out.size() < values.size()) {
        out.push_back(values[static_cast<std::size_t>(from)]);
        for (auto a = rank; a-- > 0;) { // the next element of the result
            from += step[a];
            if (++at[a] < extent[a]) break;
            from -= extent[a] * step[a];
            at[a] = 0;
        }
    }
    return out;
}

augur::result<onnx_model> write_onnx(const augur::network_graph& g, std::span<const std::vector<float>> constants) {
    return onnx_writer(g, constants).run();
}

} // namespace examples
