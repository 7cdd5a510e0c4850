// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_TRIALS_HPP
#define AUGUR_SESSION_DETAIL_TRIALS_HPP

/// @file
/// What the members of a session share: progress, and trials on their way from a log to a report.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/ir/task.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/options.hpp>
#include <augur/session/report.hpp>
#include <augur/tune/resume.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0::detail {

inline bool stops(const session_hooks& hooks) { return hooks.stop && hooks.stop(); }

inline void tell(const session_hooks& hooks, const std::string& stage, const std::string& kernel, std::size_t done, std::size_t total) {
    if (!hooks.progress) return;
    session_progress p;
    p.stage = stage;
    p.kernel = kernel;
    p.done = done;
    p.total = total;
    hooks.progress(p);
}

/// Removes the first record of a schedule of a task, and returns its measurement; none if there is no such record.
inline std::optional<measurement> take_record(std::vector<logged_trial<step_list>>& trials, const loopnest::kernel_task& t,
                                              const step_list& schedule) {
    const auto id = task_identity(t);
    const auto hash = hash_schedule(schedule);
    const auto at = std::find_if(trials.begin(), trials.end(), [&](const auto& x) { return x.task == id && hash_schedule(x.schedule) == hash; });
    if (at == trials.end()) return std::nullopt;
    auto out = std::move(at->outcome);
    trials.erase(at);
    return out;
}

/// Adds a trial of a kernel to a report.
inline void collect_trial(search_report& out, const std::string& label, std::size_t task, const step_list& schedule, const measurement& m) {
    constexpr std::size_t finalists = 4;
    const double latency = m.latency();
    const auto status = static_cast<std::size_t>(m.status);
    out.latencies[task].push_back(latency);
    ++out.counts[status];
    if (out.first_reason[status].empty()) out.first_reason[status] = label + ": " + m.reason;
    out.best_latency[task] = (std::min)(out.best_latency[task], latency);
    if (!std::isfinite(latency)) return;
    auto& best = out.finalists[task];
    best.insert(std::find_if(best.begin(), best.end(), [&](const scheduled_latency& f) { return latency < f.latency; }), {latency, schedule});
    if (best.size() > finalists) best.pop_back();
}

} // namespace augur::inline v0::detail

#endif
