// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_DETAIL_CANDIDATES_HPP
#define AUGUR_SEARCH_BAYES_DETAIL_CANDIDATES_HPP

/// @file
/// The points among which a proposal of a Bayesian search chooses.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/detail/observed_points.hpp>
#include <augur/search/bayes/encoding.hpp>
#include <augur/search/bayes/options.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/count.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0::detail {

struct candidate_set {
    std::vector<decision_vector> points;
    std::vector<std::uint64_t> fingerprints;
    std::vector<word_features> words;
};

/// Distinct points that were not seen: all of a small space, else mutants and samples in the order in which they were drawn.
///
/// @param successes  the observed points whose mutants may be drawn
/// @param large      whether the space had too many points to list them; found out by the first call
template <class Space, class E>
[[nodiscard]] candidate_set draw_candidates(const Space& space, const observed_points& observed, std::vector<std::size_t> successes,
                                            const seen_points& seen, const bayesian_options& options, bool& large, random_engine& rng,
                                            const E& executor) {
    std::vector<decision_path> parents;
    std::sort(successes.begin(), successes.end(), [&](std::size_t a, std::size_t b) { return observed.before(a, b); });
    for (const std::size_t i : successes) {
        if (parents.size() == options.parents) break;
        if (auto path = trace_path(space, observed.decisions(i))) parents.push_back(*std::move(path));
    }
    std::vector<decision_vector> points;
    const bool all = !large && for_each_leaf(space, 16 * options.candidates, [&](std::span<const std::uint64_t> values) {
        points.emplace_back(values.begin(), values.end());
        return points.size() <= options.candidates;
    });
    large = !all;
    const auto mutants = parents.empty() ? std::size_t{0} : static_cast<std::size_t>(options.mutated * static_cast<double>(options.candidates));
    if (!all) points.assign(options.candidates, {});
    std::vector<std::uint64_t> fingerprints(points.size());
    const random_engine batch(rng());
    executor.bulk(points.size(), [&](std::size_t i) {
        random_engine own = batch.stream(i);
        if (!all && i < mutants) {
            decision_path path = mutate_path(space, parents[i % parents.size()], options.weights, own);
            while (own.below(2) == 1) path = mutate_path(space, path, options.weights, own);
            points[i] = std::move(path.values);
        } else if (!all) {
            points[i] = sample_path(space, own).values;
        }
        fingerprints[i] = fingerprint_decisions(space, points[i]);
    });
    std::vector<std::size_t> fresh;
    seen_points drawn;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (!seen.contains(fingerprints[i]) && drawn.insert(fingerprints[i])) fresh.push_back(i);
    std::vector<std::optional<word_features>> words(fresh.size());
    executor.bulk(fresh.size(), [&](std::size_t i) { words[i] = features_of_words(space, points[fresh[i]]); });
    candidate_set out;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (!words[i]) continue; // the walk met a decision without options
        out.points.push_back(std::move(points[fresh[i]]));
        out.fingerprints.push_back(fingerprints[fresh[i]]);
        out.words.push_back(*std::move(words[i]));
    }
    return out;
}

/// Those of some points that differ from one in a single decision.
[[nodiscard]] inline std::vector<std::size_t> one_decision_away(std::span<const std::uint64_t> from, std::span<const decision_vector> points) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].size() != from.size()) continue;
        std::size_t others = 0;
        for (std::size_t k = 0; k < from.size() && others < 2; ++k) others += points[i][k] != from[k] ? 1U : 0U;
        if (others == 1) out.push_back(i);
    }
    return out;
}

} // namespace augur::inline v0::detail

#endif
