// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `transfer`: its results file, its summary, a run on two small kernels that `tune` goes on with, wrong arguments.
#include <doctest/doctest.h>

#ifdef AUGUR_TRANSFER_PROGRAM // else there is no Eigen

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <augur/loopnest/ir/task.hpp>
#include <augur/record/log_reader.hpp>

#include "../../examples/tools/transfer/schedule_text.hpp"
#include "../../examples/tools/transfer/transfer.hpp"
#include "child_program.hpp"
#include "made_up_result.hpp"

namespace transfer_test {

namespace {

using examples::read_results;
using examples::transfer_result;

int run(const scratch& folder, const strings& arguments, const std::string& program = AUGUR_TRANSFER_PROGRAM) {
    return wait_for(start(folder, program, arguments));
}

} // namespace

TEST_CASE("transfer: results come back from their file, and a damaged line is told with its number") {
    const scratch folder("transfer");
    const auto path = folder / "results.jsonl";
    auto failed = made_up_result("net", "b", "crop", std::numeric_limits<double>::infinity(), 0);
    {
        std::ofstream file(path);
        file << to_line(made_up_result("net", "a", "trees", 0.1, 3)) << "\n" << to_line(failed) << "\n";
    }
    const auto read = read_results(path);
    REQUIRE(read);
    REQUIRE(read->size() == 2);
    CHECK(to_line((*read)[0]) == to_line(made_up_result("net", "a", "trees", 0.1, 3)));
    CHECK((*read)[1].latency == std::numeric_limits<double>::infinity());
    CHECK((*read)[0].latency == 0.1);
    failed.needed = 7;
    failed.seconds = 0.25;
    const auto good = to_line(failed);
    {
        std::ofstream file(path);
        file << good << "\n" << good.substr(0, good.find(", \"needed\"")) << "}\n"; // the second as older programs wrote it
    }
    const auto both = read_results(path);
    REQUIRE(both);
    REQUIRE(both->size() == 2);
    CHECK((*both)[0].needed == 7);
    CHECK((*both)[0].seconds == 0.25);
    CHECK((*both)[1].needed == 0);
    for (const std::string& bad :
         {good.substr(0, 40), good + "x", good.substr(0, good.size() - 1) + ", \"more\": 1}", std::string("[]"), std::string()}) {
        {
            std::ofstream file(path);
            file << good << "\n" << bad << "\n";
        }
        const auto refused = read_results(path);
        REQUIRE(!refused);
        CHECK(contains(refused.error().detail, "2"));
    }
    CHECK(read_results(folder / "none").error().code == augur::errc::io);
}

TEST_CASE("transfer: the summary is a geometric mean, kernels with a source and without apart") {
    std::vector<transfer_result> all{made_up_result("net", "a", "trees", 2, 3), made_up_result("net", "b", "trees", 1, 1),
                                     made_up_result("net", "c", "trees", 4, 0)};
    all.push_back(made_up_result("net", "a", "random", 4, 0)); // has a source, though random search does not look for it
    const auto rows = summary_table(all);
    REQUIRE(rows.size() == 4);
    CHECK(rows[1][0] == "2 with a source");
    CHECK(rows[1][1] == "trees");
    CHECK(rows[1][3] == "0.707"); // of 0.5 and 1
    CHECK(rows[1][5] == "0.500");
    CHECK(rows[1][6] == "0.56"); // 16 to 6 where 4 was possible: (8/3 - 1) / (4 - 1)
    CHECK(rows[2][1] == "random");
    CHECK(rows[2][3] == "0.250");
    CHECK(rows[3][0] == "1 without");
    CHECK(rows[3][3] == "0.250");
}

TEST_CASE("transfer: a kernel on another machine, or with schedules of other logs, is another kernel") {
    std::vector<transfer_result> machines{made_up_result("net", "a", "trees", 2, 3), made_up_result("net", "a", "trees", 1, 0)};
    machines[1].machine = "another machine";
    const auto summary = summary_table(machines);
    REQUIRE(summary.size() == 3);
    CHECK(summary[1][0] == "1 with a source");
    CHECK(summary[1][3] == "0.500");
    CHECK(summary[2][0] == "1 without");
    CHECK(summary[2][3] == "1.000");
    std::vector<transfer_result> logs{made_up_result("net", "a", "trees", 1, 3), made_up_result("net", "a", "random", 2, 0),
                                      made_up_result("net", "a", "trees", 4, 3), made_up_result("net", "a", "random", 4, 0)};
    for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) logs[i].logs = "c";
    const auto rivals = rivals_table(logs);
    REQUIRE(rivals.size() == 3);
    CHECK(rivals[1][0] == "2 with a source");
    CHECK(rivals[1][2] == "1.414"); // of 2 and 1
    CHECK(rivals[2][2] == "1.000"); // the one for which random schedules do worst
}

