// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transfer.hpp"

#include <map>
#include <utility>

#include <augur/loopnest/lower/replay.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/session/detail/trials.hpp>
#include <augur/workload/class_levels.hpp>

#include "crop_picks.hpp"

namespace {

/// The fastest schedule that this machine has measured of a kernel.
struct tuned_kernel {
    augur::loopnest::kernel_task task;
    double latency;
    augur::step_list schedule;
};

/// Adds the kernels of a log, and tells in `notes` what is passed over.   Errors: those of the log and of `kernel_task::create`
augur::result<void> add_log(std::map<std::string, tuned_kernel>& kernels, const std::string& log, const augur::toolchain& made_with,
                            std::vector<std::string>& notes) {
    auto reader = augur::log_reader::open(log);
    if (!reader) return reader.error();
    std::size_t elsewhere = 0;
    for (augur::record r;;) {
        const auto has_record = reader->next(r);
        if (!has_record) return has_record.error();
        if (!*has_record) break;
        const auto workload = augur::kernel::from_workload_key(r.task.workload_key);
        const bool here = workload && r.machine == made_with.machine && r.flags == made_with.flags;
        elsewhere += here ? 0 : 1;
        if (!here || !r.measured.ok()) continue;
        const auto at = kernels.find(r.task.workload_key);
        if (at == kernels.end()) {
            auto task = augur::loopnest::kernel_task::create(*workload, {});
            if (!task) return task.error();
            kernels.emplace(r.task.workload_key, tuned_kernel{*std::move(task), r.measured.latency(), std::move(r.schedule)});
        } else if (r.measured.latency() < at->second.latency) {
            at->second.latency = r.measured.latency();
            at->second.schedule = std::move(r.schedule);
        }
    }
    if (elsewhere > 0)
        notes.push_back(log + ": " + std::to_string(elsewhere) + " records are of other kernels, machines, compilers or flags and are passed over");
    if (const auto bad = reader->summary().bad; bad > 0) notes.push_back(log + ": " + std::to_string(bad) + " damaged lines are passed over");
    return {};
}

} // namespace

augur::result<augur::search_report> replay_search(augur::session& session, std::string name, const augur::session_hooks& hooks) {
    const auto& report = session.report();
    std::map<std::string, tuned_kernel> sources; // by workload key: the order of what is measured
    augur::search_report out(std::move(name), session.tasks().size());
    for (const auto& log : report.options.transfer_from)
        if (auto added = add_log(sources, log, report.made_with, out.notes); !added) return added.error();
    out.transfers.resize(session.tasks().size());
    std::map<std::string_view, std::size_t> faults;
    std::size_t inexact = 0, agree = 0;
    for (std::size_t k = 0; k < session.tasks().size() && !(hooks.stop && hooks.stop()); ++k) {
        const auto& task = session.tasks()[k];
        const std::string& label = report.kernels[k].label;
        std::vector<augur::transferred_schedule> applied;
        for (const auto& [key, source] : sources) {
            const augur::class_agreement agreement(source.task.class_levels(), task.class_levels());
            if (!agreement.at(report.options.transfer_level) || agreement.at(augur::class_level::workload)) continue;
            ++agree;
            auto replayed = augur::loopnest::replay(task.dag(), source.schedule);
            if (replayed.fault) {
                ++faults[to_string(*replayed.fault)];
                continue;
            }
            inexact += replayed.inexact ? 1 : 0;
            applied.push_back({source.task.workload().text(), *agreement.finest(), 0, 0, 0, 0, {}, std::move(replayed.steps)});
        }
        out.transfers[k].adapted = applied.size();
        std::vector<augur::step_list> schedules;
        for (const auto& a : applied) schedules.push_back(a.schedule);
        augur::detail::tell(hooks, out.name, label, k, session.tasks().size());
        const auto measured = session.measure(task, schedules);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            applied[i].latency = measured[i].latency();
            applied[i].status = measured[i].status;
            augur::detail::collect_trial(out, label, k, applied[i].schedule, measured[i]);
        }
        out.transfers[k].proposed = std::move(applied);
    }
    out.notes.push_back(out.name + ": " + std::to_string(agree) + " pairs of a class, " + std::to_string(inexact) +
                        " with splits that do not divide; refused:");
    for (const auto& [fault, count] : faults) out.notes.back() += " " + std::to_string(count) + " " + std::string(fault);
    if (faults.empty()) out.notes.back() += " none";
    return out;
}

augur::result<augur::search_report> pick_search(augur::session& session, std::string name, std::size_t count, const augur::session_hooks& hooks) {
    const auto& report = session.report();
    augur::search_report out(std::move(name), session.tasks().size());
    for (std::size_t k = 0; k < session.tasks().size() && !(hooks.stop && hooks.stop()); ++k) {
        const auto chosen = examples::crop_picks(session, k, count, report.options.search.seed);
        if (!chosen) return chosen.error();
        augur::detail::tell(hooks, out.name, report.kernels[k].label, k, session.tasks().size());
        const auto measured = session.measure(session.tasks()[k], *chosen);
        for (std::size_t i = 0; i < measured.size(); ++i) augur::detail::collect_trial(out, report.kernels[k].label, k, (*chosen)[i], measured[i]);
    }
    return out;
}
