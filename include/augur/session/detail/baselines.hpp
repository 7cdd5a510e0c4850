// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_BASELINES_HPP
#define AUGUR_SESSION_DETAIL_BASELINES_HPP

/// @file
/// Members of `session` that measure beside the search: baselines, limits, and the second measurement of the best schedules.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/run/roofline.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/detail/trials.hpp>
#include <augur/session/report.hpp>
#include <augur/session/session.hpp>
#include <augur/tune/tuning_log.hpp>

namespace augur::inline v0 {

template <bulk_executor E>
result<void> basic_session<E>::measure_baselines(const session_hooks& hooks) {
    if (baselines_measured_) return {};
    if (report_.options.limits && !(report_.roofline.flops_all > 0)) {
        auto limits = loopnest::measure_roofline(runner_->programs(), report_.host);
        if (limits) report_.roofline = *limits;
        else report_.roofline_error = limits.error().detail;
    }
    for (std::size_t i = 0; i < tasks_.size() && !detail::stops(hooks); ++i) {
        kernel_report& k = report_.kernels[i];
        if (k.naive > 0) continue; // by a call that failed or was stopped later
        if (k.elsewhere) {
            const auto untuned = detail::take_record(elsewhere_[i], tasks_[i], untuned_on(i, *k.elsewhere));
            if (untuned && untuned->ok()) k.untuned = untuned->latency();
            continue;
        }
        detail::tell(hooks, "baselines", k.label, i, tasks_.size());
        if (auto ready = runner_->prepare(tasks_[i]); !ready) return error{ready.error().code, k.label + ": " + ready.error().detail};
        const auto schedule = untuned_schedule(i);
        std::optional<measurement> untuned;
        if (log_ && !report_.options.collect) untuned = detail::take_record(log_->found.trials, tasks_[i], schedule);
        if (!untuned) {
            untuned = runner_->measure(tasks_[i], std::span(&schedule, 1)).front();
            if (log_ && !report_.options.collect)
                if (auto written = log_sink(log_->writer, report_.made_with)(tasks_[i], schedule, *untuned); !written) return written;
        }
        k.naive = runner_->naive_seconds(tasks_[i]);
        if (untuned->ok()) k.untuned = untuned->latency();
        find_limit(i);
    }
    baselines_measured_ = !detail::stops(hooks);
    return {};
}

/// The resource that takes longest: operations at the peak, bytes at the read bandwidth of a working set of that size, or evaluations of an elementary
/// function. None where one cannot be measured.
template <bulk_executor E>
void basic_session<E>::find_limit(std::size_t i) {
    kernel_report& k = report_.kernels[i];
    if (!(report_.roofline.flops_all > 0)) return;
    double longest = k.needed_flops / report_.roofline.flops_all;
    const auto failed = [&](const error& e) {
        if (report_.roofline_error.empty()) report_.roofline_error = k.label + ": " + e.detail;
    };
    if (k.bytes / report_.roofline.read_all > longest) {
        const auto read = loopnest::measure_read_bandwidth(runner_->programs(), report_.host, static_cast<std::int64_t>(k.bytes));
        if (!read) return failed(read.error());
        if (const double streamed = k.bytes / (*read)[1]; streamed > longest) {
            longest = streamed;
            k.bound = roofline_bound::read_bandwidth;
        }
    }
    using loopnest::expr_op;
    for (const auto function : {expr_op::exp, expr_op::tanh, expr_op::erf, expr_op::sqrt, expr_op::div}) {
        const double evaluations = tasks_[i].dag()->evaluations(function);
        if (evaluations * 64 < k.flops) continue; // no function costs as much as 64 operations
        auto& throughput = functions_[function];
        if (!(throughput > 0)) {
            const auto measured = loopnest::measure_function_throughput(runner_->programs(), report_.host, function);
            if (!measured) return failed(measured.error());
            throughput = *measured;
        }
        if (evaluations / throughput <= longest) continue;
        longest = evaluations / throughput;
        k.bound = roofline_bound::function;
        k.function = function;
    }
    k.limit = longest;
}

template <bulk_executor E>
void basic_session<E>::measure_best(std::span<search_report> searches, const session_hooks& hooks) {
    const auto usual = runner_->programs().options().timing;
    auto longer = usual;
    longer.repeats = 31;
    longer.enough_seconds = 3;
    (void)static_cast<bool>(runner_->programs().set_timing(longer));
    for (std::size_t i = 0; i < tasks_.size() && !detail::stops(hooks); ++i) {
        if (report_.kernels[i].elsewhere) continue;
        detail::tell(hooks, "checking the best", report_.kernels[i].label, i, tasks_.size());
        std::vector<step_list> best{untuned_schedule(i)};
        std::vector<std::size_t> search_of{searches.size()};
        for (std::size_t s = 0; s < searches.size(); ++s)
            for (const auto& finalist : searches[s].finalists[i]) {
                best.push_back(finalist.schedule);
                search_of.push_back(s);
            }
        const auto again = runner_->measure(tasks_[i], best);
        if (again[0].ok()) report_.kernels[i].untuned = again[0].latency();
        for (std::size_t c = 1; c < again.size(); ++c) {
            search_report& s = searches[search_of[c]];
            if (!again[c].ok() || (s.checked_latency[i] > 0 && s.checked_latency[i] <= again[c].latency())) continue;
            s.checked_latency[i] = again[c].latency();
            s.result[i] = {again[c].latency(), best[c]};
        }
        for (std::size_t c = 1; c < again.size(); ++c) { // what fails now is no result, whatever it was in the search
            search_report& s = searches[search_of[c]];
            if (again[c].ok() || again[c].status == outcome::runner_error) continue; // the latter says nothing of the schedule
            std::erase_if(s.finalists[i], [&](const auto& f) { return hash_schedule(f.schedule) == hash_schedule(best[c]); });
            s.notes.push_back(report_.kernels[i].label + ": one of the fastest schedules failed when it was timed again: " +
                              std::string(to_string(again[c].status)) + ": " + again[c].reason);
        }
    }
    (void)static_cast<bool>(runner_->programs().set_timing(usual));
    for (auto& s : searches) choose_result(s);
}

/// The untuned schedule is the result where the search found nothing better.
template <bulk_executor E>
void basic_session<E>::choose_result(search_report& s) const {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (!(s.checked_latency[i] > 0))
            s.result[i] = s.finalists[i].empty() ? scheduled_latency{std::numeric_limits<double>::infinity(), {}} : s.finalists[i].front();
        const double untuned = report_.kernels[i].untuned;
        if (untuned > 0 && untuned < s.result[i].latency) s.result[i] = {untuned, untuned_schedule(i)};
    }
}

template <bulk_executor E>
std::vector<measurement> basic_session<E>::measure(const loopnest::kernel_task& t, std::span<const step_list> candidates) {
    return runner_->measure(t, candidates);
}

} // namespace augur::inline v0

#endif
