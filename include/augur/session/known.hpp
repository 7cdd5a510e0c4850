// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_KNOWN_HPP
#define AUGUR_SESSION_KNOWN_HPP

/// @file
/// Records of other kernels of this machine as samples for task-normalised trees on features of loop nests. Empty without the component
/// xgboost (AUGUR_HAS_XGBOOST).

#ifdef AUGUR_HAS_XGBOOST

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/measurement.hpp>
#include <augur/session/detail/tasks_in_log.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

namespace augur::inline v0 {

/// What was read of a log.
struct known_candidates {
    std::size_t kernels = 0;
    std::size_t records = 0;
    std::size_t left_out = 0;        ///< kernels that were not to be read
    std::size_t passed_over = 0;     ///< records of workloads that are no kernels of `loopnest`, of other targets, compilers or flags
    std::size_t other_machine = 0;   ///< records of other machines
    std::string first_other_machine; ///< the field in which the first of them differs
    std::size_t unusable = 0;        ///< records whose schedule does not apply to its kernel
    std::string first_bad;           ///< the first damaged line; empty: none
};

/// Adds the records of a log, for example of `tune --collect`, to samples for training. A sample's label is the least latency of the kernel's records over
/// the record's; 0 for a failed one.
///
/// @param without  kernels whose records are not read
/// Errors  those of the log; not_found if there is no usable record of this hardware, ISA level, machine, compiler and flags, and no kernel was left out:
///         a log all of whose kernels are in `without` gives 0 records
[[nodiscard]] inline result<known_candidates> read_known(const std::string& log, const hardware_params& hardware, const toolchain& made_with,
                                                         loopnest::nest_row row_of, task_normalised_samples& samples,
                                                         isa_level level = isa_level::native, std::span<const loopnest::kernel_task> without = {}) {
    const auto tasks = detail::tasks_in_log(log, hardware, level);
    if (!tasks) return tasks.error();
    known_candidates out;
    log_read_options options;
    options.on_bad_line = [&](const bad_line& b) {
        if (out.first_bad.empty()) out.first_bad = b.text();
    };
    const auto old = read_trials(log, *tasks, made_with, options);
    if (!old) return old.error();
    out.passed_over = old->other_task + old->other_target + old->other_toolchain;
    for (const auto& other : old->other_machines) {
        if (out.other_machine == 0) out.first_other_machine = first_difference(made_with.machine, other.machine);
        out.other_machine += other.trials.size();
    }
    for (const auto& t : *tasks) {
        if (std::any_of(without.begin(), without.end(), [&](const auto& w) { return w.workload() == t.workload(); })) {
            ++out.left_out;
            continue;
        }
        std::vector<float> rows, row(row_of.columns()), labels;
        std::vector<double> latencies;
        const auto id = task_identity(t);
        for (const auto& trial : old->trials) {
            if (trial.task != id) continue;
            if (!row_of(t, trial.schedule, row) || !std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) {
                ++out.unusable;
                continue;
            }
            rows.insert(rows.end(), row.begin(), row.end());
            latencies.push_back(trial.outcome.latency());
        }
        if (latencies.empty()) continue;
        ++out.kernels;
        out.records += latencies.size();
        const double least = *std::min_element(latencies.begin(), latencies.end());
        for (const double l : latencies) labels.push_back(speed_label(least, l));
        const auto normaliser = task_normaliser::fit(rows, row_of.columns());
        if (auto added = samples.add(normaliser, std::move(rows), labels); !added) return added.error();
    }
    if (out.records == 0 && out.left_out == 0)
        return error{errc::not_found,
                     log + ": expected records of kernels on this machine, with these threads and this compiler and its flags; " +
                         std::to_string(old->other_task) + " are of unknown kernels, " + std::to_string(old->other_target) +
                         " of another target or number of threads" + (old->first_other_target.empty() ? "" : " (" + old->first_other_target + ")") +
                         ", " + std::to_string(old->other_toolchain) + " of another compiler or other flags" +
                         (old->other_toolchain == 0 ? "" : " (" + old->first_other_toolchain + ")") + ", " + std::to_string(out.other_machine) +
                         " of another machine" + (out.other_machine == 0 ? "" : " (" + out.first_other_machine + ")") +
                         (out.first_bad.empty() ? "" : "; the first damaged line: " + out.first_bad)};
    return out;
}

} // namespace augur::inline v0

#endif // AUGUR_HAS_XGBOOST

#endif
