// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_RUNNER_REPORT_HPP
#define AUGUR_LOOPNEST_DETAIL_RUNNER_REPORT_HPP

/// @file
/// What the runner (loopnest/detail/runner_source.hpp) tells the host: the report of its guard and the message of its worker.

#include <cstdint>

namespace augur::inline v0::loopnest::detail {

/// What the guard tells the host, in the byte order of the machine. The same struct stands in the C source.
struct guard_report {
    std::uint64_t nonce;   ///< as given
    std::int32_t exited;   ///< 1 when the worker ended by itself
    std::int32_t code;     ///< exit code, or the signal that ended it
    std::int32_t timeout;  ///< 1 when the wall clock limit ended it
    std::int32_t cause;    ///< errno of a failed start, else 0
    double cpu_seconds;    ///< of all reaped descendants
    double wall_seconds;   ///< from fork to the end
    std::uint64_t payload; ///< bytes that follow
    std::uint32_t crc;     ///< of the payload
    std::uint32_t strays;  ///< descendants that were still there, or not waited for, at the worker's end
};
static_assert(sizeof(guard_report) == 56);

/// What a worker says of one candidate; the payload of the report. The same struct stands in the C source.
struct worker_message {
    enum : std::int32_t { fine = 0, cannot_load = 1, no_memory = 2, wrong = 3, bad_job = 4, overrun = 5, refused_memory = 6 };
    std::int32_t status;
    std::int32_t repeats;
    double packing_seconds;
    double first_seconds;     ///< the first call
    double timed_cpu_seconds; ///< CPU time of calls that were timed or warm the candidate up
    double max_error;         ///< relative to the tolerance
    std::int64_t where;       ///< element of the first wrong number, or -1
    std::int32_t buffer;      ///< of that element
    std::int32_t calls;       ///< in each repeat
    float got;
    float want;
    double seconds[64];
    char text[256];
};
static_assert(sizeof(worker_message) == 64 + 64 * 8 + 256);

} // namespace augur::inline v0::loopnest::detail

#endif
