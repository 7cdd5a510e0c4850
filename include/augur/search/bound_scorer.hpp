// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BOUND_SCORER_HPP
#define AUGUR_SEARCH_BOUND_SCORER_HPP

/// @file
/// Scores decision vectors with a cost model: realises them as schedules of a fixed space and task, and queries the model.

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/model/concepts.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0 {

/// Realises decision vectors on the executor and scores the schedules with the model in one batch. The score is -infinity for a vector that cannot be
/// realised and for a score of NaN.
///
/// pre: space, task, model and executor outlive the scorer
template <class S, class Space, class Model, class Task, bulk_executor E = serial_executor>
    requires decision_space<Space, S> && cost_model<Model, S, Task>
class bound_scorer {
public:
    bound_scorer(const Space& space, const Task& task, Model& model) : space_(&space), task_(&task), model_(&model) {}
    bound_scorer(const Space& space, const Task& task, Model& model, E& executor)
        : space_(&space), task_(&task), model_(&model), executor_(executor) {}

    /// Scores `points`.   pre: points.size() == scores.size().   Errors: those of the model
    [[nodiscard]] result<void> operator()(std::span<const decision_vector> points, std::span<float> scores) {
        AUGUR_ASSERT(points.size() == scores.size(), "bound_scorer: shape");
        std::vector<std::optional<S>> schedules(points.size());
        executor_.bulk(points.size(), [&](std::size_t i) {
            if (auto s = space_->realise(points[i])) schedules[i].emplace(std::move(*s));
        });
        std::vector<S> batch;
        batch.reserve(points.size());
        for (auto& s : schedules)
            if (s) batch.push_back(std::move(*s));
        std::vector<float> batch_scores(batch.size(), unusable_score);
        if (auto ok = model_->score(*task_, std::span<const S>(batch), std::span<float>(batch_scores)); !ok) return ok;
        for (std::size_t i = 0, k = 0; i < schedules.size(); ++i) {
            scores[i] = schedules[i] ? batch_scores[k++] : unusable_score;
            if (std::isnan(scores[i])) scores[i] = unusable_score;
        }
        return {};
    }

private:
    const Space* space_;
    const Task* task_;
    Model* model_;
    detail::executor_ref<E> executor_;
};

} // namespace augur::inline v0

#endif
