// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlp_search` from outside, on its two small kernels: every row, kill -9, what the work folder holds, wrong arguments.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <augur/record/log_reader.hpp>

#include "child_program.hpp"
#include "page_layout.hpp"

namespace tlp_search_test {

namespace {

namespace fs = std::filesystem;
int run(const scratch& folder, strings arguments) { return wait_for(start(folder, AUGUR_TLP_SEARCH_PROGRAM, std::move(arguments))); }

std::vector<augur::record> records_of(const std::string& path) {
    std::vector<augur::record> out;
    auto reader = augur::log_reader::open(path);
    if (!reader) return out;
    for (augur::record r;;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        out.push_back(r);
    }
    CHECK(reader->summary().bad == 0);
    return out;
}

// A whole search: so many records, none twice, a rising time for each and one for the end.
void check_search(const std::string& stem, std::size_t count) {
    CAPTURE(stem);
    std::set<std::string> seen;
    const auto records = records_of(stem + ".jsonl");
    CHECK(records.size() == count);
    for (const auto& r : records) {
        std::string text = r.task.workload_key;
        augur::json_writer out(text);
        augur::write_steps(out, r.schedule);
        CHECK(seen.insert(text).second);
    }
    std::istringstream times(contents(stem + ".times"));
    std::string line;
    double before = 0;
    std::size_t lines = 0;
    bool whole = false;
    for (; std::getline(times, line); ++lines) {
        double seconds = -1, measuring = -1;
        whole = line.starts_with("end ");
        CHECK(std::sscanf(line.c_str() + (whole ? 4 : 0), "%lf %lf", &seconds, &measuring) == 2);
        CHECK(seconds >= before);
        CHECK((measuring >= 0 && measuring <= seconds));
        before = seconds;
    }
    CHECK(lines == count + 1);
    CHECK(whole);
}

// The words of the line of a table that begins so.
strings line_of(const std::string& text, const std::string& begin) {
    const auto at = text.find("\n" + begin);
    REQUIRE(at != std::string::npos);
    std::istringstream line(text.substr(at + 1 + begin.size(), text.find('\n', at + 1) - at - 1 - begin.size()));
    strings words;
    for (std::string word; line >> word;) words.push_back(word);
    return words;
}

} // namespace

TEST_CASE("tlp_search: every wrong argument is one sentence and exit code 2") {
    const scratch folder("search-test");
    const std::vector<std::pair<strings, std::string>> rows{
        {{"--rows", "random,tenset"}, "got 'tenset'"},
        {{"--network", "resnet_19", "--work", folder / "w"}, "network 'resnet_19' is unknown"},
        {{"--network", "vgg_16", "--teacher", "vgg_16", "--work", folder / "w"}, "are searched themselves"},
        {{"--quick", "--network", "vgg_16"}, "does not go with --network"},
        {{"--trials", "0"}, "--trials: expected a whole number"},
        {{"--quick", "--work", "/proc/none"}, "/proc/none"},
        {{"--quick", "--work", folder / "w", "--compiler", "/no/such/cc"}, "cannot start '/no/such/cc'"},
    };
    check_refusals(folder, AUGUR_TLP_SEARCH_PROGRAM, rows);
}

TEST_CASE("tlp_search: killed at any moment it goes on, each record once; every row; the numbers are those of the logs") {
    const scratch folder("search-test");
    const std::string work = folder / "work";
    const strings arguments{"--quick", "--trials", "4",        "--collect",       "6",          "--effort",    "1", "--threads", "1",
                            "--work",  work,       "--report", folder / "r.html", "--compiler", quick_compiler};
    for (const std::size_t lines : {std::size_t{2}, std::size_t{12}})
        REQUIRE(kill_when(start(folder, AUGUR_TLP_SEARCH_PROGRAM, arguments), [&] { return lines_in(work + "/collect.jsonl") >= lines; }));
    REQUIRE(run(folder, arguments) == 0);
    auto said = contents(folder / "out");
    CAPTURE(said);
    CHECK(records_of(work + "/collect.jsonl").size() == 12);
    std::map<std::string, std::string> searches{
        {"random", "random"}, {"online", "TLP online"}, {"offline", "TLP offline"}, {"both", "TLP offline, then online"}};
#ifdef AUGUR_HAS_XGBOOST
    searches["trees"] = "boosted trees online";
#else
    CHECK(contains(said, "boosted trees online is absent: built without XGBoost"));
#endif
#ifdef AUGUR_EXAMPLES_NEST_MODELS
    searches["advised"] = "nest trees and TLP offline";
    searches["nest"] = "nest trees then online, TLP offline";
#else
    CHECK(contains(said, "nest trees and TLP offline is absent: built without Boost or without XGBoost"));
#endif
    CHECK(contains(said, "MTL-TLP is absent: no logs of the other platform"));
    const auto check_all = [&] {
        for (const auto& [id, name] : searches) {
            const std::string stem = work + "/" + id + "-1";
            check_search(stem, 8);
            std::map<std::string, double> best;
            for (const auto& r : records_of(stem + ".jsonl")) {
                const auto at = best.emplace(r.task.workload_key, r.measured.latency()).first;
                at->second = (std::min)(at->second, r.measured.latency());
            }
            double network = 0;
            for (const auto& [key, seconds] : best) network += 1e3 * seconds;
            CHECK(best.size() == 2);
            const auto words = line_of(said, name + "  ");
            REQUIRE(words.size() >= 9);
            CHECK(words[0] == "1");
            CHECK(std::stod(words[1]) == doctest::Approx(network).epsilon(2e-3));
            CHECK(words[3] == "8");                       // candidates
            CHECK((words[7] == "of" && words[8] == "1")); // of one seed
        }
    };
    check_all();
    const auto report = contents(folder / "r.html");
    CHECK(contains(report, "</svg>"));
    CHECK(contains(report, "</html>"));
    CHECK_FALSE(contains(report, "<script"));
    (void)check_layout(folder, report); // where there is a browser

    // The other platform: the same schedules with another target, so the heads meet in them. What is there already is not measured again.
    fs::create_directories(folder / "data/ansor-x86-24core");
    {
        std::ofstream other(folder / "data/ansor-x86-24core/other.jsonl");
        std::istringstream own(contents(work + "/collect.jsonl"));
        for (std::string line; std::getline(own, line);) {
            const auto target = line.find("-mcpu=native");
            if (!line.starts_with('#') && target != std::string::npos) other << line.replace(target, 12, "-mcpu=other") << '\n';
        }
    }
    std::map<std::string, std::string> before;
    for (const auto& [id, name] : searches) before[id] = contents(work + "/" + id + "-1.jsonl");
    auto with_data = arguments;
    with_data.insert(with_data.end(), {"--data", folder / "data", "--again"});
    REQUIRE(run(folder, with_data) == 0);
    said = contents(folder / "out");
    for (const auto& [id, name] : searches) CHECK(contents(work + "/" + id + "-1.jsonl") == before[id]);
    CHECK(contains(said, "again ms"));
    check_search(work + "/mtl-1", 8);
    CHECK(line_of(said, "MTL-TLP  ")[0] == "1");
    { std::ofstream(folder / "data/ansor-x86-24core/other.jsonl", std::ios::app) << '\n'; } // not what MTL-TLP has learned from
    CHECK(run(folder, with_data) == 2);
    CHECK(contains(contents(folder / "err"), "/mtl holds searches with other settings ('other.jsonl "));

    // Times belong to records: what is damaged or lost is told, not shown.
    const std::string log = contents(work + "/random-1.jsonl"), times = contents(work + "/random-1.times");
    auto damaged = log;
    damaged[damaged.find("\"record\"") + 1] = 'x';
    for (const auto& [path, text, was] :
         {std::tuple{work + "/random-1.jsonl", damaged, log}, std::tuple{work + "/random-1.times", std::string(), times}}) {
        std::ofstream(path, std::ios::binary) << text;
        CHECK(run(folder, arguments) != 0);
        CHECK(contains(contents(folder / "err"), "expected as many, undamaged"));
        std::ofstream(path, std::ios::binary) << was;
    }
    CHECK(run(folder, arguments) == 0);

    auto other_settings = arguments;
    other_settings[2] = "5";
    CHECK(run(folder, other_settings) == 2);
    CHECK(contains(contents(folder / "err"), "holds searches with other settings ('candidates 4 in rounds of 4'"));
}

} // namespace tlp_search_test
