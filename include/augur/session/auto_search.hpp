// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_AUTO_SEARCH_HPP
#define AUGUR_SESSION_AUTO_SEARCH_HPP

/// @file
/// The model "auto": what is known before a search decides what proposes, ranks and learns.

#include <cstddef>
#include <string>
#include <utility>

#include <augur/session/detail/search_checks.hpp>
#include <augur/session/options.hpp>

namespace augur::inline v0 {

/// What is known before a search, beside what `session_search` names.
struct search_knowledge {
    std::size_t records = 0; ///< of other kernels, measured on this machine, with this compiler and its flags
    bool tlp = false;        ///< the component is there
    bool xgboost = false;    ///< the same
    bool metatune = false;   ///< the weights are MetaTune's, else TLP's
    bool machine = false;    ///< Crop can predict for it (`session_options::machine`)
};

/// A search, and why it is this one.
struct chosen_search {
    session_search search;
    std::string why; ///< a sentence
};

/// The trials of a kernel that a language model drafts before candidates are evolved: it finds good schedules early, evolution better ones late.
inline constexpr std::size_t drafted_trials = 16;

/// Replaces the model "auto" by the first of these whose components are there:
///
/// | known                                    | ranks and learns                      |
/// |------------------------------------------|---------------------------------------|
/// | records of other kernels                 | trees that know the records (`nest`)  |
/// | weights of TLP or MetaTune               | that network, from the weights        |
/// | a language model and the machine         | Crop, which does not learn            |
/// | anything else, or nothing                | `trees`, else `tlp`, else nothing     |
///
/// Candidates are evolved, beginning with the schedules of the kernel's class; with weights of MetaTune and no other strategy asked for, Bayesian
/// optimisation proposes them, with the network as its prior mean. A language model, where there is one and a model that ranks, drafts the first
/// `drafted_trials`, or `language_trials` if that is set; where Crop ranks, it drafts all trials. Schedules of other kernels are no trials of their
/// own then (`transfers` is 0). Where nothing is known but the machine, Crop drafts what `trees` choose from. The strategies that need no model get
/// one only if there are records or weights. A search of another model comes back as it is. The measurements behind this: docs/results/auto.md.
[[nodiscard]] inline chosen_search choose_search(session_search s, const search_knowledge& k) {
    if (s.model != "auto") return {std::move(s), "the model was asked for"};
    const bool writes = !s.language.empty();
    s.draft.clear();   // chosen here, like the model
    std::string guide; // empty: none
    if (k.records > 0 && k.xgboost) {
        s.model = "nest";
        guide = "trees that know " + std::to_string(k.records) + " records of other kernels";
    } else if (!s.weights.empty() && k.tlp) {
        s.model = s.weights;
        guide = std::string(k.metatune ? "MetaTune" : "TLP") + " with the given weights";
        if (k.metatune && !writes && s.strategy.empty() && detail::has_bayes) s.strategy = "bayes";
    } else if (detail::guides_itself(s)) {
        s.model = "none";
    } else if (writes && k.machine) {
        s.model = "crop";
        guide = "Crop";
    } else if (k.xgboost) {
        s.model = "trees";
        guide = "trees that learn from what is measured";
        if (k.machine && (s.strategy.empty() || s.strategy == "evolutionary")) s.draft = "crop";
    } else if (k.tlp) {
        s.model = "tlp";
        guide = "TLP that learns from what is measured";
    } else {
        s.model = "none";
    }
    std::string why = "model auto: ";
    if (writes && s.model == "crop") {
        s.transfers = 0;
        why += "a language model drafts";
    } else if (writes && s.model != "none") {
        if (s.language_trials == 0) s.language_trials = drafted_trials;
        s.transfers = 0;
        why += "a language model drafts " + std::to_string(s.language_trials) +
               " trials of a kernel, then evolution from what was measured and transferred";
    } else {
        why += writes ? "a language model writes the candidates" : !s.strategy.empty() ? s.strategy : guide.empty() ? "random search" : "evolution";
        if (!s.draft.empty()) why += " of candidates that Crop drafts";
    }
    if (!guide.empty()) why += ", ranked by " + guide;
    return {std::move(s), std::move(why)};
}

} // namespace augur::inline v0

#endif
