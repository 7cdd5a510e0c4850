// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/task_scheduler.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <augur/core/json.hpp>

namespace task_scheduler_test {

using augur::scheduled_task;
using augur::task_scheduler;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct scenario {
    std::vector<double> weights;
    std::vector<double> flops;
    std::vector<std::string> groups;
    std::vector<std::int64_t> sequence;
    std::vector<std::vector<double>> gradients;
    std::vector<std::int64_t> final_counts;
    std::vector<double> final_best;
    std::vector<std::string> groups_end;
};

template <class T>
void read_list(augur::json_reader& in, std::vector<T>& out) {
    in.begin_array();
    while (in.next_element()) in.read(out.emplace_back());
}
void read_lists(augur::json_reader& in, std::vector<std::vector<double>>& out) {
    in.begin_array();
    while (in.next_element()) read_list(in, out.emplace_back());
}
void read_groups(augur::json_reader& in, std::vector<std::string>& out) {
    in.begin_array();
    while (in.next_element()) {
        if (in.peek() == augur::json_kind::null) {
            in.read_null();
            out.emplace_back();
        } else {
            std::int64_t number = 0;
            in.read(number);
            out.push_back("group " + std::to_string(number));
        }
    }
}

struct vectors {
    std::vector<std::vector<double>> curves;
    std::vector<scenario> cases;
};

vectors read_vectors() {
    std::ifstream file(AUGUR_TEST_DIR "/vectors/task_scheduler_gradient.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    vectors out;
    augur::json_reader in(text);
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "curves") {
            read_lists(in, out.curves);
        } else if (key == "cases") {
            in.begin_array();
            while (in.next_element()) {
                scenario& c = out.cases.emplace_back();
                in.begin_object();
                while (in.next_member(key)) {
                    if (key == "weights") read_list(in, c.weights);
                    else if (key == "flops") read_list(in, c.flops);
                    else if (key == "groups") read_groups(in, c.groups);
                    else if (key == "sequence") read_list(in, c.sequence);
                    else if (key == "gradients") read_lists(in, c.gradients);
                    else if (key == "final_counts") read_list(in, c.final_counts);
                    else if (key == "final_best") read_list(in, c.final_best);
                    else if (key == "groups_end") read_groups(in, c.groups_end);
                    else in.skip();
                }
            }
        } else {
            in.skip();
        }
    }
    if (!in.finish()) FAIL(in.error().detail);
    return out;
}

} // namespace

TEST_CASE("task_scheduler: sequence, gradients and groups are Ansor's") {
    const auto v = read_vectors();
    REQUIRE(v.cases.size() == 3);
    for (const scenario& c : v.cases) {
        std::vector<scheduled_task> tasks;
        for (std::size_t i = 0; i < c.weights.size(); ++i) tasks.push_back({c.weights[i], c.flops[i], c.groups[i]});
        task_scheduler s(tasks);
        for (std::size_t step = 0; step < c.sequence.size(); ++step) {
            CAPTURE(step);
            if (step >= tasks.size()) {
                const auto g = s.gradients();
                const auto& expected = c.gradients[step - tasks.size()];
                for (std::size_t i = 0; i < g.size(); ++i) CHECK(std::abs(g[i] - expected[i]) <= 1e-12 * std::abs(expected[i]));
            }
            const auto next = s.next();
            REQUIRE(next);
            REQUIRE(*next == static_cast<std::size_t>(c.sequence[step]));
            s.report(*next, 64, v.curves[*next][s.rounds(*next)]);
        }
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            CHECK(s.rounds(i) == static_cast<std::size_t>(c.final_counts[i]));
            CHECK(s.best(i) == c.final_best[i]);
            CHECK(s.group(i) == c.groups_end[i]);
        }
    }
}

TEST_CASE("task_scheduler: a slow task leaves its group") {
    task_scheduler s({{1, 1e9, "g"}, {1, 1e9, "g"}});
    s.report(0, 64, 1e-3);
    s.report(1, 64, 1e-1);
    for (int i = 0; i < 5; ++i) s.report(1, 64, 1e-1);
    CHECK(s.group(1) == "g"); // 6 rounds are not more than 5 + 1
    s.report(1, 64, 1e-1);
    CHECK(s.group(1).empty());
    CHECK(s.group(0) == "g");
    // In a group of its own it has no peer to be compared with: the forecast is g - g / t.
    CHECK(s.gradients()[0] == doctest::Approx(-0.8 * 1e-3));
}

TEST_CASE("task_scheduler: round robin, in order, without the tasks that ended") {
    augur::task_scheduler_options o;
    o.strategy = augur::scheduling::round_robin;
    task_scheduler s(std::vector<scheduled_task>(3), o);
    std::vector<std::size_t> order;
    for (int i = 0; i < 12; ++i) {
        const auto t = s.next();
        REQUIRE(t);
        order.push_back(*t);
        s.report(*t, i == 7 ? 0 : 10, 1.0);
    }
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 2, 0});
    CHECK(s.ended(1));
}

TEST_CASE("task_scheduler: ties go to the lowest number, or to chance when a generator is given") {
    auto warm = [] {
        task_scheduler s(std::vector<scheduled_task>(3));
        for (std::size_t i = 0; i < 3; ++i) s.report(i, 1, 0.5);
        return s;
    };
    auto s = warm();
    const auto g = s.gradients();
    REQUIRE(g[0] == g[1]);
    REQUIRE(g[1] == g[2]);
    CHECK(s.next() == 0);
    std::set<std::size_t> drawn;
    augur::random_engine rng(1);
    for (int i = 0; i < 50; ++i) drawn.insert(*s.next(rng));
    CHECK(drawn == std::set<std::size_t>{0, 1, 2});
}

