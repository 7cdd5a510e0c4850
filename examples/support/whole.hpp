// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_WHOLE_HPP
#define AUGUR_EXAMPLES_SUPPORT_WHOLE_HPP

/// @file
/// A tuned network as one program: its table, and its C.

#include <array>
#include <optional>
#include <string>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/network_options.hpp>
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
};

/// Makes the folder, tries whether its files can be written, and finds the weights, before anything is measured.
/// Errors: io, not_found, those of `find_network_weights`
augur::result<void> prepare_whole(whole_job& job);

/// Measures a network with the results of the last search of a report, tries other schedules where a kernel is slower inside than alone, prints a table, and
/// writes the C.
/// Errors: those of `loopnest::network_runner`; io of the folder.   pre: `job.graph`, whose kernels are those of the session
augur::result<void> measure_whole(augur::session& s, const augur::session_report& report, const whole_job& job, progress_line& line);

} // namespace examples

#endif
