// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/ir/operators.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/json.hpp>
#include <augur/core/number.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/loopnest/codegen/naive_evaluator.hpp>
#include <augur/workload/networks.hpp>

#include "../../may_skip.hpp"

using namespace augur;

using namespace augur::loopnest;

namespace {

using tensor = std::vector<float>;

kernel parsed(std::string_view text) {
    CAPTURE(text);
    auto k = kernel::parse(text);
    REQUIRE(k);
    return *k;
}

compute_dag built(std::string_view text) {
    auto dag = build_dag(parsed(text));
    REQUIRE(dag);
    return *dag;
}

/// A kernel run on random inputs by the evaluator.
struct run {
    compute_dag dag;
    std::vector<tensor> tensors;

    explicit run(std::string_view text) : dag(built(text)), tensors(dag.ops.size()) {
        std::uint64_t state = 12345;
        for (std::size_t i = 0; i < dag.ops.size(); ++i) {
            if (!dag.ops[i].placeholder()) continue;
            for (std::int64_t e = 0; e < dag.ops[i].elements(); ++e) {
                state = state * 6364136223846793005ULL + 1442695040888963407ULL;
                tensors[i].push_back(static_cast<float>(static_cast<double>(state >> 40U) / 8388608.0 - 1.0));
            }
        }
        REQUIRE(evaluate(dag, tensors));
    }
    const tensor& operator[](std::string_view name) const {
        for (std::size_t i = 0; i < dag.ops.size(); ++i)
            if (dag.ops[i].name == name) return tensors[i];
        FAIL("no tensor " << name);
        return tensors[0];
    }
    [[nodiscard]] const tensor& out() const { return tensors.back(); }
};

void close(const tensor& got, const std::vector<double>& wanted, double tolerance = 1e-6) {
    REQUIRE(got.size() == wanted.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::fabs(static_cast<double>(got[i]) - wanted[i]) <= tolerance + tolerance * std::fabs(wanted[i]))) ++wrong;
    CHECK(wrong == 0);
}

double d(float x) { return static_cast<double>(x); }

using extents = std::array<std::int64_t, 3>;

/// Calls f with every point of a box.
void each_point(const extents& box, const std::function<void(const extents&)>& f) {
    for (std::int64_t z = 0; z < box[0]; ++z)
        for (std::int64_t y = 0; y < box[1]; ++y)
            for (std::int64_t x = 0; x < box[2]; ++x) f({z, y, x});
}

/// Place (n, point, c) in an image of one to three spatial axes in either layout; the axes that it lacks have extent 1.
struct image {
    bool last;
    extents size;
    std::int64_t c;
    [[nodiscard]] std::size_t at(std::int64_t n, const extents& p, std::int64_t ch) const {
        const auto inside = (p[0] * size[1] + p[1]) * size[2] + p[2];
        const auto points = size[0] * size[1] * size[2];
        return static_cast<std::size_t>(last ? (n * points + inside) * c + ch : (n * c + ch) * points + inside);
    }
    [[nodiscard]] bool holds(const extents& p) const {
        for (std::size_t a = 0; a < 3; ++a)
            if (p[a] < 0 || p[a] >= size[a]) return false;
        return true;
    }
};

/// The windows of a kernel along three axes, and its images.
struct geometry {
    std::array<window_axis, 3> axes;
    bool last;
    explicit geometry(const kernel& k) : last(k.layout() == tensor_layout::nhwc) {
        for (std::size_t a = 0; a < k.rank(); ++a) axes[3 - k.rank() + a] = k.window(a);
    }
    [[nodiscard]] extents of(std::int64_t window_axis::* member) const { return {axes[0].*member, axes[1].*member, axes[2].*member}; }
    [[nodiscard]] image in(std::int64_t c) const { return {last, of(&window_axis::in), c}; }
    [[nodiscard]] image out(std::int64_t c) const { return {last, of(&window_axis::out), c}; }
    /// Place of element `tap` of a window in an order of weights (window, rows, columns), or (columns, rows, window) for channels behind the batch.
    [[nodiscard]] std::size_t weight(const extents& tap, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) const {
        const auto inside = (tap[0] * axes[1].k + tap[1]) * axes[2].k + tap[2];
        const auto taps = axes[0].k * axes[1].k * axes[2].k;
        return static_cast<std::size_t>(last ? (inside * rows + row) * columns + column : (column * rows + row) * taps + inside);
    }
    /// The element of the input under element `tap` of the window at `point`.
    [[nodiscard]] extents under(const extents& point, const extents& tap) const {
        extents p{};
        for (std::size_t a = 0; a < 3; ++a) p[a] = point[a] * axes[a].stride - axes[a].pad_before + tap[a] * axes[a].dilation;
        return p;
    }
};

