// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_WHOLE_HPP
#define AUGUR_EXAMPLES_SUPPORT_WHOLE_HPP

/// @file
/// A tuned network as one program: its table, and its C.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/network_options.hpp>
#include <augur/loopnest/run/network_runner.hpp>
#include <augur/workload/network_graph.hpp>

#include "console.hpp"
#include "session.hpp"

namespace examples {

/// The files that are written into `whole_job::folder`.
inline constexpr std::array<const char*, 4> network_file_names{"net.h", "net.c", "main.c", "net.weights"};

/// What is wanted of a network as a whole.
struct whole_job {
    std::optional<augur::network_graph> graph; ///< none: nothing is
    std::string folder;                        ///< of its C; empty: not written
    std::string parameters;                    ///< safetensors file with its weights; empty: by seed
    augur::loopnest::network_weights weights;  ///< those of the file
    bool weighs = false;                       ///< the search shares out its trials by `weights_inside`
};

/// Makes the folder, tries whether its files can be written, and finds the weights, before anything is measured.
/// Errors: io, not_found, those of `find_network_weights`
augur::result<void> prepare_whole(whole_job& job);

/// The network of a job, after its naive nests have run.
/// Errors: those of `loopnest::network_runner::create`.   pre: `job.graph`, whose kernels are those of the session, which outlives the result
augur::result<augur::loopnest::network_runner> open_network(augur::session& s, const whole_job& job, progress_line& line);

/// What a second of a call of each kernel alone is worth in the network: the seconds of all its calls there for each second of a call alone, both of the
/// untuned schedule; its uses where one of them was not measured.
/// Errors: those of `loopnest::network_runner::times_inside`.   pre: the session has measured its baselines
augur::result<std::vector<double>> weights_inside(const augur::session& s, augur::loopnest::network_runner& net, progress_line& line);

/// Measures a network with the results of the last search of a report, tries other schedules where a kernel is slower inside than alone, prints a table, and
/// writes the C.
/// Errors: those of `loopnest::network_runner`; io of the folder
augur::result<void> measure_whole(augur::session& s, augur::loopnest::network_runner& net, const augur::session_report& report, const whole_job& job,
                                  progress_line& line);

} // namespace examples

#endif
