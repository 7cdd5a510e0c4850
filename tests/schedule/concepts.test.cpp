// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/hash.hpp>

#include <doctest/doctest.h>

namespace {

struct archetype { // exactly the contract and nothing more
    archetype() = delete;
    explicit archetype(int) {}
    archetype(const archetype&) = delete;
    void visit(auto& sink) const {
        sink.primitive("split");
        sink.number(std::int64_t{4});
        sink.number(0.5);
        sink.name("i");
    }
};
struct no_visit {};
struct mutating { // not callable on const
    void visit(auto&) {}
};
struct foreign { // somebody else's type
    std::vector<int> factors;
};
struct kernel {};
struct forgetful { // rebuilds to something else
    int factor = 0;
};
struct headless { // a number before the first primitive
    static void visit(auto& sink) { sink.number(std::int64_t{1}); }
};
struct unstable {
    void visit(auto& sink) const {
        sink.primitive("split");
        sink.number(std::int64_t{++*visits});
    }
    int* visits;
};

struct minimal_sink { // exactly what a visit may call
    minimal_sink() = default;
    minimal_sink(const minimal_sink&) = delete;
    void primitive(std::string_view) { ++calls; }
    void number(std::int64_t) { ++calls; }
    void number(double) { ++calls; }
    void name(std::string_view) { ++calls; }
    int calls = 0;
};
struct nameless_sink {
    void primitive(std::string_view);
    void number(std::int64_t);
    void number(double);
};

} // namespace

template <>
struct augur::schedule_traits<foreign> {
    static void visit(const foreign& s, auto& sink) {
        for (const int f : s.factors) {
            sink.primitive("tile");
            sink.number(std::int64_t{f});
        }
    }
    static augur::result<foreign> rebuild(const kernel&, std::span<const augur::schedule_item> items) {
        foreign s;
        for (const auto& item : items)
            if (item.type == schedule_item::kind::integer) s.factors.push_back(static_cast<int>(item.integer));
            else if (item.text != "tile") return augur::error{augur::errc::unknown_primitive, "expected tile, got " + item.text};
        return s;
    }
};
template <>
struct augur::schedule_traits<forgetful> {
    static void visit(const forgetful& s, auto& sink) {
        sink.primitive("tile");
        sink.number(std::int64_t{s.factor});
    }
    static augur::result<forgetful> rebuild(const kernel&, std::span<const augur::schedule_item>) { return forgetful{}; }
};

static_assert(augur::schedule<archetype> && augur::schedule<foreign> && augur::schedule<const archetype>);
static_assert(!augur::schedule<no_visit> && !augur::schedule<mutating> && !augur::schedule<int>);
static_assert(augur::schedule_sink<minimal_sink> && augur::schedule_sink<augur::recording_sink> && !augur::schedule_sink<nameless_sink>);
static_assert(augur::rebuildable_schedule<foreign, kernel> && !augur::rebuildable_schedule<archetype, kernel>);
static_assert(!augur::rebuildable_schedule<foreign, int>); // another task
template augur::result<void> augur::testing::check_schedule(const archetype&);

TEST_CASE("schedule: a visit reaches the sink in order") {
    const archetype s(1);
    minimal_sink counter;
    augur::schedule_traits<archetype>::visit(s, counter);
    CHECK(counter.calls == 4);

    augur::recording_sink seen;
    augur::schedule_traits<archetype>::visit(s, seen);
    using kind = augur::schedule_item::kind;
    const std::vector<augur::schedule_item> expected{
        {kind::primitive, 0, 0, "split"}, {kind::integer, 4, 0, {}}, {kind::real, 0, 0.5, {}}, {kind::name, 0, 0, "i"}};
    CHECK(seen.items == expected);
}

TEST_CASE("check_schedule: accepts what keeps the contract, names what breaks it") {
    CHECK(augur::testing::check_schedule(archetype(1)));
    CHECK(augur::testing::check_schedule(foreign{{4, 8}}, kernel{}));

    int visits = 0;
    const auto moving = augur::testing::check_schedule(unstable{&visits});
    REQUIRE(!moving);
    CHECK(moving.error().detail.find("two visits") != std::string::npos);

    const auto first = augur::testing::check_schedule(headless{});
    REQUIRE(!first);
    CHECK(first.error().detail.find("begin with primitive()") != std::string::npos);

    const auto lost = augur::testing::check_schedule(forgetful{5}, kernel{});
    REQUIRE(!lost);
    CHECK(lost.error().code == augur::errc::illegal_schedule);
    CHECK(lost.error().detail.find("rebuild") != std::string::npos);
}

TEST_CASE("rebuild: items that mean nothing are an error") {
    const std::vector<augur::schedule_item> items{{augur::schedule_item::kind::primitive, 0, 0, "melt"}};
    const auto made = augur::schedule_traits<foreign>::rebuild(kernel{}, items);
    REQUIRE(!made);
    CHECK(made.error().code == augur::errc::unknown_primitive);
}

namespace {

template <class Int>
struct split_by {
    static void visit(auto& sink) {
        sink.primitive("split");
        sink.number(static_cast<Int>(8));
    }
};
template <class Int>
std::vector<augur::schedule_item> items_of() {
    augur::recording_sink sink;
    augur::schedule_traits<split_by<Int>>::visit({}, sink);
    CHECK(augur::hash_schedule(split_by<Int>{}) == augur::hash_schedule(split_by<std::int64_t>{}));
    return sink.items;
}

} // namespace

TEST_CASE("sinks take numbers of every arithmetic type: the integers as one, the reals as one") {
    const auto expected = items_of<std::int64_t>();
    CHECK(items_of<int>() == expected);
    CHECK(items_of<unsigned>() == expected);
    CHECK(items_of<long long>() == expected);
    CHECK(items_of<std::size_t>() == expected);
    CHECK(items_of<std::int8_t>() == expected);
    CHECK(items_of<std::uint16_t>() == expected);
    augur::recording_sink sink;
    sink.number(1.5F);
    sink.number(1.5);
    CHECK(sink.items[0] == sink.items[1]);
}
