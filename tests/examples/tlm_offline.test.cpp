// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlm_offline` from outside: its tables on made-up tasks, a killed run that goes on, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_TLM_OFFLINE_PROGRAM // else there is no Eigen

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "child_program.hpp"

namespace tlm_offline_test {

namespace {

int run(const scratch& folder, const strings& arguments) { return wait_for(start(folder, AUGUR_TLM_OFFLINE_PROGRAM, arguments)); }

/// The fields behind the name of the last row with that name; the tables come one after the other.
strings row_of(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    strings fields;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name + "  ")) continue;
        fields.clear();
        std::istringstream in(line.substr(name.size()));
        for (std::string field; in >> field;) fields.push_back(field);
    }
    return fields;
}

} // namespace

TEST_CASE("tlm_offline: a model that has learned what is fast ranks better than chance, and a second run computes nothing anew") {
    const scratch folder("tlm_offline");
    const auto work = folder / "work";
    REQUIRE(run(folder, {"--quick", "--work", work, "--threads", "1"}) == 0);
    const auto first = contents(folder / "out"), kept = contents(work);
    CAPTURE(first);
    CHECK(contains(first, "made up: 8 tasks to learn from, 4 to be judged by"));
    CHECK(contains(first, "4 of 4 tasks with at least 64 records (0 have fewer), 256 points; 0 equal records are one, 0 are no points; "
                          "0 of the tasks have the prompt of one that is learned from"));
    CHECK(lines_in(work) == 2); // a model each of 16 and of 64 sentences
    CHECK_FALSE(contains(first, "nan"));
    CHECK_FALSE(contains(first, "inf"));

    // Made-up kernels have one fast sketch of three and one fast limit of unrolling of four. By chance a pick has the sketch in one of three cases,
    // else it takes three times as long, and the limit in one of four, else twice: 3^(-2/3) 2^(-3/4) = 0.29 of a task's best, less where that is
    // rare.
    const auto drawn = row_of(first, "random"), length = row_of(first, "length"), model = row_of(first, "64 sentences, legal tokens");
    for (const auto* row : {&drawn, &length, &model}) REQUIRE(row->size() == 7);
    for (const auto* row : {&drawn, &length, &model})
        for (const std::size_t k : {0U, 2U}) { // of more picks the best is better
            CHECK(std::stod((*row)[k]) > 0);
            CHECK(std::stod((*row)[k]) <= std::stod((*row)[k + 1]));
            CHECK(std::stod((*row)[k + 1]) <= 1);
        }
    const double chance = std::stod(drawn[0]);
    CHECK(chance > 0.2);
    CHECK(chance < 0.4);
    CHECK(std::stod(drawn[4]) == doctest::Approx(0).epsilon(0.05));
    CHECK(drawn[5] == "-");
    CHECK(std::stod(model[0]) > chance);
    CHECK(std::stod(model[4]) > 0);
    CHECK(std::stod(model[5]) > std::stod(model[6])); // the fastest sentences are more likely than the middle ones
    const auto all_tokens = row_of(first, "64 sentences, all tokens");
    REQUIRE(all_tokens.size() == 7);
    for (const std::size_t part : {5U, 6U}) CHECK(std::stod(all_tokens[part]) < std::stod(model[part])); // a mask takes from what is not legal
    const auto trained = row_of(first, "64 sentences");
    REQUIRE(trained.size() == 7); // SENTENCES TASKS WORDS PARAMETERS LEGAL % UNTOLD
    CHECK(trained[0] == "64");
    CHECK(trained[1] == "8");
    CHECK(trained[6] == "0"); // numbers are factors, and the words of the judged sentences are known

    REQUIRE(run(folder, {"--quick", "--work", work, "--threads", "2"}) == 0);
    CHECK(contents(folder / "out") == first);
    CHECK(contents(work) == kept);
    CHECK_FALSE(contains(contents(folder / "err"), "judging"));

    std::ofstream(work) << kept.substr(0, kept.find('\n') + 20); // as a kill leaves it
    REQUIRE(run(folder, {"--quick", "--work", work, "--threads", "2"}) == 0);
    CHECK(contains(contents(folder / "err"), "the last line is cut off"));
    CHECK(contains(contents(folder / "err"), "64 sentences: judging"));
    CHECK_FALSE(contains(contents(folder / "err"), "16 sentences: judging"));
    CHECK(contents(folder / "out") == first);
    CHECK(contents(work) == kept);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path)) CHECK_FALSE(contains(entry.path().string(), "checkpoint"));
}

TEST_CASE("tlm_offline: what is missing or wrong is told") {
    const scratch folder("tlm_offline");
    check_refusals(folder, AUGUR_TLM_OFFLINE_PROGRAM,
                   {{{"--sentences", "10,x"}, "--sentences: expected numbers of at least 1, got 'x'"},
                    {{"--sentences", "0"}, "expected numbers of at least 1, got '0'"},
                    {{"--numbers", "digits"}, "--numbers: expected words|factors, got 'digits'"},
                    {{"--vocabulary", "none"}, "--vocabulary: expected all|corpus, got 'none'"},
                    {{"--width", "30"}, "4 heads do not divide a width of 30"},
                    {{"--quick", "--heads", "3"}, "3 heads do not divide a width of 16"},
                    {{"--fastest", "101"}, "--fastest: expected a whole number from 1 to 100"},
                    {{"--no-such-flag"}, "unknown flag"}});
    CHECK(run(folder, {"--data", folder.path}) == 1);
    CHECK(contains(contents(folder / "err"), "ansor-x86-24core: expected logs NETWORK.jsonl.gz, there are none"));
    CHECK(run(folder, {"--quick", "--sentences", "16", "--context", "8"}) == 1); // before anything is trained
    CHECK(contains(contents(folder / "err"), "expected sentences of at most 8 tokens with their prompts, the longest has "));
    CHECK(run(folder, {"--help"}) == 0);
    CHECK(contains(contents(folder / "out"), "usage: tlm_offline [flags]"));
    std::ofstream(folder / "work") << "{\"identity\": \"0\", \"numbers\": [1, 2]}\n";
    CHECK(run(folder, {"--quick", "--work", folder / "work"}) == 1);
    CHECK(contains(contents(folder / "err"), "expected 20 numbers, got 2"));
}

} // namespace tlm_offline_test

#endif
