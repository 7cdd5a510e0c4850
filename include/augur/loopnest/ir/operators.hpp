// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_IR_OPERATORS_HPP
#define AUGUR_LOOPNEST_IR_OPERATORS_HPP

/// @file
/// Builds the compute DAG of a named kernel (matmul, convolution, pooling, softmax and others).
///
/// Stages, their order, axis names and body shapes follow TVM's operator inventory (TOPI). Schedules from TVM logs therefore apply, and models
/// trained on these logs see the same structure. As in TOPI, a convolution has a padding stage even if the padding is zero.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

class dag_builder {
public:
    explicit dag_builder(const kernel& k) : kernel_(k) {}

    compute_dag run() {
        int out = 0;
        switch (kernel_.kind()) {
        case kernel_kind::dense:
        case kernel_kind::matmul: out = matmul(); break;
        case kernel_kind::batch_matmul: out = batch_matmul(); break;
        case kernel_kind::conv2d: out = conv2d(); break;
        case kernel_kind::depthwise_conv2d: out = depthwise(); break;
        case kernel_kind::conv2d_transpose: out = transposed(); break;
        case kernel_kind::max_pool2d:
        case kernel_kind::avg_pool2d: out = pool(); break;
        case kernel_kind::global_avg_pool2d: out = global_pool(); break;
        case kernel_kind::softmax: out = softmax(); break;
        case kernel_kind::layer_norm: out = layer_norm(); break;
        case kernel_kind::elementwise: out = input(image_shape("h", "w", "c")); break;
        }
        for (const auto op : kernel_.fused()) out = fuse(op, out);
        return std::move(dag_);
    }

private:
    using indices = std::vector<expr>;

    const kernel& kernel_;
    compute_dag dag_;
    int inputs_ = 0;

    [[nodiscard]] std::int64_t get(std::string_view name) const { return kernel_[name]; }
    [[nodiscard]] bool channels_last() const { return kernel_.layout() == tensor_layout::nhwc; }
    [[nodiscard]] std::size_t channel_axis() const { return channels_last() ? 3 : 1; }
    [[nodiscard]] std::size_t row_axis() const { return channels_last() ? 1 : 2; }

    /// The values n, h, w, c in the order of the image layout.
    template <class T>
    [[nodiscard]] std::vector<T> image(T n, T h, T w, T c) const {
        if (channels_last()) return {std::move(n), std::move(h), std::move(w), std::move(c)};
        return {std::move(n), std::move(c), std::move(h), std::move(w)};
    }
    [[nodiscard]] std::vector<std::int64_t> image_shape(std::string_view h, std::string_view w, std::string_view c) const {
        return image(get("n"), get(h), get(w), get(c));
    }

    int input(const std::vector<std::int64_t>& shape) { return dag_.input("p" + std::to_string(inputs_++), shape); }
    int constant(const std::vector<std::int64_t>& shape) { return dag_.input("p" + std::to_string(inputs_++), shape, true); }

    [[nodiscard]] std::vector<std::int64_t> shape_of(int id) const {
        std::vector<std::int64_t> out;
        for (const auto& a : dag_.ops[dag_.index_of(id)].axes) out.push_back(a.extent);
        return out;
    }
    static std::vector<loop_axis> named(std::string_view prefix, const std::vector<std::int64_t>& shape) {
        std::vector<loop_axis> out;
        for (std::size_t i = 0; i < shape.size(); ++i) out.push_back({std::string(prefix) + std::to_string(i), shape[i]});
        return out;
    }
    static indices axes(std::size_t n) {
        indices out;
        for (std::size_t i = 0; i < n; ++i) out.push_back(ex::axis(static_cast<std::int64_t>(i)));
        return out;
    }
    static expr times(expr e, std::int64_t factor) { return factor == 1 ? e : std::move(e) * ex::integer(factor); }
    static expr plus(expr e, std::int64_t offset) {
        if (offset == 0) return e;
        return offset > 0 ? std::move(e) + ex::integer(offset) : std::move(e) - ex::integer(-offset);
    }

    /// Pads tensor `id` with `value` along the two image axes.
    int pad(int id, std::string name, std::string_view axis_prefix, std::int64_t pad_begin, std::int64_t pad_end, double value) {
        auto shape = shape_of(id);
        auto at = axes(shape.size());
        if (pad_begin == 0 && pad_end == 0) return dag_.compute(std::move(name), named(axis_prefix, shape), ex::read(id, at));
        expr in_image;
        for (const auto a : {row_axis(), row_axis() + 1}) {
            const auto low = ex::less_equal(ex::integer(pad_begin), at[a]);
            const auto high = ex::less(at[a], ex::integer(pad_begin + shape[a]));
            if (pad_begin > 0) in_image = in_image ? ex::both(in_image, low) : low;
            if (pad_end > 0) in_image = in_image ? ex::both(in_image, high) : high;
            at[a] = plus(at[a], -pad_begin);
            shape[a] += pad_begin + pad_end;
        }
        return dag_.compute(std::move(name), named(axis_prefix, shape), ex::select(in_image, ex::read(id, at), ex::constant(value)));
    }

