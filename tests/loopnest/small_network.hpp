// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_LOOPNEST_SMALL_NETWORK_HPP
#define AUGUR_TESTS_LOOPNEST_SMALL_NETWORK_HPP

// A network that has all that networks may have: a residual edge, a concatenation, a slice, a permutation, reshapes, an element-wise kernel that may run in
// place, two inputs, and two outputs of which one is also read.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/loopnest/ir/task.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/network_graph.hpp>

#include <doctest/doctest.h>

inline augur::network_graph small_network() {
    using namespace augur;
    const auto call = [](std::string name, std::string_view text, std::vector<std::size_t> inputs) {
        const auto k = kernel::parse(text);
        if (!k) FAIL(k.error().detail);
        return network_node{std::move(name), kernel_call{*k}, std::move(inputs)};
    };
    auto g = network_graph::create("small",
                                   {{"image", network_input{{1, 8, 8, 3}}, {}},
                                    {"bias image", network_input{{1, 8, 8, 4}}, {}},
                                    call("stem", "conv2d:h=8,w=8,c=3,f=4,k=3,pad=1,bias,add,relu", {0, 1}),
                                    call("inner", "conv2d:h=8,w=8,c=4,f=4,k=3,pad=1,bias,relu", {2}),
                                    call("block", "conv2d:h=8,w=8,c=4,f=4,k=3,pad=1,bias,add,relu", {3, 2}),
                                    {"joined", concatenation{3}, {2, 4}},
                                    call("norm", "elementwise:h=8,w=8,c=8,scale,relu", {5}),
                                    call("pool", "global_avg_pool2d:h=8,w=8,c=8", {6}),
                                    {"row", reshape{{1, 8}}, {7}},
                                    {"column", strided_copy{{8, 1}, {-1, 1}, 7}, {8}}, // backwards
                                    call("outer", "matmul:m=8,n=8,k=1", {9, 8}),
                                    call("fc", "dense:m=8,n=16,k=8,bias,gelu", {10}),
                                    {"heads", strided_copy{{2, 4, 8}, {8, 32, 1}, 0}, {11}}, // the halves of every second row
                                    {"rows", reshape{{8, 8}}, {12}},
                                    call("soft", "softmax:m=8,n=8", {13})},
                                   {14, 4});
    if (!g) FAIL(g.error().detail);
    return *g;
}

inline std::vector<augur::loopnest::kernel_task> tasks_of(const augur::network_graph& g) {
    std::vector<augur::loopnest::kernel_task> out;
    const auto net = g.kernels();
    for (const auto& k : net.kernels) {
        auto t = augur::loopnest::kernel_task::create(k.workload, augur::hardware_params{}, k.uses);
        if (!t) FAIL(t.error().detail);
        out.push_back(std::move(*t));
    }
    return out;
}

#endif
