// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_PREPARE_HPP
#define AUGUR_SESSION_DETAIL_PREPARE_HPP

/// @file
/// Members of `session` that do not search: creation, log, baselines, limits, the second measurement of the best.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/loopnest/run/roofline.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/session/detail/models.hpp>
#include <augur/session/session.hpp>

namespace augur::inline v0 {

namespace detail {

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

} // namespace detail

template <bulk_executor E>
basic_session<E>::basic_session(session_options options) {
    report_.options = std::move(options);
}
template <bulk_executor E>
basic_session<E>::basic_session(basic_session&&) noexcept = default;
template <bulk_executor E>
basic_session<E>::~basic_session() = default;

template <bulk_executor E>
result<basic_session<E>> basic_session<E>::create(session_options options) {
    basic_session out(std::move(options));
    if (auto ready = out.prepare(); !ready) return ready.error();
    return out;
}

template <bulk_executor E>
result<void> basic_session<E>::prepare() {
    session_options& o = report_.options;
    if (o.work.kernels.empty()) return error{errc::invalid_argument, "session: expected at least one kernel, none came"};
    if (o.collect && o.log.empty()) return error{errc::invalid_argument, "session: collecting records expects a log, none came"};
    auto host = detect_machine(o.compiler.isa);
    if (!host) return host.error();
    report_.host = *std::move(host);
    report_.threads = o.threads > 0 ? o.threads : report_.host.processors;
    const auto hardware = report_.host.hardware(report_.threads);
    loopnest::ansor_options space;
    space.num_cores = hardware.num_cores;
    for (const auto& k : o.work.kernels) {
        auto t = loopnest::kernel_task::create(k.workload, hardware, k.uses, o.compiler.isa);
        if (!t) return error{t.error().code, k.workload.text() + ": " + t.error().detail};
        auto p = loopnest::ansor_space::create(t->dag(), space);
        if (!p) return error{p.error().code, k.workload.text() + ": " + p.error().detail};
        report_.kernels.push_back(
            {kernel_label(k.workload), static_cast<double>(k.uses), t->flops(), t->flops() / k.workload.dilation_of_image(), t->bytes()});
        tasks_.push_back(*std::move(t));
        spaces_.push_back(*std::move(p));
    }
    if (o.search.model == "auto") { // every log serves everything that learns from it
        if (!o.known.empty() && std::find(o.transfer_from.begin(), o.transfer_from.end(), o.known) == o.transfer_from.end())
            o.transfer_from.push_back(o.known);
    }
    auto models = detail::session_models_state::create(o);
    if (!models) return models.error();
    models_ = std::make_unique<detail::session_models_state>(*std::move(models));
    if (auto fits = models_->check_loops(tasks_, spaces_, report_.threads); !fits) return fits;

    loopnest::runner_options run;
    run.compiler = o.compiler;
    run.threads = report_.threads;
    auto programs = loopnest::program_runner::create(run);
    if (!programs) return programs.error();
    const auto& used = programs->used_compiler();
    report_.made_with.machine = identify(report_.host, used.isa, report_.threads, used.identity);
    for (auto& t : tasks_) t = t.on(report_.made_with.machine);
    for (const auto& f : used.flags) report_.made_with.flags += (report_.made_with.flags.empty() ? "" : " ") + f;
    runner_ = std::make_unique<loopnest::task_runner>(*std::move(programs), loopnest::c_options::of(report_.host));
    if (auto read = models_->load_pool(o, hardware, report_.made_with, space); !read) return read;
    if (auto read = models_->load_known(o, tasks_, hardware, report_.made_with, report_.host, report_.threads); !read) return read;
    if (o.search.model == "auto") {
        auto chosen = choose_search(o.search, models_->knowledge());
        o.search = std::move(chosen.search);
        if (auto fits = detail::session_models_state::check_strategy(o.search); !fits) return fits;
        models_->notes.push_back(std::move(chosen.why));
    }
    return o.log.empty() ? result<void>{} : open_log(o.log, o.resume); // last: what is refused leaves no log behind
}

template <bulk_executor E>
result<void> basic_session<E>::open_log(const std::string& path, bool resume) {
    log_.reset(); // a log that is open cannot be opened again
    auto log = open_tuning_log(path, tasks_, report_.made_with);
    if (!log) return log.error();
    if (const auto records = log->writer.found().records; records > 0 && !resume)
        return error{errc::invalid_argument,
                     path + " holds " + std::to_string(records) + " records: expected `resume`, to continue with them, or another file"};
    log_.emplace(*std::move(log));
    report_.options.log = path;
    report_.options.resume = resume;
    take_over();
    return {};
}

/// Finds the kernels of the log that another machine has finished.
template <bulk_executor E>
void basic_session<E>::take_over() {
    elsewhere_.assign(tasks_.size(), {});
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        report_.kernels[i].elsewhere.reset();
        const auto of_kernel = [id = task_identity(tasks_[i])](const logged_trial<step_list>& t) { return t.task == id; };
        const auto& own = log_->found.trials;
        if (!report_.options.take_over || std::any_of(own.begin(), own.end(), of_kernel)) continue;
        const auto untuned = hash_schedule(loopnest::untuned_schedule(*tasks_[i].dag(), report_.threads));
        for (auto& [machine, trials] : log_->found.other_machines) {
            std::vector<logged_trial<step_list>> found, others;
            for (auto& t : trials) (of_kernel(t) ? found : others).push_back(t);
            const bool has_untuned = !report_.options.collect && std::any_of(found.begin(), found.end(), [&](const auto& t) {
                return hash_schedule(t.schedule) == untuned; // the baseline is no trial
            });
            if (found.size() < report_.options.search.trials + (has_untuned ? 1 : 0)) continue;
            elsewhere_[i] = std::move(found);
            trials = std::move(others); // what is left is passed over
            report_.kernels[i].elsewhere = machine;
            break;
        }
    }
}

