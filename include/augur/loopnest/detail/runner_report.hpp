// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_RUNNER_REPORT_HPP
#define AUGUR_LOOPNEST_DETAIL_RUNNER_REPORT_HPP

/// @file
/// Messages from the runner process (loopnest/detail/runner_source.hpp) to the host: how the candidate's process ended (reported by its parent, the
/// guard), and the latencies and errors that it measured (message of the worker).

#include <cstdint>

namespace augur::inline v0::loopnest::detail {

/// Report of the guard to the host, in native byte order. The C source of the runner has the same struct.
struct guard_report {
    std::uint64_t nonce;   ///< copied from the command line
    std::int32_t exited;   ///< 1 if the worker exited
    std::int32_t code;     ///< exit code, or number of the signal that ended the worker
    std::int32_t timeout;  ///< 1 if the wall-time limit ended the worker
    std::int32_t cause;    ///< errno of a failed start, else 0
    double cpu_seconds;    ///< CPU time of all reaped descendants
    double wall_seconds;   ///< from fork to the end
    std::uint64_t payload; ///< number of bytes that follow
    std::uint32_t crc;     ///< checksum of the payload
    std::uint32_t strays;  ///< number of descendants that were running or not reaped when the worker ended
};
static_assert(sizeof(guard_report) == 56);

/// Message of the worker about one candidate: the payload of the report. The C source of the runner has the same struct.
struct worker_message {
    enum : std::int32_t { fine = 0, cannot_load = 1, no_memory = 2, wrong = 3, bad_job = 4, overrun = 5, refused_memory = 6 };
    std::int32_t status;
    std::int32_t repeats;
    double packing_seconds;
    double first_seconds;     ///< duration of the first call
    double timed_cpu_seconds; ///< CPU time of the timed calls and the warm-up calls
    double max_error;         ///< largest error, relative to the tolerance
    std::int64_t where;       ///< index of the first wrong element; -1: none
    std::int32_t buffer;      ///< buffer of that element
    std::int32_t calls;       ///< calls per repeat
    float got;
    float want;
    double seconds[64];
    char text[256];
};
static_assert(sizeof(worker_message) == 64 + 64 * 8 + 256);

} // namespace augur::inline v0::loopnest::detail

#endif
