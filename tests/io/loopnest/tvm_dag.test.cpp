// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/loopnest/tvm_dag.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/codegen/naive_evaluator.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/workload/kernel.hpp>
#include <doctest/doctest.h>

#include <augur/loopnest/ir/dag_class.hpp>

#include "../../may_skip.hpp"
#include "../../record/logs.hpp"
#include "../logged_dags.hpp"

namespace tvm_dag_test {

using namespace augur;

using namespace augur::loopnest;

namespace {

constexpr std::string_view hash = R"(["00000000000000000000000000000000", )";

tvm_dag parsed(std::string_view text, const std::string& shapes) {
    auto d = parse_tvm_dag(text, std::string(hash) + shapes + "]");
    if (!d) FAIL(d.error().detail);
    return d ? std::move(*d) : tvm_dag{};
}

/// "name 1x7x7 | 3x3" a computed operation: its shape and what it reduces over.
std::string shapes_of(const compute_dag& dag) {
    std::string out;
    for (const auto& op : dag.ops) {
        if (op.placeholder()) continue;
        out += (out.empty() ? "" : "; ") + op.name + " ";
        for (std::size_t a = 0; a < op.axes.size(); ++a) out += (a > 0 ? "x" : "") + std::to_string(op.axes[a].extent);
        for (std::size_t a = 0; a < op.reduce_axes.size(); ++a) out += (a > 0 ? "x" : " | ") + std::to_string(op.reduce_axes[a].extent);
    }
    return out;
}

/// The ids of the tensors that operation `i` reads, in the order of its body.
std::vector<std::int64_t> reads_of(const compute_dag& dag, std::size_t i) {
    std::vector<std::int64_t> out;
    walk(dag.ops[i].body, [&](const expr_node& n) {
        if (n.op == expr_op::read) out.push_back(n.integer);
    });
    return out;
}

std::string refused(std::string_view text, std::string_view key = R"(["f"])", const tvm_dag_limits& limits = {}) {
    const auto d = parse_tvm_dag(text, key, limits);
    return d ? "accepted" : std::string(to_string(d.error().code)) + " " + d.error().detail;
}

constexpr std::string_view conv_text =
    "p0 = PLACEHOLDER [1, 7, 7, 512]\n"
    "pad_temp(i0, i1, i2, i3) = tir.if_then_else(((((i1 >= 1) && (i1 < 8)) && (i2 >= 1)) && (i2 < 8)), p0[i0, (i1 - 1), "
    "(i2 - 1), i3], 0f)\n"
    "p1 = PLACEHOLDER [3, 3, 512, 512]\n"
    "conv2d_nhwc(nn, yy, xx, ff) += (pad_temp[nn, (yy + ry), (xx + rx), rc]*p1[ry, rx, rc, ff])\n"
    "p2 = PLACEHOLDER [1, 1, 1, 512]\n"
    "T_add(ax0, ax1, ax2, ax3) = (conv2d_nhwc[ax0, ax1, ax2, ax3] + p2[ax0, 0, 0, ax3])\n"
    "T_relu(ax0, ax1, ax2, ax3) = max(T_add[ax0, ax1, ax2, ax3], 0f)\n";

constexpr std::string_view dense_text = "p0 = PLACEHOLDER [1, 512]\np1 = PLACEHOLDER [1000, 512]\nT_matmul_NT(i0, i1) += (p0[i0, k]*p1[i1, k])\n"
                                        "p2 = PLACEHOLDER [1, 1000]\nT_add(ax0, ax1) = (T_matmul_NT[ax0, ax1] + p2[ax0, ax1])\n";

constexpr std::string_view packed_text =
    "p0 = PLACEHOLDER [1, 2, 56, 56, 32]\n"
    "data_pad(i0, i1, i2, i3, i4) = tir.if_then_else(((((i2 >= 1) && (i2 < 57)) && (i3 >= 1)) && (i3 < 57)), p0[i0, i1, (i2 - 1), (i3 - 1), i4], "
    "0f)\n"
    "p1 = PLACEHOLDER [2, 2, 3, 3, 32, 64]\n"
    "conv2d_NCHWc(n, oc_chunk, oh, ow, oc_block) += (data_pad[n, floordiv(ic, 32), ((oh*2) + kh), ((ow*2) + kw), floormod(ic, 32)]*p1[oc_chunk, "
    "floordiv(ic, 32), kh, kw, floormod(ic, 32), oc_block])\n"
    "p2 = PLACEHOLDER [1, 2, 1, 1, 64]\n"
    "T_add(ax0, ax1, ax2, ax3, ax4) = (conv2d_NCHWc[ax0, ax1, ax2, ax3, ax4] + p2[ax0, ax1, 0, 0, ax4])\n"
    "T_relu(ax0, ax1, ax2, ax3, ax4) = max(T_add[ax0, ax1, ax2, ax3, ax4], 0f)\n";

constexpr std::string_view max_pool_text = "p0 = PLACEHOLDER [1, 55, 55, 64]\n"
                                           "pool_max(ax0, ax1, ax2, ax3) max= p0[ax0, ((ax1*2) + rv0), ((ax2*2) + rv1), ax3]\n";

step_list steps_of(std::string_view json) {
    auto steps = parse_steps(json);
    if (!steps) FAIL(steps.error().detail);
    return steps ? std::move(*steps) : step_list{};
}

// A DAG in TVM's form. Names are numbered, so that every read is certain.
std::string printed(const compute_dag& dag, std::size_t at, const expr& e) {
    const auto& op = dag.ops[at];
    const auto of = [&](std::size_t i) { return printed(dag, at, e->operands[i]); };
    const auto infix = [&](const char* sign) { return "(" + of(0) + sign + of(1) + ")"; };
    const auto call = [&](const char* name) {
        std::string out = name;
        for (std::size_t i = 0; i < e->operands.size(); ++i) out += (i == 0 ? "(" : ", ") + of(i);
        return out + ")";
    };
    switch (e->op) {
    case expr_op::constant: {
        std::string out;
        append_number(out, e->value);
        return out + "f";
    }
    case expr_op::integer: return std::to_string(e->integer);
    case expr_op::axis: return (static_cast<std::size_t>(e->integer) < op.axes.size() ? "i" : "r") + std::to_string(e->integer);
    case expr_op::read: {
        std::string out = "t" + std::to_string(dag.index_of(static_cast<int>(e->integer))) + "[";
        for (std::size_t i = 0; i < e->operands.size(); ++i) out += (i == 0 ? "" : ", ") + of(i);
        return out + "]";
    }
    case expr_op::add: return infix(" + ");
    case expr_op::sub: return infix(" - ");
    case expr_op::mul: return infix("*");
    case expr_op::div: return infix("/");
    case expr_op::less: return infix(" < ");
    case expr_op::less_equal: return infix(" <= ");
    case expr_op::equal: return infix(" == ");
    case expr_op::logical_and: return infix(" && ");
    case expr_op::logical_or: return infix(" || ");
    case expr_op::min: return call("min");
    case expr_op::max: return call("max");
    case expr_op::floor_div: return call("floordiv");
    case expr_op::floor_mod: return call("floormod");
    case expr_op::exp: return call("tir.exp");
    case expr_op::tanh: return call("tir.tanh");
    case expr_op::erf: return call("tir.erf");
    case expr_op::sqrt: return call("tir.sqrt");
    case expr_op::select: return call("tir.if_then_else");
    }
    return {};
}
std::string printed(const compute_dag& dag) {
    std::string out;
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        const auto& op = dag.ops[i];
        out += "t" + std::to_string(i) + (op.placeholder() ? " = PLACEHOLDER [" : "(");
        for (std::size_t a = 0; a < op.axes.size(); ++a)
            out += (a > 0 ? ", " : "") + (op.placeholder() ? std::to_string(op.axes[a].extent) : "i" + std::to_string(a));
        out += op.placeholder()             ? "]"
               : op.combine == reducer::sum ? ") += "
               : op.combine == reducer::max ? ") max= "
               : op.combine == reducer::min ? ") min= "
                                            : ") = ";
        if (!op.placeholder()) out += printed(dag, i, op.body);
        out += "\n";
    }
    return out;
}
std::string key_of(const compute_dag& dag) {
    std::string out(hash.substr(0, hash.size() - 2));
    for (std::size_t i = 0; i < dag.ops.size(); ++i)
        if (dag.ops[i].placeholder() || i + 1 == dag.ops.size())
            for (const auto& a : dag.ops[i].axes) out += ", " + std::to_string(a.extent);
    return out + "]";
}

} // namespace

