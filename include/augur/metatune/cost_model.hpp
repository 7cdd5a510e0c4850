// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_COST_MODEL_HPP
#define AUGUR_METATUNE_COST_MODEL_HPP

/// @file
/// MetaTune's online cost model: adapts meta-trained weights to each task on the measurements of a running search.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/metatune/fine_tuning.hpp>
#include <augur/metatune/inference.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/samples.hpp>
#include <augur/model/concepts.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {
namespace metatune {

/// Extracts the loops of a candidate.
///
/// Syntax      `f(task, schedule) -> result<loop_rows>`
/// Semantics   equal tasks and schedules give equal rows, independent of earlier calls; an error: the candidate cannot be scored
template <class F, class S, class Task>
concept loop_rows_of = requires(F& f, const Task& t, const S& s) {
    { f(t, s) } -> std::same_as<result<loop_rows>>;
};

/// Graph network that starts from meta-trained weights and adapts to each task by `fine_tune` on all records of the task so far. Models
/// `trainable_cost_model`.
///
/// Score: `score_of` the outputs of the task's own weights; of the start weights for a task without records; 0 if there are neither. A candidate
/// without loops (`F` fails, or a feature is not finite) scores -infinity and is not a training sample.
///
/// Each adaptation starts again from the start weights, so the weights of a task depend on its records and their order only, not on the number of
/// `update` calls; a resumed run gets the weights of an uninterrupted one. Labels are relative to the least latency of the task among its records.
/// Threads: use an object from one thread at a time.
template <schedule S, task Task, loop_rows_of<S, Task> F>
class cost_model {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Starts from random weights: a task scores 0 until its first adaptation.   pre: c.check(), options.check()
    explicit cost_model(F loops_of, const config& c, random_engine rng, fine_tuning_options options = {})
        : cost_model(std::move(loops_of), network<float>::random_init(c, rng), options) {
        trained_ = false;
    }
    /// Starts from trained weights.   pre: options.check()
    cost_model(F loops_of, network<float> start, fine_tuning_options options = {})
        : loops_of_(std::move(loops_of)), start_(std::move(start)), options_(options) {
        AUGUR_ASSERT(options_.check(), "metatune::cost_model: options");
    }

    /// scores[i] <- score of batch[i]. Errors: shape_mismatch (other numbers of scores, or loops that do not fit the network).
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) {
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch, "metatune: expected as many scores as schedules, got " + std::to_string(scores.size()) + " and " +
                                                   std::to_string(batch.size())};
        const auto at = adapted_.find(task_identity(t));
        const network<float>* const net = at != adapted_.end() && at->second.net ? &*at->second.net : trained_ ? &start_ : nullptr;
        std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
        places_.clear();
        if (net != nullptr) inference_.begin(*net);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto loops = loops_of_(t, batch[i]);
            if (!loops) continue;
            const auto fits = net != nullptr ? inference_.add(*loops) : check(*loops, start_.config);
            if (!fits && fits.error().code != errc::invalid_argument) return fits; // a feature that is not finite has no score
            if (fits) places_.push_back(i);
        }
        if (net == nullptr) {
            for (const std::size_t i : places_) scores[i] = 0;
            return {};
        }
        const auto outputs = inference_.outputs();
        const auto width = static_cast<std::size_t>(outputs.cols());
        for (std::size_t g = 0; g < places_.size(); ++g)
            if (const float score = score_of({outputs.data() + g * width, width}); std::isfinite(score)) scores[places_[g]] = score;
        return {};
    }

    /// Adapts the weights of each task that has more records than at the last call.
    /// Errors, after which the weights of this and of later tasks are those of before: shape_mismatch (loops that do not fit the network), limit (the
    /// training diverged).
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records) {
        std::map<std::string, std::vector<const observation<S, Task>*>, std::less<>> tasks; // keyed by task_identity, because task objects may move
        for (const auto& r : records) tasks[task_identity(*r.task)].push_back(&r);
        for (const auto& [identity, of_task] : tasks) {
            task_weights& to = adapted_[identity];
            if (of_task.size() == to.records) continue;
            task_samples samples;
            for (const auto* r : of_task) {
                auto loops = loops_of_(*r->task, *r->schedule);
                if (!loops || !loops->features.allFinite()) continue;
                samples.candidates.push_back(*std::move(loops));
                samples.seconds.push_back(r->outcome->latency());
            }
            if (teaches(samples)) {
                network<float> net = start_;
                if (auto done = fine_tune(net, samples, options_); !done) return done;
                to.net = std::move(net);
            }
            to.records = of_task.size();
        }
        return {};
    }

    /// Weights that a task has adapted; null: none yet.
    [[nodiscard]] const network<float>* adapted(const Task& t) const {
        const auto at = adapted_.find(task_identity(t));
        return at == adapted_.end() || !at->second.net ? nullptr : &*at->second.net;
    }

private:
    struct task_weights {
        std::optional<network<float>> net;
        std::size_t records = 0; ///< number of the task's records at the last adaptation
    };

    /// Failures alone teach the second output only.
    [[nodiscard]] bool teaches(const task_samples& samples) const {
        return start_.config.outputs == 2 ? !samples.seconds.empty() : std::isfinite(samples.least());
    }

    F loops_of_;
    network<float> start_;
    bool trained_ = true; ///< do the start weights score?
    fine_tuning_options options_;
    std::map<std::string, task_weights, std::less<>> adapted_; ///< by task_identity
    inference inference_;
    std::vector<std::size_t> places_; ///< in the batch, of each candidate that is scored
};

} // namespace metatune
} // namespace augur::inline v0

#endif
