// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DATASET_SINK_HPP
#define AUGUR_IO_DATASET_SINK_HPP

/// @file
/// Trial sink that fills a data set, for all log readers.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/io/detail/text_cache.hpp>
#include <augur/io/log_file_report.hpp>
#include <augur/io/trial_sink.hpp>
#include <augur/record/logged_schedule.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine_identity.hpp>

namespace augur::inline v0 {

/// Trial sink that adds the trials of one source to a builder. The builder must outlive the sink.
///
/// The builder refuses a trial with error number 0 if a time is not finite and positive, and counts it in its report.
class dataset_sink {
public:
    dataset_sink(dataset_builder& builder, std::string_view source) : builder_(&builder), source_(builder.source(source)) {}

    std::uint32_t task(const logged_task& task) {
        auto number = builder_->task(task.workload_key, task.target, task.hardware);
        return number ? *number : fail(number.error());
    }
    template <schedule S>
    std::uint32_t step(const S& step) {
        if constexpr (std::same_as<S, step_list>)
            if (auto ansor = check_ansor_steps(step); !ansor) return fail(ansor.error());
        ids_.clear();
        if (auto done = intern(builder_->primitives(), step, ids_); !done) return fail(done.error());
        return ids_.front();
    }
    /// Errors: limit, from the builder; invalid_argument for a log of another schedule type: see `add_trials`.
    [[nodiscard]] result<void> add(const record_view& trial) {
        if (failed_.code != errc{}) return failed_;
        const std::uint32_t task = on_machine(trial);
        if (failed_.code != errc{}) return failed_;
        return builder_->add(task, source_, trial.steps, trial.measured);
    }

private:
    /// The task of a trial on its machine. `task` cannot name the machine, which stands in the comment of the record.
    std::uint32_t on_machine(const record_view& trial) {
        if (trial.machine == machine_identity{}) return trial.task_number;
        if (last_task_ == trial.task_number && last_machine_ == trial.machine) return last_;
        const auto number = builder_->on(trial.task_number, trial.machine);
        if (!number) return fail(number.error());
        last_task_ = trial.task_number;
        last_machine_ = trial.machine;
        return last_ = *number;
    }
    std::uint32_t fail(const error& failure) {
        if (failed_.code == errc{}) failed_ = failure;
        return detail::text_cache::none;
    }

    dataset_builder* builder_;
    std::uint32_t source_;
    std::vector<primitive_id> ids_;
    std::uint32_t last_task_ = 0, last_ = 0; ///< task of the last trial with a known machine: without that machine, and with it
    machine_identity last_machine_{};        ///< unknown: there was none
    error failed_{};
};
static_assert(trial_sink<dataset_sink>);

/// Source name of the records of a file: `logs/resnet_50.jsonl.gz` gives `resnet_50`.
[[nodiscard]] inline std::string_view source_name(std::string_view path) noexcept {
    path.remove_prefix(path.rfind('/') + 1); // npos + 1 is 0
    for (const std::string_view packed : {".gz", ".zst"})
        if (path.ends_with(packed)) path.remove_suffix(packed.size());
    const auto dot = path.rfind('.');
    return dot == 0 ? path : path.substr(0, dot);
}

namespace detail {

/// Fills `builder` from files that are read in parallel, with the result of a sequential reading.
/// `read(sink_of) -> result<vector<log_file_report>>` reads the files; `sink_of(i)` is the sink for `paths[i]`. The source of its records is
/// `source_of(paths[i])`.
template <class Read>
[[nodiscard]] result<std::vector<log_file_report>> read_into_builder(std::span<const std::string> paths, dataset_builder& builder, const Read& read,
                                                                     std::string_view (*source_of)(std::string_view) = source_name) {
    std::vector<dataset_builder> parts(paths.size());
    std::vector<dataset_sink> sinks;
    sinks.reserve(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) sinks.emplace_back(parts[i], source_of(paths[i]));
    result<std::vector<log_file_report>> reports = read([&](std::size_t i) -> dataset_sink& { return sinks[i]; });
    if (!reports) return reports;
    for (auto& part : parts)
        if (auto merged = builder.merge(std::move(part)); !merged) return merged.error();
    return reports;
}

} // namespace detail

} // namespace augur::inline v0

#endif
