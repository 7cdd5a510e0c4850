// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/task_runner.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest.hpp>
#include <augur/tune/concepts.hpp>

#include <augur/loopnest/schedule/untuned_schedule.hpp>

#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;

static_assert(runner<task_runner, step_list, kernel_task>);

TEST_CASE("task_runner: legal schedules are measured and checked, others say why not") {
    const auto k = kernel::parse("conv2d:h=9,w=7,c=6,f=10,k=3,pad=1,bias,relu");
    REQUIRE(k);
    const auto t = kernel_task::create(*k, hardware_params{}, 3);
    REQUIRE(t);
    CHECK(std::string(t->key()) == k->workload_key());
    CHECK(t->weight() == 3);
    CHECK(t->bytes() == 4 * (9 * 7 * 6 + 3 * 3 * 6 * 10 + 10 + 9 * 7 * 10)); // each input once, the output once

    runner_options options;
    options.threads = 2;
    options.timing.min_repeat_seconds = 0;
    auto programs = program_runner::create(options);
    if (!programs) FAIL(programs.error().detail);
    task_runner runner(std::move(*programs), c_options::of(detect_machine()));
    CHECK(runner.naive_seconds(*t) > 1e9); // not run yet

    std::vector<step_list> candidates{augur::loopnest::untuned_schedule(*t->dag()), step_list{}, step_list{{compute_inline_step{99}}}};
    const auto measured = runner.measure(*t, candidates);
    REQUIRE(measured.size() == 3);
    for (std::size_t i = 0; i < 2; ++i) {
        CAPTURE(measured[i].reason);
        CHECK(to_string(measured[i].status) == to_string(outcome::ok));
        CHECK(measured[i].latency() > 0);
        CHECK(measured[i].max_error <= 1);
    }
    CHECK(to_string(measured[2].status) == to_string(outcome::illegal_schedule));
    CHECK(measured[2].reason == "step 0 (CI): stage 99 of 7");
    CHECK(runner.naive_seconds(*t) < 1);
    CHECK(runner.measure(*t, {}).empty());
}

TEST_CASE("task_runner: the tolerance follows the longest reduction, and the constant matrices of Winograd's convolution") {
    const auto absolute = [](const char* text) {
        const auto k = kernel::parse(text);
        REQUIRE(k);
        const auto dag = build_dag(*k);
        REQUIRE(dag);
        return tolerance_of(*dag).absolute;
    };
    CHECK(absolute("conv2d:h=9,w=7,c=6,f=10,k=3,pad=1,bias,relu") == doctest::Approx(1e-5 * std::sqrt(54)));
    CHECK(absolute("softmax:m=4,n=100") == doctest::Approx(1e-4));
    CHECK(absolute("elementwise:h=4,w=4,c=4,relu") == doctest::Approx(1e-5));
    // Sums of squares of the transforms' columns, on average over the columns, for both axes.
    const double a4 = (5 + 6.25 + 18.0625 + 67.015625) / 4, b4 = (10.5 + 8.5 + 8.5 + 10 + 2.5 + 10.5) / 6;
    CHECK(absolute("conv2d_winograd:h=9,w=7,c=6,f=10,pad=1,relu") == doctest::Approx(1e-5 * std::sqrt(6.0) * a4 * b4));
    CHECK(absolute("conv2d_winograd:h=9,w=7,c=6,f=10,pad=1,tile=2") == doctest::Approx(1e-5 * std::sqrt(6.0) * 3 * 2));
}

TEST_CASE("task_runner: the example of the README measures the untuned schedule") {
    std::vector<measurement> out;
    const auto run = [&] {
#include <snippets/loopnest/README.md.1.inc>
        out = measured;
        return 0;
    };
    REQUIRE(run() == 0);
    REQUIRE(out.size() == 1);
    CHECK(out[0].ok());
}
