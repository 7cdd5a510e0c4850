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
#include <augur/loopnest/detail/dag_builder.hpp>
#include <augur/loopnest/detail/dag_convolutions.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

inline int matmul(dag_builder& b) {
    const auto m = b.get("m");
    const auto n = b.get("n");
    const auto k = b.get("k");
    const bool transposed = b.workload().kind() == kernel_kind::dense;
    const auto i = ex::axis(0);
    const auto j = ex::axis(1);
    const auto r = ex::axis(2);
    const auto x = b.input({m, k});
    const auto y = transposed ? b.constant({n, k}) : b.input({k, n});
    return b.dag.compute(transposed ? "T_matmul_NT" : "T_matmul_NN", {{"i", m}, {"j", n}},
                         ex::read(x, {i, r}) * ex::read(y, transposed ? indices{j, r} : indices{r, j}), {{"k", k}}, reducer::sum);
}

inline int batch_matmul(dag_builder& b) {
    const auto batch = b.get("b");
    const auto m = b.get("m");
    const auto n = b.get("n");
    const auto k = b.get("k");
    const bool turned_x = b.get("transa") != 0;
    const bool turned_y = b.get("transb") != 0;
    const auto z = ex::axis(0);
    const auto i = ex::axis(1);
    const auto j = ex::axis(2);
    const auto r = ex::axis(3);
    const auto x = turned_x ? b.input({batch, k, m}) : b.input({batch, m, k});
    const auto y = turned_y ? b.input({batch, n, k}) : b.input({batch, k, n});
    return b.dag.compute(std::string("T_batch_matmul_") + (turned_x ? "T" : "N") + (turned_y ? "T" : "N"), {{"b", batch}, {"i", m}, {"j", n}},
                         ex::read(x, turned_x ? indices{z, r, i} : indices{z, i, r}) * ex::read(y, turned_y ? indices{z, j, r} : indices{z, r, j}),
                         {{"k", k}}, reducer::sum);
}

inline int pool(dag_builder& b) {
    const auto kind = b.workload().kind();
    const bool largest = kind == kernel_kind::max_pool2d;
    const bool global = kind == kernel_kind::global_avg_pool2d;
    auto image = b.input(b.input_shape());
    std::int64_t border = 0;
    double elements = 1;
    for (const auto& w : b.windows()) {
        border += w.pad_before + w.pad_behind;
        elements *= static_cast<double>(w.k);
    }
    if (border > 0)
        image = b.pad(image, "pad_temp", "ax", b.extents(&window_axis::pad_before), b.extents(&window_axis::pad_behind),
                      largest ? identity_of(reducer::max) : 0);
    const auto shape = b.image(b.get("n"), b.extents(&window_axis::out), b.get("c"));
    const auto at = b.image(axis(0), b.taps(axes(b.rank(), b.rank() + 2)), axis(b.channel_axis()));
    const std::string name = global ? "adaptive_pool_" : "pool_";
    const auto out = b.dag.compute(name + (largest ? "max" : "sum"), named("ax", shape), ex::read(image, at),
                                   b.loops({"rv0", "rv1"}, &window_axis::k), largest ? reducer::max : reducer::sum);
    if (largest) return out;
    return b.dag.compute(name + "avg", named("ax", shape), ex::read(out, axes(shape.size())) / ex::constant(elements));
}

/// The tensor (M, N, I) of an operator along N, without I where it is 1; indices of an element, and of its row (M, I).
struct row_view {
    std::vector<std::int64_t> shape, rows;
    indices element, row;
};
inline row_view rows_of(const dag_builder& b) {
    const auto inner = b.get("inner");
    if (inner == 1) return {{b.get("m"), b.get("n")}, {b.get("m")}, axes(2), axes(1)};
    return {{b.get("m"), b.get("n"), inner}, {b.get("m"), inner}, axes(3), {axis(0), axis(2)}};
}

inline int softmax(dag_builder& b) {
    const auto v = rows_of(b);
    const auto x = b.input(v.shape);
    auto along = v.element; // in a reduction the axes of the row come first
    if (v.rows.size() == 2) along = {axis(0), axis(2), axis(1)};
    const std::vector<loop_axis> k{{"k", b.get("n")}};
    const auto most = b.dag.compute("T_softmax_maxelem", named("i", v.rows), ex::read(x, along), k, reducer::max);
    const auto each = b.dag.compute("T_softmax_exp", named("i", v.shape), ex::exp(ex::read(x, v.element) - ex::read(most, v.row)));
    const auto sum = b.dag.compute("T_softmax_expsum", named("i", v.rows), ex::read(each, along), k, reducer::sum);
    return b.dag.compute("T_softmax_norm", named("i", v.shape), ex::read(each, v.element) / ex::read(sum, v.row));
}

inline int reduce(dag_builder& b) {
    const auto kind = b.workload().kind();
    const auto v = rows_of(b);
    const auto x = b.input(v.shape);
    const auto along = v.rows.size() == 2 ? indices{axis(0), axis(2), axis(1)} : v.element;
    const auto out = b.dag.compute("p0_red", named("ax", v.rows), ex::read(x, along), {{"k1", b.get("n")}},
                                   kind == kernel_kind::reduce_max ? reducer::max : reducer::sum);
    if (kind != kernel_kind::reduce_mean) return out;
    return b.dag.compute("T_divide", named("ax", v.rows), ex::read(out, axes(v.rows.size())) / ex::constant(static_cast<double>(b.get("n"))));
}