TEST_CASE("tvm_dag: extents that the text leaves out, by operator") {
    SUBCASE("conv2d") {
        const auto d = parsed(conv_text, "[1, 7, 7, 512], [3, 3, 512, 512], [1, 1, 1, 512], [1, 7, 7, 512]");
        CHECK(shapes_of(d.dag) == "pad_temp 1x9x9x512; conv2d_nhwc 1x7x7x512 | 3x3x512; T_add 1x7x7x512; T_relu 1x7x7x512");
        CHECK(d.assumed.empty());
        CHECK(d.dag.ops[3].reduce_axes[2].name == "rc");
        CHECK(d.dag.ops[3].combine == reducer::sum);
        CHECK(d.dag.flops() == doctest::Approx(2.0 * 49 * 512 * 9 * 512 + 2 * 49 * 512));
    }
    SUBCASE("a copy is as large as what it copies, not as what is read of it; flat keys") {
        const auto d = parsed("placeholder = PLACEHOLDER [1, 56, 56, 64]\nPaddedInput(i0, i1, i2, i3) = placeholder[i0, i1, i2, i3]\n"
                              "placeholder = PLACEHOLDER [1, 1, 64, 128]\n"
                              "Conv2dOutput(nn, yy, xx, ff) += (PaddedInput[nn, ((yy*2) + ry), ((xx*2) + rx), rc]*placeholder[ry, rx, rc, ff])",
                              "1, 56, 56, 64, 1, 1, 64, 128, 1, 28, 28, 128");
        CHECK(shapes_of(d.dag) == "PaddedInput 1x56x56x64; Conv2dOutput 1x28x28x128 | 1x1x64");
        CHECK(d.assumed.empty());
    }
    SUBCASE("packed channels, a stride that leaves padding unread") {
        const auto d = parsed(packed_text, "[1, 2, 56, 56, 32], [2, 2, 3, 3, 32, 64], [1, 2, 1, 1, 64], [1, 2, 28, 28, 64]");
        CHECK(shapes_of(d.dag) == "data_pad 1x2x58x58x32; conv2d_NCHWc 1x2x28x28x64 | 64x3x3; T_add 1x2x28x28x64; T_relu 1x2x28x28x64");
        REQUIRE(d.assumed.size() == 2);
        CHECK(d.assumed[0] == "operation 2 (data_pad): axis i2 is taken to be padded alike on both sides, to 58");
    }
    SUBCASE("depthwise, padded behind the data only (SAME at stride 2)") {
        const auto d = parsed("p0 = PLACEHOLDER [1, 112, 112, 96]\n"
                              "PaddedInput(i0, i1, i2, i3) = tir.if_then_else(((i1 < 112) && (i2 < 112)), p0[i0, i1, i2, i3], 0f)\n"
                              "p1 = PLACEHOLDER [3, 3, 96, 1]\n"
                              "DepthwiseConv2d(b, i, j, c) += (PaddedInput[b, ((i*2) + di), ((j*2) + dj), c]*p1[di, dj, c, 0])",
                              "[1, 112, 112, 96], [3, 3, 96, 1], [1, 56, 56, 96]");
        CHECK(shapes_of(d.dag) == "PaddedInput 1x113x113x96; DepthwiseConv2d 1x56x56x96 | 3x3");
        CHECK(d.assumed.empty());
    }
    SUBCASE("dense") {
        const auto d = parsed(dense_text, "[1, 512], [1000, 512], [1, 1000], [1, 1000]");
        CHECK(shapes_of(d.dag) == "T_matmul_NT 1x1000 | 512; T_add 1x1000");
    }
    SUBCASE("batch matmul: placeholders of one name, read in order") {
        const auto d = parsed("placeholder = PLACEHOLDER [16, 128, 64]\nplaceholder = PLACEHOLDER [16, 32, 64]\n"
                              "T_batch_matmul_NT(b, i, j) += (placeholder[b, i, k]*placeholder[b, j, k])",
                              "16, 128, 64, 16, 32, 64, 16, 128, 32");
        CHECK(shapes_of(d.dag) == "T_batch_matmul_NT 16x128x32 | 64");
        CHECK(reads_of(d.dag, 2) == std::vector<std::int64_t>{0, 1});
        CHECK(d.assumed.empty());
    }
    SUBCASE("softmax") {
        const auto d = parsed("placeholder = PLACEHOLDER [4, 1000]\nT_softmax_maxelem(i0) max= placeholder[i0, k]\n"
                              "T_softmax_exp(i0, i1) = tir.exp((placeholder[i0, i1] - T_softmax_maxelem[i0]))\n"
                              "T_softmax_expsum(i0) += T_softmax_exp[i0, k]\nT_softmax_norm(i0, i1) = (T_softmax_exp[i0, i1]/T_softmax_expsum[i0])",
                              "4, 1000, 4, 1000");
        CHECK(shapes_of(d.dag) == "T_softmax_maxelem 4 | 1000; T_softmax_exp 4x1000; T_softmax_expsum 4 | 1000; T_softmax_norm 4x1000");
        CHECK(d.assumed.empty());
    }
    SUBCASE("variance, as in a layer norm") {
        const auto d = parsed("placeholder = PLACEHOLDER [1, 1280]\nplaceholder = PLACEHOLDER [1, 1]\n"
                              "T_subtract(ax0, ax1) = (placeholder[ax0, ax1] - placeholder[ax0, 0])\n"
                              "T_multiply(ax0, ax1) = (T_subtract[ax0, ax1]*T_subtract[ax0, ax1])\nT_multiply_red(ax0, ax1) += T_multiply[ax0, k1]\n"
                              "T_divide(ax0, ax1) = (T_multiply_red[ax0, ax1]/1280f)",
                              "1, 1280, 1, 1, 1, 1");
        CHECK(shapes_of(d.dag) == "T_subtract 1x1280; T_multiply 1x1280; T_multiply_red 1x1 | 1280; T_divide 1x1");
        CHECK(reads_of(d.dag, 2) == std::vector<std::int64_t>{0, 1});
    }
    SUBCASE("max pooling: the window is not in the text") {
        const auto d = parsed(max_pool_text, "[1, 55, 55, 64], [1, 27, 27, 64]");
        CHECK(shapes_of(d.dag) == "pool_max 1x27x27x64 | 3x3");
        REQUIRE(d.assumed.size() == 2);
        CHECK(d.assumed[0] == "operation 2 (pool_max): axis rv0 is taken as 3, the text allows 2 to 3");
    }
    SUBCASE("max pooling, padded: behind the data only, then on both sides") {
        const auto one = parsed("p0 = PLACEHOLDER [1, 14, 14, 832]\n"
                                "pad_temp(ax0, ax1, ax2, ax3) = tir.if_then_else(((ax1 < 14) && (ax2 < 14)), p0[ax0, ax1, ax2, ax3], -3.40282e+38f)\n"
                                "pool_max(ax0, ax1, ax2, ax3) max= pad_temp[ax0, ((ax1*2) + rv0), ((ax2*2) + rv1), ax3]",
                                "[1, 14, 14, 832], [1, 7, 7, 832]");
        CHECK(shapes_of(one.dag) == "pad_temp 1x15x15x832; pool_max 1x7x7x832 | 3x3");
        CHECK_FALSE(one.assumed.empty());
        const auto two =
            parsed("p0 = PLACEHOLDER [1, 112, 112, 64]\n"
                   "pad_temp(ax0, ax1, ax2, ax3) = tir.if_then_else(((((ax1 >= 1) && (ax1 < 113)) && (ax2 >= 1)) && (ax2 < 113)), p0[ax0, "
                   "(ax1 - 1), (ax2 - 1), ax3], -3.40282e+38f)\n"
                   "pool_max(ax0, ax1, ax2, ax3) max= pad_temp[ax0, ((ax1*2) + rv0), ((ax2*2) + rv1), ax3]",
                   "[1, 112, 112, 64], [1, 56, 56, 64]");
        CHECK(shapes_of(two.dag) == "pad_temp 1x114x114x64; pool_max 1x56x56x64 | 3x3");
    }
    SUBCASE("average pooling with its divisor of indices") {
        const auto d =
            parsed("p0 = PLACEHOLDER [1, 7, 7, 512]\n"
                   "adaptive_pool_sum(ax0, ax1, ax2, ax3) += p0[ax0, ((ax1*7) + rv0), ((ax2*7) + rv1), ax3]\n"
                   "adaptive_pool_avg(ax0, ax1, ax2, ax3) = (adaptive_pool_sum[ax0, ax1, ax2, ax3]/(float32((select((bool)1, ((ax1 + 1)*7), (((ax1 "
                   "+ 1)*7) + 1)) - (ax1*7)))*float32((select((bool)1, ((ax2 + 1)*7), (((ax2 + 1)*7) + 1)) - (ax2*7)))))",
                   "[1, 7, 7, 512], [1, 1, 1, 512]");
        CHECK(shapes_of(d.dag) == "adaptive_pool_sum 1x1x1x512 | 7x7; adaptive_pool_avg 1x1x1x512");
        std::vector<std::vector<float>> tensors(3);
        tensors[0].assign(std::size_t{49} * 512, 3.0F);
        REQUIRE(evaluate(d.dag, tensors));
        CHECK(tensors[2][17] == 3.0F);
    }
    SUBCASE("average pooling tells its window where it divides by the elements there are") {
        for (const auto& [last, size] : {std::pair<std::string, std::string>{"1", "2x2"}, {"2", "3x3"}}) {
            const auto d = parsed("p0 = PLACEHOLDER [1, 15, 15, 4]\npool_sum(ax0, ax1, ax2, ax3) += p0[ax0, ((ax1*2) + rv0), ((ax2*2) + rv1), ax3]\n"
                                  "pool_avg(ax0, ax1, ax2, ax3) = (pool_sum[ax0, ax1, ax2, ax3]/float32((((min(((ax1*2) + " +
                                      last + "), 14) - (ax1*2)) + 1)*((min(((ax2*2) + " + last + "), 14) - (ax2*2)) + 1))))",
                                  "[1, 15, 15, 4], [1, 7, 7, 4]");
            CHECK(shapes_of(d.dag) == "pool_sum 1x7x7x4 | " + size + "; pool_avg 1x7x7x4");
            CHECK(d.assumed.empty());
        }
    }
    SUBCASE("grouped, with everything packed and unpacked") {
        const auto d =
            parsed("p0 = PLACEHOLDER [1, 512, 14, 14]\n"
                   "data_pad(i0, i1, i2, i3) = tir.if_then_else(((((i2 >= 1) && (i2 < 15)) && (i3 >= 1)) && (i3 < 15)), p0[i0, i1, (i2 - 1), (i3 - "
                   "1)], 0f)\n"
                   "data_vec(g, n, C, h, c, w) = data_pad[n, (((C*4) + c) + (16*g)), h, w]\np1 = PLACEHOLDER [512, 16, 3, 3]\n"
                   "kernel_vec(g, out_channel, in_channel, h, w, ci, co) = p1[(((out_channel*4) + co) + (g*16)), ((in_channel*4) + ci), h, w]\n"
                   "conv(g, n, oc_chunk, oh, ow, oc_block) += (data_vec[g, n, floordiv(ic, 4), (oh + kh), floormod(ic, 4), (ow + kw)]*kernel_vec[g, "
                   "oc_chunk, "
                   "floordiv(ic, 4), kh, kw, floormod(ic, 4), oc_block])\n"
                   "output_unpack(n, c, h, w) = conv[floordiv(c, 16), n, floormod(floordiv(c, 4), 4), h, w, floormod(floormod(c, 4), 16)]",
                   "[1, 512, 14, 14], [512, 16, 3, 3], [1, 512, 14, 14]");
        CHECK(shapes_of(d.dag) == "data_pad 1x512x16x16; data_vec 32x1x4x16x4x16; kernel_vec 32x4x4x3x3x4x4; conv 32x1x4x14x14x4 | 16x3x3; "
                                  "output_unpack 1x512x14x14");
        CHECK(d.assumed.empty());
    }
    SUBCASE("transposed: the data is spread, then padded") {
        const auto d = parsed("p0 = PLACEHOLDER [1, 1024, 4, 4]\n"
                              "data_dilate(i0, i1, i2, i3) = tir.if_then_else(((floormod(i2, 2) == 0) && (floormod(i3, 2) == 0)), p0[i0, i1, "
                              "floordiv(i2, 2), floordiv(i3, "
                              "2)], 0f)\n"
                              "data_pad(i0, i1, i2, i3) = tir.if_then_else(((((i2 >= 2) && (i2 < 9)) && (i3 >= 2)) && (i3 < 9)), data_dilate[i0, i1, "
                              "(i2 - 2), (i3 - 2)], 0f)\n"
                              "p1 = PLACEHOLDER [1024, 512, 4, 4]\nkernel_transform(o, i, h, w) = p1[i, o, (3 - h), (3 - w)]\n"
                              "compute(b, c, h, w) += (data_pad[b, dc, (h + dh), (w + dw)]*kernel_transform[c, dc, dh, dw])",
                              "[1, 1024, 4, 4], [1024, 512, 4, 4], [1, 512, 8, 8]");
        CHECK(shapes_of(d.dag) == "data_dilate 1x1024x7x7; data_pad 1x1024x11x11; kernel_transform 512x1024x4x4; compute 1x512x8x8 | 1024x4x4");
    }
}

