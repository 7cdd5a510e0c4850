// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SESSION_DETAIL_SEARCH_GUIDE_HPP
#define AUGUR_SESSION_DETAIL_SEARCH_GUIDE_HPP

/// @file
/// Model and strategy of a session's search, whatever the model's type is: the tuner is compiled for them once, not once for each model.

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/model/concepts.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/search/bound_scorer.hpp>
#include <augur/search/draft_verify.hpp>
#include <augur/search/evolutionary.hpp>

namespace augur::inline v0::detail {

/// A cost model of Ansor schedules of any type, by reference.
class any_model {
public:
    using schedules = std::span<const step_list>;
    using records = std::span<const observation<step_list, loopnest::kernel_task>>;

    static constexpr score_meaning meaning = score_meaning::rank; ///< what all models have in common

    /// pre: `model` outlives it
    template <cost_model<step_list, loopnest::kernel_task> M>
    explicit any_model(M& model)
        : score_([&model](const loopnest::kernel_task& task, schedules batch, std::span<float> scores) { return model.score(task, batch, scores); }) {
        if constexpr (trainable_cost_model<M, step_list, loopnest::kernel_task>) update_ = [&model](records seen) { return model.update(seen); };
    }

    result<void> score(const loopnest::kernel_task& task, schedules batch, std::span<float> scores) { return score_(task, batch, scores); }
    result<void> update(records seen) { return update_ ? update_(seen) : result<void>(); }

private:
    std::function<result<void>(const loopnest::kernel_task&, schedules, std::span<float>)> score_;
    std::function<result<void>(records)> update_; ///< empty: the model does not learn
};

/// The evolutionary search, under the scores of the model, or drafting under those of another one.
template <class E>
class draft_or_evolve {
public:
    using draft_scorer = bound_scorer<step_list, loopnest::ansor_space, any_model, loopnest::kernel_task, E>;

    /// `draft`: null, or what scores the drafts.   pre: it outlives the strategy
    draft_or_evolve(evolutionary<E> search, draft_scorer* draft) : search_(std::move(search)) {
        if (draft != nullptr) drafts_.emplace(*std::exchange(search_, std::nullopt), *draft);
    }

    template <point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const loopnest::ansor_space& space, F& score, std::size_t n, random_engine& rng) {
        return drafts_ ? drafts_->propose(space, score, n, rng) : search_->propose(space, score, n, rng);
    }
    void observe(std::span<const measured_decisions> points) { drafts_ ? drafts_->observe(points) : search_->observe(points); }

private:
    std::optional<evolutionary<E>> search_; ///< one of the two is there
    std::optional<draft_then_verify<evolutionary<E>, draft_scorer>> drafts_;
};

} // namespace augur::inline v0::detail

#endif
