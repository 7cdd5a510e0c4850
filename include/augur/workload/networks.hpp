// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_NETWORKS_HPP
#define AUGUR_WORKLOAD_NETWORKS_HPP

/// @file
/// Kernel lists of well-known networks (ResNet-18/50, MobileNetV2, VGG-16, BERT-base) after operator fusion: batch 1, 224 x 224 images in NHWC, batch
/// normalisation folded into the convolutions.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0 {

/// A kernel of a network, and the number of its calls per inference.
struct network_kernel {
    kernel workload;
    int uses = 1;
};

/// A network: its distinct kernels, in the order of their first use.
struct network {
    std::string name;
    std::vector<network_kernel> kernels;

    /// Adds `uses` calls of a kernel. pre: `k` holds a kernel
    void add(const result<kernel>& k, int uses = 1) {
        AUGUR_ASSERT(k, "network: a valid kernel");
        if (!k) return;
        const auto position = std::find_if(kernels.begin(), kernels.end(), [&](const network_kernel& n) { return n.workload == *k; });
        if (position != kernels.end()) position->uses += uses;
        else kernels.push_back({*k, uses});
    }
};

namespace detail {

/// Builds a convolutional network layer by layer and tracks the current image size and number of channels.
struct image_tracker {
    network net;
    std::int64_t side = 224;
    std::int64_t channels = 3;

    void conv(std::int64_t filters, std::int64_t k, std::int64_t stride, std::vector<fused_op> fused) {
        net.add(kernel::make(kernel_kind::conv2d,
                             {{"h", side}, {"w", side}, {"c", channels}, {"f", filters}, {"k", k}, {"stride", stride}, {"pad", k / 2}},
                             std::move(fused)));
        side = (side + 2 * (k / 2) - k) / stride + 1;
        channels = filters;
    }
    void depthwise(std::int64_t k, std::int64_t stride, std::vector<fused_op> fused) {
        net.add(kernel::make(kernel_kind::depthwise_conv2d, {{"h", side}, {"w", side}, {"c", channels}, {"k", k}, {"stride", stride}, {"pad", k / 2}},
                             std::move(fused)));
        side = (side + 2 * (k / 2) - k) / stride + 1;
    }
    void max_pool(std::int64_t k, std::int64_t stride, std::int64_t pad) {
        net.add(kernel::make(kernel_kind::max_pool2d, {{"h", side}, {"w", side}, {"c", channels}, {"k", k}, {"stride", stride}, {"pad", pad}}));
        side = (side + 2 * pad - k) / stride + 1;
    }
    void global_pool() {
        net.add(kernel::make(kernel_kind::global_avg_pool2d, {{"h", side}, {"w", side}, {"c", channels}}));
        side = 1;
    }
    void dense(std::int64_t units, std::vector<fused_op> fused) {
        net.add(kernel::make(kernel_kind::dense, {{"m", 1}, {"n", units}, {"k", side * side * channels}}, std::move(fused)));
        side = 1;
        channels = units;
    }
};

inline std::vector<fused_op> bias_relu() { return {fused_op::bias, fused_op::relu}; }
inline std::vector<fused_op> bias_add_relu() { return {fused_op::bias, fused_op::add, fused_op::relu}; }
inline std::vector<fused_op> bias_relu6() { return {fused_op::bias, fused_op::relu6}; }

/// He et al., Deep residual learning for image recognition, table 1. The residual addition of a block is fused into its last convolution.
inline network resnet(std::string name, std::array<int, 4> blocks, bool bottleneck) {
    image_tracker t{{std::move(name), {}}};
    t.conv(64, 7, 2, bias_relu());
    t.max_pool(3, 2, 1);
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        const auto width = std::int64_t{64} << stage;
        for (int block = 0; block < blocks[stage]; ++block) {
            const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
            const auto out = bottleneck ? 4 * width : width;
            if (t.channels != out) { // projection shortcut
                const auto side = t.side;
                const auto channels = t.channels;
                t.conv(out, 1, stride, {fused_op::bias});
                t.side = side;
                t.channels = channels;
            }
            if (bottleneck) t.conv(width, 1, 1, bias_relu());
            t.conv(width, 3, stride, bias_relu()); // the stride of a bottleneck is in its 3x3 convolution ("v1.5"), as in most frameworks
            t.conv(out, bottleneck ? 1 : 3, 1, bias_add_relu());
        }
    }
    t.global_pool();
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}

