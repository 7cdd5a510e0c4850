// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `headroom` without measuring: shares after a number of trials, the file of its records, tables and chart of a folder, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_HEADROOM_PROGRAM // else there is no Eigen

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>

#include "../../examples/support/console.hpp"
#include "../../examples/tools/headroom/headroom.hpp"
#include "child_program.hpp"

namespace headroom_test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

kernel_record made_up(const std::string& name, double scale) {
    kernel_record r;
    r.kernel = name;
    r.label = name + " label";
    r.network = "resnet_50";
    r.machine.vendor = "AuthenticAMD";
    r.limit = 0.5 * scale;
    r.bound = "fma";
    r.untuned = 4 * scale;
    augur::random_engine rng(7);
    for (std::size_t g = 0; g < guides.size(); ++g) {
        for (std::size_t i = 0; i < guides[g].trials; ++i)
            r.searches[g].latencies.push_back(i % 9 == 3 ? infinity : scale * (1 + static_cast<double>(rng.below(1000)) / 100));
        r.searches[g].winner = scale;
        r.searches[g].seconds = 12.5;
        r.searches[g].choosing = 2.5;
    }
    r.picks = {3 * scale, infinity, 2 * scale, 5 * scale};
    return r;
}

} // namespace

TEST_CASE("headroom: the expected share is the mean over all subsets") {
    const std::vector<double> latencies{3, infinity, 1.5, 7, 1.5, 2};
    for (std::size_t trials = 1; trials <= latencies.size(); ++trials) {
        double sum = 0;
        int subsets = 0;
        for (unsigned mask = 0; mask < 64; ++mask) {
            if (static_cast<std::size_t>(__builtin_popcount(mask)) != trials) continue;
            double least = infinity;
            for (std::size_t i = 0; i < 6; ++i)
                if ((mask >> i & 1U) != 0) least = std::min(least, latencies[i]);
            sum += 1 / least;
            ++subsets;
        }
        CHECK(expected_share_after(latencies, 1, trials) == doctest::Approx(sum / subsets).epsilon(1e-12));
    }
    CHECK(expected_share_after(latencies, 1.5, 100) == 1);
    CHECK(expected_share_after({}, 1, 4) == 0);
    CHECK(share_after(latencies, 1.5, 1) == 0.5);
    CHECK(share_after(std::vector{infinity, infinity}, 1, 2) == 0);
}

TEST_CASE("headroom: records are read as they were written, and a broken line is told with its number") {
    const scratch folder("headroom-test");
    auto r = made_up("a", 1e-5);
    r.searches[2].asked = 100; // it ended before
    std::ofstream(folder / "kernels.jsonl") << to_line(r) << to_line(made_up("b", 3e-4));
    const auto read = read_records(folder / "kernels.jsonl");
    REQUIRE(read);
    REQUIRE(read->size() == 2);
    CHECK(to_line(read->front()) == to_line(r));
    CHECK(read->front().searches[1].latencies.size() == 256);
    CHECK(std::isinf(read->front().picks[1]));
    CHECK(read->front().searches[2].asked == 100);
    const auto whole = to_line(r);
    for (const std::size_t cut : {std::size_t{1}, whole.size() / 2, whole.size() - 3}) {
        std::ofstream(folder / "kernels.jsonl") << whole << whole.substr(0, cut);
        const auto broken = read_records(folder / "kernels.jsonl");
        REQUIRE(!broken);
        CHECK(contains(broken.error().detail, "kernels.jsonl:2:"));
    }
}

TEST_CASE("headroom: a search lacks trials if more are asked for than it has, unless it ended before") {
    guided_search s;
    CHECK(s.lacks(1));
    s.latencies.assign(16, 1e-3); // of an older file, too
    CHECK_FALSE(s.lacks(16));
    CHECK(s.lacks(17));
    s.asked = 64;
    CHECK_FALSE(s.lacks(64));
    CHECK(s.lacks(65));
}

