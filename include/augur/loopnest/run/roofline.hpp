// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_ROOFLINE_HPP
#define AUGUR_LOOPNEST_RUN_ROOFLINE_HPP

/// @file
/// Measured roofline of the machine: peak of fused multiply-adds, read bandwidth and throughput of elementary functions. The C programs are compiled
/// and run in the same way as candidates.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// Peak compute and read bandwidth for one thread and for all threads of a runner.
struct roofline {
    int threads = 1;
    double flops_one = 0; ///< floating-point operations per second, one thread; a fused multiply-add counts 2
    double flops_all = 0;
    double read_one = 0; ///< bytes per second from a buffer of `read_bytes`, one thread
    double read_all = 0;
    std::int64_t read_bytes = 0;
};

/// Program for the peak of fused multiply-adds: a <- a x + y with x < 1, on independent vector accumulators in registers, so that neither latency
/// nor memory is the limit. Without such an instruction these are multiplications and additions. About 1 ms per call, of which the launch takes a thousandth.
[[nodiscard]] inline generated_program fma_limit(const machine& m, int threads) {
    constexpr std::int64_t steps = 100'000;
    const int parts = threads;
    const int chains = m.vector_registers() * 3 / 4;
    const auto vector_bytes = m.vector_bytes;
    const auto lanes = vector_bytes / 4;
    generated_program p;
    p.entry = "aug_peak_fma" + std::to_string(parts);
    const std::string body = p.entry + "_body", vec = p.entry + "_v";
    std::string& s = p.source;
    s = "typedef float " + vec + " __attribute__((vector_size(" + std::to_string(vector_bytes) + ")));\nstatic void " + body +
        "(void *context, int64_t begin, int64_t end) {\n    float *const *b = context;\n    for (int64_t part = begin; part < end; ++part) {\n";
    s += "        const " + vec + " x = *(const " + vec + " *)b[0], y = *(const " + vec + " *)b[1];\n        " + vec;
    for (int c = 0; c < chains; ++c) s += (c > 0 ? ", a" : " a") + std::to_string(c) + " = y * " + std::to_string(c) + ".0f";
    s += ";\n        for (int64_t i = 0; i < " + std::to_string(steps) + "; ++i) {\n";
    for (int c = 0; c < chains; ++c) s += "            a" + std::to_string(c) + " = a" + std::to_string(c) + " * x + y;\n";
    s += "        }\n        *(" + vec + " *)(b[2] + part * " + std::to_string(lanes) + ") = a0";
    for (int c = 1; c < chains; ++c) s += " + a" + std::to_string(c);
    s += ";\n    }\n}\nvoid " + p.entry + "(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) { launch(" + body +
         ", (void *)b, " + std::to_string(parts) + "); }\n";
    using role = program_buffer::role;
    p.buffers = {{role::input, lanes, 1, 0.25, 0.75}, {role::input, lanes, 2, 0.25, 0.75}, {role::output, lanes * parts, 0, 0, 1}};
    p.flops = 2.0 * static_cast<double>(lanes) * chains * static_cast<double>(steps) * parts;
    return p;
}

