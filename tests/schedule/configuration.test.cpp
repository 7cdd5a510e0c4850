// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/schedule/configuration.hpp>

#include <doctest/doctest.h>

#include <vector>

#include <augur/schedule/hash.hpp>

namespace configuration_test {

using augur::configuration;
using augur::schedule_item;

namespace {
struct task {};
augur::result<configuration> rebuilt(const std::vector<schedule_item>& items) {
    return augur::schedule_traits<configuration>::rebuild(task{}, items);
}
} // namespace

static_assert(augur::schedule<configuration> && augur::rebuildable_schedule<configuration, task>);

TEST_CASE("configuration: is visited name by name and rebuilt as it was") {
    const configuration c{{{"block", std::int64_t{-16}}, {"share", 0.5}, {"layout", "row major"}, {"", std::int64_t{0}}}};
    augur::recording_sink seen;
    augur::schedule_traits<configuration>::visit(c, seen);
    using kind = schedule_item::kind;
    const std::vector<schedule_item> expected{{kind::primitive, 0, 0, "block"}, {kind::integer, -16, 0, {}},       {kind::primitive, 0, 0, "share"},
                                              {kind::real, 0, 0.5, {}},         {kind::primitive, 0, 0, "layout"}, {kind::name, 0, 0, "row major"},
                                              {kind::primitive, 0, 0, ""},      {kind::integer, 0, 0, {}}};
    CHECK(seen.items == expected);
    CHECK(augur::testing::check_schedule(c, task{}));
    const auto again = rebuilt(seen.items);
    REQUIRE(again);
    CHECK(*again == c);
    CHECK(augur::to_string(c) == "block=-16 share=0.5 layout=row major =0");
}

TEST_CASE("configuration: items that are no pairs of a name and a value are refused") {
    using kind = schedule_item::kind;
    const schedule_item name{kind::primitive, 0, 0, "a"}, value{kind::integer, 1, 0, {}};
    CHECK(rebuilt({}));
    CHECK(rebuilt({name, value}));
    CHECK(rebuilt({name, {kind::real, 0, 0.5, {}}}));
    CHECK(!rebuilt({name, {kind::real, 0, std::nan(""), {}}}));
    for (const std::vector<schedule_item>& items :
         {std::vector<schedule_item>{value}, {name}, {name, name}, {name, value, value}, {value, name}, {name, value, name}}) {
        const auto r = rebuilt(items);
        REQUIRE(!r);
        CHECK(r.error().code == augur::errc::parse);
    }
}

TEST_CASE("configuration: an integer, the real and the text of it have different hashes") {
    const auto hash = [](augur::tuning_value v) { return augur::hash_schedule(configuration{{{"a", std::move(v)}}}); };
    CHECK(hash(std::int64_t{1}) != hash(1.0));
    CHECK(hash(std::int64_t{1}) != hash("1"));
    CHECK(hash(1.0) != hash("1"));
    CHECK(augur::hash_schedule(configuration{{{"b", std::int64_t{1}}}}) != hash(std::int64_t{1}));
}

} // namespace configuration_test
