// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_RESIDUAL_HPP
#define AUGUR_MODEL_RESIDUAL_HPP

/// @file
/// A cost model that knows something before it has seen anything, and learns what it got wrong: a prior, and a learner of what is left over.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/model/concepts.hpp>
#include <augur/record/measurement.hpp>

namespace augur::inline v0 {

/// The prior's score plus the learner's. Models `trainable_cost_model`.
///
///     residual_model hybrid(crop_model(machine, threads, features_of), trees_online<step_list, task, row>(row_of));
///
/// The learner is taught ratios: a schedule that ran in twice the time that the prior predicts is to it one of 2 seconds. So with nothing measured
/// the order is the prior's, a prior that is right is left alone, and one that is wrong in the same way again and again is corrected. Both must score
/// -ln(seconds): a sum with a score that only ranks has no meaning, and is refused.
///
/// -infinity where one of them says so. A record that the prior cannot score teaches nothing; a failure is one to the learner too.
/// Threads     as for the members
template <class Prior, class Learner>
requires(Prior::meaning == score_meaning::negative_log_latency && Learner::meaning == score_meaning::negative_log_latency) class residual_model {
public:
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;

    residual_model(Prior prior, Learner learner) : prior_(std::move(prior)), learner_(std::move(learner)) {}

    /// Errors: those of the members.
    template <schedule S, task Task>
    requires cost_model<Prior, S, Task> && cost_model<Learner, S, Task>
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) {
        if (auto done = prior_.score(t, batch, scores); !done) return done;
        one_.resize(scores.size());
        if (auto done = learner_.score(t, batch, std::span<float>(one_)); !done) return done;
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += one_[i];
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
            one.known = std::isfinite(predicted);
            one.outcome.status = records[i].outcome->status;
            for (const double s : records[i].outcome->seconds) one.outcome.seconds.push_back(s * std::exp(static_cast<double>(predicted)));
        }
        std::vector<observation<S, Task>> taught;
        for (std::size_t i = 0; i < records.size(); ++i)
            if (ratios_[i].known) taught.push_back({records[i].task, records[i].schedule, &ratios_[i].outcome});
        return learner_.update(std::span<const observation<S, Task>>(taught));
    }

    [[nodiscard]] Prior& prior() noexcept { return prior_; }
    [[nodiscard]] Learner& learner() noexcept { return learner_; }

private:
    struct ratio {
        bool known = false;
        measurement outcome; ///< seconds over the prior's
    };

    Prior prior_;
    Learner learner_;
    std::vector<ratio> ratios_; ///< of the records, in their order: the prior is asked once for each
    std::vector<float> one_;
};

} // namespace augur::inline v0

#endif
