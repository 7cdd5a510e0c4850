// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_TRIAL_BOOK_HPP
#define AUGUR_TUNE_DETAIL_TRIAL_BOOK_HPP

/// @file
/// The trials of a tuning run, the records of an earlier run that may still become trials, and the progress so far.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/tune/resume.hpp>
#include <augur/tune/summary.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0::detail {

template <class S>
struct tuned_trial {
    std::size_t task = 0;
    S schedule;
    measurement outcome;
    bool recorded = false; ///< taken from a log
};

/// A record of an earlier run.
template <class S>
struct pending_record {
    std::size_t task;
    std::uint64_t hash;
    S schedule;
    measurement outcome;
    bool used;
};

template <class S>
struct trial_book {
    using index_of_hash = std::unordered_map<std::uint64_t, std::size_t>;

    std::deque<tuned_trial<S>> trials; ///< addresses are stable
    tuning_summary summary;
    std::vector<index_of_hash> known;                     ///< per task: schedule hash to index in `trials`
    std::vector<index_of_hash> pending;                   ///< per task: schedule hash to index in `records`
    std::vector<pending_record<S>> records;               ///< of an earlier run
    std::size_t unused = 0;                               ///< number of records that are not trials yet
    std::vector<std::string> keys;                        ///< per task
    std::vector<double> weights;                          ///< per task
    std::unordered_map<std::string, std::size_t> numbers; ///< task_identity to index of the task

    template <task Task>
    explicit trial_book(std::span<const Task> tasks) : known(tasks.size()), pending(tasks.size()) {
        summary.tasks.resize(tasks.size());
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            numbers.emplace(task_identity(tasks[i]), i);
            keys.emplace_back(task_key(tasks[i]));
            weights.push_back(task_weight(tasks[i]));
        }
    }

    /// Keeps the records of tasks of this run, one per schedule.
    resume_report resume(std::vector<logged_trial<S>> logged) {
        resume_report report;
        for (auto& r : logged) {
            const auto number = numbers.find(r.task);
            if (number == numbers.end()) {
                ++report.foreign;
                continue;
            }
            const std::size_t task = number->second;
            const std::uint64_t hash = hash_schedule(r.schedule);
            if (!pending[task].emplace(hash, records.size()).second) {
                ++report.duplicates;
                continue;
            }
            ++report.taken;
            records.push_back({task, hash, std::move(r.schedule), std::move(r.outcome), false});
        }
        unused += report.taken;
        return report;
    }

    /// Appends a trial and updates the summary.
    void add(std::size_t task, std::uint64_t hash, S schedule, measurement outcome, bool recorded) {
        task_summary& own_summary = summary.tasks[task];
        const auto status = (std::min)(static_cast<std::size_t>(outcome.status), outcome_kinds - 1);
        const double latency = outcome.latency();
        ++own_summary.trials;
        ++own_summary.counts[status];
        ++summary.counts[status];
        ++(recorded ? summary.recorded : summary.measured);
        if (!outcome.ok() && summary.first_failure.empty())
            summary.first_failure = keys[task] + ": " + std::string(to_string(outcome.status)) + ": " + outcome.reason;
        if (latency < own_summary.best_latency) {
            own_summary.best_latency = latency;
            own_summary.best_trial = trials.size();
        }
        known[task].emplace(hash, trials.size());
        trials.push_back({task, std::move(schedule), std::move(outcome), recorded});
    }

    /// Turns a record into a trial.
    void take(pending_record<S>& r) {
        r.used = true;
        --unused;
        pending[r.task].erase(r.hash);
        add(r.task, r.hash, std::move(r.schedule), std::move(r.outcome), true);
    }

    /// The progress at the latest trial, which is one of `task`.   pre: there is a trial
    ///
    /// @param budget   trials of the whole run
    /// @param seconds  wall time since the run began
    [[nodiscard]] tuning_progress progress(std::size_t task, std::size_t budget, double seconds) const {
        tuning_progress p;
        p.task = task;
        p.task_trials = summary.tasks[task].trials;
        p.trials = trials.size();
        p.trials_total = budget;
        p.last_latency = trials.back().outcome.latency();
        p.best_latency = summary.tasks[task].best_latency;
        for (std::size_t i = 0; i < weights.size(); ++i)
            if (std::isfinite(summary.tasks[i].best_latency)) p.objective += weights[i] * summary.tasks[i].best_latency;
        p.counts = summary.counts;
        p.seconds = seconds;
        if (summary.measured > 0 && p.trials < p.trials_total)
            p.seconds_left = p.seconds / static_cast<double>(summary.measured) * static_cast<double>(p.trials_total - p.trials);
        return p;
    }

    void note_model_error(const error& e) {
        if (summary.model_errors++ == 0) summary.first_model_error = e.detail;
    }
};

} // namespace augur::inline v0::detail

#endif
