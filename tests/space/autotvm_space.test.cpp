// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/autotvm_space.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/space/check.hpp>
#include <augur/space/factorisation.hpp>
#include <doctest/doctest.h>

namespace autotvm_space_test {

using namespace augur;

namespace {

using lists = std::vector<std::vector<std::int64_t>>;

std::string vectors() {
    std::ifstream in(AUGUR_TEST_DIR "/vectors/autotvm_knob_space.json");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::map<std::string, std::int64_t> numbers(json_reader& in) {
    std::map<std::string, std::int64_t> out;
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        const std::string name(key);
        in.read(out[name]);
    }
    return out;
}

std::vector<std::int64_t> list(json_reader& in) {
    std::vector<std::int64_t> out;
    in.begin_array();
    while (in.next_element()) in.read(out.emplace_back());
    return out;
}

autotvm_knob_space options(std::string name, const std::vector<std::int64_t>& values) {
    autotvm_knob_space knob{std::move(name), autotvm_knob_kind::other, {}};
    for (const auto v : values) knob.options.push_back({v});
    return knob;
}

/// The space of conv2d_nchw.cuda (topi/cuda/conv2d_direct.py).
autotvm_space conv2d_nchw_cuda(const std::map<std::string, std::int64_t>& axes) {
    std::vector<autotvm_knob_space> knobs;
    for (const char* axis : {"f", "y", "x"}) knobs.push_back(autotvm_split_knob(std::string("tile_") + axis, axes.at(axis), 4));
    for (const char* axis : {"rc", "ry", "rx"}) knobs.push_back(autotvm_split_knob(std::string("tile_") + axis, axes.at(axis), 2));
    knobs.push_back(options("auto_unroll_max_step", {0, 512, 1500}));
    knobs.push_back(options("unroll_explicit", {0, 1}));
    auto space = autotvm_space::make(std::move(knobs));
    REQUIRE(space);
    return *std::move(space);
}

} // namespace

TEST_CASE("autotvm_space: sizes and indices of the vectors") {
    const std::string text = vectors();
    json_reader in(text);
    std::string_view key;
    std::size_t spaces = 0, points = 0;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "spaces") {
            in.begin_array();
            while (in.next_element()) {
                std::map<std::string, std::int64_t> axes, dims;
                std::int64_t total = 0;
                in.begin_object();
                while (in.next_member(key)) {
                    if (key == "axes") axes = numbers(in);
                    else if (key == "dims") dims = numbers(in);
                    else if (key == "total") in.read(total);
                    else in.skip();
                }
                const autotvm_space space = conv2d_nchw_cuda(axes);
                CHECK(space.size() == static_cast<std::uint64_t>(total));
                REQUIRE(space.knobs().size() == dims.size());
                for (const auto& knob : space.knobs()) CHECK(static_cast<std::int64_t>(knob.options.size()) == dims.at(knob.name));
                ++spaces;
            }
        } else if (key == "knob_point") {
            in.begin_array();
            while (in.next_element()) {
                std::vector<std::int64_t> dims, knob;
                std::int64_t point = 0;
                in.begin_object();
                while (in.next_member(key)) {
                    if (key == "dims") dims = list(in);
                    else if (key == "knob") knob = list(in);
                    else if (key == "point") in.read(point);
                    else in.skip();
                }
                std::vector<autotvm_knob_space> knobs;
                for (const auto d : dims) knobs.push_back(options("k", std::vector<std::int64_t>(static_cast<std::size_t>(d), 1)));
                const auto space = autotvm_space::make(std::move(knobs));
                REQUIRE(space);
                const auto decisions = space->decisions_of(static_cast<std::uint64_t>(point));
                CHECK(std::equal(decisions.begin(), decisions.end(), knob.begin(), knob.end(),
                                 [](std::uint64_t a, std::int64_t b) { return a == static_cast<std::uint64_t>(b); }));
                const auto index = space->index_of(decisions);
                REQUIRE(index);
                CHECK(*index == static_cast<std::uint64_t>(point));
                ++points;
            }
        } else {
            in.skip();
        }
    }
    CHECK(in.finish());
    CHECK(spaces == 5);
    CHECK(points == 10);
}

TEST_CASE("autotvm_splits: the factorisations of the extent, with the innermost length slowest") {
    for (const std::int64_t extent : {1, 2, 7, 12, 64, 112, 720})
        for (std::size_t outputs = 2; outputs <= 4; ++outputs) {
            const factorisation all(extent, outputs - 1, extent); // the same numbers from the other end
            const auto splits = autotvm_splits(extent, outputs);
            REQUIRE(splits.size() == all.count());
            for (std::size_t i = 0; i < splits.size(); ++i) {
                auto lengths = all.lengths_of(i);
                lengths.push_back(-1);
                std::reverse(lengths.begin(), lengths.end());
                CHECK(splits[i] == lengths);
            }
        }
}

