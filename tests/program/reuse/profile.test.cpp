// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/reuse/profile_json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/core/random_engine.hpp>

namespace profile_test {

using namespace augur;

TEST_CASE("reuse_profile: bins are exact below 1024 and 16 an octave above, without a gap") {
    for (std::size_t b = 0; b + 1 < reuse_profile::bins; ++b) {
        REQUIRE(reuse_profile::low(b) + reuse_profile::width(b) == reuse_profile::low(b + 1));
        REQUIRE(reuse_profile::bin_of(reuse_profile::low(b)) == b);
        REQUIRE(reuse_profile::bin_of(reuse_profile::low(b + 1) - 1) == b);
        REQUIRE((b < 1024 ? reuse_profile::width(b) == 1 : reuse_profile::width(b) * 16 <= reuse_profile::low(b)));
    }
    CHECK(reuse_profile::bin_of(~std::uint64_t{0}) == reuse_profile::bins - 1);
    CHECK(reuse_profile::low(reuse_profile::bins - 1) + (reuse_profile::width(reuse_profile::bins - 1) - 1) == ~std::uint64_t{0});
    CHECK(reuse_profile::bin_of(1023) == 1023);
    CHECK(reuse_profile::bin_of(1024) == 1024);
    CHECK(reuse_profile::bin_of(1087) == 1024);
    CHECK(reuse_profile::bin_of(1088) == 1025);
    CHECK(reuse_profile::bin_of(std::uint64_t{1} << 40U) == 1024 + 16 * 30);
}

TEST_CASE("reuse_profile: merging, and sizes of lines") {
    reuse_profile a, b, both, other(128);
    augur::random_engine draw(3);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t d = draw() >> draw.below(64);
        (i % 3 == 0 ? a : b).add(d);
        both.add(d);
    }
    a.add_cold(5);
    both.add_cold(5);
    CHECK(a.total() + b.total() == both.total());
    REQUIRE(a.merge(b));
    CHECK(a == both);
    const auto refused = a.merge(other);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::shape_mismatch);
    CHECK(refused.error().detail.find("64 bytes and lines of 128 bytes") != std::string::npos);
    CHECK(a == both);
    CHECK(check_line_bytes(64));
    CHECK(check_line_bytes(128));
    CHECK(check_line_bytes(32).error().code == errc::unsupported);
    CHECK(check_line_bytes(256).error().detail == "cache lines of 256 bytes: memory profiles are for lines of 64 or 128 bytes");
}

TEST_CASE("memory profiles: JSON both ways") {
    reuse_profile p(128);
    augur::random_engine draw(4);
    for (int i = 0; i < 300; ++i) p.add(draw() >> (2 + draw.below(62)), 1 + draw.below(1000000));
    p.add_cold(77);
    const auto text = profile_to_json(p);
    const auto again = profile_from_json<reuse_profile>(text);
    REQUIRE(again);
    CHECK(*again == p);
    const auto json = nlohmann::json::parse(text); // another reader sees the same
    CHECK(json["line_bytes"] == 128);
    std::uint64_t sum = json["cold"].get<std::uint64_t>();
    for (const auto& bin : json["bins"]) sum += bin[1].get<std::uint64_t>();
    CHECK(sum == p.total());
    CHECK(*profile_from_json<reuse_profile>(profile_to_json(reuse_profile())) == reuse_profile());
    CHECK(*profile_from_json<reuse_profile>(
              R"({"format": "augur-reuse-profile", "version": 1, "bins": [[3, 1], [1024, 7]], "cold": 4, "line_bytes": 64})") == [] {
        reuse_profile q;
        q.add(3);
        q.add(1030, 7);
        q.add_cold(4);
        return q;
    }());

    const associativity_profile s{64, 48, 1000, {900, 50, 0, 1}, 49, 17};
    CHECK(*profile_from_json<associativity_profile>(profile_to_json(s)) == s);
    const associativity_profile older{64, 1, 3, {2}}; // written before crowds were counted
    CHECK(*profile_from_json<associativity_profile>(
              R"({"format": "augur-set-profile", "version": 1, "line_bytes": 64, "sets": 1, "accesses": 3, "hits": [2]})") == older);
}

