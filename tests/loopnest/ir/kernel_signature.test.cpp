// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/kernel_signature.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/workload/kernel.hpp>
#include <augur/workload/networks.hpp>

#include "kernels.hpp"

#include <doctest/doctest.h>

using namespace augur;

namespace {

void check_signature(const kernel& k) {
    CAPTURE(k.text());
    const auto dag = loopnest::build_dag(k);
    REQUIRE(dag);
    const auto shape_of = [](const loopnest::operation& op) {
        std::vector<std::int64_t> out;
        for (const auto& a : op.axes) out.push_back(a.extent);
        return out;
    };
    const auto s = signature_of(k);
    std::size_t n = 0;
    for (const auto& op : dag->ops) {
        if (!op.placeholder()) continue;
        REQUIRE(n < s.operands.size());
        CHECK(s.operands[n].shape == shape_of(op));
        CHECK(s.operands[n].constant == op.constant);
        ++n;
    }
    CHECK(n == s.operands.size());
    CHECK(s.output == shape_of(dag->ops.back()));
}

} // namespace

TEST_CASE("kernel signature: operands and output are those of the compute DAG") {
    for (const auto text : small_kernels) check_signature(*kernel::parse(text));
    for (const auto name : network_names) {
        const auto net = find_network(name);
        REQUIRE(net);
        for (const auto& k : net->kernels) check_signature(k.workload);
    }
}

TEST_CASE("kernel signature: constants have names that tell them apart") {
    const auto names = [](std::string_view text) {
        std::string out;
        const auto s = signature_of(*kernel::parse(text));
        for (const auto& o : s.operands) out += (out.empty() ? "" : " ") + o.name;
        return out;
    };
    CHECK(names("conv2d:h=4,w=4,c=2,f=2,k=3,bias,add,relu") == "data weight bias add");
    CHECK(names("elementwise:h=4,w=4,c=2,scale,bias,relu,bias,scale") == "data scale offset bias bias2 scale2 offset2");
    CHECK(names("batch_matmul:b=2,m=2,n=2,k=3,add,add") == "data other add add2");
    CHECK(names("layer_norm:m=2,n=2") == "data gamma beta");
}
