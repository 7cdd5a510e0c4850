// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/replay_runner.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/schedule/configuration.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/concepts.hpp>
#include <augur/tune/tuner.hpp>
#include <augur/tune/tuning_log.hpp>

#include "../record/logs.hpp"
#include "../space/toy.hpp"

namespace replay_runner_test {

using augur::measurement;
using augur::outcome;
using toy::schedule;
using toy::task;

namespace {
struct words {
    int form;
    void visit(auto& k) const {
        k.primitive("SP");
        switch (form) {
        case 0: k.number(std::int64_t{1}); break;
        case 1: k.number(1.0); break;
        case 2: k.name("1"); break;
        case 3: k.primitive("1"); break;
        case 4: k.number(std::int64_t{1}), k.number(std::int64_t{0}); break;
        case 5: k.number(std::int64_t{0}), k.number(std::int64_t{1}); break;
        default: break;
        }
    }
};
} // namespace

static_assert(augur::runner<augur::replay_runner, schedule, task>);

TEST_CASE("replay_runner: gives what was recorded for the task, and says what was not") {
    augur::replay_runner r;
    measurement fast;
    fast.status = outcome::ok;
    fast.seconds = {1e-3, 2e-3, 4e-3};
    measurement crash;
    crash.status = outcome::run_crash;
    r.add(augur::task_identity(task{"a"}), schedule{{1, 2}}, fast);
    r.add(augur::task_identity(task{"a"}), schedule{{1, 3}}, crash);
    const std::vector<schedule> asked{{{1, 3}}, {{1, 2}}, {{2, 1}}};
    const auto a = r.measure(task{"a"}, std::span<const schedule>(asked));
    REQUIRE(a.size() == 3);
    CHECK(a[0].status == outcome::run_crash);
    CHECK(a[1].latency() == 2e-3);
    CHECK(a[2].status == outcome::runner_error);
    CHECK(a[2].reason == "this schedule was not recorded");
    CHECK(r.measure(task{"b"}, std::span<const schedule>(asked))[1].status == outcome::runner_error);
    CHECK(r.size() == 2);
}

TEST_CASE("replay_runner: several records of a schedule are one list of latencies, and a failure counts if nothing succeeded") {
    augur::replay_runner r;
    const auto add = [&](std::int64_t n, outcome status, std::vector<double> seconds, double total) {
        measurement m;
        m.status = status;
        m.seconds = std::move(seconds);
        m.total_seconds = total;
        r.add(augur::task_identity(task{"a"}), schedule{{n}}, m);
    };
    add(1, outcome::ok, {3.0}, 10);
    add(1, outcome::ok, {1.0, 2.0}, 20);
    add(1, outcome::run_crash, {}, 99); // once among successes
    add(1, outcome::ok, {9.0, 8.0}, 60);
    add(2, outcome::run_crash, {}, 5);
    add(2, outcome::compile_error, {}, 7); // the first failure counts
    add(3, outcome::compile_error, {}, 5);
    add(3, outcome::ok, {4.0}, 8);
    CHECK(r.size() == 3);
    const std::vector<schedule> asked{{{1}}, {{2}}, {{3}}, {{4}}};
    const auto a = r.measure(task{"a"}, std::span<const schedule>(asked));
    REQUIRE(a.size() == 4);
    CHECK(a[0].seconds == std::vector<double>{3, 1, 2, 9, 8});
    CHECK(a[0].latency() == 3);
    CHECK(a[0].total_seconds == 30);
    CHECK(a[1].status == outcome::run_crash);
    CHECK(a[1].total_seconds == 5);
    CHECK(a[2].latency() == 4);
    CHECK(a[2].total_seconds == 8);
    CHECK(r.seconds() == 30 + 5 + 8); // what is not recorded costs nothing
    const auto clock = r.clock();
    static_cast<void>(r.measure(task{"a"}, std::span<const schedule>(asked).first(1)));
    CHECK(clock() == 73);
}

TEST_CASE("replay_runner: a tuner on recorded points gets what was recorded, and its times are those of the records") {
    std::vector<std::pair<augur::configuration, measurement>> records;
    augur::random_engine rng(3);
    for (std::int64_t x = 0; x < 12; ++x)
        for (std::int64_t y = 0; y < x; ++y) {
            measurement m;
            m.status = (x + y) % 7 == 0 ? outcome::run_crash : outcome::ok;
            if (m.ok()) m.seconds = {rng.uniform(1e-3, 2e-3), rng.uniform(1e-3, 2e-3)};
            m.total_seconds = static_cast<double>(1 + x); // whole numbers: sums are exact in any order
            records.push_back({augur::configuration{{{"x", x}, {"y", y}}}, m});
        }
    const auto space = augur::recorded_space::build(records, &std::pair<augur::configuration, measurement>::first);
    REQUIRE(space);
    CHECK(space->size() == records.size());
    const std::vector<task> tasks{task{"a"}};
    const std::vector<augur::recorded_space> spaces{*space};
    const auto run = [&](double limit, auto strategy) {
        augur::replay_runner runner;
        for (const auto& r : records) runner.add(augur::task_identity(tasks[0]), r.first, r.second);
        std::vector<decltype(strategy)> strategies(1, strategy);
        augur::tuning_options options;
        options.trials = 1000; // more than there are points
        options.round = 8;
        augur::tuner t(tasks, spaces, strategies, options);
        const auto summary = t.run(runner, {.stop = [&] { return runner.seconds() > limit; }, .clock = runner.clock()});
        REQUIRE(summary);
        double cost = 0;
        std::set<std::string> seen;
        for (const auto& trial : t.trials()) {
            CHECK(seen.insert(augur::to_string(trial.schedule)).second);
            bool found = false;
            for (const auto& r : records) {
                if (r.first != trial.schedule) continue;
                found = true;
                CHECK(trial.outcome.status == r.second.status);
                CHECK(trial.outcome.seconds == r.second.seconds);
                cost += r.second.total_seconds;
            }
            CHECK(found);
        }
        CHECK(summary->seconds == cost);
        CHECK(summary->measure_seconds == cost);
        CHECK(summary->interrupted == (cost > limit));
        CHECK(summary->exhausted == (cost <= limit));
        if (summary->exhausted) CHECK(seen.size() == records.size());
        return *summary;
    };
    CHECK(run(1e9, augur::random_search{}).seconds == 12 * 13 * 25 / 6 - 78); // sum of x(1 + x)
    CHECK(run(100, augur::random_search{}).seconds < 200);
    CHECK(run(1e9, augur::evolutionary<>{}).counts[static_cast<std::size_t>(outcome::run_crash)] > 0);
}

TEST_CASE("replay_runner: configurations go through a log, and a tuner goes on with it") {
    augur::tuning_archive archive;
    archive.workload = "add [64]";
    archive.device = "Some GPU";
    augur::replay_runner runner;
    for (std::int64_t i = 0; i < 40; ++i) {
        measurement m;
        m.status = outcome::ok;
        m.seconds = {1e-3 * static_cast<double>(1 + i * 17 % 40)};
        m.total_seconds = 1;
        archive.records.push_back(
            {augur::configuration{{{"x", i / 5}, {"y", 0.5 * static_cast<double>(i % 5)}, {"z", i % 2 == 0 ? "a" : "b \"c\""}}}, m});
        runner.add(augur::task_identity(archive), archive.records.back().point, m);
    }
    const std::vector<augur::tuning_archive> tasks{archive};
    const std::vector<augur::recorded_space> spaces{*augur::recorded_space::build(archive.records, &augur::measured_configuration::point)};
    const logs::folder tmp;
    const auto path = tmp / "log.jsonl";
    const augur::toolchain recorded(augur::machine_identity{}, "");
    std::vector<std::string> points[2]; // stopped after 15 trials and continued; in one go
    for (const std::size_t trials : {15U, 30U, 31U}) {
        std::vector<augur::random_search> strategies(1);
        augur::tuning_options options;
        options.trials = trials == 31 ? 30 : trials;
        options.round = 5;
        augur::tuner t(tasks, spaces, strategies, options);
        if (trials == 31) {
            REQUIRE(t.run(runner));
        } else {
            auto log = augur::open_tuning_log<augur::configuration>(path, tasks, recorded);
            REQUIRE(log);
            CHECK(log->found.trials.size() == (trials == 15 ? 0 : 15));
            t.resume(std::move(log->found.trials));
            const auto summary = t.run(runner, {.sink = augur::log_sink(log->writer, recorded)});
            REQUIRE(summary);
            CHECK(summary->measured == 15);
        }
        if (trials == 15) continue;
        for (const auto& x : t.trials()) points[trials - 30].push_back(augur::to_string(x.schedule));
    }
    CHECK(points[0] == points[1]);
    CHECK(points[0].size() == 30);
}

TEST_CASE("function_runner: a latency, or a whole measurement") {
    augur::function_runner seconds([](const task&, const schedule& s) { return 0.5 * static_cast<double>(s.numbers[0]); });
    static_assert(augur::runner<decltype(seconds), schedule, task>);
    const std::vector<schedule> asked{{{4}}, {{2}}};
    const auto m = seconds.measure(task{}, std::span<const schedule>(asked));
    REQUIRE(m.size() == 2);
    CHECK(m[0].ok());
    CHECK(m[0].latency() == 2.0);
    CHECK(m[1].latency() == 1.0);
    augur::function_runner whole([](const task&, const schedule&) { return measurement{}; });
    CHECK(whole.measure(task{}, std::span<const schedule>(asked))[1].status == outcome::runner_error);
}

TEST_CASE("hash_schedule: tells kinds, values, order and where a step begins") {
    std::vector<std::uint64_t> seen;
    for (int form = 0; form < 7; ++form) {
        CHECK(augur::hash_schedule(words{form}) == augur::hash_schedule(words{form}));
        for (const auto other : seen) CHECK(augur::hash_schedule(words{form}) != other);
        seen.push_back(augur::hash_schedule(words{form}));
    }
}

} // namespace replay_runner_test
