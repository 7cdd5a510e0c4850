// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a candidate costs outside its timed calls: compile, link, start, fill, check. Argument: programs in one translation unit.
#include <string>
#include <vector>

#include <augur/loopnest/run/roofline.hpp>
#include <augur/loopnest/run/program_runner.hpp>

#include <benchmark/benchmark.h>

namespace {

/// c (384, 256) = a (384, 256) b (256, 256) in register tiles of 6 x 64, unrolled as lowered schedules are.
augur::loopnest::generated_program dense(int number) {
    const std::string n = std::to_string(number), name = "aug_bench" + n;
    augur::loopnest::generated_program p;
    p.entry = name;
    std::string& s = p.source;
    s = "static void " + name +
        "_body(void *context, int64_t begin, int64_t end) {\n    float *const *b = context;\n    for (int64_t i = begin * 6; i < end * 6; i += 6)\n"
        "    for (int64_t j = 0; j < 256; j += 64) {\n        typedef float v __attribute__((vector_size(64)));\n        v";
    for (int i = 0; i < 24; ++i) s += (i > 0 ? ", c" : " c") + std::to_string(i) + " = {0}";
    s += ";\n        for (int64_t k = 0; k < 256; ++k) {\n            const v *w = (const v *)(b[1] + k * 256 + j);\n";
    for (int i = 0; i < 6; ++i) {
        s += "            const float a" + std::to_string(i) + " = b[0][(i + " + std::to_string(i) + ") * 256 + k];\n";
        for (int j = 0; j < 4; ++j) {
            const std::string c = "c" + std::to_string(4 * i + j);
            s += "            " + c + " += a" + std::to_string(i) + " * w[" + std::to_string(j) + "];\n";
        }
    }
    s += "        }\n";
    for (int i = 0; i < 24; ++i)
        s += "        *(v *)(b[2] + (i + " + std::to_string(i / 4) + ") * 256 + j + " + std::to_string(i % 4 * 16) + ") = c" + std::to_string(i) +
             ";\n";
    s += "    }\n}\nvoid " + name + "(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) { launch(" + name +
         "_body, (void *)b, 64); }\n";
    using role = augur::loopnest::program_buffer::role;
    p.buffers = {{role::input, 384 * 256, 1, -1, 1}, {role::weight, 256 * 256, 2, -1, 1}, {role::output, 384 * 256, 0, 0, 0}};
    p.flops = 2.0 * 384 * 256 * 256;
    return p;
}

void candidates(benchmark::State& state) {
    augur::loopnest::runner_options options;
    options.batch = static_cast<int>(state.range(0));
    auto runner = augur::loopnest::program_runner::create(options);
    if (!runner) return state.SkipWithError(runner.error().detail.c_str());
    std::vector<augur::loopnest::generated_program> programs;
    for (int i = 0; i < 16; ++i) programs.push_back(dense(i));
    const auto right = runner->make_expected_outputs(programs[0], augur::loopnest::tolerance::of_reduction(256));
    if (!right) return state.SkipWithError(right.error().detail.c_str());
    double compile = 0, run = 0, count = 0, best = 0;
    for (auto _ : state)
        for (const auto& m : runner->measure(programs, *right)) {
            if (!m.ok()) return state.SkipWithError(m.reason.c_str());
            compile += m.compile_cpu_seconds;
            run += m.run_cpu_seconds;
            count += 1;
            best = (std::max)(best, 1e-9 * programs[0].flops / m.latency());
        }
    state.counters["compile_ms"] = 1e3 * compile / count;
    state.counters["run_ms"] = 1e3 * run / count;
    state.counters["candidates/s"] = benchmark::Counter(count, benchmark::Counter::kIsRate);
    state.counters["best_GFLOP/s"] = best;
}
BENCHMARK(candidates)->ArgName("batch")->Arg(1)->Arg(4)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

void peaks(benchmark::State& state) {
    auto runner = augur::loopnest::program_runner::create();
    if (!runner) return state.SkipWithError(runner.error().detail.c_str());
    augur::loopnest::roofline peak;
    for (auto _ : state) {
        const auto p = augur::loopnest::measure_roofline(*runner, augur::detect_machine());
        if (!p) return state.SkipWithError(p.error().detail.c_str());
        peak = *p;
    }
    state.counters["one_GFLOP/s"] = 1e-9 * peak.flops_one;
    state.counters["all_GFLOP/s"] = 1e-9 * peak.flops_all;
    state.counters["one_GB/s"] = 1e-9 * peak.read_one;
    state.counters["all_GB/s"] = 1e-9 * peak.read_all;
}
BENCHMARK(peaks)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

} // namespace
