// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune.hpp"

#include <algorithm>
#include <array>

#include <augur/core/random_engine.hpp>
#include <augur/workload/networks.hpp>

namespace metatune_program {

namespace {

using augur::kernel;
using augur::kernel_kind;

/// A range of the paper's Table 2, in steps: the extents of networks have divisors to tile by.
struct extent_range {
    std::int64_t least, most, step;
};
std::int64_t draw(const extent_range& r, augur::random_engine& rng) {
    return r.least + r.step * static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>((r.most - r.least) / r.step) + 1));
}

augur::result<kernel> draw(kernel_kind kind, augur::random_engine& rng) {
    const std::vector<augur::fused_op> fused{augur::fused_op::bias, augur::fused_op::relu};
    if (kind == kernel_kind::conv1d || kind == kernel_kind::conv1d_transpose) {
        const auto w = draw({150, 600, 50}, rng), c = draw({32, 128, 16}, rng), f = draw({32, 512, 16}, rng);
        return kernel::make(kind, {{"w", w}, {"c", c}, {"f", f}, {"k", 3}, {"pad", 1}}, fused);
    }
    const auto h = draw({7, 224, 7}, rng), f = draw({16, 128, 16}, rng);
    const auto c = (std::max)(draw({0, 128, 16}, rng), std::int64_t{3}); // 3 channels: an image
    if (kind == kernel_kind::conv2d_winograd) return kernel::make(kind, {{"h", h}, {"w", h}, {"c", c}, {"f", f}, {"pad", 1}}, fused);
    return kernel::make(kind, {{"h", h}, {"w", h}, {"c", c}, {"f", f}, {"k", 3}, {"pad", 1}}, fused);
}

} // namespace

augur::result<std::vector<kernel>> draw_kernels(std::size_t count, std::uint64_t seed) {
    constexpr std::array kinds{kernel_kind::conv2d, kernel_kind::conv2d_transpose, kernel_kind::conv2d_winograd, kernel_kind::conv1d,
                               kernel_kind::conv1d_transpose};
    std::vector<kernel> of_networks, out;
    for (const auto name : augur::network_names) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels) of_networks.push_back(k.workload);
    }
    augur::random_engine rng(seed);
    while (out.size() < count) {
        auto drawn = draw(kinds[out.size() % kinds.size()], rng);
        if (!drawn) return drawn.error();
        const auto is_in = [&](const std::vector<kernel>& all) { return std::find(all.begin(), all.end(), *drawn) != all.end(); };
        if (!is_in(of_networks) && !is_in(out)) out.push_back(*std::move(drawn));
    }
    return out;
}

} // namespace metatune_program
