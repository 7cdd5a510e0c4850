// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `metatune`, and its training: interrupted or not, the same weights.
#include <doctest/doctest.h>

#ifdef AUGUR_METATUNE_PROGRAM // else there is no Eigen

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/workload/networks.hpp>

#include "../../examples/tools/metatune/metatune.hpp"
#include "../nn/same_parameters.hpp"
#include "child_program.hpp"

namespace metatune_program_test {

namespace mt = augur::metatune;

std::vector<metatune_program::kernel_samples> made_up() {
    std::vector<metatune_program::kernel_samples> out(4);
    augur::random_engine rng(5);
    for (auto& k : out)
        for (int i = 0; i < 30; ++i) {
            mt::loop_rows rows;
            rows.features.setZero(3, 4);
            rows.present.assign(3, 1);
            rows.parents.assign(3, mt::loop_rows::no_parent);
            for (augur::nn::index r = 0; r < 3; ++r)
                for (augur::nn::index c = 0; c < 4; ++c) rows.features(r, c) = static_cast<float>(rng.uniform(-1, 1));
            k.samples.seconds.push_back(std::exp(static_cast<double>(rows.features(0, 0))));
            k.samples.candidates.push_back(std::move(rows));
        }
    return out;
}

metatune_program::training_plan short_plan() {
    metatune_program::training_plan plan;
    plan.shape.features = 4;
    plan.shape.convolutions = {6, 5};
    plan.shape.head = {7};
    plan.supervised.epochs = 3;
    plan.supervised.batch = 20;
    plan.meta.steps = 8;
    plan.meta.shots = plan.meta.queries = 6;
    plan.meta.batch = 4;
    plan.meta.cold = 1;
    return plan;
}

const std::string log_of_resnet = std::string(AUGUR_TEST_DIR) + "/../docs/results/transfer/resnet_18.jsonl.gz";

} // namespace metatune_program_test

TEST_CASE("metatune: every wrong argument is one sentence and exit code 2") {
    const scratch folder("metatune-test");
    const std::vector<std::pair<strings, std::string>> rows{
        {{"pretrain", "--out", "w"}, "expected --log LOG"},
        {{"pretrain", "--log", "a"}, "expected --out FILE"},
        {{"pretrain", "--log", "a", "--out", "a"}, "--out and --log are the same file"},
        {{"adapt", "--log", "a"}, "expected --weights FILE"},
        {{"adapt", "--log", "a", "--epochs", "3"}, "unknown flag '--epochs'"},
        {{"pretrain", "--epochs", "0"}, "--epochs: expected a whole number"},
        {{"draw", "--count", "5001"}, "--count: expected a whole number from 1 to 5000, got '5001'"},
        {{"draw", "--log", "a"}, "unknown flag '--log'"},
    };
    check_refusals(folder, AUGUR_METATUNE_PROGRAM, rows);
    CHECK(wait_for(start(folder, AUGUR_METATUNE_PROGRAM, {"fly"})) == 2);
    CHECK(wait_for(start(folder, AUGUR_METATUNE_PROGRAM, {"--help"})) == 0);
}

TEST_CASE("metatune: kernels drawn from the ranges of Table 2, none of them of a network") {
    const auto kernels = metatune_program::draw_kernels(300, 7);
    REQUIRE(kernels);
    REQUIRE(kernels->size() == 300);
    std::set<std::string> texts;
    std::map<augur::kernel_kind, std::size_t> kinds;
    for (const auto& k : *kernels) {
        texts.insert(k.text());
        ++kinds[k.kind()];
        const bool line = k.rank() == 1;
        CAPTURE(k.text());
        CHECK((k["w"] >= (line ? 150 : 7) && k["w"] <= (line ? 600 : 224)));
        CHECK((k["c"] >= (line ? 32 : 3) && k["c"] <= 128));
        CHECK((k["f"] >= (line ? 32 : 16) && k["f"] <= (line ? 512 : 128)));
        CHECK(augur::loopnest::kernel_task::create(k, {}));
    }
    CHECK(texts.size() == 300);
    CHECK(kinds.size() == 5);
    for (const auto& [kind, count] : kinds) CHECK(count == 60);
    for (const auto name : augur::network_names) {
        const auto network = augur::find_network(name);
        REQUIRE(network);
        for (const auto& k : network->kernels) CHECK_FALSE(texts.contains(k.workload.text()));
    }
    const auto fewer = metatune_program::draw_kernels(47, 7), other = metatune_program::draw_kernels(47, 8);
    REQUIRE((fewer && other));
    CHECK(std::equal(fewer->begin(), fewer->end(), kernels->begin())); // a smaller set is the beginning of a larger one
    CHECK(*fewer != *other);
}