    int matmul() {
        const auto m = get("m");
        const auto n = get("n");
        const auto k = get("k");
        const bool transposed = kernel_.kind() == kernel_kind::dense;
        const auto i = ex::axis(0);
        const auto j = ex::axis(1);
        const auto r = ex::axis(2);
        const auto a = input({m, k});
        const auto b = transposed ? constant({n, k}) : input({k, n});
        return dag_.compute(transposed ? "T_matmul_NT" : "T_matmul_NN", {{"i", m}, {"j", n}},
                            ex::read(a, {i, r}) * ex::read(b, transposed ? indices{j, r} : indices{r, j}), {{"k", k}}, reducer::sum);
    }

    int batch_matmul() {
        const auto m = get("m");
        const auto n = get("n");
        const auto k = get("k");
        const bool transposed = get("transb") != 0;
        const auto b = ex::axis(0);
        const auto i = ex::axis(1);
        const auto j = ex::axis(2);
        const auto r = ex::axis(3);
        const auto x = input({get("b"), m, k});
        const auto y = transposed ? input({get("b"), n, k}) : input({get("b"), k, n});
        return dag_.compute(transposed ? "T_batch_matmul_NT" : "T_batch_matmul_NN", {{"b", get("b")}, {"i", m}, {"j", n}},
                            ex::read(x, {b, i, r}) * ex::read(y, transposed ? indices{b, j, r} : indices{b, r, j}), {{"k", k}}, reducer::sum);
    }

    int conv2d() {
        const auto k = get("k");
        const auto stride = get("stride");
        const auto dilation = get("dilation");
        const auto groups = get("groups");
        const auto per_group = get("c") / groups;
        const auto p = pad(input(image_shape("h", "w", "c")), "pad_temp", "i", get("pad"), get("pad"), 0);
        const auto weight = constant(channels_last() ? std::vector{k, k, per_group, get("f")} : std::vector{get("f"), per_group, k, k});
        const auto space =
            image<loop_axis>({"nn", get("n")}, {"yy", kernel_.output_extent(get("h"))}, {"xx", kernel_.output_extent(get("w"))}, {"ff", get("f")});
        const auto y = ex::axis(static_cast<std::int64_t>(row_axis()));
        const auto x = ex::axis(static_cast<std::int64_t>(row_axis() + 1));
        const auto f = ex::axis(static_cast<std::int64_t>(channel_axis()));
        const auto ry = ex::axis(channels_last() ? 4 : 5);
        const auto rx = ex::axis(channels_last() ? 5 : 6);
        const auto rc = ex::axis(channels_last() ? 6 : 4);
        const auto c = groups == 1 ? rc : times(ex::floor_div(f, get("f") / groups), per_group) + rc;
        const auto value = ex::read(p, image(ex::axis(0), times(y, stride) + times(ry, dilation), times(x, stride) + times(rx, dilation), c)) *
                           ex::read(weight, channels_last() ? indices{ry, rx, rc, f} : indices{f, rc, ry, rx});
        std::vector<loop_axis> reduce{{"ry", k}, {"rx", k}};
        reduce.insert(channels_last() ? reduce.end() : reduce.begin(), {"rc", per_group});
        return dag_.compute((groups == 1 ? "conv2d_" : "group_conv2d_") + std::string(to_string(kernel_.layout())), space, value, reduce,
                            reducer::sum);
    }

    int depthwise() {
        const auto k = get("k");
        const auto stride = get("stride");
        const auto dilation = get("dilation");
        const auto p = pad(input(image_shape("h", "w", "c")), "PaddedInput", "i", get("pad"), get("pad"), 0);
        const auto weight = constant(channels_last() ? std::vector<std::int64_t>{k, k, get("c"), 1} : std::vector<std::int64_t>{get("c"), 1, k, k});
        const auto space =
            image<loop_axis>({"b", get("n")}, {"i", kernel_.output_extent(get("h"))}, {"j", kernel_.output_extent(get("w"))}, {"c", get("c")});
        const auto i = ex::axis(static_cast<std::int64_t>(row_axis()));
        const auto j = ex::axis(static_cast<std::int64_t>(row_axis() + 1));
        const auto c = ex::axis(static_cast<std::int64_t>(channel_axis()));
        const auto di = ex::axis(4);
        const auto dj = ex::axis(5);
        const auto value = ex::read(p, image(ex::axis(0), times(i, stride) + times(di, dilation), times(j, stride) + times(dj, dilation), c)) *
                           ex::read(weight, channels_last() ? indices{di, dj, c, ex::integer(0)} : indices{c, ex::integer(0), di, dj});
        return dag_.compute("DepthwiseConv2d", space, value, {{"di", k}, {"dj", k}}, reducer::sum);
    }

