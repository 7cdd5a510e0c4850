// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/vocabulary.hpp>

#include <set>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/steps.hpp>

namespace {

/// A configuration as AutoTVM has it: named knobs, each a split, an order, annotations or a value.
struct knob {
    std::string name;
    std::variant<std::vector<std::int64_t>, std::vector<std::string>, std::int64_t> value;
};
struct configuration {
    std::vector<knob> knobs;
};

/// The knobs of conv2d_nchw_spatial_pack of AutoTVM's ARM template; `i` walks through the space.
configuration arm_conv2d(std::uint64_t i) {
    const auto digit = [&](std::uint64_t base) {
        const auto d = static_cast<std::int64_t>(i % base);
        i /= base;
        return d;
    };
    const char* const unroll[] = {"none", "unroll", "vec"};
    return {{{"tile_co", std::vector<std::int64_t>{-1, 1 << digit(5)}},
             {"tile_oh", std::vector<std::int64_t>{-1, 1 << digit(3)}},
             {"tile_ow", std::vector<std::int64_t>{-1, 1 + digit(7)}},
             {"ann_reduce", std::vector<std::string>{"unroll", digit(2) == 0 ? "none" : "unroll"}},
             {"ann_spatial", std::vector<std::string>{unroll[digit(3)], "unroll", "vec"}},
             {"auto_unroll_max_step", std::int64_t{digit(2) * 512}}}};
}
constexpr std::uint64_t space = std::uint64_t{5} * 3 * 7 * 2 * 3 * 2;

} // namespace

template <>
struct augur::schedule_traits<configuration> {
    static void visit(const configuration& c, auto& sink) {
        for (const auto& k : c.knobs) {
            sink.primitive(k.name);
            if (const auto* split = std::get_if<0>(&k.value))
                for (const auto n : *split) sink.number(n);
            else if (const auto* names = std::get_if<1>(&k.value))
                for (const auto& n : *names) sink.name(n);
            else sink.number(std::get<2>(k.value));
        }
    }
};

TEST_CASE("tlp vocabulary: AutoTVM's knobs are learned, and no two configurations look alike") {
    std::vector<configuration> all;
    for (std::uint64_t i = 0; i < space; ++i) all.push_back(arm_conv2d(i));
    const auto schema = augur::tlp::schema::learn(std::span<const configuration>(all), {.name = "autotvm", .positions = 0});
    REQUIRE(schema);
    // all equally often: by text
    CHECK(schema->kinds == std::vector<std::string>{"ann_reduce", "ann_spatial", "auto_unroll_max_step", "tile_co", "tile_oh", "tile_ow"});
    CHECK(schema->kind_columns == 7);
    CHECK(schema->rows == 6);
    CHECK(schema->columns == 7 + 3);
    CHECK(schema->words.size() == 2 + 3);
    std::set<std::vector<float>> seen;
    std::vector<float> out(schema->rows * schema->columns);
    for (const auto& c : all) {
        std::fill(out.begin(), out.end(), 0.0F);
        const auto n = augur::tlp::extract_features(c, *schema, out);
        REQUIRE(n);
        CHECK(*n == 6);
        seen.insert(out);
    }
    CHECK(seen.size() == space);
    const auto a = augur::tlp::extract_features(all[1], *schema, out);
    REQUIRE(a);
    CHECK((out[3] == 1 && out[7] == -1 && out[8] == 2)); // tile_co: [-1, 2]
}

TEST_CASE("tlp vocabulary: names are numbered by frequency within their kind") {
    augur::tlp::vocabulary_builder learner;
    for (const char* mark : {"vec", "unroll", "vec", "none", "vec", "unroll"}) learner.see(configuration{{{"ann", std::vector<std::string>{mark}}}});
    learner.see(configuration{{{"order", std::vector<std::string>{"unroll"}}, {"ann", std::vector<std::string>{"vec"}}}});
    CHECK(learner.schedules() == 7);
    CHECK(learner.longest_schedule() == 2);
    const auto words = learner.words();
    REQUIRE(words.size() == 4);
    CHECK((words[0].text == "vec" && words[0].times == 4));
    const auto schema = learner.schema();
    REQUIRE(schema);
    const std::vector<augur::tlp::word> expected{{"ann", "vec", 1}, {"ann", "unroll", 2}, {"ann", "none", 3}, {"order", "unroll", 1}};
    CHECK(schema->words == expected);
    CHECK(schema->kinds == std::vector<std::string>{"ann", "order"});
}

