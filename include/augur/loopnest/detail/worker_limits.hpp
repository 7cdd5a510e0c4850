// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_WORKER_LIMITS_HPP
#define AUGUR_LOOPNEST_DETAIL_WORKER_LIMITS_HPP

/// @file
/// The job that a worker process gets, and the limits of its address space and time.

#include <cmath>
#include <cstdint>
#include <string>

#include <unistd.h>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/generated_program.hpp>
#include <augur/loopnest/detail/runner_job.hpp>
#include <augur/loopnest/run/expected_outputs.hpp>
#include <augur/loopnest/run/runner_options.hpp>

namespace augur::inline v0::loopnest::detail {

/// The job of measuring a program. `job_message` completes it.
///
/// @param best  seconds of the best candidate so far; not finite: none
/// @param dump  one short repeat, and the outputs become the reference
[[nodiscard]] inline runner_job new_job(const runner_options& options, tolerance allowed, double best, bool dump) {
    const timing_options& timing = options.timing;
    runner_job j{};
    j.threads = options.threads;
    j.repeats = dump ? 1 : timing.repeats;
    j.warmups = timing.warmups;
    j.huge = options.huge_pages ? 1 : 0;
    j.dump = dump ? 1 : 0;
    j.min_repeat = dump ? 0 : timing.min_repeat_seconds;
    j.enough = timing.enough_seconds;
    j.atol = allowed.absolute;
    j.rtol = allowed.relative;
    j.best = std::isfinite(best) ? best : 0;
    j.cutoff = timing.cutoff;
    j.flush = timing.flush_bytes;
    return j;
}

/// The limit of a worker's address space, in bytes: the free memory of the options, thread stacks, the flushed bytes, and the buffers.
[[nodiscard]] inline std::uint64_t address_space(const generated_program& p, const runner_options& options) {
    std::uint64_t bytes = options.memory_bytes + static_cast<std::uint64_t>(options.timing.flush_bytes) +
                          static_cast<std::uint64_t>(options.threads) * (std::uint64_t{80} << 20U);
    for (const auto& b : p.buffers) // pages rounded up to huge pages, alignment, guard pages, and the mapped reference
        bytes +=
            static_cast<std::uint64_t>(b.elements) * sizeof(float) * (b.purpose == program_buffer::role::output ? 2 : 1) + (std::uint64_t{5} << 20U);
    return bytes;
}

/// Would the buffers of a program fit into the memory of the machine? The kernel grants more address space than it can fill: without this a worker
/// would run into its time limit, and push everything else out of memory before.
///
/// Errors: limit, with both sizes
[[nodiscard]] inline result<void> check_memory(const generated_program& p, bool huge_pages) {
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    double bytes = 0;
    for (const auto& b : p.buffers) bytes += static_cast<double>(bytes_of_buffer(b.elements, huge_pages, page));
    const double all = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(page);
    if (!(all > 0) || bytes <= all) return {}; // a system may not tell
    return error{errc::limit, "its buffers need " + std::to_string(static_cast<std::int64_t>(bytes / 1048576)) + " MiB, the machine has " +
                                  std::to_string(static_cast<std::int64_t>(all / 1048576)) + " MiB"};
}

/// What is added to the time limit for filling and packing the buffers before the first run, which takes a tenth of that.
[[nodiscard]] inline double seconds_to_fill(const generated_program& p) {
    double bytes = 0;
    for (const auto& b : p.buffers) bytes += static_cast<double>(b.elements) * sizeof(float);
    return bytes / static_cast<double>(std::int64_t{128} << 20U);
}

} // namespace augur::inline v0::loopnest::detail

#endif
