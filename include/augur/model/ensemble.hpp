// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_ENSEMBLE_HPP
#define AUGUR_MODEL_ENSEMBLE_HPP

/// @file
/// Ensemble cost model: the mean score of several models of one type.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/model/concepts.hpp>

namespace augur::inline v0 {

/// Mean of the scores of several cost models. Models `cost_model`, or `trainable_cost_model`, if `Member` does.
///
/// Neural models that differ only in their seed agree on programs similar to the training data and disagree on others. There a single model may rank
/// a very slow program first; the mean rarely does. Train all members on the same data and objective, so that their scores have the same scale.
///
/// Cost        sum of the members' costs; no allocation after a batch of the same size, if the members do not allocate
/// Threads     as for a member
template <class Member>
class ensemble {
public:
    static constexpr score_meaning meaning = Member::meaning;

    /// pre: at least one member
    explicit ensemble(std::vector<Member> members) : members_(std::move(members)) { AUGUR_ASSERT(!members_.empty(), "ensemble: no member"); }

    /// scores[i] <- mean of the members' scores of batch[i]; -infinity if any member's score is -infinity. Errors: those of the members.
    template <class Range, task Task>
        requires cost_model<Member, range_schedule_t<Range>, Task>
    result<void> score(const Task& task, const Range& schedules, std::span<float> scores) {
        const auto batch = schedule_span(schedules);
        if (auto done = members_.front().score(task, batch, scores); !done) return done;
        one_.resize(scores.size());
        for (std::size_t m = 1; m < members_.size(); ++m) {
            if (auto done = members_[m].score(task, batch, std::span<float>(one_)); !done) return done;
            for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += one_[i];
        }
        for (float& s : scores) s /= static_cast<float>(members_.size());
        return {};
    }

    /// Updates each member on its own. Errors: the first of a member; the members behind it are not updated.
    template <schedule S, task Task>
        requires trainable_cost_model<Member, S, Task>
    result<void> update(std::span<const observation<S, Task>> records) {
        for (Member& m : members_)
            if (auto done = m.update(records); !done) return done;
        return {};
    }

private:
    std::vector<Member> members_;
    std::vector<float> one_;
};

} // namespace augur::inline v0

#endif
