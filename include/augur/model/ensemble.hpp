// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_ENSEMBLE_HPP
#define AUGUR_MODEL_ENSEMBLE_HPP

/// @file
/// Several cost models as one.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/model/concepts.hpp>

namespace augur::inline v0 {

/// The mean of several cost models' scores. Models `cost_model` where `Member` does.
///
/// Networks that differ in nothing but their seed agree on programs like those they learned from and differ on others: there one network alone may
/// pick a very slow program, and the mean seldom does. The members should have learned alike, so that their scores have one scale.
///
/// Cost        that of all members together; allocates nothing once it has seen a batch as large, if the members do not
/// Threads     as for a member
template <class Member>
class ensemble {
public:
    static constexpr score_meaning meaning = Member::meaning;

    /// pre: at least one member
    explicit ensemble(std::vector<Member> members) : members_(std::move(members)) { AUGUR_ASSERT(!members_.empty(), "ensemble: no member"); }

    /// scores[i] <- the mean of the members' scores of batch[i], -infinity where one of them has that. Errors: those of the members.
    template <schedule S, task Task>
    requires cost_model<Member, S, Task> result<void> score(const Task& task, std::span<const S> batch, std::span<float> scores) {
        if (auto done = members_.front().score(task, batch, scores); !done) return done;
        one_.resize(scores.size());
        for (std::size_t m = 1; m < members_.size(); ++m) {
            if (auto done = members_[m].score(task, batch, std::span<float>(one_)); !done) return done;
            for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += one_[i];
        }
        for (float& s : scores) s /= static_cast<float>(members_.size());
        return {};
    }

private:
    std::vector<Member> members_;
    std::vector<float> one_;
};

} // namespace augur::inline v0

#endif
