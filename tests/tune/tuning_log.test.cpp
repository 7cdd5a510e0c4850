// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tune/tuning_log.hpp>

#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../record/logs.hpp"
#include "../space/toy.hpp"

namespace tuning_log_test {

using toy::task;

TEST_CASE("tuning_log: one call opens a log, takes its trials, and says by reason what it passes over") {
    const logs::folder tmp;
    const std::string path = tmp / "a.log";
    const augur::toolchain made_with(logs::compiled_by("cc 1.0"), "-O");
    const std::vector<task> tasks{{"conv", 3}};
    const auto steps = [](std::int64_t stage) {
        augur::step_list s;
        s.steps.emplace_back(augur::compute_inline_step{stage});
        return s;
    };
    augur::measurement m;
    m.status = augur::outcome::ok;
    m.seconds = {1e-3};
    {
        auto log = augur::open_tuning_log(path, tasks, made_with); // a new one
        REQUIRE(log);
        CHECK(log->found.trials.empty());
        CHECK(log->passed_over().empty());
        augur::log_sink sink(log->writer, made_with), other(log->writer, {logs::compiled_by("cc 2.0"), "-O"});
        REQUIRE(sink(tasks[0], steps(1), m));
        REQUIRE(sink(tasks[0], steps(2), m));
        REQUIRE(sink(task{"dense"}, steps(1), m));
        REQUIRE(other(tasks[0], steps(3), m));
        REQUIRE(other(tasks[0], steps(4), m));
        const auto second = augur::open_tuning_log(path, tasks, made_with);
        CHECK(second.error().code == augur::errc::busy);
    }
    {
        std::ofstream out(path, std::ios::app);
        out << "no record\n{\"i\": [[\"conv"; // a damaged line and an unfinished record
    }
    auto log = augur::open_tuning_log(path, tasks, made_with);
    REQUIRE(log);
    REQUIRE(log->found.trials.size() == 2);
    CHECK(augur::hash_schedule(log->found.trials[1].schedule) == augur::hash_schedule(steps(2)));
    const auto said = log->passed_over();
    REQUIRE(said.size() == 4);
    CHECK(said[0] == path + ": 1 records are of other kernels and are passed over");
    CHECK(said[1] ==
          path + ": 2 records are of another compiler or other flags and are passed over; the first: compiler: expected 'cc 1.0', got 'cc 2.0'");
    CHECK(said[2].starts_with(path + ": 1 lines are damaged and are passed over; the first: "));
    CHECK(said[2].find(log->first_bad_line) != std::string::npos);
    CHECK(said[3] == path + ": 13 bytes of an unfinished record at the end were cut off");
    CHECK(augur::open_tuning_log(tmp / "no/such.log", tasks, made_with).error().code == augur::errc::not_found);
}

} // namespace tuning_log_test