TEST_CASE("headroom: tables of some of the guides") {
    std::vector<kernel_record> records{made_up("a", 1e-5), made_up("b", 3e-4)};
    for (auto& r : records) {
        for (std::size_t g = 0; g < guides.size(); ++g)
            if (guides[g].name != "tlp" && guides[g].name != "crop+tlp") r.searches[g] = {};
        auto& tlp = r.searches[find_guide("tlp")].latencies;
        tlp.resize(16);
    }
    const scratch folder("headroom-test");
    std::ofstream(folder / "kernels.jsonl") << to_line(records[0]) << to_line(records[1]);
    const auto read = read_records(folder / "kernels.jsonl");
    REQUIRE(read);
    CHECK(to_line((*read)[1]) == to_line(records[1]));
    CHECK((*read)[0].searches[find_guide("random")].latencies.empty());
    const auto tables = tables_of(*read);
    const std::vector<std::string> head{"trials", "tlp median", "tlp lowest", "crop+tlp median", "crop+tlp lowest"};
    CHECK(tables[0].rows[0] == head);
    CHECK(tables[0].rows[4][1] != "-"); // 16 trials
    CHECK(tables[0].rows[5][1] == "-");
    CHECK(tables[0].rows[6][3] != "-");                             // 64 trials
    for (const auto& t : tables) CHECK(!contains(t.title, "hard")); // without random search no kernel is hard
    CHECK(contains(chart_of(*read), "All kernels: median share"));
    CHECK_FALSE(contains(chart_of(*read), "Hard kernels"));
    CHECK(find_guide("grid") == guides.size());
    table_options named;
    named.hard = {"a"};
    CHECK(contains(chart_of(*read, named), "Hard kernels: median share"));
    for (auto& r : records) r.searches = {}; // no guide is common to all
    CHECK_FALSE(contains(markdown_of(tables_of(records, named)), "How much faster"));
}

TEST_CASE("headroom: all records of a kernel are hard, or none, by the geometric mean of their shares") {
    // The latency of all random trials over the best, 1: of kernel a 10 and 1, of the others 2; sqrt(10 * 1) is the worst of the means.
    const std::vector<std::pair<std::string, double>> runs{{"a", 10}, {"b", 2}, {"c", 2}, {"a", 1}, {"b", 2}, {"c", 2}};
    std::vector<kernel_record> records;
    for (const auto& [name, latency] : runs) {
        auto& r = records.emplace_back();
        r.kernel = r.label = name;
        r.searches[find_guide("random")].latencies.assign(64, latency);
        r.best_elsewhere = 1;
    }
    for (const auto& t : tables_of(records)) {
        if (t.title != "Kernels") continue;
        REQUIRE(t.rows.size() == 7);
        for (const auto& row : t.rows)
            if (row[0] != "kernel") CHECK(row[7] == (row[0] == "a" ? "hard" : "easy"));
    }
}

TEST_CASE("headroom: two runs of a kernel are one kernel in means and intervals, and the better of their bests is the best") {
    // (kernel, latency of all random trials, of all trials of the trees); the best of kernel b is found by the second run
    const std::vector<std::tuple<std::string, double, double>> runs{{"a", 4, 2}, {"b", 9, 3}, {"a", 2, 2}, {"b", 3, 1}};
    std::vector<kernel_record> records;
    for (const auto& [name, random, trees] : runs) {
        kernel_record r;
        r.kernel = r.label = name;
        r.searches[find_guide("random")].latencies.assign(64, random);
        r.searches[find_guide("trees")].latencies.assign(64, trees);
        records.push_back(std::move(r));
    }
    records[1].best_elsewhere = 1;
    table_options options;
    options.hard = {"a", "b"};
    options.own = 2;
    const auto row_of = [&](const std::string& title, const std::string& search) {
        for (const auto& t : tables_of(records, options))
            for (const auto& row : t.rows)
                if (t.title.starts_with(title) && row[0] == search) return row;
        return std::vector<std::string>();
    };
    // trees over random: 2 and 1 of kernel a, 3 and 3 of kernel b. The standard error of two logarithms is half their difference, Student's t 12.706.
    const double a = std::sqrt(2.0 * 1.0), b = 3, mean = std::sqrt(a * b), factor = std::pow(b / a, 12.706 / 2);
    const auto ratio = row_of("How much faster a search is than random", "trees");
    REQUIRE(ratio.size() == 8);
    char expected[80];
    std::snprintf(expected, sizeof expected, "%.3f (%.3f to %.3f)", mean, mean / factor, mean * factor);
    CHECK(ratio[4] == expected);
    const auto share = row_of("Geometric mean of the share", "trees"); // 1 of kernel a in both runs, 1 / 3 and 1 of kernel b
    REQUIRE(share.size() == 8);
    CHECK(contains(share[4], "0.760 ("));
    std::size_t listed = 0;
    for (const auto& t : tables_of(records, options))
        if (t.title == "Kernels") listed = t.rows.size() - 1;
    CHECK(listed == 2);
    options.over = find_guide("trees");
    CHECK(row_of("How much faster a search is than trees", "random").size() == 8);
    CHECK(row_of("Geometric mean of the share of the best known latency and its 95 % interval, easy", "trees").empty());
}

