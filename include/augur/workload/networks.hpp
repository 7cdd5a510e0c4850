// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_NETWORKS_HPP
#define AUGUR_WORKLOAD_NETWORKS_HPP

/// @file
/// Kernel lists of well-known networks after operator fusion: batch 1, 224 x 224 images in NHWC, batch normalisation folded into the convolutions before
/// it. Convolutional networks are those of torchvision.

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
class image_tracker {
public:
    network net;
    std::int64_t side = 224;
    std::int64_t channels = 3;

    explicit image_tracker(std::string name) : net{std::move(name), {}} {}

    /// @param pad  by default half of the window
    void conv(std::int64_t filters, std::int64_t k, std::int64_t stride, std::vector<fused_op> fused, std::int64_t groups = 1,
              std::int64_t pad = -1) {
        layer(kernel_kind::conv2d,
              {{"h", side},
               {"w", side},
               {"c", channels},
               {"f", filters},
               {"k", k},
               {"stride", stride},
               {"pad", pad < 0 ? k / 2 : pad},
               {"groups", groups}},
              std::move(fused));
        channels = filters;
    }
    void depthwise(std::int64_t k, std::int64_t stride, std::vector<fused_op> fused) {
        layer(kernel_kind::depthwise_conv2d, {{"h", side}, {"w", side}, {"c", channels}, {"k", k}, {"stride", stride}, {"pad", k / 2}},
              std::move(fused));
    }
    void pool(kernel_kind kind, std::int64_t k, std::int64_t stride, std::int64_t pad) {
        layer(kind, {{"h", side}, {"w", side}, {"c", channels}, {"k", k}, {"stride", stride}, {"pad", pad}});
    }
    void global_pool() { layer(kernel_kind::global_avg_pool2d, {{"h", side}, {"w", side}, {"c", channels}}); }
    void elementwise(std::vector<fused_op> fused) { layer(kernel_kind::elementwise, {{"h", side}, {"w", side}, {"c", channels}}, std::move(fused)); }
    void dense(std::int64_t units, std::vector<fused_op> fused) {
        net.add(kernel::make(kernel_kind::dense, {{"m", 1}, {"n", units}, {"k", side * side * channels}}, std::move(fused)));
        side = 1;
        channels = units;
    }

private:
    void layer(kernel_kind kind, std::initializer_list<kernel::parameter> parameters, std::vector<fused_op> fused = {}) {
        const auto k = kernel::make(kind, parameters, std::move(fused));
        net.add(k);
        if (k) side = k->window(0).out;
    }
};

inline std::vector<fused_op> bias_relu() { return {fused_op::bias, fused_op::relu}; }
inline std::vector<fused_op> bias_add_relu() { return {fused_op::bias, fused_op::add, fused_op::relu}; }
inline std::vector<fused_op> bias_relu6() { return {fused_op::bias, fused_op::relu6}; }

/// He et al., Deep residual learning for image recognition, table 1; with groups: Xie et al., Aggregated residual transformations (ResNeXt), table 1,
/// whose 3x3 convolutions have `group_width` channels a group in the first stage. The residual addition of a block is fused into its last convolution.
inline network resnet(std::string name, std::array<int, 4> blocks, bool bottleneck, std::int64_t groups = 1, std::int64_t group_width = 64) {
    image_tracker t(std::move(name));
    t.conv(64, 7, 2, bias_relu());
    t.pool(kernel_kind::max_pool2d, 3, 2, 1);
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        const auto planes = std::int64_t{64} << stage;
        const auto width = (groups * group_width) << stage;
        for (int block = 0; block < blocks[stage]; ++block) {
            const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
            const auto out = bottleneck ? 4 * planes : planes;
            if (t.channels != out) { // projection shortcut
                const auto side = t.side;
                const auto channels = t.channels;
                t.conv(out, 1, stride, {fused_op::bias});
                t.side = side;
                t.channels = channels;
            }
            if (bottleneck) t.conv(width, 1, 1, bias_relu());
            t.conv(width, 3, stride, bias_relu(), groups); // the stride of a bottleneck is in its 3x3 convolution ("v1.5"), as in most frameworks
            t.conv(out, bottleneck ? 1 : 3, 1, bias_add_relu());
        }
    }
    t.global_pool();
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}

