// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_STRATEGIES_HPP
#define AUGUR_SESSION_DETAIL_STRATEGIES_HPP

/// @file
/// The strategies of a session's search: what proposes the candidates of each kernel, whatever model ranks them.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/record/measurement.hpp>
#include <augur/search/annealing.hpp>
#include <augur/search/descent.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>
#include <augur/session/detail/models.hpp>
#include <augur/session/detail/run_tuner.hpp>
#include <augur/session/detail/search_checks.hpp>
#include <augur/session/detail/search_guide.hpp>
#include <augur/session/detail/transfer_pool.hpp>
#include <augur/session/session.hpp>
#include <augur/space/concepts.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/transfer/schedule_pool.hpp>
#include <augur/tune/options.hpp>
#include <augur/tune/tuner.hpp>

#ifdef AUGUR_HAS_SEARCH_BAYES
#include <augur/search/bayes/bayesian_search.hpp>
#endif
#ifdef AUGUR_HAS_TLM
#include <augur/tlm/online.hpp>
#endif

namespace augur::inline v0 {

/// A search of a session while it runs: what was asked for, and what proposes its candidates beside the model that ranks them.
template <bulk_executor E>
struct basic_session<E>::running_search {
    const searched& here;
    const session_search& settings;
    const tuning_options& options;
    search_report& out;
    bool logged;
    const session_hooks& hooks;

