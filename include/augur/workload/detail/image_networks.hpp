// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_DETAIL_IMAGE_NETWORKS_HPP
#define AUGUR_WORKLOAD_DETAIL_IMAGE_NETWORKS_HPP

/// @file
/// The graphs of convolutional networks, those of torchvision, whose names of layers they have.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/workload/detail/network_builder.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0::detail {

inline std::vector<fused_op> bias_relu() { return {fused_op::bias, fused_op::relu}; }
inline std::vector<fused_op> bias_add_relu() { return {fused_op::bias, fused_op::add, fused_op::relu}; }
inline std::vector<fused_op> bias_relu6() { return {fused_op::bias, fused_op::relu6}; }

/// He et al., Deep residual learning for image recognition, table 1; with groups: Xie et al., Aggregated residual transformations (ResNeXt), table 1,
/// whose 3x3 convolutions have `group_width` channels a group in the first stage. The residual addition of a block is fused into its last convolution.
inline result<network_graph> resnet(std::string name, std::array<int, 4> blocks, bool bottleneck, std::int64_t groups = 1,
                                    std::int64_t group_width = 64) {
    image_network_builder b;
    b.conv("conv1", 64, {7, 2}, bias_relu());
    b.pool("maxpool", kernel_kind::max_pool2d, {3, 2});
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        const auto planes = std::int64_t{64} << stage;
        const auto width = (groups * group_width) << stage;
        for (int block = 0; block < blocks[stage]; ++block) {
            const auto prefix = "layer" + std::to_string(stage + 1) + "." + std::to_string(block) + ".";
            const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
            const auto out = bottleneck ? 4 * planes : planes;
            const auto before = b.at;
            auto shortcut = b.at.node;
            if (b.at.channels != out) { // projection shortcut
                b.conv(prefix + "downsample", out, {1, stride}, {fused_op::bias});
                shortcut = b.at.node;
                b.at = before;
            }
            if (bottleneck) b.conv(prefix + "conv1", width, {1}, bias_relu());
            // the stride of a bottleneck is in its 3x3 convolution ("v1.5"), as in most frameworks
            b.conv(prefix + (bottleneck ? "conv2" : "conv1"), width, {3, stride}, bias_relu(), groups);
            b.conv(prefix + (bottleneck ? "conv3" : "conv2"), out, {bottleneck ? 1 : 3}, bias_add_relu(), 1, {shortcut});
        }
    }
    b.global_pool("avgpool");
    b.dense("fc", 1000, {fused_op::bias});
    return b.finish(std::move(name));
}

/// Inverted residuals: a 1x1 convolution that expands, a depthwise one, a 1x1 convolution without activation that shrinks.
struct inverted_residuals {
    std::int64_t expansion, channels;
    int blocks;
    std::int64_t stride; ///< of the first block
    std::int64_t k;
};
inline result<network_graph> mobile_network(std::string name, const std::array<inverted_residuals, 7>& rows,
                                            const std::vector<fused_op>& activation) {
    image_network_builder b;
    b.conv("stem", 32, {3, 2}, activation);
    int number = 0;
    for (const auto& r : rows) {
        for (int block = 0; block < r.blocks; ++block) {
            const auto prefix = "blocks." + std::to_string(number++) + ".";
            const auto stride = block == 0 ? r.stride : 1;
            const auto before = b.at;
            const bool residual = stride == 1 && before.channels == r.channels;
            if (r.expansion != 1) b.conv(prefix + "expand", before.channels * r.expansion, {1}, activation);
            b.depthwise(prefix + "depthwise", {r.k, stride}, activation);
            if (residual) b.conv(prefix + "project", r.channels, {1}, {fused_op::bias, fused_op::add}, 1, {before.node});
            else b.conv(prefix + "project", r.channels, {1}, {fused_op::bias});
        }
    }
    b.conv("head", 1280, {1}, activation);
    b.global_pool("avgpool");
    b.dense("classifier", 1000, {fused_op::bias});
    return b.finish(std::move(name));
}
/// Sandler et al., MobileNetV2, table 2.
inline result<network_graph> mobilenet_v2() {
    return mobile_network(
        "mobilenet_v2",
        {{{1, 16, 1, 1, 3}, {6, 24, 2, 2, 3}, {6, 32, 3, 2, 3}, {6, 64, 4, 2, 3}, {6, 96, 3, 1, 3}, {6, 160, 3, 2, 3}, {6, 320, 1, 1, 3}}},
        bias_relu6());
}
/// Tan et al., MnasNet, figure 7 (MnasNet-B1, depth multiplier 1).
inline result<network_graph> mnasnet1_0() {
    return mobile_network(
        "mnasnet1_0",
        {{{1, 16, 1, 1, 3}, {3, 24, 3, 2, 3}, {3, 40, 3, 2, 5}, {6, 80, 3, 2, 5}, {6, 96, 2, 1, 3}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3}}},
        bias_relu());
}

