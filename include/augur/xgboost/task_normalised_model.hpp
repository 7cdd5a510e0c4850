// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TASK_NORMALISED_MODEL_HPP
#define AUGUR_XGBOOST_TASK_NORMALISED_MODEL_HPP

/// @file
/// Boosted trees that look at what a schedule does, and a model that reads what it says, as one cost model for a search over kernels that nobody has
/// measured (decision 18).

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

/// A `task_normalised_model` of trees alone.
struct no_opinion {};

/// The mean of trees of one view, and a second model's opinion. Models `cost_model` for the tasks whose candidates it has met.
///
///     auto network = frozen->scorer(threads);
///     task_normalised_model<step_list, kernel_task, nest_row, decltype(network)> model(trees, nest_row(target), network);
///     for (const auto& t : tasks) model.meet(t, samples_of_its_space); // some hundreds, drawn at random
///     tuner t(tasks, spaces, strategies, model, threads, options);
///
/// Where all candidates are known from the start, as in a log, `view_trees` propose those of several views in turn.
///
/// Memory      a few rows a task, or all that were met where the view is `ranked`; of a batch its rows twice
/// Threads     one thread an object
template <schedule S, task Task, row_features_of<S, Task> F, class Opinion = no_opinion>
requires(std::same_as<Opinion, no_opinion> || cost_model<Opinion, S, Task>) class task_normalised_model {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Of trees alone.
    /// @param trees  trained alike, each with another seed.   pre: at least one, all of one view and of `row_of.columns()` columns
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of) requires std::same_as<Opinion, no_opinion>
        : task_normalised_model(std::move(trees), std::move(row_of), nullptr, {}) {}
    /// @param opinion  must outlive it
    /// @param weigh    how much that counts
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of, Opinion& opinion, bounded_blend weigh = {})
        : task_normalised_model(std::move(trees), std::move(row_of), &opinion, weigh) {}

    /// What the candidates of a task are like: these, in place of those of a call before. Those whose row cannot be made are passed over.
    /// Errors: not_found, none has one; those of the opinion.
    [[nodiscard]] result<void> set_normaliser(const Task& t, std::span<const S> candidates) {
        describe(t, candidates);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates.size(); ++i)
            if (fine_[i]) std::copy_n(rows_.begin() + at(i), row_of_.columns(), rows_.begin() + at(kept++));
        if (kept == 0)
            return error{errc::not_found, "relative model: none of " + std::to_string(candidates.size()) + " candidates of " +
                                              std::string(task_key(t)) + " has features"};
        known all{task_normaliser::of(std::span(rows_).first(kept * row_of_.columns()), row_of_.columns(), trees_.front().view()), {}};
        if constexpr (asked) {
            said_.resize(candidates.size());
            if (auto done = opinion_->score(t, candidates, std::span<float>(said_)); !done) return done;
            all.said.emplace(task_normaliser::of(said_, 1));
        }
        known_.insert_or_assign(task_identity(t), std::move(all));
        return {};
    }

    /// scores[i] <- of batch[i]; -infinity where its row cannot be made or has a number that is not finite. O(N) rows, their trees and the opinion.
    /// Errors: not_found, a task that was not met; shape_mismatch; those of the trees and the opinion.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) {
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch,
                         "relative model: " + std::to_string(batch.size()) + " schedules and room for " + std::to_string(scores.size()) + " scores"};
        const auto met = known_.find(task_identity(t));
        if (met == known_.end())
            return error{errc::not_found, "relative model: expected a task whose candidates it has met, got " + std::string(task_key(t))};
        const known& all = met->second;
        describe(t, batch);
        std::fill(scores.begin(), scores.end(), 0.0F);
        one_.resize(batch.size());
        for (const auto& trees : trees_) {
            related_ = rows_;
            if (auto done = trees.score(all.rows, related_, one_); !done) return done;
            for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += one_[i] / static_cast<float>(trees_.size());
        }
        if constexpr (asked) {
            said_.resize(batch.size());
            if (auto done = opinion_->score(t, batch, std::span<float>(said_)); !done) return done;
            weigh_.add(*all.said, said_, scores);
        }
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (!fine_[i]) scores[i] = -std::numeric_limits<float>::infinity();
        return {};
    }

    /// How the candidates of a task look, as they were met; null where they were not. Until the next `meet`.
    [[nodiscard]] const task_normaliser* known_of(const Task& t) const {
        const auto met = known_.find(task_identity(t));
        return met == known_.end() ? nullptr : &met->second.rows;
    }
    /// Other trees, from now on.   pre: at least one, of the view and the columns of those before
    void use(std::vector<task_normalised_trees> trees) {
        check(trees, trees_.front().view());
        trees_ = std::move(trees);
    }

private:
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of, Opinion* opinion, bounded_blend weigh)
        : trees_(std::move(trees)), row_of_(std::move(row_of)), opinion_(opinion), weigh_(weigh) {
        check(trees_, trees_.empty() ? normalisation::relative : trees_.front().view());
    }
    void check([[maybe_unused]] std::span<const task_normalised_trees> trees, [[maybe_unused]] normalisation view) const {
        AUGUR_ASSERT(!trees.empty(), "relative_model: no trees");
        for ([[maybe_unused]] const auto& t : trees)
            AUGUR_ASSERT(t.view() == view && t.columns() == row_of_.columns(), "relative_model: trees of another view or other rows");
    }

    static constexpr bool asked = !std::same_as<Opinion, no_opinion>;
    struct known {
        task_normaliser rows;
        std::optional<task_normaliser> said;
    };

    [[nodiscard]] std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i * row_of_.columns()); }
    /// rows_ and fine_ <- of a batch; a row that there is not is of zeros.
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
    bounded_blend weigh_;
    std::map<std::string, known, std::less<>> known_; ///< by task: the task objects may move
    std::vector<float> rows_, related_, one_, said_;
    std::vector<bool> fine_;
};

} // namespace augur::inline v0

#endif
