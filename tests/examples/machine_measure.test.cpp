// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program `machine` on a made-up machine: instead of the benchmarks a compiler that is none makes scripts that print times.
#include <string>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "../../examples/tools/machine/measure.hpp"
#include "child_program.hpp"

namespace machine_measure_test {

namespace {

using augur::provenance;
using examples::loop_time;

// Times by the first argument behind the switch for quick runs. $count is how often the script ran with it before.
constexpr char benchmarks[] = R"(#!/bin/sh
say() { echo "$1 $2 $3 1"; }
what=$2.$3
echo "x $3 $4" >> FOLDER/ran-$2
count=$(wc -l < FOLDER/ran-$2)
case "$2" in
"") say nop 0.25 0.26; say forward.vector 9 9.1; say fadd.f32.1.latency 4 4; say fadd.f32.1.throughput 0.5 0.5
    say fmul.f32.1.latency 4 6; say fmul.f32.1.throughput 0.5 0.5 ;;
branches) say branches.never 1 1; say branches.always 1 1
    [ $count -lt 3 ] && say branches.random 8 16 || say branches.random 8.5 8.6 ;;
chase) case $3 in 16384) say chase 5 5 ;; 65536) say chase 30 30 ;; 524288) say chase 20 30 ;; *) say chase 300 301 ;; esac ;;
read) case $4 in 0) say read 0.02 0.02 ;; *) say read.$4 0.1 0.1 ;; esac ;;
esac
)";

augur::machine small_machine() {
    augur::machine m;
    m.architecture = "x86_64";
    m.cpu_name = "made up";
    m.processors = 1; // so that launches are not measured
    m.vector_bytes = 16;
    m.caches = {{1, 32 << 10U}, {2, 1 << 20U}};
    m.memory.bytes = std::int64_t{4} << 30U;
    return m;
}

// Writes the compiler.   @return its path
std::string write_compiler(const scratch& folder) {
    std::string text = benchmarks;
    for (std::size_t at = 0; (at = text.find("FOLDER", at)) != std::string::npos;) text.replace(at, 6, folder.path);
    REQUIRE(augur::loopnest::write_private_file(folder / "benchmarks", text));
    REQUIRE(augur::loopnest::write_private_file(folder / "cc", "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && to=$2; shift; done\n"
                                                               "case \"$to\" in */probes|*/memory) cp " +
                                                                   (folder / "benchmarks") + " $to; chmod 700 $to;; *) echo made-up cc;; esac\n"));
    REQUIRE(::chmod((folder / "cc").c_str(), 0700) == 0);
    return folder / "cc";
}

} // namespace

TEST_CASE("machine: what is noise is measured again, and a default when it stays so") {
    const scratch folder("machine-test");
    examples::machine_meter meter(small_machine(), {.command = write_compiler(folder), .flags = {}}, true, nullptr);
    examples::progress_line progress;
    const auto m = meter.run(progress);
    if (!m) FAIL(m.error().detail);
    std::string notes;
    for (const auto& n : meter.notes()) notes += n + "\n";
    CAPTURE(notes);
    CHECK(m->caches[0].from == provenance::measured);
    CHECK(m->caches[0].latency == 5);
    CHECK(m->caches[1].from == provenance::defaulted); // its latency is noise: 20 and 30
    CHECK(m->caches[1].latency == augur::complete_machine(small_machine()).caches[1].latency);
    CHECK(contains(notes, "L2: noise, the median of L2.chase is 50 % above the least"));
    CHECK(m->memory.from == provenance::measured);
    CHECK(m->core.mispredict == 15);              // 2 (8.5 - 1): the third pass was quiet
    CHECK(m->core.from == provenance::defaulted); // there is no window
    const auto from = [&](augur::instruction_class op) {
        for (const auto& c : m->costs)
            if (c.op == op) return c.from;
        FAIL("no such cost");
        return provenance::table;
    };
    CHECK(from(augur::instruction_class::fadd) == provenance::measured);
    CHECK(from(augur::instruction_class::fmul) == provenance::defaulted);
    CHECK(contains(notes, "1 of 2 costs are noise"));
    const auto branches = contents(folder / "ran-branches"), probes = contents(folder / "ran-");
    CHECK(std::count(branches.begin(), branches.end(), 'x') == 3);
    CHECK(std::count(probes.begin(), probes.end(), 'x') == 2); // the most
}

TEST_CASE("machine: all cores read more than all instances of the caches hold, or the bandwidth of all is not known") {
    const scratch folder("machine-test");
    const auto compiler = write_compiler(folder);
    auto host = small_machine();
    host.processors = 16;
    host.caches = {{1, 32 << 10U}, {2, 64 << 20U}};
    host.caches[1].sharers = 4;
    const auto measure = [&](std::vector<std::string>& notes) {
        examples::machine_meter meter(host, {.command = compiler, .flags = {}}, true, nullptr);
        examples::progress_line progress;
        const auto m = meter.run(progress);
        if (!m) FAIL(m.error().detail);
        notes = meter.notes();
        return m->memory;
    };
    std::vector<std::string> notes;
    const auto whole = measure(notes);
    CHECK(contains(contents(folder / "ran-read"), "x 537919488 16\n")); // 2 (16 * 32 KiB + 4 * 64 MiB)
    CHECK(contains(contents(folder / "ran-read"), "x 134217728 1\n"));  // one core: twice one instance
    CHECK(whole.bytes_per_second == 1e10);
    CHECK(whole.from == provenance::measured);
    host.memory.bytes = std::int64_t{1} << 30U; // a quarter is 256 MiB
    const auto small = measure(notes);
    CHECK(small.core_bytes_per_second == 1e10);
    CHECK(small.bytes_per_second == 0);
    CHECK(small.from == provenance::defaulted);
    CHECK(std::any_of(notes.begin(), notes.end(), [](const auto& n) { return contains(n, "the bandwidth of all cores is not measured"); }));
}

TEST_CASE("machine: a launch that is noise is no number") {
    const loop_time alone{10, 11, 0.5}, launched{1010, 1200, 0.5}, noise{1000, 8140, 0.5};
    CHECK(examples::launch_cycles(alone, launched).operator bool());
    CHECK(*examples::launch_cycles(alone, launched) == doctest::Approx(2000));
    CHECK(*examples::launch_cycles(launched, alone) == 0);
    const auto none = examples::launch_cycles(alone, noise);
    REQUIRE_FALSE(none);
    CHECK(none.error().detail == "launch: noise, the median is 714 % above the least");
    CHECK(launched.better_than(noise)); // though it is slower
    CHECK_FALSE(noise.better_than(launched));
    CHECK(loop_time{0.9, 0.9, 0.5}.better_than(loop_time{1, 1, 0.5}));
}

} // namespace machine_measure_test
