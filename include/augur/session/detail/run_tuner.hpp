// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_RUN_TUNER_HPP
#define AUGUR_SESSION_DETAIL_RUN_TUNER_HPP

/// @file
/// Runs a tuner on the log and the callbacks of a session.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/detail/trials.hpp>
#include <augur/session/options.hpp>
#include <augur/session/report.hpp>
#include <augur/session/session.hpp>
#include <augur/tune/hooks.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/tune/tuning_log.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

namespace detail {

/// The transferred schedule that a schedule is; null: none.
template <class Transfers>
auto* proposed_as(Transfers& transfers, const step_list& s) {
    const auto at = std::find_if(transfers.proposed.begin(), transfers.proposed.end(), [&](const auto& p) { return p.schedule == s; });
    return at == transfers.proposed.end() ? nullptr : &*at;
}

} // namespace detail

template <bulk_executor E>
template <class Tuner>
void basic_session<E>::run(Tuner& tuner, std::span<const std::size_t> kernels, search_report& out, bool logged, const session_hooks& hooks) {
    if (logged) {
        const bool had_records = !log_->found.trials.empty();
        const auto taken = tuner.resume(std::exchange(log_->found.trials, {}));
        if (report_.options.resume) {
            if (!had_records) out.notes.push_back(log_->path + ": nothing to resume, starting anew");
            const auto say = [&](std::size_t n, const char* text) {
                if (n > 0) out.notes.push_back(log_->path + ": " + std::to_string(n) + " " + text);
            };
            say(taken.taken, "records are taken over and not measured again");
            say(taken.duplicates, "records repeat a schedule and are passed over");
        }
    }
    if (hooks.note)
        for (const auto& text : out.notes) hooks.note(text);
    tuning_hooks<step_list, loopnest::kernel_task> tuning;
    if (logged)
        tuning.sink = [&](const loopnest::kernel_task& t, const step_list& s, const measurement& m) {
            log_sink sink(log_->writer, report_.made_with);
            const auto k = static_cast<std::size_t>(
                std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& x) { return task_identity(x) == task_identity(t); }) - tasks_.begin());
            const auto* from = k < out.transfers.size() ? detail::proposed_as(out.transfers[k], s) : nullptr;
            return sink.write(t, s, m, from == nullptr ? std::string() : from->text());
        };
    tuning.stop = hooks.stop;
    if (hooks.progress)
        tuning.progress = [&](const tuning_progress& p) {
            session_progress s;
            s.stage = out.name;
            s.kernel = report_.kernels[kernels[p.task]].label;
            s.done = p.trials;
            s.total = p.trials_total;
            s.searching = true;
            s.best_latency = p.best_latency;
            s.expected_latency = p.expected_latency;
            s.failed = p.trials - p.counts[static_cast<std::size_t>(outcome::ok)];
            s.seconds_left = p.seconds_left;
            hooks.progress(s);
        };
    auto summary = tuner.run(*runner_, tuning);
    if (summary) out.summary = *std::move(summary);
    else out.failed = summary.error();
    if (logged) // every record is in the file already; this is for a machine that crashes
        if (auto synced = log_->writer.flush(); !synced) out.notes.push_back(synced.error().detail);
    for (const auto& t : tuner.trials()) {
        const auto k = kernels[t.task];
        detail::collect_trial(out, report_.kernels[k].label, k, t.schedule, t.outcome);
        if (k >= out.transfers.size()) continue;
        if (auto* from = detail::proposed_as(out.transfers[k], t.schedule)) {
            from->latency = t.outcome.latency();
            from->status = t.outcome.status;
        }
    }
}

} // namespace augur::inline v0

#endif
