// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlp_pretrain` from outside: a rule that kernels have in common is found on kernels that were not learned, a killed run goes on to the
// same weights, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_TLP_PRETRAIN_PROGRAM // else there is no Eigen

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "child_program.hpp"

namespace tlp_pretrain_test {

namespace {

int run(const scratch& folder, const char* program, const strings& arguments) { return wait_for(start(folder, program, arguments)); }

/// The records of a log with latencies by a rule: 1 us for schedules that unroll up to 512 steps, 10 us for all others.
std::string with_rule(const std::string& log) {
    std::istringstream lines(log);
    std::string out;
    for (std::string line; std::getline(lines, line);) {
        const auto at = line.find("\"r\": [[");
        if (line.empty() || line[0] == '#' || at == std::string::npos) continue;
        const bool fast = contains(line, "auto_unroll_max_step$512");
        out += line.substr(0, at + 7) + (fast ? "1e-06" : "1e-05") + line.substr(line.find(']', at)) + "\n";
    }
    return out;
}

/// Random schedules of eight kernels with latencies by the rule.
std::string rule_log(const scratch& folder) {
    strings collect{"--collect", "32", "--log", folder / "measured.jsonl", "--threads", "1", "--compiler", quick_compiler};
    for (const char* m : {"8", "16"})
        for (const char* n : {"16", "24", "32", "48"}) {
            collect.emplace_back("--kernel");
            collect.push_back("dense:m=" + std::string(m) + ",n=" + n + ",k=16");
        }
    REQUIRE(run(folder, AUGUR_TUNE_PROGRAM, collect) == 0);
    const auto log = folder / "rule.jsonl";
    std::ofstream(log) << with_rule(contents(folder / "measured.jsonl"));
    return log;
}

} // namespace

TEST_CASE("tlp_pretrain: weights rank kernels that were not learned, are the same after a kill and on any number of threads, and guide a search") {
    const scratch folder("tlp_pretrain");
    const auto log = rule_log(folder);
    const auto command = [&](const std::string& out, const char* threads) {
        return strings{"--log", log, "--out", out, "--size", "small", "--epochs", "40", "--validation", "25", "--threads", threads};
    };
    REQUIRE(run(folder, AUGUR_TLP_PRETRAIN_PROGRAM, command(folder / "whole", "2")) == 0);
    const auto said = contents(folder / "out");
    CAPTURE(said);
    CHECK(contains(said, "learned     6 kernels"));
    CHECK(contains(said, "validation  2 kernels"));
    CHECK(contains(said, "top-1 1.000, top-5 1.000")); // a random choice of one has 0.33
    CHECK_FALSE(std::filesystem::exists(folder / "whole.checkpoint"));

    REQUIRE(kill_when(start(folder, AUGUR_TLP_PRETRAIN_PROGRAM, command(folder / "killed", "1")),
                      [&] { return std::filesystem::exists(folder / "killed.checkpoint"); }));
    CHECK_FALSE(std::filesystem::exists(folder / "killed"));
    REQUIRE(run(folder, AUGUR_TLP_PRETRAIN_PROGRAM, command(folder / "killed", "1")) == 0);
    CHECK(contents(folder / "killed") == contents(folder / "whole"));

    REQUIRE(run(folder, AUGUR_TUNE_PROGRAM,
                {"--kernel", "dense:m=8,n=64,k=16", "--weights", folder / "whole", "--trials", "8", "--threads", "1", "--no-limits"}) == 0);
    CHECK(contains(contents(folder / "out"), "ranked by TLP with the given weights"));
}

TEST_CASE("tlp_pretrain: what is missing or wrong is told") {
    const scratch folder("tlp_pretrain");
    check_refusals(folder, AUGUR_TLP_PRETRAIN_PROGRAM,
                   {{{"--out", "w"}, "expected --log LOG"},
                    {{"--log", "a"}, "expected --out FILE"},
                    {{"--log", "a", "--out", "a"}, "--out and --log are the same file"},
                    {{"--log", "a", "--out", folder / "none/w"}, "none/w"},
                    {{"--log", "a", "--out", folder / "w", "--left-out", "resnet_5"}, "resnet_5"},
                    {{"--log", "a", "--out", folder / "w", "--size", "huge"}, "huge"},
                    {{"--log", "a", "--out", folder / "w", "--validation", "100"}, "expected a whole number from 0 to 90"}});
    CHECK(run(folder, AUGUR_TLP_PRETRAIN_PROGRAM, {"--log", folder / "none", "--out", folder / "w"}) == 1);
    std::ofstream(folder / "empty") << "";
    CHECK(run(folder, AUGUR_TLP_PRETRAIN_PROGRAM, {"--log", folder / "empty", "--out", folder / "w"}) == 1);
    CHECK(contains(contents(folder / "err"), "expected kernels to learn from"));
    CHECK_FALSE(std::filesystem::exists(folder / "w"));
    std::ofstream(folder / "broken") << "nonsense\n{\"i\": [[\"";
    CHECK(run(folder, AUGUR_TLP_PRETRAIN_PROGRAM, {"--log", folder / "broken", "--out", folder / "w"}) == 1);
    CHECK(contains(contents(folder / "err"), "broken: 1 damaged lines are passed over"));
    CHECK(contains(contents(folder / "err"), "broken: the last record is cut off and is passed over"));
    CHECK(run(folder, AUGUR_TLP_PRETRAIN_PROGRAM, {"--help"}) == 0);
}

} // namespace tlp_pretrain_test

#endif
