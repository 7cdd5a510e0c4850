// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_CONCEPTS_HPP
#define AUGUR_TUNE_CONCEPTS_HPP

/// @file
/// What the library asks of whoever measures.

#include <concepts>
#include <span>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// Measures candidates.
///
/// Syntax      `r.measure(task, span<const S>) -> std::vector<measurement>`
/// Semantics   one measurement a candidate, in order; a failed candidate is a value with its outcome and reason, never an error of the call
/// Threads     one call at a time
template <class R, class S, class Task>
concept runner = schedule<S> && task<Task> && requires(R& r, const Task& t, std::span<const S> candidates) {
    { r.measure(t, candidates) } -> std::same_as<std::vector<measurement>>;
};

/// Takes every record as soon as it is there, e.g. a log.
///
/// Syntax      `f(task, schedule, measurement) -> result<void>`
/// Semantics   when it returns success the record is safe; an error ends the run, because what is measured then would be lost
template <class F, class S, class Task>
concept record_sink = requires(F& f, const Task& t, const S& s, const measurement& m) {
    { f(t, s, m) } -> std::same_as<result<void>>;
};

/// Keeps nothing.
struct discard_records {
    template <class Task, class S>
    result<void> operator()(const Task&, const S&, const measurement&) const {
        return {};
    }
};

} // namespace augur::inline v0

#endif