/// A convolution from its definition: sum over the taps that fall into the image.
std::vector<double> direct_convolution(const kernel& k, const tensor& x, const tensor& w) {
    const geometry g(k);
    const bool depthwise = k.kind() == kernel_kind::depthwise_conv2d;
    const auto c = k["c"];
    const auto f = depthwise ? c : k["f"];
    const auto groups = depthwise ? c : k.value_or("groups", 1)[0];
    const auto per = c / groups;
    const image in = g.in(c), out = g.out(f);
    std::vector<double> y(static_cast<std::size_t>(k["n"] * out.size[0] * out.size[1] * out.size[2] * f));
    for (std::int64_t n = 0; n < k["n"]; ++n)
        for (std::int64_t of = 0; of < f; ++of)
            each_point(out.size, [&](const extents& o) {
                each_point(g.of(&window_axis::k), [&](const extents& tap) {
                    const auto i = g.under(o, tap);
                    if (!in.holds(i)) return;
                    for (std::int64_t ic = 0; ic < per; ++ic)
                        y[out.at(n, o, of)] += d(x[in.at(n, i, of / (f / groups) * per + ic)]) * d(w[g.weight(tap, ic, of, per, f)]);
                });
            });
    return y;
}

/// A transposed convolution from its definition: every input element spreads the filter over the output.
std::vector<double> direct_transposed(const kernel& k, const tensor& x, const tensor& w) {
    const geometry g(k);
    const auto c = k["c"];
    const auto groups = k["groups"];
    const auto f = k["f"] / groups; // of a group
    const image in = g.in(c), out = g.out(k["f"]);
    std::vector<double> y(static_cast<std::size_t>(k["n"] * out.size[0] * out.size[1] * out.size[2] * k["f"]));
    for (std::int64_t n = 0; n < k["n"]; ++n)
        for (std::int64_t ic = 0; ic < c; ++ic)
            each_point(in.size, [&](const extents& i) {
                each_point(g.of(&window_axis::k), [&](const extents& tap) {
                    const auto o = g.under(i, tap);
                    if (!out.holds(o)) return;
                    for (std::int64_t of = 0; of < f; ++of) {
                        const auto taken = g.last ? g.weight(tap, ic, of, c, f) : g.weight(tap, of, ic, f, c);
                        y[out.at(n, o, ic / (c / groups) * f + of)] += d(x[in.at(n, i, ic)]) * d(w[taken]);
                    }
                });
            });
    return y;
}

// ---- TVM's text of a compute DAG ----

std::string tvm_expr(const compute_dag& dag, const operation& op, const expr_node& n) {
    const auto sub = [&](std::size_t i) { return tvm_expr(dag, op, *n.operands[i]); };
    const auto infix = [&](const char* sign) { return "(" + sub(0) + sign + sub(1) + ")"; };
    const auto call = [&](const char* name) {
        std::string out = std::string(name) + "(";
        for (std::size_t i = 0; i < n.operands.size(); ++i) out += (i == 0 ? "" : ", ") + sub(i);
        return out + ")";
    };
    switch (n.op) {
    case expr_op::constant: {
        std::string out;
        append_number_6(out, n.value);
        return out + "f";
    }
    case expr_op::integer: return std::to_string(n.integer);
    case expr_op::axis: return op.axis(static_cast<std::size_t>(n.integer)).name;
    case expr_op::read: {
        std::string out = dag.ops[dag.index_of(static_cast<int>(n.integer))].name + "[";
        for (std::size_t i = 0; i < n.operands.size(); ++i) out += (i == 0 ? "" : ", ") + sub(i);
        return out + "]";
    }
    case expr_op::add: return infix(" + ");
    case expr_op::sub: return infix(" - ");
    case expr_op::mul: return infix("*");
    case expr_op::div: return infix("/");
    case expr_op::min: return call("min");
    case expr_op::max: return call("max");
    case expr_op::floor_div: return call("floordiv");
    case expr_op::floor_mod: return call("floormod");
    case expr_op::exp: return call("tir.exp");
    case expr_op::tanh: return call("tir.tanh");
    case expr_op::erf: return call("tir.erf");
    case expr_op::sqrt: return call("tir.sqrt");
    case expr_op::less: return infix(" < ");
    case expr_op::less_equal: return "(" + sub(1) + " >= " + sub(0) + ")";
    case expr_op::equal: return infix(" == ");
    case expr_op::logical_and: return infix(" && ");
    case expr_op::logical_or: return infix(" || ");
    case expr_op::select: return call("tir.if_then_else");
    }
    return {};
}