TEST_CASE("headroom: the hard kernels of records are those for which random search does worst") {
    std::vector<kernel_record> records{made_up("a", 1e-5), made_up("b", 3e-4), made_up("c", 1e-3), made_up("d", 1)};
    const char* const texts[] = {"dense:m=1,n=1,k=1", "dense:m=1,n=1,k=2", "dense:m=1,n=1,k=3", "dense:m=1,n=1,k=4"};
    for (std::size_t i = 0; i < records.size(); ++i) records[i].kernel = texts[i];
    for (const std::size_t i : {1U, 3U}) { // one good schedule in 256
        auto& random = records[i].searches[find_guide("random")].latencies;
        const double best = records[i].best();
        for (double& l : random) l = 10 * best;
        random[200] = best;
    }
    const auto hard = hard_kernels(records);
    REQUIRE(hard);
    REQUIRE(hard->size() == 2);
    CHECK((*hard)[0].first == "resnet_50");
    CHECK((*hard)[0].second == *augur::kernel::parse(texts[1]));
    CHECK((*hard)[1].second == *augur::kernel::parse(texts[3]));
    const auto with_easy = hard_kernels(records, 1);
    REQUIRE(with_easy);
    REQUIRE(with_easy->size() == 3);
    CHECK((*with_easy)[0].second == *augur::kernel::parse(texts[0]));
    CHECK(hard_kernels(records, 9)->size() == 4);
    records[3].kernel = "nonsense";
    CHECK_FALSE(hard_kernels(records));
    records[0].searches[find_guide("random")].latencies.clear();
    const auto without = hard_kernels(records);
    REQUIRE_FALSE(without);
    CHECK(without.error().detail == "expected a random search of " + std::string(texts[0]) + " that succeeded");
    CHECK_FALSE(hard_kernels(std::span(records).first(1)));
}

TEST_CASE("headroom: the test kernels are 48, and no other kernel is one of their networks") {
    const auto kernels = test_kernels(16, 1);
    CHECK(kernels.size() == 48);
    std::set<std::string> texts;
    for (const auto& [network, k] : kernels) texts.insert(k.text());
    CHECK(texts.size() == 48);
    CHECK(test_kernels(2, 1)[3].second == kernels[3].second); // a smaller campaign is the beginning of a larger one
    CHECK(test_kernels(16, 2) != kernels);
    std::vector<std::pair<std::string, augur::kernel>> all = test_kernels(1000, 1);
    const auto others = other_kernels(32, 1);
    CHECK(others.kernels.size() == 32);
    for (const auto& o : others.kernels)
        for (const auto& [network, k] : all) CHECK(o.workload != k);
}

TEST_CASE("headroom: the ratio of sums, and what rivals need to match ten trials") {
    kernel_record small = made_up("a", 1e-5), large = made_up("b", 1e-2);
    const auto tlm = find_guide("tlm"), trees = find_guide("trees");
    for (auto* r : {&small, &large}) {
        r->untuned = infinity;
        for (auto& s : r->searches) s.latencies.clear();
        r->picks.clear();
    }
    small.searches[tlm].latencies.assign(64, 4e-5);
    large.searches[tlm].latencies.assign(64, 1e-2);
    small.searches[trees].latencies.assign(64, 2e-5);
    small.searches[trees].latencies[0] = 8e-5;
    large.searches[trees].latencies.assign(64, 1.25e-2);
    table_options options;
    options.over = tlm;
    options.hard = {"a", "b"};
    small.picks = {8e-5, infinity, infinity, 2e-5};
    large.picks.assign(4, 1.25e-2);
    const std::vector<kernel_record> both{small, large};
    const auto text = markdown_of(tables_of(both, options));
    CHECK(contains(text, "| Crop's best of 512 | 0.447 (")); // sqrt(0.25 * 0.8), then sqrt(1 * 0.8)
    CHECK(contains(text, ") | 0.894 ("));
    CHECK(contains(text, "| tlm | 0.998 | 0.998 |"));   // 10020 / 10040 us
    CHECK(contains(text, "| trees | 0.797 | 0.800 |")); // 10020 / 12580 us, then 10020 / 12520 us
    CHECK(contains(text, "and what tlm has after 10"));
    CHECK(contains(text, "| trees | 128 | 25 | 20.0 % | - | - | - | - | 2 | 1 |")); // sqrt(1 * 0.8) is above sqrt(0.5 * 1), sqrt(0.25 * 0.8) is not
}