/// The classifier of AlexNet and VGG.
inline void add_classifier(image_network_builder& b) {
    b.dense("classifier.0", 4096, bias_relu());
    b.dense("classifier.1", 4096, bias_relu());
    b.dense("classifier.2", 1000, {fused_op::bias});
}

/// Krizhevsky, One weird trick for parallelizing convolutional neural networks: one tower.
inline result<network_graph> alexnet() {
    image_network_builder b;
    b.conv("conv1", 64, {11, 4, 2}, bias_relu());
    b.pool("pool1", kernel_kind::max_pool2d, {3, 2, 0});
    b.conv("conv2", 192, {5}, bias_relu());
    b.pool("pool2", kernel_kind::max_pool2d, {3, 2, 0});
    b.conv("conv3", 384, {3}, bias_relu());
    b.conv("conv4", 256, {3}, bias_relu());
    b.conv("conv5", 256, {3}, bias_relu());
    b.pool("pool5", kernel_kind::max_pool2d, {3, 2, 0});
    add_classifier(b);
    return b.finish("alexnet");
}

/// Huang et al., Densely connected convolutional networks, table 1, growth rate 32. The normalisation of a layer's concatenated input cannot be folded and
/// is an element-wise kernel.
inline result<network_graph> densenet_121() {
    constexpr std::int64_t growth = 32;
    image_network_builder b;
    b.conv("conv0", 64, {7, 2}, bias_relu());
    b.pool("pool0", kernel_kind::max_pool2d, {3, 2, 1});
    const std::vector<fused_op> normalise{fused_op::scale, fused_op::relu};
    int block = 0;
    for (const int layers : {6, 12, 24, 16}) {
        const auto of_block = std::to_string(++block);
        if (block > 1) {
            b.conv("transition" + of_block + ".conv", b.at.channels / 2, {1}, {});
            b.pool("transition" + of_block + ".pool", kernel_kind::avg_pool2d, {2, 2, 0});
        }
        for (int layer = 1; layer <= layers; ++layer) {
            const auto prefix = "block" + of_block + "." + std::to_string(layer) + ".";
            const auto input = b.at;
            b.elementwise(prefix + "norm", normalise);
            b.conv(prefix + "conv1", 4 * growth, {1}, bias_relu());
            b.conv(prefix + "conv2", growth, {3}, {});
            b.at.node = b.add(prefix + "concat", concatenation{3}, {input.node, b.at.node});
            b.at.channels += input.channels;
        }
        b.elementwise("norm" + of_block, normalise); // of the transition, or the last one
    }
    b.global_pool("avgpool");
    b.dense("classifier", 1000, {fused_op::bias});
    return b.finish("densenet_121");
}

/// Simonyan, Zisserman, Very deep convolutional networks, table 1, column D.
inline result<network_graph> vgg_16() {
    image_network_builder b;
    int stage = 0;
    for (const auto& [filters, layers] : std::array<std::pair<std::int64_t, int>, 5>{{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}}) {
        const auto prefix = "stage" + std::to_string(++stage) + ".";
        for (int i = 1; i <= layers; ++i) b.conv(prefix + "conv" + std::to_string(i), filters, {3}, bias_relu());
        b.pool(prefix + "pool", kernel_kind::max_pool2d, {2, 2, 0});
    }
    add_classifier(b);
    return b.finish("vgg_16");
}

} // namespace augur::inline v0::detail

#endif
