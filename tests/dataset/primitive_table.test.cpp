// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/dataset/primitive_table.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/steps.hpp>

namespace primitive_table_test {

using namespace augur;

namespace {

/// A schedule that is what a visit showed.
struct items {
    std::vector<schedule_item> list;
    void visit(auto& sink) const {
        for (const auto& i : list) switch (i.type) {
            case schedule_item::kind::primitive: sink.primitive(i.text); break;
            case schedule_item::kind::integer: sink.number(i.integer); break;
            case schedule_item::kind::real: sink.number(i.real); break;
            case schedule_item::kind::name: sink.name(i.text); break;
            }
    }
};
schedule_item kind(std::string text) { return {schedule_item::kind::primitive, 0, 0, std::move(text)}; }
schedule_item number(std::int64_t n) { return {schedule_item::kind::integer, n, 0, {}}; }
schedule_item real(double d) { return {schedule_item::kind::real, 0, d, {}}; }
schedule_item name(std::string text) { return {schedule_item::kind::name, 0, 0, std::move(text)}; }

/// A text that is equal for equal calls only: doubles by their bits, texts by their length.
std::string spell(const std::vector<schedule_item>& list) {
    std::string text;
    for (const auto& i : list)
        text += std::to_string(static_cast<int>(i.type)) + "," + std::to_string(i.integer) + "," +
                std::to_string(std::bit_cast<std::uint64_t>(i.real)) + "," + std::to_string(i.text.size()) + "," + i.text + ";";
    return text;
}
std::string spell(const primitive_table& table, std::span<const primitive_id> ids) {
    recording_sink seen;
    interned_schedule{&table, ids}.visit(seen);
    return spell(seen.items);
}

items drawn(augur::random_engine& draw) {
    static const double reals[] = {0.0, -0.0, 1.0, 0.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
    items s;
    for (std::uint64_t steps = draw.below(6); steps-- > 0;) {
        s.list.push_back(kind(std::string(1, static_cast<char>('A' + draw.below(3)))));
        for (std::uint64_t n = draw.below(4); n-- > 0;) switch (draw.below(3)) {
            case 0: s.list.push_back(number(static_cast<std::int64_t>(draw.below(3)) - 1)); break;
            case 1: s.list.push_back(real(reals[draw.below(6)])); break;
            default: s.list.push_back(name(std::string(draw.below(3), 'A'))); break;
            }
    }
    return s;
}

} // namespace

TEST_CASE("primitive_table: what was interned is shown again, exactly") {
    primitive_table table;
    std::vector<primitive_id> ids;
    const std::vector<items> schedules = {
        {{kind("SP"), number(2), number(334'540'800), number(std::numeric_limits<std::int64_t>::min())}},
        {{kind(""), name(""), name(std::string("a\0b", 3)), real(-0.0), real(std::numeric_limits<double>::quiet_NaN()), real(5e-324)}},
        {{kind("SP"), kind("SP"), real(4), number(4), name("4")}},
        {{}}};
    for (const auto& s : schedules) {
        ids.clear();
        REQUIRE(intern(table, s, ids));
        CHECK(spell(table, ids) == spell(s.list));
    }
    CHECK(table.size() == 4);
    CHECK(table.kind(0) == "SP");
    CHECK(table.items(0) == 3);
    CHECK(table.items(2) == 0);
}

TEST_CASE("primitive_table: equal calls have one id, others have another; a map of texts is the twin") {
    augur::random_engine draw(7);
    primitive_table table;
    std::map<std::string, primitive_id> twin;
    std::vector<items> all;
    std::vector<std::vector<primitive_id>> lists;
    for (int n = 0; n < 20000; ++n) {
        all.push_back(drawn(draw));
        auto& ids = lists.emplace_back();
        REQUIRE(intern(table, all.back(), ids));
        std::vector<primitive_id> expected;
        std::vector<schedule_item> one;
        for (std::size_t i = 0; i <= all.back().list.size(); ++i) {
            const bool ends = i == all.back().list.size() || all.back().list[i].type == schedule_item::kind::primitive;
            if (ends && !one.empty()) expected.push_back(twin.emplace(spell(one), static_cast<primitive_id>(twin.size())).first->second);
            if (ends) one.clear();
            if (i < all.back().list.size()) one.push_back(all.back().list[i]);
        }
        REQUIRE(ids == expected); // in the order of first appearance
    }
    CHECK(table.size() == twin.size());
    CHECK(table.size() > 1500);
    for (std::size_t n = 0; n < all.size(); ++n) REQUIRE(spell(table, lists[n]) == spell(all[n].list));
    const primitive_table copy = table;
    for (std::size_t n = 0; n < all.size(); ++n) REQUIRE(spell(copy, lists[n]) == spell(all[n].list));
}

TEST_CASE("primitive_table: the steps of a step list") {
    const step_list s{{split_step{2, 0, 512, {8, 4}, true}, annotate_step{2, 0, loop_annotation::parallel},
                       pragma_step{1, 0, "auto_unroll_max_step$64"}, split_step{2, 0, 512, {8, 4}, true}, foreign_step{"PPT", "[\"PPT\"]"}}};
    primitive_table table;
    std::vector<primitive_id> ids;
    REQUIRE(intern(table, s, ids));
    CHECK(ids == std::vector<primitive_id>{0, 1, 2, 0, 3});
    recording_sink a, b;
    s.visit(a);
    interned_schedule{&table, ids}.visit(b);
    CHECK(a.items == b.items);
}

TEST_CASE("primitive_table: an item in front of the first primitive is refused, and the interner goes on") {
    primitive_table table;
    std::vector<primitive_id> ids{7};
    const auto refused = intern(table, items{{number(3), kind("SP"), number(3)}}, ids);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::illegal_schedule);
    CHECK(ids == std::vector<primitive_id>{7});

    ids.clear();
    primitive_interner sink(table, ids);
    sink.name("x");
    CHECK(!sink.finish());
    sink.primitive("CI");
    sink.number(std::int64_t{1});
    CHECK(sink.finish());
    CHECK(ids == std::vector<primitive_id>{0});
    CHECK(sink.finish()); // an empty schedule
    CHECK(ids.size() == 1);
}

} // namespace primitive_table_test
