// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/trial_log.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/search/random.hpp>
#include <augur/tune/replay_runner.hpp>
#include <augur/tune/tuning_log.hpp>
#include <doctest/doctest.h>

#include "../record/logs.hpp"
#include "../space/toy.hpp"

// A language of somebody else's: its schedules are not Ansor's steps, its tasks say nothing but their name.
template <>
struct augur::schedule_traits<toy::schedule> {
    static void visit(const toy::schedule& s, auto& sink) { s.visit(sink); }
    static result<toy::schedule> rebuild(const toy::task&, std::span<const schedule_item> items) {
        toy::schedule out;
        for (const auto& i : items) {
            if (i.type == schedule_item::kind::integer) out.numbers.push_back(i.integer);
            else if (i.type != schedule_item::kind::primitive) return error{errc::illegal_schedule, "expected numbers alone"};
        }
        if (out.numbers.size() != 6) return error{errc::illegal_schedule, "expected six numbers"};
        return out;
    }
};

struct named { // a schedule that is a name
    std::string text;
    void visit(auto& sink) const {
        sink.primitive("N");
        sink.name(text);
    }
};
template <>
struct augur::schedule_traits<named> {
    static void visit(const named& s, auto& sink) { s.visit(sink); }
    static result<named> rebuild(const toy::task&, std::span<const schedule_item> items) { return named{items[1].text}; }
};

static_assert(augur::record_sink<augur::log_sink, toy::schedule, toy::task>);
static_assert(!augur::loggable_task<toy::task>);

namespace {

using toy::schedule;
using toy::task;
using trials = std::set<std::pair<std::size_t, std::uint64_t>>;

const augur::toolchain made_with(logs::compiled_by("cc 1.0"), "-O");

trials run(const std::string& path, std::size_t most, std::size_t& measured) {
    const std::vector<task> tasks{{"conv", 3}, {"dense", 1}};
    const std::vector<toy::grid> spaces(2);
    std::vector<augur::random_search> strategies(2);
    augur::tuning_options o;
    o.trials = 30; // of each task
    o.round = 6;
    o.seed = 4;
    augur::tuner t(tasks, spaces, strategies, o);
    auto old = augur::read_trials<schedule>(path, tasks, made_with);
    if (old) {
        CHECK(old->other_schedule == 0);
        t.resume(std::move(old->trials));
    }
    auto log = augur::log_writer::open(path, augur::durability::none);
    REQUIRE(log);
    augur::function_runner runner([&](const task&, const schedule& s) {
        ++measured;
        return 1e-3 * (1 + std::abs(static_cast<double>(s.numbers[0] - 5)));
    });
    REQUIRE(t.run(runner, {.sink = augur::log_sink(*log, made_with), .stop = [&] { return measured >= most; }}));
    trials out;
    for (const auto& x : t.trials()) out.emplace(x.task, augur::hash_schedule(x.schedule));
    return out;
}

} // namespace

TEST_CASE("trial_log: a run in somebody else's language is logged, and goes on from its log to the same trials") {
    const logs::folder tmp;
    std::size_t measured = 0;
    const auto whole = run(tmp / "whole.log", 1000, measured);
    CHECK(whole.size() == 60);
    CHECK(measured == 60);
    measured = 0;
    CHECK(run(tmp / "broken.log", 25, measured).size() < 60);
    const std::size_t before = std::exchange(measured, 0);
    CHECK(run(tmp / "broken.log", 1000, measured) == whole);
    CHECK(before + measured == 60);
    measured = 0;
    CHECK(run(tmp / "broken.log", 1000, measured) == whole);
    CHECK(measured == 0);
}