std::vector<std::string> tvm_text(const compute_dag& dag) {
    std::vector<std::string> out;
    for (const auto& op : dag.ops) {
        std::string line = op.name;
        if (op.placeholder()) {
            line += " = PLACEHOLDER [";
            for (std::size_t a = 0; a < op.axes.size(); ++a) line += (a == 0 ? "" : ", ") + std::to_string(op.axes[a].extent);
            line += "]";
        } else {
            line += "(";
            for (std::size_t a = 0; a < op.axes.size(); ++a) line += (a == 0 ? "" : ", ") + op.axes[a].name;
            line += ")";
            line += op.combine == reducer::none ? " = " : op.combine == reducer::sum ? " += " : op.combine == reducer::max ? " max= " : " min= ";
            line += tvm_expr(dag, op, *op.body);
        }
        out.push_back(line);
    }
    return out;
}

std::filesystem::path data_folder() {
    if (const char* given = std::getenv("AUGUR_DATA")) return given;
    return std::filesystem::path(AUGUR_TEST_DIR) / ".." / ".." / "shared" / "data";
}

} // namespace

TEST_CASE("operators: convolutions are their definition") {
    for (const auto* text : {
             "conv2d:h=7,w=7,c=5,f=3,k=3,pad=1",
             "conv2d:n=2,h=11,w=7,c=3,f=5,k=3,stride=2,pad=1",
             "conv2d:h=9,w=13,c=4,f=6,k=3,pad=2,dilation=2,groups=2",
             "conv2d:h=8,w=5,c=6,f=9,k=1,stride=2,groups=3",
             "conv2d:h=13,w=13,c=3,f=4,k=7,stride=2,pad=3",
             "conv2d:h=6,w=6,c=1,f=1,k=6",
             "conv2d:h=7,w=5,c=5,f=3,k=3,pad=1,layout=nchw",
             "conv2d:n=3,h=9,w=13,c=4,f=6,k=3,stride=3,pad=2,dilation=2,groups=2,layout=nchw",
             "conv2d:h=8,w=5,c=6,f=9,k=1,stride=2,groups=3,layout=nchw",
             "depthwise_conv2d:n=2,h=7,w=11,c=5,k=3,pad=1",
             "depthwise_conv2d:h=11,w=11,c=3,k=5,stride=2,pad=2",
             "depthwise_conv2d:h=9,w=7,c=3,k=3,stride=2,pad=2,dilation=2,layout=nchw",
             "conv2d:n=2,h=7,w=11,c=3,f=4,k=3x5,stride=2x1,pad=1x2",
             "conv2d:h=7,w=11,c=4,f=6,k=1x7,pad=0x3,groups=2,layout=nchw",
             "conv2d:h=9,w=8,c=3,f=2,k=2x3,stride=1x2,pad=0x1x1x2,dilation=2x1",
             "conv2d:h=8,w=8,c=3,f=2,k=3,stride=2,pad=0x0x1x1,layout=nchw",
             "depthwise_conv2d:n=2,h=7,w=9,c=4,k=5x3,stride=1x2,pad=2x0x2x1,dilation=1x2",
             "depthwise_conv2d:h=7,w=9,c=4,k=3x5,pad=1x2,layout=nchw",
             "conv1d:w=17,c=3,f=5,k=3,pad=1",
             "conv1d:n=3,w=17,c=4,f=6,k=5,stride=2,pad=4x0,groups=2",
             "conv1d:n=2,w=17,c=4,f=6,k=3,pad=2,dilation=2,groups=2,layout=ncw",
             "conv3d:d=4,h=5,w=6,c=3,f=4,k=3,pad=1",
             "conv3d:n=2,d=5,h=5,w=7,c=4,f=6,k=3x1x2,stride=2x1x2,pad=1x0x1,groups=2",
             "conv3d:n=2,d=5,h=7,w=4,c=2,f=3,k=2x3x3,stride=1x2x1,pad=0x1x1x1x2x0,dilation=2x1x1,layout=ncdhw",
         }) {
        CAPTURE(text);
        const run r(text);
        close(r.out(), direct_convolution(parsed(text), r["p0"], r["p1"]));
    }
}

