// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_DAG_CONVOLUTIONS_HPP
#define AUGUR_LOOPNEST_DETAIL_DAG_CONVOLUTIONS_HPP

/// @file
/// The compute DAGs of convolutions of one to three spatial axes: plain, grouped, depthwise, transposed, Winograd's.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/loopnest/detail/dag_builder.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/ir/winograd.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0::loopnest::detail {

/// The weights' indices or extents in the order of the layout: (window, in, out) or (out, in, window).
template <class T>
std::vector<T> weight_order(bool channels_last, std::vector<T> window, T in, T out) {
    if (channels_last) {
        window.push_back(std::move(in));
        window.push_back(std::move(out));
    } else {
        window.insert(window.begin(), {std::move(out), std::move(in)});
    }
    return window;
}

/// The reduction of a convolution: over the window, and over the channels before or behind it, as the layout has them.
struct reduction {
    std::vector<loop_axis> loops;
    indices window;
    expr channel;
};
inline reduction reduce_window(const dag_builder& b, const std::vector<std::string_view>& window, loop_axis channel) {
    const auto first = b.rank() + 2; // behind the space axes
    reduction out{b.loops(window, &window_axis::k), axes(b.rank(), b.channels_last() ? first : first + 1),
                  axis(b.channels_last() ? first + b.rank() : first)};
    out.loops.insert(b.channels_last() ? out.loops.end() : out.loops.begin(), std::move(channel));
    return out;
}

inline int convolution(dag_builder& b) {
    const auto f = b.get("f");
    const auto groups = b.get("groups");
    const auto per_group = b.get("c") / groups;
    const auto p = b.pad(b.input(b.input_shape()), "pad_temp", "i", b.extents(&window_axis::pad_before), b.extents(&window_axis::pad_behind), 0);
    const auto weight = b.constant(weight_order(b.channels_last(), b.extents(&window_axis::k), per_group, f));
    const auto space = b.image<loop_axis>({"nn", b.get("n")}, b.loops({"yy", "xx", "zz"}, &window_axis::out), {"ff", f});
    const auto r = reduce_window(b, {"ry", "rx", "rz"}, {"rc", per_group});
    const auto out = axis(b.channel_axis());
    const auto c = groups == 1 ? r.channel : times(ex::floor_div(out, f / groups), per_group) + r.channel;
    const auto value =
        ex::read(p, b.image(axis(0), b.taps(r.window), c)) * ex::read(weight, weight_order(b.channels_last(), r.window, r.channel, out));
    return b.dag.compute((groups == 1 ? "conv" : "group_conv") + std::to_string(b.rank()) + "d_" + b.layout(), space, value, r.loops, reducer::sum);
}

inline int depthwise_convolution(dag_builder& b) {
    const auto c = b.get("c");
    const auto p = b.pad(b.input(b.input_shape()), "PaddedInput", "i", b.extents(&window_axis::pad_before), b.extents(&window_axis::pad_behind), 0);
    // The axis of multipliers (1) is behind that of channels in both layouts.
    const auto order = [&](auto window, auto channel, auto multiplier) {
        window.insert(b.channels_last() ? window.end() : window.begin(), {std::move(channel), std::move(multiplier)});
        return window;
    };
    const auto weight = b.constant(order(b.extents(&window_axis::k), c, std::int64_t{1}));
    const auto space = b.image<loop_axis>({"b", b.get("n")}, b.loops({"i", "j"}, &window_axis::out), {"c", c});
    const auto window = axes(b.rank(), b.rank() + 2);
    const auto channel = axis(b.channel_axis());
    const auto value = ex::read(p, b.image(axis(0), b.taps(window), channel)) * ex::read(weight, order(window, channel, ex::integer(0)));
    return b.dag.compute("DepthwiseConv2d", space, value, b.loops({"di", "dj"}, &window_axis::k), reducer::sum);
}

/// Stride - 1 zeros between the elements of an image.
inline int dilated_image(dag_builder& b, int data) {
    auto shape = b.shape_of(data);
    auto at = axes(shape.size());
    expr real;
    for (std::size_t i = 0; i < b.rank(); ++i) {
        const auto stride = b.windows()[i].stride;
        if (stride == 1) continue;
        const auto a = b.spatial_axis(i);
        real = both(real, ex::equal(ex::floor_mod(at[a], stride), ex::integer(0)));
        at[a] = ex::floor_div(at[a], stride);
        shape[a] = (shape[a] - 1) * stride + 1;
    }
    return real ? b.dag.compute("data_dilate", named("i", shape), ex::select(real, ex::read(data, at), ex::constant(0))) : data;
}