TEST_CASE("tvm_dag: a name of several tensors means those that nobody has read yet") {
    const auto d =
        parsed("p0 = PLACEHOLDER [8]\np1 = PLACEHOLDER [8]\nT_add(ax0) = (p0[ax0] + p1[ax0])\ncompile_engine_const() = 3f\n"
               "T_add(ax0) = (T_add[ax0] + compile_engine_const[])\ncompute(i0) = max(min(T_add[i0], 6f), 0f)\ncompile_engine_const() = 6f\n"
               "T_divide(ax0) = (compute[ax0]/compile_engine_const[])\nT_multiply(ax0) = (T_add[ax0]*T_divide[ax0])",
               "[8], [8], [8]");
    CHECK(reads_of(d.dag, 4) == std::vector<std::int64_t>{2, 3});
    CHECK(reads_of(d.dag, 5) == std::vector<std::int64_t>{4});
    CHECK(reads_of(d.dag, 7) == std::vector<std::int64_t>{5, 6});
    CHECK(reads_of(d.dag, 8) == std::vector<std::int64_t>{2, 7}); // x relu6(x + 3) / 6
    REQUIRE(d.assumed.size() == 1);
    CHECK(d.assumed[0] == "operation 9: T_add is taken as operation 3, the text allows 2");

    // the first placeholder waits for the last operation
    const auto waits = parsed("p = PLACEHOLDER [8]\np = PLACEHOLDER [8]\nx(i) = max(p[i], 0f)\ny(i) = (p[i] + x[i])", "[8], [8], [8]");
    CHECK(reads_of(waits.dag, 2) == std::vector<std::int64_t>{1});
    CHECK(reads_of(waits.dag, 3) == std::vector<std::int64_t>{0, 2});
    // two branches added
    const auto both =
        parsed("p = PLACEHOLDER [8]\nx(i) = max(p[i], 0f)\nq = PLACEHOLDER [8]\nx(i) = min(q[i], 0f)\nx(i) = (x[i] - x[i])", "[8], [8], [8]");
    CHECK(reads_of(both.dag, 4) == std::vector<std::int64_t>{1, 3});
}

