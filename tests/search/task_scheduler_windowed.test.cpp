// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/task_scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace task_scheduler_windowed_test {

using augur::scheduled_task;
using augur::task_scheduler;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

task_scheduler windowed(std::vector<scheduled_task> tasks, std::size_t hopeless_rounds = 3) {
    augur::task_scheduler_options o;
    o.strategy = augur::scheduling::windowed;
    o.hopeless_rounds = hopeless_rounds;
    return task_scheduler(std::move(tasks), o);
}

/// What a user of the scheduler knows of a task.
struct known_task {
    double weight = 1;
    std::vector<double> latencies; ///< best of each round by itself, seconds; 1e10 if all its trials failed
    bool ended = false;
};

/// The rule as the authors wrote it: histories that are made monotone and padded in place, all scores sorted, and a set that grows over the windows.
std::vector<std::size_t> authors_set(std::vector<known_task> tasks) {
    std::size_t running = 0;
    for (const known_task& t : tasks) running += t.ended ? 0 : 1;
    const std::size_t wanted = running / 4 + (running % 4 == 0 ? 0 : 1);
    std::vector<std::size_t> chosen;
    for (std::size_t window = 3; window < 100; ++window) {
        std::vector<std::pair<std::size_t, double>> scores;
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            if (tasks[i].ended) continue;
            std::vector<double>& history = tasks[i].latencies;
            for (std::size_t k = 1; k < history.size(); ++k) history[k] = (std::min)(history[k], history[k - 1]);
            while (history.size() < window) history.push_back(0);
            const std::vector<double> last(history.end() - static_cast<std::ptrdiff_t>(window), history.end());
            scores.emplace_back(i, (last.front() - *std::min_element(last.begin(), last.end())) * tasks[i].weight);
        }
        while (!scores.empty()) { // descending; of equal scores the first task
            const auto top = std::max_element(scores.begin(), scores.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
            if (!(top->second > 0)) break;
            if (std::find(chosen.begin(), chosen.end(), top->first) == chosen.end()) chosen.push_back(top->first);
            if (chosen.size() == wanted) return chosen;
            scores.erase(top);
        }
    }
    return chosen;
}

} // namespace

TEST_CASE("task_scheduler, windowed: the sets are those of the authors' rule, over random histories") {
    augur::random_engine rng(7);
    std::size_t sets = 0, partial = 0;
    for (std::size_t problem = 0; problem < 400; ++problem) {
        CAPTURE(problem);
        std::vector<known_task> known(1 + problem % 9);
        std::vector<scheduled_task> tasks;
        for (known_task& t : known) {
            t.weight = static_cast<double>(1 + rng.below(3));
            tasks.push_back({t.weight, 0, ""});
        }
        task_scheduler s = windowed(tasks);
        // Few distinct latencies give ties and rounds without improvement; a tenth of the rounds fails, and a fiftieth finds the space exhausted.
        const auto run_round = [&](std::size_t i) {
            known_task& t = known[i];
            const bool failed = rng.below(10) == 0;
            const double latency = 1e-3 * static_cast<double>(1 + rng.below(8));
            const std::size_t trials = rng.below(50) == 0 ? 0 : 8;
            t.latencies.push_back(failed ? 1e10 : latency);
            const bool succeeded = *std::min_element(t.latencies.begin(), t.latencies.end()) < 1e10;
            t.ended = trials == 0 || (!succeeded && t.latencies.size() >= 3);
            s.report(i, trials, failed ? inf : latency);
            REQUIRE(s.ended(i) == t.ended);
        };
        for (std::size_t i = 0; i < known.size(); ++i) {
            const auto next = s.next();
            REQUIRE(next);
            REQUIRE(*next == i); // one round each, in order
            run_round(i);
        }
        for (std::size_t n = 0; n < 12; ++n) {
            const auto expected = authors_set(known);
            if (expected.empty()) break;
            ++sets;
            std::size_t running = 0;
            for (const known_task& t : known) running += t.ended ? 0 : 1;
            REQUIRE(expected.size() <= (running + 3) / 4);
            if (expected.size() < (running + 3) / 4) ++partial;
            for (const std::size_t i : expected) { // no task of a set ends before its turn: only its own round ends it
                const auto next = s.next();
                REQUIRE(next);
                REQUIRE(*next == i);
                run_round(i);
            }
        }
        if (std::all_of(known.begin(), known.end(), [](const known_task& t) { return t.ended; })) CHECK(!s.next());
    }
    CHECK(sets > 2000);
    CHECK(partial == 0); // with fewer than 99 rounds a task has a score in some window
}