/// Inverted residuals: a 1x1 convolution that expands, a depthwise one, a 1x1 convolution without activation that shrinks.
struct inverted_residuals {
    std::int64_t expansion, channels;
    int blocks;
    std::int64_t stride; ///< of the first block
    std::int64_t k;
};
inline network mobile_network(std::string name, const std::array<inverted_residuals, 7>& rows, const std::vector<fused_op>& activation) {
    image_tracker t(std::move(name));
    t.conv(32, 3, 2, activation);
    for (const auto& r : rows) {
        for (int block = 0; block < r.blocks; ++block) {
            const auto stride = block == 0 ? r.stride : 1;
            const bool residual = stride == 1 && t.channels == r.channels;
            if (r.expansion != 1) t.conv(t.channels * r.expansion, 1, 1, activation);
            t.depthwise(r.k, stride, activation);
            t.conv(r.channels, 1, 1, residual ? std::vector{fused_op::bias, fused_op::add} : std::vector{fused_op::bias});
        }
    }
    t.conv(1280, 1, 1, activation);
    t.global_pool();
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}
/// Sandler et al., MobileNetV2, table 2.
inline network mobilenet_v2() {
    return mobile_network(
        "mobilenet_v2",
        {{{1, 16, 1, 1, 3}, {6, 24, 2, 2, 3}, {6, 32, 3, 2, 3}, {6, 64, 4, 2, 3}, {6, 96, 3, 1, 3}, {6, 160, 3, 2, 3}, {6, 320, 1, 1, 3}}},
        bias_relu6());
}
/// Tan et al., MnasNet, figure 7 (MnasNet-B1, depth multiplier 1).
inline network mnasnet1_0() {
    return mobile_network(
        "mnasnet1_0",
        {{{1, 16, 1, 1, 3}, {3, 24, 3, 2, 3}, {3, 40, 3, 2, 5}, {6, 80, 3, 2, 5}, {6, 96, 2, 1, 3}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3}}},
        bias_relu());
}

/// Krizhevsky, One weird trick for parallelizing convolutional neural networks: one tower.
inline network alexnet() {
    image_tracker t("alexnet");
    t.conv(64, 11, 4, bias_relu(), 1, 2);
    t.pool(kernel_kind::max_pool2d, 3, 2, 0);
    t.conv(192, 5, 1, bias_relu());
    t.pool(kernel_kind::max_pool2d, 3, 2, 0);
    t.conv(384, 3, 1, bias_relu());
    t.conv(256, 3, 1, bias_relu());
    t.conv(256, 3, 1, bias_relu());
    t.pool(kernel_kind::max_pool2d, 3, 2, 0);
    t.dense(4096, bias_relu());
    t.dense(4096, bias_relu());
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}

/// Huang et al., Densely connected convolutional networks, table 1, growth rate 32. The normalisation of a layer's concatenated input cannot be folded and
/// is an element-wise kernel; concatenations are not listed.
inline network densenet_121() {
    constexpr std::int64_t growth = 32;
    image_tracker t("densenet_121");
    t.conv(64, 7, 2, bias_relu());
    t.pool(kernel_kind::max_pool2d, 3, 2, 1);
    const std::vector<fused_op> normalise{fused_op::scale, fused_op::relu};
    for (const int layers : {6, 12, 24, 16}) {
        if (t.channels != 64) { // a transition
            t.conv(t.channels / 2, 1, 1, {});
            t.pool(kernel_kind::avg_pool2d, 2, 2, 0);
        }
        for (int layer = 0; layer < layers; ++layer) {
            const auto input = t.channels;
            t.elementwise(normalise);
            t.conv(4 * growth, 1, 1, bias_relu());
            t.conv(growth, 3, 1, {});
            t.channels += input;
        }
        t.elementwise(normalise); // of the transition, or the last one
    }
    t.global_pool();
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}

/// Simonyan, Zisserman, Very deep convolutional networks, table 1, column D.
inline network vgg_16() {
    image_tracker t("vgg_16");
    for (const auto& [filters, layers] : std::array<std::pair<std::int64_t, int>, 5>{{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}}) {
        for (int i = 0; i < layers; ++i) t.conv(filters, 3, 1, bias_relu());
        t.pool(kernel_kind::max_pool2d, 2, 2, 0);
    }
    t.dense(4096, bias_relu());
    t.dense(4096, bias_relu());
    t.dense(1000, {fused_op::bias});
    return std::move(t.net);
}

/// Adds transformer layers of width 768, 12 heads of 64. The query, key and value projections are one matrix product, and the factor 1/8 of the attention
/// scores is folded into its weights.
/// @param context  positions that a token attends to
/// @param masked   a mask is added to the attention scores
/// @param norms    layer normalisations, in all
inline void add_transformer_layers(network& net, int layers, std::int64_t tokens, std::int64_t context, bool masked, int norms) {
    constexpr std::int64_t width = 768;
    constexpr std::int64_t heads = 12;
    const auto dense = [&](std::int64_t n, std::int64_t k, std::vector<fused_op> fused) {
        net.add(kernel::make(kernel_kind::dense, {{"m", tokens}, {"n", n}, {"k", k}}, std::move(fused)), layers);
    };
    net.add(kernel::make(kernel_kind::layer_norm, {{"m", tokens}, {"n", width}}), norms);
    dense(3 * width, width, {fused_op::bias});
    net.add(kernel::make(kernel_kind::batch_matmul, {{"b", heads}, {"m", tokens}, {"n", context}, {"k", width / heads}},
                         masked ? std::vector{fused_op::add} : std::vector<fused_op>{}),
            layers);
    net.add(kernel::make(kernel_kind::softmax, {{"m", heads * tokens}, {"n", context}}), layers);
    net.add(kernel::make(kernel_kind::batch_matmul, {{"b", heads}, {"m", tokens}, {"n", width / heads}, {"k", context}, {"transb", 0}}), layers);
    dense(width, width, {fused_op::bias, fused_op::add});
    dense(4 * width, width, {fused_op::bias, fused_op::gelu});
    dense(width, 4 * width, {fused_op::bias, fused_op::add});
}

