// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transfer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <augur/loopnest/lower/replay.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/workload/class_levels.hpp>

namespace {

/// The fastest schedule that this machine has measured of a kernel.
struct tuned_kernel {
    augur::loopnest::kernel_task task;
    double latency;
    augur::step_list schedule;
};

/// Adds the kernels of a log.   Errors: those of the log and of `kernel_task::create`
augur::result<void> add_log(std::map<std::string, tuned_kernel>& kernels, const std::string& log, const augur::toolchain& made_with) {
    auto reader = augur::log_reader::open(log);
    if (!reader) return reader.error();
    for (augur::record r;;) {
        const auto has_record = reader->next(r);
        if (!has_record) return has_record.error();
        if (!*has_record) return {};
        const auto workload = augur::kernel::from_workload_key(r.task.workload_key);
        if (!workload || !r.measured.ok() || r.machine != made_with.machine || r.flags != made_with.flags) continue;
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
}

/// Adds a measured schedule to the report of a search.
void add_trial(augur::search_report& out, std::size_t kernel, const std::string& label, const augur::step_list& schedule,
               const augur::measurement& m) {
    constexpr std::size_t most = 4; // that are timed again
    out.latencies[kernel].push_back(m.latency());
    out.best_latency[kernel] = (std::min)(out.best_latency[kernel], m.latency());
    const auto status = static_cast<std::size_t>(m.status);
    ++out.counts[status];
    if (out.first_reason[status].empty()) out.first_reason[status] = label + ": " + m.reason;
    if (!m.ok()) return;
    auto& best = out.finalists[kernel];
    best.insert(std::find_if(best.begin(), best.end(), [&](const auto& f) { return m.latency() < f.latency; }), {m.latency(), schedule});
    if (best.size() > most) best.pop_back();
}

} // namespace

augur::result<augur::search_report> replay_search(augur::session& session, std::string name, const augur::session_hooks& hooks) {
    const auto& report = session.report();
    std::map<std::string, tuned_kernel> sources; // by workload key: the order of what is measured
    for (const auto& log : report.options.transfer_from)
        if (auto added = add_log(sources, log, report.made_with); !added) return added.error();
    augur::search_report out(std::move(name), session.tasks().size());
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
        if (hooks.progress) {
            augur::session_progress p;
            p.stage = out.name;
            p.kernel = label;
            p.done = k;
            p.total = session.tasks().size();
            hooks.progress(p);
        }
        const auto measured = session.measure(task, schedules);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            applied[i].latency = measured[i].latency();
            applied[i].status = measured[i].status;
            add_trial(out, k, label, applied[i].schedule, measured[i]);
        }
        out.transfers[k].proposed = std::move(applied);
    }
    out.notes.push_back(out.name + ": " + std::to_string(agree) + " pairs of a class, " + std::to_string(inexact) +
                        " with splits that do not divide; refused:");
    for (const auto& [fault, count] : faults) out.notes.back() += " " + std::to_string(count) + " " + std::string(fault);
    if (faults.empty()) out.notes.back() += " none";
    return out;
}