TEST_CASE("transfer: without an untuned latency a network has none, and no speed-up") {
    augur::session_report report;
    report.options.work.name = "net";
    report.kernels.resize(2);
    report.kernels[0].untuned = 0.004;
    report.searches.emplace_back("random", 2);
    for (auto& r : report.searches[0].result) r.latency = 0.002;
    const auto rows = kernel_table(report, 0, {});
    REQUIRE(rows.size() == 4);
    CHECK(rows[1][5] == "4.000");
    CHECK(rows[1][7] == "2.00x");
    CHECK(rows[2][5] == "-");
    CHECK(rows[3][5] == "-"); // the network
    CHECK(rows[3][6] == "4.000");
    CHECK(rows[3][7] == "-");
}

TEST_CASE("transfer: rivals are compared kernel by kernel, the hard ones apart") {
    std::vector<transfer_result> all{made_up_result("net", "a", "trees", 1, 3), made_up_result("net", "b", "trees", 1, 1),
                                     made_up_result("net", "c", "trees", 1, 0)};
    all.push_back(made_up_result("net", "a", "random", 2, 0));
    all.back().needed = 2;
    all.back().seconds = 0.5;
    all.push_back(made_up_result("net", "b", "random", 8, 0)); // never as fast, with four measurements
    all.push_back(made_up_result("net", "c", "random", 3, 0)); // without a source: in no row
    const auto rows = rivals_table(all);
    REQUIRE(rows.size() == 3);
    CHECK(rows[1] == std::vector<std::string>{"2 with a source", "random", "4.000", "2.000 to 8.000", "3.0", "0.5", "1"});
    CHECK(rows[2] == std::vector<std::string>{"1 hard ones of these", "random", "8.000", "8.000 to 8.000", "4.0", "-", "1"});
    CHECK(rivals_table({}).size() == 1);
}

TEST_CASE("transfer: a schedule in the words of the paper's Algorithm 1") {
    const auto task = augur::loopnest::kernel_task::create(*augur::kernel::parse("dense:m=64,n=32,k=16"), {});
    REQUIRE(task);
    std::string name;
    std::int64_t stage = 0;
    for (const auto& op : task->dag()->ops)
        if (!op.placeholder()) name = op.name, stage = &op - task->dag()->ops.data();
    augur::step_list list;
    list.steps = {augur::split_step{stage, 0, 64, {8}, true}, augur::reorder_step{stage, {2, 0, 1, 3}}, augur::fuse_step{stage, {1, 2}},
                  augur::annotate_step{stage, 1, augur::loop_annotation::parallel}, augur::pragma_step{stage, 1, "auto_unroll_max_step$512"}};
    const auto lines = schedule_text(task->dag(), list);
    const auto& axes = task->dag()->ops[static_cast<std::size_t>(stage)];
    const std::string i = axes.axis(0).name, j = axes.axis(1).name, k = axes.axis(2).name, fused = i + ".0@" + i + ".1@";
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] == name + ": " + i + ".0, " + i + ".1 <- Split(" + i + ", 8)");
    CHECK(lines[1] == name + ": Reorder(" + j + ", " + i + ".0, " + i + ".1, " + k + ")");
    CHECK(lines[2] == name + ": " + fused + " <- Fuse(" + i + ".0, " + i + ".1)");
    CHECK(lines[3] == name + ": Parallel(" + fused + ")");
    CHECK(lines[4] == name + ": Unroll(" + fused + ", 512)");
    list.steps.emplace_back(augur::fuse_step{stage, {7, 8}});
    CHECK(schedule_text(task->dag(), list).size() == 6); // with the reason
}

