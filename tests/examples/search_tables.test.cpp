// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `search_tables` from outside, on its made-up device; and the parts of it that numbers can be checked of.
#include <doctest/doctest.h>

#ifdef AUGUR_SEARCH_TABLES_PROGRAM // else there is no Eigen

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../../examples/papers/search_tables/search_tables.hpp"
#include "child_program.hpp"

namespace search_tables_test {

namespace {

int run_tables(const scratch& folder, strings arguments) { return wait_for(start(folder, AUGUR_SEARCH_TABLES_PROGRAM, std::move(arguments))); }
/// The output without the last columns, which are the seconds of the strategies and what they are part of.
std::string without_seconds(const std::string& said) {
    std::string out;
    for (std::size_t at = 0; at < said.size();) {
        const auto end = said.find('\n', at);
        std::string line = said.substr(at, end - at);
        if (line.starts_with("made up ")) line.erase(line.find_last_not_of(' ', line.find_last_of(' ')) + 1);
        out += line + '\n';
        at = end + 1;
    }
    return out;
}
network_plan short_plan() {
    network_plan plan;
    plan.steps = 2;
    plan.batch = plan.queries = 16;
    return plan;
}

} // namespace

TEST_CASE("search_tables: every wrong argument is one sentence and exit code 2") {
    const scratch folder("search-tables-test");
    std::ofstream(folder / "results.jsonl") << "{\"device\": 1}\n";
    const std::vector<std::pair<strings, std::string>> rows{
        {{}, "--work is needed"},
        {{"--work", folder / "a", "--search", "magic"}, "--search: expected random"},
        {{"--work", folder / "a", "--search", "bo+meta:mean"}, "--search: expected --trainings of 2 or more for bo+meta:mean, got 1"},
        {{"--work", folder / "a", "--trials", "3"}, "--trials: expected a whole number"},
        {{"--work", folder / "a", "--data", "/no/such"}, "/no/such: expected autotvm/"},
        {{"--work", folder / "a", "--data", "/no/such", "--device", "typo"}, "/no/such: expected autotvm/typo"},
        {{"--work", folder / "", "--quick"}, "results.jsonl:1:"},
    };
    check_refusals(folder, AUGUR_SEARCH_TABLES_PROGRAM, rows);
}

TEST_CASE("search_tables: the same tables for any number of threads, and after a kill") {
    const scratch folder("search-tables-test");
    const strings common{"--quick", "--trials", "64", "--seeds", "2", "--trainings", "3"};
    const auto with = [&](const std::string& work, const char* threads) {
        strings out = common;
        out.insert(out.end(), {"--work", folder / work, "--threads", threads});
        return out;
    };
    REQUIRE(run_tables(folder, with("one", "1")) == 0);
    const auto said = contents(folder / "out");
    CAPTURE(said);
    CHECK(contains(said, "bo+meta over random"));
    CHECK(contains(said, "MSE(D), constant"));
    auto device = made_up_device();
    device.as(encoding::knobs).graphs = *recorded_loops_of(device, encoding::knobs);
    std::size_t searches = 0; // those with features of loops do not apply
    for (std::size_t t = 0; t < device.replayed; ++t)
        for (const auto& name : search_names()) searches += applies(device, t, name) ? distinct_seeds(name, 2, 3) : 0;
    CHECK(searches >= 2 * (2 * 5 + 2 * 3 + 2));
    CHECK(lines_in(folder / "one/results.jsonl") == searches);

    REQUIRE(
        kill_when(start(folder, AUGUR_SEARCH_TABLES_PROGRAM, with("killed", "1")), [&] { return lines_in(folder / "killed/results.jsonl") >= 3; }));
    std::ofstream(folder / "killed/results.jsonl", std::ios::app) << "{\"device\":\"ma"; // the line that was being written
    REQUIRE(run_tables(folder, with("killed", "4")) == 0);
    CHECK(contains(contents(folder / "err"), "the last line is cut off"));
    CHECK(without_seconds(contents(folder / "out")) == without_seconds(said));
    CHECK(lines_in(folder / "killed/results.jsonl") == searches);
    const std::vector<std::pair<strings, std::string>> rows{
        {{"--quick", "--trials", "32", "--work", folder / "killed"}, "expected results of 32 trials, got one of 64"},
        {{"--quick", "--trials", "64", "--work", folder / "killed"}, "expected results of 1 trainings, got one of 3"}};
    check_refusals(folder, AUGUR_SEARCH_TABLES_PROGRAM, rows);
}

TEST_CASE("search_tables: networks are read again only if the records and the plan are those that they were trained with") {
    const scratch folder("search-tables-test");
    auto threads = examples::make_executor(1);
    network_plan plan = short_plan();
    const auto files_after = [&](device_records device, std::size_t trainings = 1) {
        REQUIRE(learn_networks({&device, 1}, plan, trainings, folder / "", threads));
        REQUIRE(device.as(encoding::super_graph).networks["tiles"].size() == trainings);
        const std::filesystem::directory_iterator files(folder / "");
        return std::distance(begin(files), end(files));
    };
    CHECK(files_after(made_up_device()) == 2);
    CHECK(files_after(made_up_device()) == 2);
    auto fewer = made_up_device(); // one task less to learn from
    fewer.tasks.pop_back();
    fewer.configs.pop_back();
    CHECK(files_after(std::move(fewer)) == 4);
    plan.steps = 3;
    CHECK(files_after(made_up_device()) == 6);
    CHECK(files_after(made_up_device(), 3) == 10);
}

TEST_CASE("search_tables: a training depends on its seed, not on the threads nor on the number of trainings") {
    const auto weights_of = [](std::size_t trainings, int threads) {
        const scratch folder("search-tables-test");
        auto executor = examples::make_executor(threads);
        auto device = made_up_device();
        REQUIRE(learn_networks({&device, 1}, short_plan(), trainings, folder / "", executor));
        std::vector<std::vector<float>> out;
        for (const auto& n : device.as(encoding::super_graph).networks["tiles"])
            for (const auto* net : {&n.supervised, &n.meta}) {
                auto& weights = out.emplace_back();
                net->visit([&](const std::string&, const auto& p) { weights.insert(weights.end(), p.data(), p.data() + p.size()); }, *net);
            }
        return out;
    };
    const auto three = weights_of(3, 1);
    REQUIRE(three.size() == 6);
    CHECK(weights_of(3, 4) == three);
    CHECK(weights_of(1, 1) == std::vector(three.begin(), three.begin() + 2));
    for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t k = 0; k < i; ++k) CHECK(three[i] != three[k]);
}

