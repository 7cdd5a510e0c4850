// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_SEARCH_HPP
#define AUGUR_SESSION_DETAIL_SEARCH_HPP

/// @file
/// `session::search`: makes the model of a search and runs the tuner.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/untuned_schedule.hpp>
#include <augur/search/descent.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>
#include <augur/session/detail/models.hpp>
#include <augur/session/detail/prepare.hpp>
#include <augur/session/detail/search_guide.hpp>
#include <augur/session/detail/transfer_pool.hpp>
#include <augur/session/sample_schedules.hpp>
#include <augur/session/session.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/tuner.hpp>

#ifdef AUGUR_HAS_TLP
#include <augur/tlp/online.hpp>
#endif
#ifdef AUGUR_HAS_METATUNE
#include <augur/metatune/cost_model.hpp>
#include <augur/session/schedule_rows.hpp>
#endif
#ifdef AUGUR_HAS_CROP
#include <augur/crop/cost_model.hpp>
#include <augur/loopnest/crop/features.hpp>
#endif
#ifdef AUGUR_HAS_XGBOOST
#include <augur/loopnest/features/nest_row.hpp>
#include <augur/model/residual.hpp>
#include <augur/xgboost/task_normalised_model.hpp>
#include <augur/xgboost/trees_online.hpp>
#endif