/// Devlin et al., BERT-base: 12 layers and the pooler. There is no attention mask. Embedding look-ups are not listed.
inline network bert_base(std::string name, std::int64_t tokens) {
    network net{std::move(name), {}};
    constexpr int layers = 12;
    add_transformer_layers(net, layers, tokens, tokens, false, 1 + 2 * layers); // the first norm is behind the embeddings
    net.add(kernel::make(kernel_kind::dense, {{"m", 1}, {"n", 768}, {"k", 768}}, {fused_op::bias, fused_op::tanh}));
    return net;
}

/// Radford et al., GPT-2 (124 M): one of its 12 equal blocks, with `past` tokens in the cache of keys and values. Several tokens have a causal mask, an
/// input of the shape of the scores. GELU is the exact one, not the approximation by tanh. The copy into the cache is not listed.
inline network gpt2(std::string name, std::int64_t tokens, std::int64_t past) {
    network net{std::move(name), {}};
    add_transformer_layers(net, 1, tokens, past + tokens, tokens > 1, 2);
    return net;
}

/// The value of `name` in "name=1,other=2", `fallback` if it is not there; removes it from the text.
inline result<std::int64_t> take_network_parameter(std::string& text, std::string_view name, std::int64_t fallback, std::int64_t least,
                                                   std::int64_t most) {
    const auto prefix = std::string(name) + "=";
    const auto at = text.starts_with(prefix) ? 0 : text.find("," + prefix);
    if (at == std::string::npos) return fallback;
    const auto begin = text.find('=', at) + 1;
    const auto end = (std::min)(text.find(',', begin), text.size());
    const auto number = parse_int(std::string_view(text).substr(begin, end - begin));
    if (!number || *number < least || *number > most)
        return error{errc::invalid_argument, "'" + std::string(name) + "' must be a number within " + std::to_string(least) + " and " +
                                                 std::to_string(most) + ", is '" + text.substr(begin, (std::min)(end - begin, std::size_t{40})) +
                                                 "'"};
    text.erase(at, end - at + (at == 0 && end < text.size() ? 1 : 0));
    return *number;
}

} // namespace detail

/// The names that `find_network` accepts.
inline constexpr std::array<std::string_view, 10> network_names{"resnet_18", "resnet_50", "resnext_50",   "mobilenet_v2", "mnasnet1_0",
                                                                "vgg_16",    "alexnet",   "densenet_121", "bert_base",    "gpt2"};

/// Returns a network by name. `bert_base` and `gpt2` have parameters: `bert_base:tokens=384`, `gpt2:tokens=1,past=127`. Defaults: 128 tokens, no past ones.
/// Errors: not_found, which lists the names; invalid_argument (a parameter that there is not, or a value outside its range)
[[nodiscard]] inline result<network> find_network(std::string_view text) {
    const auto colon = text.find(':');
    const auto name = text.substr(0, colon);
    std::string parameters(colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1));
    result<network> out =
        error{errc::not_found, "network '" + std::string(name.substr(0, 40)) + "' is unknown; known are " + detail::join_names(network_names)};
    if (name == "resnet_18") out = detail::resnet("resnet_18", {2, 2, 2, 2}, false);
    if (name == "resnet_50") out = detail::resnet("resnet_50", {3, 4, 6, 3}, true);
    if (name == "resnext_50") out = detail::resnet("resnext_50", {3, 4, 6, 3}, true, 32, 4);
    if (name == "mobilenet_v2") out = detail::mobilenet_v2();
    if (name == "mnasnet1_0") out = detail::mnasnet1_0();
    if (name == "vgg_16") out = detail::vgg_16();
    if (name == "alexnet") out = detail::alexnet();
    if (name == "densenet_121") out = detail::densenet_121();
    if (name == "bert_base" || name == "gpt2") {
        const auto tokens = detail::take_network_parameter(parameters, "tokens", 128, 1, 4096);
        if (!tokens) return error{tokens.error().code, std::string(name) + ": " + tokens.error().detail};
        const auto past = name == "gpt2" ? detail::take_network_parameter(parameters, "past", 0, 0, 4096) : result<std::int64_t>(0);
        if (!past) return error{past.error().code, std::string(name) + ": " + past.error().detail};
        out = name == "gpt2" ? detail::gpt2(std::string(text), *tokens, *past) : detail::bert_base(std::string(text), *tokens);
    }
    if (out && (!parameters.empty() || text.ends_with(':')))
        return error{errc::invalid_argument, std::string(name) + ": there is no parameter '" + parameters.substr(0, 40) + "'"};
    return out;
}

} // namespace augur::inline v0

#endif