/// Program for the read bandwidth: each thread sums its share of an array of `bytes` with eight accumulators. `flops` of the program is the number
/// of bytes read.
[[nodiscard]] inline generated_program read_limit(const machine& m, int threads, std::int64_t bytes) {
    const int parts = threads;
    const auto vector_bytes = m.vector_bytes;
    const auto lanes = vector_bytes / 4;
    const std::int64_t rounds = (std::max)(bytes / (vector_bytes * 8 * parts), std::int64_t{1}); // rounds of eight vectors per part
    generated_program p;
    p.entry = "aug_peak_read" + std::to_string(parts);
    const std::string body = p.entry + "_body", vec = p.entry + "_v";
    std::string& s = p.source;
    s = "typedef float " + vec + " __attribute__((vector_size(" + std::to_string(vector_bytes) + ")));\nstatic void " + body +
        "(void *context, int64_t begin, int64_t end) {\n    float *const *b = context;\n    for (int64_t part = begin; part < end; ++part) {\n";
    s += "        const " + vec + " *in = (const " + vec + " *)b[0] + part * " + std::to_string(rounds * 8) + ";\n        " + vec;
    for (int c = 0; c < 8; ++c) s += (c > 0 ? ", a" : " a") + std::to_string(c) + " = {0}";
    s += ";\n        for (int64_t i = 0; i < " + std::to_string(rounds) + "; ++i, in += 8) {\n";
    for (int c = 0; c < 8; ++c) s += "            a" + std::to_string(c) + " += in[" + std::to_string(c) + "];\n";
    s += "        }\n        *(" + vec + " *)(b[1] + part * " + std::to_string(lanes) + ") = a0";
    for (int c = 1; c < 8; ++c) s += " + a" + std::to_string(c);
    s += ";\n    }\n}\nvoid " + p.entry + "(float *const *b, void (*launch)(void (*)(void *, int64_t, int64_t), void *, int64_t)) { launch(" + body +
         ", (void *)b, " + std::to_string(parts) + "); }\n";
    using role = program_buffer::role;
    p.buffers = {{role::input, rounds * 8 * parts * lanes, 1, 0, 1}, {role::output, lanes * parts, 0, 0, 1}};
    p.flops = static_cast<double>(rounds * 8 * parts * vector_bytes);
    return p;
}

/// Program for the throughput of an elementary function in vector form: exp, tanh, erf, sqrt or div. Independent chains a <- f(a) x + y in registers, in
/// the form in which kernels evaluate it. `flops` of the program is the number of evaluations.
[[nodiscard]] inline generated_program function_limit(const machine& m, int threads, expr_op function) {
    constexpr std::int64_t steps = 10'000;
    constexpr int chains = 8;
    const auto lanes = m.vector_bytes / 4;
    const auto n = std::to_string(lanes);
    const auto of = [&](const std::string& x) -> std::string {
        switch (function) {
        case expr_op::exp: return "aug_exp" + n + "(" + x + ")";
        case expr_op::tanh: return "aug_tanh" + n + "(" + x + ")";
        case expr_op::erf: return "aug_erf" + n + "(" + x + ")";
        case expr_op::sqrt: return "aug_sqrt" + n + "(" + x + ")";
        default: return "y / " + x;
        }
    };
    generated_program p;
    p.entry = "aug_peak_function" + std::to_string(static_cast<int>(function)) + "_" + std::to_string(threads);
    const std::string body = p.entry + "_body", vec = "aug_v" + n;
    std::string& s = p.source;
    s = "static void " + body + "(void *context, int64_t begin, int64_t end) {\n    float *const *b = context;\n" +
        "    for (int64_t part = begin; part < end; ++part) {\n        const " + vec + " x = aug_load" + n + "(b[0]), y = aug_load" + n +
        "(b[1]);\n        " + vec;
    for (int c = 0; c < chains; ++c) s += (c > 0 ? ", a" : " a") + std::to_string(c) + " = y * " + std::to_string(c + 1) + ".0f";
    s += ";\n        for (int64_t i = 0; i < " + std::to_string(steps) + "; ++i) {\n";
    for (int c = 0; c < chains; ++c) s += "            a" + std::to_string(c) + " = " + of("a" + std::to_string(c)) + " * x + y;\n";
    s += "        }\n        aug_store" + n + "(b[2] + part * " + n + ", a0";
    for (int c = 1; c < chains; ++c) s += " + a" + std::to_string(c);
    s += ");\n    }\n}\nvoid " + p.entry + "(float *const *b, aug_launch launch) { launch(" + body + ", (void *)b, " + std::to_string(threads) +
         "); }\n";
    using role = program_buffer::role;
    p.buffers = {{role::input, lanes, 1, 0.25, 0.75}, {role::input, lanes, 2, 0.25, 0.75}, {role::output, lanes * threads, 0, 0, 1}};
    p.flops = static_cast<double>(lanes) * chains * static_cast<double>(steps) * threads;
    return p;
}

