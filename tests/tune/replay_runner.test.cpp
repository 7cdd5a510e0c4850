// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/replay_runner.hpp>

#include <doctest/doctest.h>

#include <vector>

#include <augur/tune/concepts.hpp>

#include "../space/toy.hpp"

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
    r.add(augur::task_identity(task{"a"}), schedule{{1, 3}}, fast); // the first counts
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
