// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_OPTIONS_HPP
#define AUGUR_TUNE_OPTIONS_HPP

/// @file
/// Options of a tuning run.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <augur/core/error.hpp>
#include <augur/core/retraining_schedule.hpp>
#include <augur/search/task_scheduler.hpp>

namespace augur::inline v0 {

/// Options of a tuning run.
struct tuning_options {
    std::size_t trials = 64; ///< of each task, on average, failed and recorded ones included: the budget is this times the number of tasks
    std::size_t round = 64;  ///< trials of a task between two scheduler decisions; at most `trials`, so that each task gets a round
    /// Trials of the first round of a task; each later round is as large as the number of trials that the task has, up to `round`: with a `first_round`
    /// of 4 and a `round` of 16 the rounds have 4, 4, 8, 16, 16, ... trials. So what a model or a strategy predicts before it has seen the task decides
    /// fewer trials. 0, or more than `round`: all rounds have `round` trials.
    std::size_t first_round = 0;
    std::size_t batch = 4; ///< candidates per call of the runner; after each call the records are written and the stop flag is read
    std::uint64_t seed = 0;
    /// The model is trained at the end of the first round with this many records in all.
    std::size_t train_first = 1;
    /// Growth factor of the number of records between two trainings: 1 (train after each round) or at least 1.01; at most one training per round.
    /// With train_first 64 and train_growth 2 the model is trained at 64, 128, 256, ... records.
    double train_growth = 1;
    /// A run ends with errc::io after so many candidates in a row whose outcome is `runner_error`: the device is gone, not the schedules wrong. 0: never.
    std::size_t runner_errors = 64;
    std::size_t attempts = 4; ///< maximum number of proposals per round; used if proposals are known already or cannot be realised
    bool replay = true;       ///< resume by repeating the earlier run; see `tuner::resume`
    task_scheduler_options scheduler{};

    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check(std::size_t tasks) const {
        if (tasks == 0) return error{errc::invalid_argument, "tuning: expected at least one task, none came"};
        if (trials == 0 || trials > std::numeric_limits<std::size_t>::max() / tasks)
            return error{errc::invalid_argument, "tuning: expected at least one trial per task, and a budget that can be counted, got " +
                                                     std::to_string(trials) + " for each of " + std::to_string(tasks) + " tasks"};
        if (round == 0 || batch == 0 || attempts == 0)
            return error{errc::invalid_argument, "tuning: expected round, batch and attempts of at least 1, " + std::to_string(round) + ", " +
                                                     std::to_string(batch) + " and " + std::to_string(attempts) + " came"};
        if (!(train_growth == 1 || train_growth >= least_retraining_growth))
            return error{errc::invalid_argument,
                         "tuning: expected train_growth of 1, or of at least 1.01, " + std::to_string(train_growth) + " came"};
        return scheduler.check();
    }
};

} // namespace augur::inline v0

#endif