template <bulk_executor E>
result<void> basic_session<E>::measure_baselines(const session_hooks& hooks) {
    if (std::exchange(baselines_measured_, true)) return {};
    if (report_.options.limits) {
        auto limits = loopnest::measure_roofline(runner_->programs(), report_.host);
        if (limits) report_.roofline = *limits;
        else report_.roofline_error = limits.error().detail;
    }
    for (std::size_t i = 0; i < tasks_.size() && !detail::stops(hooks); ++i) {
        kernel_report& k = report_.kernels[i];
        if (k.elsewhere) {
            const auto untuned = detail::take_record(elsewhere_[i], tasks_[i], loopnest::untuned_schedule(*tasks_[i].dag(), report_.threads));
            if (untuned && untuned->ok()) k.untuned = untuned->latency();
            continue;
        }
        detail::tell(hooks, "baselines", k.label, i, tasks_.size());
        if (auto ready = runner_->prepare(tasks_[i]); !ready) return error{ready.error().code, k.label + ": " + ready.error().detail};
        k.naive = runner_->naive_seconds(tasks_[i]);
        const auto schedule = loopnest::untuned_schedule(*tasks_[i].dag(), report_.threads);
        std::optional<measurement> untuned;
        if (log_ && !report_.options.collect) untuned = detail::take_record(log_->found.trials, tasks_[i], schedule);
        if (!untuned) {
            untuned = runner_->measure(tasks_[i], std::span(&schedule, 1)).front();
            if (log_ && !report_.options.collect)
                if (auto written = log_sink(log_->writer, report_.made_with)(tasks_[i], schedule, *untuned); !written) return written;
        }
        if (untuned->ok()) k.untuned = untuned->latency();
        find_limit(i);
    }
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
result<search_report> basic_session<E>::recorded(const std::string& name, const std::string& log) const {
    auto read = read_trials(log, tasks_, report_.made_with);
    if (!read) return read.error();
    search_report out(name, tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        const auto id = task_identity(tasks_[i]);
        for (const auto& t : read->trials)
            if (t.task == id) detail::collect_trial(out, report_.kernels[i].label, i, t.schedule, t.outcome);
    }
    choose_result(out);
    return out;
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
        std::vector<step_list> best{loopnest::untuned_schedule(*tasks_[i].dag(), report_.threads)};
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
    }
    (void)static_cast<bool>(runner_->programs().set_timing(usual));
    for (auto& s : searches) choose_result(s);
}

template <bulk_executor E>
result<void> basic_session<E>::weigh(std::span<const double> weights) {
    if (weights.size() != tasks_.size())
        return error{errc::invalid_argument,
                     "weights: expected " + std::to_string(tasks_.size()) + ", one for each kernel, got " + std::to_string(weights.size())};
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (!(weights[i] > 0) || !std::isfinite(weights[i]))
            return error{errc::invalid_argument,
                         "weights: expected a positive number for " + report_.kernels[i].label + ", got " + std::to_string(weights[i])};
    for (std::size_t i = 0; i < weights.size(); ++i) tasks_[i] = tasks_[i].weighing(weights[i]);
    return {};
}

/// The untuned schedule is the result where the search found nothing better.
template <bulk_executor E>
void basic_session<E>::choose_result(search_report& s) const {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (!(s.checked_latency[i] > 0) && !s.finalists[i].empty()) s.result[i] = s.finalists[i].front();
        const double untuned = report_.kernels[i].untuned;
        if (untuned > 0 && untuned < s.result[i].latency) s.result[i] = {untuned, loopnest::untuned_schedule(*tasks_[i].dag(), report_.threads)};
    }
}

template <bulk_executor E>
result<session_report> basic_session<E>::tune(const session_hooks& hooks) {
    const session_options& o = report_.options;
    if (!o.collect)
        if (auto measured = measure_baselines(hooks); !measured) return measured.error();
    std::vector<search_report> searches;
    if (o.compare_random && !o.collect && !detail::stops(hooks)) {
        session_search random = o.search;
        random.model = "none";
        random.draft.clear();
        random.language.clear();
        random.strategy.clear();
        random.descend_after = 0;
        searches.push_back(search("random", random, false, hooks));
    }
    const auto name = detail::search_name(o.search, models_->weights_model());
    searches.push_back(search(o.collect ? "collect" : name, o.search, log_.has_value(), hooks));
    if (!o.collect && !searches.back().failed) measure_best(searches, hooks);
    report_.searches = std::move(searches);
    return report_;
}

template <bulk_executor E>
std::vector<measurement> basic_session<E>::measure(const loopnest::kernel_task& t, std::span<const step_list> candidates) {
    return runner_->measure(t, candidates);
}

template <bulk_executor E>
bool basic_session<E>::trains_tlp() const {
    const auto& model = report_.options.search.model;
    return model == "tlp" || (!detail::is_model_name(model) && models_->weights_model() == "tlp");
}

template <bulk_executor E>
result<void> basic_session<E>::save_model(const std::string& path) const {
    return models_->save(path);
}

} // namespace augur::inline v0

#endif
