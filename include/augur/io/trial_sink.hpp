// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_TRIAL_SINK_HPP
#define AUGUR_IO_TRIAL_SINK_HPP

/// @file
/// Concept of a receiver of the trials of a log: of ansor_log_reader (io/ansor_log.hpp), autotvm_log_reader (io/autotvm_log.hpp) and
/// meta_schedule_log_reader (io/meta_schedule_log.hpp).

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <augur/core/error.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine_identity.hpp>

namespace augur::inline v0 {

/// One record of a log. The views are valid during the call of `add`.
struct record_view {
    const logged_task& task;
    std::uint32_t task_number;            ///< number that the sink returned for the task
    std::span<const std::uint32_t> steps; ///< number that the sink returned for each step, knob or instruction
    const measurement& measured;
    const machine_identity& machine;
    std::string_view flags, version;
    std::int64_t sequence;
    bool foreign; ///< written by TVM; see `record::foreign`
};

/// Receiver of the trials of a log whose schedules have the type S.
///
/// Syntax      `k.task(const logged_task&)` and `k.step(const S&)` (a schedule of one step) return the numbers that trials use for them;
///             `k.add(const record_view&) -> result<void>`
/// Semantics   `task` and `step` are called before the first trial that has the task or step, and can be called again for an equal one: the sink
///             should return equal numbers for equal arguments. They can also be called for a trial that is then found damaged. An error of
///             `add` ends the reading
/// Cost        `task` and `step` are called about once per distinct text, `add` once per record
/// Threads     one thread per sink
template <class K, class S = step_list>
concept trial_sink = requires(K& k, const logged_task& task, const S& step, const record_view& trial) {
    { k.task(task) } -> std::same_as<std::uint32_t>;
    { k.step(step) } -> std::same_as<std::uint32_t>;
    { k.add(trial) } -> std::same_as<result<void>>;
};

} // namespace augur::inline v0

#endif
