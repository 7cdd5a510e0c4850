// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/cache/access_costs.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/program/reuse/stream.hpp>

#include "../../bench/traces.hpp"
#include "lru_cache.hpp"
#include "vector_file.hpp"

namespace access_costs_test {

using namespace augur;

namespace {
cache_level level(int number, std::int64_t bytes, std::int64_t ways, double latency, double bytes_per_cycle = 0) {
    cache_level c;
    c.level = number;
    c.bytes = bytes;
    c.ways = ways;
    c.latency = latency;
    c.bytes_per_cycle = bytes_per_cycle;
    return c;
}
} // namespace

TEST_CASE("Equation 6: published means, as printed and with conditional rates") {
    const auto file = nlohmann::json::parse(test_vector("crop_cachesim.json"));
    const std::array<double, 3> latencies{4, 14, 47};
    for (const auto& row : file["rows"]) {
        CAPTURE(row["trace"].get<std::string>());
        const auto eq5 = row["eq5"].get<std::vector<double>>(), ppt = row["ppt_lite"].get<std::vector<double>>(),
                   local = row["sim_hier_local"].get<std::vector<double>>();
        // the rates are given to six digits
        CHECK(std::fabs(average_cost(eq5, latencies, 300, eq6_mode::paper) - row["amat_eq6"].get<double>()) < 6e-4);
        CHECK(std::fabs(average_cost(ppt, latencies, 300, eq6_mode::paper) - row["amat_eq6_ppt"].get<double>()) < 6e-4);
        CHECK(std::fabs(average_cost(eq5, latencies, 300, eq6_mode::conditional) - row["amat_corrected_conditional"].get<double>()) < 6e-4);
        // a simulator's rates are those of what comes to a level, which is what the printed form is right for
        CHECK(std::fabs(average_cost(local, latencies, 300, eq6_mode::paper) - row["amat_sim"].get<double>()) < 6e-4);
    }
    CHECK(file["rows"].size() == 10);
}

TEST_CASE("Equation 6: any number of levels, and rates that do not rise") {
    for (const auto mode : {eq6_mode::paper, eq6_mode::conditional}) {
        CHECK(average_cost({}, {}, 300, mode) == 300);
        CHECK(average_cost(std::array{0.75}, std::array{4.0}, 100, mode) == 28);
        CHECK(average_cost(std::array{1.0, 1.0}, std::array{4.0, 14.0}, 100, mode) == 4);
        CHECK(average_cost(std::array{0.0, 0.0}, std::array{4.0, 14.0}, 100, mode) == 100);
    }
    const std::array four{0.5, 0.75, 0.75, 0.875}, costs{1.0, 10.0, 20.0, 40.0};
    CHECK(average_cost(four, costs, 80, eq6_mode::conditional) == 0.5 * 1 + 0.25 * 10 + 0.125 * 40 + 0.125 * 80);
    CHECK(average_cost(four, costs, 80, eq6_mode::paper) == 0.5 + 0.5 * (7.5 + 0.25 * (15 + 0.25 * (35 + 10))));
    const std::array smaller{0.5, 0.25}; // a second level of fewer lines has none of what the first one misses
    CHECK(average_cost(smaller, std::array{1.0, 10.0}, 80, eq6_mode::conditional) == 0.5 + 40);
    const std::array all_first{1.0, 0.5};
    CHECK(average_cost(all_first, std::array{1.0, 10.0}, 80, eq6_mode::conditional) == 1);
}

TEST_CASE("access costs: a set profile is exact where distances see no conflict") {
    const auto lines = traces::mm_naive(24, 512); // columns in rows of 2 KB: each in one set
    reuse_profile distances;
    reuse_stream().feed(lines, distances);
    const auto cache = level(1, 64 * 32 * 4, 4, 4); // 32 sets
    REQUIRE(sets_of(cache) == 32);
    auto stream = *associativity_stream::create(32, 8);
    stream.feed(lines);
    lru_cache<> simulator(32, 4);
    const double truth = static_cast<double>(simulator.hits(lines)) / static_cast<double>(lines.size());
    CHECK(*hit_rate(stream.profile(), cache) == truth);
    CHECK(*hit_rate(distances, cache) == hit_rate(distances, 4, 128));
    CHECK(*hit_rate(distances, cache) > truth + 0.2);
    CHECK(*hit_rate((*associativity_stream::create(32, 8)).profile(), cache) == 1);
}

TEST_CASE("access costs: caches that a profile does not fit are refused by name") {
    const reuse_profile p;
    const auto sets = (*associativity_stream::create(64, 8)).profile();
    auto cache = level(2, 32768, 8, 4);
    REQUIRE(hit_rate(p, cache));
    REQUIRE(hit_rate(sets, cache));
    cache.line_bytes = 128;
    CHECK(hit_rate(p, cache).error().code == errc::shape_mismatch);
    CHECK(hit_rate(p, cache).error().detail == "cache level 2 has lines of 128 bytes, the profile is of lines of 64");
    CHECK(hit_rate(reuse_profile(128), cache));
    CHECK(hit_rate(sets, cache).error().code == errc::shape_mismatch);
    cache = level(3, 32768, 0, 4);
    CHECK(hit_rate(p, cache).error().detail == "cache level 3: expected at least one set, got 32768 bytes in 0 ways");
    cache = level(3, 512, 16, 4);
    CHECK(hit_rate(p, cache).error().code == errc::invalid_argument);
    cache = level(1, 65536, 16, 4);
    CHECK(hit_rate(sets, cache).error().detail == "cache level 1 has 64 sets of 16 ways, the profile 64 sets of 8 places, lines of 64 bytes");
    CHECK(hit_rate(sets, level(1, 65536, 8, 4)).error().code == errc::shape_mismatch);
}

TEST_CASE("access costs: latency and bandwidth of a machine") {
    machine m;
    m.clock_hz = 2e9;
    m.caches = {level(1, 32768, 8, 4, 64), level(2, 1 << 20, 16, 14)};
    m.memory.latency = 200;
    m.memory.bytes_per_second = 40e9;
    m.memory.core_bytes_per_second = 10e9;
    const std::array rates{0.9, 0.95};
    const auto one = memory_access_costs(m, rates, eq6_mode::conditional);
    REQUIRE(one);
    CHECK(one->latency == doctest::Approx(0.9 * 4 + 0.05 * 14 + 0.05 * 200).epsilon(1e-14));
    CHECK(one->cycles_per_byte == doctest::Approx(0.9 / 64 + 0.05 * 0 + 0.05 * 2e9 / 10e9).epsilon(1e-14)); // not known counts as nothing
    CHECK(memory_access_costs(m, rates, eq6_mode::conditional, 2)->cycles_per_byte == one->cycles_per_byte);
    CHECK(memory_access_costs(m, rates, eq6_mode::conditional, 8)->cycles_per_byte == doctest::Approx(0.9 / 64 + 0.05 * 2e9 / 5e9).epsilon(1e-14));
    m.memory.core_bytes_per_second = 0;
    CHECK(memory_access_costs(m, rates, eq6_mode::conditional)->cycles_per_byte == doctest::Approx(0.9 / 64 + 0.05 * 2e9 / 40e9).epsilon(1e-14));
    m.memory.bytes_per_second = 0;
    CHECK(memory_access_costs(m, rates, eq6_mode::paper)->cycles_per_byte == doctest::Approx(0.9 / 64).epsilon(1e-14));

    CHECK(memory_access_costs(m, std::array{0.9}, eq6_mode::paper).error().detail == "expected a hit rate for each of 2 cache levels, got 1");
    CHECK(memory_access_costs(m, std::array{0.9, 1.5}, eq6_mode::paper).error().detail == "cache level 2: expected a hit rate of 0 to 1");
    CHECK(!memory_access_costs(m, std::array{0.9, std::nan("")}, eq6_mode::paper));
    m.memory.bytes_per_second = 1e9;
    m.clock_hz = 0;
    CHECK(memory_access_costs(m, rates, eq6_mode::paper).error().detail == "clock_hz is not known");
    m.memory.latency = 0;
    CHECK(memory_access_costs(m, rates, eq6_mode::paper).error().detail == "memory.latency is not known");
    m.caches[1].latency = 0;
    CHECK(memory_access_costs(m, rates, eq6_mode::paper).error().detail == "cache level 2: latency is not known");
}

} // namespace access_costs_test
