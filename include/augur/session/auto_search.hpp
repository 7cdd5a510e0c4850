// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_AUTO_SEARCH_HPP
#define AUGUR_SESSION_AUTO_SEARCH_HPP

/// @file
/// The model "auto": what is known before a search decides what proposes, ranks and learns.

#include <cstddef>
#include <string>
#include <utility>

#include <augur/session/options.hpp>

namespace augur::inline v0 {

/// What is known before a search, beside what `session_search` names.
struct search_knowledge {
    std::size_t records = 0;   ///< of other kernels, measured on this machine, with this compiler and its flags
    std::size_t schedules = 0; ///< of other kernels that may be transferred
    bool machine = false;      ///< a machine that Crop predicts
    bool tlp = false;          ///< this and the next two: the component is there
    bool crop = false;
    bool xgboost = false;
};

/// A search, and why it is this one.
struct chosen_search {
    session_search search;
    std::string why; ///< a sentence
};

/// Replaces the model "auto" by the first of these whose components are there:
///
/// | known                                    | proposes                                   | ranks and learns                      |
/// |------------------------------------------|--------------------------------------------|---------------------------------------|
/// | records of other kernels                 | the language model, or else evolution      | trees that know the records, `nest`   |
/// | weights of TLP                           | the language model, or else evolution      | TLP, from the weights                 |
/// | a language model                         | the language model                         | `trees`                               |
/// | a machine of Crop                        | evolution                                  | `hybrid`                              |
/// | nothing                                  | evolution                                  | `tlp`, else `trees`; else random      |
///
/// The strategies that need no model get one only if there are records or weights. A search of another model comes back as it is. The measurements behind
/// the order: docs/results/auto.md.
[[nodiscard]] inline chosen_search choose_search(session_search s, const search_knowledge& k) {
    if (s.model != "auto") return {std::move(s), "the model was asked for"};
    const bool writes = !s.language.empty();
    std::string guide; // empty: none
    const std::string trees = "trees that learn from what is measured";
    if (k.records > 0 && k.xgboost) {
        s.model = "nest";
        guide = "trees that know " + std::to_string(k.records) + " records of other kernels";
    } else if (!s.weights.empty() && k.tlp) {
        s.model = s.weights;
        guide = "TLP with the given weights";
    } else if (writes) {
        s.model = k.xgboost ? "trees" : "none";
        guide = k.xgboost ? trees : "";
    } else if (s.strategy == "descent" || s.strategy == "bayes") {
        s.model = "none"; // they need none
    } else if (k.machine && k.crop && k.xgboost) {
        s.model = "hybrid";
        guide = "Crop and trees that correct it";
    } else if (k.tlp) {
        s.model = "tlp";
        guide = "TLP that learns from what is measured";
    } else {
        s.model = k.xgboost ? "trees" : "none";
        guide = k.xgboost ? trees : "";
    }
    const std::string proposes = writes                ? "a language model writes the candidates"
                                 : !s.strategy.empty() ? s.strategy
                                 : guide.empty()       ? "random search"
                                                       : "evolution";
    std::string why = "model auto: " + proposes;
    if (!guide.empty()) why += (writes ? ", ranked by " : " under ") + guide;
    return {std::move(s), std::move(why)};
}

} // namespace augur::inline v0

#endif
