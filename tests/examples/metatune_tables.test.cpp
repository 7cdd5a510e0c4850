// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `metatune_tables` from outside, on its made-up tasks; and its scores, against numbers worked out by hand.
#include <doctest/doctest.h>

#ifdef AUGUR_METATUNE_TABLES_PROGRAM // else there is no Eigen

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../examples/papers/metatune_tables/metatune_tables.hpp"
#include "child_program.hpp"

namespace metatune_tables_test {

TEST_CASE("metatune_tables: every wrong argument is one sentence and exit code 2") {
    const scratch folder("metatune-tables-test");
    std::ofstream(folder / "results.jsonl") << "{\"identity\": \"0\", \"rows\": [{\"start\": \"supervised\", \"test\": [1, 2]}]}\n";
    const std::vector<std::pair<strings, std::string>> rows{
        {{"--device", "abacus"}, "--device: expected cuda_gtx1650|"},
        {{"--variant", "other"}, "--variant: expected usual|plain|"},
        {{"--variant", "usual", "--variant", "tlp", "--frozen"}, "it does not go with --variant tlp"},
        {{"--quick", "--work", folder / ""}, "results.jsonl:1:"},
        {{"--epochs", "0"}, "--epochs: expected a whole number"},
        {{"--data", "/no/such"}, "/no/such/autotvm/cuda_gtx1650.vgg-16.jsonl.gz"},
    };
    check_refusals(folder, AUGUR_METATUNE_TABLES_PROGRAM, rows);
}

TEST_CASE("metatune_tables: the same tables for any number of threads, and after a kill") {
    const scratch folder("metatune-tables-test");
    const auto with = [&](const std::string& work, const char* threads) -> strings {
        return {"--quick",  "--epochs",  "2",   "--seeds", "1",           "--variant", "usual", "--variant",
                "unmasked", "--variant", "tlp", "--work",  folder / work, "--threads", threads};
    };
    REQUIRE(wait_for(start(folder, AUGUR_METATUNE_TABLES_PROGRAM, with("one", "1"))) == 0);
    const auto said = contents(folder / "out");
    CAPTURE(said);
    CHECK(contains(said, "made up: 6 tasks to learn from, 1 to choose by, 3 to be judged by"));
    CHECK(contains(said, "meta-trained, Reptile"));
    CHECK(contains(said, "unmasked: meta-trained, second order"));
    CHECK(contains(said, "tlp: meta-trained, second order"));
    CHECK(lines_in(folder / "one/results.jsonl") == 6); // three variants, 5 and 20 points

    const std::string killed = folder / "killed/results.jsonl";
    REQUIRE(kill_when(start(folder, AUGUR_METATUNE_TABLES_PROGRAM, with("killed", "1")), [&] { return lines_in(killed) >= 1; }));
    std::ofstream(killed, std::ios::app) << "{\"identity\":\"0"; // the line that was being written
    REQUIRE(wait_for(start(folder, AUGUR_METATUNE_TABLES_PROGRAM, with("killed", "3"))) == 0);
    CHECK(contains(contents(folder / "err"), "the last line is cut off"));
    CHECK(contents(folder / "out") == said);
    CHECK(contents(killed) == contents(folder / "one/results.jsonl"));
}

TEST_CASE("metatune_tables: a signal ends it") {
    const scratch folder("metatune-tables-test");
    const pid_t child = start(folder, AUGUR_METATUNE_TABLES_PROGRAM, {"--quick", "--threads", "1"});
    for (int i = 0; i < 3000 && !contains(contents(folder / "err"), "training"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(child, SIGINT);
    CHECK(wait_for(child) == 130);
    CHECK(contains(contents(folder / "err"), "stopped before the tables were whole"));
}

TEST_CASE("metatune_tables: errors have the unit of the best of the task") {
    auto threads = examples::make_executor(1);
    augur::metatune::loop_rows rows;
    rows.features = augur::nn::matrix<float>::Zero(1, 2);
    rows.present = {1};
    rows.parents = {augur::metatune::loop_rows::no_parent};
    const auto net = augur::metatune::network<float>::zeros({.features = 2, .outputs = 1});
    metatune_tables::adaptation how;
    how.shots = 2;
    how.seeds = 1;
    std::set<std::pair<double, double>> seen;
    std::vector<double> seconds{1, 2, 4}; // two are measured, the third one is predicted: in three orders, each of them once
    for (int turn = 0; turn < 3; ++turn) {
        const std::vector<metatune_tables::table_task> tasks{{"t", {{rows, rows, rows}, seconds}, 1}};
        const auto high = metatune_tables::judge(metatune_tables::start::constant_high, net, tasks, how, threads);
        const auto mean = metatune_tables::judge(metatune_tables::start::constant_mean, net, tasks, how, threads);
        REQUIRE((high && mean));
        CHECK(high->front().spearman == 0);
        CHECK(high->front().mse_fast == high->front().mse); // of one point
        seen.emplace(high->front().mse, mean->front().mse);
        std::rotate(seconds.begin(), seconds.begin() + 1, seconds.end());
    }
    // predicted 4: (1 - 1/4)^2 and (3/4 - 1/4)^2; predicted 2: (1 - 1/2)^2 and (5/8 - 1/2)^2; predicted 1: (1/2 - 1)^2 and (3/8 - 1)^2
    CHECK(seen == std::set<std::pair<double, double>>{{0.5625, 0.25}, {0.25, 0.015625}, {0.25, 0.390625}});
}

TEST_CASE("metatune_tables: each variant is another network, and meta-training leaves the convolutions of the frozen one as they are") {
    auto threads = examples::make_executor(1);
    std::vector<std::vector<double>> seen;
    for (const metatune_tables::network_variant& variant : metatune_tables::variants) {
        if (variant.input == metatune_tables::model_input::primitives) continue; // no graph network
        const auto on = metatune_tables::made_up_device(variant.input);
        metatune_tables::training_plan plan;
        plan.epochs = 1;
        plan.network = variant;
        const auto nets = metatune_tables::train(on, 5, plan, threads);
        REQUIRE(nets);
        const auto net_of = [&](metatune_tables::start from) -> const auto& { return (*nets)[static_cast<std::size_t>(from)]; };
        const auto& second = net_of(metatune_tables::start::second_order);
        CHECK(examples::predict_speeds(net_of(metatune_tables::start::reptile), on.test.front().samples) !=
              examples::predict_speeds(second, on.test.front().samples));
        CHECK((net_of(metatune_tables::start::first_order).convolutions[0].W == second.convolutions[0].W) == variant.frozen);
        seen.push_back(examples::predict_speeds(second, on.test.front().samples));
        for (std::size_t i = 0; i + 1 < seen.size(); ++i) CHECK(seen[i] != seen.back());
    }
}

TEST_CASE("metatune_tables: rows are read again as they were, and only for the tasks and the plan that they are of") {
    const scratch folder("metatune-tables-test");
    auto on = metatune_tables::made_up_device();
    metatune_tables::training_plan plan;
    metatune_tables::adaptation how;
    std::set<std::string> identities;
    for (const auto& variant : metatune_tables::variants) {
        plan.network = variant;
        identities.insert(identity_of(on, plan, how));
    }
    plan.network = {};
    const std::string identity = identity_of(on, plan, how);
    CHECK(identities.contains(identity));
    how.shots = 20;
    identities.insert(identity_of(on, plan, how));
    plan.epochs = 3;
    identities.insert(identity_of(on, plan, how));
    on.test.back().samples.seconds.back() *= 2;
    identities.insert(identity_of(on, plan, how));
    CHECK(identities.size() == metatune_tables::variants.size() + 3);

    metatune_tables::adapted_rows rows;
    for (std::size_t at = 0; at < metatune_tables::start_names.size(); ++at) {
        auto& row = rows[static_cast<metatune_tables::start>(at)];
        row.held_out.fill({1.0 / 3, 0.1, -0.7});
        row.test.assign(2, {static_cast<double>(at) / 7, 1e-9, 0});
    }
    auto first = metatune_tables::result_file::open(folder / "results.jsonl");
    REQUIRE(first);
    CHECK(first->find(identity) == nullptr);
    REQUIRE(first->add(identity, {"a title", rows}));
    const auto again = metatune_tables::result_file::open(folder / "results.jsonl");
    REQUIRE(again);
    const auto* const found = again->find(identity);
    REQUIRE(found != nullptr);
    REQUIRE(found->rows.size() == rows.size());
    const auto same = [](const metatune_tables::scores& a, const metatune_tables::scores& b) {
        return a.mse == b.mse && a.mse_fast == b.mse_fast && a.spearman == b.spearman;
    };
    for (const auto& [from, row] : rows) {
        const auto& other = found->rows.at(from);
        CHECK(std::equal(row.held_out.begin(), row.held_out.end(), other.held_out.begin(), other.held_out.end(), same));
        CHECK(std::equal(row.test.begin(), row.test.end(), other.test.begin(), other.test.end(), same));
    }
}

TEST_CASE("metatune_tables: on made-up tasks, other tasks teach what five points do not") {
    auto threads = examples::make_executor(2);
    const auto on = metatune_tables::made_up_device();
    metatune_tables::training_plan plan;
    plan.epochs = 10;
    const auto nets = metatune_tables::train(on, 5, plan, threads);
    REQUIRE(nets);
    const auto spearman_of = [&](metatune_tables::start from) {
        metatune_tables::adaptation how;
        how.fine_tuning.inner_rate = plan.inner.inner_rate;
        how.fine_tuning.frozen = false;
        const auto judged = metatune_tables::judge(from, (*nets)[static_cast<std::size_t>(from)], on.test, how, threads);
        REQUIRE(judged);
        double sum = 0;
        for (const auto& s : *judged) sum += s.spearman / static_cast<double>(judged->size());
        return sum;
    };
    const double random = spearman_of(metatune_tables::start::random);
    CHECK(spearman_of(metatune_tables::start::pretrained) > random + 0.05);
    CHECK(spearman_of(metatune_tables::start::second_order) > random + 0.05);
}

} // namespace metatune_tables_test

#endif
