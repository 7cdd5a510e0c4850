// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `hybrid` from outside, on its two small kernels: kill -9, what the work folder holds, the table, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_HYBRID_PROGRAM // else there is no Boost or no XGBoost

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <augur/record/log_reader.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/target/machine_presets.hpp>

#include "child_program.hpp"
#include "console.hpp"

namespace hybrid_test {

namespace {

int run(const scratch& folder, strings arguments) { return wait_for(start(folder, AUGUR_HYBRID_PROGRAM, std::move(arguments))); }

// Records of a log, by kernel.
std::map<std::string, std::vector<augur::record>> records_of(const std::string& path) {
    std::map<std::string, std::vector<augur::record>> out;
    auto reader = augur::log_reader::open(path);
    REQUIRE(reader);
    for (augur::record r;;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        out[r.task.workload_key].push_back(r);
    }
    CHECK(reader->summary().bad == 0);
    return out;
}

} // namespace

TEST_CASE("hybrid: every wrong argument is one sentence and exit code 2") {
    const scratch folder("hybrid-test");
    const std::vector<std::pair<strings, std::string>> rows{
        {{"--quick"}, "--machine is needed"},
        {{"--quick", "--machine", "/no/such", "--work", folder / "w"}, "/no/such"},
        {{"--quick", "--machine", "epyc-zen4", "--kernels", "2"}, "does not go with --kernels"},
        {{"--machine", "epyc-zen4", "--trials", "1"}, "--trials: expected a whole number"},
        {{"--quick", "--machine", "epyc-zen4", "--work", "/proc/none"}, "/proc/none"},
    };
    check_refusals(folder, AUGUR_HYBRID_PROGRAM, rows);
}

TEST_CASE("hybrid: killed at any moment it goes on; Crop and the hybrid begin alike; the table is of the logs") {
    const scratch folder("hybrid-test");
    const std::string work = folder / "work";
    const strings arguments{"--quick", "--machine", "epyc-zen4",    "--trials", "8",      "--round", "4",
                            "--seeds", "1",         "--population", "32",       "--work", work};
    const pid_t child = start(folder, AUGUR_HYBRID_PROGRAM, arguments);
    REQUIRE(kill_when(child, [&] { return lines_in(work + "/crop-1.jsonl") > 3; })); // in the second search
    REQUIRE(run(folder, arguments) == 0);
    const auto said = contents(folder / "out");
    CAPTURE(said);
    std::map<std::string, std::map<std::string, std::vector<augur::record>>> logs;
    for (const char* id : {"random", "crop", "trees", "hybrid"}) {
        logs[id] = records_of(work + "/" + id + "-1.jsonl");
        CHECK(logs[id].size() == 2);
        for (const auto& [key, records] : logs[id]) CHECK(records.size() == 8);
    }
    std::size_t alike = 0; // records of the first round, where the hybrid has learned nothing
    for (const auto& [key, records] : logs["crop"])
        for (std::size_t i = 0; i < 4; ++i) alike += records[i].schedule == logs["hybrid"][key][i].schedule ? 1 : 0;
    CHECK(alike == 8);
    for (const auto& [key, records] : logs["random"]) {
        double best = 1e9;   // of all searches: the table says it in milliseconds
        double random = 1e9; // of the random ones and the untuned schedule, with which the others begin
        for (const auto& [id, log] : logs) {
            for (const auto& r : log.at(key)) best = (std::min)(best, r.measured.latency());
            if (id != "random") random = (std::min)(random, log.at(key).front().measured.latency());
        }
        for (const auto& r : records) random = (std::min)(random, r.measured.latency());
        CHECK(contains(said, examples::milliseconds(best)));
        CHECK(contains(said, examples::text_of("  %.3f", random / best)));
    }
    for (const char* row : {"\nrandom  ", "\nCrop alone  ", "\nlearned alone  ", "\nhybrid  "}) CHECK(contains(said, row));
    REQUIRE(run(folder, arguments) == 0); // from the logs alone
    CHECK(contents(folder / "out") == said);
    auto others = arguments;
    others[4] = "12";
    CHECK(run(folder, others) == 2);
    CHECK(contains(contents(folder / "err"), "holds searches with other settings ('candidates 8 in rounds of 4'"));
}

TEST_CASE("hybrid: the content of the machine file must stay the same, not its name") {
    const scratch folder("hybrid-test");
    const std::string work = folder / "work", file = folder / "machine.json";
    const strings arguments{"--quick", "--machine", file, "--work", work};
    auto machine = *augur::machine_preset("epyc-zen4");
    std::ofstream(file) << augur::machine_to_json(machine);
    REQUIRE(kill_when(start(folder, AUGUR_HYBRID_PROGRAM, arguments), [&] { return !contents(work + "/settings.txt").empty(); }));
    machine.clock_hz /= 2;
    std::ofstream(file) << augur::machine_to_json(machine);
    CHECK(run(folder, arguments) == 2);
    CHECK(contains(contents(folder / "err"), "holds searches with other settings ('machine "));
}

} // namespace hybrid_test

#endif