TEST_CASE("transfer: two kernels begin with the schedules of others, and tune goes on with the log") {
    const scratch folder("transfer");
    const auto known = folder / "known.jsonl", log = folder / "log.jsonl", results = folder / "results.jsonl";
    REQUIRE(run(folder, {"--kernel", "dense:m=16,n=64,k=32,bias", "--collect", "4", "--log", known, "--threads", "1"}, AUGUR_TUNE_PROGRAM) == 0);
    const strings wish{"--from",    known,
                       "--kernel",  "dense:m=24,n=32,k=32,bias",
                       "--kernel",  "dense:m=8,n=32,k=32,bias,relu",
                       "--by",      "class,trees,random:5,replayed",
                       "--count",   "2",
                       "--best",    "3",
                       "--full",    known,
                       "--log",     log,
                       "--results", results,
                       "--threads", "1"};
    REQUIRE(run(folder, wish) == 0);
    const auto out = contents(folder / "out");
    CHECK(contains(out, "dense +bias +relu")); // the table of classes
    CHECK(contains(out, "random:5"));
    CHECK(contains(out, "source of the best"));
    CHECK(contains(out, "dense:m=16,n=64,k=32,bias"));
    CHECK(contains(out, "transferred schedules ended as ok"));
    CHECK(contains(out, "class: 4 trials"));
    const auto read = read_results(results);
    REQUIRE(read);
    REQUIRE(read->size() == 10);       // the last two of the long search
    const auto& replayed = (*read)[6]; // which schedule is the fastest, and so whether its steps apply, differs between runs
    CHECK(contains(out, "replayed: 1 pairs of a class"));
    CHECK(replayed.chooser == "replayed");
    CHECK(replayed.adapted <= 1);
    CHECK(contains(out, "refused: none") == (replayed.adapted == 1));
    CHECK(contains(out, "replayed: 1 transferred schedules ended as ok") == (replayed.adapted == 1));
    CHECK(replayed.measurements == 1 + replayed.adapted);
    CHECK(replayed.latency <= replayed.untuned);
    CHECK((*read)[0].adapted > 0);
    CHECK((*read)[1].adapted == 0); // relu is another class
    CHECK((*read)[0].logs == "known");
    CHECK((*read)[0].measurements == 3);
    CHECK((*read)[0].latency <= (*read)[0].untuned);
    CHECK((*read)[0].full == 0); // that log does not know it
    auto reader = augur::log_reader::open(log);
    REQUIRE(reader);
    std::size_t records = 0, transferred = 0;
    for (augur::record r;;) {
        const auto more = reader->next(r);
        REQUIRE(more);
        if (!*more) break;
        ++records;
        transferred += contains(r.origin, "transfer from dense:m=16,n=64,k=32,bias") ? 1 : 0;
    }
    CHECK(records == 6); // two untuned, four of the first chooser
    CHECK(transferred > 0);
    CHECK(transferred <= 2);

    { std::ofstream(known, std::ios::app) << "{\"i\": damaged\n"; } // told by each way to choose
    REQUIRE(run(folder, {"--from", known, "--kernel", "dense:m=24,n=32,k=32,bias", "--by", "replayed", "--threads", "1"}) == 0);
    CHECK(contains(contents(folder / "out"), "1 damaged lines are passed over"));

    CHECK(run(folder, wish) == 2); // the log has records
    CHECK(contains(contents(folder / "err"), "holds 6 records"));
    REQUIRE(run(folder,
                {"--kernel", "dense:m=24,n=32,k=32,bias", "--kernel", "dense:m=8,n=32,k=32,bias,relu", "--model", "none", "--trials", "4",
                 "--scheduler", "even", "--log", log, "--resume", "--threads", "1", "--no-limits"},
                AUGUR_TUNE_PROGRAM) == 0);
    CHECK(contains(contents(folder / "out") + contents(folder / "err"), "4 records are taken over"));

    REQUIRE(run(folder, {"--summary", results}) == 0);
    CHECK(contains(contents(folder / "out"), "chosen by"));
}

