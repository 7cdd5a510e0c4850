// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_DETAIL_NETWORK_BUILDER_HPP
#define AUGUR_WORKLOAD_DETAIL_NETWORK_BUILDER_HPP

/// @file
/// The graph of a network under construction; an image network layer by layer.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0::detail {

/// Nodes in the order of execution; each function returns the node that it adds.
class network_builder {
public:
    using shape = std::vector<std::int64_t>;

    std::size_t add(std::string name, node_action action, std::vector<std::size_t> inputs) {
        nodes_.push_back({std::move(name), std::move(action), std::move(inputs)});
        return nodes_.size() - 1;
    }
    std::size_t input(std::string name, shape of) { return add(std::move(name), network_input{std::move(of)}, {}); }
    /// pre: `k` holds a kernel
    std::size_t call(std::string name, const result<kernel>& k, std::vector<std::size_t> inputs) {
        AUGUR_ASSERT(k, "network: a valid kernel");
        return add(std::move(name), kernel_call{*k}, std::move(inputs));
    }

    [[nodiscard]] result<network_graph> finish(std::string name, std::vector<std::size_t> outputs) {
        return network_graph::create(std::move(name), std::move(nodes_), std::move(outputs));
    }

private:
    std::vector<network_node> nodes_;
};

/// The last layer of an image network: its node, its square image in NHWC and its channels.
struct image_layer {
    std::size_t node = 0;
    std::int64_t side = 0, channels = 0;
};

/// Adds layers behind `at`, the last one; a caller may set it back to branch off.
class image_network_builder : public network_builder {
public:
    image_layer at{input("input", {1, 224, 224, 3}), 224, 3};

    struct window {
        std::int64_t k, stride = 1, pad = -1; ///< pad: by default half of the window
    };

    /// @param residual  what the fused operation `add` adds, if it is there
    void conv(std::string name, std::int64_t filters, window w, std::vector<fused_op> fused, std::int64_t groups = 1,
              std::vector<std::size_t> residual = {}) {
        layer(std::move(name), kernel_kind::conv2d,
              {{"h", at.side},
               {"w", at.side},
               {"c", at.channels},
               {"f", filters},
               {"k", w.k},
               {"stride", w.stride},
               {"pad", w.pad < 0 ? w.k / 2 : w.pad},
               {"groups", groups}},
              std::move(fused), std::move(residual));
        at.channels = filters;
    }
    void depthwise(std::string name, window w, std::vector<fused_op> fused) {
        layer(std::move(name), kernel_kind::depthwise_conv2d,
              {{"h", at.side}, {"w", at.side}, {"c", at.channels}, {"k", w.k}, {"stride", w.stride}, {"pad", w.pad < 0 ? w.k / 2 : w.pad}},
              std::move(fused));
    }
    void pool(std::string name, kernel_kind kind, window w) {
        layer(std::move(name), kind,
              {{"h", at.side}, {"w", at.side}, {"c", at.channels}, {"k", w.k}, {"stride", w.stride}, {"pad", w.pad < 0 ? w.k / 2 : w.pad}});
    }
    void global_pool(std::string name) {
        layer(std::move(name), kernel_kind::global_avg_pool2d, {{"h", at.side}, {"w", at.side}, {"c", at.channels}});
    }
    void elementwise(std::string name, std::vector<fused_op> fused) {
        layer(std::move(name), kernel_kind::elementwise, {{"h", at.side}, {"w", at.side}, {"c", at.channels}}, std::move(fused));
    }
    void dense(std::string name, std::int64_t units, std::vector<fused_op> fused) {
        const auto k = at.side * at.side * at.channels;
        at.node = add(name + ".flatten", reshape{{1, k}}, {at.node});
        at.node = call(std::move(name), kernel::make(kernel_kind::dense, {{"m", 1}, {"n", units}, {"k", k}}, std::move(fused)), {at.node});
        at.side = 1;
        at.channels = units;
    }

    /// The network whose output is the last layer.
    [[nodiscard]] result<network_graph> finish(std::string name) { return network_builder::finish(std::move(name), {at.node}); }

private:
    void layer(std::string name, kernel_kind kind, std::initializer_list<kernel::parameter> parameters, std::vector<fused_op> fused = {},
               std::vector<std::size_t> residual = {}) {
        const auto k = kernel::make(kind, parameters, std::move(fused));
        std::vector<std::size_t> inputs{at.node};
        inputs.insert(inputs.end(), residual.begin(), residual.end());
        at.node = call(std::move(name), k, std::move(inputs));
        if (k) at.side = k->window(0).out;
    }
};

} // namespace augur::inline v0::detail

#endif
