// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/io/autotvm_archive.hpp>

#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/record/autotvm_line.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/replay_runner.hpp>
#include <doctest/doctest.h>

#include "../record/autotvm_lines.hpp"
#include "../record/logs.hpp"

namespace autotvm_archive_test {

using namespace augur;

namespace {

struct log_on_disk {
    logs::folder folder;
    std::string path = folder / "log.jsonl";
    explicit log_on_disk(const std::vector<std::string>& lines) {
        std::ofstream out(path);
        for (const auto& l : lines) out << l << '\n';
    }
};

std::string gpu_config(int f, int unroll) {
    return R"({"index": 1, "code_hash": null, "entity": [["tile_f", "sp", [-1, )" + std::to_string(f) +
           R"(, 16, 1]], ["auto_unroll_max_step", "ot", )" + std::to_string(unroll) + "]]}";
}
std::string seconds(double s) { return "[[" + std::to_string(s) + "], 0, 2.5, 1680907291.0]"; }

} // namespace

TEST_CASE("to_configuration names every part of a knob") {
    const auto line = parse_autotvm_line(autotvm_lines::line(autotvm_lines::cpu_input, autotvm_lines::arm_config, autotvm_lines::good_result));
    REQUIRE(line);
    CHECK(to_string(to_configuration(line->config)) == "tile_co.0=-1 tile_co.1=32 reorder_0.0=0 reorder_0.1=1 reorder_0.2=2 reorder_0.3=3 "
                                                       "ann_reduce.0=unroll ann_reduce.1=none ann_spatial.0=unroll ann_spatial.1=none "
                                                       "ann_spatial.2=vec tile_oh=2");
    CHECK(to_configuration({}).parameters.empty());
}

TEST_CASE("read_autotvm_archives: an archive a task, which a search can be repeated on") {
    using autotvm_lines::cpu_input, autotvm_lines::gpu_input, autotvm_lines::line;
    const std::vector<std::string> lines{
        line(gpu_input, gpu_config(8, 0), seconds(0.25)),          line(cpu_input, autotvm_lines::cpu_config, autotvm_lines::good_result),
        line(gpu_input, gpu_config(4, 1500), seconds(0.5)),        line(gpu_input, gpu_config(2, 512), autotvm_lines::failed_result),
        line(gpu_input, gpu_config(8, 0), seconds(0.75)),          "no record",
        line(gpu_input, autotvm_lines::arm_config, seconds(0.125)) // other knobs than the task's first record
    };
    const log_on_disk file(lines);
    serial_executor threads;
    const std::array paths{file.path};
    const auto read = read_autotvm_archives(std::span<const std::string>(paths), threads);
    REQUIRE(read);
    REQUIRE(read->size() == 1);
    CHECK(read->front().report.summary.bad == 1);
    const auto& tasks = read->front().tasks;
    REQUIRE(tasks.size() == 2);
    CHECK(tasks[0].records.bad == 1);
    CHECK(tasks[1].records.bad == 0);
    std::vector<std::size_t> next(2, 0);
    for (const auto& text : lines) { // what the line parser says of each line
        const auto l = parse_autotvm_line(text);
        if (!l || l->config.knobs.size() == 5) continue;
        const std::size_t t = l->name == "conv2d_nchw.cuda" ? 0 : 1;
        const std::size_t i = next[t]++;
        REQUIRE(i < tasks[t].configs.size());
        CHECK(tasks[t].configs[i] == l->config);
        CHECK(tasks[t].records.records[i].point == to_configuration(l->config));
        CHECK(tasks[t].records.records[i].measured.seconds == autotvm_measurement(*l).seconds);
        CHECK(tasks[t].records.records[i].measured.status == autotvm_measurement(*l).status);
        CHECK(tasks[t].records.workload == autotvm_task(*l).workload_key);
        CHECK(tasks[t].records.device == l->target);
    }
    CHECK(next[0] == tasks[0].configs.size());
    CHECK(next[1] == tasks[1].configs.size());

    const auto space = recorded_space::build(tasks[0].records.records, &measured_configuration::point);
    REQUIRE(space);
    CHECK(space->size() == 3); // one configuration was measured twice
    replay_runner runner;
    for (const auto& r : tasks[0].records.records) runner.add(task_identity(tasks[0].records), r.point, r.measured);
    const auto twice = to_configuration(tasks[0].configs.front());
    CHECK(runner.measure(tasks[0].records, std::span<const configuration>(&twice, 1)).front().latency() == 0.5); // the median

    const std::array missing{std::string("/no/such/log")};
    CHECK(read_autotvm_archives(std::span<const std::string>(missing), threads).error().detail.find("/no/such/log") != std::string::npos);
}

TEST_CASE("read_autotvm_archives: tasks of which no record has a knob are counted, those of which all measurements failed are kept") {
    using autotvm_lines::cpu_input, autotvm_lines::gpu_input, autotvm_lines::line;
    constexpr std::string_view no_knob = R"({"index": 0, "code_hash": null, "entity": []})";
    constexpr std::string_view other = R"(["llvm", "dense", [], {}])";
    const std::vector<std::string> lines{line(cpu_input, no_knob, autotvm_lines::good_result),
                                         line(other, no_knob, autotvm_lines::good_result),
                                         line(gpu_input, gpu_config(2, 512), autotvm_lines::failed_result),
                                         line(cpu_input, no_knob, autotvm_lines::failed_result),
                                         line(gpu_input, no_knob, autotvm_lines::good_result),
                                         line(gpu_input, gpu_config(4, 512), autotvm_lines::failed_result)};
    const log_on_disk file(lines);
    serial_executor threads;
    const std::array paths{file.path};
    const auto read = read_autotvm_archives(std::span<const std::string>(paths), threads);
    REQUIRE(read);
    REQUIRE(read->size() == 1);
    const auto& got = read->front();
    REQUIRE(got.tasks.size() == 1);
    CHECK(got.tasks[0].records.records.size() == 2);
    CHECK(got.tasks[0].records.bad == 1);
    CHECK(got.empty_tasks == 2);
    CHECK(got.bad == 3);
    // Every line is told somewhere.
    CHECK(got.report.summary.bad == 0);
    CHECK(got.tasks[0].records.records.size() + got.tasks[0].records.bad + got.bad == lines.size());
}

} // namespace autotvm_archive_test
