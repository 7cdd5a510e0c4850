// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "headroom.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace {

/// A test network, and the networks of `find_network` whose kernels it has: BERT has those of four lengths of text.
struct test_network {
    const char* name;
    std::vector<const char*> parts;
};
const std::vector<test_network>& test_networks() {
    static const std::vector<test_network> all{
        {"resnet_50", {"resnet_50"}},
        {"mobilenet_v2", {"mobilenet_v2"}},
        {"bert_base", {"bert_base:tokens=64", "bert_base:tokens=128", "bert_base:tokens=256", "bert_base:tokens=384"}},
    };
    return all;
}

/// The distinct kernels of some networks.
augur::network kernels_of(std::span<const char* const> names) {
    augur::network out;
    for (const auto* name : names)
        if (const auto net = augur::find_network(name))
            for (const auto& k : net->kernels) out.add(k.workload);
    return out;
}

} // namespace

std::vector<test_kernel> test_kernels(std::size_t of_each, std::uint64_t seed) {
    std::vector<test_kernel> out;
    std::vector<std::vector<augur::network_kernel>> drawn;
    for (const auto& t : test_networks()) {
        auto all = kernels_of(t.parts).kernels;
        augur::random_engine(seed).shuffle(std::span(all));
        if (all.size() > of_each) all.erase(all.begin() + static_cast<std::ptrdiff_t>(of_each), all.end());
        drawn.push_back(std::move(all));
    }
    // The networks take turns, so that a campaign that is not finished has some of each.
    for (std::size_t i = 0; i < of_each; ++i)
        for (std::size_t n = 0; n < drawn.size(); ++n)
            if (i < drawn[n].size()) out.emplace_back(test_networks()[n].name, drawn[n][i].workload);
    return out;
}

augur::result<std::vector<test_kernel>> network_kernels(std::span<const std::string> names) {
    std::vector<test_kernel> out;
    for (const auto& name : names) {
        const auto network = augur::find_network(name);
        if (!network) return network.error();
        for (const auto& k : network->kernels)
            if (std::none_of(out.begin(), out.end(), [&](const test_kernel& had) { return had.second == k.workload; }))
                out.emplace_back(network->name, k.workload);
    }
    return out;
}

augur::network other_kernels(std::size_t count, std::uint64_t seed) {
    constexpr std::array others{"resnet_18",     "resnext_50", "mnasnet1_0", "vgg_16", "alexnet", "densenet_121", "gpt2:tokens=1,past=127",
                                "gpt2:tokens=96"};
    std::vector<augur::kernel> tested;
    for (const auto& t : test_networks())
        for (const auto& k : kernels_of(t.parts).kernels) tested.push_back(k.workload);
    augur::network out = kernels_of(others);
    out.name = "other networks";
    std::erase_if(out.kernels, [&](const augur::network_kernel& k) { return std::find(tested.begin(), tested.end(), k.workload) != tested.end(); });
    augur::random_engine(seed).shuffle(std::span(out.kernels));
    if (out.kernels.size() > count) out.kernels.erase(out.kernels.begin() + static_cast<std::ptrdiff_t>(count), out.kernels.end());
    return out;
}
