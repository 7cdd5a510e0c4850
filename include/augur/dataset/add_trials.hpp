// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_ADD_TRIALS_HPP
#define AUGUR_DATASET_ADD_TRIALS_HPP

/// @file
/// Adds the trials of a log of any schedule type to a data set.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/record/ansor_line.hpp>
#include <augur/record/logged_schedule.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

namespace detail {

/// Number of a task in the data set, with the key, target and hardware that it has in a log.
template <task Task>
[[nodiscard]] result<std::uint32_t> dataset_task_of(dataset_builder& to, const Task& t) {
    if constexpr (requires {
                      { t.logged() } -> std::same_as<logged_task>;
                  }) {
        const logged_task form = t.logged();
        return to.task(form.workload_key, form.target, form.hardware);
    } else return to.task(task_key(t), task_target(t), {});
}

} // namespace detail

/// Adds the trials of a log to a data set, each to the data set's task of the key, target and hardware that its task has in the log. Returns the
/// number of trials that were added; those of none of `tasks` are passed over. The primitives are those of `schedule_traits::visit`.
///
/// `read_trials<S>` (tune/trial_log.hpp) reads a log of your schedules. The readers of component io do not: they give the form in which a log stores
/// these schedules, which has other primitives.
///
/// @param tasks    a vector, an array or a span of them
/// @param trials   `logged_trial` (tune/resume.hpp), or a type with these members
/// @param machine  where they were measured; unknown by default. One kernel on two machines is two tasks of the data set
/// Errors          those of `dataset_builder::add` and `task`
template <class Tasks, measured_trial Trial>
    requires task<range_task_t<Tasks>>
[[nodiscard]] result<std::size_t> add_trials(dataset_builder& to, std::uint32_t source, const Tasks& tasks, const std::vector<Trial>& trials,
                                             const machine_identity& machine = {}) {
    std::unordered_map<std::string, std::size_t> known; // task_identity -> index in tasks
    std::size_t count = 0;
    for (const auto& t : tasks) known.emplace(task_identity(t), count++);
    std::vector<std::optional<std::uint32_t>> numbers(count);
    std::size_t added = 0;
    for (const Trial& trial : trials) {
        const auto at = known.find(std::string(trial.task));
        if (at == known.end()) continue;
        auto& number = numbers[at->second];
        if (!number) {
            auto made = detail::dataset_task_of(to, tasks[at->second]);
            if (made && machine != machine_identity{}) made = to.on(*made, machine);
            if (!made) return made.error();
            number = *made;
        }
        if (auto done = to.add(*number, source, trial.schedule, trial.outcome); !done) return done.error();
        ++added;
    }
    return added;
}

} // namespace augur::inline v0

#endif