TEST_CASE("autotvm_splits: policies and filters, by brute force") {
    for (const std::int64_t extent : {1, 6, 28, 56})
        for (const auto policy : {autotvm_split_policy::factors, autotvm_split_policy::power2, autotvm_split_policy::verbose})
            for (const bool no_tail : {false, true}) {
                autotvm_split_options options{policy, 16, no_tail, [](std::span<const std::int64_t> split) { return split.back() <= 8; }};
                const auto splits = autotvm_splits(extent, 3, options);
                std::set<std::vector<std::int64_t>> expected;
                const auto candidate = [&](std::int64_t n) {
                    const bool divisor = extent % n == 0, power = (n & (n - 1)) == 0;
                    return n <= 16 && (policy == autotvm_split_policy::factors  ? divisor
                                       : policy == autotvm_split_policy::power2 ? power
                                                                                : divisor || power);
                };
                for (std::int64_t a = 1; a <= extent; ++a)
                    for (std::int64_t b = 1; b <= 8; ++b)
                        if (candidate(a) && candidate(b) && a * b <= extent && (!no_tail || extent % (a * b) == 0)) expected.insert({-1, a, b});
                CHECK(std::set<std::vector<std::int64_t>>(splits.begin(), splits.end()) == expected);
                CHECK(splits.size() == expected.size());
            }
}

TEST_CASE("autotvm_splits: the order of the policy verbose is that of a Python set") {
    // `python3 -c "print(list(set(divisors) | set(powers of two)))"`, CPython 3.11
    const std::map<std::int64_t, std::vector<std::int64_t>> expected{
        {7, {1, 2, 4, 7}},
        {112, {32, 1, 2, 64, 4, 7, 8, 14, 16, 112, 56, 28}},
        {56, {32, 1, 2, 4, 7, 8, 14, 16, 56, 28}},
        {224, {64, 1, 2, 128, 4, 7, 8, 14, 16, 28, 32, 224, 112, 56}},
        {147, {32, 1, 2, 3, 64, 4, 128, 7, 8, 16, 49, 147, 21}},
        {1000, {64, 1, 2, 128, 4, 5, 256, 512, 8, 200, 10, 16, 20, 25, 32, 100, 40, 1000, 50, 500, 250, 125}},
        {4096, {64, 1, 2, 128, 4, 256, 512, 1024, 8, 2048, 4096, 16, 32}},
        {5040, {128,  1,   2,  3,   4,  5,    6,   7,   8,   9,    10,  256, 12,  140, 14,   15,   16,   144,  18,  1680, 20,  21, 512,
                24,   280, 28, 30,  32, 1024, 35,  36,  420, 40,   168, 42,  45,  48,  560,  5040, 4096, 180,  56,  315,  60,  63, 64,
                2048, 70,  72, 840, 80, 336,  210, 720, 84,  2520, 90,  360, 105, 504, 1260, 112,  240,  1008, 630, 120,  252, 126}}};
    for (const auto& [extent, order] : expected) {
        autotvm_split_options options;
        options.policy = autotvm_split_policy::verbose;
        std::vector<std::int64_t> lengths;
        for (const auto& split : autotvm_splits(extent, 2, options)) lengths.push_back(split[1]);
        CHECK(lengths == order);
    }
}

TEST_CASE("autotvm_space: a decision space, with an inverse") {
    const autotvm_space space = conv2d_nchw_cuda({{"f", 64}, {"y", 56}, {"x", 56}, {"rc", 64}, {"ry", 3}, {"rx", 3}});
    auto rng = random_engine(4);
    CHECK(testing::check_space<autotvm_config>(space, rng));
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t index = rng.below(space.size());
        const auto decisions = space.decisions_of(index);
        const auto config = space.realise(decisions);
        REQUIRE(config);
        const auto again = space.decide(*config);
        REQUIRE(again);
        CHECK(*again == decisions);
        CHECK(*space.index_of(*again) == index);
        for (const auto& knob : config->knobs) {
            std::int64_t product = 1;
            for (std::size_t v = 1; v < knob.values.size(); ++v) product *= std::get<std::int64_t>(knob.values[v]);
            if (knob.name == "tile_f") CHECK(64 % product == 0);
        }
    }
}

TEST_CASE("autotvm_space: errors") {
    CHECK(autotvm_space::make({{"a", autotvm_knob_kind::other, {}}}).error().code == errc::invalid_argument);
    CHECK(autotvm_space::make({{"a", autotvm_knob_kind::split, {{std::string("x")}}}}).error().code == errc::invalid_argument);
    for (const std::vector<std::vector<autotvm_value>>& splits : std::vector<std::vector<std::vector<autotvm_value>>>{
             {{}}, {{std::int64_t{-1}}}, {{std::int64_t{-1}, std::int64_t{2}}, {std::int64_t{-1}, std::int64_t{2}, std::int64_t{4}}}})
        CHECK(autotvm_space::make({{"a", autotvm_knob_kind::split, splits}}).error().code == errc::invalid_argument);
    CHECK(autotvm_space::make(std::vector<autotvm_knob_space>(9, options("a", std::vector<std::int64_t>(256, 1)))).error().code == errc::limit);
    const auto space = autotvm_space::make({options("a", {1, 2}), options("b", {3})});
    REQUIRE(space);
    CHECK(space->realise(std::vector<std::uint64_t>{0}).error().detail == "expected 2 decisions, got 1");
    CHECK(space->realise(std::vector<std::uint64_t>{2, 0}).error().detail == "expected a value below 2 for the knob 'a', got 2");
    CHECK(space->decide(autotvm_config{}).error().detail == "expected 2 knobs, got 0");
    autotvm_config other{{{"a", autotvm_knob_kind::other, {std::int64_t{7}}}, {"b", autotvm_knob_kind::other, {std::int64_t{3}}}}};
    CHECK(space->decide(other).error().detail == "the value of the knob 'a' is none of its options");
    other.knobs[0].name = "c";
    CHECK(space->decide(other).error().code == errc::not_found);
}

} // namespace autotvm_space_test
