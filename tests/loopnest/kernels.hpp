// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_LOOPNEST_KERNELS_HPP
#define AUGUR_TESTS_LOOPNEST_KERNELS_HPP

// Every operator on shrunken extents, odd and prime ones included, with its result by the independent evaluator.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/codegen/naive_evaluator.hpp>
#include <augur/schedule/steps_json.hpp>

#include <doctest/doctest.h>

inline constexpr std::array<std::string_view, 40> small_kernels{
    "dense:m=5,n=7,k=11,bias,relu",
    "dense:m=1,n=13,k=16",
    "matmul:m=8,n=6,k=9",
    "batch_matmul:b=3,m=4,n=5,k=7,transb=1",
    "conv2d:n=1,h=7,w=9,c=3,f=5,k=3,stride=1,pad=1,layout=nhwc,bias,relu",
    "conv2d:n=1,h=8,w=7,c=4,f=6,k=3,stride=2,pad=1,layout=nchw,bias",
    "conv2d:n=1,h=9,w=9,c=2,f=3,k=3,stride=1,pad=2,dilation=2,layout=nhwc",
    "conv2d:n=2,h=5,w=6,c=6,f=4,k=1,stride=2,pad=0,layout=nhwc,bias,add,relu",
    "conv2d:n=1,h=5,w=5,c=4,f=6,k=3,stride=1,pad=1,groups=2,layout=nhwc",
    "depthwise_conv2d:n=1,h=7,w=5,c=6,k=3,stride=1,pad=1,layout=nhwc,bias,relu6",
    "depthwise_conv2d:n=1,h=7,w=7,c=3,k=3,stride=2,pad=1,layout=nchw",
    "conv2d_transpose:n=1,h=4,w=3,c=3,f=2,k=4,stride=2,pad=1,layout=nchw,tanh",
    "max_pool2d:n=1,h=9,w=7,c=5,k=3,stride=2,pad=1,layout=nhwc",
    "avg_pool2d:n=1,h=6,w=6,c=3,k=2,stride=2,pad=0,layout=nchw",
    "global_avg_pool2d:n=1,h=5,w=7,c=6,layout=nhwc",
    "softmax:m=4,n=19",
    "layer_norm:m=3,n=17",
    "elementwise:n=1,h=3,w=5,c=7,layout=nhwc,scale,add,relu",
    "dense:m=3,n=5,k=8,bias,gelu",
    "conv2d:n=2,h=6,w=7,c=3,f=5,k=2x3,stride=1x2,pad=0x1x1x1,layout=nhwc,bias,relu",
    "conv2d:n=1,h=5,w=9,c=4,f=6,k=1x5,stride=1,pad=0x2,groups=2,layout=nchw",
    "conv2d:n=1,h=8,w=7,c=3,f=4,k=3x2,stride=2x1,pad=1x0,dilation=1x3,layout=nhwc",
    "depthwise_conv2d:n=2,h=5,w=6,c=4,k=1x3,stride=1x2,pad=0x1x0x0,layout=nhwc",
    "conv2d_transpose:n=1,h=3,w=4,c=4,f=6,k=3x2,stride=2x1,pad=1x0,opad=1x0,dilation=1x2,groups=2,layout=nhwc",
    "max_pool2d:n=1,h=6,w=9,c=5,k=2x3,stride=1x2,pad=0x1,dilation=2x1,layout=nchw",
    "conv1d:n=2,w=13,c=3,f=5,k=3,stride=1,pad=4x0,dilation=2,layout=nwc,bias,relu",
    "conv1d:n=1,w=17,c=4,f=6,k=5,stride=2,pad=2,groups=2,layout=ncw",
    "conv1d_transpose:n=1,w=6,c=4,f=3,k=4,stride=2,pad=1,layout=ncw",
    "conv3d:n=1,d=3,h=4,w=5,c=3,f=4,k=3x3x1,stride=1x2x1,pad=1x1x0,layout=ndhwc,bias,relu",
    "conv3d:n=2,d=3,h=3,w=4,c=2,f=3,k=2,stride=1,pad=0x0x1x1x0x0,layout=ncdhw",
    "conv2d_winograd:n=1,h=6,w=5,c=3,f=4,pad=1,tile=4,layout=nhwc,bias,relu",
    "conv2d_winograd:n=2,h=3,w=5,c=2,f=3,pad=1x0,tile=2,layout=nchw",
    "batch_matmul:b=2,m=5,n=6,k=7,transa=1",
    "batch_matmul:b=2,m=1,n=9,k=37,transb=1",
    "batch_matmul:b=3,m=4,n=5,k=16,transb=1",
    "softmax:m=3,n=5,inner=7",
    "reduce_mean:m=3,n=11,inner=5",
    "depthwise_conv2d:n=1,h=6,w=14,c=4,k=3,stride=1,pad=1,layout=nchw,bias", // buffers end where a vector does, rows do not
    "depthwise_conv2d:n=1,h=5,w=16,c=4,k=3,stride=1,pad=0,layout=nchw",
    "avg_pool2d:n=1,h=4,w=9,c=4,k=3,stride=1,pad=1,layout=nchw",
};

inline std::shared_ptr<const augur::loopnest::compute_dag> dag_of(std::string_view text) {
    const auto k = augur::kernel::parse(text);
    if (!k) FAIL(k.error().detail);
    auto dag = augur::loopnest::build_dag(*k);
    if (!dag) FAIL(dag.error().detail);
    return std::make_shared<const augur::loopnest::compute_dag>(std::move(*dag));
}

/// The inputs as every runner fills them, and the outputs by the evaluator.
inline std::pair<std::vector<std::vector<float>>, std::vector<std::vector<float>>> evaluated(const augur::loopnest::compute_dag& dag) {
    std::vector<std::vector<float>> inputs;
    std::vector<std::vector<float>> tensors;
    for (const auto& op : dag.ops) {
        std::vector<float> t(static_cast<std::size_t>(op.elements()));
        if (op.placeholder()) {
            augur::loopnest::program_buffer b;
            b.fill = static_cast<std::uint64_t>(op.id);
            for (std::size_t i = 0; i < t.size(); ++i) t[i] = augur::loopnest::program_input_value(b, static_cast<std::int64_t>(i));
            inputs.push_back(t);
        }
        tensors.push_back(std::move(t));
    }
    const auto done = augur::loopnest::evaluate(dag, tensors);
    if (!done) FAIL(done.error().detail);
    std::vector<std::vector<float>> outputs;
    for (std::size_t i = 0; i < dag.ops.size(); ++i)
        if (dag.is_output(i)) outputs.push_back(tensors[i]);
    return {std::move(inputs), std::move(outputs)};
}

/// Largest |got - want| / (1 + |want|); infinity when some value is not finite.
inline double largest_error(const std::vector<float>& got, const std::vector<float>& want) {
    double worst = got.size() == want.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < want.size() && i < got.size(); ++i) {
        const auto e = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])) / (1 + std::abs(static_cast<double>(want[i])));
        worst = e <= worst ? worst : (std::isfinite(e) ? e : HUGE_VAL);
    }
    return worst;
}

#endif
