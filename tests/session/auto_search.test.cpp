// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/session/auto_search.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace {

struct known_case {
    std::size_t records;
    bool weights, language, tlp, xgboost;
    std::string_view model;
};

} // namespace

TEST_CASE("model auto: what is known decides, as far as the components are there") {
    constexpr bool y = true, n = false;
    constexpr std::array cases{
        // records, weights, language | tlp, xgboost
        known_case{0, n, n, y, y, "trees"},   known_case{0, n, n, y, n, "tlp"},     known_case{0, n, n, n, n, "none"},
        known_case{9, n, n, y, y, "nest"},    known_case{9, y, y, y, y, "nest"},    known_case{9, n, n, y, n, "tlp"},
        known_case{0, y, n, y, y, "weights"}, known_case{9, y, n, y, n, "weights"}, known_case{0, y, n, n, y, "trees"},
        known_case{0, n, y, y, y, "trees"},   known_case{0, n, y, y, n, "tlp"},     known_case{0, n, y, n, n, "none"},
        known_case{0, y, y, y, y, "weights"},
    };
    for (const auto& c : cases) {
        augur::session_search asked;
        asked.trials = 17;
        asked.weights = c.weights ? "weights" : "";
        asked.language = c.language ? "folder" : "";
        const auto chosen = augur::choose_search(asked, {c.records, c.tlp, c.xgboost});
        CAPTURE(chosen.why);
        CHECK(chosen.search.model == c.model);
        CHECK(chosen.search.language == asked.language); // a language model that is there writes
        CHECK(chosen.search.trials == 17);
        CHECK(chosen.why.starts_with("model auto: "));
        const auto graphs = augur::choose_search(asked, {c.records, c.tlp, c.xgboost, true}); // weights of MetaTune instead of TLP's
        auto as_prior = chosen.search;
        if (c.model == "weights" && !c.language && augur::detail::has_bayes) as_prior.strategy = "bayes";
        CHECK(graphs.search == as_prior);
        CHECK((graphs.why.find("MetaTune with the given weights") != std::string::npos) == (c.model == "weights"));
        CHECK((chosen.why.find("language model") != std::string::npos) == c.language);
        CHECK((chosen.search.language_trials == augur::drafted_trials) == (c.language && c.model != "none")); // then evolution

        const auto on_machine = augur::choose_search(asked, {c.records, c.tlp, c.xgboost, false, true});
        const bool drafts = c.model == "trees" && !c.language;                      // nothing else is known
        const bool ranks = c.language && c.model != "nest" && c.model != "weights"; // it chooses among what the language model drafts
        CHECK(on_machine.search.model == (ranks ? "crop" : c.model));
        CHECK((on_machine.why == "model auto: a language model drafts, ranked by Crop") == ranks);
        if (ranks) CHECK(on_machine.search.language_trials == 0); // all trials
        CHECK(on_machine.search.draft == (drafts ? "crop" : ""));
        CHECK((on_machine.why.find("Crop drafts") != std::string::npos) == drafts);

        auto again = on_machine.search; // what a session took, asked for anew
        again.model = "auto";
        CHECK(augur::choose_search(again, {9, c.tlp, c.xgboost, false, true}).search.draft.empty()); // records are known now

        asked.strategy = "bayes"; // needs no model
        if (!c.language) {
            const auto itself = augur::choose_search(asked, {c.records, c.tlp, c.xgboost});
            CHECK(itself.search.model == ((c.records > 0 && c.xgboost) || (c.weights && c.tlp) ? c.model : "none"));
            CHECK(augur::choose_search(asked, {c.records, c.tlp, c.xgboost, false, true}).search.draft.empty());
        }
        asked.strategy.clear();
        asked.model = "crop";
        CHECK(augur::choose_search(asked, {c.records, c.tlp, c.xgboost}).search == asked);
    }
}
