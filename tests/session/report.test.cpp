// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/session/report.hpp>

#include <set>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <augur/workload/kernel.hpp>
#include <augur/workload/networks.hpp>

namespace {

std::string label(std::string_view text) {
    CAPTURE(text);
    const auto k = augur::kernel::parse(text);
    REQUIRE(k);
    return augur::kernel_label(*k);
}

} // namespace

TEST_CASE("kernel_label: what is usual is left out, and what is not is told") {
    CHECK(label("conv2d:h=56,w=56,c=64,f=64,k=3,pad=1,bias,relu") == "conv2d 56x56x64->64 3x3/1 +bias +relu");
    CHECK(label("conv2d:n=4,h=28,w=28,c=96,f=96,k=3,stride=2,pad=2,dilation=2,groups=32,layout=nchw") == "conv2d 4x28x28x96->96 3x3/2 d2 g32 nchw");
    CHECK(label("conv2d:h=224,w=224,c=3,f=64,k=11,stride=4,pad=2") == "conv2d 224x224x3->64 11x11/4 p2");
    CHECK(label("conv2d:h=9,w=9,c=3,f=4,k=3") == "conv2d 9x9x3->4 3x3/1 p0");
    CHECK(label("conv2d:h=17,w=12,c=3,f=4,k=1x7,stride=2x1,pad=0x3") == "conv2d 17x12x3->4 1x7/2x1");
    CHECK(label("conv2d:h=17,w=12,c=3,f=4,k=3,stride=2,pad=0x0x1x1") == "conv2d 17x12x3->4 3x3/2 p0x0x1x1");
    CHECK(label("conv1d:w=100,c=3,f=4,k=3,pad=2x0") == "conv1d 100x3->4 3/1 p2x0");
    CHECK(label("conv1d_transpose:w=100,c=3,f=4,k=3,stride=2,pad=1,opad=1,layout=ncw") == "conv1d_transpose 100x3->4 3/2 op1 ncw");
    CHECK(label("conv3d:d=4,h=6,w=7,c=3,f=8,k=3,pad=1") == "conv3d 4x6x7x3->8 3x3x3/1");
    CHECK(label("conv2d_winograd:h=14,w=14,c=64,f=32,pad=1") == "conv2d_winograd 14x14x64->32 3x3/1");
    CHECK(label("conv2d_winograd:h=14,w=14,c=64,f=32,pad=1,tile=2") == "conv2d_winograd 14x14x64->32 3x3/1 t2");
    CHECK(label("max_pool2d:h=8,w=8,c=4,k=2,stride=2") == "max_pool2d 8x8x4 2x2/2");
    CHECK(label("global_avg_pool2d:h=7,w=7,c=4") == "global_avg_pool2d 7x7x4");
    CHECK(label("batch_matmul:b=2,m=3,n=4,k=5") == "batch_matmul 2x3x4x5");
    CHECK(label("batch_matmul:b=2,m=3,n=4,k=5,transb=0") == "batch_matmul 2x3x4x5 NN");
    CHECK(label("batch_matmul:b=2,m=3,n=4,k=5,transa=1") == "batch_matmul 2x3x4x5 TT");
    CHECK(label("softmax:m=3,n=4") == "softmax 3x4");
    CHECK(label("softmax:m=3,n=4,inner=5") == "softmax 3x4x5");
    CHECK(label("reduce_mean:m=3,n=4,inner=5,relu") == "reduce_mean 3x4x5 +relu");
    CHECK(label("dense:m=3,n=4,k=5,bias") == "dense 3x4x5 +bias");
}

TEST_CASE("kernel_label: the kernels of a network differ") {
    for (const auto name : augur::network_names) {
        const auto net = augur::find_network(name);
        REQUIRE(net);
        std::set<std::string> labels;
        for (const auto& k : net->kernels) labels.insert(augur::kernel_label(k.workload));
        CHECK(labels.size() == net->kernels.size());
    }
}

TEST_CASE("session_report: the latency of the network counts each kernel as often as it is used") {
    augur::session_report r;
    r.kernels.resize(2);
    r.kernels[0].uses = 3;
    r.kernels[1].uses = 1;
    r.searches.assign(2, augur::search_report("a search", 2));
    r.searches[1].result[0].latency = 2;
    r.searches[1].result[1].latency = 5;
    CHECK(r.network_latency(1) == 11);
    CHECK(r.network_latency(0) == augur::search_report::infinity); // it has no result
    r.searches[1].result[1].latency = augur::search_report::infinity;
    CHECK(r.network_latency(1) == augur::search_report::infinity);
}