namespace detail {

/// Work per second of each program in its fastest repeat, since a peak is a maximum. Many short repeats make an undisturbed one likely.
inline result<std::vector<double>> fastest(program_runner& runner, std::span<const generated_program> programs, int repeats) {
    const timing_options previous = runner.options().timing;
    timing_options short_repeats = previous;
    short_repeats.repeats = repeats;
    short_repeats.min_repeat_seconds = 0.003;
    short_repeats.cutoff = 1e30;
    if (auto set = runner.set_timing(short_repeats); !set) return set.error();
    const auto all = runner.measure(programs, expected_outputs{});
    if (auto set = runner.set_timing(previous); !set) return set.error();
    if (stop_requested(runner.options().stop)) return error{errc::interrupted, "stopped while measuring the machine's limits"};
    std::vector<double> best;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].ok()) return error{errc::io, "peak: " + programs[i].entry + ": " + std::string(to_string(all[i].status)) + ": " + all[i].reason};
        best.push_back(programs[i].flops / *std::min_element(all[i].seconds.begin(), all[i].seconds.end()));
    }
    return best;
}

} // namespace detail

/// Read bandwidth in bytes per second, for one thread and for all threads, of a buffer that is read repeatedly: the bandwidth of the cache that
/// holds `bytes`, else of memory. It is the bound of a streaming kernel with a working set of that size.
///
/// @return {one thread, all threads}; errors: invalid_argument (bytes), io (a measurement failed, possibly because the machine is busy; callers
///         can continue without the value), interrupted
inline result<std::array<double, 2>> measure_read_bandwidth(program_runner& runner, const machine& m, std::int64_t bytes) {
    if (bytes < 1 || bytes > (std::int64_t{1} << 38U))
        return error{errc::invalid_argument, "read bandwidth: expected 1 to 2^38 bytes, got " + std::to_string(bytes)};
    std::vector<generated_program> programs{read_limit(m, 1, bytes)};
    if (runner.options().threads > 1) programs.push_back(read_limit(m, runner.options().threads, bytes));
    const bool is_long = bytes >= (std::int64_t{64} << 20U); // on a busy machine 64 long repeats would exceed the runner's time limit
    const auto best = detail::fastest(runner, programs, is_long ? 16 : 64);
    if (!best) return best.error();
    return std::array<double, 2>{best->front(), best->back()};
}

/// Evaluations per second of an elementary function (exp, tanh, erf, sqrt or div) in vector form, on all threads.
///
/// @return errors: invalid_argument (another operation), and those of `measure_read_bandwidth`
inline result<double> measure_function_throughput(program_runner& runner, const machine& m, expr_op function) {
    constexpr std::array known{expr_op::exp, expr_op::tanh, expr_op::erf, expr_op::sqrt, expr_op::div};
    if (std::find(known.begin(), known.end(), function) == known.end())
        return error{errc::invalid_argument, "function throughput: expected exp, tanh, erf, sqrt or div"};
    const auto program = function_limit(m, runner.options().threads, function);
    const auto best = detail::fastest(runner, std::span(&program, 1), 64);
    if (!best) return best.error();
    return best->front();
}

/// Measures both peaks with the runner's compiler, flags and threads. Costs about 3 s.
///
/// @param read_bytes  size of the buffer that is read, 1 to 2^38; the default exceeds the caches of most machines
/// @return errors: invalid_argument (read_bytes, found after the compute peak was measured), io (a measurement failed, with the reason, possibly because
///         the machine is busy; callers can continue without the value), interrupted
inline result<roofline> measure_roofline(program_runner& runner, const machine& m, std::int64_t read_bytes = std::int64_t{256} << 20U) {
    roofline peak;
    peak.threads = runner.options().threads;
    peak.read_bytes = read_bytes;
    std::vector<generated_program> programs{fma_limit(m, 1)};
    if (peak.threads > 1) programs.push_back(fma_limit(m, peak.threads));
    const auto flops = detail::fastest(runner, programs, 64);
    if (!flops) return flops.error();
    peak.flops_one = flops->front();
    peak.flops_all = flops->back();
    const auto read = measure_read_bandwidth(runner, m, read_bytes);
    if (!read) return read.error();
    peak.read_one = (*read)[0];
    peak.read_all = (*read)[1];
    return peak;
}

} // namespace augur::inline v0::loopnest

#endif
