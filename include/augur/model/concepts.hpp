// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_CONCEPTS_HPP
#define AUGUR_MODEL_CONCEPTS_HPP

/// @file
/// Concepts of cost models: `cost_model` scores schedules, `trainable_cost_model` is also updated with measurements.

#include <concepts>
#include <cstdint>
#include <span>

#include <augur/core/error.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// Meaning of a score. Higher is better for all of them.
enum class score_meaning : std::uint8_t {
    rank,                 ///< only the order within one task is meaningful
    negative_log_latency, ///< -ln(seconds)
    throughput,           ///< work per second, relative within one task or absolute
};

/// Predicts the performance of schedules.
///
/// Syntax      `m.score(task, span<const S>, span<float>) -> result<void>`; `M::meaning` is a `score_meaning`
/// Semantics   one score per schedule, higher is better; -infinity for a candidate that cannot be scored; never NaN;
///             the score of a schedule does not depend on the other schedules of the batch, except for rounding (1e-4 relative);
///             equal batches have equal scores
/// Errors      spans of different length, a task the model cannot serve
/// Threads     use a model object from one thread at a time; make one scorer per thread
template <class M, class S, class Task>
concept cost_model = schedule<S> && task<Task> && requires(M& m, const Task& t, std::span<const S> batch, std::span<float> scores) {
    { m.score(t, batch, scores) } -> std::same_as<result<void>>;
    { M::meaning } -> std::convertible_to<score_meaning>;
};

/// Training record: a schedule of a task and its measurement.
template <class S, class Task>
struct observation {
    const Task* task = nullptr;
    const S* schedule = nullptr;
    const measurement* outcome = nullptr;
};

/// A cost model that is trained on the measurements of a running search.
///
/// Syntax      `m.update(span<const observation<S, Task>>) -> result<void>`: all records so far, oldest first
/// Semantics   equal sequences of calls give equal models, for any number of threads
template <class M, class S, class Task>
concept trainable_cost_model = cost_model<M, S, Task> && requires(M& m, std::span<const observation<S, Task>> records) {
    { m.update(records) } -> std::same_as<result<void>>;
};

} // namespace augur::inline v0

#endif
