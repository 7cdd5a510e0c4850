// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_TUNING_LOG_HPP
#define AUGUR_TUNE_TUNING_LOG_HPP

/// @file
/// Opens the log of a tuning run for appending, reads its trials for a resumed run, and counts the skipped records by reason.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/log_writer.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// One sentence for each reason why something in a log is not used, with the number of records or lines; empty if all of it is used.
template <schedule S>
[[nodiscard]] std::vector<std::string> passed_over(const std::string& path, const toolchain& made_with, const trials_in_log<S>& found,
                                                   const std::string& first_bad_line) {
    std::vector<std::string> out;
    const auto say = [&](std::size_t n, const std::string& text) {
        if (n > 0) out.push_back(path + ": " + std::to_string(n) + " " + text);
    };
    say(found.other_task, "records are of other kernels and are passed over");
    say(found.other_target, "records are of other targets or another number of threads and are passed over; the first: " + found.first_other_target);
    for (const auto& other : found.other_machines)
        say(other.trials.size(), "records are of another machine (" + first_difference(made_with.machine, other.machine) + ") and are passed over");
    say(found.other_toolchain, "records are of another compiler or other flags and are passed over; the first: " + found.first_other_toolchain);
    say(found.other_schedule, "records have a schedule that cannot be rebuilt and are passed over; the first: " + found.first_other_schedule);
    say(found.runner_failed, "records are failures of the runner, not of a schedule, and are passed over: they are measured again");
    say(found.log.bad, "lines are damaged and are passed over; the first: " + first_bad_line);
    return out;
}

/// A log that is open for a run, and the trials that were in it.
template <schedule S = step_list>
struct tuning_log {
    std::string path;
    toolchain made_with;
    log_writer writer;
    trials_in_log<S> found;     ///< pass `found.trials` to `tuner::resume`
    std::string first_bad_line; ///< place and reason of the first damaged line; empty: none

    /// One sentence for each reason why something in the log is not used, with the number of records, lines or bytes; empty if all of it is used.
    [[nodiscard]] std::vector<std::string> passed_over() const {
        auto out = augur::passed_over(path, made_with, found, first_bad_line);
        if (writer.bytes_cut() > 0)
            out.push_back(path + ": " + std::to_string(writer.bytes_cut()) + " bytes of an unfinished record at the end were cut off");
        return out;
    }
};

/// Opens a log for appending, creates it if there is none, and reads the trials of `tasks` that were made on the same machine with the same compiler
/// and flags.
///
/// ```cpp
/// const augur::toolchain made_with(augur::identify(augur::detect_machine(), "x86-64-v3", 1, "my compiler 1.0"), "-O3");
/// auto log = augur::open_tuning_log(path, tasks, made_with);
/// if (!log) return log.error();
/// for (const auto& text : log->passed_over()) std::fprintf(stderr, "%s\n", text.c_str());
/// tuner.resume(std::move(log->found.trials));
/// auto summary = tuner.run(runner, {.sink = augur::log_sink(log->writer, made_with)});
/// ```
///
/// An unfinished record at the end of the log is cut off first.
/// @param is_new  a log that holds records is refused, unchanged
/// Errors  those of `log_writer::open` (among them a log that another process holds) and of `log_reader`
template <schedule S = step_list, class Tasks>
    requires loggable_schedule<S, range_task_t<Tasks>>
[[nodiscard]] result<tuning_log<S>> open_tuning_log(const std::string& path, const Tasks& tasks, const toolchain& made_with, bool is_new = false) {
    auto writer = log_writer::open(path, durability::batch, is_new);
    if (!writer) return writer.error();
    std::string first_bad_line;
    log_read_options options;
    options.on_bad_line = [&](const bad_line& b) {
        if (first_bad_line.empty()) first_bad_line = b.text();
    };
    auto found = read_trials<S>(path, tasks, made_with, std::move(options));
    if (!found) return found.error();
    return tuning_log<S>{path, made_with, *std::move(writer), *std::move(found), std::move(first_bad_line)};
}

} // namespace augur::inline v0

#endif
