// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_CLASSIFY_OUTCOME_HPP
#define AUGUR_LOOPNEST_DETAIL_CLASSIFY_OUTCOME_HPP

/// @file
/// Classifies one run of a candidate: maps exit status, exceeded limits and result message of its process to the outcome and reason of a measurement.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/runner_report.hpp>
#include <augur/loopnest/run/compile.hpp>
#include <augur/loopnest/run/process.hpp>
#include <augur/record/measurement.hpp>

namespace augur::inline v0::loopnest::detail {

inline std::string wrong_text(const worker_message& message) {
    char text[200];
    std::snprintf(text, sizeof text, "buffer %d, element %lld: got %.9g, expected %.9g (%.3g times the tolerance)", message.buffer,
                  static_cast<long long>(message.where), static_cast<double>(message.got), static_cast<double>(message.want), message.max_error);
    return text;
}

/// The outcome of a candidate that ended without a message.
inline void silent(const guard_report& g, measurement& m) {
    const auto strays = g.strays > 0 ? ", left " + std::to_string(g.strays) + " processes behind" : std::string();
    if (g.cause != 0) m.reason = std::string("cannot start the worker: ") + std::strerror(g.cause);
    else if (g.timeout != 0 || (g.exited == 0 && g.code == SIGXCPU)) {
        m.status = outcome::run_timeout;
        m.reason = (g.timeout != 0 ? "passed the time limit of its process" : "passed the CPU limit of its process") + strays;
    } else if (g.exited == 0 && g.code == SIGKILL) {
        m.status = outcome::run_memory;
        m.reason = "killed by the system, as when memory runs out" + strays;
    } else if (g.exited == 0) {
        m.status = outcome::run_crash;
        m.reason = "died by signal " + std::to_string(g.code) + strays;
    } else {
        m.status = outcome::run_exit;
        m.reason = "ended without a result, exit code " + std::to_string(g.code) + strays;
    }
}

/// Converts the guard's report and the worker's message into a measurement.
inline void classify_outcome(const process_result& r, const guard_answer& a, const generated_program& p, measurement& m) {
    m.total_seconds += r.wall_seconds;
    m.run_cpu_seconds = r.cpu_seconds;
    m.reason.clear();
    if (r.stopped) {
        m.reason = "interrupted";
        return;
    }
    if (!a.valid) {
        m.reason = r.start_error != 0 ? "cannot start the runner: " + start_failure(r.start_error)
                   : r.timed_out      ? std::string("the guard passed its time limit")
                                 : "the guard ended without a report (" + std::string(r.exited ? "exit " : "signal ") + std::to_string(r.code) + ")";
        return;
    }
    worker_message message{};
    if (a.payload.size() != sizeof message) {
        silent(a.report, m);
        return;
    }
    std::memcpy(&message, a.payload.data(), sizeof message);
    m.run_cpu_seconds = (std::max)(0.0, r.cpu_seconds - message.timed_cpu_seconds);
    m.packing_seconds = message.packing_seconds;
    m.max_error = message.max_error;
    const std::string text = one_line(std::string_view(message.text, ::strnlen(message.text, sizeof message.text)));
    switch (message.status) {
    case worker_message::fine:
        if (a.report.strays == 0) break;
        m.status = outcome::run_exit;
        m.reason = "left " + std::to_string(a.report.strays) + " processes behind";
        return;
    case worker_message::cannot_load:
        m.status = outcome::compile_error;
        m.reason = "cannot be loaded: " + text;
        return;
    case worker_message::wrong:
        m.status = outcome::wrong_result;
        m.reason = wrong_text(message);
        return;
    case worker_message::overrun:
        m.status = outcome::wrong_result;
        m.reason = "wrote outside buffer " + std::to_string(message.buffer) + " of " + std::to_string(p.buffers.size());
        return;
    case worker_message::refused_memory:
        m.status = outcome::run_memory;
        m.reason = text;
        return;
    default:
        m.status = outcome::runner_error;
        m.reason = "runner: " + text;
        return;
    }
    for (int i = 0; i < (std::min)(message.repeats, std::int32_t{64}); ++i) {
        if (!(message.seconds[i] > 0) || !std::isfinite(message.seconds[i])) {
            m.seconds.clear();
            m.status = outcome::unstable;
            m.reason = "a latency is not a positive number";
            return;
        }
        m.seconds.push_back(message.seconds[i]);
    }
    m.status = m.seconds.empty() ? outcome::unstable : outcome::ok;
    if (m.seconds.empty()) m.reason = "no latency";
}

} // namespace augur::inline v0::loopnest::detail

#endif
