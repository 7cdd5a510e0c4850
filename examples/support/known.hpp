// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_KNOWN_HPP
#define AUGUR_EXAMPLES_SUPPORT_KNOWN_HPP

/// @file
/// What is known of other kernels of this machine: the candidates of a log, as trees on loop nests learn from them.
/// Only where there are nest models (AUGUR_EXAMPLES_NEST_MODELS).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

namespace examples {

struct known_candidates {
    augur::task_normalised_samples samples;
    std::size_t kernels = 0, records = 0;
    std::size_t passed_over = 0; ///< records of what is no kernel of loopnest, or on another target or by another toolchain
    std::string first_bad;       ///< of the lines that could not be read; empty: all could
};

/// The records of a log, `tune --collect` writes such a one, as samples; a label is the least latency of the kernel's records over its own, of a failure 0.
/// Errors: those of the log; not_found, none is of this machine, these threads and this toolchain
[[nodiscard]] augur::result<known_candidates> read_known(const std::string& log, const augur::hardware_params& hardware,
                                                         const augur::toolchain& made_with, augur::loopnest::nest_row row_of);

/// Candidates that a search of the task might meet: some hundreds, for `meet` of the models of such trees.
[[nodiscard]] std::vector<augur::step_list> drawn_at_random(const augur::loopnest::ansor_space& space, std::uint64_t seed);

} // namespace examples

#endif
