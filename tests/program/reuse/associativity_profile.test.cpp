// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/reuse/associativity_profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/program/reuse/stream.hpp>

#include "../../bench/traces.hpp"
#include "lru_cache.hpp"
#include "vector_file.hpp"

namespace associativity_profile_test {

using namespace augur;
using trace = std::vector<std::uint64_t>;

namespace {

associativity_profile profile_of(const trace& lines, std::uint64_t sets, std::size_t depth, isa level = best_isa(), std::size_t piece = 100000) {
    auto stream = *associativity_stream::create(sets, depth, 64, level);
    for (std::size_t i = 0; i < lines.size(); i += piece) stream.feed({&lines[i], (std::min)(piece, lines.size() - i)});
    return stream.profile();
}
std::uint64_t hits(const associativity_profile& p, std::size_t ways) {
    return std::accumulate(p.hits.begin(), p.hits.begin() + static_cast<std::ptrdiff_t>(ways), std::uint64_t{0});
}

/// Of lines that come into a cache, in whole groups of 32: those that share a set with the most others of their group.
struct crowds {
    std::uint64_t fills = 0, crowded = 0;
};
crowds crowds_of(const trace& lines, std::uint64_t sets, std::size_t ways) {
    lru_cache<> cache(sets, ways);
    crowds out;
    std::vector<std::uint64_t> group;
    for (const auto line : lines) {
        if (cache.access(line)) continue;
        ++out.fills;
        group.push_back(line % sets);
        if (group.size() < 32) continue;
        std::ptrdiff_t most = 0;
        for (const auto set : group) most = (std::max)(most, std::count(group.begin(), group.end(), set));
        out.crowded += static_cast<std::uint64_t>(most);
        group.clear();
    }
    return out;
}

} // namespace

TEST_CASE("associativity_profile: published hits") {
    const auto file = nlohmann::json::parse(test_vector("crop_reuse_small.json"));
    int seen = 0;
    for (const auto& c : file["cases"]) {
        if (!c.contains("hits")) continue;
        const auto lines = c.contains("trace") ? c["trace"].get<trace>() : traces::mm_blocked(48, 16, 16, 48);
        for (const auto& [name, value] : c["hits"].items()) {
            CAPTURE(name);
            std::uint64_t sets = 0, ways = 0;
            REQUIRE(std::sscanf(name.c_str(), "S%luA%lu", &sets, &ways) == 2);
            std::uint64_t expected = 0;
            if (value.is_array())
                for (const auto& hit : value) expected += hit.get<std::uint64_t>();
            else expected = value.get<std::uint64_t>();
            ++seen;
            if (ways <= associativity_stream::deepest) {
                for (const isa level : {isa::generic, best_isa()}) CHECK(hits(profile_of(lines, sets, ways, level), ways) == expected);
            } else { // one set of so many ways is a matter of distances
                REQUIRE(sets == 1);
                reuse_profile p;
                reuse_stream().feed(lines, p);
                std::uint64_t sum = 0;
                for (std::size_t d = 0; d < ways; ++d) sum += p.count(d);
                CHECK(sum == expected);
            }
            lru_cache<> cache(sets, ways);
            CHECK(cache.hits(lines) == expected);
        }
    }
    CHECK(seen == 9);
}

TEST_CASE("associativity_profile: every associativity at once, against a cache for each") {
    augur::random_engine draw(6);
    for (const std::uint64_t sets : std::initializer_list<std::uint64_t>{1, 2, 3, 7, 64, 100}) {
        trace lines;
        for (int i = 0; i < 2000; ++i) {
            const auto kind = draw.below(8);
            if (kind == 0 && !lines.empty()) lines.push_back(lines.back());
            else if (kind == 1) lines.push_back(~std::uint64_t{0} - draw.below(5));
            else if (kind == 2) lines.push_back(draw.below(20) * sets); // all in one set
            else lines.push_back(draw.below(sets * 12));
        }
        for (const std::size_t depth : std::initializer_list<std::size_t>{1, 3, 8, 11, 16, 20, 32}) {
            CAPTURE(sets);
            CAPTURE(depth);
            const auto p = profile_of(lines, sets, depth);
            CHECK(p.accesses == lines.size());
            CHECK(p.hits.size() == depth);
            const auto crowds = crowds_of(lines, sets, depth);
            CHECK(p.fills == crowds.fills);
            CHECK(p.crowded == crowds.crowded);
            CHECK(p == profile_of(lines, sets, depth, isa::generic));
            CHECK(p == profile_of(lines, sets, depth, best_isa(), 1));
            for (const std::size_t ways : {std::size_t{1}, (depth + 1) / 2, depth}) {
                lru_cache<> cache(sets, ways);
                CHECK(hits(p, ways) == cache.hits(lines));
            }
        }
    }
}

TEST_CASE("associativity_profile: empty places are no lines") {
    // each set is asked for every small number before anything is in it, the marks of empty places among them
    for (const std::uint64_t sets : std::initializer_list<std::uint64_t>{1, 2, 5, 8})
        for (std::uint64_t first = 0; first < 2 * sets + 2; ++first)
            for (const isa level : {isa::generic, best_isa()}) {
                const trace lines{first, first + 1, first + 1 + sets, ~first};
                const auto p = profile_of(lines, sets, 8, level);
                CHECK(hits(p, 8) == 0);
            }
}

TEST_CASE("associativity_profile: one set has the distances, merging adds") {
    const auto lines = traces::conv16c(16, 16, 14, 14);
    reuse_profile distances;
    reuse_stream().feed(lines, distances);
    auto p = profile_of(lines, 1, 32);
    for (std::size_t d = 0; d < 32; ++d) CHECK(p.hits[d] == distances.count(d));
    const auto once = p;
    REQUIRE(p.merge(once));
    CHECK(p.accesses == 2 * once.accesses);
    CHECK(hits(p, 32) == 2 * hits(once, 32));
    CHECK(once.crowded > 0);
    CHECK(p.fills == 2 * once.fills);
    CHECK(p.crowded == 2 * once.crowded);
    const auto refused = p.merge(profile_of(lines, 2, 32));
    REQUIRE(!refused);
    CHECK(refused.error().detail.find("1 sets of 32 places, lines of 64 bytes and 2 sets of 32 places") != std::string::npos);
}

TEST_CASE("associativity_profile: columns a power of two apart, which a distance cannot tell") {
    // 16 lines, 64 lines apart, round and round: one set of a cache of 64 sets
    trace apart, close;
    for (int round = 0; round < 50; ++round)
        for (std::uint64_t i = 0; i < 16; ++i) {
            apart.push_back(i * 64);
            close.push_back(i);
        }
    CHECK(hits(profile_of(apart, 64, 8), 8) == 0);
    CHECK(hits(profile_of(close, 64, 8), 8) == 49 * 16);
    const auto column = profile_of(apart, 64, 8); // all come into one set, always
    CHECK(column.fills == 800);
    CHECK(column.crowded == 800);
    trace row;
    for (std::uint64_t i = 0; i < 6400; ++i) row.push_back(i);
    CHECK(profile_of(row, 64, 8).crowded == 200); // of 32 lines side by side each into its own
}

TEST_CASE("associativity_profile: what is refused") {
    CHECK(associativity_stream::create(0, 8).error().code == errc::invalid_argument);
    CHECK(associativity_stream::create((std::uint64_t{1} << 26U) + 1, 8).error().code == errc::invalid_argument);
    CHECK(associativity_stream::create(64, 0).error().code == errc::invalid_argument);
    CHECK(associativity_stream::create(64, 33).error().detail == "associativity_stream: expected a depth of 1 to 32, got 33");
    CHECK(associativity_stream::create(64, 8, 32).error().code == errc::unsupported);
    CHECK((*associativity_stream::create(64, 8, 128)).profile().line_bytes == 128);
}

} // namespace associativity_profile_test
