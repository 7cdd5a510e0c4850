// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_TRANSFER_RESULTS_HPP
#define AUGUR_EXAMPLES_SUPPORT_TRANSFER_RESULTS_HPP

/// @file
/// What `transfer` found, a line a kernel and way to choose: written by the program, read by its summary and by the figures.

#include <cstddef>
#include <string>
#include <vector>

#include <augur/core/error.hpp>

namespace examples {

/// What one chooser found for one kernel. Latencies are in seconds, timed again next to each other.
struct transfer_result {
    std::string network, kernel, label; ///< kernel: `augur::kernel::text`
    std::string machine;                ///< `augur::to_text` of its identity
    std::string chooser;
    double uses = 1;
    double untuned = 0;           ///< 0: not measured
    double latency = 0;           ///< the better of the untuned schedule and what was found; infinity: neither ran
    double full = 0;              ///< of the best schedule of a long search; 0: not known
    double of_three = 0;          ///< mean of `latency` over all choices of three of the transferred schedules; 0: not all of them were measured
    std::size_t measurements = 0; ///< with the untuned schedule
    std::size_t adapted = 0;      ///< schedules of other kernels that were adapted to it; 0: its class has no source
    std::string logs;             ///< names of the logs that schedules were taken from, with commas between them
    std::string source;           ///< workload whose schedule is the fastest of those transferred; empty: none ran
    std::size_t needed = 0;       ///< measurements until it was as fast as the first chooser of the run, by their records; 0: never, or not known
    double seconds = 0;           ///< of one measurement, with its share of choosing and learning; 0: not known
};

/// One line of JSON, without newline.
[[nodiscard]] std::string to_line(const transfer_result& r);
/// Reads what `to_line` has written, a result a line; the last two fields may be missing.   Errors: io; parse, with the line
[[nodiscard]] augur::result<std::vector<transfer_result>> read_results(const std::string& path);

} // namespace examples

#endif
