// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_CLASSIFY_OUTCOME_HPP
#define AUGUR_LOOPNEST_DETAIL_CLASSIFY_OUTCOME_HPP

/// @file
/// What guard and worker say of one candidate, as a measurement.

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

inline std::string wrong_text(const worker_message& said) {
    char text[200];
    std::snprintf(text, sizeof text, "buffer %d, element %lld: got %.9g, expected %.9g (%.3g times the tolerance)", said.buffer,
                  static_cast<long long>(said.where), static_cast<double>(said.got), static_cast<double>(said.want), said.max_error);
    return text;
}

/// The candidate ended before it could say anything.
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

/// Turns what guard and worker say into a measurement.
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
    worker_message said{};
    if (a.payload.size() != sizeof said) {
        silent(a.report, m);
        return;
    }
    std::memcpy(&said, a.payload.data(), sizeof said);
    m.run_cpu_seconds = (std::max)(0.0, r.cpu_seconds - said.timed_cpu_seconds);
    m.packing_seconds = said.packing_seconds;
    m.max_error = said.max_error;
    const std::string text = one_line(std::string_view(said.text, ::strnlen(said.text, sizeof said.text)));
    using message = worker_message;
    switch (said.status) {
    case message::fine:
        if (a.report.strays == 0) break;
        m.status = outcome::run_exit;
        m.reason = "left " + std::to_string(a.report.strays) + " processes behind";
        return;
    case message::cannot_load:
        m.status = outcome::compile_error;
        m.reason = "cannot be loaded: " + text;
        return;
    case message::wrong:
        m.status = outcome::wrong_result;
        m.reason = wrong_text(said);
        return;
    case message::overrun:
        m.status = outcome::wrong_result;
        m.reason = "wrote outside buffer " + std::to_string(said.buffer) + " of " + std::to_string(p.buffers.size());
        return;
    case message::refused_memory:
        m.status = outcome::run_memory;
        m.reason = text;
        return;
    default:
        m.status = outcome::runner_error;
        m.reason = "runner: " + text;
        return;
    }
    for (int i = 0; i < (std::min)(said.repeats, std::int32_t{64}); ++i) {
        if (!(said.seconds[i] > 0) || !std::isfinite(said.seconds[i])) {
            m.seconds.clear();
            m.status = outcome::unstable;
            m.reason = "a latency is not a positive number";
            return;
        }
        m.seconds.push_back(said.seconds[i]);
    }
    m.status = m.seconds.empty() ? outcome::unstable : outcome::ok;
    if (m.seconds.empty()) m.reason = "no latency";
}

} // namespace augur::inline v0::loopnest::detail

#endif
