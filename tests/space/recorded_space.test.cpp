// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/recorded_space.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/space/check.hpp>
#include <augur/space/count.hpp>
#include <augur/space/walk.hpp>

namespace recorded_space_test {

using augur::configuration;
using augur::decision_vector;
using augur::recorded_space;
using augur::tuning_value;

namespace {

configuration point_of(const std::vector<tuning_value>& values) {
    configuration c;
    for (std::size_t i = 0; i < values.size(); ++i) c.parameters.push_back({std::string(1, static_cast<char>('a' + i)), values[i]});
    return c;
}

/// Random points with `parameters` values of a few kinds; some come several times.
std::vector<configuration> random_points(std::size_t n, std::size_t parameters, std::uint64_t options, augur::random_engine& rng) {
    std::vector<configuration> out;
    while (out.size() < n) {
        std::vector<tuning_value> values;
        for (std::size_t i = 0; i < parameters; ++i) {
            const auto v = static_cast<std::int64_t>(rng.below(options));
            if (i % 3 == 0) values.emplace_back(v * 16 - 16);
            else if (i % 3 == 1) values.emplace_back(v % 2 == 0 ? tuning_value(0.25 * static_cast<double>(v)) : tuning_value(v));
            else values.emplace_back("layout " + std::to_string(v));
        }
        out.push_back(point_of(values));
        if (rng.below(5) == 0) out.push_back(out[static_cast<std::size_t>(rng.below(out.size()))]);
    }
    return out;
}

/// What the trie says, by sets: the points that begin with `prefix`, and the values that come next.
struct twin {
    std::set<std::vector<tuning_value>> points;
    explicit twin(const std::vector<configuration>& list) {
        for (const auto& c : list) {
            std::vector<tuning_value> values;
            for (const auto& p : c.parameters) values.push_back(p.value);
            points.insert(values);
        }
    }
    [[nodiscard]] std::set<tuning_value> options(const std::vector<tuning_value>& prefix) const {
        std::set<tuning_value> out;
        for (const auto& p : points)
            if (p.size() > prefix.size() && std::equal(prefix.begin(), prefix.end(), p.begin())) out.insert(p[prefix.size()]);
        return out;
    }
};

/// Walks both at once.
void compare(const recorded_space& space, const twin& naive, decision_vector& decisions, std::vector<tuning_value>& values, std::size_t& leaves) {
    const auto expected = naive.options(values);
    const auto d = space.next(decisions);
    REQUIRE(d.has_value() == !expected.empty());
    if (!d) {
        const auto made = space.realise(decisions);
        REQUIRE(made);
        REQUIRE(*made == point_of(values));
        const auto back = space.decide(*made);
        REQUIRE(back);
        REQUIRE(*back == decisions);
        REQUIRE(space.point(leaves++) == decisions);
        return;
    }
    REQUIRE(d->options == expected.size());
    std::uint64_t option = 0;
    for (const auto& v : expected) {
        decisions.push_back(option++);
        values.push_back(v);
        compare(space, naive, decisions, values, leaves);
        decisions.pop_back();
        values.pop_back();
    }
}

std::string refused(const std::vector<configuration>& points) {
    const auto r = recorded_space::build(points);
    return r ? "built" : r.error().detail;
}

} // namespace

static_assert(augur::decision_space<recorded_space, configuration>);
static_assert(augur::detail::offers_cursor<recorded_space>);

TEST_CASE("recorded_space: has the points of the records and no others") {
    augur::random_engine rng(3);
    const std::pair<std::size_t, std::pair<std::size_t, std::uint64_t>> sizes[] = {
        {1, {1, 1}}, {20, {1, 6}}, {50, {2, 4}}, {300, {5, 4}}, {500, {9, 2}}};
    for (const auto& size : sizes) {
        const auto points = random_points(size.first, size.second.first, size.second.second, rng);
        const auto space = recorded_space::build(points);
        REQUIRE(space);
        const twin naive(points);
        CHECK(space->size() == naive.points.size());
        CHECK(space->parameters() == size.second.first);
        decision_vector decisions;
        std::vector<tuning_value> values;
        std::size_t leaves = 0;
        compare(*space, naive, decisions, values, leaves);
        CHECK(leaves == naive.points.size());
        const auto count = augur::count_leaves(*space, rng);
        CHECK(count.exact);
        CHECK(count.leaves == static_cast<double>(leaves));
        CHECK(augur::testing::check_space<configuration>(*space, rng));
        for (int i = 0; i < 200; ++i) { // a point near the records is refused unless it is recorded
            configuration c = points[static_cast<std::size_t>(rng.below(points.size()))];
            c.parameters[static_cast<std::size_t>(rng.below(c.parameters.size()))].value =
                points[static_cast<std::size_t>(rng.below(points.size()))].parameters.back().value;
            const twin one({c});
            CHECK(static_cast<bool>(space->decide(c)) == (naive.points.count(*one.points.begin()) == 1));
        }
    }
}

TEST_CASE("recorded_space: the order of the records does not matter") {
    augur::random_engine rng(5);
    auto points = random_points(200, 4, 3, rng);
    const auto first = recorded_space::build(points);
    rng.shuffle(std::span<configuration>(points));
    const auto second = recorded_space::build(std::list<configuration>(points.begin(), points.end()));
    REQUIRE((first && second && first->size() == second->size()));
    for (std::size_t i = 0; i < first->size(); ++i) {
        REQUIRE(first->point(i) == second->point(i));
        REQUIRE(*first->realise(first->point(i)) == *second->realise(first->point(i)));
    }
}

TEST_CASE("recorded_space: samples come as often as the trie says, and point() is uniform over the points") {
    // a=0 has one point, a=1 has three: half of the walks end in the point of a=0
    std::vector<configuration> points{point_of({std::int64_t{0}, std::int64_t{0}})};
    for (std::int64_t v = 0; v < 3; ++v) points.push_back(point_of({std::int64_t{1}, v}));
    const auto space = recorded_space::build(points);
    REQUIRE(space);
    augur::random_engine rng(7);
    std::map<decision_vector, double> walks, uniform;
    const int n = 30000;
    for (int i = 0; i < n; ++i) {
        walks[augur::sample_path(*space, rng).values] += 1.0 / n;
        uniform[space->point(static_cast<std::size_t>(rng.below(space->size())))] += 1.0 / n;
    }
    CHECK(walks.size() == 4);
    CHECK(uniform.size() == 4);
    CHECK(walks[{0, 0}] == doctest::Approx(0.5).epsilon(0.03));
    for (std::uint64_t v = 0; v < 3; ++v) CHECK(walks[{1, v}] == doctest::Approx(1.0 / 6).epsilon(0.06));
    for (const auto& [decisions, share] : uniform) CHECK(share == doctest::Approx(0.25).epsilon(0.05));
}

TEST_CASE("recorded_space: a projection says where the point of a record is") {
    const std::vector<std::pair<configuration, double>> records{{point_of({"x"}), 1.0}, {point_of({"y"}), 2.0}, {point_of({"x"}), 3.0}};
    const auto space = recorded_space::build(records, &std::pair<configuration, double>::first);
    REQUIRE(space);
    CHECK(space->size() == 2);
    CHECK(space->next({})->options == 2);
}

TEST_CASE("recorded_space: refuses what is no set of points, and what is no point") {
    CHECK(refused({}) == "recorded space: expected 1 to 4294967294 points, got 0");
    CHECK(refused({configuration{}}) == "recorded space: expected at least one parameter, got none");
    CHECK(refused({point_of({"x"}), point_of({"x", "y"})}) == "recorded space, point 1: expected the parameters a, got a=x b=y");
    CHECK(refused({point_of({"x"}), configuration{{{"b", "x"}}}}) == "recorded space, point 1: expected the parameters a, got b=x");
    CHECK(refused({point_of({"x"}), configuration{}}) == "recorded space, point 1: expected the parameters a, got none");
    CHECK(refused({point_of({std::numeric_limits<double>::quiet_NaN()})}) == "recorded space, point 0: expected a finite value of 'a', got another");
    const auto space = recorded_space::build(std::vector{point_of({std::int64_t{1}, "x"}), point_of({std::int64_t{2}, "y"})});
    REQUIRE(space);
    CHECK(space->realise(decision_vector{0}).error().detail == "recorded space: expected 2 decisions, got 1");
    CHECK(space->realise(decision_vector{0, 1}).error().detail == "recorded space: expected a value below 1 for parameter 'b', got 1");
    CHECK(space->decide(point_of({std::int64_t{1}, "y"})).error().detail ==
          "recorded space: expected a recorded point, got a=1 b=y, of which 'b' was not recorded after the values before it");
    CHECK(!space->decide(point_of({1.0, "x"}))); // a real is no integer
    CHECK(!space->decide(point_of({std::int64_t{1}})));
}

} // namespace recorded_space_test
