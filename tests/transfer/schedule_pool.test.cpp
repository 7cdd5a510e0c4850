// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/transfer/schedule_pool.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/space/walk.hpp>
#include <augur/tune/resume.hpp>
#include <doctest/doctest.h>

#include "../space/toy.hpp"

using namespace augur;
namespace transfer = augur::transfer;
using transfer::refusal;

namespace {

class_levels class_of(const std::string& operations, const std::string& workload) {
    return class_levels().set(class_level::operations, operations).set(class_level::workload, workload);
}

toy::described_space of_extent(std::int64_t extent) {
    toy::described_space out;
    out.extent = extent;
    return out;
}

result<std::size_t> measured_transfers(const toy::described_space& small_space, const toy::described_space& large_space,
                                       const decision_vector& tuned) {
    const toy::task small{"small"}, large{"large"};
    std::size_t measured = 0;
    const auto measure = [&](const toy::schedule&) { ++measured; };
#include <snippets/transfer/schedule_pool.hpp.1.inc>
    return measured;
}

/// A space that knows the point of a schedule, and a task with a class.
struct deciding_space : toy::described_space {
    [[nodiscard]] result<decision_vector> decide(const toy::schedule& s) const {
        decision_vector out(s.numbers.begin(), s.numbers.end());
        if (!trace_path(*this, out)) return error{errc::illegal_schedule, "no point"};
        return out;
    }
};
struct tuned_task {
    std::string name;
    [[nodiscard]] std::string_view key() const { return name; }
    [[nodiscard]] static std::string_view kernel_class() { return "dense"; }
};

std::vector<decision_vector> some_points(const toy::described_space& space, std::size_t n, std::uint64_t seed) {
    random_engine rng(seed);
    std::set<decision_vector> points;
    for (int tries = 0; tries < 1000 && points.size() < n; ++tries) points.insert(sample_path(space, rng).values);
    return {points.begin(), points.end()};
}

} // namespace

TEST_CASE("schedule_pool: a schedule of the same shape comes back as it is, one of another shape as the nearest legal point") {
    const auto small = of_extent(24), large = of_extent(96);
    transfer::schedule_pool pool;
    const auto tuned = some_points(small, 20, 1);
    for (std::size_t i = 0; i < tuned.size(); ++i)
        REQUIRE(pool.add("k" + std::to_string(i), class_of("dense", "small"), "cpu", small, tuned[i], 1e-3));
    CHECK(pool.schedules().size() == 20);

    const auto back = pool.adapt(small, class_of("dense", "other"), "cpu");
    REQUIRE(back.points.size() == tuned.size());
    for (std::size_t i = 0; i < tuned.size(); ++i) {
        CHECK(back.points[i].point == tuned[i]);
        CHECK(back.points[i].exactness() == 1);
        CHECK(back.points[i].source == i);
    }
    const auto found = pool.adapt(large, class_of("dense", "large"), "cpu");
    CHECK(found.points.size() + found.count(refusal::duplicate) == tuned.size());
    for (const auto& p : found.points) {
        CHECK(large.realise(p.point));
        CHECK(p.point == adapt_point(large, pool.schedules()[p.source].words).path.values);
        CHECK(p.level == class_level::operations);
    }
}

TEST_CASE("schedule_pool: the example of its documentation") {
    const auto small = of_extent(24);
    const auto measured = measured_transfers(small, of_extent(96), some_points(small, 1, 3)[0]);
    REQUIRE(measured);
    CHECK(*measured == 0); // toy tasks have no class
}

TEST_CASE("schedule_pool: of schedules that give one point the most exact is the source, in the place of the first") {
    const auto small = of_extent(24), large = of_extent(96);
    const auto asked = class_of("dense", "b");
    for (const auto& of_large : some_points(large, 40, 5)) {
        transfer::schedule_pool pool;
        REQUIRE(pool.add("large", class_of("dense", "a"), "cpu", large, of_large, 1));
        const auto alone = pool.adapt(small, asked, "cpu");
        REQUIRE(alone.points.size() == 1);
        if (alone.points[0].changed == 0) continue;
        REQUIRE(pool.add("equal", class_of("dense", "c"), "cpu", small, alone.points[0].point, 1));
        const auto both = pool.adapt(small, asked, "cpu");
        REQUIRE(both.points.size() == 1);
        CHECK(both.count(refusal::duplicate) == 1);
        CHECK(both.points[0].point == alone.points[0].point);
        CHECK(both.points[0].source == 1);
        CHECK(both.points[0].exactness() == 1);
        return;
    }
    FAIL("no schedule was changed");
}