    /// A transposed convolution: a stride-1 convolution with the rotated filter over the image dilated with stride-1 zeros between its elements.
    int transposed() {
        const auto k = get("k");
        const auto stride = get("stride");
        auto data = input(image_shape("h", "w", "c"));
        if (stride > 1) {
            auto shape = shape_of(data);
            auto at = axes(shape.size());
            expr real;
            for (const auto a : {row_axis(), row_axis() + 1}) {
                const auto hit = ex::equal(ex::floor_mod(at[a], stride), ex::integer(0));
                real = real ? ex::both(real, hit) : hit;
                at[a] = ex::floor_div(at[a], stride);
                shape[a] = (shape[a] - 1) * stride + 1;
            }
            data = dag_.compute("data_dilate", named("i", shape), ex::select(real, ex::read(data, at), ex::constant(0)));
        }
        const auto border = k - 1 - get("pad");
        data = pad(data, "data_pad", "i", border, border + get("opad"), 0);
        const auto turned = [&](std::int64_t axis) { return ex::integer(k - 1) - ex::axis(axis); };
        int weight = 0;
        if (channels_last()) {
            const auto w = constant({k, k, get("c"), get("f")});
            weight = dag_.compute("kernel_transform", {{"h", k}, {"w", k}, {"i", get("c")}, {"o", get("f")}},
                                  ex::read(w, {turned(0), turned(1), ex::axis(2), ex::axis(3)}));
        } else {
            const auto w = constant({get("c"), get("f"), k, k});
            weight = dag_.compute("kernel_transform", {{"o", get("f")}, {"i", get("c")}, {"h", k}, {"w", k}},
                                  ex::read(w, {ex::axis(1), ex::axis(0), turned(2), turned(3)}));
        }
        const auto space =
            image<loop_axis>({"b", get("n")}, {"h", kernel_.output_extent(get("h"))}, {"w", kernel_.output_extent(get("w"))}, {"c", get("f")});
        const auto y = ex::axis(static_cast<std::int64_t>(row_axis()));
        const auto x = ex::axis(static_cast<std::int64_t>(row_axis() + 1));
        const auto f = ex::axis(static_cast<std::int64_t>(channel_axis()));
        const auto dh = ex::axis(channels_last() ? 4 : 5);
        const auto dw = ex::axis(channels_last() ? 5 : 6);
        const auto dc = ex::axis(channels_last() ? 6 : 4);
        std::vector<loop_axis> reduce{{"dh", k}, {"dw", k}};
        reduce.insert(channels_last() ? reduce.end() : reduce.begin(), {"dc", get("c")});
        const auto value = ex::read(data, image(ex::axis(0), y + dh, x + dw, dc)) *
                           ex::read(weight, channels_last() ? indices{dh, dw, dc, f} : indices{f, dc, dh, dw});
        return dag_.compute("conv2d_transpose_" + std::string(to_string(kernel_.layout())), space, value, reduce, reducer::sum);
    }

    int pool() {
        const bool largest = kernel_.kind() == kernel_kind::max_pool2d;
        const auto k = get("k");
        const auto stride = get("stride");
        const auto in = input(image_shape("h", "w", "c"));
        const auto border = get("pad");
        const auto p = border > 0 ? pad(in, "pad_temp", "ax", border, border, largest ? identity_of(reducer::max) : 0) : in;
        const auto shape = image(get("n"), kernel_.output_extent(get("h")), kernel_.output_extent(get("w")), get("c"));
        auto at = axes(4);
        at[row_axis()] = times(at[row_axis()], stride) + ex::axis(4);
        at[row_axis() + 1] = times(at[row_axis() + 1], stride) + ex::axis(5);
        const auto out = dag_.compute(largest ? "pool_max" : "pool_sum", named("ax", shape), ex::read(p, at), {{"rv0", k}, {"rv1", k}},
                                      largest ? reducer::max : reducer::sum);
        return largest ? out : dag_.compute("pool_avg", named("ax", shape), ex::read(out, axes(4)) / ex::constant(static_cast<double>(k * k)));
    }

    int global_pool() {
        const auto h = get("h");
        const auto w = get("w");
        const auto p = input(image_shape("h", "w", "c"));
        const auto shape = image<std::int64_t>(get("n"), 1, 1, get("c"));
        auto at = axes(4);
        at[row_axis()] = times(at[row_axis()], h) + ex::axis(4);
        at[row_axis() + 1] = times(at[row_axis() + 1], w) + ex::axis(5);
        const auto sum = dag_.compute("adaptive_pool_sum", named("ax", shape), ex::read(p, at), {{"rv0", h}, {"rv1", w}}, reducer::sum);
        return dag_.compute("adaptive_pool_avg", named("ax", shape),
                            ex::read(sum, axes(4)) / ex::constant(static_cast<double>(h) * static_cast<double>(w)));
    }

