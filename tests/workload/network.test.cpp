// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/network.hpp>

#include <string_view>

#include <doctest/doctest.h>

#include <augur/workload/kernel.hpp>

namespace network_test {

TEST_CASE("network: a kernel that cannot be read is an error, and nothing is added") {
    constexpr std::string_view good = "dense:m=2,n=3,k=4", bad = "dense:m=2,n=3,k=four";
    augur::network net{"some kernels", {}};
    REQUIRE(net.add(augur::kernel::parse(good)));
    const auto parsed = augur::kernel::parse(bad);
    REQUIRE(!parsed);
    const auto refused = net.add(parsed, 5);
    REQUIRE(!refused);
    CHECK(refused.error().code == parsed.error().code);
    CHECK(refused.error().detail == parsed.error().detail);
    REQUIRE(net.kernels.size() == 1);
    CHECK(net.kernels[0].uses == 1);

    REQUIRE(net.add(augur::kernel::parse(good), 2)); // again: its uses add up
    net.add(*augur::kernel::parse("dense:m=2,n=3,k=5"), 7);
    REQUIRE(net.kernels.size() == 2);
    CHECK(net.kernels[0].workload == *augur::kernel::parse(good));
    CHECK(net.kernels[0].uses == 3);
    CHECK(net.kernels[1].uses == 7);
}

} // namespace network_test
