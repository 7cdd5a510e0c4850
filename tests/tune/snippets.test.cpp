// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C++ blocks of tune/.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/thread_pool.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/schedule/configuration.hpp>
#include <augur/search/random.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/replay_runner.hpp>
#include <augur/tune/tuner.hpp>
#include <augur/tune/tuning_log.hpp>

#include <doctest/doctest.h>

#include "../record/logs.hpp"

namespace snippets_test {

using namespace augur;

namespace {

using augur::loopnest::ansor_space;
using augur::loopnest::kernel_task;

struct constant_model {
    static constexpr score_meaning meaning = score_meaning::rank;
    static result<void> score(const kernel_task&, std::span<const step_list>, std::span<float> scores) {
        std::ranges::fill(scores, 0.0F);
        return {};
    }
};
measurement one_millisecond_measured() {
    measurement m;
    m.status = outcome::ok;
    m.seconds = {1e-3};
    return m;
}
measurement one_millisecond(const kernel_task&, const step_list&) { return one_millisecond_measured(); }
/// What a user has before a tuner is made: two small kernels, measured by a function.
struct two_kernels {
    std::vector<kernel_task> tasks;
    std::vector<ansor_space> spaces;
    std::vector<random_search> strategies{random_search{}, random_search{}};
    tuning_options options;
    function_runner<decltype(&one_millisecond)> runner{&one_millisecond};
    two_kernels() {
        for (const char* text : {"dense:m=16,n=32,k=16", "dense:m=16,n=48,k=16"}) {
            tasks.push_back(*kernel_task::create(*kernel::parse(text), {}));
            spaces.push_back(*ansor_space::create(tasks.back().dag()));
        }
    }
};
result<tuning_summary> tune_with_log(const std::string& path, std::size_t trials) {
    two_kernels setting;
    setting.options.trials = trials;
    const auto& tasks = setting.tasks;
    auto& runner = setting.runner;
    augur::tuner tuner(tasks, setting.spaces, setting.strategies, setting.options);
#include <snippets/tune/tuning_log.hpp.1.inc>
    return summary;
}

} // namespace

TEST_CASE("snippets: a tuner with a sink and a stop") {
    two_kernels setting;
    auto& [tasks, spaces, strategies, options, runner] = setting;
    options.trials = 10;
    constant_model model;
    thread_pool_executor executor(2);
    std::vector<logged_trial<step_list>> records;
    std::size_t logged = 0;
    const auto log = [&](const kernel_task&, const step_list&, const measurement&) { return ++logged, result<void>{}; };
    const auto stop_requested = [] { return false; };
#include <snippets/tune/tuner.hpp.1.inc>
    REQUIRE(summary);
    CHECK(logged == 20); // trials are of each task, on average
    CHECK(t.trials().size() == 20);
}

TEST_CASE("snippets: a tuner goes on with a log") {
    const logs::folder tmp;
    REQUIRE(tune_with_log(tmp / "a.log", 4));
    REQUIRE(tune_with_log(tmp / "a.log", 8));
    const toolchain made_with(identify(detect_machine(), "x86-64-v3", 1, "my compiler 1.0"), "-O3");
    const auto log = open_tuning_log(tmp / "a.log", two_kernels().tasks, made_with);
    REQUIRE(log);
    CHECK(log->found.trials.size() == 16);
    CHECK_FALSE(tune_with_log(tmp / "no/such/folder", 4));
}

TEST_CASE("snippets: a tuner on recorded measurements") {
    tuning_archive archive;
    archive.workload = "add";
    for (std::int64_t x = 1; x <= 20; ++x)
        archive.records.push_back({configuration{{{"x", x}}}, one_millisecond_measured()}), archive.records.back().measured.total_seconds = 2;
    const std::vector<tuning_archive> tasks{archive};
    const std::vector<recorded_space> spaces{*recorded_space::build(archive.records, &measured_configuration::point)};
    std::vector<random_search> strategies(1);
    tuning_options options;
    options.trials = 12;
    augur::tuner tuner(tasks, spaces, strategies, options);
#include <snippets/tune/replay_runner.hpp.1.inc>
    REQUIRE(summary);
    CHECK(summary->seconds == 24);
    CHECK(summary->counts[0] == 12);
}

} // namespace snippets_test