    int softmax() {
        const auto m = get("m");
        const auto n = get("n");
        const auto i = ex::axis(0);
        const auto j = ex::axis(1);
        const auto x = input({m, n});
        const auto most = dag_.compute("T_softmax_maxelem", {{"i0", m}}, ex::read(x, {i, j}), {{"k", n}}, reducer::max);
        const auto each = dag_.compute("T_softmax_exp", named("i", {m, n}), ex::exp(ex::read(x, {i, j}) - ex::read(most, {i})));
        const auto sum = dag_.compute("T_softmax_expsum", {{"i0", m}}, ex::read(each, {i, j}), {{"k", n}}, reducer::sum);
        return dag_.compute("T_softmax_norm", named("i", {m, n}), ex::read(each, {i, j}) / ex::read(sum, {i}));
    }

    int layer_norm() {
        const auto m = get("m");
        const auto n = get("n");
        const auto i = ex::axis(0);
        const auto j = ex::axis(1);
        const auto count = ex::constant(static_cast<double>(n));
        const auto x = input({m, n});
        const auto sum = dag_.compute("p0_sum", {{"ax0", m}}, ex::read(x, {i, j}), {{"k1", n}}, reducer::sum);
        const auto mean = dag_.compute("p0_mean", {{"ax0", m}}, ex::read(sum, {i}) / count);
        const auto centred = ex::read(x, {i, j}) - ex::read(mean, {i});
        const auto squares = dag_.compute("p0_var_sum", {{"ax0", m}}, centred * centred, {{"k1", n}}, reducer::sum);
        const auto gamma = constant({n});
        const auto beta = constant({n});
        const auto deviation = ex::sqrt(ex::read(squares, {i}) / count + ex::constant(1e-5));
        return dag_.compute("T_layer_norm", named("ax", {m, n}),
                            centred * (ex::constant(1) / deviation) * ex::read(gamma, {j}) + ex::read(beta, {j}));
    }

    int fuse(fused_op op, int id) {
        const auto shape = shape_of(id);
        const auto x = ex::read(id, axes(shape.size()));
        const auto stage = [&](std::string name, std::string_view prefix, expr body) {
            return dag_.compute(std::move(name), named(prefix, shape), std::move(body));
        };
        const auto per_channel = [&] { // a constant with one value a channel; its other axes have extent 1 and are read at index 0
            const auto channel = kernel_.is_image() ? channel_axis() : shape.size() - 1;
            std::vector<std::int64_t> flat(shape.size(), 1);
            flat[channel] = shape[channel];
            indices at;
            for (std::size_t a = 0; a < shape.size(); ++a)
                at.push_back(a == channel || shape[a] == 1 ? ex::axis(static_cast<std::int64_t>(a)) : ex::integer(0));
            return ex::read(constant(flat), at);
        };
        switch (op) {
        case fused_op::bias: return stage("T_add", "ax", x + per_channel());
        case fused_op::scale: {
            const auto scaled = stage("T_multiply", "ax", x * per_channel());
            return stage("T_add", "ax", ex::read(scaled, axes(shape.size())) + per_channel());
        }
        case fused_op::add: return stage("T_add", "ax", x + ex::read(input(shape), axes(shape.size())));
        case fused_op::relu: return stage("T_relu", "ax", ex::max(x, ex::constant(0)));
        case fused_op::relu6: return stage("compute", "i", ex::max(ex::min(x, ex::constant(6)), ex::constant(0)));
        case fused_op::gelu:
            return stage("T_gelu", "ax", x * ((ex::erf(x * ex::constant(0.70710678118654752440)) + ex::constant(1)) * ex::constant(0.5)));
        case fused_op::tanh: return stage("T_tanh", "ax", ex::tanh(x));
        case fused_op::sigmoid: return stage("T_sigmoid", "ax", ex::constant(1) / (ex::exp(ex::constant(0) - x) + ex::constant(1)));
        }
        return id;
    }
};

} // namespace detail

/// The compute DAG of a kernel. Inputs and constants appear at their first use; weights, biases, gamma and beta are constants.
///
/// Errors: limit, when a stage has more than 1e15 points.   Cost: microseconds.
[[nodiscard]] inline result<compute_dag> build_dag(const kernel& k) {
    auto dag = detail::dag_builder(k).run();
    if (auto checked = dag.check(); !checked) return error{checked.error().code, k.text() + ": " + checked.error().detail};
    return dag;
}

} // namespace augur::inline v0::loopnest

#endif