TEST_CASE("task_scheduler: patience, of a task and of all") {
    augur::task_scheduler_options o;
    o.task_patience = 100;
    task_scheduler s(std::vector<scheduled_task>(2), o);
    s.report(0, 64, 1.0);
    s.report(1, 64, 1.0);
    s.report(0, 64, 1.0);
    CHECK(!s.ended(0)); // 64 trials without improvement
    s.report(0, 64, 1.0);
    CHECK(s.ended(0));
    CHECK(s.next() == 1);
    s.report(1, 0, inf);
    CHECK(!s.next());

    o.task_patience = 0;
    o.total_patience = 30;
    task_scheduler all(std::vector<scheduled_task>(2), o);
    all.report(0, 10, 1.0);
    all.report(1, 10, 1.0);
    CHECK(all.next());
    all.report(0, 10, 0.9);
    all.report(0, 10, 0.95);
    all.report(0, 10, 0.9);
    CHECK(all.next());
    all.report(1, 10, 1.0);
    CHECK(!all.next());
}

TEST_CASE("task_scheduler: a task without a success does not switch off the patience of all, once it has ended") {
    augur::task_scheduler_options o;
    o.total_patience = 30;
    task_scheduler s(std::vector<scheduled_task>(2), o);
    std::size_t rounds = 0;
    for (; rounds < 100; ++rounds) {
        const auto task = s.next();
        if (!task) break;
        s.report(*task, 10, *task == 0 ? 1.0 : std::numeric_limits<double>::infinity());
    }
    CHECK(s.ended(1));
    CHECK(rounds >= 4);
    CHECK(rounds < 12);
}

TEST_CASE("task_scheduler: a task that always fails neither takes the budget nor drowns the others") {
    task_scheduler s({{1, 1e9, "g"}, {1, 1e9, "g"}, {3, 1e9, ""}});
    std::vector<std::size_t> rounds(3);
    for (int i = 0; i < 60; ++i) {
        const auto t = s.next();
        REQUIRE(t);
        ++rounds[*t];
        s.report(*t, 10, *t == 1 ? inf : 1e-4 / static_cast<double>(rounds[*t]));
        if (s.rounds(2) > 0)
            for (const double g : s.gradients()) CHECK(std::isfinite(g));
    }
    CHECK(rounds[1] == 3);
    CHECK(rounds[0] > 5);
    CHECK(rounds[2] > rounds[0]);
    CHECK(s.objective() == doctest::Approx(s.best(0) + 3 * s.best(2)));
    // One that succeeds late is taken in.
    task_scheduler late(std::vector<scheduled_task>(2));
    late.report(0, 10, 1e-3);
    late.report(1, 10, inf);
    CHECK(late.next() == 1);
    late.report(1, 10, 2e-3);
    CHECK(!late.ended(1));
    CHECK(late.gradients()[1] == doctest::Approx(-0.8 * 1e-3));
}

TEST_CASE("task_scheduler: without a limit of hopeless rounds a task that always fails never ends") {
    for (const std::size_t limit : {0U, 3U}) {
        augur::task_scheduler_options o;
        o.hopeless_rounds = limit;
        task_scheduler s({scheduled_task{}}, o);
        std::size_t rounds = 0;
        for (; rounds < 500 && s.next(); ++rounds) s.report(0, 64, inf);
        CHECK(rounds == (limit == 0 ? 500 : limit));
        CHECK(s.ended(0) == (limit > 0));
    }
}

TEST_CASE("task_scheduler: alpha weighs the measured gradient against the forecast") {
    const auto gradient = [](double alpha) {
        augur::task_scheduler_options o;
        o.alpha = alpha;
        o.window = 1;
        task_scheduler s({scheduled_task{2, 0, ""}}, o);
        s.report(0, 64, 4.0);
        s.report(0, 64, 3.0);
        return s.gradients()[0];
    };
    // A weight of 2; in the last round 3 - 4; the forecast of two rounds is half of the latency: 3 - 3 / 2 - 3.
    CHECK(gradient(1) == doctest::Approx(2 * -1.0));
    CHECK(gradient(0) == doctest::Approx(2 * -1.5));
    CHECK(gradient(0.25) == doctest::Approx(2 * (0.25 * -1.0 + 0.75 * -1.5)));
}

TEST_CASE("task_scheduler: alike are kernels of one class with operations within a factor; who does not know them is alone") {
    CHECK(augur::similarity_group("conv2d", 1e9) == augur::similarity_group("conv2d", 1.01e9));
    CHECK(augur::similarity_group("conv2d", 1e9) != augur::similarity_group("conv2d", 2e9));
    CHECK(augur::similarity_group("conv2d", 1e9) != augur::similarity_group("dense", 1e9));
    CHECK(augur::similarity_group("", 1e9).empty());
    for (const double flops : {-1.0, -3.0, inf, std::numeric_limits<double>::quiet_NaN()}) CHECK(augur::similarity_group("conv2d", flops).empty());
}

TEST_CASE("task_scheduler: no tasks") {
    task_scheduler none(std::vector<scheduled_task>{});
    CHECK(!none.next());
    CHECK(none.objective() == 0);
}

} // namespace task_scheduler_test
