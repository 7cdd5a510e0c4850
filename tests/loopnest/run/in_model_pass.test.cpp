// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/in_model_pass.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest.hpp>
#include <augur/workload/network_graph.hpp>

#include "small_network.hpp"

#include <doctest/doctest.h>

using namespace augur;
using namespace augur::loopnest;

TEST_CASE("in-model pass: what is slower inside than alone gets the schedule with which the network is faster") {
    const auto conv = kernel::parse("conv2d:h=28,w=28,c=64,f=64,k=3,pad=1,relu");
    const auto pool = kernel::parse("global_avg_pool2d:h=28,w=28,c=64");
    REQUIRE(conv);
    REQUIRE(pool);
    const auto g = network_graph::create(
        "pass", {{"x", network_input{{1, 28, 28, 64}}, {}}, {"conv", kernel_call{*conv}, {0}}, {"pool", kernel_call{*pool}, {1}}}, {2});
    if (!g) FAIL(g.error().detail);
    const auto tasks = tasks_of(*g);
    runner_options options;
    options.threads = 1;
    options.timing.min_repeat_seconds = 0.001;
    auto programs = program_runner::create(options);
    if (!programs) FAIL(programs.error().detail);
    task_runner runner(*std::move(programs), c_options::of(detect_machine()));
    auto net = network_runner::create(runner, *g, tasks);
    if (!net) FAIL(net.error().detail);

    const auto good = untuned_schedule(*tasks[0].dag()), pooled = untuned_schedule(*tasks[1].dag());
    const step_list slow; // no step: the loops of the definition, several times slower
    const step_list illegal{{compute_inline_step{99}}};
    constexpr double unknown = std::numeric_limits<double>::infinity();
    const std::vector<double> alone{1e-9, unknown}; // faster alone than anything can be
    std::vector<step_list> schedules{slow, pooled};
    const auto trials = in_model_pass(*net, alone, std::vector<std::vector<step_list>>{{illegal, good}, {slow}}, schedules, 3);
    if (!trials) FAIL(trials.error().detail);
    REQUIRE(trials->size() == 1);
    CHECK((*trials)[0].kernel == 0);
    CHECK((*trials)[0].alternative == 1);
    CHECK((*trials)[0].kept);
    CHECK((*trials)[0].after < (*trials)[0].before);
    CHECK(schedules == std::vector<step_list>{good, pooled});

    // A slower one is not kept, and a kernel that is not slower inside, or has no other schedule, is passed over.
    const auto worse = in_model_pass(*net, alone, std::vector<std::vector<step_list>>{{slow}, {}}, schedules, 3);
    if (!worse) FAIL(worse.error().detail);
    REQUIRE(worse->size() == 1);
    CHECK_FALSE((*worse)[0].kept);
    CHECK(schedules == std::vector<step_list>{good, pooled});
    const std::vector<double> slower_alone{10, 10};
    const auto none = in_model_pass(*net, slower_alone, std::vector<std::vector<step_list>>{{slow}, {slow}}, schedules, 3);
    if (!none) FAIL(none.error().detail);
    CHECK(none->empty());

    // Lists that are not of this network, and too few rounds.
    const auto refused = [&](std::vector<double> of_alone, std::vector<std::vector<step_list>> others, std::vector<step_list> of, int rounds) {
        const auto before = of;
        const auto wrong = in_model_pass(*net, of_alone, others, of, rounds);
        REQUIRE_FALSE(wrong);
        CHECK(wrong.error().code == errc::invalid_argument);
        CHECK(of == before);
    };
    refused({1}, {{}, {}}, schedules, 3);
    refused(alone, {{}}, schedules, 3);
    refused(alone, {{}, {}}, {good}, 3);
    refused(alone, {{}, {}}, {good, pooled, pooled}, 3);
    refused(alone, {{}, {}}, schedules, 2);
    CHECK(net->program_of(std::vector<step_list>{good, pooled, pooled}).error().code == errc::invalid_argument);
    const std::vector<kernel_task> swapped{tasks[1], tasks[0]};
    CHECK(network_runner::create(runner, *g, swapped).error().code == errc::invalid_argument);
}

TEST_CASE("network latency: quartiles") {
    const auto l = network_latency::of({5, 1, 4, 2, 3});
    CHECK(l.least == 1);
    CHECK(l.low == 2);
    CHECK(l.median == 3);
    CHECK(l.high == 4);
    CHECK(l.most == 5);
    CHECK(l.spread() == doctest::Approx(2.0 / 3));
    CHECK(network_latency::of({7}).high == 7);
}
