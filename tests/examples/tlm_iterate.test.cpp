// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `tlm`: when `iterate` has converged and which networks it leaves out, and which points of `generate` are schedules of other kernels.
#include <doctest/doctest.h>

#ifdef AUGUR_TLM_PROGRAM // else there is no Eigen

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/record.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/count.hpp>
#include <augur/tlm/generate/generation.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/networks.hpp>

#include "../../examples/tools/tlm/copies.hpp"
#include "child_program.hpp"
#include "console.hpp"

namespace tlm_iterate_test {

namespace {

/// Its search space has four points: one to four fused loops are parallel.
constexpr const char* few_schedules = "elementwise:h=14,w=14,c=32,relu";
constexpr const char* few_schedules_larger = "elementwise:h=28,w=28,c=32,relu";

int run_tlm(const scratch& folder, const strings& arguments) { return wait_for(start(folder, AUGUR_TLM_PROGRAM, arguments)); }

/// Measures random schedules of kernels.
void collect(const scratch& folder, const std::string& log, const char* count, const strings& kernels) {
    strings arguments{"--collect", count, "--log", log, "--threads", "1", "--compiler", quick_compiler};
    for (const auto& k : kernels) arguments.insert(arguments.end(), {std::string("--kernel"), k});
    REQUIRE(wait_for(start(folder, AUGUR_TUNE_PROGRAM, arguments)) == 0);
}

/// Trains a small model, and returns its folder.
std::string train_base(const scratch& folder) {
    const auto corpus = folder / "corpus.bin", base = folder / "base";
    REQUIRE(run_tlm(folder, {"corpus", "--out", corpus, "--kernels", "12", "--sentences", "20", "--threads", "1"}) == 0);
    REQUIRE(run_tlm(folder, {"train", "--corpus", corpus, "--model", base, "--layers", "1", "--width", "16", "--heads", "2", "--hidden", "32",
                             "--epochs", "1", "--numbers", "factors", "--threads", "1"}) == 0);
    return base;
}

std::vector<augur::record> records_of(const std::string& path) {
    std::vector<augur::record> out;
    auto reader = augur::log_reader::open(path);
    REQUIRE(reader);
    for (augur::record r;;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) return out;
        out.push_back(r);
    }
}

augur::loopnest::kernel_task task_of(const std::string& text) {
    const auto k = augur::kernel::parse(text);
    REQUIRE(k);
    auto task = augur::loopnest::kernel_task::create(*k, {});
    REQUIRE(task);
    return *std::move(task);
}

augur::loopnest::ansor_space space_of(const augur::loopnest::kernel_task& task, std::int64_t cores = 1) {
    augur::loopnest::ansor_options options;
    options.num_cores = cores;
    auto space = augur::loopnest::ansor_space::create(task.dag(), options);
    REQUIRE(space);
    return *std::move(space);
}

/// The kernel of a network with the fewest operations.
std::string smallest_kernel(const char* name) {
    const auto network = augur::find_network(name);
    REQUIRE(network);
    std::string out;
    double least = 0;
    for (const auto& k : network->kernels) {
        const auto text = k.workload.text();
        const double flops = task_of(text).flops();
        if (!out.empty() && flops >= least) continue;
        out = text;
        least = flops;
    }
    return out;
}

} // namespace