TEST_CASE("operators: transposed convolutions are their definition") {
    for (const auto* text : {
             "conv2d_transpose:h=4,w=5,c=3,f=2,k=4,stride=2,pad=1",
             "conv2d_transpose:n=2,h=3,w=5,c=2,f=3,k=3,stride=2,pad=1,opad=1",
             "conv2d_transpose:h=5,w=3,c=2,f=3,k=3",
             "conv2d_transpose:h=4,w=5,c=3,f=2,k=4,stride=3,pad=0,layout=nchw",
             "conv2d_transpose:n=2,h=3,w=5,c=2,f=3,k=2,stride=2,pad=1,opad=1,layout=nchw",
             "conv2d_transpose:h=4,w=4,c=2,f=2,k=1,stride=3,layout=nchw",
             "conv2d_transpose:n=2,h=4,w=3,c=4,f=6,k=3,stride=2,pad=1,groups=2",
             "conv2d_transpose:h=4,w=3,c=6,f=3,k=3,stride=2,pad=1,opad=1,groups=3,layout=nchw",
             "conv2d_transpose:h=4,w=3,c=2,f=3,k=3x2,stride=1x3,pad=2x0x1x1,opad=0x2,dilation=2",
             "conv2d_transpose:h=4,w=3,c=2,f=3,k=2x3,stride=2x1,pad=0x2,dilation=1x2,layout=nchw",
             "conv1d_transpose:w=9,c=3,f=4,k=4,stride=2,pad=1",
             "conv1d_transpose:n=3,w=5,c=4,f=6,k=3,stride=3,pad=1x0,opad=2,dilation=2,groups=2,layout=ncw",
         }) {
        CAPTURE(text);
        const run r(text);
        close(r.out(), direct_transposed(parsed(text), r["p0"], r["p1"]));
    }
}

TEST_CASE("operators: products") {
    const auto product = [](const tensor& a, const tensor& b, std::size_t batch, std::size_t m, std::size_t n, std::size_t k, bool transposed) {
        std::vector<double> c(batch * m * n);
        for (std::size_t z = 0; z < batch; ++z)
            for (std::size_t i = 0; i < m; ++i)
                for (std::size_t j = 0; j < n; ++j)
                    for (std::size_t r = 0; r < k; ++r)
                        c[(z * m + i) * n + j] += d(a[(z * m + i) * k + r]) * d(b[z * n * k + (transposed ? j * k + r : r * n + j)]);
        return c;
    };
    const run dense("dense:m=5,n=7,k=11");
    close(dense.out(), product(dense["p0"], dense["p1"], 1, 5, 7, 11, true));
    CHECK(dense.dag.ops[1].constant);
    const run plain("matmul:m=5,n=7,k=11");
    close(plain.out(), product(plain["p0"], plain["p1"], 1, 5, 7, 11, false));
    CHECK_FALSE(plain.dag.ops[1].constant);
    const run nt("batch_matmul:b=3,m=2,n=5,k=7");
    close(nt.out(), product(nt["p0"], nt["p1"], 3, 2, 5, 7, true));
    const run nn("batch_matmul:b=3,m=2,n=5,k=7,transb=0");
    close(nn.out(), product(nn["p0"], nn["p1"], 3, 2, 5, 7, false));
    const auto turned = [](const tensor& x, std::size_t batch, std::size_t m, std::size_t k) { // (B,K,M) to (B,M,K)
        tensor out(x.size());
        for (std::size_t z = 0; z < batch; ++z)
            for (std::size_t i = 0; i < m; ++i)
                for (std::size_t r = 0; r < k; ++r) out[(z * m + i) * k + r] = x[(z * k + r) * m + i];
        return out;
    };
    const run tt("batch_matmul:b=3,m=2,n=5,k=7,transa=1");
    close(tt.out(), product(turned(tt["p0"], 3, 2, 7), tt["p1"], 3, 2, 5, 7, true));
    const run tn("batch_matmul:b=3,m=2,n=5,k=7,transb=0,transa=1");
    close(tn.out(), product(turned(tn["p0"], 3, 2, 7), tn["p1"], 3, 2, 5, 7, false));
}

