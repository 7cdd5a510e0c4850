// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/ir/dag_class.hpp>

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <augur/loopnest/ir/task.hpp>
#include <augur/workload/concepts.hpp>
#include <augur/workload/networks.hpp>
#include <doctest/doctest.h>

using namespace augur;

namespace {

class_levels levels_of(const char* kernel_text) {
    const auto k = kernel::parse(kernel_text);
    REQUIRE(k);
    const auto task = loopnest::kernel_task::create(*k, hardware_params{});
    REQUIRE(task);
    return task_class_levels(*task);
}

/// The levels at which two kernels agree, a letter each: p o c s d w.
std::string agreement(const char* a, const char* b) {
    const class_agreement both(levels_of(a), levels_of(b));
    std::string out;
    for (std::size_t l = 0; l < class_level_names.size(); ++l)
        if (both.at(static_cast<class_level>(l))) out += class_level_names[l][0];
    return out;
}

} // namespace

TEST_CASE("dag_class: what two kernels of a network have in common") {
    const char* const conv = "conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,relu";
    CHECK(agreement(conv, conv) == "pocsdw");
    CHECK(agreement(conv, "conv2d:h=28,w=28,c=128,f=256,k=3,pad=1,bias,relu") == "pocsd");
    CHECK(agreement(conv, "conv2d:h=56,w=56,c=64,f=64,k=3,stride=2,pad=1,bias,relu") == "pocs");
    CHECK(agreement(conv, "conv2d:h=56,w=56,c=64,f=64,k=1,bias,relu") == "poc"); // no stage that pads
    CHECK(agreement(conv, "conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias") == "p");
    CHECK(agreement(conv, "conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,add,relu") == "p");         // classes E and F of the paper
    CHECK(agreement(conv, "conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,layout=nchw,bias,relu") == "s"); // another operation of TVM
    CHECK(agreement(conv, "dense:m=64,n=64,k=64,bias,relu") == "");
    CHECK(agreement("dense:m=64,n=64,k=64", "dense:m=1,n=64,k=1024") == "pocsd");
    CHECK(agreement("dense:m=64,n=64,k=64,bias", "dense:m=64,n=64,k=64,add") == "pos"); // two additions, of a vector and of a matrix
}

TEST_CASE("dag_class: commuting element-wise operations have one order") {
    const char* const a = "conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,add,relu";
    const char* const b = "conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,add,bias,relu";
    CHECK(class_agreement(levels_of(a), levels_of(b)).at(class_level::canonical));
    CHECK(!class_agreement(levels_of(a), levels_of(b)).at(class_level::dag));
    CHECK(!class_agreement(levels_of(a), levels_of("conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,relu,add")).at(class_level::canonical));
}

namespace {

/// Equal but for the extents of the images?
bool same_windows(const kernel& a, const kernel& b) {
    if (a.is_image() != b.is_image()) return false;
    for (std::size_t axis = 0; a.is_image() && axis < a.rank(); ++axis) {
        const auto numbers = [](const window_axis& w) { return std::array{w.k, w.stride, w.dilation, w.pad_before, w.pad_behind, w.opad}; };
        if (numbers(a.window(axis)) != numbers(b.window(axis))) return false;
    }
    return true;
}

} // namespace

TEST_CASE("dag_class: kernels of one class name and one window have one DAG but for its extents") {
    for (const char* network_name : {"resnet_50", "mobilenet_v2"}) {
        const auto network = find_network(network_name);
        REQUIRE(network);
        std::vector<class_levels> levels;
        std::set<std::string> names, classes;
        for (const auto& layer : network->kernels) {
            names.insert(layer.workload.class_name());
            levels.push_back(levels_of(layer.workload.text().c_str()));
            classes.insert(levels.back().at(class_level::operations));
        }
        CHECK(classes.size() <= names.size()); // bias and add are one operation in TVM's names
        CHECK(classes.size() > 3);
        std::size_t pairs = 0;
        for (std::size_t i = 0; i < levels.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const auto &a = network->kernels[i].workload, &b = network->kernels[j].workload;
                if (a.class_name() != b.class_name() || !same_windows(a, b)) continue;
                CAPTURE(a.text());
                CAPTURE(b.text());
                ++pairs;
                CHECK(class_agreement(levels[i], levels[j]).at(class_level::dag));
                CHECK(!class_agreement(levels[i], levels[j]).at(class_level::workload));
            }
        CHECK(pairs > 5);
    }
}