TEST_CASE("transfer: tanh takes schedules of relu where equal structure is enough") {
    const scratch folder("transfer");
    const auto known = folder / "known.jsonl", results = folder / "results.jsonl";
    REQUIRE(run(folder, {"--kernel", "dense:m=16,n=64,k=32,relu", "--collect", "2", "--log", known, "--threads", "1"}, AUGUR_TUNE_PROGRAM) == 0);
    for (const auto& level : {std::string("operations"), std::string("structure")}) {
        CAPTURE(level);
        REQUIRE(run(folder, {"--from", known, "--kernel", "dense:m=16,n=32,k=32,tanh", "--by", "class", "--count", "1", "--level", level, "--results",
                             results, "--threads", "1"}) == 0);
        const auto read = read_results(results);
        REQUIRE(read);
        REQUIRE(read->size() == 1);
        CHECK(read->front().adapted == (level == "structure" ? 1 : 0));
    }
}

TEST_CASE("transfer: wrong arguments are refused before anything is measured") {
    const scratch folder("transfer");
    const auto refused = [&](const strings& arguments, const std::string& why) {
        CHECK(run(folder, arguments) == 2);
        CHECK_MESSAGE(contains(contents(folder / "err"), why), contents(folder / "err"));
    };
    const std::string kernel = "dense:m=8,n=8,k=8";
    refused({}, "expected --from LOG");
    refused({"--from", "x"}, "--to NETWORK");
    refused({"--from", "x", "--to", "no_such_net"}, "unknown");
    refused({"--from", "x", "--kernel", "dense"}, "dense");
    for (const std::string name : {"guess", "", "trees,", ",trees"})
        refused({"--from", "x", "--kernel", kernel, "--by", name}, "--by: expected one of trees,");
    for (const std::string name : {"random:", "random:0", "random:1001", "random:2x", "all:3", "replayed:3"})
        refused({"--from", "x", "--kernel", kernel, "--by", name}, "expected a number from 1 to 1000 behind the colon");
    refused({"--from", "x", "--kernel", kernel, "--by", "crop-picks"}, "--machine");
    refused({"--from", "x", "--kernel", kernel, "--by", "tlp"}, "--weights");
    refused({"--summary", "x", "--by", "trees"}, "--summary only prints: it does not go with --by");
    refused({"--from", "x", "--kernel", kernel, "--count", "-1"}, "--count: expected a whole number from 1 to 1000, got '-1'");
    refused({"--from", "x", "--kernel", kernel, "--by", "crop"}, "--machine");
    refused({"--from", folder / "none", "--kernel", kernel, "--by", "class"}, "none");
    refused({"--from", "x", "--kernel", kernel, "--resume"}, "--log");
    refused({"--from", "x", "--kernel", kernel, "--by", "replayed,class", "--log", "l"}, "name another one first");
    refused({"--from", "x", "--kernel", kernel, "--level", "name"}, "prefix|operations|canonical|structure|dag|workload");
    { std::ofstream(folder / "log") << "precious"; } // no log that is read is written over
    refused({"--from", folder / "log", "--kernel", kernel, "--results", folder / "log"}, "--results and --from are the same file");
    refused({"--from", folder / "log", "--kernel", kernel, "--log", folder / "log", "--resume"}, "--log and --from are the same file");
    CHECK(contents(folder / "log") == "precious");
    refused({"--summary", folder / "none"}, "none");
    CHECK(run(folder, {"--help"}) == 0);
    CHECK(contains(contents(folder / "out"), "usage: transfer"));
}

} // namespace transfer_test

#endif