TEST_CASE("schedule_pool: what is refused is counted by its reason") {
    const auto space = of_extent(24);
    const auto points = some_points(space, 4, 2);
    transfer::schedule_pool pool;
    const auto add = [&](const char* operations, const char* workload, const char* target, const decision_vector& p) {
        REQUIRE(pool.add("k", class_of(operations, workload), target, space, p, 1));
    };
    add("conv", "a", "cpu", points[0]);
    add("dense", "a", "gpu", points[1]);
    add("dense", "b", "cpu", points[2]);
    add("dense", "a", "cpu", points[3]);
    add("dense", "c", "cpu", points[3]);
    pool.add({"k", class_of("dense", "d"), "cpu", {}, 1});
    const auto asked = class_of("dense", "b");
    const auto found = pool.adapt(space, asked, "cpu");
    CHECK(found.count(refusal::other_class) == 1);
    CHECK(found.count(refusal::other_target) == 1);
    CHECK(found.count(refusal::same_workload) == 1);
    CHECK(found.count(refusal::duplicate) == 1);
    CHECK(found.count(refusal::no_common_decision) == 1);
    REQUIRE(found.points.size() == 1);
    CHECK(found.points[0].source == 3);
    CHECK(pool.adapt(space, asked, "cpu", {class_level::operations, true, true}).points.size() == 3);
    const auto elsewhere =
        pool.adapt(space, class_of("dense", "a"), "cpu", {class_level::workload, true, false}); // the kernel's own schedule of a GPU
    REQUIRE(elsewhere.points.size() == 1);
    CHECK(elsewhere.points[0].source == 1);
    CHECK(elsewhere.count(refusal::same_workload) == 2); // those of this machine, whatever their class: only the workload is asked for
    CHECK(pool.adapt(space, asked, "cpu", {class_level::workload, true, true}).points.size() == 1);
    CHECK(pool.adapt(space, class_levels(), "cpu").count(refusal::other_class) == 6);
    pool.add({"k", class_levels().set(class_level::operations, "relu6").set(class_level::structure, "e"), "cpu", pool.schedules()[0].words, 1});
    const auto like = class_levels().set(class_level::operations, "relu").set(class_level::structure, "e"); // other operations, one structure
    CHECK(pool.adapt(space, like, "cpu").points.empty());
    const auto by_structure = pool.adapt(space, like, "cpu", {class_level::structure, false, false});
    REQUIRE(by_structure.points.size() == 1);
    CHECK(by_structure.points[0].level == class_level::structure);
    CHECK(pool.adapt(space, like, "cpu", {class_level::dag, false, false}).points.empty());
    CHECK(transfer::schedule_pool().adapt(space, asked, "cpu").points.empty());
    CHECK(to_string(refusal::other_target) == "other target");
    CHECK(!pool.add("k", asked, "cpu", space, decision_vector{999}, 1));
}

