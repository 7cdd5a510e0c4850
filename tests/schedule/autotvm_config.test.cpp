// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/schedule/autotvm_config.hpp>

#include <cstdint>
#include <string>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/autotvm_config_json.hpp>
#include <augur/schedule/hash.hpp>
#include <doctest/doctest.h>

namespace autotvm_config_test {

using namespace augur;

static_assert(schedule<autotvm_config>);
static_assert(rebuildable_schedule<autotvm_config, int>);

namespace {

constexpr const char* gpu_knobs = R"([["tile_f", "sp", [-1, 2, 16, 1]], ["tile_rc", "sp", [-1, 4]], ["reorder_0", "re", [0, 2, 1]], )"
                                  R"(["ann_reduce", "an", ["none", "unroll"]], ["attach", "an", [0, 3]], ["auto_unroll_max_step", "ot", 1500], )"
                                  R"(["unroll_kw", "ot", true], ["layout", "ot", "NCHW"], ["none", "ot", null], ["ratio", "ot", 0.5], )"
                                  R"(["pair", "ot", [1, ["a", 2.5]]], ["empty", "re", []]])";

autotvm_config parsed(const std::string& json) {
    auto config = parse_autotvm_config(json);
    REQUIRE(config);
    return *std::move(config);
}

} // namespace

TEST_CASE("autotvm_config: JSON that TVM writes is written again byte for byte") {
    const auto config = parsed(gpu_knobs);
    CHECK(config.knobs.size() == 12);
    CHECK(config.knobs[0] ==
          autotvm_knob{"tile_f", autotvm_knob_kind::split, {std::int64_t{-1}, std::int64_t{2}, std::int64_t{16}, std::int64_t{1}}});
    CHECK(config.knobs[3].values[1] == autotvm_value("unroll"));
    CHECK(config.knobs[6].values[0] == autotvm_value("true")); // a text of a knob of kind other is JSON
    CHECK(config.knobs[7].values[0] == autotvm_value("\"NCHW\""));
    CHECK(to_json(config) == gpu_knobs);
}

TEST_CASE("autotvm_config: a visit is stable and can be rebuilt") {
    const auto config = parsed(gpu_knobs);
    CHECK(testing::check_schedule(config, 0));
    recording_sink seen;
    config.visit(seen);
    const auto again = schedule_traits<autotvm_config>::rebuild(0, std::span<const schedule_item>(seen.items));
    REQUIRE(again);
    CHECK(*again == config);
    CHECK(seen.items[0].text == "sp");
    CHECK(seen.items[1].text == "tile_f");
    CHECK(seen.items[2].integer == -1);
}

TEST_CASE("autotvm_config: every change of a value changes the hash of the schedule") {
    const auto config = parsed(gpu_knobs);
    for (std::size_t k = 0; k < config.knobs.size(); ++k)
        for (std::size_t v = 0; v < config.knobs[k].values.size(); ++v) {
            auto other = config;
            if (auto* const n = std::get_if<std::int64_t>(&other.knobs[k].values[v])) ++*n;
            else other.knobs[k].values[v] = std::int64_t{77};
            CHECK(hash_schedule(other) != hash_schedule(config));
        }
}

TEST_CASE("autotvm_config: items of chance give knobs or an error, never a crash") {
    auto rng = random_engine(5);
    recording_sink seen;
    parsed(gpu_knobs).visit(seen);
    for (int round = 0; round < 2000; ++round) {
        auto items = seen.items;
        for (auto n = 1 + rng.below(3); n > 0; --n) {
            const auto at = static_cast<std::ptrdiff_t>(rng.below(items.size()));
            if (rng.below(2) == 0) items.erase(items.begin() + at);
            else items[static_cast<std::size_t>(at)] = seen.items[rng.below(seen.items.size())];
        }
        const auto rebuilt = schedule_traits<autotvm_config>::rebuild(0, std::span<const schedule_item>(items));
        if (!rebuilt) {
            CHECK(rebuilt.error().detail.starts_with("knob "));
            continue;
        }
        recording_sink again;
        rebuilt->visit(again);
        CHECK(again.items == items);
    }
}

TEST_CASE("autotvm_config: items that could not be written are refused") {
    using kind = schedule_item::kind;
    const auto rebuild = [](schedule_item value) {
        const std::vector<schedule_item> items{{kind::primitive, 0, 0, "ot"}, {kind::name, 0, 0, "layout"}, std::move(value)};
        return schedule_traits<autotvm_config>::rebuild(0, std::span<const schedule_item>(items));
    };
    CHECK(rebuild({kind::name, 0, 0, "\"NCHW\""}));
    CHECK(!rebuild({kind::name, 0, 0, "NCHW"}));
    CHECK(!rebuild({kind::name, 0, 0, "[1,\n2]"}));
    CHECK(!rebuild({kind::name, 0, 0, "1]]"}));
    CHECK(rebuild({kind::real, 0, 1.5, {}}));
    CHECK(!rebuild({kind::real, 0, std::numeric_limits<double>::infinity(), {}}));
}

TEST_CASE("autotvm_config: errors say what was expected and where") {
    const auto reason = [](const char* json) { return parse_autotvm_config(json).error().detail; };
    CHECK(reason(R"([["a", "xx", 1]])") == "1:8: expected a knob of kind sp, re, an or ot, got 'xx'");
    CHECK(reason(R"([["a", "sp", ["x"]]])") == "1:15: expected integers, got a name in a knob of kind sp");
    CHECK(reason(R"([["a", "sp"]])") == "1:8: a knob ends before its value");
    CHECK(reason(R"([["a", "ot", 1, 2]])") == "1:14: a knob has more than a name, a kind and a value");
    CHECK(reason(R"([["a", "sp", 4]])") == "1:14: expected an array, got '4'");
    CHECK(reason(R"([["a", "sp", [1.5]]])") == "1:15: expected an integer, got a fraction or an exponent");
}

TEST_CASE("autotvm_config: reals are written as Python writes them") {
    const auto text = [](double value) {
        std::string out;
        detail::append_python_number(out, value);
        return out;
    };
    // `python3 -c "print(repr(x))"` for each
    CHECK(text(0.0) == "0.0");
    CHECK(text(-0.0) == "-0.0");
    CHECK(text(1e9) == "1000000000.0");
    CHECK(text(0.0001) == "0.0001");
    CHECK(text(0.00001) == "1e-05");
    CHECK(text(2.408779395348837e-05) == "2.408779395348837e-05");
    CHECK(text(1680907291.283948) == "1680907291.283948");
    CHECK(text(1e15) == "1000000000000000.0");
    CHECK(text(1e16) == "1e+16");
    CHECK(text(-1.5e300) == "-1.5e+300");
    CHECK(text(123456.0) == "123456.0");
    CHECK(text(0.012) == "0.012");
    CHECK(text(5e-324) == "5e-324");
}

} // namespace autotvm_config_test
