// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/ir/operators.hpp>

#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/number.hpp>
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

void close(const tensor& got, const std::vector<double>& wanted) {
    REQUIRE(got.size() == wanted.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::fabs(static_cast<double>(got[i]) - wanted[i]) <= 1e-6 + 1e-6 * std::fabs(wanted[i]))) ++wrong;
    CHECK(wrong == 0);
}

/// Element (n, h, w, c) of an image in either layout.
struct image {
    bool last;
    std::int64_t h, w, c;
    [[nodiscard]] std::size_t at(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t ch) const {
        return static_cast<std::size_t>(last ? ((n * h + y) * w + x) * c + ch : ((n * c + ch) * h + y) * w + x);
    }
};

double d(float x) { return static_cast<double>(x); }

/// A convolution from its definition: sum over the taps that fall into the image.
std::vector<double> direct_convolution(const kernel& k, const tensor& x, const tensor& w) {
    const bool last = k.layout() == tensor_layout::nhwc;
    const bool depthwise = k.kind() == kernel_kind::depthwise_conv2d;
    const auto kk = k["k"];
    const auto c = k["c"];
    const auto f = depthwise ? c : k["f"];
    const auto groups = depthwise ? c : k["groups"];
    const auto per = c / groups;
    const image in{last, k["h"], k["w"], c};
    const image out{last, k.window(0).out, k.window(1).out, f};
    std::vector<double> y(static_cast<std::size_t>(k["n"] * out.h * out.w * f));
    for (std::int64_t n = 0; n < k["n"]; ++n)
        for (std::int64_t oy = 0; oy < out.h; ++oy)
            for (std::int64_t ox = 0; ox < out.w; ++ox)
                for (std::int64_t of = 0; of < f; ++of)
                    for (std::int64_t ky = 0; ky < kk; ++ky)
                        for (std::int64_t kx = 0; kx < kk; ++kx)
                            for (std::int64_t ic = 0; ic < per; ++ic) {
                                const auto iy = oy * k["stride"] - k["pad"] + ky * k["dilation"];
                                const auto ix = ox * k["stride"] - k["pad"] + kx * k["dilation"];
                                if (iy < 0 || iy >= in.h || ix < 0 || ix >= in.w) continue;
                                const auto ch = of / (f / groups) * per + ic;
                                const auto tap = depthwise ? (last ? (ky * kk + kx) * c + of : (of * kk + ky) * kk + kx)
                                                           : (last ? ((ky * kk + kx) * per + ic) * f + of : ((of * per + ic) * kk + ky) * kk + kx);
                                y[out.at(n, oy, ox, of)] += d(x[in.at(n, iy, ix, ch)]) * d(w[static_cast<std::size_t>(tap)]);
                            }
    return y;
}

/// A transposed convolution from its definition: every input element spreads the filter over the output.
std::vector<double> direct_transposed(const kernel& k, const tensor& x, const tensor& w) {
    const bool last = k.layout() == tensor_layout::nhwc;
    const auto kk = k["k"];
    const image in{last, k["h"], k["w"], k["c"]};
    const image out{last, (in.h - 1) * k["stride"] - 2 * k["pad"] + kk + k["opad"], (in.w - 1) * k["stride"] - 2 * k["pad"] + kk + k["opad"], k["f"]};
    std::vector<double> y(static_cast<std::size_t>(k["n"] * out.h * out.w * out.c));
    for (std::int64_t n = 0; n < k["n"]; ++n)
        for (std::int64_t iy = 0; iy < in.h; ++iy)
            for (std::int64_t ix = 0; ix < in.w; ++ix)
                for (std::int64_t c = 0; c < in.c; ++c)
                    for (std::int64_t f = 0; f < out.c; ++f)
                        for (std::int64_t ky = 0; ky < kk; ++ky)
                            for (std::int64_t kx = 0; kx < kk; ++kx) {
                                const auto oy = iy * k["stride"] - k["pad"] + ky;
                                const auto ox = ix * k["stride"] - k["pad"] + kx;
                                if (oy < 0 || oy >= out.h || ox < 0 || ox >= out.w) continue;
                                const auto tap = last ? ((ky * kk + kx) * in.c + c) * out.c + f : ((c * out.c + f) * kk + ky) * kk + kx;
                                y[out.at(n, oy, ox, f)] += d(x[in.at(n, iy, ix, c)]) * d(w[static_cast<std::size_t>(tap)]);
                            }
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
}

TEST_CASE("operators: pooling") {
    for (const auto* text : {
             "max_pool2d:h=7,w=9,c=3,k=3,stride=2,pad=1",
             "max_pool2d:n=2,h=6,w=6,c=2,k=2,stride=2,layout=nchw",
             "avg_pool2d:h=7,w=5,c=3,k=3,stride=1,pad=1,layout=nchw",
             "avg_pool2d:n=2,h=8,w=6,c=3,k=2,stride=2",
             "global_avg_pool2d:n=2,h=7,w=5,c=3",
             "global_avg_pool2d:h=4,w=3,c=5,layout=nchw",
         }) {
        CAPTURE(text);
        const run r(text);
        const auto k = parsed(text);
        const bool global = k.kind() == kernel_kind::global_avg_pool2d;
        const bool largest = k.kind() == kernel_kind::max_pool2d;
        const bool last = k.layout() == tensor_layout::nhwc;
        const image in{last, k["h"], k["w"], k["c"]};
        const image out{last, k.window(0).out, k.window(1).out, k["c"]};
        std::vector<double> y(r.out().size());
        for (std::int64_t n = 0; n < k["n"]; ++n)
            for (std::int64_t oy = 0; oy < out.h; ++oy)
                for (std::int64_t ox = 0; ox < out.w; ++ox)
                    for (std::int64_t c = 0; c < out.c; ++c) {
                        double sum = 0;
                        double most = -1e30;
                        for (std::int64_t ky = 0; ky < (global ? in.h : k["k"]); ++ky)
                            for (std::int64_t kx = 0; kx < (global ? in.w : k["k"]); ++kx) {
                                const auto iy = global ? ky : oy * k["stride"] - k["pad"] + ky;
                                const auto ix = global ? kx : ox * k["stride"] - k["pad"] + kx;
                                if (iy < 0 || iy >= in.h || ix < 0 || ix >= in.w) continue;
                                const double v = d(r["p0"][in.at(n, iy, ix, c)]);
                                sum += v;
                                most = v > most ? v : most;
                            }
                        y[out.at(n, oy, ox, c)] = largest ? most : sum / static_cast<double>(global ? in.h * in.w : k["k"] * k["k"]);
                    }
        close(r.out(), y);
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
         {row{"resnet_18", 3.63}, row{"resnet_50", 8.18}, row{"mobilenet_v2", 0.602}, row{"vgg_16", 30.94}, row{"bert_base", 22.35}}) {
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
