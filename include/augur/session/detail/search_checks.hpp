// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_SEARCH_CHECKS_HPP
#define AUGUR_SESSION_DETAIL_SEARCH_CHECKS_HPP

/// @file
/// The options of a session's search: its name, and whether they fit each other and the components that are there.
///
/// A component that a build has defines a macro: AUGUR_HAS_TLP, AUGUR_HAS_TLM, AUGUR_HAS_METATUNE, AUGUR_HAS_CROP, AUGUR_HAS_XGBOOST, AUGUR_HAS_SEARCH_BAYES.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/session/options.hpp>

namespace augur::inline v0::detail {

#ifdef AUGUR_HAS_TLP
inline constexpr bool has_tlp = true;
#else
inline constexpr bool has_tlp = false;
#endif
#ifdef AUGUR_HAS_TLM
inline constexpr bool has_tlm = true;
#else
inline constexpr bool has_tlm = false;
#endif
#ifdef AUGUR_HAS_SEARCH_BAYES
inline constexpr bool has_bayes = true;
#else
inline constexpr bool has_bayes = false;
#endif
#ifdef AUGUR_HAS_CROP
inline constexpr bool has_crop = true;
#else
inline constexpr bool has_crop = false;
#endif
#ifdef AUGUR_HAS_XGBOOST
inline constexpr bool has_xgboost = true;
#else
inline constexpr bool has_xgboost = false;
#endif

inline bool is_model_name(std::string_view model) { return std::find(session_models.begin(), session_models.end(), model) != session_models.end(); }
/// Does the strategy of a search need no model?
inline bool guides_itself(const session_search& s) { return s.strategy == "descent" || s.strategy == "bayes"; }
/// The kind of model, for weights that of their file, behind what drafts or proposes if that is not evolution: "random", "tlp", "crop+tlp", "tlm",
/// "tlm+trees", "annealing+trees", "bayes", "tlp+descent".
inline std::string search_name(const session_search& s, std::string_view weights = "tlp") {
    const std::string proposes = !s.language.empty() ? "tlm" : s.strategy == "evolutionary" || s.strategy.empty() ? s.draft : s.strategy;
    const std::string model = s.model == "none" ? (proposes.empty() ? "random" : "") : std::string(is_model_name(s.model) ? s.model : weights);
    return proposes + (proposes.empty() || model.empty() ? "" : "+") + model + (s.descend_after > 0 ? "+descent" : "");
}

/// The models of a search as they were asked for, for messages.
inline std::string asked_models(const session_search& s) { return s.draft.empty() ? s.model : s.draft + "+" + s.model; }

inline bool scores_with_crop(const session_search& s) { return s.model == "crop" || s.model == "hybrid" || s.draft == "crop"; }

/// Are the components of a search's models there?   Errors: unsupported
inline result<void> check_components(const session_search& s) {
    const std::string& model = s.model;
    const auto absent = [&](const char* component) {
        return error{errc::unsupported,
                     "model '" + asked_models(s) + "' needs the component augur::" + component + ", which this program is built without"};
    };
    if (!s.language.empty() && !has_tlm)
        return error{errc::unsupported, "a language model needs the component augur::tlm, which this program is built without"};
    if (model == "auto" && !s.weights.empty() && !has_tlp) return absent("tlp");
    if (model == "none" || model == "auto") return {};
    if ((model == "tlp" || !is_model_name(model)) && !has_tlp) return absent("tlp");
    if (scores_with_crop(s) && !has_crop) return absent("crop");
    if ((model == "trees" || model == "hybrid" || model == "nest") && !has_xgboost) return absent("xgboost");
    return {};
}

/// Does the strategy of a search fit the rest of it?   Errors: invalid_argument; unsupported
inline result<void> check_strategy(const session_search& s) {
    const auto refused = [&](std::string text) {
        return error{errc::invalid_argument, "strategy '" + s.strategy + "': expected " + std::move(text)};
    };
    if (s.strategy.empty()) return {};
    if (std::find(session_strategies.begin(), session_strategies.end(), s.strategy) == session_strategies.end())
        return refused("evolutionary, annealing, descent or bayes");
    if (!s.language.empty() || s.only_transfers) return refused("none beside a language model or transfers alone, which propose everything");
    if (!s.draft.empty() && s.strategy != "evolutionary") return refused("evolutionary, whose drafts Crop chooses");
    if (s.model == "none" && !guides_itself(s)) return refused("a model that guides it, none came");
    if (s.strategy == "bayes" && !has_bayes)
        return error{errc::unsupported, "strategy 'bayes' needs the component augur::search_bayes, which this program is built without"};
    return {};
}

/// Do the options of a search fit each other, and are their components there?   Errors: invalid_argument; unsupported
inline result<void> check_search(const session_search& s) {
    if (s.trials == 0) return error{errc::invalid_argument, "session: expected at least one trial per kernel, 0 came"};
    if (!s.draft.empty() && s.draft != "crop") return error{errc::invalid_argument, "draft '" + s.draft + "': expected crop"};
    if (!s.draft.empty() && (s.model == "none" || s.model == "crop" || s.model == "auto"))
        return error{errc::invalid_argument, "draft '" + s.draft + "': expected a model that verifies it, '" + s.model + "' came"};
    if (is_model_name(s.weights)) return error{errc::invalid_argument, "weights '" + s.weights + "': expected a file, got the name of a model"};
    if (s.only_transfers && s.descend_after > 0) return error{errc::invalid_argument, "session: only transfers, so expected no descent after them"};
    if (!s.draft.empty() && !s.language.empty())
        return error{errc::invalid_argument, "draft '" + s.draft + "': expected it or a language model to draft, both came"};
    if (auto fits = check_strategy(s); !fits) return fits;
    if (s.only_transfers && (s.model != "none" || !s.language.empty()))
        return error{errc::invalid_argument,
                     "session: only transfers, so expected the model 'none' and no language model, '" + s.model + "' and '" + s.language + "' came"};
    return check_components(s);
}

} // namespace augur::inline v0::detail

#endif
