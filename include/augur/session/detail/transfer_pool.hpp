// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_TRANSFER_POOL_HPP
#define AUGUR_SESSION_DETAIL_TRANSFER_POOL_HPP

/// @file
/// The tuned schedules of a session's logs (`session_options::transfer_from`), and what a kernel takes of them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/detail/tasks_in_log.hpp>
#include <augur/session/report.hpp>
#include <augur/target/isa_level.hpp>
#include <augur/target/machine.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0::detail {

/// Adds the `best` fastest schedules of each kernel of a log. Records of other machines, compilers or flags are passed over and told in `notes`.
/// Schedules that only TVM's evolution makes are taken, too.   Errors: those of the log
inline result<void> add_log(transfer::schedule_pool& pool, const std::string& log, const hardware_params& hardware, const toolchain& made_with,
                            loopnest::ansor_options options, isa_level level, std::size_t best, std::vector<std::string>& notes) {
    const auto tasks = tasks_in_log(log, hardware, level);
    if (!tasks) return tasks.error();
    auto read = read_trials(log, *tasks, made_with);
    if (!read) return read.error();
    std::map<std::string, std::vector<const logged_trial<step_list>*>> of_kernel;
    for (const auto& t : read->trials)
        if (t.outcome.status == outcome::ok) of_kernel[t.task].push_back(&t);
    std::size_t kernels = 0, added = 0, outside = 0;
    options.evolved = true;
    for (const auto& t : *tasks) {
        const auto found = of_kernel.find(task_identity(t));
        if (found == of_kernel.end()) continue;
        auto space = loopnest::ansor_space::create(t.dag(), options);
        if (!space) return error{space.error().code, t.workload().text() + ": " + space.error().detail};
        auto& trials = found->second;
        std::sort(trials.begin(), trials.end(), [](const auto* a, const auto* b) { // of equal ones the first of the log: all are in one vector
            const double x = a->outcome.latency(), y = b->outcome.latency();
            return x != y ? x < y : std::less<>()(a, b);
        });
        std::vector<decision_vector> points;
        for (const auto* trial : trials) {
            if (points.size() == best) break;
            auto point = space->decide(trial->schedule);
            if (!point) { // a schedule that neither this search nor Ansor's makes
                ++outside;
                continue;
            }
            if (std::find(points.begin(), points.end(), *point) != points.end()) continue;
            if (auto in = pool.add(t.workload().text(), task_class_levels(t), to_text(made_with.machine), *space, *point, trial->outcome.latency());
                !in)
                return in;
            points.push_back(*std::move(point));
        }
        kernels += points.empty() ? 0 : 1;
        added += points.size();
    }
    notes.push_back(log + ": " + std::to_string(added) + " schedules of " + std::to_string(kernels) + " kernels may be transferred");
    const auto say = [&](std::size_t n, const char* what) {
        if (n > 0) notes.push_back(log + ": " + std::to_string(n) + " " + what);
    };
    std::size_t other_machine = 0;
    for (const auto& m : read->other_machines) other_machine += m.trials.size();
    say(outside, "fast schedules are no points of the search space and are passed over");
    say(other_machine, "records are of other machines and are passed over");
    say(read->other_task + read->other_target + read->other_toolchain, "records of unknown kernels, other targets or compilers are passed over");
    say(read->log.bad, "damaged lines are passed over");
    return {};
}

/// What the kernels of a search take from the pool, in a sentence.
inline std::string transfer_account(const std::vector<kernel_transfers>& kernels) {
    std::size_t with_class = 0, points = 0, exact = 0, fitting = 0;
    std::array<std::size_t, transfer::refusal_names.size()> refused{};
    for (const auto& k : kernels) {
        with_class += k.proposed.empty() ? 0 : 1;
        points += k.proposed.size();
        fitting += k.adapted;
        for (const auto& p : k.proposed) exact += p.changed + p.unnamed == 0 ? 1 : 0;
        for (std::size_t r = 0; r < refused.size(); ++r) refused[r] += k.refused[r];
    }
    std::string out = "transfer: " + std::to_string(with_class) + " of " + std::to_string(kernels.size()) + " kernels begin with " +
                      std::to_string(points) + " schedules of others, " + std::to_string(exact) + " of them unchanged; " + std::to_string(fitting) +
                      " fit; refused:";
    for (std::size_t r = 0; r < refused.size(); ++r)
        out.append(r == 0 ? " " : ", ").append(std::to_string(refused[r])).append(" ").append(transfer::refusal_names[r]);
    return out;
}

} // namespace augur::inline v0::detail

#endif
