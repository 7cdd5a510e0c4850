// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_PROPOSE_ROUND_HPP
#define AUGUR_TUNE_DETAIL_PROPOSE_ROUND_HPP

/// @file
/// The candidates of one round: asks the strategy of a task, realises its points, and leaves out schedules that are trials already.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/search/bound_scorer.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tune/detail/trial_book.hpp>
#include <augur/tune/detail/tuner_arguments.hpp>
#include <augur/tune/detail/tuning_problem.hpp>

namespace augur::inline v0::detail {

template <class S>
struct tuning_candidate {
    decision_vector decisions;
    std::uint64_t hash; ///< of the schedule
    S schedule;
};

/// The candidates of one round, and the proposals that are no candidates.
template <class S>
struct round_proposal {
    std::vector<tuning_candidate<S>> fresh;
    std::vector<std::pair<decision_vector, std::uint64_t>> known; ///< with the hash of the schedule
    std::vector<measured_decisions> unrealised;
};

/// Asks the strategy of a task for points, with the scores of the model; after an error of the model, which `book` notes, without scores.
template <class Task, class Space, class Strategy, class Model, class E, class S>
[[nodiscard]] result<std::vector<decision_vector>> ask_strategy(const tuning_problem<Task, Space, Strategy, Model, E>& p, trial_book<S>& book,
                                                                std::size_t task, std::size_t n, random_engine& rng) {
    if constexpr (!std::same_as<Model, no_model>) {
        using scorer = bound_scorer<S, Space, Model, Task, E>;
        scorer score =
            p.executor != nullptr ? scorer(p.spaces[task], p.tasks[task], *p.model, *p.executor) : scorer(p.spaces[task], p.tasks[task], *p.model);
        const random_engine initial_rng = rng;
        auto points = p.strategies[task].propose(p.spaces[task], score, n, rng);
        if (points) return points;
        book.note_model_error(points.error());
        rng = initial_rng;
    }
    constant_scorer flat;
    return p.strategies[task].propose(p.spaces[task], flat, n, rng);
}

/// Proposes up to `n` new candidates for a task. What cannot be realised or is known counts in the summary of `book`, and the strategy is asked again.
///
/// @param round     random numbers of this task and round
/// @param attempts  how often the strategy is asked, at most
template <class Task, class Space, class Strategy, class Model, class E, class S>
[[nodiscard]] result<round_proposal<S>> propose_round(const tuning_problem<Task, Space, Strategy, Model, E>& p, trial_book<S>& book, std::size_t task,
                                                      std::size_t n, const random_engine& round, std::size_t attempts) {
    round_proposal<S> out;
    std::unordered_set<std::uint64_t> proposed;
    for (std::size_t attempt = 0; attempt < attempts && out.fresh.size() < n; ++attempt) {
        random_engine rng = round.stream(attempt);
        auto points = ask_strategy(p, book, task, n - out.fresh.size(), rng);
        if (!points) return points.error();
        if (points->empty()) break;
        for (decision_vector& d : *points) {
            auto made = p.spaces[task].realise(d);
            if (!made) {
                ++book.summary.unrealised;
                out.unrealised.push_back({std::move(d), std::numeric_limits<double>::infinity()});
                continue;
            }
            const std::uint64_t hash = hash_schedule(*made);
            if (book.known[task].count(hash) != 0 || !proposed.insert(hash).second) {
                ++book.summary.repeated;
                out.known.emplace_back(std::move(d), hash);
                continue;
            }
            out.fresh.push_back({std::move(d), hash, std::move(*made)});
        }
    }
    return out;
}

} // namespace augur::inline v0::detail

#endif
