// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_EXPECT_LATENCIES_HPP
#define AUGUR_TUNE_DETAIL_EXPECT_LATENCIES_HPP

/// @file
/// The latency that a model or a strategy expects of the candidates still to be measured, for the progress of a run.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include <augur/search/concepts.hpp>
#include <augur/tune/detail/latency_of_score.hpp>
#include <augur/tune/detail/propose_round.hpp>
#include <augur/tune/detail/trial_book.hpp>
#include <augur/tune/detail/tuner_arguments.hpp>
#include <augur/tune/detail/tuning_problem.hpp>

namespace augur::inline v0::detail {

/// The latency that the model expects of each candidate of a task, infinity where its score is not finite; empty if the model has no opinion.
template <class Task, class Space, class Strategy, class Model, class E, class S>
[[nodiscard]] std::vector<double> latencies_of_scores(const tuning_problem<Task, Space, Strategy, Model, E>& p,
                                                      const std::deque<tuned_trial<S>>& trials, std::size_t task,
                                                      const std::vector<tuning_candidate<S>>& candidates) {
    std::vector<double> out;
    if constexpr (!std::same_as<Model, no_model>) {
        constexpr std::size_t most = 512; // trials, so that the cost of a round does not grow with the run
        std::vector<S> batch;
        std::vector<double> latencies;
        for (std::size_t i = trials.size(); i-- > 0 && batch.size() < most;)
            if (trials[i].task == task) {
                batch.push_back(trials[i].schedule);
                latencies.push_back(trials[i].outcome.latency());
            }
        if (batch.size() < latency_of_score::least || candidates.empty()) return out;
        for (const auto& c : candidates) batch.push_back(c.schedule);
        std::vector<float> scores(batch.size());
        if (!p.model->score(p.tasks[task], std::span<const S>(batch), std::span<float>(scores))) return out; // the next proposal reports the error
        const auto line = latency_of_score::fit(std::span(scores).first(latencies.size()), latencies);
        if (!line) return out;
        for (const float score : std::span(scores).subspan(latencies.size()))
            out.push_back(std::isfinite(score) ? (*line)(score) : std::numeric_limits<double>::infinity());
    }
    return out;
}

/// For each candidate of a task the latency that the model, or else the strategy, expects of the best one after it; infinity where neither has an
/// opinion. See `tuning_progress`.
template <class Task, class Space, class Strategy, class Model, class E, class S>
[[nodiscard]] std::vector<double> expect_latencies(const tuning_problem<Task, Space, Strategy, Model, E>& p, const std::deque<tuned_trial<S>>& trials,
                                                   std::size_t task, const std::vector<tuning_candidate<S>>& candidates) {
    std::vector<double> out = latencies_of_scores(p, trials, task, candidates);
    if (out.empty())
        for (const auto& c : candidates) out.push_back(expected_latency_of(p.strategies[task], c.decisions));
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = out.size(); i-- > 0;) {
        const double own = out[i];
        out[i] = best;
        if (std::isfinite(own)) best = (std::min)(best, own);
    }
    return out;
}

} // namespace augur::inline v0::detail

#endif