inline int layer_norm(dag_builder& b) {
    const auto m = b.get("m");
    const auto n = b.get("n");
    const auto i = ex::axis(0);
    const auto j = ex::axis(1);
    const auto count = ex::constant(static_cast<double>(n));
    const auto x = b.input({m, n});
    const auto sum = b.dag.compute("p0_sum", {{"ax0", m}}, ex::read(x, {i, j}), {{"k1", n}}, reducer::sum);
    const auto mean = b.dag.compute("p0_mean", {{"ax0", m}}, ex::read(sum, {i}) / count);
    const auto centred = ex::read(x, {i, j}) - ex::read(mean, {i});
    const auto squares = b.dag.compute("p0_var_sum", {{"ax0", m}}, centred * centred, {{"k1", n}}, reducer::sum);
    const auto gamma = b.constant({n});
    const auto beta = b.constant({n});
    const auto deviation = ex::sqrt(ex::read(squares, {i}) / count + ex::constant(1e-5));
    return b.dag.compute("T_layer_norm", named("ax", {m, n}), centred * (ex::constant(1) / deviation) * ex::read(gamma, {j}) + ex::read(beta, {j}));
}

inline int fuse(dag_builder& b, fused_op op, int id) {
    const auto shape = b.shape_of(id);
    const auto x = ex::read(id, axes(shape.size()));
    const auto stage = [&](std::string name, std::string_view prefix, expr body) {
        return b.dag.compute(std::move(name), named(prefix, shape), std::move(body));
    };
    const auto per_channel = [&] { // a constant with one value a channel; its other axes have extent 1 and are read at index 0
        const auto channel = b.rank() > 0 ? b.channel_axis() : shape.size() - 1;
        std::vector<std::int64_t> flat(shape.size(), 1);
        flat[channel] = shape[channel];
        indices at;
        for (std::size_t a = 0; a < shape.size(); ++a)
            at.push_back(a == channel || shape[a] == 1 ? ex::axis(static_cast<std::int64_t>(a)) : ex::integer(0));
        return ex::read(b.constant(flat), at);
    };
    switch (op) {
    case fused_op::bias: return stage("T_add", "ax", x + per_channel());
    case fused_op::scale: {
        const auto scaled = stage("T_multiply", "ax", x * per_channel());
        return stage("T_add", "ax", ex::read(scaled, axes(shape.size())) + per_channel());
    }
    case fused_op::add: return stage("T_add", "ax", x + ex::read(b.input(shape), axes(shape.size())));
    case fused_op::relu: return stage("T_relu", "ax", ex::max(x, ex::constant(0)));
    case fused_op::relu6: return stage("compute", "i", ex::max(ex::min(x, ex::constant(6)), ex::constant(0)));
    case fused_op::gelu:
        return stage("T_gelu", "ax", x * ((ex::erf(x * ex::constant(0.70710678118654752440)) + ex::constant(1)) * ex::constant(0.5)));
    case fused_op::tanh: return stage("T_tanh", "ax", ex::tanh(x));
    case fused_op::sigmoid: return stage("T_sigmoid", "ax", ex::constant(1) / (ex::exp(ex::constant(0) - x) + ex::constant(1)));
    }
    return id;
}
inline int main_operator(dag_builder& b) {
    switch (b.workload().kind()) {
    case kernel_kind::dense:
    case kernel_kind::matmul: return matmul(b);
    case kernel_kind::batch_matmul: return batch_matmul(b);
    case kernel_kind::conv1d:
    case kernel_kind::conv2d:
    case kernel_kind::conv3d: return convolution(b);
    case kernel_kind::depthwise_conv2d: return depthwise_convolution(b);
    case kernel_kind::conv1d_transpose:
    case kernel_kind::conv2d_transpose: return transposed_convolution(b);
    case kernel_kind::conv2d_winograd: return winograd_convolution(b);
    case kernel_kind::max_pool2d:
    case kernel_kind::avg_pool2d:
    case kernel_kind::global_avg_pool2d: return pool(b);
    case kernel_kind::softmax: return softmax(b);
    case kernel_kind::layer_norm: return layer_norm(b);
    case kernel_kind::reduce_sum:
    case kernel_kind::reduce_max:
    case kernel_kind::reduce_mean: return reduce(b);
    case kernel_kind::elementwise: return b.input(b.input_shape());
    }
    return 0;
}

} // namespace detail

/// The compute DAG of a kernel. Inputs and constants appear at their first use; weights, biases, gamma and beta are constants.
///
/// Errors: limit, when a stage has more than 1e15 points.   Cost: microseconds.
[[nodiscard]] inline result<compute_dag> build_dag(const kernel& k) {
    detail::dag_builder builder(k);
    int out = detail::main_operator(builder);
    for (const auto op : k.fused()) out = detail::fuse(builder, op, out);
    if (auto checked = builder.dag.check(); !checked) return error{checked.error().code, k.text() + ": " + checked.error().detail};
    return std::move(builder.dag);
}

} // namespace augur::inline v0::loopnest

#endif
