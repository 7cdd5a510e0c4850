// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_HOOKS_HPP
#define AUGUR_TUNE_HOOKS_HPP

/// @file
/// Callbacks of a tuning run: where records go, progress, the stop request and the clock.

#include <functional>

#include <augur/core/error.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/tune/concepts.hpp>
#include <augur/tune/summary.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// Callbacks of a run; each may be left out. Pass `std::ref(f)` for a callable with state that is read after the run.
template <schedule S, task Task>
struct tuning_hooks {
    /// A `record_sink`: called once for each measured trial, right after its batch. Left out: records are dropped.
    std::function<result<void>(const Task&, const S&, const measurement&)> sink{};
    /// Called after each measured trial, and once after a group of recorded trials.
    std::function<void(const tuning_progress&)> progress{};
    /// Called between batches; true ends the run. A running batch is finished and written.
    std::function<bool()> stop{};
    /// Seconds since an arbitrary point in time, for the times in the summary and in the progress; no decision depends on it. Left out: `steady_seconds`.
    std::function<double()> clock{};
};

} // namespace augur::inline v0

#endif
