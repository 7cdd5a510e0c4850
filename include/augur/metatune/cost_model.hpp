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
#include <augur/core/executor.hpp>
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
/// Threads     with an executor of several threads `cost_model` makes concurrent calls of one object
template <class F, class S, class Task>
concept loop_rows_of = requires(F& f, const Task& t, const S& s) {
    { f(t, s) } -> std::same_as<result<loop_rows>>;
};

/// Graph network that starts from meta-trained weights and adapts to each task by `fine_tune` on all records of the task so far. Models
/// `trainable_cost_model`.
///
/// Score: `score_of` the outputs of the task's own weights; of the start weights for a task without records; 0 if there are neither. A candidate
/// without loops (`F` fails, or a feature is not finite) scores -infinity, with the reason in `last_failure`, and is not a training sample.
///
/// Each adaptation starts again from the start weights, so the weights of a task depend on its records and their order only, not on the number of
/// `update` calls; a resumed run gets the weights of an uninterrupted one. Labels are relative to the least latency of the task among its records.
/// Threads: use an object from one thread at a time. With an executor, `F` runs on its threads: then it must be safe to call from several threads at
/// once. The bits of scores and weights do not depend on the number of threads.
template <schedule S, task Task, loop_rows_of<S, Task> F, bulk_executor E = serial_executor>
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
    /// Starts from trained weights and extracts loops on the threads of `executor`.   pre: options.check(); `executor` outlives the model
    cost_model(F loops_of, network<float> start, E& executor, fine_tuning_options options = {})
        : cost_model(std::move(loops_of), std::move(start), options) {
        executor_ = augur::detail::executor_ref<E>(executor);
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
        failure_.reset();
        unscored_ = 0;
        if (net != nullptr) inference_.begin(*net);
        std::size_t failed = 0; // the last one in the batch
        const auto fails = [&](std::size_t i, error why) {
            if (failure_ && i < failed) return;
            failed = i;
            failure_ = std::move(why);
        };
        const auto candidate = [&](std::size_t i) { return loops_of_(t, batch[i]); };
        const auto add = [&](std::size_t i, const result<loop_rows>& loops) -> result<void> {
            const auto fits = !loops ? result<void>(loops.error()) : net != nullptr ? inference_.add(*loops) : check(*loops, start_.config);
            if (fits) places_.push_back(i);
            else if (loops && fits.error().code != errc::invalid_argument) return fits; // not a matter of the candidate
            else fails(i, fits.error());
            return {};
        };
        if (auto extracted = for_each_loops(batch.size(), candidate, add); !extracted) return extracted;
        unscored_ = batch.size() - places_.size();
        if (net == nullptr) {
            for (const std::size_t i : places_) scores[i] = 0;
            return {};
        }
        const auto outputs = inference_.outputs();
        const auto width = static_cast<std::size_t>(outputs.cols());
        for (std::size_t g = 0; g < places_.size(); ++g) {
            const float score = score_of({outputs.data() + g * width, width});
            if (std::isfinite(score)) {
                scores[places_[g]] = score;
            } else {
                ++unscored_;
                fails(places_[g], {errc::limit, "metatune: expected a finite score, got " + std::to_string(score)});
            }
        }
        return {};
    }

    /// The error of the last schedule in the last batch without a score; nullopt when all have one.
    [[nodiscard]] const std::optional<error>& last_failure() const noexcept { return failure_; }
    /// Number of schedules in the last batch without a score.
    [[nodiscard]] std::size_t unscored() const noexcept { return unscored_; }

    /// Adapts the weights of each task that has more records than at the last call.
    /// Errors: shape_mismatch (loops that do not fit the network), limit (the training diverged). Then the weights of the task are those of before until
    /// it has more records; the other tasks are adapted all the same, and the first error is returned.
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records) {
        std::map<std::string, std::vector<const observation<S, Task>*>, std::less<>> tasks; // keyed by task_identity, because task objects may move
        for (const auto& r : records) tasks[task_identity(*r.task)].push_back(&r);
        result<void> outcome;
        for (const auto& [identity, of_task] : tasks) {
            task_weights& to = adapted_[identity];
            if (of_task.size() == to.records) continue;
            if (of_task.size() < to.records) to.samples = {}, to.records = 0;
            const std::span seen =
                std::span(of_task).subspan(std::exchange(to.records, of_task.size())); // oldest first: the others are in the samples
            const auto candidate = [&](std::size_t i) { return loops_of_(*seen[i]->task, *seen[i]->schedule); };
            const auto add = [&](std::size_t i, result<loop_rows>& loops) -> result<void> {
                if (!loops || !loops->features.allFinite()) return {};
                to.samples.candidates.push_back(*std::move(loops));
                to.samples.seconds.push_back(seen[i]->outcome->latency());
                return {};
            };
            if (auto extracted = for_each_loops(seen.size(), candidate, add); !extracted) return extracted;
            if (teaches(to.samples)) {
                network<float> net = start_;
                if (auto done = fine_tune(net, to.samples, options_); done) to.net = std::move(net);
                else if (outcome) outcome = std::move(done);
            }
        }
        return outcome;
    }

    /// Weights that a task has adapted; null: none yet.
    [[nodiscard]] const network<float>* adapted(const Task& t) const {
        const auto at = adapted_.find(task_identity(t));
        return at == adapted_.end() || !at->second.net ? nullptr : &*at->second.net;
    }

private:
    struct task_weights {
        std::optional<network<float>> net;
        task_samples samples;    ///< of the records that can be scored
        std::size_t records = 0; ///< number of the task's records at the last adaptation
    };

    /// Calls take(i, loops_of(i)) in the order of i until it returns an error, which is returned. Extracts some at a time: the loops of a large batch may
    /// need 100 MB.
    template <class LoopsOf, class Take>
    [[nodiscard]] result<void> for_each_loops(std::size_t count, const LoopsOf& loops_of, const Take& take) {
        const std::size_t threads = executor_.concurrency(), most = threads > 1 ? 32 * threads : 1;
        for (std::size_t first = 0; first < count; first += most) {
            extracted_.resize((std::min)(most, count - first), loop_rows());
            executor_.bulk(extracted_.size(), [&](std::size_t i) { extracted_[i] = loops_of(first + i); });
            for (std::size_t i = 0; i < extracted_.size(); ++i)
                if (auto taken = take(first + i, extracted_[i]); !taken) return taken;
        }
        return {};
    }

    /// Failures alone teach the second output only.
    [[nodiscard]] bool teaches(const task_samples& samples) const {
        return start_.config.outputs == 2 ? !samples.seconds.empty() : std::isfinite(samples.least());
    }

    F loops_of_;
    augur::detail::executor_ref<E> executor_;
    network<float> start_;
    bool trained_ = true; ///< do the start weights score?
    fine_tuning_options options_;
    std::map<std::string, task_weights, std::less<>> adapted_; ///< by task_identity
    inference inference_;
    std::vector<result<loop_rows>> extracted_; ///< scratch of `for_each_loops`
    std::vector<std::size_t> places_;          ///< in the batch, of each candidate that is scored
    std::optional<error> failure_;
    std::size_t unscored_ = 0;
};

} // namespace metatune
} // namespace augur::inline v0

#endif