TEST_CASE("memory profiles: bad files are refused by name and place") {
    const auto reuse = [](const std::string& rest) { return R"({"format": "augur-reuse-profile", "version": 1, )" + rest + "}"; };
    const auto sets = [](const std::string& rest) { return R"({"format": "augur-set-profile", "version": 1, )" + rest + "}"; };
    const std::vector<std::pair<std::string, std::string>> bad_reuse{
        {"", "expected a value"},
        {"[]", "expected an object"},
        {R"({"format": "augur-set-profile"})", "expected 'augur-reuse-profile'"},
        {R"({"version": 1})", "'format' first"},
        {R"({"format": "augur-reuse-profile", "version": 2, "line_bytes": 64, "cold": 0, "bins": []})", "expected version 1, got 2"},
        {reuse(R"("line_bytes": 32, "cold": 0, "bins": [])"), "cache lines of 32 bytes"},
        {reuse(R"("line_bytes": 64, "cold": 0)"), "'bins' is missing"},
        {reuse(R"("line_bytes": 64, "bins": [])"), "'cold' is missing"},
        {reuse(R"("cold": 0, "bins": [])"), "'line_bytes' is missing"},
        {reuse(R"("line_bytes": 64, "cold": 0, "cold": 0, "bins": [])"), "'cold' stands twice"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [], "more": 1)"), "'more' is not known"},
        {reuse(R"("line_bytes": 64, "cold": -1, "bins": [])"), "got -1"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[1025, 1]])"), "expected the lowest distance of a bin, 1024 perhaps, got 1025"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[5, 1], [5, 1]])"), "expected 6 to"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[-5, 1]])"), "got -5"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[5, 0]])"), "got 0"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[5]])"), "expected [distance, count]"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[]])"), "expected [distance, count]"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[5, 1, 1]])"), "expected [distance, count]"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": [[5, 9007199254740992], [6, 1]])"), "got 1"},
        {reuse(R"("line_bytes": 64, "cold": 9007199254740992, "bins": [[5, 1]])"), "more than 2^53"},
        {reuse(R"("line_bytes": 64, "cold": 0, "bins": []} )"), "expected the end"},
    };
    for (const auto& [text, reason] : bad_reuse) {
        CAPTURE(text);
        const auto got = profile_from_json<reuse_profile>(text);
        REQUIRE(!got);
        CAPTURE(got.error().detail);
        CHECK(got.error().detail.find(reason) != std::string::npos);
        CHECK(got.error().detail.substr(0, 2) == "1:");
    }
    const std::vector<std::pair<std::string, std::string>> bad_sets{
        {sets(R"("line_bytes": 64, "sets": 0, "accesses": 0, "hits": [0])"), "got 0"},
        {sets(R"("line_bytes": 64, "sets": 1, "accesses": 3, "hits": [2, 2])"), "4 hits of 3 accesses"},
        {sets(R"("line_bytes": 64, "sets": 1, "accesses": 3, "hits": [])"), "one place or more"},
        {sets(R"("line_bytes": 16, "sets": 1, "accesses": 3, "hits": [1])"), "cache lines of 16 bytes"},
        {sets(R"("line_bytes": 64, "sets": 1, "accesses": 3)"), "'hits' is missing"},
        {sets(R"("line_bytes": 64, "sets": 1, "accesses": 3, "hits": [1], "fills": -1)"), "got -1"},
        {sets(R"("line_bytes": 64, "sets": 1, "accesses": 3, "hits": [1], "crowded": 0.5)"), "1:"},
    };
    for (const auto& [text, reason] : bad_sets) {
        CAPTURE(text);
        const auto got = profile_from_json<associativity_profile>(text);
        REQUIRE(!got);
        CAPTURE(got.error().detail);
        CHECK(got.error().detail.find(reason) != std::string::npos);
    }
}

} // namespace profile_test
