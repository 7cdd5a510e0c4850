// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/loopnest/run/roofline.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include <augur/target/machine_presets.hpp>
#include <doctest/doctest.h>

using namespace augur;

using namespace augur::loopnest;

namespace {

runner_options patient() {
    runner_options o;
    o.threads = 2;
    o.wall_seconds = 300; // for a machine that is busy with other work
    return o;
}

} // namespace

TEST_CASE("peak: limits of this machine are possible ones") {
    auto runner = program_runner::create(patient());
    REQUIRE(runner);
    const auto on = detect_machine();
    const auto before = runner->options().timing.repeats;
    const auto peak = measure_roofline(*runner, on, std::int64_t{32} << 20U);
    if (!peak) FAIL(peak.error().detail);
    CHECK(runner->options().timing.repeats == before);
    MESSAGE("FMA " << peak->flops_one * 1e-9 << " and " << peak->flops_all * 1e-9 << " GFLOP/s, read " << peak->read_one * 1e-9 << " and "
                   << peak->read_all * 1e-9 << " GB/s, 1 and " << peak->threads << " threads");
    // Other work makes them smaller, so there is an upper limit only: four vectors of fused multiply-adds and of loads a cycle at 7 GHz.
    const auto vector = static_cast<double>(on.vector_bytes);
    CHECK(peak->threads == 2);
    CHECK(peak->flops_one > 0);
    CHECK(peak->flops_one < 2 * vector / 4 * 28e9);
    CHECK(peak->flops_all > 0);
    CHECK(peak->flops_all < 2 * 2 * vector / 4 * 28e9);
    CHECK(peak->read_one > 0);
    CHECK(peak->read_one < vector * 28e9);
    const auto cache = measure_read_bandwidth(*runner, on, 16 << 10);
    REQUIRE(cache);
    CHECK((*cache)[0] > 0);
    CHECK((*cache)[0] < vector * 28e9);
    CHECK_FALSE(measure_read_bandwidth(*runner, on, 0));
    const auto roots = measure_function_throughput(*runner, on, expr_op::sqrt);
    REQUIRE(roots);
    CHECK(*roots > 0);
    CHECK(*roots < 2 * vector / 4 * 28e9);
    const auto sums = measure_function_throughput(*runner, on, expr_op::add);
    REQUIRE_FALSE(sums);
    CHECK(sums.error().code == errc::invalid_argument);
}

TEST_CASE("peak: a program counts the work that its text does") {
    const auto m = xeon_gold_5220r(); // vectors of 16 floats, 32 registers
    const auto count = [](std::string_view text, std::string_view part) {
        std::size_t n = 0;
        for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
        return n;
    };
    const auto vectors = [&](const generated_program& p, int threads) { // that the chains of all threads compute
        CHECK(count(p.source, "(void *)b, " + std::to_string(threads) + ")") == 1);
        const auto rounds = p.source.find("i < ");
        REQUIRE(rounds != std::string::npos);
        return static_cast<double>(threads) * std::strtod(p.source.c_str() + rounds + 4, nullptr) *
               static_cast<double>(count(p.source, " * x + y;\n"));
    };
    for (const int threads : {1, 3}) {
        const auto fma = fma_limit(m, threads);
        CHECK(count(fma.source, " * x + y;\n") == 24); // with x and y not all registers
        CHECK(fma.flops == 2 * 16 * vectors(fma, threads));
        CHECK(fma.buffers[2].elements == 16 * threads);
        const std::pair<expr_op, const char*> functions[] = {{expr_op::exp, " = aug_exp16(a"},
                                                             {expr_op::tanh, " = aug_tanh16(a"},
                                                             {expr_op::erf, " = aug_erf16(a"},
                                                             {expr_op::sqrt, " = aug_sqrt16(a"},
                                                             {expr_op::div, " = y / a"}};
        for (const auto& function : functions) {
            CAPTURE(function.second);
            const auto p = function_limit(m, threads, function.first);
            CHECK(count(p.source, function.second) == count(p.source, " * x + y;\n"));
            CHECK(count(p.source, function.second) > 0);
            CHECK(p.flops == 16 * vectors(p, threads));
        }
    }
}

TEST_CASE("peak: the bandwidth is that of a program that reads each number once") {
    auto runner = program_runner::create(patient());
    REQUIRE(runner);
    const auto p = read_limit(detect_machine(), 2, 1 << 16);
    CHECK(p.flops == 1 << 16);
    const auto made = runner->make_expected_outputs(p);
    if (!made) FAIL(made.error().detail);
    const auto sums = program_runner::read_reference(*made);
    REQUIRE(sums);
    double all = 0, summed = 0;
    for (std::int64_t i = 0; i < p.buffers[0].elements; ++i) all += static_cast<double>(program_input_value(p.buffers[0], i));
    for (const float s : sums->front()) summed += static_cast<double>(s);
    CHECK(p.buffers[0].elements == 1 << 14);
    CHECK(summed == doctest::Approx(all).epsilon(1e-5));
}

TEST_CASE("peak: a measurement that fails says which and leaves the runner as it was") {
    const auto folder = work_folder::create();
    REQUIRE(folder);
    const auto cc = folder->path() + "/cc";
    REQUIRE(
        write_private_file(cc, "#!/bin/sh\nfor a; do case \"$a\" in */b*.c) grep -q aug_peak_read \"$a\" && exit 1;; esac; done\nexec cc \"$@\"\n"));
    REQUIRE(::chmod(cc.c_str(), 0700) == 0);
    auto o = patient();
    o.compiler.command = cc;
    auto runner = program_runner::create(o);
    REQUIRE(runner);
    const auto before = runner->options().timing.repeats;
    const auto peak = measure_roofline(*runner, detect_machine(), 1 << 20);
    REQUIRE_FALSE(peak);
    CHECK(peak.error().code == errc::io);
    CHECK(peak.error().detail.find("peak: aug_peak_read1: compile_error") == 0);
    CHECK(runner->options().timing.repeats == before);
}
