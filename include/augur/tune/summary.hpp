// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_SUMMARY_HPP
#define AUGUR_TUNE_SUMMARY_HPP

/// @file
/// Progress reports and the summary of a tuning run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <augur/record/measurement.hpp>

namespace augur::inline v0 {

/// The number of outcomes of a trial.
inline constexpr std::size_t outcome_kinds = 11;

/// Number of trials per outcome, indexed by `outcome`.
using outcome_counts = std::array<std::size_t, outcome_kinds>;

/// Progress of a run, passed to the progress callback after each record.
struct tuning_progress {
    std::size_t task = 0;         ///< the task measured last
    std::size_t task_trials = 0;  ///< trials of that task
    std::size_t trials = 0;       ///< trials done, recorded ones included
    std::size_t trials_total = 0; ///< the budget
    double last_latency = 0;      ///< of the last trial, seconds; infinity if it failed
    double best_latency = 0;      ///< best of the task, seconds; infinity before the first success
    /// Latency expected of the best candidate of this round that is not measured yet, seconds: predicted from the model's score by a linear fit of
    /// ln(latency) on the score, over the latest 512 trials of the task. Without a model, or where scores and latencies disagree, the `expected_latency`
    /// of the strategy (`search_strategy`). Infinity: no candidate is left, or neither has a prediction.
    double expected_latency = std::numeric_limits<double>::infinity();
    double objective =
        0; ///< sum of weight * best latency over the tasks that have a success, seconds; it rises when another task has its first success
    outcome_counts counts{};
    double seconds = 0;      ///< wall time since the run began
    double seconds_left = 0; ///< estimated remaining wall time
};

/// Results of one task.
struct task_summary {
    double best_latency = std::numeric_limits<double>::infinity(); ///< seconds
    std::optional<std::size_t> best_trial;                         ///< index in `tuner::trials()`
    std::size_t trials = 0;
    std::size_t rounds = 0;
    outcome_counts counts{};
};

/// Results of a tuning run.
struct tuning_summary {
    std::vector<task_summary> tasks;
    std::size_t trials = 0;   ///< all trials
    std::size_t measured = 0; ///< trials measured by this run
    std::size_t recorded = 0; ///< trials taken from the records of an earlier run
    outcome_counts counts{};
    std::size_t unrealised = 0;   ///< proposals that the space could not realise; not counted as trials
    std::size_t repeated = 0;     ///< proposals of a known schedule; not counted as trials
    std::string first_failure;    ///< task, outcome and reason of the first failed trial; empty when none failed
    std::size_t model_errors = 0; ///< failed calls of the model; the run continued without its scores
    std::string first_model_error;
    bool interrupted = false; ///< the stop flag was set
    bool exhausted = false;   ///< all tasks ended before the budget was used up
    double seconds = 0;       ///< wall time of the run, by the clock passed to `run`
    double propose_seconds = 0;
    double measure_seconds = 0;
    double train_seconds = 0;

    /// Fraction of the wall time spent in training.
    [[nodiscard]] double training_share() const noexcept { return seconds > 0 ? train_seconds / seconds : 0; }
};

} // namespace augur::inline v0

#endif