TEST_CASE("operators: pooling") {
    for (const auto* text : {
             "max_pool2d:h=7,w=9,c=3,k=3,stride=2,pad=1",
             "max_pool2d:n=2,h=6,w=6,c=2,k=2,stride=2,layout=nchw",
             "avg_pool2d:h=7,w=5,c=3,k=3,stride=1,pad=1,layout=nchw",
             "avg_pool2d:n=2,h=8,w=6,c=3,k=2,stride=2",
             "global_avg_pool2d:n=2,h=7,w=5,c=3",
             "global_avg_pool2d:h=4,w=3,c=5,layout=nchw",
             "max_pool2d:h=7,w=9,c=3,k=2x3,stride=1x2,pad=1,dilation=2x1",
             "max_pool2d:n=2,h=8,w=8,c=3,k=3,stride=2,pad=0x0x1x1,layout=nchw",
             "avg_pool2d:h=7,w=9,c=3,k=3x2,stride=2x3,pad=1x0x1x1,dilation=1x3",
         }) {
        CAPTURE(text);
        const run r(text);
        const auto k = parsed(text);
        const geometry g(k);
        const bool largest = k.kind() == kernel_kind::max_pool2d;
        const image in = g.in(k["c"]), out = g.out(k["c"]);
        std::vector<double> y(r.out().size());
        for (std::int64_t n = 0; n < k["n"]; ++n)
            for (std::int64_t c = 0; c < k["c"]; ++c)
                each_point(out.size, [&](const extents& o) {
                    double sum = 0;
                    double most = -1e30;
                    double taps = 0;
                    each_point(g.of(&window_axis::k), [&](const extents& tap) {
                        const auto i = g.under(o, tap);
                        ++taps;
                        if (!in.holds(i)) return;
                        const double v = d(r["p0"][in.at(n, i, c)]);
                        sum += v;
                        most = v > most ? v : most;
                    });
                    y[out.at(n, o, c)] = largest ? most : sum / taps;
                });
        close(r.out(), y);
    }
}

TEST_CASE("operators: Winograd's convolutions are their definition") {
    for (const auto* text : {
             "conv2d_winograd:h=8,w=8,c=3,f=4,pad=1",
             "conv2d_winograd:n=2,h=7,w=11,c=2,f=3,pad=1,tile=4,layout=nchw",
             "conv2d_winograd:n=3,h=5,w=6,c=2,f=3,pad=0x1x1x0,tile=2",
             "conv2d_winograd:h=9,w=4,c=3,f=2,pad=0,tile=2,layout=nchw",
             "conv2d_winograd:h=3,w=13,c=2,f=5,pad=0x1,tile=4",
         }) {
        CAPTURE(text);
        run r(text);
        const auto k = parsed(text);
        const auto direct = *kernel::make(
            kernel_kind::conv2d, {{"n", k["n"]}, {"h", k["h"]}, {"w", k["w"]}, {"c", k["c"]}, {"f", k["f"]}, {"k", 3}, {"pad", k.value_or("pad", 0)}},
            {}, k.layout());
        const geometry g(direct);
        const bool last = g.last;
        const auto c = k["c"];
        const auto f = k["f"];
        const auto transform = winograd_transforms::of(k["tile"]).g;
        tensor filter;
        std::uint64_t state = 99;
        for (std::int64_t e = 0; e < 9 * c * f; ++e) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            filter.push_back(static_cast<float>(static_cast<double>(state >> 40U) / 8388608.0 - 1.0));
        }
        auto& weights = r.tensors[static_cast<std::size_t>(
            std::find_if(r.dag.ops.begin(), r.dag.ops.end(), [](const auto& op) { return op.name == "p1"; }) - r.dag.ops.begin())];
        const auto alpha = static_cast<std::int64_t>(transform.rows);
        for (std::int64_t e = 0; e < alpha * alpha * c * f; ++e) {
            const auto in = last ? e % c : e / f % c;
            const auto out = last ? e / c % f : e % f;
            double sum = 0;
            each_point({1, 3, 3}, [&](const extents& tap) {
                sum += transform(static_cast<std::size_t>(e / (c * f * alpha)), static_cast<std::size_t>(tap[1])) *
                       transform(static_cast<std::size_t>(e / (c * f) % alpha), static_cast<std::size_t>(tap[2])) *
                       d(filter[g.weight(tap, in, out, c, f)]);
            });
            weights[static_cast<std::size_t>(e)] = static_cast<float>(sum);
        }
        REQUIRE(evaluate(r.dag, r.tensors));
        close(r.out(), direct_convolution(direct, r["p0"], filter), 2e-5);
    }
}

TEST_CASE("operators: reductions along any axis") {
    for (const std::string inner : {"", ",inner=5"}) {
        const std::size_t m = 3, n = 7, in = inner.empty() ? 1 : 5;
        const run sum("reduce_sum:m=3,n=7" + inner);
        const run most("reduce_max:m=3,n=7" + inner);
        const run mean("reduce_mean:m=3,n=7" + inner);
        const run soft("softmax:m=3,n=7" + inner);
        std::vector<double> sums, mosts, means, softs(m * n * in);
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t k = 0; k < in; ++k) {
                const auto value = [&](const run& r, std::size_t j) { return d(r["p0"][(i * n + j) * in + k]); };
                double total = 0, largest = -1e30, average = 0, exponentials = 0;
                for (std::size_t j = 0; j < n; ++j) {
                    total += value(sum, j);
                    largest = std::fmax(largest, value(most, j));
                    average += value(mean, j) / static_cast<double>(n);
                    exponentials += std::exp(value(soft, j));
                }
                sums.push_back(total);
                mosts.push_back(largest);
                means.push_back(average);
                for (std::size_t j = 0; j < n; ++j) softs[(i * n + j) * in + k] = std::exp(value(soft, j)) / exponentials;
            }
        close(sum.out(), sums);
        close(most.out(), mosts);
        close(mean.out(), means);
        close(soft.out(), softs);
    }
}

