// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `ranking_tables` from outside: its numbers on a log in which one schedule is faster than all others, a killed run that goes on,
// wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_RANKING_TABLES_PROGRAM // else there is no Eigen

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "child_program.hpp"

namespace ranking_tables_test {

namespace {

int run(const scratch& folder, const char* program, const strings& arguments) { return wait_for(start(folder, program, arguments)); }

/// The records of a log without what augur adds to them, the first with a latency of 1 us, all others of 10 us.
std::string with_one_fast(const std::string& log) {
    std::istringstream lines(log);
    std::string out;
    for (std::string line; std::getline(lines, line);) {
        const auto at = line.find("\"r\": [[");
        if (line.empty() || line[0] == '#' || at == std::string::npos) continue;
        out += line.substr(0, at + 7) + (out.empty() ? "1e-06" : "1e-05") + line.substr(line.find(']', at)) + "\n";
    }
    return out;
}

/// The fields of the first line of a text that begins with some fields.
strings line_of(const std::string& text, const strings& begin) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        strings fields;
        for (std::string field; in >> field;) fields.push_back(field);
        if (fields.size() >= begin.size() && std::equal(begin.begin(), begin.end(), fields.begin())) return fields;
    }
    return {};
}

} // namespace

TEST_CASE("ranking_tables: other kernels' logs rank a kernel, tested kernels are left out, and a second run computes nothing anew") {
    const scratch folder("ranking_tables");
    const auto train = folder / "train.jsonl", test = folder / "test.jsonl";
    const std::string tested = "dense:m=64,n=128,k=128,bias";
    REQUIRE(run(folder, AUGUR_TUNE_PROGRAM,
                {"--kernel", "dense:m=64,n=96,k=128,bias", "--kernel", "dense:m=96,n=128,k=96,bias", "--kernel", tested, "--collect", "24", "--log",
                 train, "--threads", "1"}) == 0);
    REQUIRE(run(folder, AUGUR_TUNE_PROGRAM, {"--kernel", tested, "--collect", "32", "--log", test, "--threads", "1"}) == 0);
    std::ofstream(folder / "one_fast.jsonl") << with_one_fast(contents(test));
    const strings command{"--train", train,   "--test", folder / "one_fast.jsonl", "--kernels", "1,2", "--trainings", "2",
                          "--size",  "small", "--work", folder / "work",           "--effort",  "1",   "--threads",   "1"};
    REQUIRE(run(folder, AUGUR_RANKING_TABLES_PROGRAM, command) == 0);
    const auto first = contents(folder / "out"), kept = contents(folder / "work");
    for (const char* line : {"0/4  1 kernels", "1/4  1 kernels", "2/4  2 kernels", "3/4  2 kernels"}) CHECK(contains(contents(folder / "err"), line));
    CHECK(contains(first, "2 kernels with 48 schedules to learn from, 1 that are tested are left out; 1 tested kernels with 32 schedules"));
    // Of 32 schedules one is ten times as fast as all others: a pick has it, or a tenth of its speed.
#ifdef AUGUR_EXAMPLES_NEST_MODELS
    const std::vector<strings> models{{"random"}, {"TLP"}, {"trees"}, {"trees", "and", "TLP"}};
#else
    const std::vector<strings> models{{"random"}, {"TLP"}};
#endif
    for (const char* kernels : {"1", "2"})
        for (const auto& model : models) {
            strings begin{kernels};
            begin.insert(begin.end(), model.begin(), model.end());
            auto row = line_of(first, begin);
            REQUIRE(row.size() == begin.size() + 9);
            row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(begin.size())); // MEAN (LEAST to MOST) MEAN (LEAST to MOST) SLOWEST
            double means[2];
            for (const std::size_t k : {0U, 1U}) {
                const double least = std::stod(row[4 * k + 1].substr(1)), most = std::stod(row[4 * k + 3]);
                means[k] = std::stod(row[4 * k]);
                for (const double one : {least, most}) CHECK((one == 0.1 || one == 1));
                CHECK(means[k] == doctest::Approx((least + most) / 2)); // of two trainings
                if (k == 0) CHECK(row[8] == (least < 1 ? "10.00" : "1.00"));
            }
            CHECK(means[1] >= means[0]);
        }
    CHECK(kept.find('\n') != kept.rfind('\n'));
    std::ofstream(folder / "work") << kept.substr(0, kept.find('\n') + 20); // as a kill leaves it
    REQUIRE(run(folder, AUGUR_RANKING_TABLES_PROGRAM, command) == 0);
    CHECK(contains(contents(folder / "err"), "the last line is cut off"));
    CHECK(contents(folder / "out") == first);
    CHECK(contents(folder / "work") == kept);
}

TEST_CASE("ranking_tables: what is missing or wrong is told") {
    const scratch folder("ranking_tables");
    std::ofstream(folder / "empty") << "";
    check_refusals(folder, AUGUR_RANKING_TABLES_PROGRAM,
                   {{{}, "expected --train LOG and --test LOG"},
                    {{"--train", "a", "--test", "b", "--kernels", "3,x"}, "expected numbers of at least 1, got 'x'"},
                    {{"--train", "a", "--test", "b", "--size", "huge"}, "huge"}});
    CHECK(run(folder, AUGUR_RANKING_TABLES_PROGRAM, {"--train", folder / "none", "--test", folder / "none"}) == 1);
    CHECK(run(folder, AUGUR_RANKING_TABLES_PROGRAM, {"--train", folder / "empty", "--test", folder / "empty"}) == 1);
    CHECK(contains(contents(folder / "err"), "no kernel of this compiler"));
    const auto log = folder / "log.jsonl";
    REQUIRE(run(folder, AUGUR_TUNE_PROGRAM, {"--kernel", "dense:m=8,n=16,k=8", "--collect", "2", "--log", log, "--threads", "1"}) == 0);
    CHECK(run(folder, AUGUR_RANKING_TABLES_PROGRAM, {"--train", log, "--test", log}) == 1);
    CHECK(contains(contents(folder / "err"), "no kernel of this compiler that is not tested"));
    const auto text = contents(log);
    auto record = text.substr(text.find("{\"i\""));
    record.resize(record.find('\n') + 1);
    record.replace(record.find("[1, "), 4, "[7, "); // cores
    std::ofstream(folder / "other.jsonl") << record;
    CHECK(run(folder, AUGUR_RANKING_TABLES_PROGRAM, {"--train", log, "--train", folder / "other.jsonl", "--test", log}) == 1);
    CHECK(contains(contents(folder / "err"), "expected records of one machine"));
}

} // namespace ranking_tables_test

#endif
