// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/cache/hit_rate.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/program/reuse/associativity_profile.hpp>
#include <augur/program/reuse/stream.hpp>

#include "../../bench/traces.hpp"
#include "lru_cache.hpp"
#include "vector_file.hpp"

namespace hit_rate_test {

using namespace augur;
using trace = std::vector<std::uint64_t>;

namespace {
double number(const nlohmann::json& v) { return std::strtod(v.get<std::string>().c_str(), nullptr); }
reuse_profile profile_of(const trace& lines) {
    reuse_profile p;
    reuse_stream().feed(lines, p);
    return p;
}
} // namespace

TEST_CASE("Equation 4: 60-digit values") {
    const auto file = nlohmann::json::parse(test_vector("crop_eq4.json"));
    std::size_t seen = 0;
    for (const auto* list : {"values", "values_large_A"})
        for (const auto& v : file[list]) {
            const auto d = v["D"].get<double>();
            const auto ways = v["A"].get<std::uint64_t>(), lines = v["B"].get<std::uint64_t>();
            CAPTURE(d);
            CAPTURE(ways);
            CAPTURE(lines);
            const double expected = number(v["eq4"]), got = random_set_cache(ways, lines).hit(d);
            CHECK(std::fabs(got - expected) <= 1e-12 * expected);
            ++seen;
        }
    CHECK(seen == 41);
}

TEST_CASE("Equation 4: means over bins") {
    const auto file = nlohmann::json::parse(test_vector("crop_eq4_binmean.json"));
    for (const auto& v : file["values"]) {
        const auto low = v["D_lo"].get<double>(), high = v["D_hi"].get<double>();
        CAPTURE(low);
        CAPTURE(high);
        const double expected = number(v["mean_P"]);
        const double got = random_set_cache(v["A"].get<std::uint64_t>(), v["B"].get<std::uint64_t>()).mean_hit(low, high - low);
        CHECK(std::fabs(got - expected) <= 1e-12 * expected);
    }
    // against the plain mean: few and many ways, before the step, on it, far behind it
    augur::random_engine draw(8);
    for (const std::uint64_t ways : std::initializer_list<std::uint64_t>{1, 2, 8, 11, 16, 33, 200, 1024})
        for (const std::uint64_t sets : std::initializer_list<std::uint64_t>{2, 8, 100}) {
            const random_set_cache cache(ways, ways * sets);
            for (const double at : {0.01, 0.3, 0.9, 1.0, 1.2, 2.0, 5.0}) {
                const auto first = std::floor(at * static_cast<double>(ways * sets)) + static_cast<double>(draw.below(3));
                const auto count = 1 + std::floor(first / 16);
                double sum = 0;
                for (double d = first; d < first + count; ++d) sum += cache.hit(d);
                CAPTURE(ways);
                CAPTURE(sets);
                CAPTURE(first);
                CHECK(std::fabs(cache.mean_hit(first, count) - sum / count) <= 2e-11 * sum / count + 1e-290);
            }
        }
}

TEST_CASE("Equation 4: laws") {
    for (const std::uint64_t ways : std::initializer_list<std::uint64_t>{1, 2, 7, 8, 16, 32, 33, 64, 1024, 100000})
        for (const std::uint64_t sets : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{64}, std::uint64_t{53248}, std::uint64_t{1} << 24U}) {
            const random_set_cache cache(ways, ways * sets);
            CAPTURE(ways);
            CAPTURE(sets);
            double last = 1;
            for (double d = 0; d < 0x1p62; d = std::floor(d * 1.5) + 1) { // falls, stays within [0, 1], is never NaN
                const double p = cache.hit(d);
                REQUIRE(p >= 0);
                REQUIRE(p <= last * (1 + 1e-12));
                REQUIRE((d >= static_cast<double>(ways) || p == 1));
                if (sets == 1) REQUIRE(p == (d < static_cast<double>(ways) ? 1 : 0));
                const double mean = cache.mean_hit(d, d + 1);
                REQUIRE(mean >= 0);
                REQUIRE(mean <= p * (1 + 1e-12));
                last = p;
            }
            if (ways == 1) CHECK(cache.hit(1000) == doctest::Approx(std::pow(1 - 1.0 / static_cast<double>(sets), 1000)).epsilon(1e-12));
            // a line is lost after as many others as the cache has lines, on the average
            const auto lines = static_cast<double>(ways * sets);
            CHECK(cache.mean_hit(0, 200 * lines) * 200 * lines == doctest::Approx(lines).epsilon(1e-11));
        }
}