TEST_CASE("search_tables: a seed takes the network of its training, and the mean is none of them") {
    const scratch folder("search-tables-test");
    auto threads = examples::make_executor(1);
    auto device = made_up_device();
    REQUIRE(learn_networks({&device, 1}, short_plan(), 2, folder / "", threads));
    CHECK(distinct_seeds("bo+meta", 10, 2) == 2);
    CHECK(distinct_seeds("bo+meta:mean", 10, 2) == 1);
    CHECK(distinct_seeds("bo+meta:mean", 10, 1) == 0);
    CHECK(distinct_seeds("evolution+meta", 10, 2) == 10);
    for (const char* search : {"bo+supervised", "bo+meta"}) {
        const auto best = [&](const std::string& name, std::uint64_t seed) { return run_search(device, 0, name, {32}, seed).best; };
        const std::string mean = search + std::string(":mean");
        const auto first = best(search, 1), second = best(search, 2), of_both = best(mean, 1);
        CHECK(best(search, 3) == first);
        CHECK(first != second);
        CHECK(of_both != first);
        CHECK(of_both != second);
        auto& networks = device.as(encoding::super_graph).networks["tiles"];
        networks.pop_back();
        CHECK(best(mean, 1) == first); // of one
        REQUIRE(learn_networks({&device, 1}, short_plan(), 2, folder / "", threads));
    }
}

TEST_CASE("search_tables: a model says what it expects of each trial behind the first round, in units of the best one that it knows") {
    const scratch folder("search-tables-test");
    auto threads = examples::make_executor(1);
    auto device = made_up_device();
    REQUIRE(learn_networks({&device, 1}, short_plan(), 1, folder / "", threads));
    for (const char* search : {"bo+meta", "rl+meta"}) {
        const auto curve = run_search(device, 0, search, {32}, 1); // rounds of 8
        REQUIRE(!curve.failed);
        REQUIRE(curve.best.size() == 32);
        REQUIRE(curve.expected.size() == 24);
        for (std::size_t i = 0; i < 24; ++i) {
            CHECK(curve.expected[i].least == curve.best[7 + i / 8 * 8]);
            CHECK(std::min(curve.best[i + 7], curve.expected[i].seconds) == curve.best[i + 8]);
        }
    }
    CHECK(run_search(device, 0, "random", {32}, 1).expected.empty());
}

TEST_CASE("search_tables: the errors of predicted speeds have the unit of the best recorded one, and a failure has no speed") {
    examples::search_curve curve;
    CHECK(!errors_of(curve, 1.0));
    curve.expected = {{1, 0.5, 2}, {4, 1, 2}, {std::numeric_limits<double>::infinity(), 0, 2}, {2, 1.5, 2}};
    // measured 1, 1/4, 0 and 1/2; predicted 1/4, 1/2, 0 and 3/4; by the constant 1/2; the fastest quarter is the first trial
    CHECK(errors_of(curve, 1.0) == model_errors{(0.5625 + 0.0625 + 0 + 0.0625) / 4, 0.5625, (0.25 + 0.0625 + 0.25 + 0) / 4, 0.25});
}