TEST_CASE("task_scheduler, windowed: a quarter of the tasks at a time, and a wider window fills the set") {
    // Equal latencies without improvement, weights 1 to 5: a score is the weight while the task has fewer rounds than the window, else 0.
    std::vector<scheduled_task> tasks;
    for (std::size_t i = 0; i < 5; ++i) tasks.push_back({static_cast<double>(i + 1), 0, ""});
    task_scheduler s = windowed(tasks);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < 19; ++i) {
        const auto next = s.next();
        REQUIRE(next);
        order.push_back(*next);
        s.report(*next, 8, 1.0);
    }
    // Five single rounds, then sets of two. In a window of 3 each task has a score for two more rounds; task 0, the last one, shares its sets with
    // the heaviest tasks of a window of 4.
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4, 4, 3, 4, 3, 2, 1, 2, 1, 0, 4, 0, 3, 2, 1});
}

TEST_CASE("task_scheduler, windowed: the task that gained most in its last three rounds, times its weight") {
    task_scheduler s = windowed({{1, 0, ""}, {3, 0, ""}, {1, 0, ""}});
    const std::vector<std::vector<double>> latencies{{9, 9, 4}, {5, 4, 3}, {8, 2, 2}}; // gains 5, 3 * 2 and 6
    for (std::size_t turn = 0; turn < 3; ++turn)
        for (std::size_t i = 0; i < 3; ++i) s.report(i, 8, latencies[i][turn]);
    CHECK(s.next() == 1); // as much as task 2, which comes later
    s.report(1, 8, 3);    // its gain is now 3 * 1
    CHECK(s.next() == 2);
    s.report(2, 8, 2); // 0
    CHECK(s.next() == 0);
}

TEST_CASE("task_scheduler, windowed: without any gain in 99 rounds the tasks take turns, until one gains") {
    task_scheduler s = windowed(std::vector<scheduled_task>(2));
    const auto run_round = [&] {
        const auto next = s.next();
        REQUIRE(next);
        s.report(*next, 8, 1.0);
        return *next;
    };
    for (std::size_t i = 0; i < 198; ++i) run_round();
    CHECK(s.rounds(0) == 99);
    CHECK(s.rounds(1) == 99);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < 6; ++i) order.push_back(run_round());
    CHECK(order == std::vector<std::size_t>{0, 1, 0, 1, 0, 1});
    CHECK(s.next() == 0);
    s.report(0, 8, 1.0);
    CHECK(s.next() == 1);
    s.report(1, 8, 0.5);
    CHECK(s.next() == 1);
    s.report(1, 0, inf); // its space is exhausted
    for (std::size_t i = 0; i < 5; ++i) CHECK(run_round() == 0);
    s.report(0, 0, inf);
    CHECK(!s.next());
}

TEST_CASE("task_scheduler, windowed: a task that always fails comes first, until it ends") {
    for (const std::size_t limit : {std::size_t{0}, std::size_t{3}}) {
        CAPTURE(limit);
        task_scheduler s = windowed(std::vector<scheduled_task>(8), limit); // sets of two
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < 48; ++i) {
            const auto next = s.next();
            REQUIRE(next);
            order.push_back(*next);
            s.report(*next, 8, *next == 5 ? inf : 1.0);
        }
        std::size_t failing = 0;
        for (std::size_t i = 8; i < order.size(); ++i) {
            const bool first = i % 2 == 0 && (limit == 0 || i < 12); // rounds 2 and 3 of the task are in the first two sets
            CHECK((order[i] == 5) == first);
            failing += order[i] == 5 ? 1 : 0;
        }
        CHECK(failing == (limit == 0 ? 20U : 2U));
        CHECK(s.ended(5) == (limit > 0));
    }
    // All tasks fail: all end, or none does.
    for (const std::size_t limit : {std::size_t{0}, std::size_t{3}}) {
        task_scheduler s = windowed(std::vector<scheduled_task>(5), limit);
        std::size_t rounds = 0;
        for (; rounds < 500; ++rounds) {
            const auto next = s.next();
            if (!next) break;
            s.report(*next, 8, inf);
        }
        CHECK(rounds == (limit == 0 ? 500U : 15U));
    }
}

TEST_CASE("task_scheduler, windowed: tasks that end are left out, also those of a set that is not finished") {
    task_scheduler s = windowed(std::vector<scheduled_task>(8)); // sets of two
    for (std::size_t i = 0; i < 8; ++i) s.report(i, 8, 1.0);
    CHECK(s.next() == 0); // of the set 0, 1
    s.report(0, 8, 1.0);
    s.report(1, 0, inf); // ends before its turn, e.g. by records of an earlier run
    for (std::size_t i = 0; i < 60; ++i) {
        const auto next = s.next();
        REQUIRE(next);
        CHECK(*next != 1);
        s.report(*next, 8, 1.0);
    }
    // Without weight there is no score: the tasks take turns.
    task_scheduler light = windowed({{0, 0, ""}, {0, 0, ""}, {0, 0, ""}});
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < 9; ++i) {
        const auto next = light.next();
        REQUIRE(next);
        order.push_back(*next);
        light.report(*next, 8, 1.0);
    }
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0, 1, 2});
    task_scheduler none = windowed({});
    CHECK(!none.next());
}

} // namespace task_scheduler_windowed_test