TEST_CASE("tvm_dag: the operators of loopnest, printed and read again, compute the same") {
    for (const std::string_view text : {"dense:m=3,n=4,k=5,bias,gelu",
                                        "matmul:m=3,n=4,k=5,relu6",
                                        "batch_matmul:b=2,m=3,n=4,k=5",
                                        "conv2d:h=7,w=6,c=3,f=4,k=3,pad=1,bias,relu",
                                        "conv2d:h=8,w=8,c=4,f=4,k=3,stride=2,pad=1,groups=2,scale,add",
                                        "conv2d:h=7,w=7,c=2,f=3,k=3,pad=1,layout=nchw,sigmoid",
                                        "depthwise_conv2d:h=9,w=7,c=3,k=3,stride=2,pad=1,bias,tanh",
                                        "max_pool2d:h=7,w=7,c=2,k=3,stride=2",
                                        "max_pool2d:h=8,w=8,c=2,k=3,pad=1",
                                        "avg_pool2d:h=8,w=8,c=2,k=2,stride=2",
                                        "global_avg_pool2d:h=5,w=5,c=3",
                                        "softmax:m=3,n=7",
                                        "layer_norm:m=3,n=8",
                                        "conv2d_transpose:h=4,w=4,c=2,f=3,k=4,stride=2,pad=1",
                                        "conv2d:h=7,w=6,c=3,f=4,k=2x3,stride=1x2,pad=0x1x1x2",
                                        "conv1d:w=9,c=3,f=4,k=3,pad=1",
                                        "conv3d:d=4,h=5,w=6,c=3,f=4,k=3,pad=1,bias",
                                        "conv2d_winograd:h=8,w=8,c=3,f=4,pad=1",
                                        "batch_matmul:b=2,m=3,n=4,k=5,transa=1",
                                        "softmax:m=3,n=7,inner=4",
                                        "reduce_mean:m=3,n=7,inner=4"}) {
        CAPTURE(text);
        const auto k = kernel::parse(text);
        REQUIRE(k);
        auto dag = build_dag(*k);
        REQUIRE(dag);
        const auto shown = printed(*dag);
        CAPTURE(shown);
        auto again = parse_tvm_dag(shown, key_of(*dag));
        if (!again) FAIL_CHECK(again.error().detail);
        if (!again) continue;
        CHECK(again->dag.flops() == dag->flops());
        std::vector<std::vector<float>> wanted(dag->ops.size());
        augur::random_engine fill(5);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (dag->ops[i].placeholder())
                for (std::int64_t e = 0; e < dag->ops[i].elements(); ++e) wanted[i].push_back(static_cast<float>(fill.uniform()) - 0.5F);
        auto got = wanted;
        REQUIRE(evaluate(*dag, wanted));
        REQUIRE(evaluate(again->dag, got));
        for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(got[i] == wanted[i]);
    }
}

