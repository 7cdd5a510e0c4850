// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_RESIDUAL_HPP
#define AUGUR_MODEL_RESIDUAL_HPP

/// @file
/// A cost model that knows something before it has seen anything, and learns what it got wrong: a prior, and a learner of what is left over.

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/model/concepts.hpp>
#include <augur/record/measurement.hpp>
#include <augur/workload/concepts.hpp>

namespace augur::inline v0 {

/// The prior's score plus the learner's, the more of it the more records the task has. Models `trainable_cost_model`.
///
///     residual_model hybrid(crop::model(machine, threads, features_of), trees_online<step_list, task, row>(row_of));
///
/// The learner is taught ratios: a schedule that ran in twice the time that the prior predicts is to it one of 2 seconds. So with nothing measured
/// the order is the prior's, a prior that is right is left alone, and one that is wrong in the same way again and again is corrected. Both must score
/// -ln(seconds): a sum with a score that only ranks has no meaning, and is refused.
///
/// A learner may also be told what the prior says, as one more thing to learn from: where the prior is sure of itself and wrong, no other number may
/// show it. That is one with `score(task, batch, scores, prior)` and `update(records, prior)`, spans of a prior's score for each schedule.
///
/// -infinity where one of them says so. A record that the prior cannot score teaches nothing; a failure is one to the learner too.
/// Threads     as for the members
template <class Prior, class Learner>
requires(Prior::meaning == score_meaning::negative_log_latency && Learner::meaning == score_meaning::negative_log_latency) class residual_model {
public:
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;

    /// @param half  records of a task with which half of what the learner says counts: n / (n + half) with n of them. What was learned from other
    ///              tasks alone is not believed: the first round of a task is the prior's.   pre: at least 0
    residual_model(Prior prior, Learner learner, double half = 8) : prior_(std::move(prior)), learner_(std::move(learner)), half_(half) {
        AUGUR_ASSERT(half >= 0, "residual_model: half");
    }

    /// Errors: those of the members.
    template <schedule S, task Task>
    requires cost_model<Prior, S, Task> && cost_model<Learner, S, Task>
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) {
        if (auto done = prior_.score(t, batch, scores); !done) return done;
        const auto at = counts_.find(task_identity(t));
        if (at == counts_.end()) return {};
        one_.resize(scores.size());
        const std::span<float> own(one_);
        const std::span<const float> said(scores);
        if constexpr (requires { learner_.score(t, batch, own, said); }) {
            if (auto done = learner_.score(t, batch, own, said); !done) return done;
        } else {
            if (auto done = learner_.score(t, batch, own); !done) return done;
        }
        const auto n = static_cast<double>(at->second);
        const auto share = static_cast<float>(n / (n + half_));
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += share * one_[i];
        return {};
    }

    /// Takes all records so far, oldest first; those of the last call come first among them. Errors: those of the members.
    template <schedule S, task Task>
    requires cost_model<Prior, S, Task> && trainable_cost_model<Learner, S, Task>
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records) {
        for (std::size_t i = ratios_.size(); i < records.size(); ++i) {
            float predicted = 0;
            if (auto done = prior_.score(*records[i].task, std::span<const S>(records[i].schedule, 1), std::span<float>(&predicted, 1)); !done)
                return done;
            auto& one = ratios_.emplace_back();
            one.predicted = predicted;
            if (std::isfinite(predicted)) ++counts_[task_identity(*records[i].task)];
            one.outcome.status = records[i].outcome->status;
            for (const double s : records[i].outcome->seconds) one.outcome.seconds.push_back(s * std::exp(static_cast<double>(predicted)));
        }
        std::vector<observation<S, Task>> taught;
        std::vector<float> prior;
        for (std::size_t i = 0; i < records.size(); ++i) {
            if (!std::isfinite(ratios_[i].predicted)) continue;
            taught.push_back({records[i].task, records[i].schedule, &ratios_[i].outcome});
            prior.push_back(ratios_[i].predicted);
        }
        const std::span<const observation<S, Task>> all(taught);
        const std::span<const float> said(prior);
        if constexpr (requires { learner_.update(all, said); }) return learner_.update(all, said);
        else return learner_.update(all);
    }

    [[nodiscard]] Prior& prior() noexcept { return prior_; }
    [[nodiscard]] Learner& learner() noexcept { return learner_; }

private:
    struct ratio {
        float predicted = 0; ///< the prior's score
        measurement outcome; ///< seconds over the prior's
    };

    Prior prior_;
    Learner learner_;
    double half_;
    std::map<std::string, std::size_t, std::less<>> counts_; ///< records of each task that the prior can score
    std::vector<ratio> ratios_;                              ///< of the records, in their order: the prior is asked once for each
    std::vector<float> one_;
};

} // namespace augur::inline v0

#endif
