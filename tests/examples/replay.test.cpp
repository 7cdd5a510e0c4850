// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `replay` from outside, on a made-up cache: its tables, the same for any number of threads, the T4 file, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_REPLAY_PROGRAM // else there is no Eigen

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/io/tuning_archive.hpp>

#include "../io/archives.hpp"
#include "../record/autotvm_lines.hpp"
#include "child_program.hpp"

namespace replay_test {

namespace {

int run(const scratch& folder, strings arguments) { return wait_for(start(folder, AUGUR_REPLAY_PROGRAM, std::move(arguments))); }

/// 240 points; point i takes 2 s and has 2 + i ms, but each seventh fails.
std::vector<std::string> many_entries() {
    std::vector<std::string> out;
    for (int i = 0; i < 240; ++i)
        out.push_back("\"" + std::to_string(i) + R"(": {"block": )" + std::to_string(i / 12) + R"(, "share": )" + std::to_string(i % 12) +
                      R"(.5, "layout": ")" + (i % 2 == 0 ? "row" : "column") + R"(", "time": )" +
                      (i % 7 == 0 ? std::string("\"RuntimeFailedConfig\"") : std::to_string(2 + i)) +
                      R"(, "compile_time": 1500, "benchmark_time": 500})");
    return out;
}

} // namespace

TEST_CASE("replay: every wrong argument is one sentence and exit code 2") {
    const scratch folder("replay-test");
    std::ofstream(folder / "failed.json") << archives::cache_of({archives::entries[1]});
    std::ofstream(folder / "empty.json") << archives::head;
    std::ofstream(folder / "none.jsonl") << "no record\n";
    const std::vector<std::pair<strings, std::string>> rows{
        {{}, "--log or --autotvm is needed"},
        {{"--autotvm", "/no/such"}, "/no/such"},
        {{"--autotvm", folder / "none.jsonl"}, "expected records of AutoTVM, found none"},
        {{"--log", "/no/such"}, "/no/such"},
        {{"--log", folder / "failed.json"}, "all 1 failed"},
        {{"--log", folder / "empty.json"}, "empty.json:9:1: expected a value, got the end"},
        {{"--log", folder / "failed.json", "--search", "magic"}, "--search: expected random"},
        {{"--log", folder / "failed.json", "--trials", "0"}, "--trials: expected a whole number"},
        {{"--log", folder / "failed.json", "--seeds", "nan"}, "--seeds: expected a whole number from 1 to 100000, got 'nan'"},
        {{"--log", folder / "failed.json", "--report", folder / "failed.json"}, "--report and --log are the same file"},
        {{"--log", "a", "--report", folder / "b", "--t4", folder / "./b"}, "--report and --t4 are the same file"},
    };
    check_refusals(folder, AUGUR_REPLAY_PROGRAM, rows);
}

TEST_CASE("replay: the table is of the records, for any number of threads; the trials are written as T4") {
    const scratch folder("replay-test");
    const std::string log = folder / "cache.json";
    std::ofstream(log) << archives::cache_of(many_entries());
    std::string first, first_page;
    for (const char* threads : {"1", "4"}) {
        const std::string page = folder / "page.html", t4 = folder / "t4.json";
        REQUIRE(run(folder, {"--log", log, "--trials", "240", "--seeds", "3", "--threads", threads, "--report", page, "--t4", t4}) == 0);
        const auto said = contents(folder / "out");
        CAPTURE(said);
        CHECK(contains(said, "add [4096,16] on Some GPU: 240 points, the best has 3.000 ms")); // 0 fails, 1 is the best
        CHECK(contains(said, "\nrandom "));
        CHECK(contains(said, "  at 30  at 60  at 120  at 240  trials to 0.95  seconds"));
        CHECK(contains(said, "   1.000 ")); // every search ends with all points
        CHECK(contains(said, "      480\n"));
        CHECK(contains(contents(page), "</svg>"));
        if (first.empty()) first = said, first_page = contents(page);
        CHECK(said == first);
        CHECK(contents(page) == first_page);
        augur::tuning_archive trials;
        REQUIRE(augur::read_tuning_archive(t4, trials));
        CHECK(trials.records.size() == 240);
        std::set<std::string> points;
        for (const auto& r : trials.records) {
            points.insert(augur::to_string(r.point));
            const auto i =
                12 * std::get<std::int64_t>(r.point.parameters[0].value) + static_cast<std::int64_t>(std::get<double>(r.point.parameters[1].value));
            CHECK(r.measured.ok() == (i % 7 != 0));
            if (r.measured.ok()) CHECK(r.measured.latency() == doctest::Approx(static_cast<double>(2 + i) * 1e-3));
        }
        CHECK(points.size() == 240);
    }
}

TEST_CASE("replay: of a cache that ends early the entries before its end are used, and it says so") {
    const scratch folder("replay-test");
    const auto entries = many_entries();
    std::ofstream(folder / "cut.json") << archives::head << entries[1] << ",\n" << entries[2] << ",\n" << entries[3].substr(0, 40);
    REQUIRE(run(folder, {"--log", folder / "cut.json", "--trials", "10", "--seeds", "1"}) == 0);
    CHECK(contains(contents(folder / "out"), ": 2 points, the best has 3.000 ms"));
    CHECK(contains(contents(folder / "err"), "cut.json:11:41: expected"));
    CHECK(contains(contents(folder / "err"), "the file ends early"));
}

TEST_CASE("replay: an AutoTVM log has a table for each task that had a success") {
    const scratch folder("replay-test");
    const std::string log = folder / "log.jsonl";
    std::ofstream out(log);
    for (int i = 0; i < 60; ++i) {
        const std::string config = R"({"index": 1, "code_hash": null, "entity": [["tile_f", "sp", [-1, )" + std::to_string(i) + R"(]]]})";
        out << autotvm_lines::line(autotvm_lines::gpu_input, config, "[[" + std::to_string(2 + i) + "e-3], 0, 1.5, 1680907291.0]") << '\n';
        out << autotvm_lines::line(autotvm_lines::cpu_input, config, autotvm_lines::failed_result) << '\n';
    }
    out << R"({"input": ["cuda)"; // cut off
    out.close();
    REQUIRE(run(folder, {"--autotvm", log, "--trials", "60", "--seeds", "2", "--search", "random"}) == 0);
    CHECK(contains(contents(folder / "out"), "60 points, the best has 2.000 ms"));
    CHECK(contains(contents(folder / "err"), "all 60 failed"));
    CHECK(contains(contents(folder / "err"), "the log ends within a record"));
}

} // namespace replay_test

#endif
