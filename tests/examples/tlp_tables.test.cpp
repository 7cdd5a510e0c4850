// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlp_tables` from outside, on its made-up logs: what it learns, what it keeps, kill -9, damaged files, wrong arguments.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <augur/core/json.hpp>

#include "child_program.hpp"

namespace tlp_tables_test {

namespace {

namespace fs = std::filesystem;
void append(const std::string& path, const std::string& text, const char* mode = "a") {
    std::FILE* const f = std::fopen(path.c_str(), mode);
    REQUIRE(f != nullptr);
    CHECK(std::fwrite(text.data(), 1, text.size(), f) == text.size());
    CHECK(std::fclose(f) == 0);
}

int run(const scratch& folder, strings arguments) { return wait_for(start(folder, AUGUR_TLP_TABLES_PROGRAM, std::move(arguments))); }

strings quick(const scratch& folder, strings more) {
    strings all{"--quick", "--cache", folder / "cache", "--full-seeds", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// top-1 by row and seed; whole lines only.
std::map<std::string, double> results(const scratch& folder) {
    std::map<std::string, double> out;
    const std::string text = contents(folder / "cache/cells.jsonl");
    for (std::size_t at = 0; at < text.size();) {
        const auto end = (std::min)(text.find('\n', at), text.size());
        augur::json_reader in(std::string_view(text).substr(at, end - at));
        at = end + 1;
        std::string row;
        double top_1 = -1;
        std::int64_t seed = 0;
        std::string_view key;
        if (!in.begin_object()) continue;
        while (in.next_member(key)) key == "row" ? in.read(row) : key == "top_1" ? in.read(top_1) : key == "seed" ? in.read(seed) : in.skip();
        if (in.finish()) out[row + " " + std::to_string(seed)] = top_1;
    }
    return out;
}

bool has_checkpoint(const scratch& folder) {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(folder / "cache", gone))
        if (entry.path().extension() == ".checkpoint") return true;
    return false;
}

} // namespace

TEST_CASE("the made-up law is learned, and what was computed is not computed again") {
    const scratch folder("tables-test");
    // 900 records of 8 epochs: enough to do better than chance, on tasks that were not trained on
    const strings arguments =
        quick(folder, {"--full-budget", "900x8", "--table", "1", "--table", "repetition", "--table", "figure-6", "--table", "5", "--cells",
                       "x86-24core, default", "--cells", "x86-24core, at random", "--cells", "x86-24core, median", "--figures", folder / "figures"});
    REQUIRE(run(folder, arguments) == 0);
    CHECK(contents(folder / "err").find("on validation top-1 ") != std::string::npos); // not those of the table
    const auto first = results(folder);
    REQUIRE(first.count("x86-24core, default 1") == 1);
    CHECK(first.at("x86-24core, default 1") > first.at("x86-24core, at random (top-5: five) 1") + 0.1);
    CHECK(first.at("x86-24core, default 1") > first.at("x86-24core, median program (top-5: five about it) 1"));
    const std::string out = contents(folder / "out"), kept = contents(folder / "cache/cells.jsonl");
    for (const char* text : {"0.9194", "RE", "1.0430 %", "resnext_50", "margin"}) CHECK(out.find(text) != std::string::npos);
    CHECK(contents(folder / "figures/figure-6.svg").ends_with("</svg>\n"));
    REQUIRE(run(folder, arguments) == 0);
    const std::string again = contents(folder / "out"); // equal from the first table on; what stands before it has the date
    CHECK(again.substr(again.find("Table 1")) == out.substr(out.find("Table 1")));
    CHECK(contents(folder / "cache/cells.jsonl") == kept);

    // a data set that was damaged is read again; a result that was torn is computed again, and comes out equal
    const auto size = fs::file_size(folder / "cache/cpu.dataset");
    fs::resize_file(folder / "cache/cpu.dataset", size - 8);
    append(folder / "cache/cells.jsonl", kept.substr(0, kept.size() - 40), "w");
    REQUIRE(run(folder, arguments) == 0);
    CHECK(fs::file_size(folder / "cache/cpu.dataset") == size);
    CHECK(contents(folder / "err").find("1 damaged lines") != std::string::npos);
    CHECK(results(folder) == first);
}

TEST_CASE("a killed run goes on and ends with the same numbers") {
    const std::vector<strings> cells{{"--budget", "900x8", "--table", "8", "--cells", "MTL"},
                                     {"--budget", "100x2", "--table", "8", "--cells", "BERT"}};
    for (const strings& cell : cells) {
        CAPTURE(cell.back());
        const scratch whole("tables-test"), killed("tables-test");
        REQUIRE(run(whole, quick(whole, cell)) == 0);
        CHECK((contents(whole / "err").find("on validation") != std::string::npos) ==
              (cell.back() == "BERT")); // the other has none, and says no 0.0000
        const pid_t child = start(killed, AUGUR_TLP_TABLES_PROGRAM, quick(killed, cell));
        for (int i = 0; i < 6000 && !has_checkpoint(killed); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        CHECK(has_checkpoint(killed));
        ::kill(child, SIGKILL);
        CHECK(wait_for(child) == -SIGKILL);
        REQUIRE(run(killed, quick(killed, cell)) == 0);
        CHECK(results(killed) == results(whole));
        CHECK(results(whole).size() == 1);
        CHECK_FALSE(has_checkpoint(killed));
    }
}

TEST_CASE("a test task without a compute DAG is left out by name, the row stands; test networks are a flag") {
    const scratch folder("tables-test");
    const strings arguments = quick(folder, {"--table", "5", "--cells", "x86-24core, best program", "--cells", "x86-24core, median"});
    REQUIRE(run(folder, arguments) == 0);
    const auto whole = results(folder);
    REQUIRE(whole.count("x86-24core, best program by its median, one of its records 1") == 1);
    CHECK(contents(folder / "out").find("left out of the rows on loop nests") == std::string::npos);

    // tasks 9 to 17 are of the test networks
    const std::string dags = folder / "cache/logs/task-dags.jsonl", text = contents(dags);
    std::string rest, gone;
    for (std::size_t at = 0, line = 0; at < text.size(); ++line) {
        const auto end = text.find('\n', at);
        (line == 10 ? gone : rest) += text.substr(at, end + 1 - at);
        at = end + 1;
    }
    append(dags, rest, "w");
    std::string key;
    augur::json_reader in(gone);
    std::string_view name;
    REQUIRE(in.begin_object());
    while (in.next_member(name)) name == "key" ? in.read(key) : in.skip();
    REQUIRE(!key.empty());
    REQUIRE(run(folder, arguments) == 0);
    const std::string out = contents(folder / "out");
    CHECK(out.find("1 hold-out tasks are left out of the rows on loop nests:\n  no compute DAG of " + key) != std::string::npos);
    CHECK(contents(folder / "err").find(key) != std::string::npos);
    CHECK(contents(folder / "cache/cells.jsonl").find("\"tasks\": 8,") != std::string::npos);
    const auto less = results(folder);
    CHECK(less.at("x86-24core, median program (top-5: five about it) 1") == whole.at("x86-24core, median program (top-5: five about it) 1"));

    strings others = arguments;
    others.insert(others.end(), {"--test-networks", "alexnet,vgg_16"});
    REQUIRE(run(folder, others) == 0);
    CHECK(contents(folder / "out").find("x86-24core (6 tasks held out)") != std::string::npos);
    CHECK(results(folder).at("x86-24core, median program (top-5: five about it) 1") !=
          whole.at("x86-24core, median program (top-5: five about it) 1"));
    append(folder / "cache/logs/ansor-x86-24core/alexnet.json", "damaged\n");
    REQUIRE(run(folder, arguments) == 0);
    auto strict = arguments;
    strict.emplace_back("--strict"); // does not go on with the data set that passed over the line
    CHECK(run(folder, strict) != 0);
    CHECK(contents(folder / "err").find("alexnet.json") != std::string::npos);

    others.back() = "alexnet,vgg16";
    CHECK(run(folder, others) == 2);
    CHECK(contents(folder / "err").find("test network 'vgg16': there is no log of that name, only ") != std::string::npos);
}

TEST_CASE("wrong arguments and missing data are told") {
    const scratch folder("tables-test");
    const auto says = [&](strings arguments, const char* what) {
        CHECK(run(folder, std::move(arguments)) == 2);
        CHECK(contents(folder / "err").find(what) != std::string::npos);
    };
    says({"--table", "2"}, "there is no table '2'");
    says({"--budget", "many"}, "expected records x epochs");
    says({"--budget", "1x1"}, "at least 2 records");
    says({"--quick", "--data", "somewhere"}, "--quick");
    says({"--test-networks", "resnet_50,,vgg_16"}, "names with commas");
    says({"--data", folder / "nowhere", "--cache", folder / "cache"}, "no logs");
    CHECK(run(folder, {"--help"}) == 0);
    CHECK(contents(folder / "out").find("--full-budget") != std::string::npos);
}

} // namespace tlp_tables_test
