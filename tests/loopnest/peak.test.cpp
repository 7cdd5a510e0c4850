// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/peak.hpp>

#include <doctest/doctest.h>

using namespace augur;

TEST_CASE("peak: limits of this machine are plausible") {
    auto runner = program_runner::create({});
    REQUIRE(runner);
    const auto on = detect_machine();
    const auto before = runner->options().timing.repeats;
    const auto peak = measure_peak(*runner, on, std::int64_t{32} << 20U);
    if (!peak) FAIL(peak.why().detail);
    CHECK(runner->options().timing.repeats == before);
    MESSAGE("FMA " << peak->flops_one * 1e-9 << " and " << peak->flops_all * 1e-9 << " GFLOP/s, read " << peak->read_one * 1e-9 << " and "
                   << peak->read_all * 1e-9 << " GB/s, 1 and " << peak->threads << " threads");
    // One vector of fused multiply-adds a cycle at 1 GHz, at most 4 at 7 GHz.
    const double lanes = static_cast<double>(on.vector_bytes) / 4;
    CHECK(peak->flops_one > 2 * lanes * 0.5e9);
    CHECK(peak->flops_one < 2 * lanes * 28e9);
    CHECK(peak->flops_all < peak->threads * 2 * lanes * 28e9);
    CHECK(peak->read_one > 1e8);
    CHECK(peak->read_one < 4e12);
    const auto cache = measure_read_bandwidth(*runner, on, 16 << 10);
    REQUIRE(cache);
    CHECK((*cache)[0] > peak->read_one / 2); // a cache is not slower than memory, whatever else runs
    CHECK_FALSE(measure_read_bandwidth(*runner, on, 0));
}