TEST_CASE("headroom: the latency of a network is the sum over its kernels by their uses, and is told where all kernels have records") {
    const auto kernels = network_kernels(std::vector<std::string>{"bert_base:tokens=64", "bert_base:tokens=64"});
    REQUIRE(kernels);
    const auto bert = augur::find_network("bert_base:tokens=64");
    REQUIRE(bert);
    REQUIRE(kernels->size() == bert->kernels.size());
    std::vector<kernel_record> records;
    double uses = 0;
    for (const auto& [network, k] : *kernels) {
        CHECK(network == "bert_base:tokens=64");
        for (const auto& of : bert->kernels)
            if (of.workload == k) uses += of.uses;
        auto& r = records.emplace_back(made_up(k.text(), 1e-3));
        r.searches = {};
        r.picks.clear();
        r.searches[find_guide("likely")].latencies = {infinity, 2e-3, 2e-3, 1e-3}; // and 4 ms untuned
    }
    REQUIRE(uses > static_cast<double>(records.size())); // else no kernel counts twice
    table_options options;
    options.networks = {"bert_base:tokens=64"};
    const auto ms = [&](double each) { return examples::milliseconds(uses * each); };
    const auto text = markdown_of(tables_of(records, options));
    CAPTURE(text);
    CHECK(contains(text, "| the untuned schedules | - | - | - | - | - | - | - | " + ms(4e-3) + " | - |"));
    CHECK(contains(text, "| likely | - | " + ms(1e-3) + " | - | - | - | - | - | " + ms(1e-3) + " | 4 |"));
    records.pop_back();
    CHECK_FALSE(contains(markdown_of(tables_of(records, options)), "Latency of bert_base"));
    const auto unknown = network_kernels(std::vector<std::string>{"bert"});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == augur::errc::not_found);
}

#ifdef AUGUR_TLM_PROGRAM
TEST_CASE("headroom: schedules that models write without a search, from beginning to end") {
    const scratch folder("headroom-writers");
    const auto run = [&](const char* program, const strings& arguments) { return wait_for(start(folder, program, arguments)); };
    const auto corpus = folder / "corpus.bin", base = folder / "base", known = folder / "known.jsonl";
    REQUIRE(run(AUGUR_TLM_PROGRAM, {"corpus", "--out", corpus, "--kernels", "12", "--sentences", "20", "--threads", "1"}) == 0);
    REQUIRE(run(AUGUR_TLM_PROGRAM, {"train", "--corpus", corpus, "--model", base, "--layers", "1", "--width", "16", "--heads", "2", "--hidden", "32",
                                    "--epochs", "1", "--numbers", "factors", "--threads", "1"}) == 0);
    REQUIRE(run(AUGUR_TUNE_PROGRAM, {"--kernel", "dense:m=16,n=64,k=32,bias", "--collect", "6", "--log", known, "--threads", "1"}) == 0);
    REQUIRE(run(AUGUR_TLM_PROGRAM, {"sentences", "--out", folder / "s.bin", "--log", known}) == 0);
    REQUIRE(run(AUGUR_TLM_PROGRAM,
                {"train", "--corpus", folder / "s.bin", "--base", base, "--model", folder / "tuned", "--epochs", "2", "--threads", "1"}) == 0);
    std::ofstream(folder / "of.jsonl") << to_line(made_up("dense:m=16,n=32,k=32,bias", 1e-5)) << to_line(made_up("dense:m=16,n=48,k=32,bias", 3e-4));
    const strings measure{"--work",     folder / "work",
                          "--hard-of",  folder / "of.jsonl",
                          "--guides",   "likely,unmasked,base,trigram,transferred",
                          "--language", folder / "tuned",
                          "--base",     base,
                          "--known",    known,
                          "--trials",   "3",
                          "--threads",  "1"};
    REQUIRE(run(AUGUR_HEADROOM_PROGRAM, measure) == 0);
    const auto records = read_records(folder / "work/kernels.jsonl");
    REQUIRE(records);
    REQUIRE(records->size() == 1);
    CHECK(!(*records)[0].searches[find_guide("unmasked")].latencies.empty()); // a model of one epoch may write nothing that is legal
    for (const char* name : {"likely", "base", "trigram", "transferred"}) {
        const auto& search = (*records)[0].searches[find_guide(name)];
        CHECK_MESSAGE(search.latencies.size() == (std::string(name) == "transferred" ? 1 : 3), name);
        CHECK_MESSAGE(search.winner > 0, name);
    }
    REQUIRE(run(AUGUR_HEADROOM_PROGRAM, measure) == 0); // nothing is left to measure
    REQUIRE(run(AUGUR_TUNE_PROGRAM, {"--kernel", "dense:m=16,n=32,k=32,bias", "--kernel", "dense:m=16,n=48,k=32,bias", "--collect", "1", "--log",
                                     folder / "tested.jsonl", "--threads", "1"}) == 0);
    check_refusals(folder, AUGUR_HEADROOM_PROGRAM,
                   {{{"--hard-of", folder / "of.jsonl", "--known", folder / "tested.jsonl", "--work", folder / "other"},
                     "expected records of other kernels, got those of a tested one: dense:m=16,n="}});
    CHECK(contents(folder / "work/kernels.jsonl") == to_line((*records)[0]));
    std::filesystem::remove(folder / "work/kernels.jsonl");
    std::filesystem::remove(folder / "work/tables.md");
    REQUIRE(run(AUGUR_HEADROOM_PROGRAM, measure) == 0); // the same schedules are written, so that all are in the logs
    const auto again = read_records(folder / "work/kernels.jsonl");
    REQUIRE(again);
    for (const char* name : {"likely", "unmasked", "base", "trigram"})
        CHECK_MESSAGE((*again)[0].searches[find_guide(name)].latencies == (*records)[0].searches[find_guide(name)].latencies, name);
}
#endif