TEST_CASE("tvm_dag: steps of Ansor replay on what was read") {
    struct logged {
        std::string_view text;
        std::string shapes;
        std::string_view steps;
    };
    const logged list[] = {
        {dense_text, "[1, 512], [1000, 512], [1, 1000], [1, 1000]",
         R"([["SP",2,0,1,[1,1,1],1],["SP",2,4,1000,[2,2,10],1],["SP",2,8,512,[4],1],["RE",2,[0,4,1,5,8,2,6,9,3,7]],["FSP",4,0,0,1],["FSP",4,2,1,1],)"
         R"(["RE",4,[0,2,1,3]],["CA",2,4,1],["FU",4,[0,1]],["AN",4,0,3],["PR",2,0,"auto_unroll_max_step$0"]])"},
        {packed_text, "[1, 2, 56, 56, 32], [2, 2, 3, 3, 32, 64], [1, 2, 1, 1, 64], [1, 2, 28, 28, 64]",
         R"([["CI",5],["SP",3,0,1,[1,1,1],1],["SP",3,4,2,[2,1,1],1],["SP",3,8,28,[2,2,1],1],["SP",3,12,28,[1,2,1],1],["SP",3,16,64,[2,1,32],1],)"
         R"(["SP",3,20,64,[32],1],["SP",3,22,3,[3],1],["SP",3,24,3,[3],1],["RE",3,[0,4,8,12,16,1,5,9,13,17,20,22,24,2,6,10,14,18,21,23,25,3,7,11,15,19]],)"
         R"(["FSP",6,0,1,1],["FSP",6,2,2,1],["FSP",6,4,3,1],["FSP",6,6,4,1],["FSP",6,8,5,1],["RE",6,[0,2,4,6,8,1,3,5,7,9]],["CA",3,6,4],["CA",1,3,7],)"
         R"(["FU",6,[0,1,2,3,4]],["AN",6,0,3],["PR",3,0,"auto_unroll_max_step$16"]])"},
        {"p0 = PLACEHOLDER [1, 16, 7, 7, 32]\nadaptive_pool_sum(ax0, ax1, ax2, ax3, ax4) += p0[ax0, ax1, ((ax2*7) + rv0), ((ax3*7) + rv1), ax4]\n"
         "adaptive_pool_avg(ax0, ax1, ax2, ax3, ax4) = (adaptive_pool_sum[ax0, ax1, ax2, ax3, ax4]/49f)",
         "[1, 16, 7, 7, 32], [1, 16, 1, 1, 32]", R"([["CR",2],["CA",1,2,3],["FU",2,[0]],["AN",2,0,3],["PR",1,0,"auto_unroll_max_step$0"]])"},
    };
    for (const auto& one : list) {
        auto d = parsed(one.text, one.shapes);
        const auto steps = steps_of(one.steps);
        const auto changed = adopt_extents(d.dag, steps);
        REQUIRE(changed);
        CHECK_FALSE(*changed);
        loop_state state(std::make_shared<const compute_dag>(d.dag));
        const auto done = state.apply(steps);
        if (!done) FAIL(done.error().detail);
        CHECK(bound(state));
    }
}

