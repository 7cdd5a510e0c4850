// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_TLM_COPIES_HPP
#define AUGUR_EXAMPLES_TOOLS_TLM_COPIES_HPP

/// @file
/// How many generated points are only schedules of other kernels, adapted to the kernel.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/generate/generation.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/workload/kernel.hpp>

/// The schedules that `augur::read_demonstrations` makes sentences of: the `best` fastest ones of each kernel and machine in tuning logs.
/// Errors: those of the logs and of the search spaces
[[nodiscard]] inline augur::result<augur::transfer::schedule_pool> read_schedules(std::span<const std::string> logs, std::size_t best) {
    struct tuned_kernel {
        const augur::loopnest::kernel_task* task;
        std::int64_t cores;
        std::vector<std::pair<double, augur::step_list>> trials;
    };
    std::map<std::string, std::optional<augur::loopnest::kernel_task>> tasks; // by workload key; none: of another compiler
    std::map<std::string, tuned_kernel> kernels;                              // by prompt, which has the machine
    for (const auto& path : logs) {
        auto reader = augur::log_reader::open(path);
        if (!reader) return reader.error();
        for (augur::record r;;) {
            const auto more = reader->next(r);
            if (!more) return more.error();
            if (!*more) break;
            const auto [known, first_record] = tasks.try_emplace(r.task.workload_key);
            auto& task = known->second;
            if (first_record)
                if (const auto k = augur::kernel::from_workload_key(r.task.workload_key)) {
                    auto made = augur::loopnest::kernel_task::create(*k, {});
                    if (made) task.emplace(*std::move(made));
                }
            if (!task || !r.measured.ok()) continue;
            const auto cores = std::clamp<std::int64_t>(r.task.hardware[0], 1, 1 << 20); // a log may say anything
            const auto at = kernels.try_emplace(augur::tlm::prompt_text(*task, r.machine), tuned_kernel{&*task, cores, {}}).first;
            at->second.trials.emplace_back(r.measured.latency(), std::move(r.schedule));
        }
    }
    augur::transfer::schedule_pool pool;
    for (const auto& of : kernels) {
        const tuned_kernel& k = of.second;
        augur::loopnest::ansor_options options;
        options.num_cores = k.cores;
        const auto space = augur::loopnest::ansor_space::create(k.task->dag(), options);
        if (!space) return augur::error{space.error().code, k.task->workload().text() + ": " + space.error().detail};
        const auto added = pool.add_fastest(k.task->workload().text(), k.task->class_levels(), "", *space, k.trials, best);
        if (!added) return added.error();
    }
    return pool;
}

/// What `count_copies` has found.
struct copied_points {
    std::size_t adapted = 0; ///< different points that schedules of other kernels become when they are adapted to the kernel
    std::size_t copied = 0;  ///< generated points that equal one of these
};

/// Counts the points that equal a schedule of another kernel of the same class, adapted as for a transfer. The kernel's own schedules do not count,
/// on whatever machine they were measured.
///
/// @param pool  its schedules have an empty text as target, as those of `read_schedules`
/// Cost         a walk through the space for each schedule of the class
[[nodiscard]] inline copied_points count_copies(const augur::transfer::schedule_pool& pool, const augur::loopnest::kernel_task& task,
                                                const augur::loopnest::ansor_space& space, std::span<const augur::tlm::generated_point> points) {
    const auto found = pool.adapt(space, task.class_levels(), "");
    std::set<augur::decision_vector> adapted;
    for (const auto& t : found.points) adapted.insert(t.point);
    copied_points out{adapted.size(), 0};
    for (const auto& p : points) out.copied += adapted.count(p.decisions);
    return out;
}

#endif