TEST_CASE("headroom: tables and chart of a folder; wrong arguments") {
    const scratch folder("headroom-test");
    std::filesystem::create_directories(std::string(folder / "work"));
    std::ofstream(folder / "work/kernels.jsonl") << to_line(made_up("a", 1e-5)) << to_line(made_up("b", 3e-4));
    REQUIRE(wait_for(start(folder, AUGUR_HEADROOM_PROGRAM, {"--tables", "--work", folder / "work"})) == 0);
    CHECK(contains(contents(folder / "out"), "50.0 %")); // the untuned latency and the limit
    CHECK(contains(contents(folder / "work/tables.md"), "| a label | resnet_50 | 10.0 | fma | 50.0 % |"));
    CHECK(contains(contents(folder / "work/chart.svg"), "</svg>"));
    check_refusals(folder, AUGUR_HEADROOM_PROGRAM,
                   {{{"--kernels", "0"}, "--kernels: expected a whole number"},
                    {{"--guides", "tlp,grid"}, "expected one of random, tlp, known, crop"},
                    {{"--guides", "tlp,tlp"}, "'tlp' twice"},
                    {{"--guides", "crop+tlp"}, "the guide 'crop+tlp' needs --machine"},
                    {{"--guides", "tlm+known"}, "the guide 'tlm+known' needs --language"},
                    {{"--guides", "trees,bo+weights"}, "the guide 'bo+weights' needs --weights"},
                    {{"--guides", "base", "--language", "folder"}, "the guide 'base' needs --base"},
                    {{"--guides", "trigram"}, "the guide 'trigram' needs --language"},
                    {{"--guides", "tlp,"}, "got ''"},
                    {{"--kernels", "2", "--hard-of", "file"}, "--hard-of and --networks are in place of --kernels"},
                    {{"--networks", "resnet_18", "--hard-of", "file"}, "--hard-of and --networks are in place of --kernels"},
                    {{"--networks", "resnet_18,bert"}, "--networks: network 'bert' is unknown"},
                    {{"--hard-of", folder / "none", "--work", folder / "other"}, "none"},
                    {{"--hard-of", folder / "work/kernels.jsonl", "--work", folder / "other"}, "is unknown; known are dense"},
                    {{"--quick", "--hard-of", "file"}, "does not go with --hard-of"},
                    {{"--trials", "1025"}, "--trials: expected a whole number from 1 to 1024, got '1025'"},
                    {{"--quick", "--kernels", "2"}, "does not go with --kernels"},
                    {{"--quick", "--trials", "7"}, "expected --trials of 8 at least, got 7"},
                    {{"--nonsense"}, "unknown flag"},
                    {{"--tables", "--work", "/dev/null"}, "/dev/null"}});
}

} // namespace headroom_test

#endif