TEST_CASE("tvm_dag: a step tells an extent that the text left open") {
    auto d = parsed(max_pool_text, "[1, 55, 55, 64], [1, 27, 27, 64]");
    const auto two = steps_of(R"([["SP",1,4,2,[2],1],["SP",1,6,2,[1],1]])");
    auto changed = adopt_extents(d.dag, two);
    REQUIRE(changed);
    CHECK(*changed);
    CHECK(shapes_of(d.dag) == "pool_max 1x27x27x64 | 2x2");
    changed = adopt_extents(d.dag, two);
    REQUIRE(changed);
    CHECK_FALSE(*changed);
    // through a cached stage, and what is read grows
    auto padded = parsed("p0 = PLACEHOLDER [8, 8]\nx(i, j) = max(p0[i, j], 0f)\ny(i) += x[i, k]\n", "[8, 8], [8]");
    const auto cached = adopt_extents(padded.dag, steps_of(R"([["CHW",2,"local"],["SP",2,1,12,[4],1]])"));
    REQUIRE_FALSE(cached); // p0 has 8
    CHECK(cached.error().code == errc::shape_mismatch);
    CHECK(shapes_of(padded.dag) == "x 8x8; y 8 | 8");
    const auto smaller = adopt_extents(padded.dag, steps_of(R"([["CHW",2,"local"],["SP",2,1,6,[2],1]])"));
    REQUIRE(smaller);
    CHECK(shapes_of(padded.dag) == "x 8x8; y 8 | 6");
    const auto wrong = adopt_extents(padded.dag, steps_of(R"([["SP",9,1,6,[2],1]])"));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == errc::illegal_schedule);
}