TEST_CASE("Equation 5: counts weigh, cold accesses miss") {
    reuse_profile p;
    CHECK(hit_rate(p, 8, 512) == 1);
    p.add(3, 10);
    CHECK(hit_rate(p, 8, 512) == 1);
    p.add_cold(10);
    CHECK(hit_rate(p, 8, 512) == 0.5);
    p.add(512, 20);
    CHECK(hit_rate(p, 8, 512) == doctest::Approx((10 + 20 * 0.4518605898695690871760678) / 40).epsilon(1e-14));
    reuse_profile wide;
    wide.add(1100);
    CHECK(hit_rate(wide, 8, 512) == random_set_cache(8, 512).mean_hit(1088, 64));
}

TEST_CASE("Equation 5: a cache that hashes its sets agrees, whatever the strides") {
    // of a power of two too, where a cache that takes the line modulo its sets is far away
    const std::vector<trace> all{traces::mm_blocked(64, 32, 16, 64), traces::mm_naive(36, 64), traces::conv16c(16, 16, 14, 14),
                                 traces::uniform(60000, 900)};
    for (const auto& lines : all) {
        const auto p = profile_of(lines);
        for (const std::uint64_t sets : std::initializer_list<std::uint64_t>{8, 32})
            for (const std::size_t ways : std::initializer_list<std::size_t>{2, 8}) {
                double simulated = 0;
                constexpr int draws = 12; // few lines: the mean over some placements
                for (std::uint64_t seed = 0; seed < draws; ++seed) {
                    lru_cache<by_murmur> cache(sets, ways, {seed * 1234567});
                    simulated += static_cast<double>(cache.hits(lines)) / static_cast<double>(lines.size()) / draws;
                }
                CAPTURE(lines.size());
                CAPTURE(sets);
                CAPTURE(ways);
                CHECK(std::fabs(hit_rate(p, ways, sets * ways) - simulated) < 0.02);
            }
    }
}

#ifdef AUGUR_TEST_SLOW
TEST_CASE("Equation 5 and set profiles: the published traces") {
    const auto file = nlohmann::json::parse(test_vector("crop_cachesim.json"));
    const std::vector<std::pair<std::string, trace>> all{
        {"mmvec512", traces::mm_blocked(512, 64, 16, 512)}, {"mmvec520", traces::mm_blocked(512, 64, 16, 528)},
        {"mmsc256", traces::mm_blocked(256, 32, 1, 256)},   {"mmsc250", traces::mm_blocked(250, 32, 1, 250)},
        {"mmnaive300", traces::mm_naive(300, 300)},         {"mmnaive256", traces::mm_naive(256, 256)},
        {"conv", traces::conv16c(64, 128, 56, 56)}};
    constexpr std::uint64_t sets[] = {64, 2048, 32768};
    constexpr std::size_t ways[] = {8, 8, 16};
    int seen = 0;
    for (const auto& row : file["rows"])
        for (const auto& [name, lines] : all) {
            if (row["trace"] != name) continue;
            ++seen;
            CAPTURE(name);
            REQUIRE(row["n"] == lines.size());
            const auto p = profile_of(lines);
            CHECK(row["cold"] == p.cold());
            std::vector<std::uint32_t> distances(lines.size());
            reuse_stream().distances(lines, distances);
            std::vector<double> counts(p.cold());
            for (const auto d : distances)
                if (d != cold_access) ++counts[d];
            trace hashed(lines.size());
            for (std::size_t i = 0; i < lines.size(); ++i) hashed[i] = by_murmur{}(lines[i]); // one to one, so a line stays a line
            for (std::size_t level = 0; level < 3; ++level) {
                const double eq5 = hit_rate(p, ways[level], sets[level] * ways[level]);
                double unbinned = 0;
                const random_set_cache cache(ways[level], sets[level] * ways[level]);
                for (std::size_t d = 0; d < counts.size(); ++d)
                    if (counts[d] > 0) unbinned += counts[d] * cache.hit(static_cast<double>(d));
                unbinned /= static_cast<double>(lines.size());
                CHECK(std::fabs(unbinned - row["eq5"][level].get<double>()) < 1e-6);
                CHECK(std::fabs(eq5 - unbinned) < 2e-4); // what the bins cost
                const auto simulated = [&](const trace& t) {
                    auto stream = *associativity_stream::create(sets[level], ways[level]);
                    stream.feed(t);
                    const auto s = stream.profile();
                    std::uint64_t hits = 0;
                    for (const auto n : s.hits) hits += n;
                    return static_cast<double>(hits) / static_cast<double>(s.accesses);
                };
                CHECK(std::fabs(simulated(lines) - row["sim_independent_modulo"][level].get<double>()) < 1e-6);
                if (level < 2) CHECK(std::fabs(simulated(hashed) - eq5) < 0.0035);
            }
        }
    CHECK(seen == 7);
}
#endif

} // namespace hit_rate_test
