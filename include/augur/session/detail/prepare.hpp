// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_PREPARE_HPP
#define AUGUR_SESSION_DETAIL_PREPARE_HPP

/// @file
/// Members of `session` that neither search nor measure: creation, the log, the order of a whole run.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/session/auto_search.hpp>
#include <augur/session/detail/models.hpp>
#include <augur/session/detail/search_checks.hpp>
#include <augur/session/detail/trials.hpp>
#include <augur/session/session.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tune/trial_log.hpp>
#include <augur/tune/tuner.hpp>
#include <augur/tune/tuning_log.hpp>

namespace augur::inline v0 {

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
    if (auto fits = check_tasks(std::span<const loopnest::kernel_task>(tasks_)); !fits) return fits;
    auto models = detail::session_models_state::create(o);
    if (!models) return models.error();
    models_ = std::make_unique<detail::session_models_state>(*std::move(models));
    if (auto fits = models_->weights.check_loops(tasks_, spaces_, report_.threads, models_->records.notes); !fits) return fits;

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
    if (auto read = models_->records.load_pool(o, report_.made_with, space); !read) return read;
    if (auto read = models_->records.load_known(o, tasks_, hardware, report_.made_with, report_.host, report_.threads); !read) return read;
    if (o.search.model == "auto") {
        auto chosen = choose_search(o.search, models_->knowledge());
        o.search = std::move(chosen.search);
        if (auto fits = detail::check_strategy(o.search); !fits) return fits;
        models_->records.notes.push_back(std::move(chosen.why));
    }
    return o.log.empty() ? result<void>{} : open_log(o.log, o.resume); // last: what is refused leaves no log behind
}

template <bulk_executor E>
result<void> basic_session<E>::open_log(const std::string& path, bool resume) {
    log_.reset(); // a log that is open cannot be opened again
    auto log = open_tuning_log(path, tasks_, report_.made_with, !resume);
    if (!log && log.error().code == errc::invalid_argument)
        return error{errc::invalid_argument, log.error().detail + ", or `resume`, to continue with them"};
    if (!log) return log.error();
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
        for (auto& [machine, trials] : log_->found.other_machines) {
            const auto count = static_cast<std::size_t>(std::count_if(trials.begin(), trials.end(), of_kernel));
            if (count == 0) continue;
            const auto untuned = hash_schedule(untuned_on(i, machine));
            const bool has_untuned = !report_.options.collect && std::any_of(trials.begin(), trials.end(), [&](const auto& t) {
                return of_kernel(t) && hash_schedule(t.schedule) == untuned; // the baseline is no trial
            });
            if (count < report_.options.search.trials + (has_untuned ? 1 : 0)) continue;
            std::vector<logged_trial<step_list>> others; // passed over
            for (auto& t : trials) (of_kernel(t) ? elsewhere_[i] : others).push_back(std::move(t));
            trials = std::move(others);
            report_.kernels[i].elsewhere = machine;
            break;
        }
    }
}

template <bulk_executor E>
result<search_report> basic_session<E>::recorded(const std::string& name, const std::string& log) const {
    std::string first_bad_line;
    log_read_options options;
    options.on_bad_line = [&](const bad_line& b) {
        if (first_bad_line.empty()) first_bad_line = b.text();
    };
    auto read = read_trials(log, tasks_, report_.made_with, std::move(options));
    if (!read) return read.error();
    search_report out(name, tasks_.size());
    out.notes = passed_over(log, report_.made_with, *read, first_bad_line);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (!report_.options.collect) (void)detail::take_record(read->trials, tasks_[i], untuned_schedule(i)); // the baseline is no trial
        const auto id = task_identity(tasks_[i]);
        for (const auto& t : read->trials)
            if (t.task == id) detail::collect_trial(out, report_.kernels[i].label, i, t.schedule, t.outcome);
    }
    choose_result(out);
    return out;
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
        random.transfers = 0;
        random.evolve_transfers = random.only_transfers = false;
        searches.push_back(search("random", random, false, hooks));
    }
    const auto name = detail::search_name(o.search, models_->weights.network());
    searches.push_back(search(o.collect ? "collect" : name, o.search, log_.has_value(), hooks));
    if (!o.collect && !searches.back().failed) measure_best(searches, hooks);
    report_.searches = std::move(searches);
    return report_;
}

template <bulk_executor E>
bool basic_session<E>::trains_tlp() const {
    const auto& model = report_.options.search.model;
    return model == "tlp" || (!detail::is_model_name(model) && models_->weights.network() == "tlp");
}

template <bulk_executor E>
result<void> basic_session<E>::save_model(const std::string& path) const {
    return models_->weights.save(path);
}

} // namespace augur::inline v0

#endif