TEST_CASE("trial_log: what is not of this run is counted, with the first reason") {
    const logs::folder tmp;
    const std::vector<task> tasks{{"conv", 3}};
    {
        auto log = augur::log_writer::open(tmp / "a.log", augur::durability::none);
        REQUIRE(log);
        augur::log_sink sink(*log, made_with);
        augur::measurement m;
        m.status = augur::outcome::ok;
        m.seconds = {1e-3};
        REQUIRE(sink(tasks[0], schedule{{1, 2, 3, 4, 5, 6}}, m));
        CHECK(sink(tasks[0], schedule{{1, 2}}, m).error().detail ==
              "log: expected a schedule that is rebuilt as it was, with names in UTF-8, got expected "
              "six numbers");
        CHECK(sink(tasks[0], named{"\xff"}, m).error().detail.ends_with("with names in UTF-8, got another one back"));
        REQUIRE(sink(tasks[0], augur::to_logged(schedule{{1, 2}}), m)); // of a space of before
        REQUIRE(sink(task{"dense"}, schedule{{1, 2, 3, 4, 5, 6}}, m));
        augur::log_sink other(*log, {logs::compiled_by("cc 2.0"), "-O"});
        REQUIRE(other(tasks[0], schedule{{1, 2, 3, 4, 5, 6}}, m));
        augur::step_list ansor;
        ansor.steps.emplace_back(augur::compute_inline_step{1});
        REQUIRE(sink(tasks[0], ansor, m));
    }
    const auto old = augur::read_trials<schedule>(tmp / "a.log", tasks, made_with);
    REQUIRE(old);
    REQUIRE(old->trials.size() == 1);
    CHECK(old->trials[0].task == augur::task_identity(tasks[0]));
    CHECK(old->trials[0].schedule.numbers == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
    CHECK(old->other_task == 1);
    CHECK(old->other_toolchain == 1);
    CHECK(old->other_schedule == 2);
    CHECK(old->first_other_schedule == "expected six numbers");
}

TEST_CASE("trial_log: records of another machine are kept apart, each field counts") {
    const logs::folder tmp;
    const std::vector<task> tasks{{"conv", 3}, {"dense", 1}};
    const augur::machine_identity here{"AuthenticAMD", "26", "2", "AMD EPYC", "x86-64-v4", "2", "L1 48K", "cc 1.0"};
    const auto of = [&](std::string augur::machine_identity::* field, const char* value) {
        auto other = here;
        other.*field = value;
        return other;
    };
    using id = augur::machine_identity;
    const std::vector<id> others{of(&id::vendor, "GenuineIntel"), of(&id::family, "25"), of(&id::model, "17"),      of(&id::model_name, "another"),
                                 of(&id::isa, "x86-64-v3"),       of(&id::threads, "4"), of(&id::caches, "L1 32K"), logs::compiled_by("cc 1.0")};
    augur::measurement m;
    m.status = augur::outcome::ok;
    m.seconds = {1e-3};
    {
        auto log = augur::log_writer::open(tmp / "a.log", augur::durability::none);
        REQUIRE(log);
        augur::log_sink own(*log, {here, "-O"});
        for (const auto& o : others) {
            augur::log_sink sink(*log, {o, "-O"});
            REQUIRE(sink(tasks[0], schedule{{1, 2, 3, 4, 5, 6}}, m));
            REQUIRE(own(tasks[1], schedule{{1, 2, 3, 4, 5, 6}}, m));
            REQUIRE(sink(tasks[1], schedule{{6, 2, 3, 4, 5, 6}}, m));
        }
        augur::log_sink compiler(*log, {of(&id::compiler, "cc 2.0"), "-O"});
        REQUIRE(compiler(tasks[0], schedule{{1, 2, 3, 4, 5, 6}}, m));
    }
    const auto old = augur::read_trials<schedule>(tmp / "a.log", tasks, {here, "-O"});
    REQUIRE(old);
    CHECK(old->trials.size() == others.size());
    for (const auto& t : old->trials) CHECK(t.task == augur::task_identity(tasks[1]));
    CHECK(old->other_toolchain == 1);
    REQUIRE(old->other_machines.size() == others.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
        CHECK(old->other_machines[i].machine == others[i]);
        REQUIRE(old->other_machines[i].trials.size() == 2);
        CHECK(old->other_machines[i].trials[1].schedule.numbers[0] == 6);
    }
    const auto there = augur::read_trials<schedule>(tmp / "a.log", tasks, {others[3], "-O"}); // the other way round
    REQUIRE(there);
    CHECK(there->trials.size() == 2);

    const auto log = augur::open_tuning_log<schedule>(tmp / "a.log", tasks, {here, "-O"});
    REQUIRE(log);
    const auto said = log->passed_over();
    REQUIRE(said.size() == others.size() + 1);
    CHECK(said[1] == tmp / "a.log" + ": 2 records are of another machine (family: expected '26', got '25') and are passed over");
    CHECK(said[7].find("(vendor: expected 'AuthenticAMD', got 'unknown')") != std::string::npos);
}