TEST_CASE("operators: softmax and layer norm") {
    const run s("softmax:m=3,n=13");
    const run l("layer_norm:m=5,n=7");
    std::vector<double> soft(3 * 13);
    for (std::size_t i = 0; i < 3; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < 13; ++j) sum += std::exp(d(s["p0"][i * 13 + j]));
        for (std::size_t j = 0; j < 13; ++j) soft[i * 13 + j] = std::exp(d(s["p0"][i * 13 + j])) / sum;
    }
    close(s.out(), soft);
    std::vector<double> norm(5 * 7);
    for (std::size_t i = 0; i < 5; ++i) {
        double mean = 0;
        double variance = 0;
        for (std::size_t j = 0; j < 7; ++j) mean += d(l["p0"][i * 7 + j]) / 7;
        for (std::size_t j = 0; j < 7; ++j) variance += std::pow(d(l["p0"][i * 7 + j]) - mean, 2) / 7;
        for (std::size_t j = 0; j < 7; ++j)
            norm[i * 7 + j] = (d(l["p0"][i * 7 + j]) - mean) / std::sqrt(variance + 1e-5) * d(l["p1"][j]) + d(l["p2"][j]);
    }
    close(l.out(), norm);
}

TEST_CASE("operators: what is fused is applied in order, per channel or per element") {
    const std::size_t h = 3, w = 2, c = 5;
    for (const bool last : {true, false}) {
        const std::string layout = last ? ",layout=nhwc" : ",layout=nchw";
        const auto check = [&](const std::string& fused, const std::function<double(const run&, double, std::size_t, std::size_t)>& f) {
            CAPTURE(fused);
            const run r("elementwise:n=2,h=3,w=2,c=5" + layout + fused);
            std::vector<double> y;
            for (std::size_t i = 0; i < 2 * h * w * c; ++i) y.push_back(f(r, d(r["p0"][i]), last ? i % c : i / (h * w) % c, i));
            close(r.out(), y);
        };
        check(",bias", [](const run& r, double x, std::size_t ch, std::size_t) { return x + d(r["p1"][ch]); });
        check(",scale,relu", [](const run& r, double x, std::size_t ch, std::size_t) { return std::fmax(x * d(r["p1"][ch]) + d(r["p2"][ch]), 0.0); });
        check(",bias,add,relu",
              [](const run& r, double x, std::size_t ch, std::size_t i) { return std::fmax(x + d(r["p1"][ch]) + d(r["p2"][i]), 0.0); });
        check(",relu,bias", [](const run& r, double x, std::size_t ch, std::size_t) { return std::fmax(x, 0.0) + d(r["p1"][ch]); });
        check(",gelu", [](const run&, double x, std::size_t, std::size_t) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); });
        check(",tanh", [](const run&, double x, std::size_t, std::size_t) { return 1 - 2 / (std::exp(2 * x) + 1); });
        check(",sigmoid", [](const run&, double x, std::size_t, std::size_t) { return 0.5 * (1 + std::tanh(x / 2)); });
        check(",add,add,add,add,add,add,add,add,add,relu6", [](const run& r, double x, std::size_t, std::size_t i) {
            for (int p = 1; p <= 9; ++p) x += d(r["p" + std::to_string(p)][i]);
            return x < 0 ? 0 : x > 6 ? 6 : x;
        });
    }
    const run dense("dense:m=2,n=3,k=2,bias,add,relu");
    std::vector<double> y;
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
            double sum = d(dense["p2"][j]) + d(dense["p3"][i * 3 + j]);
            for (std::size_t k = 0; k < 2; ++k) sum += d(dense["p0"][i * 2 + k]) * d(dense["p1"][j * 2 + k]);
            y.push_back(std::fmax(sum, 0.0));
        }
    close(dense.out(), y);
}

TEST_CASE("operators: by hand") {
    run r("conv2d:h=2,w=2,c=1,f=1,k=3,pad=1,bias");
    const auto set = [&](std::size_t i, const tensor& v) {
        REQUIRE(r.tensors[i].size() == v.size());
        r.tensors[i] = v;
    };
    set(0, {1, 2, 3, 4});
    set(2, {1, 10, 100, 1000, 10000, 100000, 0, 0, 0}); // the tap at the centre has 10000
    set(4, {0.5F});
    REQUIRE(evaluate(r.dag, r.tensors));
    CHECK(r.out() == tensor{210000.5F, 21000.5F, 430210.5F, 43021.5F});
}