TEST_CASE("tlp vocabulary: the order of the schedules does not matter") {
    std::vector<configuration> all;
    for (std::uint64_t i = 0; i < 200; ++i) all.push_back(arm_conv2d(i * 7 % space));
    const auto one = augur::tlp::schema::learn(std::span<const configuration>(all), {});
    augur::random_engine rng(1);
    rng.shuffle(std::span<configuration>(all));
    const auto other = augur::tlp::schema::learn(std::span<const configuration>(all), {});
    REQUIRE((one && other));
    CHECK(*one == *other);
}

namespace {
struct orphaned { ///< a name in front of the first primitive
    bool first = false;
};
} // namespace
template <>
struct augur::schedule_traits<orphaned> {
    template <class Sink>
    static void visit(const orphaned& s, Sink& sink) {
        if (s.first) sink.name("ghost");
        sink.primitive("q");
        sink.name("word");
    }
};
TEST_CASE("tlp vocabulary: a name in front of the first primitive belongs to none, also behind another schedule") {
    for (const bool turned : {false, true}) {
        const std::vector<orphaned> two{{turned}, {!turned}};
        const auto schema = augur::tlp::schema::learn(std::span<const orphaned>(two), {});
        REQUIRE(schema);
        CHECK(schema->words == std::vector<augur::tlp::word>{{"q", "word", 1}});
    }
}

TEST_CASE("tlp vocabulary: what is rare or unseen shares a column") {
    augur::tlp::vocabulary_builder learner;
    for (int i = 0; i < 3; ++i) learner.see(configuration{{{"often", std::int64_t{1}}, {"rare" + std::to_string(i), std::int64_t{2}}}});
    const auto schema = learner.schema({.kinds = 2, .numbers = 0, .positions = 0});
    REQUIRE(schema);
    CHECK(schema->kinds == std::vector<std::string>{"often", "rare0"});
    CHECK(schema->columns == 3);
    std::vector<float> out(schema->rows * schema->columns);
    REQUIRE(augur::tlp::extract_features(configuration{{{"rare2", std::int64_t{5}}, {"unseen", std::int64_t{5}}}}, *schema, out));
    CHECK(out == std::vector<float>{0, 0, 1, 0, 0, 1});
}

TEST_CASE("tlp vocabulary: nothing to learn from, or no room, is an error") {
    CHECK(augur::tlp::vocabulary_builder().schema().error().detail == "tlp vocabulary: 0 schedules without a primitive");
    augur::tlp::vocabulary_builder learner;
    learner.see(configuration{});
    CHECK(!learner.schema());
    learner.see(arm_conv2d(0));
    CHECK(learner.schema({.kinds = 0}).error().code == augur::errc::invalid_argument);
    CHECK(learner.schema({.rows = 0}).error().code == augur::errc::invalid_argument);
    CHECK(learner.schema());
}

TEST_CASE("tlp vocabulary: Ansor's own language, learned, tells apart what the built-in one does") {
    augur::step_list list;
    list.steps.emplace_back(augur::split_step{2, 0, 512, {4, 8}, true});
    list.steps.emplace_back(augur::pragma_step{2, 0, "auto_unroll_max_step$64"});
    list.steps.emplace_back(augur::cache_write_step{2, "local"});
    const auto schema = augur::tlp::schema::learn(std::span<const augur::step_list>(&list, 1), {});
    REQUIRE(schema);
    CHECK(schema->kinds == std::vector<std::string>{"CHW", "PR", "SP"});
    CHECK(schema->words.size() == 2);
    CHECK(schema->positions == 3);
}
