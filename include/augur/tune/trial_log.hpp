// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_TRIAL_LOG_HPP
#define AUGUR_TUNE_TRIAL_LOG_HPP

/// @file
/// Writes the trials of a tuning run to a log, and reads them back to resume the run.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/log_writer.hpp>
#include <augur/record/logged_schedule.hpp>
#include <augur/record/record.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tune/tuner.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// What built and ran the candidates. Latencies of different toolchains are not comparable.
struct toolchain {
    machine_identity machine; ///< the platform, with name and version of the compiler
    std::string flags;        ///< of the compiler

    toolchain() = default;
    toolchain(machine_identity platform, std::string compiler_flags) : machine(std::move(platform)), flags(std::move(compiler_flags)) {}
    friend bool operator==(const toolchain&, const toolchain&) = default;
};

/// A task with its own log form: `t.logged() -> logged_task`. Other tasks are logged with their key and target.
template <class T>
concept loggable_task = task<T> && requires(const T& t) {
    { t.logged() } -> std::same_as<logged_task>;
};

/// The log form of a task.
template <task Task>
[[nodiscard]] logged_task to_logged(const Task& t) {
    if constexpr (loggable_task<Task>) {
        return t.logged();
    } else {
        logged_task out;
        out.workload_key = task_key(t);
        out.target = task_target(t);
        return out;
    }
}

/// Appends every trial to a log; models `record_sink` for every task and `loggable_schedule`.
/// pre: the writer outlives the sink
class log_sink {
public:
    log_sink(log_writer& to, toolchain made_with) : to_(&to), made_with_(std::move(made_with)) {}

    template <task Task, loggable_schedule<Task> S>
    result<void> operator()(const Task& t, const S& s, const measurement& m) {
        return write(t, s, m, {});
    }
    /// A trial whose schedule was not searched here; `origin` says in words where it is from.
    template <task Task, loggable_schedule<Task> S>
    result<void> write(const Task& t, const S& s, const measurement& m, std::string origin) {
        record r;
        r.task = to_logged(t);
        r.schedule = to_logged(s);
        if constexpr (!std::same_as<S, step_list>) { // a resumed run finds the record by this hash
            const auto rebuilt = from_logged<S>(t, r.schedule);
            if (!rebuilt || hash_schedule(*rebuilt) != hash_schedule(s))
                return error{errc::invalid_argument, "log: expected a schedule that is rebuilt as it was, with names in UTF-8, got " +
                                                         (rebuilt ? std::string("another one back") : rebuilt.error().detail)};
        }
        r.measured = m;
        r.machine = made_with_.machine;
        r.flags = made_with_.flags;
        r.origin = std::move(origin);
        if (auto written = to_->append(std::move(r)); !written) return written.error();
        return {};
    }

private:
    log_writer* to_;
    toolchain made_with_;
};

namespace detail {

inline std::string target_shown(const logged_task& t) {
    return "'" + t.target.substr(0, 128) + "' with " + std::to_string(t.hardware[0]) + " cores and vectors of " + std::to_string(t.hardware[1]) +
           " bytes";
}

} // namespace detail

/// Trials of one machine.
template <schedule S = step_list>
struct trials_of_machine {
    machine_identity machine;
    std::vector<logged_trial<S>> trials; ///< in the order of the log
};

/// The trials of a log that belong to a run. All other records are counted by the reason why they were skipped.
template <schedule S = step_list>
struct trials_in_log {
    std::vector<logged_trial<S>> trials; ///< in the order of the log
    /// Trials of the tasks with the same compiler and flags on other machines, in the order of the first records.
    std::vector<trials_of_machine<S>> other_machines;
    log_summary log;                   ///< numbers of records and bad lines; whether the last line is incomplete
    std::size_t other_task = 0;        ///< records of tasks that were not asked for
    std::size_t other_target = 0;      ///< records of a task with another target, number of cores or vector width
    std::string first_other_target;    ///< the first such target, beside the expected one
    std::size_t other_toolchain = 0;   ///< records of a task with another or unknown compiler or flags
    std::string first_other_toolchain; ///< what differs in the first of them
    std::size_t runner_failed = 0;     ///< records of a task that say nothing of its schedule: the runner itself failed
    std::size_t other_schedule = 0;    ///< records of a task whose schedule could not be rebuilt
    std::string first_other_schedule;  ///< the first reason
};

namespace detail {

inline std::string toolchain_difference(const toolchain& expected, const record& got) {
    const bool compiler = expected.machine.compiler != got.machine.compiler;
    return std::string(compiler ? "compiler" : "flags") + ": expected '" + (compiler ? expected.machine.compiler : expected.flags) + "', got '" +
           (compiler ? got.machine.compiler : got.flags) + "'";
}

/// The list for the trials of a machine.
template <schedule S>
std::vector<logged_trial<S>>& trials_on(trials_in_log<S>& out, const machine_identity& m, const machine_identity& expected) {
    if (m == expected) return out.trials;
    for (auto& other : out.other_machines)
        if (other.machine == m) return other.trials;
    return out.other_machines.emplace_back(trials_of_machine<S>{m, {}}).trials;
}

} // namespace detail

/// Reads the trials of the given tasks from a log. Those of the machine of `made_with` are `trials`.
///
/// Errors  those of `log_reader`: not_found, io, version_mismatch. A bad line is no error; it is reported to `options.on_bad_line`
/// @param tasks  a vector, an array or a span of them
template <schedule S = step_list, class Tasks>
    requires loggable_schedule<S, range_task_t<Tasks>>
[[nodiscard]] result<trials_in_log<S>> read_trials(const std::string& path, const Tasks& tasks, const toolchain& made_with,
                                                   log_read_options options = {}) {
    auto reader = log_reader::open(path, std::move(options));
    if (!reader) return reader.error();
    std::vector<logged_task> wanted_tasks;
    wanted_tasks.reserve(std::size(tasks));
    for (const auto& t : tasks) wanted_tasks.push_back(to_logged(t));
    trials_in_log<S> out;
    for (record r;;) {
        const auto has_record = reader->next(r);
        if (!has_record) return has_record.error();
        if (!*has_record) break;
        bool task_found = false;
        std::size_t match = 0, same_key = 0; // key, target and hardware
        for (; match < wanted_tasks.size(); ++match) {
            const logged_task& w = wanted_tasks[match];
            if (w.workload_key != r.task.workload_key) continue;
            task_found = true;
            same_key = match;
            if (w.target == r.task.target && w.hardware == r.task.hardware) break;
        }
        if (!task_found) ++out.other_task;
        else if (match == wanted_tasks.size()) {
            if (out.other_target++ == 0)
                out.first_other_target = "expected " + detail::target_shown(wanted_tasks[same_key]) + ", got " + detail::target_shown(r.task);
        } else if (r.machine.compiler != made_with.machine.compiler || r.flags != made_with.flags) {
            if (out.other_toolchain++ == 0) out.first_other_toolchain = detail::toolchain_difference(made_with, r);
        } else if (r.measured.status == outcome::runner_error) {
            ++out.runner_failed;
        } else if (auto s = from_logged<S>(tasks[match], std::move(r.schedule))) {
            detail::trials_on(out, r.machine, made_with.machine).push_back({task_identity(tasks[match]), *std::move(s), std::move(r.measured)});
        } else if (out.other_schedule++ == 0) out.first_other_schedule = s.error().detail;
    }
    out.log = reader->summary();
    return out;
}

} // namespace augur::inline v0

#endif