/// A transposed convolution: a stride-1 convolution with the rotated filter over the image dilated with stride-1 zeros between its elements.
inline int transposed_convolution(dag_builder& b) {
    const auto f = b.get("f");
    const auto groups = b.get("groups");
    const auto per_group = b.get("c") / groups;
    auto data = dilated_image(b, b.input(b.input_shape()));
    std::vector<std::int64_t> before, behind;
    for (const auto& w : b.windows()) {
        before.push_back(w.span() - 1 - w.pad_before);
        behind.push_back(w.span() - 1 - w.pad_behind + w.opad);
    }
    data = b.pad(data, "data_pad", "i", before, behind, 0);
    // The constant is (window, C, F/G) or (C, F/G, window); the convolution reads it as (window, C/G, F) or (F, C/G, window).
    const bool last = b.channels_last();
    const auto window = b.extents(&window_axis::k);
    const auto weight = b.constant(last ? weight_order(true, window, b.get("c"), f / groups) : weight_order(false, window, f / groups, b.get("c")));
    indices turned;
    for (std::size_t i = 0; i < b.rank(); ++i) turned.push_back(ex::integer(window[i] - 1) - axis(last ? i : i + 2));
    const auto o = axis(last ? b.rank() + 1 : 0);
    auto in = axis(last ? b.rank() : 1);
    auto out = o;
    if (groups != 1) {
        in = times(ex::floor_div(o, f / groups), per_group) + in;
        out = ex::floor_mod(o, f / groups);
    }
    const std::vector<std::string_view> names = b.rank() == 1 ? std::vector<std::string_view>{"w"} : std::vector<std::string_view>{"h", "w"};
    const auto rotated = b.dag.compute("kernel_transform", weight_order<loop_axis>(last, b.loops(names, &window_axis::k), {"i", per_group}, {"o", f}),
                                       ex::read(weight, last ? weight_order(true, turned, in, out) : weight_order(false, turned, out, in)));
    const auto r =
        reduce_window(b, b.rank() == 1 ? std::vector<std::string_view>{"dw"} : std::vector<std::string_view>{"dh", "dw"}, {"dc", per_group});
    const auto channel = axis(b.channel_axis());
    const auto c = groups == 1 ? r.channel : times(ex::floor_div(channel, f / groups), per_group) + r.channel;
    indices at;
    for (std::size_t i = 0; i < b.rank(); ++i) at.push_back(axis(b.spatial_axis(i)) + times(r.window[i], b.windows()[i].dilation));
    const auto space = b.image<loop_axis>({"b", b.get("n")}, b.loops(names, &window_axis::out), {"c", f});
    const auto value = ex::read(data, b.image(axis(0), at, c)) * ex::read(rotated, weight_order(last, r.window, r.channel, channel));
    return b.dag.compute((groups == 1 ? "conv" : "group_conv") + std::to_string(b.rank()) + "d_transpose_" + b.layout(), space, value, r.loops,
                         reducer::sum);
}

/// A constant matrix as a chain of selects, as TVM has it: where the loops around it are unrolled, the compiler sees its elements.
inline int constant_matrix(dag_builder& b, std::string name, const winograd_matrix& m) {
    expr body = ex::constant(0);
    for (std::size_t i = 0; i < m.rows; ++i)
        for (std::size_t j = 0; j < m.columns; ++j) {
            const auto here = ex::both(ex::equal(axis(0), ex::integer(static_cast<std::int64_t>(i))),
                                       ex::equal(axis(1), ex::integer(static_cast<std::int64_t>(j))));
            body = ex::select(here, ex::constant(m(i, j)), std::move(body));
        }
    const int id = b.dag.compute(std::move(name), {{"i", static_cast<std::int64_t>(m.rows)}, {"j", static_cast<std::int64_t>(m.columns)}}, body);
    b.dag.ops.back().inline_always = true;
    return id;
}

