// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_SEARCH_BY_MODEL_HPP
#define AUGUR_SESSION_DETAIL_SEARCH_BY_MODEL_HPP

/// @file
/// The models of a session's search: makes the one that is asked for, and searches with it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/session/detail/models.hpp>
#include <augur/session/detail/search_checks.hpp>
#include <augur/session/detail/search_guide.hpp>
#include <augur/session/detail/strategies.hpp>
#include <augur/session/detail/trials.hpp>
#include <augur/session/sample_schedules.hpp>
#include <augur/session/session.hpp>

#ifdef AUGUR_HAS_TLP
#include <augur/tlp/online.hpp>
#endif
#ifdef AUGUR_HAS_TLM
#include <augur/tlm/online.hpp>
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

#ifdef AUGUR_HAS_TLM
namespace detail {
/// Tells what a language model has done in a search.
template <bulk_executor E>
void note_language(const tlm::online_model<E>& language, std::vector<std::string>& notes) {
    notes.push_back("language model: fine-tuned " + std::to_string(language.fine_tunings()) + " times, " + std::to_string(language.observed()) +
                    " points were measured");
    if (!language.unknown().empty())
        notes.push_back("language model: " + std::to_string(language.unknown().size()) + " words of the schedules are not in its vocabulary, " +
                        language.unknown().front() + " among them");
    if (language.left_out() > 0)
        notes.push_back("language model: " + std::to_string(language.left_out()) + " sentences are longer than its context and are left out");
    if (language.failed() && language.failed()->code != errc::interrupted) notes.push_back("language model: " + language.failed()->detail);
}
} // namespace detail
#endif

/// Makes the language model of a search, and fine-tunes it on the demonstrations. False: that failed or was interrupted, as the report says.
template <bulk_executor E>
bool basic_session<E>::begin_language([[maybe_unused]] running_search& s) {
#ifdef AUGUR_HAS_TLM
    if (s.settings.language.empty()) return true;
    tlm::online_options learning;
    learning.fit.seed = s.settings.seed;
    learning.fit.weighted = report_.options.demonstrations_weighted;
    learning.best = report_.options.demonstrations_best;
    learning.first_update = s.settings.language_learns ? std::clamp(s.options.round * s.here.tasks.size(), std::size_t{8}, std::size_t{64}) : 0;
    learning.progress = [&hooks = s.hooks](const tlm::training_progress& p) {
        detail::tell(hooks, "fine-tuning", "the language model", p.step - 1, p.steps);
        return !detail::stops(hooks);
    };
    s.language.emplace(*models_->weights.language, s.threads, learning);
    if (models_->records.demonstrations)
        if (auto learned = s.language->demonstrate(*models_->records.demonstrations); !learned) {
            if (learned.error().code == errc::interrupted) s.out.summary.emplace().interrupted = true;
            else s.out.failed = learned.error();
            return false;
        }
#endif
    return true;
}

/// Makes the model that a search asks for, and searches with it.
template <bulk_executor E>
void basic_session<E>::search_by_model(running_search& s) {
    if (!begin_language(s)) return;
    if (s.settings.population != 0) s.evolution.population = s.settings.population;
    else if (detail::scores_with_crop(s.settings)) s.evolution.population = 256;
#ifdef AUGUR_HAS_CROP
    const auto make_crop = [&] {
        return crop::model(*models_->crop_machine, report_.threads, loopnest::crop_feature_extractor{loopnest::c_options::of(report_.host)},
                           s.threads);
    };
    std::optional<decltype(make_crop())> drafting;
    if (!s.settings.draft.empty()) s.draft.emplace(drafting.emplace(make_crop()));
#endif
    // Crop and trees give confident scores from the first round on; random candidates must show where they are wrong.
    const double usual_share = s.evolution.eps_greedy, wide_share = 0.25;
    [[maybe_unused]] const auto search_widely = [&](auto& model) { search_with(s, detail::any_model(model), wide_share); };
    [[maybe_unused]] const auto search_usually = [&](auto& model) { search_with(s, detail::any_model(model), s.draft ? wide_share : usual_share); };
    if (s.settings.model == "none") {
        detail::ranks_nothing nobody;
        search_with(s, detail::any_model(nobody), usual_share);
    }
    [[maybe_unused]] const std::string_view learner =
        detail::is_model_name(s.settings.model) ? std::string_view(s.settings.model) : models_->weights.network();
#ifdef AUGUR_HAS_METATUNE
    if (learner == "metatune") {
        auto rows = schedule_rows::create(*models_->weights.graph_network); // `check_loops` has seen it
        metatune::cost_model<step_list, loopnest::kernel_task, schedule_rows> model(*std::move(rows), models_->weights.graph_network->net);
        search_usually(model);
    }
#endif
#ifdef AUGUR_HAS_TLP
    if (learner == "tlp") {
        tlp::online_options o;
        o.fit.seed = s.settings.seed;
        o.first_update = std::clamp(s.options.round * s.here.tasks.size(), std::size_t{8}, std::size_t{64}); // after one round of each kernel
        std::optional<tlp::online_model<step_list, loopnest::kernel_task, E>> model;
        if (models_->weights.initial) model.emplace(s.threads, *models_->weights.initial, o);
        else model.emplace(s.threads, o);
        search_usually(*model);
        if (model->model() != nullptr) models_->weights.learned = std::make_shared<const tlp::trained_model>(*model->model());
    }
#endif
#ifdef AUGUR_HAS_XGBOOST
    const loopnest::nest_row row_of(loopnest::nest_target::make(report_.host, report_.threads));
    if (s.settings.model == "nest") {
        task_normalised_online_options learning;
        learning.trees.threads = static_cast<std::uint32_t>(report_.threads);
        learning.trees.seed = s.settings.seed;
        using online_model = task_normalised_model<step_list, loopnest::kernel_task, loopnest::nest_row, tree_training::online>;
        auto trees = online_model::create(*models_->records.known, row_of, learning);
        auto ready = trees ? result<void>{} : result<void>(trees.error());
        for (std::size_t k = 0; k < s.here.tasks.size() && ready; ++k)
            ready = trees->set_normaliser(s.here.tasks[k], sample_schedules(s.here.spaces[k], 512, s.settings.seed));
        if (ready) search_usually(*trees);
        else s.out.failed = ready.error();
    }
    auto few_samples = few_sample_trees();
    few_samples.seed = s.settings.seed;
    using online_trees = trees_online<step_list, loopnest::kernel_task, loopnest::nest_row>;
    if (s.settings.model == "trees") {
        online_trees trees(row_of, few_samples);
        search_widely(trees);
    }
#endif
#ifdef AUGUR_HAS_CROP
    if (s.settings.model == "crop") {
        auto model = make_crop();
        search_widely(model);
    }
#endif
#if defined(AUGUR_HAS_CROP) && defined(AUGUR_HAS_XGBOOST)
    if (s.settings.model == "hybrid") {
        residual_model model(make_crop(), online_trees(row_of, few_samples));
        search_widely(model);
    }
#endif
#ifdef AUGUR_HAS_TLM
    if (s.language) detail::note_language(*s.language, s.out.notes);
#endif
}

} // namespace augur::inline v0

#endif