TEST_CASE("metatune: a training that is stopped anywhere and started again ends with the same bits, on any number of threads") {
    using namespace metatune_program_test;
    const scratch folder("metatune-test");
    const auto samples = made_up();
    auto one = examples::make_executor(1), two = examples::make_executor(2);
    const auto whole = metatune_program::train(samples, short_plan(), one, [](auto, const auto&) { return true; });
    REQUIRE(whole);
    auto plan = short_plan();
    plan.checkpoint = folder / "checkpoint";
    std::size_t stops = 0;
    for (;;) {
        std::size_t steps = 0;
        const auto cut = metatune_program::train(samples, plan, two, [&](auto, const auto&) { return ++steps < 3; });
        if (cut) {
            CHECK(same_parameters(*cut, *whole));
            break;
        }
        REQUIRE(cut.error().code == augur::errc::interrupted);
        REQUIRE(std::filesystem::exists(plan.checkpoint));
        REQUIRE(++stops < 50);
    }
    CHECK(stops > 5);
    plan.checkpoint_seconds = 0; // a checkpoint at each step changes nothing
    std::filesystem::remove(plan.checkpoint);
    const auto often = metatune_program::train(samples, plan, two, [](auto, const auto&) { return true; });
    REQUIRE(often);
    CHECK(same_parameters(*often, *whole));

    plan.meta.learning_rate *= 2; // another training
    const auto other = metatune_program::train(samples, plan, one, [](auto, const auto&) { return true; });
    REQUIRE_FALSE(other);
    CHECK(other.error().code == augur::errc::version_mismatch);
    plan.checkpoint.clear();
    plan.meta.shots = 100;
    const auto few = metatune_program::train(samples, plan, one, [](auto, const auto&) { return true; });
    REQUIRE_FALSE(few);
    CHECK(contains(few.error().detail, "expected 1 kernels with 106 candidates, got 0"));
}

TEST_CASE("metatune: weights from a log, and how well they adapt") {
    using namespace metatune_program_test;
    const scratch folder("metatune-test");
    const auto weights = folder / "w.safetensors";
    const strings small{"--most", "48", "--epochs", "2", "--meta-steps", "4", "--structures", "8", "--seed", "3", "--log", log_of_resnet};
    std::string first;
    for (const char* threads : {"1", "2"}) {
        strings arguments{"pretrain", "--out", weights, "--threads", threads};
        arguments.insert(arguments.end(), small.begin(), small.end());
        const int code = wait_for(start(folder, AUGUR_METATUNE_PROGRAM, arguments));
        CAPTURE(contents(folder / "err"));
        REQUIRE(code == 0);
        CHECK_FALSE(std::filesystem::exists(weights + ".checkpoint"));
        if (first.empty()) first = contents(weights);
        CHECK(contents(weights) == first);
    }
    strings again{"pretrain", "--out", weights, "--threads", "2"};
    again.insert(again.end(), small.begin(), small.end());
    std::filesystem::remove(weights);
    for (const int milliseconds : {20, 150, 400, 700}) {
        const pid_t child = start(folder, AUGUR_METATUNE_PROGRAM, again);
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        ::kill(child, SIGKILL);
        wait_for(child);
    }
    REQUIRE(wait_for(start(folder, AUGUR_METATUNE_PROGRAM, again)) == 0);
    CHECK(contents(weights) == first);
    // a network that no log has: refused without slots, and told by name what a loop has none
    strings with_slots{"pretrain", "--out", folder / "slots.safetensors", "--slots", "bert_base"};
    with_slots.insert(with_slots.end(), small.begin(), small.end());
    REQUIRE(wait_for(start(folder, AUGUR_METATUNE_PROGRAM, with_slots)) == 0);
    const auto narrow = mt::load(weights), wide = mt::load(folder / "slots.safetensors");
    REQUIRE((narrow && wide));
    const auto dense = augur::loopnest::kernel_task::create(*augur::kernel::parse("batch_matmul:b=12,m=128,n=128,k=64"), {});
    REQUIRE(dense);
    const auto untuned = augur::loopnest::untuned_schedule(*dense->dag(), 2);
    CHECK_FALSE((*augur::schedule_rows::create(*narrow))(*dense, untuned));
    CHECK((*augur::schedule_rows::create(*wide))(*dense, untuned));

    const int code =
        wait_for(start(folder, AUGUR_METATUNE_PROGRAM, {"adapt", "--weights", weights, "--log", log_of_resnet, "--most", "48", "--seeds", "1"}));
    CAPTURE(contents(folder / "err"));
    REQUIRE(code == 0);
    const auto said = contents(folder / "out");
    CHECK(contains(said, "mean, random weights"));
    CHECK(contains(said, "Better Spearman than random weights:"));

    std::ofstream(weights, std::ios::binary) << first.substr(0, first.size() / 2);
    CHECK(wait_for(start(folder, AUGUR_METATUNE_PROGRAM, {"adapt", "--weights", weights, "--log", log_of_resnet})) == 1);
    CHECK(contains(contents(folder / "err"), "w.safetensors"));
    CHECK(wait_for(start(folder, AUGUR_METATUNE_PROGRAM, {"adapt", "--weights", folder / "none", "--log", log_of_resnet})) == 1);
    CHECK(wait_for(start(folder, AUGUR_METATUNE_PROGRAM, {"pretrain", "--out", weights, "--log", folder / "none"})) == 1);
}

#endif
