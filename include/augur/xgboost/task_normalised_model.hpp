// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TASK_NORMALISED_MODEL_HPP
#define AUGUR_XGBOOST_TASK_NORMALISED_MODEL_HPP

/// @file
/// Cost model for kernels that are not in the training data: boosted trees on task-normalised program features, optionally with a bounded blend of a
/// second model such as TLP (decision 18).

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
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/model/bounded_blend.hpp>
#include <augur/model/concepts.hpp>
#include <augur/model/row_features.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/workload/concepts.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

namespace augur::inline v0 {

/// Tag type: a `task_normalised_model` without a second model.
struct no_opinion {};

/// Mean score of several `task_normalised_trees`, plus the correction of a second model. Models `cost_model` for tasks with `set_normaliser`.
///
/// ```cpp
/// task_normalised_model<my_schedule, my_task, my_row, my_opinion> model(trees, my_row(), opinion);
/// for (const auto& t : tasks)
///     if (auto set = model.set_normaliser(t, samples_of(t)); !set) return set.error(); // a few hundred random candidates of its space
/// ```
///
/// Memory      per task a few rows, or with `normalisation::ranked` all rows of `set_normaliser`; twice the rows of a batch
/// Threads     use an object from one thread at a time
template <schedule S, task Task, row_features_of<S, Task> F, class Opinion = no_opinion>
    requires(std::same_as<Opinion, no_opinion> || cost_model<Opinion, S, Task>)
class task_normalised_model {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Without a second model.
    /// @param trees  trained with different seeds.   pre: at least one, all with the same normalisation and with `row_of.columns()` columns
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of)
        requires std::same_as<Opinion, no_opinion>
        : task_normalised_model(std::move(trees), std::move(row_of), nullptr, {}) {}
    /// @param opinion  second model; must outlive this object
    /// @param blend    weight and scale of its correction
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of, Opinion& opinion, bounded_blend blend = {})
        : task_normalised_model(std::move(trees), std::move(row_of), &opinion, blend) {}

    /// Replaces the per-task feature statistics with those of `candidates`. Skips candidates without a feature row.
    /// Errors: not_found (no candidate has a feature row); those of the second model.
    [[nodiscard]] result<void> set_normaliser(const Task& t, std::span<const S> candidates) {
        describe(t, candidates);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates.size(); ++i)
            if (fine_[i]) std::copy_n(rows_.begin() + at(i), row_of_.columns(), rows_.begin() + at(kept++));
        if (kept == 0)
            return error{errc::not_found, "task_normalised_model: none of " + std::to_string(candidates.size()) + " candidates of " +
                                              std::string(task_key(t)) + " has features"};
        known all{task_normaliser::fit(std::span(rows_).first(kept * row_of_.columns()), row_of_.columns(), trees_.front().method()), {}};
        if constexpr (has_second) {
            second_scores_.resize(candidates.size());
            if (auto done = opinion_->score(t, candidates, std::span<float>(second_scores_)); !done) return done;
            all.second.emplace(task_normaliser::fit(second_scores_, 1));
        }
        known_.insert_or_assign(task_identity(t), std::move(all));
        return {};
    }

    /// scores[i] <- score of batch[i]; -infinity if there is no feature row or a feature is not finite. Cost: N rows, the trees and the second model.
    /// Errors: not_found (a task without `set_normaliser`), shape_mismatch; those of the trees and the second model.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) {
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch, "task_normalised_model: expected as many scores as schedules, got " + std::to_string(scores.size()) +
                                                   " and " + std::to_string(batch.size())};
        const auto met = known_.find(task_identity(t));
        if (met == known_.end())
            return error{errc::not_found, "task_normalised_model: expected a task whose candidates it has met, got " + std::string(task_key(t))};
        const known& all = met->second;
        describe(t, batch);
        std::fill(scores.begin(), scores.end(), 0.0F);
        member_scores_.resize(batch.size());
        for (const auto& trees : trees_) {
            related_ = rows_;
            if (auto done = trees.score(all.rows, related_, member_scores_); !done) return done;
            for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += member_scores_[i] / static_cast<float>(trees_.size());
        }
        if constexpr (has_second) {
            second_scores_.resize(batch.size());
            if (auto done = opinion_->score(t, batch, std::span<float>(second_scores_)); !done) return done;
            blend_.add(*all.second, second_scores_, scores);
        }
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (!fine_[i]) scores[i] = -std::numeric_limits<float>::infinity();
        return {};
    }

    /// Normaliser of a task; null without `set_normaliser`. Valid until the next `set_normaliser`.
    [[nodiscard]] const task_normaliser* known_of(const Task& t) const {
        const auto met = known_.find(task_identity(t));
        return met == known_.end() ? nullptr : &met->second.rows;
    }
    /// Replaces the trees.   pre: at least one, with the normalisation and the columns of the current trees
    void use(std::vector<task_normalised_trees> trees) {
        check(trees, trees_.front().method());
        trees_ = std::move(trees);
    }

private:
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of, Opinion* opinion, bounded_blend blend)
        : trees_(std::move(trees)), row_of_(std::move(row_of)), opinion_(opinion), blend_(blend) {
        check(trees_, trees_.empty() ? normalisation::relative : trees_.front().method());
    }
    void check([[maybe_unused]] std::span<const task_normalised_trees> trees, [[maybe_unused]] normalisation method) const {
        AUGUR_ASSERT(!trees.empty(), "task_normalised_model: no trees");
        for ([[maybe_unused]] const auto& t : trees)
            AUGUR_ASSERT(t.method() == method && t.columns() == row_of_.columns(),
                         "task_normalised_model: trees of another normalisation or other columns");
    }

    static constexpr bool has_second = !std::same_as<Opinion, no_opinion>;
    struct known {
        task_normaliser rows;
        std::optional<task_normaliser> second; ///< statistics of the second model's scores
    };

    [[nodiscard]] std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i * row_of_.columns()); }
    /// rows_, fine_ <- feature rows of a batch, and whether each is valid; an invalid row is set to zeros.
    void describe(const Task& t, std::span<const S> batch) {
        const std::size_t columns = row_of_.columns();
        rows_.assign(batch.size() * columns, 0.0F);
        fine_.assign(batch.size(), false);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto row = std::span(rows_).subspan(i * columns, columns);
            fine_[i] = static_cast<bool>(row_of_(t, batch[i], row)) && std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); });
            if (!fine_[i]) std::fill(row.begin(), row.end(), 0.0F);
        }
    }

    std::vector<task_normalised_trees> trees_;
    F row_of_;
    Opinion* opinion_;
    bounded_blend blend_;
    std::map<std::string, known, std::less<>> known_; ///< by task_identity, because task objects may move
    std::vector<float> rows_, related_, member_scores_, second_scores_;
    std::vector<bool> fine_; ///< by row: all features are finite
};

} // namespace augur::inline v0

#endif