TEST_CASE("operators: constants are the weights, and the rest are inputs") {
    const auto dag = built("conv2d:h=5,w=5,c=4,f=4,k=3,pad=1,bias,add,relu");
    std::string roles;
    for (const auto& op : dag.ops) roles += op.placeholder() ? (op.constant ? 'c' : 'i') : '.';
    CHECK(roles == "i.c.c.i..");
    CHECK(dag.is_output(dag.ops.size() - 1));
    for (std::size_t i = 0; i + 1 < dag.ops.size(); ++i) CHECK_FALSE(dag.is_output(i));
    const auto unpadded = built("conv2d:h=5,w=5,c=4,f=4,k=1");
    CHECK(unpadded.ops.size() == 4); // TVM's convolutions have their padding stage all the same
}

TEST_CASE("operators: floating-point operations of the networks") {
    struct row {
        std::string_view name;
        double gflop; // as the literature has it, two per multiply-add
    };
    for (const auto& r :
         {row{"resnet_18", 3.63}, row{"resnet_50", 8.18}, row{"resnext_50", 8.46}, row{"mobilenet_v2", 0.602}, row{"mnasnet1_0", 0.628},
          row{"vgg_16", 30.94}, row{"alexnet", 1.428}, row{"densenet_121", 5.67}, row{"bert_base", 22.35}, row{"gpt2", 1.862}}) {
        const auto name = r.name;
        const auto net = find_network(name);
        REQUIRE(net);
        double total = 0;
        for (const auto& k : net->kernels) {
            const auto dag = build_dag(k.workload);
            CAPTURE(k.workload.text());
            REQUIRE(dag);
            total += dag->flops() * k.uses;
        }
        CAPTURE(name);
        CHECK(total / 1e9 >= r.gflop - 0.005);
        CHECK(total / 1e9 <= r.gflop * 1.04); // element-wise operations come on top
    }
}

TEST_CASE("operators: the same DAGs as TVM's" MAY_SKIP) {
    const auto folder = data_folder() / "ll";
    if (!std::filesystem::exists(folder)) SKIP_CASE("no reference data at " << folder.string() << " (set AUGUR_DATA)");
    struct row {
        const char* file;
        const char* text;
    };
    for (const auto& r : {
             row{"r18_3x3_64x56_nhwc", "conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,relu"},
             row{"mob_1x1_512x14_nhwc", "conv2d:h=14,w=14,c=512,f=512,k=1,bias,relu"},
             row{"conv3x3_nhwc_128x14", "conv2d:h=14,w=14,c=128,f=128,k=3,pad=1,bias,relu"},
             row{"conv3x3_nchw_64x28", "conv2d:h=28,w=28,c=64,f=96,k=3,pad=1,layout=nchw,bias,relu"},
             row{"dense_512", "dense:m=512,n=512,k=512"},
             row{"r18_dense_512x1000", "dense:m=1,n=1000,k=512,bias"},
             row{"bmm_bert_qk", "batch_matmul:b=12,m=128,n=128,k=64"},
             row{"softmax_128x768", "softmax:m=128,n=768"},
             row{"maxpool_nchw_64x112", "max_pool2d:h=112,w=112,c=64,k=3,stride=2,pad=1,layout=nchw"},
             row{"dw3x3_nchw_96x56", "depthwise_conv2d:h=56,w=56,c=96,k=3,pad=1,layout=nchw"},
             row{"bias_relu_add_256x56", "elementwise:h=56,w=56,c=256,layout=nchw,bias,add,relu"},
         }) {
        const std::string file = r.file;
        CAPTURE(file);
        std::ifstream in(folder / (file + ".dag.txt"));
        REQUIRE(in);
        std::vector<std::string> theirs;
        std::vector<std::string> names; // of their placeholders, in order
        for (std::string line; std::getline(in, line);) {
            if (line.find(") += ") == std::string::npos && line.find(" = ") == std::string::npos && line.find("max= ") == std::string::npos) continue;
            if (const auto at = line.find(" = PLACEHOLDER"); at != std::string::npos) names.push_back(line.substr(0, at));
            theirs.push_back(line);
        }
        if (!theirs.empty() && theirs.front().find("C[m,n]") != std::string::npos) theirs.erase(theirs.begin()); // a title with a formula
        const auto identifier = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
        for (auto& line : theirs) { // their placeholders may have other names
            std::string out;
            for (std::size_t i = 0; i < line.size();) {
                std::size_t e = i;
                while (e < line.size() && identifier(line[e])) ++e;
                if (e == i) {
                    out += line[i++];
                    continue;
                }
                auto word = line.substr(i, e - i);
                for (std::size_t p = 0; p < names.size(); ++p)
                    if (word == names[p]) {
                        word = "p" + std::to_string(p);
                        break;
                    }
                out += word;
                i = e;
            }
            line = out;
        }
        auto ours = tvm_text(built(r.text));
        if (theirs.back().rfind("compute(", 0) == 0) { // a relu written by hand, its stage without a name
            auto& last = ours.back();
            REQUIRE(last.rfind("T_relu(", 0) == 0);
            last.replace(0, 6, "compute");
            for (const char* axis : {"ax0", "ax1", "ax2", "ax3"})
                for (std::size_t at = 0; (at = last.find(axis, at)) != std::string::npos;) last.replace(at, 2, "i");
        }
        REQUIRE(ours.size() == theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) CHECK(ours[i] == theirs[i]);
    }
}