namespace augur::inline v0 {

namespace detail {

template <bulk_executor E>
E make_executor(int threads) {
    if constexpr (std::constructible_from<E, std::size_t>) return E(static_cast<std::size_t>(threads));
    else return E();
}

/// The transferred schedule that a schedule is; null: none.
template <class Transfers>
auto* proposed_as(Transfers& transfers, const step_list& s) {
    const auto at = std::find_if(transfers.proposed.begin(), transfers.proposed.end(), [&](const auto& p) { return p.schedule == s; });
    return at == transfers.proposed.end() ? nullptr : &*at;
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
    if (logged) (void)static_cast<bool>(log_->writer.flush()); // every record is in the file already; this is for a machine that crashes
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

/// Appends to `points` what kernel `k` of a search takes from the pool, at most `settings.transfers`. Returns all that fits. A scorer that fails
/// ranks nothing: its error comes back when it guides the search.
template <bulk_executor E>
template <class Scorer>
std::vector<decision_vector> basic_session<E>::add_transfers(const searched& here, std::size_t k, Scorer& scorer, const session_search& settings,
                                                             search_report& out, std::vector<decision_vector>& points) const {
    std::vector<decision_vector> all;
    if (report_.options.transfer_from.empty() || (settings.transfers == 0 && !settings.evolve_transfers)) return all;
    out.transfers.resize(tasks_.size());
    auto& of_kernel = out.transfers[here.kernels[k]];
    transfer::transfer_options wanted;
    wanted.level = report_.options.transfer_level;
    const auto found = models_->pool.adapt(here.spaces[k], here.tasks[k].class_levels(), to_text(report_.made_with.machine), wanted);
    of_kernel.adapted = found.points.size();
    of_kernel.refused = found.refused;
    for (const auto& t : found.points) all.push_back(t.point);
    auto chosen = transfer::choose_transfers(found.points, scorer, settings.transfers);
    if (!chosen) return all;
    for (auto& t : *chosen) {
        if (std::find(points.begin(), points.end(), t.point) != points.end()) continue;
        auto made = here.spaces[k].realise(t.point);
        if (!made) continue; // adapted points are complete and legal
        of_kernel.proposed.push_back(
            {models_->pool.schedules()[t.source].name, t.level, t.equal, t.changed, t.unnamed, 0, outcome::ok, *std::move(made)});
        points.push_back(std::move(t.point));
    }
    return all;
}

template <bulk_executor E>
search_report basic_session<E>::search(const std::string& name, const session_search& asked, bool logged, const session_hooks& hooks) {
    search_report out(name, tasks_.size());
    const auto chosen = choose_search(asked, models_->knowledge());
    const session_search& settings = chosen.search;
    if (asked.model == "auto") out.notes.push_back(chosen.why);
    auto ready = models_->load(settings);
    if (ready) ready = models_->check_loops(tasks_, spaces_, report_.threads);
    if (ready && settings.model == "nest") ready = models_->check_known();
    if (!ready) {
        out.failed = ready.error();
        return out;
    }
    tuning_options options;
    options.trials = settings.trials;
    options.round = settings.round_size();
    options.batch = 8;
    options.seed = settings.seed;
    if (settings.even) options.scheduler.strategy = scheduling::round_robin;
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
    out.notes.insert(out.notes.begin(), models_->notes.begin(), models_->notes.end());
    search_by_model(here, settings, options, out, logged, hooks);
    choose_result(out);
    return out;
}

template <bulk_executor E>
void basic_session<E>::search_by_model(const searched& here, const session_search& settings, const tuning_options& options, search_report& out,
                                       bool logged, const session_hooks& hooks) {
    E threads = detail::make_executor<E>(report_.threads);
    const bool unranked = settings.model == "none";
    const bool guides_itself = detail::guides_itself(settings);
#ifdef AUGUR_HAS_TLM
    std::optional<tlm::online_model<E>> language;
    if (!settings.language.empty()) {
        tlm::online_options learning;
        learning.fit.seed = settings.seed;
        learning.best = report_.options.demonstrations_best;
        learning.first_update = settings.language_learns ? std::clamp(options.round * here.tasks.size(), std::size_t{8}, std::size_t{64}) : 0;
        learning.progress = [&hooks](const tlm::training_progress& p) {
            detail::tell(hooks, "fine-tuning", "the language model", p.step - 1, p.steps);
            return !detail::stops(hooks);
        };
        language.emplace(*models_->language, threads, learning);
        if (models_->demonstrations)
            if (auto learned = language->demonstrate(*models_->demonstrations); !learned) {
                if (learned.error().code == errc::interrupted) out.summary.emplace().interrupted = true;
                else out.failed = learned.error();
                return;
            }
    }
#endif
    evolutionary_options evolution;
    if (settings.population != 0) evolution.population = settings.population;
    else if (detail::scores_with_crop(settings)) evolution.population = 256;
#ifdef AUGUR_HAS_CROP
    const auto make_crop = [&] {
        return crop::model(*models_->crop_machine, report_.threads, loopnest::crop_feature_extractor{loopnest::c_options::of(report_.host)});
    };
    std::optional<decltype(make_crop())> drafting;
    if (!settings.draft.empty()) drafting.emplace(make_crop());
    std::optional<detail::any_model> draft;
    if (drafting) draft.emplace(*drafting);
#else
    std::optional<detail::any_model> draft; // none: `models_->load` has refused the option
#endif
    const auto search_by = [&](detail::any_model model, double random_share) {
        evolution.eps_greedy = random_share;
        std::vector<typename detail::guided_search<E>::scorer> drafts;
        drafts.reserve(here.tasks.size()); // the strategies refer to them
        constexpr auto always = std::numeric_limits<std::size_t>::max();
        using first_points = initial_points<detail::guided_search<E>>;
        std::vector<then_descend<first_points>> strategies;
        const auto add = [&](detail::guided_search<E> strategy, std::vector<decision_vector> first, bool told) {
            strategies.emplace_back(first_points(std::move(strategy), std::move(first), told),
                                    settings.descend_after > 0 ? settings.descend_after : always);
        };
        auto rounds = options;
        if (settings.only_transfers) rounds.trials = 1;
        for (std::size_t k = 0; k < here.tasks.size(); ++k) {
            std::vector<decision_vector> first;
            const auto untuned = loopnest::untuned_schedule(*here.tasks[k].dag(), report_.threads);
            if (auto point = here.spaces[k].decide(untuned); point && (!unranked || guides_itself)) first.push_back(*std::move(point));
            if (draft) drafts.emplace_back(here.spaces[k], here.tasks[k], *draft, threads);
            typename detail::guided_search<E>::scorer ranks(here.spaces[k], here.tasks[k], model, threads);
            auto fitting = add_transfers(here, k, draft ? drafts.back() : ranks, settings, out, first);
            const auto evolving = [&] {
                evolutionary<E> made(evolution, threads);
                if (settings.evolve_transfers) made.begin_with(fitting);
                return made;
            };
            if (settings.only_transfers)
                rounds.trials = rounds.round = (std::max)(rounds.trials, first.size()); // none of a kernel waits for the next round
#ifdef AUGUR_HAS_TLM
            if (language) {
                detail::language_search<E> writing(*language, tlm::prompt_text(here.tasks[k], report_.made_with.machine), here.spaces[k]);
                if (unranked) add(detail::guided_search<E>(std::move(writing)), std::move(first), true);
                else
                    add(detail::guided_search<E>(std::move(writing), settings.language_trials > 0 ? settings.language_trials : always, evolving()),
                        std::move(first), true);
                continue;
            }
#endif
            if (settings.only_transfers) {
                add(detail::guided_search<E>(detail::no_search()), std::move(first), false);
            } else if (unranked && !guides_itself) {
                add(detail::guided_search<E>(random_search()), std::move(first), false);
            } else if (settings.strategy == "annealing") {
                annealing_options annealing;
                annealing.eps_greedy = random_share;
                add(detail::guided_search<E>(simulated_annealing<E>(annealing, threads)), std::move(first), true);
            } else if (settings.strategy == "descent") {
                add(detail::guided_search<E>(coordinate_descent()), std::move(first), true);
#ifdef AUGUR_HAS_SEARCH_BAYES
            } else if (settings.strategy == "bayes") {
                bayesian_options bayes;
                bayes.initial = (std::min)(bayes.initial, options.round);
                bayes.prior_mean = !unranked;
                add(detail::guided_search<E>(bayesian_search<E>(bayes, threads)), std::move(first), true);
#endif
            } else {
                if (draft) add(detail::guided_search<E>(evolving(), drafts.back()), std::move(first), false);
                else add(detail::guided_search<E>(evolving()), std::move(first), false);
            }
        }
        if (!out.transfers.empty()) out.notes.push_back(detail::transfer_account(out.transfers));
        tuner t(here.tasks, here.spaces, strategies, model, threads, rounds);
        run(t, here.kernels, out, logged, hooks);
    };
    const double usual_share = evolution.eps_greedy, wide_share = 0.25;
    // Crop and trees give confident scores from the first round on; random candidates must show where they are wrong.
    [[maybe_unused]] const auto search_widely = [&](auto& model) { search_by(detail::any_model(model), wide_share); };
    [[maybe_unused]] const auto search_with = [&](auto& model) { search_by(detail::any_model(model), draft ? wide_share : usual_share); };
    if (unranked) {
        detail::ranks_nothing nobody;
        search_by(detail::any_model(nobody), usual_share);
    }
    [[maybe_unused]] const std::string_view learner =
        detail::is_model_name(settings.model) ? std::string_view(settings.model) : models_->weights_model();
#ifdef AUGUR_HAS_METATUNE
    if (learner == "metatune") {
        auto rows = schedule_rows::create(*models_->graph_network); // `check_loops` has seen it
        metatune::cost_model<step_list, loopnest::kernel_task, schedule_rows> model(*std::move(rows), models_->graph_network->net);
        search_with(model);
    }
#endif
#ifdef AUGUR_HAS_TLP
    if (learner == "tlp") {
        tlp::online_options o;
        o.fit.seed = settings.seed;
        o.first_update = std::clamp(options.round * here.tasks.size(), std::size_t{8}, std::size_t{64}); // after one round of each kernel
        std::optional<tlp::online_model<step_list, loopnest::kernel_task, E>> model;
        if (models_->initial) model.emplace(threads, *models_->initial, o);
        else model.emplace(threads, o);
        search_with(*model);
        if (model->model() != nullptr) models_->learned = std::make_shared<const tlp::trained_model>(*model->model());
    }
#endif
#ifdef AUGUR_HAS_XGBOOST
    const loopnest::nest_row row_of(loopnest::nest_target::make(report_.host, report_.threads));
    if (settings.model == "nest") {
        task_normalised_online_options learning;
        learning.trees.threads = static_cast<std::uint32_t>(report_.threads);
        learning.trees.seed = settings.seed;
        using online_model = task_normalised_model<step_list, loopnest::kernel_task, loopnest::nest_row, tree_training::online>;
        auto trees = online_model::create(*models_->known, row_of, learning);
        auto ready = trees ? result<void>{} : result<void>(trees.error());
        for (std::size_t k = 0; k < here.tasks.size() && ready; ++k)
            ready = trees->set_normaliser(here.tasks[k], sample_schedules(here.spaces[k], 512, settings.seed));
        if (ready) search_with(*trees);
        else out.failed = ready.error();
    }
    auto few_samples = few_sample_trees();
    few_samples.seed = settings.seed;
    using online_trees = trees_online<step_list, loopnest::kernel_task, loopnest::nest_row>;
    if (settings.model == "trees") {
        online_trees trees(row_of, few_samples);
        search_widely(trees);
    }
#endif
#ifdef AUGUR_HAS_CROP
    if (settings.model == "crop") {
        auto model = make_crop();
        search_widely(model);
    }
#endif
#if defined(AUGUR_HAS_CROP) && defined(AUGUR_HAS_XGBOOST)
    if (settings.model == "hybrid") {
        residual_model model(make_crop(), online_trees(row_of, few_samples));
        search_widely(model);
    }
#endif
#ifdef AUGUR_HAS_TLM
    if (language) {
        out.notes.push_back("language model: fine-tuned " + std::to_string(language->fine_tunings()) + " times, " +
                            std::to_string(language->observed()) + " points were measured");
        if (!language->unknown().empty())
            out.notes.push_back("language model: " + std::to_string(language->unknown().size()) +
                                " words of the schedules are not in its vocabulary, " + language->unknown().front() + " among them");
        if (language->left_out() > 0)
            out.notes.push_back("language model: " + std::to_string(language->left_out()) +
                                " sentences are longer than its context and are left out");
        if (language->failed() && language->failed()->code != errc::interrupted) out.notes.push_back("language model: " + language->failed()->detail);
    }
#endif
}

} // namespace augur::inline v0

#endif
