// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/codegen/naive_program.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/loopnest/codegen/naive_evaluator.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/workload/kernel.hpp>

#include "native_object.hpp"

using namespace augur;

using namespace augur::loopnest;

namespace {

using tensor = std::vector<float>;

std::vector<tensor> filled(const compute_dag& dag) {
    std::vector<tensor> out(dag.ops.size());
    std::uint64_t state = 7;
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        if (!dag.ops[i].placeholder()) continue;
        for (std::int64_t e = 0; e < dag.ops[i].elements(); ++e) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            out[i].push_back(static_cast<float>(static_cast<double>(state >> 40U) / 8388608.0 - 1.0));
        }
    }
    return out;
}

const std::vector<std::string> strict{"-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused"};

void agree(const tensor& got, const tensor& wanted) {
    REQUIRE(got.size() == wanted.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::fabs(got[i] - wanted[i]) <= 2e-5F + 2e-5F * std::fabs(wanted[i]))) ++wrong;
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("naive program: the naive C of every operator agrees with the evaluator") {
    std::vector<compute_dag> dags;
    std::vector<generated_program> programs;
    std::string source;
    for (const auto* text : {
             "dense:m=5,n=7,k=11,bias,gelu",
             "matmul:m=3,n=5,k=7,tanh",
             "batch_matmul:b=3,m=5,n=4,k=7",
             "batch_matmul:b=3,m=5,n=4,k=7,transb=0,add",
             "conv2d:n=2,h=11,w=7,c=3,f=5,k=3,stride=2,pad=1,bias,relu",
             "conv2d:h=9,w=13,c=4,f=6,k=3,pad=2,dilation=2,groups=2,layout=nchw,scale,add,relu",
             "depthwise_conv2d:h=7,w=11,c=5,k=3,pad=1,bias,relu6",
             "depthwise_conv2d:h=7,w=11,c=5,k=3,stride=2,layout=nchw,sigmoid",
             "conv2d_transpose:h=4,w=5,c=3,f=2,k=4,stride=2,pad=1,tanh",
             "conv2d_transpose:h=3,w=5,c=2,f=3,k=3,stride=3,pad=0,opad=2,layout=nchw,bias",
             "max_pool2d:h=7,w=9,c=3,k=3,stride=2,pad=1",
             "avg_pool2d:h=7,w=5,c=3,k=3,stride=1,pad=1,layout=nchw",
             "global_avg_pool2d:h=7,w=7,c=13",
             "softmax:m=11,n=13",
             "layer_norm:m=5,n=17",
             "elementwise:h=3,w=5,c=7,scale,add,relu6,sigmoid,gelu",
             "conv2d:n=2,h=7,w=8,c=3,f=4,k=2x3,stride=1x2,pad=0x1x1x2,dilation=2x1,bias",
             "conv1d:n=2,w=17,c=4,f=6,k=5,stride=2,pad=4x0,groups=2,layout=ncw,relu",
             "conv1d_transpose:w=5,c=4,f=6,k=3,stride=3,pad=1x0,opad=2,dilation=2,groups=2",
             "conv3d:d=4,h=5,w=6,c=3,f=4,k=3x1x2,stride=1x2x1,pad=1x0x1,bias,relu",
             "conv2d_winograd:h=6,w=7,c=3,f=4,pad=1,bias,relu",
             "batch_matmul:b=3,m=5,n=4,k=7,transb=0,transa=1",
             "softmax:m=3,n=11,inner=5",
             "reduce_max:m=3,n=11,inner=5",
             "reduce_mean:m=3,n=11",
         }) {
        const auto k = kernel::parse(text);
        REQUIRE(k);
        auto dag = build_dag(*k);
        REQUIRE(dag);
        auto p = naive_program(*dag, "naive_" + std::to_string(programs.size()));
        REQUIRE(p);
        CHECK(p->flops == dag->flops());
        source += p->source;
        dags.push_back(*dag);
        programs.push_back(*p);
    }
    const native_object so(source, strict);
    for (std::size_t i = 0; i < dags.size(); ++i) {
        CAPTURE(i);
        auto wanted = filled(dags[i]);
        REQUIRE(evaluate(dags[i], wanted));
        agree(outputs_of(so, dags[i], programs[i], wanted).back(), wanted.back());
    }
}

TEST_CASE("naive program: indices rounding to minus infinity, indices as values, min, two outputs, a scalar, names that are not C") {
    compute_dag dag;
    const auto x = dag.input("x\"); system(\"", {4});
    const auto i = ex::axis(0);
    const auto down = i - ex::integer(3); // -3 .. 3
    const auto f = dag.compute("floors */", {{"i0;", 7}},
                               (ex::floor_div(down, 2) + ex::integer(10) * ex::floor_mod(down, 2)) +
                                   ex::read(x, {ex::min(ex::max(down, ex::integer(0)), ex::integer(3))}));
    dag.compute("least", {}, ex::read(f, {i}), {{"k", 7}}, reducer::min);
    dag.compute("half", {{"a", 3}}, i / ex::constant(2) - (i + ex::integer(1)) / (i + ex::integer(2)));
    auto wanted = filled(dag);
    wanted[0] = {0.25F, 0.5F, 0.75F, 1.0F};
    REQUIRE(evaluate(dag, wanted));
    CHECK(wanted[1] == tensor{-2 + 10 + 0.25F, -1 + 0.25F, -1 + 10 + 0.25F, 0.25F, 10 + 0.5F, 1 + 0.75F, 11 + 1.0F});
    CHECK(wanted[2] == tensor{-0.75F});
    CHECK(wanted[3][2] == doctest::Approx(1 - 0.75));
    const auto p = naive_program(dag);
    REQUIRE(p);
    CHECK(p->source.find("system") == std::string::npos);
    CHECK(p->source.find("floors") == std::string::npos);
    const auto got = outputs_of(native_object(p->source, strict), dag, *p, wanted);
    agree(got[0], wanted[2]);
    agree(got[1], wanted[3]);
    CHECK_FALSE(naive_program(dag, "a b"));
    CHECK_FALSE(naive_program(dag, ""));
    CHECK_FALSE(naive_program(dag, "9lives"));
}

TEST_CASE("naive program: constants keep their bits in C") {
    compute_dag dag;
    const std::vector<double> values{0.0, -0.0, 0.1, -1e-40, 3.402823466e+38, 1e300, -1e300, 1.0 / 3, 6, std::numeric_limits<double>::quiet_NaN()};
    expr chosen = ex::constant(1);
    for (std::size_t v = values.size(); v-- > 0;)
        chosen = ex::select(ex::equal(ex::axis(0), ex::integer(static_cast<std::int64_t>(v))), ex::constant(values[v]), chosen);
    dag.compute("c", {{"i", static_cast<std::int64_t>(values.size())}}, chosen);
    const auto p = naive_program(dag);
    REQUIRE(p);
    auto wanted = filled(dag);
    REQUIRE(evaluate(dag, wanted));
    const auto got = outputs_of(native_object(p->source, strict), dag, *p, wanted);
    for (std::size_t v = 0; v + 1 < values.size(); ++v) {
        CAPTURE(v);
        CHECK(got[0][v] == wanted[0][v]);
        CHECK(std::signbit(got[0][v]) == std::signbit(values[v]));
    }
    CHECK(wanted[0][2] == 0.1F);
    CHECK(std::isinf(wanted[0][5]));
    CHECK(std::isnan(got[0].back()));
}
