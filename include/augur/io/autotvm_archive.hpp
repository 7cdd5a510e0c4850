// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_AUTOTVM_ARCHIVE_HPP
#define AUGUR_IO_AUTOTVM_ARCHIVE_HPP

/// @file
/// Reader of AutoTVM logs into archives, one a task, so that searches can be repeated on their records (`recorded_space`, `replay_runner`).

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/io/autotvm_log.hpp>
#include <augur/io/log_file_report.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/schedule/autotvm_config.hpp>
#include <augur/schedule/configuration.hpp>

namespace augur::inline v0 {

/// The knobs of a configuration as parameters. A knob of one value keeps its name; the values of the others are `tile_f.0`, `tile_f.1`, ...
[[nodiscard]] inline configuration to_configuration(const autotvm_config& config) {
    configuration out;
    for (const autotvm_knob& knob : config.knobs)
        for (std::size_t i = 0; i < knob.values.size(); ++i)
            out.parameters.push_back({knob.kind == autotvm_knob_kind::other ? knob.name : knob.name + '.' + std::to_string(i), knob.values[i]});
    return out;
}

/// The records of one task of a log.
struct autotvm_archive {
    /// The configurations as parameters. The workload is the key of the task (`autotvm_workload_key`), the device its target. A record without
    /// parameters, or with others than the first record of the task, is bad.
    tuning_archive records;
    std::vector<autotvm_config> configs; ///< the same configurations with their knobs, one a record
};

/// Trial sink that makes an archive of each task, in the order of their first records.
class autotvm_archive_sink {
public:
    std::vector<autotvm_archive> archives;

    std::uint32_t task(const logged_task& task) {
        const auto [at, fresh] = numbers_.try_emplace({task.workload_key, task.target}, static_cast<std::uint32_t>(archives.size()));
        if (fresh) {
            archives.emplace_back();
            archives.back().records.workload = task.workload_key;
            archives.back().records.device = task.target;
        }
        return at->second;
    }
    /// A configuration of one knob.
    std::uint32_t step(const autotvm_config& knob) {
        knobs_.push_back(knob.knobs.front());
        return static_cast<std::uint32_t>(knobs_.size()) - 1;
    }
    [[nodiscard]] result<void> add(const record_view& trial) {
        autotvm_archive& archive = archives[trial.task_number];
        autotvm_config config;
        for (const auto knob : trial.steps) config.knobs.push_back(knobs_[knob]);
        measured_configuration record{to_configuration(config), trial.measured};
        if (record.point.parameters.empty() || (!archive.configs.empty() && !same_parameters(archive.records.records.front().point, record.point))) {
            ++archive.records.bad;
            return {};
        }
        archive.records.records.push_back(std::move(record));
        archive.configs.push_back(std::move(config));
        return {};
    }

private:
    std::map<std::pair<std::string, std::string>, std::uint32_t> numbers_; ///< of tasks, by key and target
    std::vector<autotvm_knob> knobs_;

    [[nodiscard]] static bool same_parameters(const configuration& a, const configuration& b) {
        if (a.parameters.size() != b.parameters.size()) return false;
        for (std::size_t i = 0; i < a.parameters.size(); ++i)
            if (a.parameters[i].name != b.parameters[i].name) return false;
        return true;
    }
};
static_assert(trial_sink<autotvm_archive_sink, autotvm_config>);

/// The tasks of a log file, and what was read of it.
struct autotvm_archive_file {
    std::vector<autotvm_archive> tasks; ///< those with a record; a measurement that failed is one
    std::size_t empty_tasks = 0;        ///< tasks without one: all of their records are bad, mostly as the template has no knobs
    std::size_t bad = 0;                ///< the records of these; those of the others are in `tuning_archive::bad`
    log_file_report report;
};

/// Reads log files in parallel; a file is an entry of the result. Errors: those of `read_autotvm_logs`.   Memory: all records
template <bulk_executor E>
[[nodiscard]] result<std::vector<autotvm_archive_file>> read_autotvm_archives(std::span<const std::string> paths, E& executor,
                                                                              const log_read_options& options = {}) {
    std::vector<autotvm_archive_sink> sinks(paths.size());
    auto reports = read_autotvm_logs(paths, executor, [&](std::size_t i) -> autotvm_archive_sink& { return sinks[i]; }, options);
    if (!reports) return reports.error();
    std::vector<autotvm_archive_file> out(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
        out[i].report = std::move((*reports)[i]);
        for (autotvm_archive& a : sinks[i].archives) {
            if (!a.configs.empty()) {
                out[i].tasks.push_back(std::move(a));
                continue;
            }
            ++out[i].empty_tasks;
            out[i].bad += a.records.bad;
        }
    }
    return out;
}

} // namespace augur::inline v0

#endif