    E threads;
    evolutionary_options evolution{};
    std::optional<detail::any_model> draft{}; ///< chooses what the model verifies
#ifdef AUGUR_HAS_TLM
    std::optional<tlm::online_model<E>> language{}; ///< writes the candidates
#endif
};

/// Appends to `points` what kernel `k` of a search takes from the pool, at most `transfers`. Returns all that fits. A scorer that fails
/// ranks nothing: its error comes back when it guides the search.
template <bulk_executor E>
template <class Scorer>
std::vector<decision_vector> basic_session<E>::add_transfers(running_search& s, std::size_t k, Scorer& scorer,
                                                             std::vector<decision_vector>& points) const {
    std::vector<decision_vector> all;
    if (report_.options.transfer_from.empty() || (s.settings.transfers == 0 && !s.settings.evolve_transfers)) return all;
    s.out.transfers.resize(tasks_.size());
    auto& of_kernel = s.out.transfers[s.here.kernels[k]];
    transfer::transfer_options wanted;
    wanted.level = report_.options.transfer_level;
    wanted.other_targets = true; // the pool has none unless the options ask for them
    const auto here = detail::platform_text(report_.made_with.machine, report_.made_with.flags);
    const auto found = models_->records.pool.adapt(s.here.spaces[k], s.here.tasks[k].class_levels(), here, wanted);
    of_kernel.adapted = found.points.size();
    of_kernel.refused = found.refused;
    for (const auto& t : found.points) all.push_back(t.point);
    auto chosen = transfer::choose_transfers(found.points, scorer, s.settings.transfers);
    if (!chosen) return all;
    for (auto& t : *chosen) {
        if (std::find(points.begin(), points.end(), t.point) != points.end()) continue;
        auto made = s.here.spaces[k].realise(t.point);
        if (!made) continue; // adapted points are complete and legal
        const auto& source = models_->records.pool.schedules()[t.source];
        of_kernel.proposed.push_back({source.name + (source.target == here ? "" : " of another machine"), t.level, t.equal, t.changed, t.unnamed, 0,
                                      outcome::ok, *std::move(made)});
        points.push_back(std::move(t.point));
    }
    return all;
}

/// The strategy of kernel `k`, which proposes `first` before anything of its own.
///
/// @param fitting  transferred schedules, for the population of the evolutionary search
/// @param drafts   the scores of the draft; null: there is none
template <bulk_executor E>
template <class Scorer>
auto basic_session<E>::make_strategy(running_search& s, [[maybe_unused]] std::size_t k, std::vector<decision_vector> first,
                                     const std::vector<decision_vector>& fitting, Scorer* drafts) const {
    using guided = detail::guided_search<E>;
    using begun = initial_points<guided>;
    const session_search& settings = s.settings;
    const bool unranked = settings.model == "none";
    constexpr auto always = std::numeric_limits<std::size_t>::max();
    const auto begin_with = [&](guided strategy, bool told) {
        return then_descend<begun>(begun(std::move(strategy), std::move(first), told), settings.descend_after > 0 ? settings.descend_after : always);
    };
    const auto evolving = [&] {
        evolutionary<E> made(s.evolution, s.threads);
        if (settings.evolve_transfers) made.begin_with(fitting);
        return made;
    };
#ifdef AUGUR_HAS_TLM
    if (s.language) {
        detail::language_search<E> writing(*s.language, tlm::prompt_text(s.here.tasks[k], report_.made_with.machine), s.here.spaces[k]);
        if (unranked) return begin_with(guided(std::move(writing)), true);
        return begin_with(guided(std::move(writing), settings.language_trials > 0 ? settings.language_trials : always, evolving()), true);
    }
#endif
    if (settings.only_transfers) return begin_with(guided(detail::no_search()), false);
    if (unranked && !detail::guides_itself(settings)) return begin_with(guided(random_search()), false);
    if (settings.strategy == "annealing") {
        annealing_options annealing;
        annealing.eps_greedy = s.evolution.eps_greedy;
        return begin_with(guided(simulated_annealing<E>(annealing, s.threads)), true);
    }
    if (settings.strategy == "descent") return begin_with(guided(coordinate_descent()), true);
#ifdef AUGUR_HAS_SEARCH_BAYES
    if (settings.strategy == "bayes") {
        bayesian_options bayes;
        bayes.initial = unranked ? (std::min)(bayes.initial, s.options.round) : 0; // a model that knows other kernels chooses the first points, too
        bayes.prior_mean = !unranked;
        return begin_with(guided(bayesian_search<E>(bayes, s.threads)), true);
    }
#endif
    return drafts != nullptr ? begin_with(guided(evolving(), *drafts), false) : begin_with(guided(evolving()), false);
}

/// Searches all kernels, ranked by `model`.
///
/// @param random_share  of the candidates of a round that are drawn at random
template <bulk_executor E>
void basic_session<E>::search_with(running_search& s, detail::any_model model, double random_share) {
    s.evolution.eps_greedy = random_share;
    std::vector<typename detail::guided_search<E>::scorer> drafts;
    drafts.reserve(s.here.tasks.size()); // the strategies refer to them
    std::vector<then_descend<initial_points<detail::guided_search<E>>>> strategies;
    auto rounds = s.options;
    if (s.settings.only_transfers) rounds.trials = 1;
    const bool begins_untuned = s.settings.model != "none" || detail::guides_itself(s.settings);
    for (std::size_t k = 0; k < s.here.tasks.size(); ++k) {
        std::vector<decision_vector> first;
        const auto untuned = untuned_schedule(s.here.kernels[k]);
        if (auto point = s.here.spaces[k].decide(untuned); point && begins_untuned) first.push_back(*std::move(point));
        if (s.draft) drafts.emplace_back(s.here.spaces[k], s.here.tasks[k], *s.draft, s.threads);
        typename detail::guided_search<E>::scorer ranks(s.here.spaces[k], s.here.tasks[k], model, s.threads);
        const auto fitting = add_transfers(s, k, s.draft ? drafts.back() : ranks, first);
        if (s.settings.only_transfers)
            rounds.trials = rounds.round = rounds.first_round = (std::max)(rounds.trials, first.size()); // none of a kernel waits for the next round
        strategies.push_back(make_strategy(s, k, std::move(first), fitting, s.draft ? &drafts.back() : nullptr));
    }
    if (!s.out.transfers.empty()) s.out.notes.push_back(detail::transfer_account(s.out.transfers));
    tuner t(s.here.tasks, s.here.spaces, strategies, model, s.threads, rounds);
    run(t, s.here.kernels, s.out, s.logged, s.hooks);
}

} // namespace augur::inline v0

#endif
