// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/record/logged_schedule.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/log_writer.hpp>
#include <augur/schedule/steps_json.hpp>
#include <augur/tune/trial_log.hpp>
#include <doctest/doctest.h>

#include "logs.hpp"

namespace {

using augur::schedule_item;

struct kernel {
    [[nodiscard]] static std::string_view key() { return "add"; }
};
struct words { // a schedule that is the items it shows
    std::vector<schedule_item> items;
    void visit(auto& k) const {
        for (const auto& i : items) {
            switch (i.type) {
            case schedule_item::kind::primitive: k.primitive(i.text); break;
            case schedule_item::kind::integer: k.number(i.integer); break;
            case schedule_item::kind::real: k.number(i.real); break;
            case schedule_item::kind::name: k.name(i.text); break;
            }
        }
    }
    friend bool operator==(const words&, const words&) = default;
};

} // namespace

template <>
struct augur::schedule_traits<words> {
    static void visit(const words& s, auto& sink) { s.visit(sink); }
    static result<words> rebuild(const kernel&, std::span<const schedule_item> items) {
        if (items.empty()) return error{errc::illegal_schedule, "nothing to do"};
        return words{{items.begin(), items.end()}};
    }
};

static_assert(augur::loggable_schedule<words, kernel> && augur::loggable_schedule<augur::step_list, kernel>);

namespace {

schedule_item item(augur::random_engine& rng, bool first) {
    static const std::string texts[] = {"i", "", "SP", ".", "a \"b\"\\\n\t\x01", "\xC3\xA9", "8", "[0.5]", std::string(300, 'x')};
    static const std::int64_t numbers[] = {0, -1, 512, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    schedule_item out;
    out.type = first ? schedule_item::kind::primitive : static_cast<schedule_item::kind>(rng.below(4));
    if (out.type == schedule_item::kind::integer)
        out.integer = rng.below(2) == 0 ? numbers[rng.below(std::size(numbers))] : static_cast<std::int64_t>(rng.below(1000));
    else if (out.type == schedule_item::kind::real) {
        const auto bits = std::bit_cast<double>(rng());
        const double few[] = {8.0,
                              -0.0,
                              0.1,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::denorm_min(),
                              std::numeric_limits<double>::max()};
        out.real = bits - bits == 0 && rng.below(2) == 0 ? bits : few[rng.below(std::size(few))];
    } else out.text = texts[rng.below(std::size(texts))];
    return out;
}

} // namespace

TEST_CASE("logged schedule: any items come back through a log, to the last bit") {
    const logs::folder tmp;
    augur::random_engine rng(9);
    std::vector<words> all(400);
    {
        auto writer = augur::log_writer::open(tmp / "a.log", augur::durability::none);
        REQUIRE(writer);
        for (auto& s : all) {
            const std::size_t n = 1 + rng.below(12);
            for (std::size_t i = 0; i < n; ++i) s.items.push_back(item(rng, i == 0));
            auto record = logs::record(1);
            record.schedule = augur::to_logged(s);
            REQUIRE(writer->append(std::move(record)));
        }
    }
    auto reader = augur::log_reader::open(tmp / "a.log");
    REQUIRE(reader);
    augur::record r;
    for (const auto& s : all) {
        const auto more = reader->next(r);
        REQUIRE((more && *more));
        const auto back = augur::from_logged<words>(kernel{}, r.schedule);
        REQUIRE_MESSAGE(back, (back ? "" : back.error().detail));
        CHECK(*back == s);
    }
    CHECK(reader->summary().bad == 0);
}

TEST_CASE("logged schedule: a visit that does not begin with a primitive is refused by the sink, and the log goes on") {
    const logs::folder tmp;
    auto writer = augur::log_writer::open(tmp / "a.log", augur::durability::none);
    REQUIRE(writer);
    augur::log_sink sink(*writer, {logs::compiled_by("cc"), "-O2"});
    augur::measurement m;
    m.status = augur::outcome::ok;
    m.seconds = {1e-3};
    words orphan, fine;
    orphan.items = {{schedule_item::kind::integer, 7, 0, {}}, {schedule_item::kind::primitive, 0, 0, "tile"}};
    fine.items = {{schedule_item::kind::primitive, 0, 0, "tile"}, {schedule_item::kind::integer, 7, 0, {}}};
    const auto refused = sink(kernel{}, orphan, m);
    REQUIRE(!refused);
    CHECK(refused.error().code == augur::errc::invalid_argument);
    CHECK(sink(kernel{}, fine, m));
    CHECK(writer->next_sequence() == 1);
}

TEST_CASE("logged schedule: the text, and what is no such text") {
    using kind = schedule_item::kind;
    const words tile{{{kind::primitive, 0, 0, "tile"},
                      {kind::name, 0, 0, "i"},
                      {kind::integer, 8, 0, {}},
                      {kind::real, 0, 0.5, {}},
                      {kind::primitive, 0, 0, "SP"}}};
    CHECK(augur::to_json(augur::to_logged(tile)) == R"([[".tile", "i", 8, [0.5]], [".SP"]])");

    const auto why = [](const char* kind_of, const char* json) {
        augur::step_list steps;
        steps.steps.emplace_back(augur::foreign_step{kind_of, json});
        const auto made = augur::from_logged<words>(kernel{}, std::move(steps));
        return made ? std::string("made") : made.error().detail;
    };
    CHECK(why("PPT", R"(["PPT", 1])").find("expected a kind that begins with a dot") != std::string::npos);
    CHECK(why(".t", R"([".t", [1, 2]])") != "made");
    CHECK(why(".t", R"([".t", ["nil"]])").find("expected a number, \"inf\", \"-inf\" or \"nan\"") != std::string::npos);
    CHECK(why(".t", R"([".t", {"a": 1}])") != "made");
    CHECK(why(".t", R"([".t", 1.5])") != "made");
    CHECK(why(".t", R"([".t")") != "made");
    CHECK(why(".t", R"([".t"] ])") != "made");
    CHECK(why(".t", "") != "made");
    augur::step_list ansor;
    ansor.steps.emplace_back(augur::compute_inline_step{1});
    CHECK(augur::from_logged<words>(kernel{}, ansor).error().code == augur::errc::parse);
    CHECK(augur::from_logged<words>(kernel{}, {}).error().detail == "nothing to do"); // what `rebuild` says
    CHECK(*augur::from_logged<augur::step_list>(kernel{}, ansor) == ansor);
}