TEST_CASE("search_tables: minutes and errors are sums and means over the tasks of means over the seeds") {
    std::map<result_key, search_result> results;
    const auto add = [&](const std::string& task, std::uint64_t seed, double measuring, double error) {
        search_result r{"d", task, "bo", seed, 16, 0, 1, 1.0, 30, {1.0}};
        r.measuring = measuring;
        r.errors = model_errors{error, 0, 1, 0.5};
        results.emplace(key_of(r), r);
        r.search = "random"; // of an older file
        r.measuring = std::numeric_limits<double>::quiet_NaN();
        r.errors.reset();
        results.emplace(key_of(r), r);
    };
    add("t", 1, 60, 0.1);
    add("t", 2, 120, 0.3);
    add("u", 1, 240, 0.6);
    const auto minutes = minutes_table(results, {"d"}, {"random", "bo"}, 16);
    REQUIRE(minutes.size() == 3);
    CHECK(minutes[1] == strings{"d", "random", "2", "-", "-"});
    CHECK(minutes[2] == strings{"d", "bo", "2", "5.50", "6.50"});
    const auto errors = error_table(results, {"d"}, {"random", "bo"}, 16);
    REQUIRE(errors.size() == 2);
    CHECK(errors[1] == strings{"d", "bo", "0.4000", "0.0000", "1.0000", "0.5000", "2"});
}

TEST_CASE("search_tables: networks of plain graphs are others, and need these graphs") {
    const scratch folder("search-tables-test");
    auto threads = examples::make_executor(1);
    auto device = made_up_device();
    CHECK(applies(device, 0, "bo+meta"));
    CHECK(!applies(device, 0, "bo+meta:plain"));
    CHECK(distinct_seeds("bo+meta:plain", 10, 2) == 2);
    CHECK(distinct_seeds("rl+meta:plain", 10, 2) == 10);
    auto rows = std::make_shared<std::unordered_map<std::uint64_t, metatune::loop_rows>>(*device.as(encoding::super_graph).graphs.rows);
    for (auto& [key, loops] : *rows) loops.features *= -2;
    device.as(encoding::plain).graphs.rows = std::move(rows);
    device.as(encoding::plain).graphs.templates.emplace("tiles", "plain");
    REQUIRE(learn_networks({&device, 1}, short_plan(), 1, folder / "", threads));
    CHECK(applies(device, 0, "bo+meta:plain"));
    CHECK(run_search(device, 0, "bo+meta:plain", {32}, 1).best != run_search(device, 0, "bo+meta", {32}, 1).best);
}

TEST_CASE("search_tables: over the seeds of a task shares and trials are geometric means") {
    std::map<result_key, search_result> results;
    const auto add = [&](const std::string& search, std::uint64_t seed, std::vector<double> best) {
        search_result r{"d", "t", search, seed, 16, 0, 1, 1.0, 0, std::move(best)};
        r.best.resize(16, r.best.back());
        results.emplace(key_of(r), r);
    };
    add("random", 1, {8.0, 4.0, 2.0, 1.0});                          // 0.95 of the best after 4 trials
    add("random", 2, {8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 4.0, 4.0}); // not within 16
    add("bo", 1, {4.0, 1.0});
    const auto shares = share_table(results, {"d"}, {"random", "bo"}, 16);
    REQUIRE(shares.size() == 3);
    CHECK(shares[0] == strings{"device", "search", "8", "16", "trials to 0.95", "not reached", "s proposing"});
    CHECK(shares[1] == strings{"d", "random", "0.500", "0.500", "8.0", "0.50", "0.00"}); // sqrt(1 * 1/4), sqrt(4 * 16)
    CHECK(shares[2] == strings{"d", "bo", "1.000", "1.000", "2.0", "0.00", "0.00"});
    const auto ratios = ratio_table(results, {"d"}, {"random", "bo"}, 16);
    REQUIRE(ratios.size() == 2);
    CHECK(ratios[1] == strings{"bo over random", "2.000", "2.000", "0.25"});
}