/// TVM's tasks of a network in `task-dags.jsonl.gz`: their DAGs, line by line.
std::vector<std::vector<std::string>> tvm_tasks(const std::filesystem::path& file, const std::string& network) {
    auto source = byte_source::open(file.string());
    REQUIRE(source);
    std::string text;
    std::vector<char> block(std::size_t{1} << 16U);
    for (;;) {
        const auto got = source->read(block.data(), block.size());
        REQUIRE(got);
        if (*got == 0) break;
        text.append(block.data(), *got);
    }
    std::vector<std::vector<std::string>> out;
    for (std::size_t from = 0, end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
        const auto line = std::string_view(text).substr(from, end - from);
        if (line.find("output-" + network + ".out") == std::string_view::npos) continue;
        json_reader in(line);
        std::string_view name;
        std::string dag;
        REQUIRE(in.begin_object());
        while (in.next_member(name)) REQUIRE((name == "dag" ? in.read(dag) : in.skip()));
        std::istringstream lines(dag);
        out.emplace_back();
        for (std::string one; std::getline(lines, one);) out.back().push_back(one);
    }
    return out;
}

TEST_CASE("operators: the kernels of the networks are TVM's tasks" MAY_SKIP) {
    const auto file = data_folder() / "task-dags.jsonl.gz";
    if (!std::filesystem::exists(file)) SKIP_CASE("no reference data at " << file.string() << " (set AUGUR_DATA)");
    // What the text cuts short is left out: the matrices of Winograd's convolution; and what TVM writes in more than one way: the divisor of average
    // pooling and the axes of a matrix product.
    const auto comparable = [](std::vector<std::string> lines) {
        std::string out;
        for (auto& line : lines) {
            if (line.starts_with("A(i, j)") || line.starts_with("B(i, j)")) continue;
            if (line.starts_with("adaptive_pool_avg") || line.starts_with("pool_avg")) line.resize(line.find('/'));
            if (line.starts_with("T_matmul_NT(i0, i1)")) line = "T_matmul_NT(i, j) += (p0[i, k]*p1[j, k])";
            out += line + "\n";
        }
        return out;
    };
    for (const std::string network : {"resnet_18", "resnet_50", "resnext_50", "mobilenet_v2", "vgg_16", "alexnet", "densenet_121"}) {
        CAPTURE(network);
        const auto net = find_network(network);
        REQUIRE(net);
        std::set<std::string> ours;
        for (const auto& [k, uses] : net->kernels) {
            ours.insert(comparable(tvm_text(built(k.text()))));
            if (k.kind() != kernel_kind::conv2d || k["k"] != 3 || k["stride"] != 1 || k["groups"] != 1) continue;
            const auto winograd = kernel::make(kernel_kind::conv2d_winograd,
                                               {{"h", k["h"]}, {"w", k["w"]}, {"c", k["c"]}, {"f", k["f"]}, {"pad", k["pad"]}}, k.fused());
            REQUIRE(winograd);
            ours.insert(comparable(tvm_text(built(winograd->text()))));
        }
        const auto theirs = tvm_tasks(file, network);
        CHECK(theirs.size() >= 12);
        for (const auto& task : theirs) {
            if (task[1].find("floordiv((ax1*") != std::string::npos) continue; // adaptive pooling to the size that the image has
            if (task[0].starts_with("p3")) continue;                           // MobileNetV2: the residual is the left operand, so it comes first
            const auto text = comparable(task);
            CAPTURE(text);
            CHECK(ours.count(text) == 1);
        }
    }
}
