// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/program/features_json.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

#include "sample_program.hpp"

namespace features_test {

using namespace augur;

TEST_CASE("features: what is written is read, to the last count") {
    for (int which = 0; which < 4; ++which) {
        auto p = which == 0 ? sample_program() : which == 1 ? program_features{} : sample_program(5);
        if (which == 3) p.functions[1].flow[2].code = {}; // a block without code
        if (which == 3) p.functions[1].flow[p.functions[1].flow.edge(2)].carried.clear();
        REQUIRE(check_features(p));
        const auto text = features_to_json(p);
        const auto back = features_from_json(text);
        REQUIRE_MESSAGE(back, (back ? "" : back.error().detail));
        CHECK(*back == p);
        CHECK(features_to_json(*back) == text);
    }
}

TEST_CASE("features: memory is looked up for the most threads that are not more") {
    std::vector<memory_features> list;
    CHECK(memory_for(list, 4) == nullptr);
    for (const int t : {2, 4, 8}) list.push_back({t, reuse_profile(64), reuse_profile(64), {}});
    CHECK(memory_for(list, 1)->threads == 2);
    CHECK(memory_for(list, 4)->threads == 4);
    CHECK(memory_for(list, 7)->threads == 4);
    CHECK(memory_for(list, 100)->threads == 8);
}

TEST_CASE("features: what does not fit together is refused, and where it stands is said") {
    const std::vector<std::pair<std::string, std::function<void(program_features&)>>> wrong{
        {"function 'body': has no block", [](program_features& p) { p.functions[1].flow = {}; }},
        {"function 'main': launches", [](program_features& p) { p.functions[0].launches = 2; }},
        {"function 'body': launches", [](program_features& p) { p.functions[1].launches = 0; }},
        {"function 'body': launches", [](program_features& p) { p.functions[1].launches = 11; }},
        {"function 'main': block 0 ('entry') ran 1 times but was come to 2 times", [](program_features& p) { p.functions[0].count = 2; }},
        {"expected vertices of its blocks", [](program_features& p) { p.functions[1].flow[p.functions[1].flow.edge(1)].carried.push_back({99, 0}); }},
        {"expected vertices of its blocks", [](program_features& p) { p.functions[1].flow[p.functions[1].flow.edge(1)].carried = {{1, 0}, {0, 0}}; }},
        {"rising numbers of threads", [](program_features& p) { p.memory.push_back(p.memory.front()); }},
        {"lines of one size", [](program_features& p) { p.functions[1].memory.push_back({4, reuse_profile(64), reuse_profile(128), {}}); }},
    };
    for (const auto& w : wrong) {
        auto p = sample_program();
        w.second(p);
        const auto said = check_features(p);
        const auto& expected = w.first;
        CAPTURE(expected);
        REQUIRE(!said);
        CHECK_MESSAGE(said.error().detail.find(expected) != std::string::npos, said.error().detail);
    }
}

TEST_CASE("features: strict reading") {
    const auto text = features_to_json(sample_program());
    const auto refuse = [&](std::string_view from, std::string_view to, errc code, std::string_view says) {
        auto changed = text;
        const auto at = changed.find(from);
        REQUIRE_MESSAGE(at != std::string::npos, std::string(from));
        changed.replace(at, from.size(), to);
        const auto p = features_from_json(changed);
        REQUIRE(!p);
        CHECK(p.error().code == code);
        CHECK_MESSAGE(p.error().detail.find(says) != std::string::npos, p.error().detail);
    };
    refuse("augur-features", "augur-machine", errc::version_mismatch, "expected 'augur-features', got 'augur-machine'");
    refuse("\"version\": 1", "\"version\": 7", errc::version_mismatch, "expected version 1, got 7");
    refuse("\"launches\"", "\"launched\"", errc::parse, "'launched' is not known here");
    refuse("\"fadd\", \"f32\", 16", "\"fadd\", \"f32\", 0", errc::invalid_argument, "expected 1 to 65536, got 0");
    refuse("\"fadd\", \"f32\", 16", "\"fadd\", \"f32\", 16, \"never\"", errc::parse, "'never' is no fold hint");
    refuse("\"fadd\", \"f32\", 16", "\"faddd\", \"f32\", 16", errc::parse, "'faddd' is no instruction class");
    refuse("\"edges\": [[0, 2]", "\"edges\": [[2, 0]", errc::invalid_argument, "expected one to a later instruction");
    refuse("\"from\": 0, \"to\": 1", "\"from\": 0, \"to\": 9", errc::invalid_argument, "an edge without its block");
    refuse("\"line_bytes\": 64", "\"line_bytes\": 32", errc::unsupported, "lines of 32 bytes");
    refuse("\"cold\": 100", "\"cold\": -1", errc::invalid_argument, "got -1");
    refuse("[2048, 7]", "[2049, 7]", errc::parse, "the lowest distance of a bin");
    refuse("[2048, 7]", "[3, 7]", errc::invalid_argument, "got 3");
    refuse("\"sets\": 64", "\"sets\": 0", errc::invalid_argument, "got 0");
    refuse("\"count\": 160", "\"count\": 161", errc::invalid_argument, "block 1 ('loop')");
    refuse("\"count\": 160", "\"count\": 1e3", errc::parse, "expected an integer");
    CHECK(features_from_json("").error().code == errc::parse);
    CHECK(features_from_json("{}").error().code == errc::parse);
    features_limits few;
    few.instructions = 3;
    CHECK(features_from_json(text, few).error().code == errc::limit);
    few = {};
    few.edges = 2;
    CHECK(features_from_json(text, few).error().code == errc::limit);
    few = {};
    few.blocks = 1;
    CHECK(features_from_json(text, few).error().code == errc::limit);
    few = {};
    few.profiles = 1;
    CHECK(features_from_json(text, few).error().code == errc::limit);
    few = {};
    few.functions = 1;
    CHECK(features_from_json(text, few).error().code == errc::limit);
}

TEST_CASE("features: torn and damaged texts are refused or read, never more") {
    const auto text = features_to_json(sample_program());
    for (std::size_t n = 0; n + 2 < text.size(); n += 5) CHECK(!features_from_json(std::string_view(text).substr(0, n)));
    augur::random_engine r(12);
    for (int i = 0; i < 3000; ++i) {
        auto damaged = text;
        for (int k = 0; k < 2; ++k) damaged[r.below(damaged.size())] = "0123456789[]{},:\"abf-."[r.below(22)];
        if (const auto p = features_from_json(damaged)) CHECK(check_features(*p));
    }
}

} // namespace features_test
