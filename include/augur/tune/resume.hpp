// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_RESUME_HPP
#define AUGUR_TUNE_RESUME_HPP

/// @file
/// Input and report of `tuner::resume`: the trials of an earlier run, and how many of them count for the new run.

#include <cstddef>
#include <string>

#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>

namespace augur::inline v0 {

/// A trial read from a log.
template <schedule S>
struct logged_trial {
    std::string task; ///< `task_identity` of the task
    S schedule;
    measurement outcome;
};

/// Number of records that `tuner::resume` accepted and skipped.
struct resume_report {
    std::size_t taken = 0;
    std::size_t duplicates = 0; ///< same task and schedule as an earlier record
    std::size_t foreign = 0;    ///< records of no task of this run
};

} // namespace augur::inline v0

#endif