TEST_CASE("tlm iterate: convergence is judged by as many programs of each kernel as were asked for") {
    constexpr std::size_t programs = 10, window = 9;
    const scratch folder("tlm_iterate");
    const auto base = train_base(folder), work = folder / "work";
    REQUIRE(run_tlm(folder, {"iterate", "--base", base, "--work", work, "--model", folder / "model", "--kernel", few_schedules, "--kernel",
                             "dense:m=16,n=32,k=32", "--batches", "1", "--programs", std::to_string(programs), "--threads", "1", "--compiler",
                             quick_compiler}) == 0);
    std::map<std::string, std::vector<double>> latencies; // of each kernel: the untuned schedule, then the programs
    for (const auto& r : records_of(work + "/batch1.jsonl")) latencies[r.task.workload_key].push_back(r.measured.latency());
    REQUIRE(latencies.size() == 2);
    const std::vector<double>&of_dense = latencies.begin()->second, &of_few = latencies.rbegin()->second;
    CHECK(of_few.size() <= 1 + 4);
    CHECK(of_dense.size() > 1 + programs); // what the other kernel could not use
    std::vector<double> totals;
    for (std::size_t n = 0; n <= programs; ++n) {
        const auto least = [n](const std::vector<double>& of) {
            return *std::min_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>((std::min)(n + 1, of.size())));
        };
        totals.push_back(least(of_dense) + least(of_few));
    }
    const auto mark = [&](double share) {
        for (std::size_t n = window; n <= programs; ++n)
            if (totals[n - window] - totals[n] < share * totals[n - window]) return std::to_string(n);
        return std::string("-");
    };
    strings row;
    std::istringstream printed(contents(folder / "out"));
    for (std::string line; std::getline(printed, line);) {
        if (!line.starts_with("all ")) continue;
        std::istringstream words(line);
        row.assign(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
    REQUIRE(row.size() == 5);
    CHECK(row[1] == examples::milliseconds(totals.front()));
    CHECK(row[2] == examples::milliseconds(totals.back()));
    CHECK(row[3] == mark(0.01));
    CHECK(row[4] == mark(0.001));
}

TEST_CASE("tlm iterate: kernels of networks that are left out are neither measured nor learned") {
    const scratch folder("tlm_iterate");
    const auto tested = smallest_kernel("resnet_18"), tested_key = augur::kernel::parse(tested)->workload_key();
    const std::string other = "dense:m=16,n=64,k=32,bias";
    const auto iterate = [&](const strings& more) {
        strings arguments{"iterate",    "--base", folder / "base", "--work", folder / "work", "--model",     folder / "model", "--batches", "1",
                          "--programs", "2",      "--threads",     "1",      "--compiler",    quick_compiler};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    check_refusals(folder, AUGUR_TLM_PROGRAM,
                   {{iterate({"--kernel", other, "--kernel", tested, "--left-out", "bert_base,resnet_18"}), "resnet_18 has " + tested},
                    {iterate({"--network", "gpt2:tokens=1,past=8", "--left-out", "vgg_16,gpt2:tokens=1,past=8"}), "gpt2:tokens=1,past=8 has "},
                    {iterate({"--kernel", other, "--left-out", "resnet_5"}), "resnet_5"},
                    {iterate({"--kernel", other, "--left-out", "vgg_16", "--log", folder / "work/log1.jsonl"}), "are the same file"}});
    CHECK_FALSE(std::filesystem::exists(folder / "work"));

    train_base(folder);
    const auto both = folder / "both.jsonl", only = folder / "only.jsonl";
    collect(folder, both, "2", {other, tested});
    collect(folder, only, "1", {tested});
    std::size_t of_tested = records_of(only).size(), of_other = 0;
    for (const auto& r : records_of(both)) ++(r.task.workload_key == tested_key ? of_tested : of_other);
    REQUIRE(of_tested > 0);
    REQUIRE(of_other > 0);
    const strings kernel_and_logs{"--kernel", "dense:m=16,n=32,k=32", "--log", both, "--log", only};
    auto without = kernel_and_logs;
    without.insert(without.end(), {"--left-out", "bert_base,resnet_18"});
    REQUIRE(run_tlm(folder, iterate(without)) == 0);
    // the model of the batch
    CHECK(contains(contents(folder / "err"), " sentences of 1 kernels; of " + std::to_string(of_other) + " records 0 of other compilers, "));
    const auto copied = records_of(folder / "work/log1.jsonl");
    CHECK(copied.size() == of_other);
    for (const auto& r : copied) CHECK(contains(contents(both), augur::to_text(r)));
    // the model in the end, which learns from the batch as well: two programs and the untuned schedule
    CHECK(contains(contents(folder / "out"), " sentences of 2 kernels; of " + std::to_string(of_other + of_tested + 3) +
                                                 " records 0 of other compilers, " + std::to_string(of_tested) + " left out, "));
    CHECK(run_tlm(folder, iterate(kernel_and_logs)) == 1);
    CHECK(contains(contents(folder / "err"), "('left out bert_base resnet_18' in its settings.txt)"));
}

TEST_CASE("tlm generate: a point counts as copied if it equals an adapted schedule of another kernel of the class") {
    const auto here = task_of(few_schedules), larger = task_of(few_schedules_larger), of_other_class = task_of("elementwise:h=28,w=28,c=32,relu6");
    const auto fusing = [](const augur::loopnest::ansor_space& space, std::uint64_t loops) { // so many loops are parallel
        augur::decision_vector out;
        auto cursor = space.cursor();
        while (const auto d = cursor.next()) {
            out.push_back(d->kind == augur::decision_kind::parallel ? loops - 1 : 0);
            REQUIRE(out.back() < d->options);
            cursor.choose(out.back());
        }
        return out;
    };
    augur::transfer::schedule_pool pool;
    const auto add = [&](const augur::loopnest::kernel_task& task, std::uint64_t loops) {
        const auto space = space_of(task);
        const auto point = fusing(space, loops);
        REQUIRE(pool.add(task.workload().text(), task.class_levels(), "", space, point, 1e-6));
    };
    add(larger, 2);
    add(larger, 4);
    add(here, 1); // its own
    add(of_other_class, 3);
    const auto space = space_of(here);
    const auto count = [&](std::initializer_list<std::uint64_t> fused) {
        std::vector<augur::tlm::generated_point> points;
        for (const auto loops : fused) points.emplace_back().decisions = fusing(space, loops);
        return count_copies(pool, here, space, points);
    };
    CHECK(count({1, 2, 3, 4}).adapted == 2);
    CHECK(count({1, 2, 3, 4}).copied == 2);
    CHECK(count({1, 3}).copied == 0);
    CHECK(count({2}).copied == 1);
    CHECK(count({}).copied == 0);
}

TEST_CASE("tlm generate: it says how many points are schedules of the logs") {
    const scratch folder("tlm_iterate");
    const auto base = train_base(folder), log = folder / "log.jsonl";
    collect(folder, log, "2", {few_schedules, few_schedules_larger});
    // All points of the space come, so each schedule of the other kernel is among them; the space of both kernels has the same decisions.
    const auto larger = task_of(few_schedules_larger);
    std::set<augur::decision_vector> known;
    for (const auto& r : records_of(log)) {
        if (r.task.workload_key != larger.key() || !r.measured.ok()) continue;
        const auto point = space_of(larger, r.task.hardware[0]).decide(r.schedule);
        REQUIRE(point);
        known.insert(*point);
    }
    std::size_t points = 0;
    const bool whole = augur::for_each_leaf(space_of(task_of(few_schedules)), 1000, [&](std::span<const std::uint64_t>) { return ++points, true; });
    CHECK(whole);
    REQUIRE(known.size() > 0);
    REQUIRE(known.size() < points);
    REQUIRE(run_tlm(folder, {"generate", "--model", base, "--kernel", few_schedules, "--count", "64", "--log", log, "--threads", "1"}) == 0);
    CHECK(contains(contents(folder / "out"), std::to_string(known.size()) + " of " + std::to_string(points) + " points ("));
    REQUIRE(run_tlm(folder, {"generate", "--model", base, "--kernel", few_schedules, "--log", log, "--best", "1", "--threads", "1"}) == 0);
    CHECK(contains(contents(folder / "out"), "1 of " + std::to_string(points) + " points ("));
    CHECK(run_tlm(folder, {"generate", "--model", base, "--kernel", few_schedules, "--log", folder / "none"}) == 1);
    CHECK(run_tlm(folder, {"generate", "--model", base, "--kernel", few_schedules, "--log", log, "--unconstrained"}) == 2);
    CHECK(contains(contents(folder / "err"), "it does not go with --log"));
}

} // namespace tlm_iterate_test

#endif
