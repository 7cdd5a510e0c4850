// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_TRANSFER_POOL_HPP
#define AUGUR_SESSION_DETAIL_TRANSFER_POOL_HPP

/// @file
/// The tuned schedules of a session's logs (`session_options::transfer_from`), and what a kernel takes of them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/record.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/report.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/workload/concepts.hpp>
#include <augur/workload/kernel.hpp>

namespace augur::inline v0::detail {

/// What tells the platforms of a pool's schedules apart.
inline std::string platform_text(const machine_identity& m, const std::string& flags) { return to_text(m) + " " + flags; }

/// Adds the `best` fastest schedules of each kernel of a log, and of each machine if `other_machines`; else records of other machines, compilers or flags are
/// passed over and told in `notes`. Schedules that only TVM's evolution makes are taken, too.   Errors: those of the log
inline result<void> add_log(transfer::schedule_pool& pool, const std::string& log, const toolchain& made_with, loopnest::ansor_options options,
                            std::size_t best, bool other_machines, std::vector<std::string>& notes) {
    struct tuned_kernel {
        const loopnest::kernel_task* task;
        std::string platform;
        std::int64_t cores;
        std::vector<std::pair<double, step_list>> trials;
    };
    auto reader = log_reader::open(log);
    if (!reader) return reader.error();
    std::map<std::string, std::optional<loopnest::kernel_task>, std::less<>> tasks; // by workload key; none: of another compiler
    std::map<std::pair<std::string, std::string>, std::size_t> at;                  // workload key and platform -> index in kernels
    std::vector<tuned_kernel> kernels;                                              // in the order of their first records
    std::size_t unknown = 0, elsewhere = 0, outside = 0;
    for (record r;;) {
        const auto has_record = reader->next(r);
        if (!has_record) return has_record.error();
        if (!*has_record) break;
        const auto [known, first_record] = tasks.try_emplace(r.task.workload_key);
        if (first_record)
            if (const auto k = kernel::from_workload_key(r.task.workload_key)) {
                if (auto made = loopnest::kernel_task::create(*k, {})) known->second.emplace(*std::move(made)); // else unknown
            }
        const bool here = r.machine == made_with.machine && r.flags == made_with.flags;
        if (!known->second) ++unknown;
        else if (!here && !other_machines) ++elsewhere;
        else if (r.measured.ok()) {
            const auto [found, is_new] = at.try_emplace({r.task.workload_key, platform_text(r.machine, r.flags)}, kernels.size());
            const auto cores = std::clamp<std::int64_t>(r.task.hardware[0], 1, 1 << 20); // a log may say anything
            if (is_new) kernels.push_back({&*known->second, found->first.second, cores, {}});
            kernels[found->second].trials.emplace_back(r.measured.latency(), std::move(r.schedule));
        }
    }
    std::size_t with_schedule = 0, added = 0;
    options.evolved = true;
    for (auto& k : kernels) {
        options.num_cores = k.cores;
        auto space = loopnest::ansor_space::create(k.task->dag(), options);
        if (!space) return error{space.error().code, k.task->workload().text() + ": " + space.error().detail};
        const auto in = pool.add_fastest(k.task->workload().text(), task_class_levels(*k.task), k.platform, *space, k.trials, best);
        if (!in) return in.error();
        with_schedule += in->added > 0 ? 1 : 0;
        added += in->added;
        outside += in->outside; // schedules that neither this search nor Ansor's makes
    }
    notes.push_back(log + ": " + std::to_string(added) + " schedules of " + std::to_string(with_schedule) + " kernels may be transferred");
    const auto say = [&](std::size_t n, const char* what) {
        if (n > 0) notes.push_back(log + ": " + std::to_string(n) + " " + what);
    };
    say(outside, "fast schedules are no points of the search space and are passed over");
    say(elsewhere, "records are of other machines, compilers or flags and are passed over");
    say(unknown, "records of unknown kernels are passed over");
    say(reader->summary().bad, "damaged lines are passed over");
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
