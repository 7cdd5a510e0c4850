// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_LOOPNEST_DAGS_HPP
#define AUGUR_TESTS_LOOPNEST_DAGS_HPP

/// @file
/// Kernels of the tests, operation by operation as TVM's operator library writes them, so that stages have the same numbers.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/ir/dag.hpp>

namespace augur::loopnest::testing_dags {

using dag_ptr = std::shared_ptr<const compute_dag>;
using shape = std::vector<std::int64_t>;

inline expr ax(std::int64_t i) { return ex::axis(i); }
inline expr num(std::int64_t i) { return ex::integer(i); }
inline std::vector<expr> axes_of(std::size_t n) {
    std::vector<expr> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(ax(static_cast<std::int64_t>(i)));
    return out;
}
inline std::vector<loop_axis> named(const char* const* names, const shape& extents) {
    std::vector<loop_axis> out;
    for (std::size_t i = 0; i < extents.size(); ++i) out.push_back({names[i], extents[i]});
    return out;
}
inline std::vector<loop_axis> numbered(const std::string& prefix, const shape& extents) {
    std::vector<loop_axis> out;
    for (std::size_t i = 0; i < extents.size(); ++i) out.push_back({prefix + std::to_string(i), extents[i]});
    return out;
}
inline dag_ptr share(compute_dag d) { return std::make_shared<const compute_dag>(std::move(d)); }

/// C[i,j] = sum_k A[i,k] B[k,j]; B[j,k] when `transposed`.
inline dag_ptr matmul(std::int64_t n, std::int64_t m, std::int64_t k, bool transposed = false) {
    compute_dag d;
    const int a = d.input("A", {n, k});
    const int b = d.input("B", transposed ? shape{m, k} : shape{k, m}, true);
    const auto rhs = transposed ? ex::read(b, {ax(1), ax(2)}) : ex::read(b, {ax(2), ax(1)});
    d.compute("C", {{"i", n}, {"j", m}}, ex::read(a, {ax(0), ax(2)}) * rhs, {{"k", k}}, reducer::sum);
    return share(std::move(d));
}

inline dag_ptr double_matmul(std::int64_t n) {
    compute_dag d;
    const int a = d.input("A", {n, n});
    const int b = d.input("B", {n, n});
    const int p = d.compute("D", {{"i", n}, {"j", n}}, ex::read(a, {ax(0), ax(2)}) * ex::read(b, {ax(2), ax(1)}), {{"k", n}}, reducer::sum);
    const int c = d.input("C", {n, n});
    d.compute("E", {{"i", n}, {"j", n}}, ex::read(p, {ax(0), ax(2)}) * ex::read(c, {ax(2), ax(1)}), {{"k", n}}, reducer::sum);
    return share(std::move(d));
}

/// Element `at` of `tensor` shifted by `before` on the axes `where`, `fill` outside of `extent`.
inline expr padded(int tensor, std::size_t rank, std::vector<std::size_t> where, std::int64_t before, const shape& extent, double fill) {
    expr inside;
    auto at = axes_of(rank);
    for (std::size_t k = 0; k < where.size(); ++k) {
        const auto i = static_cast<std::int64_t>(where[k]);
        const auto in = ex::both(ex::less_equal(num(before), ax(i)), ex::less(ax(i), num(before + extent[k])));
        inside = inside ? ex::both(inside, in) : in;
        at[where[k]] = ax(i) - num(before);
    }
    return ex::select(inside, ex::read(tensor, at), ex::constant(fill));
}

inline dag_ptr conv2d_nchw_bn_relu(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t ci, std::int64_t co, std::int64_t k,
                                   std::int64_t stride, std::int64_t pad) {
    compute_dag d;
    const auto oh = (h + 2 * pad - k) / stride + 1;
    const auto ow = (w + 2 * pad - k) / stride + 1;
    const shape out{n, co, oh, ow};
    const int data = d.input("Data", {n, ci, h, w});
    const int p = d.compute("pad_temp", numbered("i", {n, ci, h + 2 * pad, w + 2 * pad}), padded(data, 4, {2, 3}, pad, {h, w}, 0));
    const int kernel = d.input("Kernel", {co, ci, k, k}, true);
    const char* nchw[] = {"nn", "ff", "yy", "xx"};
    int x = d.compute("conv2d_nchw", named(nchw, out),
                      ex::read(p, {ax(0), ax(4), ax(2) * num(stride) + ax(5), ax(3) * num(stride) + ax(6)}) *
                          ex::read(kernel, {ax(1), ax(4), ax(5), ax(6)}),
                      {{"rc", ci}, {"ry", k}, {"rx", k}}, reducer::sum);
    const int bias = d.input("Bias", {co, 1, 1}, true);
    x = d.compute("Bias_add", numbered("i", out), ex::read(x, axes_of(4)) + ex::read(bias, {ax(1), num(0), num(0)}));
    const int scale = d.input("Bn_scale", {co, 1, 1}, true);
    x = d.compute("Bn_mul", numbered("i", out), ex::read(x, axes_of(4)) * ex::read(scale, {ax(1), num(0), num(0)}));
    const int offset = d.input("Bn_offset", {co, 1, 1}, true);
    x = d.compute("Bn_add", numbered("i", out), ex::read(x, axes_of(4)) + ex::read(offset, {ax(1), num(0), num(0)}));
    d.compute("relu", numbered("i", out), ex::max(ex::read(x, axes_of(4)), ex::constant(0)));
    return share(std::move(d));
}

inline dag_ptr conv2d_nhwc_bias_relu(std::int64_t h, std::int64_t w, std::int64_t ci, std::int64_t co, std::int64_t k, std::int64_t stride,
                                     std::int64_t pad) {
    compute_dag d;
    const shape out{1, (h + 2 * pad - k) / stride + 1, (w + 2 * pad - k) / stride + 1, co};
    const int data = d.input("p0", {1, h, w, ci});
    const int p = d.compute("pad_temp", numbered("i", {1, h + 2 * pad, w + 2 * pad, ci}),
                            pad == 0 ? ex::read(data, axes_of(4)) : padded(data, 4, {1, 2}, pad, {h, w}, 0));
    const int kernel = d.input("p1", {k, k, ci, co}, true);
    const char* nhwc[] = {"nn", "yy", "xx", "ff"};
    int x = d.compute("conv2d_nhwc", named(nhwc, out),
                      ex::read(p, {ax(0), ax(1) * num(stride) + ax(4), ax(2) * num(stride) + ax(5), ax(6)}) *
                          ex::read(kernel, {ax(4), ax(5), ax(6), ax(3)}),
                      {{"ry", k}, {"rx", k}, {"rc", ci}}, reducer::sum);
    const int bias = d.input("p2", {1, 1, 1, co}, true);
    x = d.compute("T_add", numbered("ax", out), ex::read(x, axes_of(4)) + ex::read(bias, {ax(0), num(0), num(0), ax(3)}));
    d.compute("T_relu", numbered("ax", out), ex::max(ex::read(x, axes_of(4)), ex::constant(0)));
    return share(std::move(d));
}

/// Padding is a stage of its own only where there is some, as in topi.nn.pool2d.
inline dag_ptr max_pool2d_nchw(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t k, std::int64_t stride,
                               std::int64_t pad) {
    compute_dag d;
    int x = d.input("Data", {n, c, h, w});
    if (pad > 0) x = d.compute("pad_temp", numbered("ax", {n, c, h + 2 * pad, w + 2 * pad}), padded(x, 4, {2, 3}, pad, {h, w}, -3.402823466e+38));
    d.compute("pool_max", numbered("ax", {n, c, (h + 2 * pad - k) / stride + 1, (w + 2 * pad - k) / stride + 1}),
              ex::read(x, {ax(0), ax(1), ax(2) * num(stride) + ax(4), ax(3) * num(stride) + ax(5)}), {{"rv0", k}, {"rv1", k}}, reducer::max);
    return share(std::move(d));
}

inline dag_ptr max_pool2d_nhwc(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t k, std::int64_t stride,
                               std::int64_t pad) {
    compute_dag d;
    int x = d.input("Data", {n, h, w, c});
    x = d.compute("pad_temp", numbered("ax", {n, h + 2 * pad, w + 2 * pad, c}), padded(x, 4, {1, 2}, pad, {h, w}, -3.402823466e+38));
    d.compute("pool_max", numbered("ax", {n, (h + 2 * pad - k) / stride + 1, (w + 2 * pad - k) / stride + 1, c}),
              ex::read(x, {ax(0), ax(1) * num(stride) + ax(4), ax(2) * num(stride) + ax(5), ax(3)}), {{"rv0", k}, {"rv1", k}}, reducer::max);
    return share(std::move(d));
}

/// Over the last axis.
inline dag_ptr row_reduce(const shape& rows, std::int64_t m, reducer how) {
    compute_dag d;
    auto all = rows;
    all.push_back(m);
    const int a = d.input("A", all);
    d.compute("B", numbered("i", rows), ex::read(a, axes_of(all.size())), {{"k", m}}, how);
    return share(std::move(d));
}

/// Over the last axis.
inline dag_ptr softmax(const shape& rows, std::int64_t m) {
    compute_dag d;
    auto all = rows;
    all.push_back(m);
    const auto row = axes_of(rows.size());
    const auto each = axes_of(all.size());
    const int a = d.input("A", all);
    const int top = d.compute("T_softmax_maxelem", numbered("i", rows), ex::read(a, each), {{"k", m}}, reducer::max);
    const int e = d.compute("T_softmax_exp", numbered("i", all), ex::exp(ex::read(a, each) - ex::read(top, row)));
    const int sum = d.compute("T_softmax_expsum", numbered("i", rows), ex::read(e, each), {{"k", m}}, reducer::sum);
    d.compute("T_softmax_norm", numbered("i", all), ex::read(e, each) / ex::read(sum, row));
    return share(std::move(d));
}

/// A constant matrix as a body: select over its elements.
inline int constant_matrix(compute_dag& d, const std::string& name, std::int64_t rows, std::int64_t columns) {
    expr body = ex::constant(0.5);
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            body = ex::select(ex::both(ex::equal(ax(0), num(i)), ex::equal(ax(1), num(j))), ex::constant(0.25 * static_cast<double>(i - j)), body);
    return d.compute(name, numbered("i", {rows, columns}), body);
}

/// F(4x4, 3x3), weights transformed beforehand.
inline dag_ptr winograd_nhwc(std::int64_t h, std::int64_t w, std::int64_t ci, std::int64_t co, std::int64_t pad) {
    compute_dag d;
    const std::int64_t m = 4, alpha = 6;
    const auto oh = h + 2 * pad - 2, ow = w + 2 * pad - 2;
    const auto nh = (oh + m - 1) / m, nw = (ow + m - 1) / m, tiles = nh * nw;
    const int in = d.input("inputs", {1, h, w, ci});
    const int p = d.compute("data_pad", numbered("i", {1, h + 2 * pad, w + 2 * pad, ci}), padded(in, 4, {1, 2}, pad, {h, w}, 0));
    const int tile = d.compute("input_tile", {{"eps", alpha}, {"nu", alpha}, {"p", tiles}, {"ci", ci}},
                               ex::read(p, {ex::floor_div(ax(2), tiles), ex::floor_mod(ex::floor_div(ax(2), nw), nh) * num(m) + ax(0),
                                            ex::floor_mod(ax(2), nw) * num(m) + ax(1), ax(3)}));
    const int b = constant_matrix(d, "B", alpha, alpha);
    const int pack = d.compute("data_pack", {{"eps", alpha}, {"nu", alpha}, {"p", tiles}, {"ci", ci}},
                               ex::read(tile, {ax(4), ax(5), ax(2), ax(3)}) * ex::read(b, {ax(4), ax(0)}) * ex::read(b, {ax(5), ax(1)}),
                               {{"r_a", alpha}, {"r_b", alpha}}, reducer::sum);
    d.ops.back().constant_index = {"eps", "nu", "r_a", "r_b"};
    const int weight = d.input("weight", {alpha, alpha, ci, co}, true);
    const int gemm =
        d.compute("bgemm", {{"eps", alpha}, {"nu", alpha}, {"p", tiles}, {"co", co}},
                  ex::read(pack, {ax(0), ax(1), ax(2), ax(4)}) * ex::read(weight, {ax(0), ax(1), ax(4), ax(3)}), {{"ci", ci}}, reducer::sum);
    const int a = constant_matrix(d, "A", alpha, m);
    const int inverse = d.compute("inverse", {{"vh", m}, {"vw", m}, {"p", tiles}, {"co", co}},
                                  ex::read(gemm, {ax(4), ax(5), ax(2), ax(3)}) * ex::read(a, {ax(4), ax(0)}) * ex::read(a, {ax(5), ax(1)}),
                                  {{"r_a", alpha}, {"r_b", alpha}}, reducer::sum);
    d.ops.back().constant_index = {"vh", "vw", "r_a", "r_b"};
    d.compute("conv2d_winograd", {{"n", 1}, {"h", oh}, {"w", ow}, {"co", co}},
              ex::read(inverse, {ex::floor_mod(ax(1), m), ex::floor_mod(ax(2), m),
                                 ax(0) * num(nh * nw) + ex::floor_div(ax(1), m) * num(nw) + ex::floor_div(ax(2), m), ax(3)}));
    return share(std::move(d));
}

/// B = sum A, a scalar.
inline dag_ptr zero_rank(std::int64_t n) {
    compute_dag d;
    const int a = d.input("A", {n});
    d.compute("B", {}, ex::read(a, {ax(0)}), {{"k", n}}, reducer::sum);
    return share(std::move(d));
}

} // namespace augur::loopnest::testing_dags

#endif
