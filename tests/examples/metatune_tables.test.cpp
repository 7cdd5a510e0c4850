// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `metatune_tables` from outside, on its made-up tasks; and its scores, against numbers worked out by hand.
#include <doctest/doctest.h>

#ifdef AUGUR_METATUNE_TABLES_PROGRAM // else there is no Eigen

#include <algorithm>
#include <chrono>
#include <csignal>
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
    const std::vector<std::pair<strings, std::string>> rows{
        {{"--device", "abacus"}, "--device: expected cuda_gtx1650|"},
        {{"--epochs", "0"}, "--epochs: expected a whole number"},
        {{"--data", "/no/such"}, "/no/such/autotvm/cuda_gtx1650.vgg-16.jsonl.gz"},
    };
    check_refusals(folder, AUGUR_METATUNE_TABLES_PROGRAM, rows);
}

TEST_CASE("metatune_tables: the same tables for any number of threads") {
    const scratch folder("metatune-tables-test");
    std::string said;
    for (const char* threads : {"1", "3"}) {
        REQUIRE(wait_for(start(folder, AUGUR_METATUNE_TABLES_PROGRAM, {"--quick", "--threads", threads})) == 0);
        const auto now = contents(folder / "out");
        CAPTURE(now);
        CHECK(contains(now, "made up: 6 tasks to learn from, 1 to choose by, 3 to be judged by"));
        CHECK(contains(now, "meta-trained, second order"));
        CHECK((said.empty() || now == said));
        said = now;
    }
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
