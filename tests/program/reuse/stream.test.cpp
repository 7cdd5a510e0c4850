// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/reuse/stream.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/core/random_engine.hpp>

#include "../../may_skip.hpp"
#include "../../bench/olken.hpp"
#include "../../bench/traces.hpp"
#include "vector_file.hpp"

namespace stream_test {

using namespace augur;
using trace = std::vector<std::uint64_t>;
using distances = std::vector<std::uint32_t>;

namespace {

std::vector<isa> levels() {
    std::vector<isa> all{isa::generic};
    if (best_isa() != isa::generic) all.push_back(isa::avx2);
    return all;
}

distances ours(const trace& lines, isa level, std::size_t piece) {
    reuse_stream stream(level);
    distances out(lines.size());
    for (std::size_t i = 0; i < lines.size(); i += piece) {
        const std::size_t n = (std::min)(piece, lines.size() - i);
        stream.distances({&lines[i], n}, {&out[i], n});
    }
    return out;
}

/// The lines in a list, the newest first: the definition.
distances by_list(const trace& lines) {
    std::list<std::uint64_t> order;
    distances out;
    for (const auto line : lines) {
        std::uint32_t d = 0;
        auto at = order.begin();
        for (; at != order.end() && *at != line; ++at) ++d;
        out.push_back(at == order.end() ? cold_access : d);
        if (at != order.end()) order.erase(at);
        order.push_front(line);
    }
    return out;
}
distances by_tree(const trace& lines) {
    olken::tree tree;
    distances out;
    for (const auto line : lines) out.push_back(tree.access(line));
    return out;
}

void check(const trace& lines, const distances& expected, std::initializer_list<std::size_t> pieces) {
    for (const isa level : levels())
        for (const std::size_t piece : pieces) {
            CAPTURE(static_cast<int>(level));
            CAPTURE(piece);
            CHECK(ours(lines, level, piece) == expected);
            reuse_stream stream(level); // the counts are those of the distances, repeats left out or not
            reuse_profile profile, wanted;
            std::vector<std::uint64_t> first_uses, cold;
            for (std::size_t i = 0; i < lines.size(); i += piece) stream.feed({&lines[i], (std::min)(piece, lines.size() - i)}, profile, &first_uses);
            wanted.add(expected);
            for (std::size_t i = 0; i < lines.size(); ++i)
                if (expected[i] == cold_access) cold.push_back(lines[i]);
            CHECK(profile == wanted);
            CHECK(first_uses == cold);
            CHECK(stream.lines() == cold.size());
        }
}

} // namespace

TEST_CASE("reuse_stream: published distances") {
    const auto file = nlohmann::json::parse(test_vector("crop_reuse_small.json"));
    int seen = 0;
    for (const auto& c : file["cases"]) {
        CAPTURE(c["name"].get<std::string>());
        if (c.contains("distances")) {
            distances expected;
            for (const auto& d : c["distances"]) expected.push_back(d.get<int>() < 0 ? cold_access : d.get<std::uint32_t>());
            const auto lines = c["trace"].get<trace>();
            CHECK(by_list(lines) == expected);
            check(lines, expected, {1, 3, lines.size()});
            ++seen;
        } else {
            REQUIRE(c["name"] == "mm_blocked_48_16_16_48");
            const auto lines = traces::mm_blocked(48, 16, 16, 48);
            REQUIRE(lines.size() == c["n"].get<std::size_t>());
            const auto begin = c["first_lines"].get<trace>();
            REQUIRE(std::equal(begin.begin(), begin.end(), lines.begin()));
            for (const isa level : levels()) {
                std::map<std::string, std::uint64_t> histogram;
                std::uint64_t cold = 0;
                for (const auto d : ours(lines, level, 1000)) {
                    if (d == cold_access) ++cold;
                    else ++histogram[std::to_string(d)];
                }
                CHECK(cold == c["cold"].get<std::uint64_t>());
                CHECK(histogram == c["histogram"].get<std::map<std::string, std::uint64_t>>());
            }
            ++seen;
        }
    }
    CHECK(seen == 3);
}

TEST_CASE("reuse_stream: misses of libCacheSim's cloudPhysicsIO are those of its test suite" MAY_SKIP) {
    const char* const set = std::getenv("AUGUR_DATA");
    const std::string file =
        (set != nullptr ? set : std::string(AUGUR_TEST_DIR) + "/../../shared/data") + "/crop/cache-traces/libcachesim/cloudPhysicsIO.txt.gz";
    if (!std::ifstream(file)) SKIP_CASE("no " << file << " (set AUGUR_DATA)");
    trace requests;
    std::FILE* const pipe = ::popen(("gzip -dc '" + file + "'").c_str(), "r");
    REQUIRE(pipe != nullptr);
    for (unsigned long long block = 0; std::fscanf(pipe, "%llu", &block) == 1;) requests.push_back(block);
    ::pclose(pipe);
    REQUIRE(requests.size() == 113872);
    constexpr std::array<std::size_t, 8> misses{99411, 96397, 95652, 95370, 95182, 94997, 94891, 94816}; // of 128, 256, ..., 1024 objects, LRU
    for (const isa level : levels()) {
        const auto found = ours(requests, level, 4096);
        for (std::size_t i = 0; i < misses.size(); ++i)
            CHECK(std::count_if(found.begin(), found.end(), [&](auto d) { return d == cold_access || d >= 128 * (i + 1); }) ==
                  static_cast<std::ptrdiff_t>(misses[i]));
    }
}

TEST_CASE("reuse_stream: random traces against a list, cut anywhere") {
    augur::random_engine draw(1);
    for (const std::uint64_t count : std::initializer_list<std::uint64_t>{1, 2, 5, 60, 70, 200, 1000}) {
        trace lines;
        const std::uint64_t stride = draw.below(3) == 0 ? 1 : draw();
        for (int i = 0; i < 3000; ++i) {
            if (!lines.empty() && draw.below(4) == 0) lines.push_back(lines.back());
            else lines.push_back(draw.below(count) * stride);
        }
        check(lines, by_list(lines), {1, 64, 65, 1000, 3000});
    }
}

TEST_CASE("reuse_stream: adversarial traces") {
    SUBCASE("one line") { check(trace(5000, 7), by_list(trace(5000, 7)), {1, 5000}); }
    SUBCASE("all cold") {
        trace lines(20000);
        for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = i * 3;
        check(lines, distances(lines.size(), cold_access), {1000, 20000});
    }
    SUBCASE("the ends of the numbers, and empty places that look like lines") {
        trace lines;
        for (int round = 0; round < 3; ++round)
            for (std::uint64_t i = 0; i < 200; ++i)
                for (const std::uint64_t x : {i, ~i, i << 32U, i << 56U}) lines.push_back(x);
        check(lines, by_list(lines), {1, 777});
    }
    SUBCASE("strides: powers of two, and those that gather in a few buckets") {
        for (const std::uint64_t stride :
             {std::uint64_t{1} << 20U, std::uint64_t{1} << 44U, std::uint64_t{2898}, std::uint64_t{2576}, std::uint64_t{1024}}) {
            trace lines;
            for (int round = 0; round < 2; ++round)
                for (std::uint64_t i = 0; i < 12000; ++i) lines.push_back(0x4000000 + i * stride);
            distances expected(12000, cold_access);
            expected.resize(24000, 11999);
            check(lines, expected, {24000});
        }
    }
    SUBCASE("there and back: every distance once") {
        trace lines;
        for (std::uint64_t i = 0; i < 6000; ++i) lines.push_back(i);
        for (std::uint64_t i = 6000; i-- > 0;) lines.push_back(i);
        distances expected(6000, cold_access);
        for (std::uint32_t i = 0; i < 6000; ++i) expected.push_back(i);
        check(lines, expected, {12000});
    }
}

TEST_CASE("reuse_stream: across re-numberings, against a tree") {
    // the first 65536 times are used up twice and more, with few lines and with many; then the axis grows by levels
    augur::random_engine draw(2);
    trace lines;
    for (int i = 0; i < 140000; ++i) lines.push_back(draw.below(300));
    for (int i = 0; i < 60000; ++i) lines.push_back(draw.below(30000) << 13U);
    for (int i = 0; i < 30000; ++i) lines.push_back(draw.below(4000) * draw.below(4000));
    check(lines, by_tree(lines), {4096});
}

TEST_CASE("reuse_stream: exactly at the end of the times") {
    // re-numbered in the middle of a run, one access sooner or later
    for (const std::size_t before : std::initializer_list<std::size_t>{65300, 65343, 65344, 65345, 65408, 65472, 65536}) {
        trace lines;
        for (std::size_t i = 0; i < before; ++i) lines.push_back(i % 131);
        for (std::size_t i = 0; i < 400; ++i) lines.push_back(i % 7 == 0 ? 1000 + i : (before + i) % 131);
        const auto expected = by_tree(lines);
        CHECK(ours(lines, isa::generic, lines.size()) == expected);
        CHECK(ours(lines, best_isa(), 1) == expected);
    }
}

TEST_CASE("reuse_stream: conservation, and memory for each line") {
    const auto lines = traces::conv16c(16, 32, 28, 28);
    reuse_stream stream;
    reuse_profile profile;
    stream.feed(lines, profile);
    auto sorted = lines;
    std::sort(sorted.begin(), sorted.end());
    const auto distinct = static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
    CHECK(profile.total() == lines.size());
    CHECK(profile.cold() == distinct);
    CHECK(stream.lines() == distinct);
    for (std::size_t b = reuse_profile::bin_of(distinct) + 1; b < reuse_profile::bins; ++b) CHECK(profile.count(b) == 0);

    reuse_stream large;
    trace cold(1000);
    reuse_profile none;
    std::size_t most = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
        for (std::size_t j = 0; j < cold.size(); ++j) cold[j] = mix64(i * 1000 + j);
        large.feed(cold, none);
        if (large.lines() > 2000) most = (std::max)(most, (large.bytes() - 20480) / large.lines());
    }
    CHECK(most < 32); // and the half of it again while the table grows: below 48
}

} // namespace stream_test
