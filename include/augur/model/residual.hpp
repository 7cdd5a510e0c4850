// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_RESIDUAL_HPP
#define AUGUR_MODEL_RESIDUAL_HPP

/// @file
/// Residual cost model: an analytical prior plus a learned model of the prior's error.

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

/// Score of the prior + n / (n + half) * score of the learner, where n is the number of records of the task. Models `trainable_cost_model`.
///
/// ```cpp
/// residual_model model(prior, learner); // for example of a `crop::model` and a `trees_online`
/// ```
///
/// The learner is trained on ratios measured / predicted seconds: a schedule that takes twice the predicted time is a record of 2 seconds. So without
/// measurements the ranking is the prior's, and the learner corrects systematic errors of the prior. Both models must score -ln(seconds), because
/// their scores are added; the requires-clause refuses other models.
///
/// A learner may take the prior's score as an additional feature, if it has `score(task, batch, scores, prior)` and `update(records, prior)`, where
/// `prior` is a span with one score per schedule. Then it can also learn where the prior is unreliable.
///
/// The score is -infinity if one of the models gives -infinity. A record that the prior cannot score is skipped; a failure stays a failure for the
/// learner.
/// Threads     as for the members
template <class Prior, class Learner>
    requires(Prior::meaning == score_meaning::negative_log_latency && Learner::meaning == score_meaning::negative_log_latency)
class residual_model {
public:
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;

    /// @param half  number of records of a task at which the learner has weight 1/2: the weight is n / (n + half) with n records. Without records of
    ///              the task the score is the prior's, even if the learner was trained on other tasks.   pre: at least 0
    residual_model(Prior prior, Learner learner, double half = 8) : prior_(std::move(prior)), learner_(std::move(learner)), half_(half) {
        AUGUR_ASSERT(half >= 0, "residual_model: half");
    }

    /// Errors: those of the members.
    template <class Range, task Task>
        requires cost_model<Prior, range_schedule_t<Range>, Task> && cost_model<Learner, range_schedule_t<Range>, Task>
    [[nodiscard]] result<void> score(const Task& t, const Range& schedules, std::span<float> scores) {
        const auto batch = schedule_span(schedules);
        if (auto done = prior_.score(t, batch, scores); !done) return done;
        const auto at = counts_.find(task_identity(t));
        if (at == counts_.end()) return {};
        corrections_.resize(scores.size());
        const std::span<float> corrections(corrections_);
        const std::span<const float> prior_scores(scores);
        if constexpr (requires { learner_.score(t, batch, corrections, prior_scores); }) {
            if (auto done = learner_.score(t, batch, corrections, prior_scores); !done) return done;
        } else {
            if (auto done = learner_.score(t, batch, corrections); !done) return done;
        }
        const auto n = static_cast<double>(at->second);
        const auto share = static_cast<float>(n / (n + half_));
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += share * corrections[i];
        return {};
    }

    /// Takes all records so far, oldest first. The records of the previous call must be a prefix of `records`. Errors: those of the members.
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
        const std::span<const float> prior_scores(prior);
        if constexpr (requires { learner_.update(all, prior_scores); }) return learner_.update(all, prior_scores);
        else return learner_.update(all);
    }

    [[nodiscard]] Prior& prior() noexcept { return prior_; }
    [[nodiscard]] Learner& learner() noexcept { return learner_; }

private:
    struct ratio {
        float predicted = 0; ///< score of the prior
        measurement outcome; ///< measured seconds / predicted seconds
    };

    Prior prior_;
    Learner learner_;
    double half_;
    std::map<std::string, std::size_t, std::less<>> counts_; ///< records of each task that the prior can score
    std::vector<ratio> ratios_;                              ///< by record, so that the prior scores each record once
    std::vector<float> corrections_;
};

} // namespace augur::inline v0

#endif
