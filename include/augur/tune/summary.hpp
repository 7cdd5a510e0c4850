// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_SUMMARY_HPP
#define AUGUR_TUNE_SUMMARY_HPP

/// @file
/// What a tuning run is told, and what it tells.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <augur/record/measurement.hpp>
#include <augur/search/task_scheduler.hpp>

namespace augur::inline v0 {

/// How many outcomes there are.
inline constexpr std::size_t outcome_kinds = 11;

/// Trials by how they ended, indexed by `outcome`.
using outcome_counts = std::array<std::size_t, outcome_kinds>;

struct tuning_options {
    std::size_t trials = 1000; ///< of all tasks together, failures and recorded ones included; at least one a task
    std::size_t round = 64;    ///< trials of one task before the scheduler chooses again; cut to trials / tasks, so that each task gets a round
    std::size_t batch = 4;     ///< candidates handed to the runner at once; after each batch its records are written and the stop flag is read
    std::uint64_t seed = 0;
    std::size_t train_first = 1; ///< the model learns at the end of the first round with so many records in all,
    double train_growth = 1; ///< and then whenever they have grown by this factor, 1 or >= 1.01, at most once a round. 64 and 2: at 64, 128, 256, ...
    std::size_t attempts = 4; ///< proposals asked of the strategy a round, when it proposes what is known already
    bool replay = true;       ///< resume by proposing again; see `tuner::resume`
    task_scheduler_options scheduler{};
};

/// How far a run is. Given to the progress callback after each record.
struct tuning_progress {
    std::size_t task = 0;         ///< the one measured last
    std::size_t task_trials = 0;  ///< of it
    std::size_t trials = 0;       ///< done, recorded ones included
    std::size_t trials_total = 0; ///< the budget
    double last_latency = 0;      ///< seconds; infinity when it failed
    double best_latency = 0;      ///< of the task; infinity before the first success
    double objective = 0;         ///< weighted sum of the best latencies so far
    outcome_counts counts{};
    double seconds = 0;      ///< since the run began
    double seconds_left = 0; ///< estimate
};

struct task_summary {
    double best_latency = std::numeric_limits<double>::infinity(); ///< seconds
    std::optional<std::size_t> best_trial;                         ///< its place in `tuner::trials()`
    std::size_t trials = 0;
    std::size_t rounds = 0;
    outcome_counts counts{};
};

struct tuning_summary {
    std::vector<task_summary> tasks;
    std::size_t trials = 0;   ///< all
    std::size_t measured = 0; ///< by this run
    std::size_t recorded = 0; ///< taken from the records it was resumed with
    outcome_counts counts{};
    std::size_t unrealised = 0;   ///< proposals that the space made no schedule of; they are no trials
    std::size_t repeated = 0;     ///< proposals that gave a known schedule; they are no trials either
    std::string first_failure;    ///< task, outcome and reason of the first failed trial; empty when none failed
    std::size_t model_errors = 0; ///< calls of the model that gave an error: the run went on without it
    std::string first_model_error;
    bool interrupted = false; ///< the stop flag was set
    bool exhausted = false;   ///< the scheduler saw no chance in any task before the budget was used up
    double seconds = 0;       ///< wall time of the run, by the clock given
    double propose_seconds = 0;
    double measure_seconds = 0;
    double train_seconds = 0;

    /// Share of the wall time that training took.
    [[nodiscard]] double training_share() const noexcept { return seconds > 0 ? train_seconds / seconds : 0; }
};

} // namespace augur::inline v0

#endif