TEST_CASE("tvm_dag: errors say what was expected, what came and where") {
    CHECK(refused("") == "parse 1:1: expected a computed tensor at the end of the DAG");
    CHECK(refused("p = PLACEHOLDER [4]") == "parse 2:1: expected a computed tensor at the end of the DAG");
    CHECK(refused("p = PLACEHOLDER [4") == "parse 1:19: expected ']', got the end of the line");
    CHECK(refused("p = PLACEHOLDER [0]") == "shape_mismatch 1:19: expected extents of at least 1, got 0");
    CHECK(refused("p = PLACEHOLDER [99999999999999999999]") == "limit 1:18: expected an integer of at most 2^31, got 99999999999999999999");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i] % 2\n") == "parse 2:13: expected an operator or the end of the line, got '%'");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = tir.foo(p[i])\n") == "unsupported 2:8: expected a known function, got tir.foo");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = q[i]\n") == "not_found 2:8: expected a tensor defined above, got q");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = x[i]\n") == "not_found 2:8: expected a tensor defined above, got x");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[j]\n") == "not_found 2:10: expected an axis of the operation, got j");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i, i]\n") == "shape_mismatch 2:8: expected 1 indices of p, got 2");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) += p[i]\n") == "parse 2:1: expected an axis to reduce over in the body of x");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i, i) = p[i]\n") == "parse 2:6: expected axes of different names, got i twice");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[floordiv(i, 0)]\n") == "unsupported 2:10: expected a positive number as divisor of floordiv");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[floormod(4, i)]\n") == "unsupported 2:10: expected a positive number as divisor of floormod");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[(i/2)]\n") == "unsupported 2:12: expected at least one value, not indices, around '/'");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = select((p[i] < 0f), 0f, 1f)\n") == "unsupported 2:21: expected indices around '<'");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = (i < 2)\n") == "parse 2:15: expected a value, not a condition, before this, got the end of the line");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[p[i]]\n") == "parse 2:14: expected an index, not a value or a condition, before this, got ']'");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) *= p[i]\n") == "parse 2:6: expected '=', '+=', 'max=' or 'min=', got '*'");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = (p[i] + 1e99f)\n") == "limit 2:16: expected a float32, got 1e99");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = max(p[i], ..(OMITTED).. 0f)\n") ==
          "unsupported 2:18: expected the whole operation, the text was shortened where it was printed");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[0]\n") == "unsupported operation 2 (x): the extent of axis i cannot be inferred");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[(i + 1)]\ny(i) = x[i]\n") == "accepted"); // x and y of 3
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[(i*2)]\n", std::string(hash) + "[4], [3]]") ==
          "shape_mismatch operation 2 (x): dimension 0 of p has extent 4, is read from 0 to 4");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", std::string(hash) + "[5], [5]]").starts_with("shape_mismatch workload key: "));
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", "[").starts_with("parse workload key: "));
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", "[]") == "parse workload key: 1:1: expected a name, got an empty array");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", "[]]") == "parse workload key: 1:1: expected a name, got an empty array");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", R"(["f"]])") == "parse workload key: 1:6: expected the end, got ']'");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", R"(["f", 1.5, "a", [[]], null])") == "accepted");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", R"(["f"])", {10, 10, 10}).starts_with("limit 1:1: expected at most 10 bytes"));
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = p[i]\n", R"(["f"])", {100, 1, 10}) == "limit 2:1: expected at most 1 operations");
    CHECK(refused("p = PLACEHOLDER [4]\nx(i) = (((2147483648*2147483648)*(2147483648*i))*p[i])\n") ==
          "limit operation 2 (x): an index passes 64 bits");
}

