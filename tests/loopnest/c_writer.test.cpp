// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/c_writer.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <augur/loopnest/lower.hpp>
#include <augur/loopnest/operators.hpp>
#include <augur/loopnest/program_runner.hpp>

#include <doctest/doctest.h>

#include "kernels.hpp"
#include "random_schedule.hpp"

using namespace augur;

// Random schedules, as for the interpreter, but through the compiler and the runner, which compares the outputs with the evaluator's.
TEST_CASE("c_writer: random schedules compute the right result when compiled") {
    runner_options options;
    options.threads = 2;
    options.timing.repeats = 1;
    options.timing.min_repeat_seconds = 0;
    auto runner = program_runner::create(options);
    if (!runner) FAIL(runner.why().detail);
    for (const auto& text : small_kernels) {
        CAPTURE(text);
        const auto dag = dag_of(text);
        const auto [inputs, want] = evaluated(*dag);
        const auto reference = runner->make_reference(want);
        if (!reference) FAIL(reference.why().detail);
        augur::random rng(fnv1a64(text, 7));
        std::vector<program> programs;
        std::vector<loop_state> states;
        for (unsigned i = 0; i < 5; ++i) {
            states.push_back(random_schedule::sample(dag, rng, 24));
            const auto k = lower(states.back());
            REQUIRE(k);
            c_options how;
            how.id = i;
            how.vector_floats = i % 2 == 0 ? 16 : 4;
            how.vector_registers = i % 2 == 0 ? 32 : 16;
            programs.push_back(write_c(*k, how));
        }
        const auto measured = runner->measure(programs, *reference);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            CAPTURE(to_json(states[i].schedule()));
            CAPTURE(measured[i].reason);
            CHECK(to_string(measured[i].status) == to_string(outcome::ok));
        }
    }
}