TEST_CASE("schedule_pool: the fastest schedules of a task among the trials of a log") {
    const deciding_space space;
    const tuned_task task{"small"};
    const auto points = some_points(space, 5, 4);
    REQUIRE(points.size() == 5);
    std::vector<logged_trial<toy::schedule>> trials;
    const auto trial = [&](const std::string& of, const decision_vector& point, std::vector<double> seconds, outcome status = outcome::ok) {
        auto& t = trials.emplace_back();
        t.task = task_identity(tuned_task{of});
        t.schedule.numbers.assign(point.begin(), point.end());
        t.outcome.status = status;
        t.outcome.seconds = std::move(seconds);
    };
    trial("small", points[0], {5e-3});
    trial("other", points[1], {1e-4});                     // faster, but another task
    trial("small", points[2], {9e-3, 2e-3, 1e-3});         // median 2e-3
    trial("small", decision_vector{999}, {1e-3});          // no point of this space
    trial("small", points[3], {1e-5}, outcome::run_crash); // failed
    trial("small", points[2], {3e-3});                     // measured again
    trial("small", points[4], {4e-3});
    transfer::schedule_pool pool;
    const auto added = pool.add_fastest(task, space, trials, "cpu", 2);
    REQUIRE(added);
    CHECK(added->added == 2);
    CHECK(added->outside == 1);
    REQUIRE(pool.schedules().size() == 2);
    const std::size_t fastest[] = {2, 4};
    const double latencies[] = {2e-3, 4e-3};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto& s = pool.schedules()[i];
        CHECK(s.name == "small");
        CHECK(s.target == "cpu");
        CHECK(s.latency == latencies[i]);
        CHECK(s.levels.at(class_level::operations) == "dense");
        CHECK(adapt_point(space, s.words).path.values == points[fastest[i]]);
    }
    CHECK(pool.adapt(space, task_class_levels(tuned_task{"large"}), "cpu").points.size() == 2);
    CHECK(pool.adapt(space, task_class_levels(toy::task{"large"}), "cpu").count(refusal::other_class) == 2); // a task without a class

    transfer::schedule_pool all;
    CHECK(all.add_fastest(task, space, trials, "cpu", 9)->added == 3);
    CHECK(all.add_fastest(tuned_task{"none"}, space, trials, "cpu", 9)->added == 0);
    CHECK(all.add_fastest("k", class_levels(), "cpu", space,
                          std::vector<std::pair<double, toy::schedule>>{{1, trials[0].schedule}, {1, trials[4].schedule}}, 1)
              ->added == 1);
    CHECK(adapt_point(space, all.schedules().back().words).path.values == points[0]); // of equally fast ones the first
}

TEST_CASE("schedule_pool: the best by the scorer, the others by the share of the source's decisions") {
    std::vector<transfer::transferred_point> points(5);
    for (std::size_t i = 0; i < points.size(); ++i) {
        points[i].source = i;
        points[i].point = {i};
        points[i].equal = i == 3 ? 2 : 1;
        points[i].changed = 1;
    }
    points[4].level = class_level::dag;
    const auto order_of = [&](std::vector<float> given, std::size_t count, std::size_t by_score) {
        auto scorer = [&](std::span<const decision_vector> asked, std::span<float> scores) -> result<void> {
            for (std::size_t i = 0; i < asked.size(); ++i) scores[i] = given[asked[i][0]];
            return {};
        };
        const auto chosen = transfer::choose_transfers(points, scorer, count, by_score);
        REQUIRE(chosen);
        std::vector<std::size_t> out;
        for (const auto& c : *chosen) out.push_back(c.source);
        return out;
    };
    using order = std::vector<std::size_t>;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(order_of({1, 2, 3, 4, 5}, 3, 9) == order{4, 3, 2});
    CHECK(order_of({1, 2, 3, 4, 5}, 3, 1) == order{4, 3, 2}); // 3 by its share, and of the others 2 by its score
    CHECK(order_of({5, 1, 2, 3, 4}, 4, 1) == order{0, 3, 4, 2});
    CHECK(order_of({5, 1, 2, 3, 4}, 4, 0) == order{3, 0, 4, 2});
    CHECK(order_of({0, 0, 0, 0, 0}, 9, 1) == order{3, 4, 0, 1, 2}); // level, then their order
    CHECK(order_of({-infinity, std::nanf(""), 1, infinity, -1}, 9, 1) == order{3, 2, 4});
    CHECK(order_of({1, 1, 1, 1, 1}, 0, 1).empty());
    auto broken = [](std::span<const decision_vector>, std::span<float>) -> result<void> { return error{errc::invalid_argument, "no model"}; };
    CHECK(!transfer::choose_transfers(points, broken, 3));
}
