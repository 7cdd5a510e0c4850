// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_CONCEPTS_HPP
#define AUGUR_TUNE_CONCEPTS_HPP

/// @file
/// The concepts `runner` (measures candidates) and `record_sink` (stores records).

#include <concepts>
#include <span>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// Builds and measures candidate schedules.
///
/// Syntax      `r.measure(task, span<const S>) -> std::vector<measurement>`
/// Semantics   one measurement per candidate, in the same order; a failed candidate is a measurement with its outcome and reason. `runner_error` is for
///             what says nothing of the candidate, such as a board that does not answer: try again before you return it, because strategies and
///             models take it for a failed candidate. `read_trials` leaves it out, so a resumed run measures these candidates anew, and
///             `tuning_options::runner_errors` in a row end the run
/// Threads     one call at a time
template <class R, class S, class Task>
concept runner = schedule<S> && task<Task> && requires(R& r, const Task& t, std::span<const S> candidates) {
    { r.measure(t, candidates) } -> std::same_as<std::vector<measurement>>;
};

/// Receives every record right after its measurement, e.g. a log.
///
/// Syntax      `f(task, schedule, measurement) -> result<void>`
/// Semantics   on success the record is safely stored; an error ends the run, because later measurements would be lost
template <class F, class S, class Task>
concept record_sink = requires(F& f, const Task& t, const S& s, const measurement& m) {
    { f(t, s, m) } -> std::same_as<result<void>>;
};

} // namespace augur::inline v0

#endif
