// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `crop_tables` from outside: on made-up programs whose order is known, and on schedules that it measures; wrong arguments, kill -9.
#include <doctest/doctest.h>

#ifdef AUGUR_CROP_TABLES_PROGRAM // else there is no component llvm

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <augur/record/log_reader.hpp>

#include "../may_skip.hpp"
#include "child_program.hpp"

namespace crop_tables_test {

namespace {

namespace fs = std::filesystem;
int run(const scratch& folder, strings arguments) { return wait_for(start(folder, AUGUR_CROP_TABLES_PROGRAM, std::move(arguments))); }

// The words behind the name of a row.
strings line_of(const std::string& text, const std::string& name) {
    const auto at = text.find("\n" + name + "  ");
    CAPTURE(text);
    REQUIRE(at != std::string::npos);
    std::istringstream line(text.substr(at + 1 + name.size(), text.find('\n', at + 1) - at - 1 - name.size()));
    strings words;
    for (std::string word; line >> word;) words.push_back(word);
    return words;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    REQUIRE(contains(text, from));
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

// A task of three programs, each a parallel loop of so many iterations with so many rounds within, and their milliseconds. False: no tar or no xz.
bool write_task(const scratch& folder, const std::string& name, const std::array<std::pair<int, int>, 3>& extents, const std::array<int, 3>& times) {
    fs::create_directories(folder / "data");
    std::ofstream lines(folder / ("data/" + name + ".jsonl"));
    strings pack{"-cJf", folder / ("data/" + name + ".ll.tar.xz"), "-C", folder.path};
    for (std::size_t i = 0; i < 3; ++i) {
        const auto [outer, inner] = extents[i];
        std::string ir = contents(std::string(AUGUR_TEST_DIR) + "/llvm/data/tvm.ll");
        replace_all(ir, "i32 %tasks, 9", "i32 %tasks, " + std::to_string(outer - 1));
        replace_all(ir, ", i32 10)", ", i32 " + std::to_string(outer) + ")");
        replace_all(ir, "%j.next, 4", "%j.next, " + std::to_string(inner));
        const std::string id = name + "." + std::to_string(i);
        std::ofstream(folder / (id + ".ll")) << ir;
        pack.push_back(id + ".ll");
        lines << R"({"id": ")" << id << R"(", "steps": [["key", "llvm"], [[], [["SP", 0, 0, 128, [)" << inner << R"(], 1], ["AN", 0, 0, 3]]]], )"
              << R"("threads": {"1": [)" << times[i] << R"(e-3]}, "ll": ")" << id << R"(.ll", "t1": )" << times[i] << "e-3}\n";
    }
    lines.close();
    return wait_for(start(folder, "tar", pack)) == 0;
}

std::size_t records_of(const std::string& path) {
    auto reader = augur::log_reader::open(path);
    std::size_t count = 0;
    if (!reader) return count;
    for (augur::record r;; ++count) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
    }
    CHECK(reader->summary().bad == 0);
    return count;
}

} // namespace

TEST_CASE("crop_tables: every wrong argument is one sentence and exit code 2") {
    const scratch folder("crop-test");
    const std::vector<std::pair<strings, std::string>> rows{
        {{"--data", folder.path}, "--cache and one of --data and --loopnest are needed"},
        {{"--data", folder.path, "--loopnest", "--cache", folder.path}, "one of --data and --loopnest"},
        {{"--loopnest", "--cache", folder.path, "--most", "4"}, "go with --data"},
        {{"--data", folder.path, "--cache", folder.path, "--schedules", "5", "--kernels", "3"}, "go with --loopnest"},
        {{"--loopnest", "--cache", folder.path, "--mca", "znver4"}, "with --data or --clang"},
        {{"--loopnest", "--cache", folder.path, "--threads", "2", "--clang", "clang"}, "on one thread"},
        {{"--loopnest", "--cache", folder.path, "--kernels", "0"}, "--kernels: expected a whole number"},
        {{"--data", folder.path, "--cache", folder.path, "--machine", "/no/such"}, "/no/such"},
        {{"--data", folder.path, "--cache", folder.path, "--figure", "/no/such/curves.svg"}, "/no/such/curves.svg"},
    };
    check_refusals(folder, AUGUR_CROP_TABLES_PROGRAM, rows);
}

TEST_CASE("crop_tables: programs that do more come later; those alike are taken by chance; learned models are trained on other tasks" MAY_SKIP) {
    const scratch folder("crop-test");
    // the one with the fewest iterations to deal out has the most rounds in all: 4096, 8192, 16384
    const bool packed = write_task(folder, "rising", {{{16, 256}, {8, 1024}, {2, 8192}}}, {1, 2, 4});
    if (!packed || !write_task(folder, "alike", {{{8, 8}, {8, 8}, {8, 8}}}, {1, 2, 4})) SKIP_CASE("no tar with xz");
    const strings arguments{"--data", folder / "data", "--cache", folder / "cache", "--folds", "2", "--seeds", "1", "--mca", "znver4"};
    REQUIRE(run(folder, arguments) == 0);
    const auto said = contents(folder / "out");
    const auto rising = line_of(said, "rising"), alike = line_of(said, "alike");
    CHECK(rising[0] == "3");
    CHECK(rising.back() == "1.000"); // rank correlation of the counts of instructions
    CHECK(alike[1] == "0.000");
    CHECK(alike[2] == "0.583"); // (1 + 1/2 + 1/4) / 3
    CHECK(alike[3] == "1.000");
    CHECK(line_of(said, "instruction count")[0] == "0.792"); // (1 + 0.583) / 2
    CHECK(line_of(said, "drawn at random")[0] == "0.583");
    CHECK(line_of(said, "median program")[0] == "0.500");
    const auto mca = said.find("llvm-mca x counts is absent") != std::string::npos ? strings() : line_of(said, "llvm-mca x counts");
    if (!mca.empty()) CHECK(mca[2] == "0.500"); // rank correlation: 1 and 0
    const auto tlp = line_of(said, "TLP, 100 % of other tasks");
    CHECK(tlp[tlp.size() - 2] == "3"); // programs of the other task
#ifdef AUGUR_HAS_XGBOOST
    CHECK(line_of(said, "boosted trees, 0.5 % of other tasks").size() > 3);
#else
    CHECK(contains(said, "boosted trees, 0.5 % of other tasks is absent: built without XGBoost"));
#endif
    REQUIRE(run(folder, arguments) == 0); // from the cache, and with the same random numbers
    CHECK(contents(folder / "out") == said);
    REQUIRE(run(folder, {"--data", folder / "data", "--cache", folder / "cache", "--only", "rising"}) == 0);
    CHECK(contains(contents(folder / "out"), "learned models is absent: one task"));
    CHECK(run(folder, {"--data", folder / "data", "--cache", folder / "cache", "--threads", "2"}) == 1);
    CHECK(contains(contents(folder / "err"), "no task was measured with 2 threads"));
}

TEST_CASE("crop_tables: killed at any moment it goes on, and what was measured is never measured again") {
    const scratch folder("crop-test");
    const strings arguments{"--loopnest", "--cache", folder / "cache", "--kernels", "2", "--schedules", "4", "--seed", "1",
                            "--folds",    "2",       "--seeds",        "1"};
    const std::string log = folder / "cache/loopnest-1.jsonl";
    const pid_t child = start(folder, AUGUR_CROP_TABLES_PROGRAM, arguments);
    REQUIRE(kill_when(child, [&] { return lines_in(log) > 4; }));
    const auto before = fs::exists(log) ? contents(log) : std::string();
    REQUIRE(run(folder, arguments) == 0);
    const auto said = contents(folder / "out"), measured = contents(log);
    CHECK(records_of(log) == 8);
    const auto whole = before.rfind("\n# {"); // what may be torn comes behind the last comment
    if (whole != std::string::npos) CHECK(measured.compare(0, whole, before, 0, whole) == 0);
    const auto kernels = contains(said, "2 tasks");
    CHECK(kernels);
    CHECK(line_of(said, "Crop").size() >= 5);
    CHECK(line_of(said, "TLP, 100 % of other tasks").size() > 3);
    REQUIRE(run(folder, arguments) == 0);
    CHECK(contents(log) == measured);
    CHECK(contents(folder / "out") == said);
}

} // namespace crop_tables_test

#endif