TEST_CASE("search_tables: a first round is a result of its own, and leaves a search as it is where rounds have a plan of their own") {
    const scratch folder("search-tables-test");
    CHECK(first_round_of("bo", 4) == 4);
    CHECK(first_round_of("random", 4) == 0);
    CHECK(first_round_of("sa+xgb:64", 4) == 0);
    const auto device = made_up_device();
    CHECK(run_search(device, 0, "random", {32, 4}, 1).best == run_search(device, 0, "random", {32}, 1).best);
    CHECK(run_search(device, 0, "descent", {32, 4}, 1).best != run_search(device, 0, "descent", {32}, 1).best);
    const auto run = [&](strings more) {
        strings arguments{"--quick", "--trials", "32", "--search", "random", "--search", "descent", "--work", folder / "w"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        REQUIRE(run_tables(folder, std::move(arguments)) == 0);
        return std::pair(lines_in(folder / "w/results.jsonl"), without_seconds(contents(folder / "out")));
    };
    const auto full = run({});
    const auto grown = run({"--first-round", "4"});
    CHECK(grown.first - full.first == full.first / 2); // descent alone is searched again
    CHECK(grown.second != full.second);
    CHECK(run({}) == std::pair(grown.first, full.second));
    CHECK(run({"--first-round", "4"}) == grown);
}

TEST_CASE("search_tables: what a search learned from is a part of its key, and an older file does not name it") {
    const auto device = made_up_device();
    auto fewer = made_up_device(); // one task less to learn from
    fewer.tasks.pop_back();
    fewer.configs.pop_back();
    for (const char* search : {"random", "bo", "descent", "sa+xgb"}) CHECK(learned_by(search, device, 0).empty());
    for (const char* search : {"bo+meta", "bo+supervised:knobs", "rl+meta:plain", "tlm", "transferred", "sa+xgb:history"}) {
        const auto learned = learned_by(search, device, 0);
        CHECK(learned.size() == 16);
        CHECK(learned == learned_by(search, made_up_device(), 0));
        CHECK(learned != learned_by(search, fewer, 0));
    }
    const scratch folder("search-tables-test");
    search_result r{"d", "t", "bo+meta", 1, 16, 0, 1, 1.0, 0, {1.0}};
    std::ofstream(folder / "results.jsonl")
        << R"({"device":"d","task":"t","search":"bo+meta","trials":16,"trainings":1,"first_round":0,"seed":1,"optimum":1,"proposing":0,"best":[1]})"
        << '\n';
    auto results = open_results(folder / "results.jsonl", 16, 1);
    REQUIRE(results);
    CHECK(results->find(key_of(r)) != nullptr); // not the key of what is searched now
    r.learned = learned_by("bo+meta", device, 0);
    CHECK(results->find(key_of(r)) == nullptr);
    REQUIRE(results->add(key_of(r), r));
    const auto again = open_results(folder / "results.jsonl", 16, 1);
    REQUIRE(again);
    CHECK(again->all().size() == 2);
    REQUIRE(again->find(key_of(r)) != nullptr);
    CHECK(again->find(key_of(r))->learned == r.learned);
}

TEST_CASE("search_tables: a signal ends it, and the same command goes on") {
    const scratch folder("search-tables-test");
    const strings command{"--quick", "--trials", "128", "--search", "bo", "--work", folder / "w", "--threads", "1"};
    const pid_t child = start(folder, AUGUR_SEARCH_TABLES_PROGRAM, command);
    for (int i = 0; i < 30'000 && lines_in(folder / "w/results.jsonl") == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(child, SIGINT);
    CHECK(wait_for(child) == 130);
    CHECK(contains(contents(folder / "err"), "the same command goes on"));
    CHECK(run_tables(folder, command) == 0);
}

TEST_CASE("search_tables: copied timings are left out, slow sessions are scaled") {
    augur::tuning_archive archive;
    std::vector<augur::autotvm_config> configs;
    const auto add = [&](std::int64_t tile, double seconds, std::int64_t when) {
        augur::measured_configuration r;
        r.point.parameters = {{"tile", tile}};
        r.measured.status = augur::outcome::ok;
        r.measured.seconds = {seconds, seconds * 1.01};
        r.measured.timestamp = when;
        archive.records.push_back(std::move(r));
        configs.emplace_back();
    };
    for (std::int64_t i = 0; i < 30; ++i) add(i, 1e-3 + 1e-5 * static_cast<double>(i), i);
    add(100, archive.records[4].measured.seconds[0], 40);                                                 // a copy
    add(4, archive.records[4].measured.seconds[0], 41);                                                   // the same configuration: no copy
    for (std::int64_t i = 0; i < 30; ++i) add(i, 1.3 * (1e-3 + 1e-5 * static_cast<double>(i)), 5000 + i); // a slow session
    add(200, 1.3e-3, 5040);
    const examples::cleaning told = examples::clean(archive, configs);
    CHECK(told.copied == 1);
    CHECK(told.slow_sessions == 1);
    CHECK(told.scaled == 31);
    REQUIRE(archive.records.size() == 62);
    CHECK(configs.size() == 62);
    CHECK(archive.records.back().measured.seconds[0] == doctest::Approx(1e-3).epsilon(1e-6));
    CHECK(archive.records[31].measured.seconds[0] == doctest::Approx(1e-3).epsilon(1e-6)); // tile 0, again
    CHECK(archive.records[0].measured.seconds[0] == 1e-3);
}

} // namespace search_tables_test

#endif