/// Winograd's convolution with transformed weights: the image in overlapping tiles, their transform, one product a position in the tile, the inverse
/// transform. Axes: eps, nu positions in an input tile, vh, vw in an output tile, p tiles.
inline int winograd_convolution(dag_builder& b) {
    const bool last = b.channels_last();
    const auto m = b.get("tile");
    const auto alpha = m + 2;
    const auto ci = b.get("c");
    const auto co = b.get("f");
    std::vector<std::int64_t> tiles, behind;
    for (const auto& w : b.windows()) {
        tiles.push_back((w.out + m - 1) / m);
        behind.push_back(w.pad_behind + tiles.back() * m - w.out); // the last tile may reach beyond the output
    }
    const auto per_image = tiles[0] * tiles[1];
    const auto count = b.get("n") * per_image;
    const auto matrices = winograd_transforms::of(m);
    const auto p = b.pad(b.input(b.input_shape()), "data_pad", "i", b.extents(&window_axis::pad_before), behind, 0);
    using loops = std::vector<loop_axis>;
    const loop_axis eps{"eps", alpha}, nu{"nu", alpha}, tile{"p", count}, in{"ci", ci}, out{"co", co}, ra{"r_a", alpha}, rb{"r_b", alpha};
    const auto a = axes(6);

    const auto at_tile = last ? a[2] : a[1]; // in NCHW the axes of input_tile are (ci, p, eps, nu)
    const auto input_tile =
        b.dag.compute("input_tile", last ? loops{eps, nu, tile, in} : loops{in, tile, eps, nu},
                      ex::read(p, b.image(ex::floor_div(at_tile, per_image),
                                          indices{times(ex::floor_mod(ex::floor_div(at_tile, tiles[1]), tiles[0]), m) + (last ? a[0] : a[2]),
                                                  times(ex::floor_mod(at_tile, tiles[1]), m) + (last ? a[1] : a[3])},
                                          last ? a[3] : a[0])));
    const auto matrix_b = constant_matrix(b, "B", matrices.b);
    const auto data_pack = b.dag.compute("data_pack", last ? loops{eps, nu, tile, in} : loops{eps, nu, in, tile},
                                         ex::read(input_tile, last ? indices{a[4], a[5], a[2], a[3]} : indices{a[2], a[3], a[4], a[5]}) *
                                             ex::read(matrix_b, {a[4], a[0]}) * ex::read(matrix_b, {a[5], a[1]}),
                                         {ra, rb}, reducer::sum);
    b.dag.ops.back().constant_index = {"eps", "nu", "r_a", "r_b"};
    const auto weight = b.constant(last ? std::vector{alpha, alpha, co, ci} : std::vector{alpha, alpha, ci, co});
    const auto bgemm = b.dag.compute("bgemm", last ? loops{eps, nu, tile, out} : loops{eps, nu, out, tile},
                                     ex::read(data_pack, last ? indices{a[0], a[1], a[2], a[4]} : indices{a[0], a[1], a[4], a[3]}) *
                                         ex::read(weight, last ? indices{a[0], a[1], a[3], a[4]} : indices{a[0], a[1], a[4], a[2]}),
                                     {in}, reducer::sum);
    const auto matrix_a = constant_matrix(b, "A", matrices.a);
    const loop_axis vh{"vh", m}, vw{"vw", m};
    const auto inverse = b.dag.compute("inverse", last ? loops{vh, vw, tile, out} : loops{out, tile, vh, vw},
                                       ex::read(bgemm, last ? indices{a[4], a[5], a[2], a[3]} : indices{a[4], a[5], a[0], a[1]}) *
                                           ex::read(matrix_a, {a[4], last ? a[0] : a[2]}) * ex::read(matrix_a, {a[5], last ? a[1] : a[3]}),
                                       {ra, rb}, reducer::sum);
    b.dag.ops.back().constant_index = {"vh", "vw", "r_a", "r_b"};
    const auto y = axis(b.spatial_axis(0));
    const auto x = axis(b.spatial_axis(1));
    const auto of_tile = times(times(a[0], tiles[0]), tiles[1]) + times(ex::floor_div(y, m), tiles[1]) + ex::floor_div(x, m);
    const auto channel = axis(b.channel_axis());
    return b.dag.compute("conv2d_winograd", b.image<loop_axis>({"n", b.get("n")}, b.loops({"h", "w"}, &window_axis::out), out),
                         ex::read(inverse, last ? indices{ex::floor_mod(y, m), ex::floor_mod(x, m), of_tile, channel}
                                                : indices{channel, of_tile, ex::floor_mod(y, m), ex::floor_mod(x, m)}));
}

} // namespace augur::inline v0::loopnest::detail

#endif
