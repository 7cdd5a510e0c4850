// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_GUARDED_PROCESS_HPP
#define AUGUR_LOOPNEST_DETAIL_GUARDED_PROCESS_HPP

/// @file
/// Host side of the guard process (loopnest/detail/runner_source.hpp): how a guarded child is started, and how its report is read.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/detail/runner_report.hpp>
#include <augur/loopnest/run/process.hpp>

namespace augur::inline v0::loopnest::detail {

/// A report of the guard process; `valid` if nonce, length and checksum are correct.
struct guard_answer {
    bool valid = false;
    guard_report report{};
    std::string payload;
};

inline guard_answer read_guard(const process_result& r, std::uint64_t nonce) {
    guard_answer a;
    if (r.output.size() < sizeof a.report) return a;
    std::memcpy(&a.report, r.output.data(), sizeof a.report);
    if (a.report.nonce != nonce || r.output.size() - sizeof a.report != a.report.payload) return a;
    a.payload = r.output.substr(sizeof a.report);
    a.valid = a.payload.empty() || crc32(a.payload) == a.report.crc;
    return a;
}

/// A number that identifies one child, so that a late message of another child is not accepted.
inline std::uint64_t fresh_nonce(std::uint64_t counter) {
    const auto clock = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return mix64(mix64(clock ^ static_cast<std::uint64_t>(::getpid()) << 32U) + counter);
}

struct guard_limits {
    double wall_seconds, cpu_seconds;
    std::uint64_t memory_bytes, file_bytes;
};

/// The error for a required program that could not be started.
inline error no_start(std::string_view component, const std::string& program, int start_error, std::string_view help = {}) {
    const auto code = no_descriptors(start_error) ? errc::limit : start_error == ENOENT || start_error == EACCES ? errc::not_found : errc::io;
    std::string text(component);
    text += ": cannot start '" + program + "': " + start_failure(start_error);
    if (code == errc::not_found) text += help;
    return {code, std::move(text)};
}

inline process_spec guarded(const std::string& runner, std::uint64_t nonce, const guard_limits& l) {
    const auto whole = [](double x) { return std::to_string(static_cast<std::uint64_t>((std::max)(x, 1.0) + 0.5)); };
    char hex[20];
    std::snprintf(hex, sizeof hex, "%llx", static_cast<unsigned long long>(nonce));
    process_spec s;
    s.arguments = {runner, hex, whole(l.wall_seconds * 1e3), whole(l.cpu_seconds), std::to_string(l.memory_bytes), std::to_string(l.file_bytes)};
    s.wall_seconds = l.wall_seconds + 10; // the guard enforces the limit; this one is for a guard that hangs
    s.grace_seconds = 5;
    s.temporary = runner.substr(0, runner.rfind('/')); // the work folder: files of a killed compiler are removed with it
    return s;
}

} // namespace augur::inline v0::loopnest::detail

#endif
