// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop with the parts that tune real kernels, but for the measuring: Ansor's space, evolution under a TLP that learns on the way, oneTBB.
#include <augur/tune/tuner.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/tlp/online.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/tbb/executor.hpp>
#include <augur/tune/replay_runner.hpp>

namespace tlp_test {

namespace {

using augur::step_list;
using augur::loopnest::kernel_task;
using executor = augur::tbb_executor;
using model = augur::tlp::online_model<step_list, kernel_task, executor>;

// Seconds that follow from the steps: long innermost tiles are good, and there is noise.
augur::measurement pretend(const kernel_task& t, const step_list& s) {
    double y = 0;
    for (const auto& step : s.steps)
        if (const auto* split = std::get_if<augur::split_step>(&step)) y += std::abs(std::log2(static_cast<double>(split->lengths.back())) - 3);
    const auto noise = static_cast<double>(augur::hash_schedule(s) % 1000) / 2000;
    augur::measurement m;
    m.status = augur::outcome::ok;
    m.seconds = {t.flops() * 1e-10 * std::exp(0.2 * y + noise)};
    return m;
}

struct result_of_run {
    std::vector<std::pair<std::size_t, std::uint64_t>> proposed;
    std::size_t trainings = 0;
};

template <class Runner>
result_of_run tune(std::size_t threads, Runner& runner, std::vector<augur::logged_trial<step_list>>* written = nullptr,
                   std::vector<augur::logged_trial<step_list>> records = {}) {
    std::vector<kernel_task> tasks;
    std::vector<augur::loopnest::ansor_space> spaces;
    for (const char* text : {"dense:m=16,n=64,k=64", "conv2d:n=1,h=14,w=14,c=16,f=32,k=3,stride=1,pad=1,layout=nhwc,relu"}) {
        auto kernel = augur::kernel::parse(text);
        REQUIRE(kernel);
        auto t = kernel_task::create(*kernel, {});
        REQUIRE(t);
        auto space = augur::loopnest::ansor_space::create(t->dag());
        REQUIRE(space);
        tasks.push_back(std::move(*t));
        spaces.push_back(std::move(*space));
    }
    executor pool(threads);
    augur::evolutionary_options search;
    search.population = 96;
    search.generations = 2;
    std::vector<augur::evolutionary<executor>> strategies(2, augur::evolutionary<executor>(search, pool));
    augur::tlp::online_options learning;
    learning.first_update = 24;
    model tlp(pool, learning);
    augur::tuning_options options;
    options.trials = 32; // of each task
    options.round = 8;
    options.seed = 7;
    augur::tuner t(tasks, spaces, strategies, tlp, pool, options);
    t.resume(std::move(records));
    auto summary = t.run(runner, {.sink = [&](const kernel_task& task, const step_list& s, const augur::measurement& m) -> augur::result<void> {
                             if (written != nullptr) written->push_back({augur::task_identity(task), s, m});
                             return {};
                         }});
    REQUIRE(summary);
    CHECK(summary->trials == 64);
    CHECK(summary->model_errors == 0);
    CHECK(summary->unrealised == 0);
    CHECK(summary->repeated == 0);
    result_of_run out;
    for (const auto& x : t.trials()) out.proposed.emplace_back(x.task, augur::hash_schedule(x.schedule));
    out.trainings = tlp.trainings();
    return out;
}

} // namespace

TEST_CASE("tuner with TLP: given the same measurements, 1 and 2 threads propose the same candidates, resumed or not") {
    augur::function_runner live(pretend);
    std::vector<augur::logged_trial<step_list>> log;
    const auto first = tune(1, live, &log);
    CHECK(first.trainings == 2); // after 24 and 48
    augur::replay_runner replay;
    for (const auto& r : log) replay.add(r.task, r.schedule, r.outcome);
    const auto two = tune(2, replay);
    CHECK(two.proposed == first.proposed);
    log.resize(37); // killed in the middle of a round
    const auto resumed = tune(2, replay, nullptr, log);
    CHECK(resumed.proposed == first.proposed);
    CHECK(resumed.trainings == 2);
}

} // namespace tlp_test
