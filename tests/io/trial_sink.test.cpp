// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/trial_sink.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <augur/io/ansor_log.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <doctest/doctest.h>

#include "lines.hpp"
#include "same.hpp"

namespace trial_sink_test {

using namespace augur;

namespace {

struct archetype { // exactly the contract and nothing more
    explicit archetype(std::size_t& n) : trials(n) {}
    archetype(const archetype&) = delete;
    archetype& operator=(const archetype&) = delete;
    std::uint32_t task(const logged_task&) { return 7; }
    std::uint32_t step(const step_list&) { return 9; }
    result<void> add(const record_view& trial) {
        CHECK(trial.task_number == 7);
        for (const auto number : trial.steps) CHECK(number == 9);
        ++trials;
        return {};
    }
    std::size_t& trials;
};
struct no_result : archetype {
    void add(const record_view&) {}
};
struct wide_numbers : archetype {
    std::uint64_t step(const step_list&) { return 9; }
};

struct of_knobs { // a sink of another schedule type
    std::uint32_t task(const logged_task&);
    std::uint32_t step(const autotvm_config&);
    result<void> add(const record_view&);
};

static_assert(trial_sink<archetype>);
static_assert(trial_sink<of_knobs, autotvm_config> && !trial_sink<of_knobs> && !trial_sink<archetype, autotvm_config>);
static_assert(!trial_sink<no_result> && !trial_sink<wide_numbers> && !trial_sink<const archetype> && !trial_sink<int>);

} // namespace

TEST_CASE("trial_sink: a trial has the numbers that the sink gave") {
    const std::string text = lines::tvm_line(0) + "\n" + lines::tvm_line(1) + "\n";
    same::memory_source source{text};
    std::size_t trials = 0;
    archetype sink(trials);
    ansor_log_reader<archetype> reader("log", sink);
    REQUIRE(reader.read(source));
    CHECK(trials == 2);
}

} // namespace trial_sink_test