TEST_CASE("tvm_dag: nothing nests or chains beyond the limit") {
    const auto deep = [](std::size_t n, const std::string& open, const std::string& close) {
        std::string text = "p = PLACEHOLDER [4]\nx(i) = ";
        for (std::size_t i = 0; i < n; ++i) text += open;
        text += "p[i]";
        for (std::size_t i = 0; i < n; ++i) text += close;
        return refused(text);
    };
    for (const auto& brackets :
         {std::pair<std::string, std::string>{"(", ")"}, {"max(0f, ", ")"}, {"", " + 1f"}, {"(1f + ", ")"}, {"tir.exp(", ")"}}) {
        CAPTURE(brackets.first);
        CHECK(deep(100, brackets.first, brackets.second) == "accepted");
        CHECK(deep(5000, brackets.first, brackets.second).starts_with("limit 2:"));
    }
    CHECK(deep(5000, "p[", "]").starts_with("limit 2:"));
    std::string wide = "p = PLACEHOLDER [4]\nx(i) += p[i]";
    for (int i = 0; i < 100; ++i) wide += " + p[k" + std::to_string(i) + "]";
    CHECK(refused(wide).find("expected at most 64 axes") != std::string::npos);
}

TEST_CASE("tvm_dag: a text cut or damaged anywhere is refused or read, never more") {
    const std::string key = std::string(hash) + "[1, 2, 56, 56, 32], [2, 2, 3, 3, 32, 64], [1, 2, 1, 1, 64], [1, 2, 28, 28, 64]]";
    const std::string text(packed_text);
    std::size_t read = 0;
    const auto attempt = [&](std::string_view t) {
        const auto d = parse_tvm_dag(t, key);
        if (!d) {
            CHECK(!d.error().detail.empty());
            return;
        }
        ++read;
        CHECK(d->dag.check());
        CHECK(augur::loopnest::detail::check_bodies(d->dag));
        static_cast<void>(bound(loop_state(std::make_shared<const compute_dag>(d->dag))));
    };
    for (std::size_t n = 0; n < text.size(); ++n) attempt(std::string_view(text).substr(0, n));
    augur::random_engine r(3);
    constexpr std::string_view likely = "()[]+-*/<>=&|,. 0123456789efinp\n\0\xff";
    for (int n = 0; n < 2000; ++n) {
        auto damaged = text;
        for (int k = 0; k <= n % 3; ++k)
            damaged[r.below(damaged.size())] = n % 2 == 0 ? likely[r.below(likely.size())] : static_cast<char>(r.below(256));
        attempt(damaged);
    }
    CHECK(read > 0);
    for (std::size_t n = 0; n < key.size(); ++n) CHECK(refused(text, key.substr(0, n)) != "accepted");
}

#ifdef AUGUR_HAS_ZLIB
TEST_CASE("tvm_dag: DAGs of 3408 logged kernels" MAY_SKIP) {
    if (logs::data().empty() || !std::filesystem::exists(logged_dags::file())) SKIP_CASE("no data (AUGUR_DATA)");
    std::size_t all = 0, read = 0, shortened = 0;
    std::map<std::string, std::set<std::string>> structures, formulas; // by the hash that TVM gives a DAG without its extents
    for (const auto& [key, text] : logged_dags::read()) {
        ++all;
        const auto d = parse_tvm_dag(text, key);
        if (!d) {
            shortened += d.error().detail.find("the text was shortened where it was printed") != std::string::npos ? 1 : 0;
            continue;
        }
        ++read;
        const auto levels = class_levels_of(d->dag);
        structures[logged_dags::hash_of(key)].insert(levels.at(class_level::structure));
        formulas[logged_dags::hash_of(key)].insert(levels.at(class_level::dag));
    }
    CHECK(all == 3408);
    CHECK(read == 3244);
    CHECK(all - read - shortened == 1); // one with tir.pow
    CHECK(structures.size() == 216);
    for (const auto& entry : structures) {
        CAPTURE(entry.first);
        CHECK(entry.second.size() == 1);
    }
    std::size_t several = 0; // TVM leaves calls out of what it hashes, we leave the numbers out of conditions only
    for (const auto& entry : formulas) several += entry.second.size() > 1 ? 1 : 0;
    CHECK(several <= 4);
}
#endif

} // namespace tvm_dag_test