/// Sandler et al., MobileNetV2, table 2.
inline network mobilenet_v2() {
    struct row {
        std::int64_t expansion, channels;
        int blocks;
        std::int64_t stride;
    };
    constexpr std::array<row, 7> rows{{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
    image_tracker t{{"mobilenet_v2", {}}};
    t.conv(32, 3, 2, bias_relu6());
    for (const auto& r : rows) {
        for (int block = 0; block < r.blocks; ++block) {
            const auto stride = block == 0 ? r.stride : 1;
            const bool residual = stride == 1 && t.channels == r.channels;
            if (r.expansion != 1) t.conv(t.channels * r.expansion, 1, 1, bias_relu6());
            t.depthwise(3, stride, bias_relu6());
            t.conv(r.channels, 1, 1, residual ? std::vector{fused_op::bias, fused_op::add} : std::vector{fused_op::bias});
        }
    }
    t.conv(1280, 1, 1, bias_relu6());
    t.global_pool();
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}

/// Simonyan, Zisserman, Very deep convolutional networks, table 1, column D.
inline network vgg_16() {
    image_tracker t{{"vgg_16", {}}};
    for (const auto& [filters, layers] : std::array<std::pair<std::int64_t, int>, 5>{{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}}) {
        for (int i = 0; i < layers; ++i) t.conv(filters, 3, 1, bias_relu());
        t.max_pool(2, 2, 0);
    }
    t.dense(4096, bias_relu());
    t.dense(4096, bias_relu());
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}

/// Devlin et al., BERT-base: 12 layers of width 768, 12 heads of 64. The query, key and value projections are one matrix product, and the factor 1/8
/// of the attention scores is folded into its weights. There is no attention mask. Embedding look-ups are not listed.
inline network bert_base(std::int64_t tokens) {
    network net{"bert_base", {}};
    constexpr std::int64_t width = 768;
    constexpr std::int64_t heads = 12;
    constexpr int layers = 12;
    const auto dense = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::vector<fused_op> fused, int uses) {
        net.add(kernel::make(kernel_kind::dense, {{"m", m}, {"n", n}, {"k", k}}, std::move(fused)), uses);
    };
    net.add(kernel::make(kernel_kind::layer_norm, {{"m", tokens}, {"n", width}}), 1 + 2 * layers);
    dense(tokens, 3 * width, width, {fused_op::bias}, layers);
    net.add(kernel::make(kernel_kind::batch_matmul, {{"b", heads}, {"m", tokens}, {"n", tokens}, {"k", width / heads}}), layers);
    net.add(kernel::make(kernel_kind::softmax, {{"m", heads * tokens}, {"n", tokens}}), layers);
    net.add(kernel::make(kernel_kind::batch_matmul, {{"b", heads}, {"m", tokens}, {"n", width / heads}, {"k", tokens}, {"transb", 0}}), layers);
    dense(tokens, width, width, {fused_op::bias, fused_op::add}, layers);
    dense(tokens, 4 * width, width, {fused_op::bias, fused_op::gelu}, layers);
    dense(tokens, width, 4 * width, {fused_op::bias, fused_op::add}, layers);
    dense(1, width, width, {fused_op::bias, fused_op::tanh}, 1); // the pooler
    return net;
}

} // namespace detail

/// The names that `find_network` accepts.
inline constexpr std::array<std::string_view, 5> network_names{"resnet_18", "resnet_50", "mobilenet_v2", "vgg_16", "bert_base"};

/// Returns a network by name; `bert_base` has a sequence length of 128 tokens.   Errors: not_found, which lists the names.
[[nodiscard]] inline result<network> find_network(std::string_view name) {
    if (name == "resnet_18") return detail::resnet("resnet_18", {2, 2, 2, 2}, false);
    if (name == "resnet_50") return detail::resnet("resnet_50", {3, 4, 6, 3}, true);
    if (name == "mobilenet_v2") return detail::mobilenet_v2();
    if (name == "vgg_16") return detail::vgg_16();
    if (name == "bert_base") return detail::bert_base(128);
    return error{errc::not_found, "network '" + std::string(name.substr(0, 40)) + "' is unknown; known are " + detail::join_names(network_names)};
}

} // namespace augur::inline v0

#endif
