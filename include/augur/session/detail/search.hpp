// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_SEARCH_HPP
#define AUGUR_SESSION_DETAIL_SEARCH_HPP

/// @file
/// `session::search`: checks what was asked for, and searches the kernels that no other machine has finished.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/search/task_scheduler.hpp>
#include <augur/session/auto_search.hpp>
#include <augur/session/detail/models.hpp>
#include <augur/session/detail/search_by_model.hpp>
#include <augur/session/detail/strategies.hpp>
#include <augur/session/detail/trials.hpp>
#include <augur/session/options.hpp>
#include <augur/session/report.hpp>
#include <augur/session/session.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/tune/options.hpp>

namespace augur::inline v0 {

namespace detail {

template <bulk_executor E>
E make_executor(int threads) {
    if constexpr (std::constructible_from<E, std::size_t>) return E(static_cast<std::size_t>(threads));
    else return E();
}

} // namespace detail

/// Adds the trials of kernels that other machines have finished, and notes about the records that are not used.
template <bulk_executor E>
void basic_session<E>::add_elsewhere(search_report& out) const {
    std::vector<machine_identity> machines;
    for (const auto& k : report_.kernels)
        if (k.elsewhere && std::find(machines.begin(), machines.end(), *k.elsewhere) == machines.end()) machines.push_back(*k.elsewhere);
    for (const auto& m : machines) {
        std::size_t kernels = 0, records = 0;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (report_.kernels[i].elsewhere != m) continue;
            ++kernels;
            records += elsewhere_[i].size();
            for (const auto& t : elsewhere_[i]) detail::collect_trial(out, report_.kernels[i].label, i, t.schedule, t.outcome);
        }
        out.notes.push_back(log_->path + ": " + std::to_string(kernels) + " kernels were finished on another machine, " + machine_label(m) + " (" +
                            first_difference(report_.made_with.machine, m) + "); their " + std::to_string(records) + " records stay");
    }
    for (auto& text : log_->passed_over()) out.notes.push_back(std::move(text));
}

template <bulk_executor E>
auto basic_session<E>::searched_here() const -> searched {
    searched out;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (report_.kernels[i].elsewhere) continue;
        out.kernels.push_back(i);
        out.tasks.push_back(tasks_[i]);
        out.spaces.push_back(spaces_[i]);
    }
    return out;
}

template <bulk_executor E>
search_report basic_session<E>::search(const std::string& name, const session_search& asked, bool logged, const session_hooks& hooks) {
    search_report out(name, tasks_.size());
    const auto chosen = choose_search(asked, models_->knowledge());
    const session_search& settings = chosen.search;
    if (asked.model == "auto") out.notes.push_back(chosen.why);
    auto ready = models_->load(settings);
    if (ready) ready = models_->weights.check_loops(tasks_, spaces_, report_.threads, models_->records.notes);
    if (ready && settings.model == "nest") ready = models_->records.check_known();
    if (!ready) {
        out.failed = ready.error();
        return out;
    }
    tuning_options options;
    options.trials = settings.trials;
    options.round = settings.round_size();
    options.first_round = settings.first_round;
    options.batch = 8;
    options.seed = settings.seed;
    options.scheduler.strategy = settings.scheduler;
    logged = logged && log_.has_value();
    if (logged) add_elsewhere(out);
    const searched here = searched_here();
    if (here.kernels.empty()) {
        out.summary.emplace();
        if (hooks.note)
            for (const auto& text : out.notes) hooks.note(text);
        choose_result(out);
        return out;
    }
    out.notes.insert(out.notes.begin(), models_->records.notes.begin(), models_->records.notes.end());
    running_search running{here, settings, options, out, logged, hooks, detail::make_executor<E>(report_.threads)};
    search_by_model(running);
    choose_result(out);
    return out;
}

} // namespace augur::inline v0

#endif
