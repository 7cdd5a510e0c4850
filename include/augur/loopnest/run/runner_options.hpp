// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_RUNNER_OPTIONS_HPP
#define AUGUR_LOOPNEST_RUN_RUNNER_OPTIONS_HPP

/// @file
/// Options for measuring candidates: compiler, timing, threads, and limits of the processes.

#include <cstdint>
#include <string>

#include <augur/core/error.hpp>
#include <augur/loopnest/run/compiler.hpp>
#include <augur/loopnest/run/process.hpp>

namespace augur::inline v0::loopnest {

/// Timing of a candidate. The median of many short repeats tolerates a disturbance that a median of three long repeats would not.
struct timing_options {
    int repeats = 9;                  ///< latencies per candidate, 1 to 64
    double min_repeat_seconds = 0.01; ///< duration of one repeat; its latency is the mean of its calls
    int warmups = 1;                  ///< least number of untimed calls, if the first one is shorter than a repeat or seems slow; short kernels get
                                      ///< more, up to 2 ms; 0: none
    double enough_seconds = 1;        ///< no repeat is started after the repeats have taken this time
    double cutoff = 4;                ///< a candidate slower than the best one by this factor gets one short repeat
    std::int64_t flush_bytes = 0;     ///< bytes written before each call to flush the caches; 0: caches stay warm

    /// Checks that all values are in their domain.
    [[nodiscard]] result<void> check() const {
        if (repeats < 1 || repeats > 64) return error{errc::invalid_argument, "timing: repeats is " + std::to_string(repeats) + ", expected 1 to 64"};
        if (!(min_repeat_seconds >= 0 && min_repeat_seconds <= 60))
            return error{errc::invalid_argument, "timing: expected min_repeat_seconds in [0, 60]"};
        if (warmups < 0 || warmups > 1000)
            return error{errc::invalid_argument, "timing: warmups is " + std::to_string(warmups) + ", expected 0 to 1000"};
        if (!(enough_seconds >= 0)) return error{errc::invalid_argument, "timing: expected enough_seconds of 0 or more"};
        if (!(cutoff > 1)) return error{errc::invalid_argument, "timing: expected cutoff above 1"};
        if (flush_bytes < 0) return error{errc::invalid_argument, "timing: expected flush_bytes of 0 or more"};
        return {};
    }
};

/// Options for compiling and running candidates. With the defaults a tuning run takes about 0.2 s per candidate.
struct runner_options {
    compiler_options compiler;
    compile_limits compile;
    timing_options timing;
    std::string folder;       ///< parent of the work folder; empty: TMPDIR, else /tmp
    int threads = 0;          ///< threads of `launch`; 0: all available processors
    int compile_jobs = 0;     ///< concurrent compilations; 0: all available processors
    int batch = 8;            ///< largest number of programs in one translation unit
    double wall_seconds = 10; ///< time limit of one candidate's process; it gets a second more for each 128 MiB of buffers
    std::uint64_t memory_bytes = std::uint64_t{512} << 20U; ///< address space in addition to the buffers
    bool huge_pages = true;                                 ///< request huge pages for buffers of 256 KiB and more
    stop_flag stop = nullptr;
};

} // namespace augur::inline v0::loopnest

#endif
