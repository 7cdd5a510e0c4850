// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_TUNING_PROBLEM_HPP
#define AUGUR_TUNE_DETAIL_TUNING_PROBLEM_HPP

/// @file
/// The arguments of a tuner by reference: tasks, spaces, strategies, model and executor; and its tasks as the task scheduler sees them.

#include <span>
#include <vector>

#include <augur/search/task_scheduler.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0::detail {

template <class Task, class Space, class Strategy, class Model, class E>
struct tuning_problem {
    std::span<const Task> tasks;
    std::span<const Space> spaces;  ///< one per task
    std::span<Strategy> strategies; ///< one per task
    Model* model;                   ///< null: `no_model`
    E* executor;                    ///< null: the calling thread
};

template <class Task>
[[nodiscard]] std::vector<scheduled_task> scheduled_tasks(std::span<const Task> tasks) {
    std::vector<scheduled_task> out;
    for (const Task& t : tasks) {
        const double flops = task_flops(t);
        out.push_back({task_weight(t), flops, similarity_group(task_kernel_class(t), flops)});
    }
    return out;
}

} // namespace augur::inline v0::detail

#endif
