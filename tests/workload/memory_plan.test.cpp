// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/workload/memory_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/workload/network_graph.hpp>
#include <augur/workload/networks.hpp>

#include <doctest/doctest.h>

using namespace augur;

namespace {

// No two buffers that live at a common step share a byte; every offset is aligned; the arena ends with a buffer.
void check(const std::vector<buffer_lifetime>& buffers, const memory_plan& plan, std::int64_t alignment) {
    REQUIRE(plan.offsets.size() == buffers.size());
    std::int64_t end = 0, sum = 0;
    std::size_t steps = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        CHECK(plan.offsets[i] >= 0);
        CHECK(plan.offsets[i] % alignment == 0);
        end = (std::max)(end, plan.offsets[i] + buffers[i].bytes);
        sum += (buffers[i].bytes + alignment - 1) / alignment * alignment;
        steps = (std::max)(steps, buffers[i].last + 1);
    }
    CHECK(plan.bytes == end);
    CHECK(plan.bytes <= sum);
    CHECK(plan.bytes >= live_bytes(buffers));
    for (std::size_t step = 0; step < steps; ++step) { // brute force: who owns each byte
        std::vector<bool> owned(static_cast<std::size_t>(plan.bytes), false);
        bool shared = false;
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            if (step < buffers[i].first || step > buffers[i].last) continue;
            for (auto b = plan.offsets[i]; b < plan.offsets[i] + buffers[i].bytes; ++b) {
                shared = shared || owned[static_cast<std::size_t>(b)];
                owned[static_cast<std::size_t>(b)] = true;
            }
        }
        CHECK_FALSE(shared);
    }
}

} // namespace

TEST_CASE("memory plan: buffers of random graphs never overlap while they live") {
    random_engine draw(7);
    for (int round = 0; round < 200; ++round) {
        const auto nodes = std::size_t{1} + draw.below(24);
        std::vector<buffer_lifetime> buffers;
        for (std::size_t i = 0; i < nodes; ++i) buffers.push_back({static_cast<std::int64_t>(draw.below(700)), i, i});
        for (std::size_t i = 1; i < nodes; ++i) // each reads up to three before it
            for (std::size_t k = draw.below(4); k > 0; --k) {
                auto& read = buffers[draw.below(i)];
                read.last = (std::max)(read.last, i);
            }
        const auto alignment = std::int64_t{1} << draw.below(7);
        check(buffers, plan_memory(buffers, alignment), alignment);
    }
}

TEST_CASE("memory plan: a chain needs the two largest neighbours, and nothing needs nothing") {
    const std::vector<buffer_lifetime> chain{{640, 0, 1}, {1280, 1, 2}, {1920, 2, 3}, {64, 3, 4}};
    const auto plan = plan_memory(chain);
    check(chain, plan, 64);
    CHECK(plan.bytes == 1280 + 1920);
    CHECK(live_bytes(chain) == 1280 + 1920);
    CHECK(plan_memory({}).bytes == 0);
    // A gap between two that live is taken before the end.
    const std::vector<buffer_lifetime> gap{{1024, 0, 9}, {512, 0, 1}, {512, 2, 9}, {256, 2, 9}, {128, 0, 1}};
    check(gap, plan_memory(gap), 64);
    CHECK(plan_memory(gap).bytes == live_bytes(gap));
}
