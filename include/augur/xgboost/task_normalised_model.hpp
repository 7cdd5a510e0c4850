// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TASK_NORMALISED_MODEL_HPP
#define AUGUR_XGBOOST_TASK_NORMALISED_MODEL_HPP

/// @file
/// Cost model for kernels that are not in the training data: boosted trees on task-normalised features, trained offline or also online in a search,
/// optionally with a bounded blend of a second model such as TLP (decision 18).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
#include <augur/model/bounded_blend.hpp>
#include <augur/model/concepts.hpp>
#include <augur/model/row_features.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/record/measurement.hpp>
#include <augur/workload/concepts.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

namespace augur::inline v0 {

/// Training of the trees of a `task_normalised_model`.
enum class tree_training : std::uint8_t {
    offline, ///< before the search: the model scores
    online,  ///< before the search and at each update: the model scores and is retrained with the records of the search
};

/// Mean score of several `task_normalised_trees`, plus the correction of an optional second model. Models `cost_model` for tasks with
/// `set_normaliser`.
///
/// ```cpp
/// task_normalised_model<my_schedule, my_task, my_row> model(trees, my_row(), opinion); // or without a second model
/// for (const auto& t : tasks)
///     if (auto set = model.set_normaliser(t, samples_of(t)); !set) return set.error(); // a few hundred random candidates of its space
/// ```
///
/// Memory      per task a few rows, or with `normalisation::ranked` all rows of `set_normaliser`; the rows of a batch
/// Threads     use an object from one thread at a time
template <schedule S, task Task, row_features_of<S, Task> F, tree_training Training = tree_training::offline>
class task_normalised_model {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Without a second model.
    /// @param trees  trained with different seeds.   pre: at least one, all with the same normalisation and with `row_of.columns()` columns
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of) : trees_(std::move(trees)), row_of_(std::move(row_of)) {
        AUGUR_ASSERT(!trees_.empty(), "task_normalised_model: no trees");
        for ([[maybe_unused]] const auto& t : trees_)
            AUGUR_ASSERT(t.method() == trees_.front().method() && t.columns() == row_of_.columns(),
                         "task_normalised_model: trees of another normalisation or other columns");
    }
    /// With a second model.
    /// @param second  must outlive this object
    /// @param blend   weight and scale of its correction
    template <cost_model<S, Task> Second>
    task_normalised_model(std::vector<task_normalised_trees> trees, F row_of, Second& second, bounded_blend blend = {})
        : task_normalised_model(std::move(trees), std::move(row_of)) {
        second_ = [&second](const Task& t, std::span<const S> batch, std::span<float> scores) { return second.score(t, batch, scores); };
        blend_ = blend;
    }

    /// Replaces the per-task feature statistics with those of `candidates`. Skips candidates without a feature row.
    /// Errors: not_found (no candidate has a feature row); those of the second model.
    [[nodiscard]] result<void> set_normaliser(const Task& t, std::span<const S> candidates) {
        const std::size_t columns = row_of_.columns();
        extract_rows(t, candidates);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < candidates.size(); ++i)
            if (valid_[i]) std::copy_n(&rows_[i * columns], columns, &rows_[kept++ * columns]);
        if (kept == 0)
            return error{errc::not_found, "task_normalised_model: none of " + std::to_string(candidates.size()) + " candidates of " +
                                              std::string(task_key(t)) + " has features"};
        statistics all{task_normaliser::fit(std::span(rows_).first(kept * columns), columns, trees_.front().method()), {}};
        if (second_) {
            second_scores_.resize(candidates.size());
            if (auto done = second_(t, candidates, second_scores_); !done) return done;
            all.second_scores.emplace(task_normaliser::fit(second_scores_, 1));
        }
        tasks_.insert_or_assign(task_identity(t), std::move(all));
        return {};
    }

    /// scores[i] <- score of batch[i]; -infinity if there is no feature row or a feature is not finite. Cost: N rows, the trees and the second model.
    /// Errors: not_found (a task without `set_normaliser`), shape_mismatch; those of the trees and the second model.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) {
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch, "task_normalised_model: expected as many scores as schedules, got " + std::to_string(scores.size()) +
                                                   " and " + std::to_string(batch.size())};
        const auto of_task = tasks_.find(task_identity(t));
        if (of_task == tasks_.end()) return no_normaliser(t);
        const statistics& all = of_task->second;
        extract_rows(t, batch);
        std::fill(scores.begin(), scores.end(), 0.0F);
        member_scores_.resize(batch.size());
        all.features.relate(rows_);
        for (const auto& trees : trees_) {
            if (auto done = trees.predict(rows_, member_scores_); !done) return done;
            for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += member_scores_[i] / static_cast<float>(trees_.size());
        }
        if (second_) {
            second_scores_.resize(batch.size());
            if (auto done = second_(t, batch, second_scores_); !done) return done;
            blend_.add(*all.second_scores, second_scores_, scores);
        }
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (!valid_[i]) scores[i] = -std::numeric_limits<float>::infinity();
        return {};
    }

protected:
    [[nodiscard]] std::size_t columns() const { return row_of_.columns(); }
    /// Writes the feature row of a schedule; false, with zeros, if there is none or a feature is not finite.
    bool extract_row(const Task& t, const S& s, std::span<float> row) {
        if (row_of_(t, s, row) && std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) return true;
        std::fill(row.begin(), row.end(), 0.0F);
        return false;
    }
    /// Normaliser of a task; null without `set_normaliser`.
    [[nodiscard]] const task_normaliser* normaliser_of(const Task& t) const {
        const auto of_task = tasks_.find(task_identity(t));
        return of_task == tasks_.end() ? nullptr : &of_task->second.features;
    }
    static error no_normaliser(const Task& t) {
        return {errc::not_found, "task_normalised_model: expected a task after set_normaliser, got " + std::string(task_key(t))};
    }
    /// pre: at least one, with the normalisation and the columns of the current trees
    void replace_trees(std::vector<task_normalised_trees> trees) { trees_ = std::move(trees); }

private:
    /// Statistics of the candidates of a task.
    struct statistics {
        task_normaliser features;
        std::optional<task_normaliser> second_scores;
    };

    /// rows_, valid_ <- feature rows of a batch, and whether each is valid.
    void extract_rows(const Task& t, std::span<const S> batch) {
        const std::size_t columns = row_of_.columns();
        rows_.assign(batch.size() * columns, 0.0F);
        valid_.resize(batch.size());
        for (std::size_t i = 0; i < batch.size(); ++i) valid_[i] = extract_row(t, batch[i], std::span(rows_).subspan(i * columns, columns));
    }

    std::vector<task_normalised_trees> trees_;
    F row_of_;
    std::function<result<void>(const Task&, std::span<const S>, std::span<float>)> second_; ///< one call per batch; empty: no second model
    bounded_blend blend_;
    std::map<std::string, statistics, std::less<>> tasks_; ///< by task_identity, because task objects may move
    std::vector<float> rows_, member_scores_, second_scores_;
    std::vector<bool> valid_; ///< by row
};

/// Training options of a `task_normalised_model` with online training.
struct task_normalised_online_options {
    boosted_trees_options trees = task_normalised_trees::defaults(); ///< options of the first member; each next member has the next seed
    std::uint32_t members = 1;                                       ///< number of tree ensembles whose mean is the score
    std::uint32_t weight = 8;                                        ///< weight of a record of the search relative to a pre-training sample
};

/// The model with online training: its trees are retrained at each update, on the pre-training samples and the records of the search. Models
/// `trainable_cost_model` for tasks with `set_normaliser`.
///
/// ```cpp
/// using online_model = task_normalised_model<my_schedule, my_task, my_row, tree_training::online>;
/// auto model = online_model::create(samples_of_other_tasks, my_row());
/// if (!model) return model.error();
/// for (const auto& t : tasks)
///     if (auto set = model->set_normaliser(t, samples_of(t)); !set) return set.error(); // a few hundred random candidates of its space
/// ```
///
/// The pre-trained trees rank well from the first round on, but have systematic errors for some kernels; records of the kernel itself correct them
/// (decision 18).
///
/// Memory      also the pre-training samples, twice during training, and one row per record
template <schedule S, task Task, row_features_of<S, Task> F>
class task_normalised_model<S, Task, F, tree_training::online> : public task_normalised_model<S, Task, F> {
    using offline_model = task_normalised_model<S, Task, F>;

public:
    /// Pre-trains a model without a second model.
    /// @param samples  pre-training samples of other tasks, with `row_of.columns()` columns
    /// @note           errors: invalid_argument (members or weight of 0), shape_mismatch (other columns); those of `task_normalised_trees::train`
    [[nodiscard]] static result<task_normalised_model> create(task_normalised_samples samples, F row_of,
                                                              const task_normalised_online_options& options = {}) {
        auto trees = pretrain(samples, row_of.columns(), options);
        if (!trees) return trees.error();
        return task_normalised_model(offline_model(*std::move(trees), std::move(row_of)), std::move(samples), options);
    }
    /// Pre-trains a model with a second model.
    /// @param second  must outlive this object
    template <cost_model<S, Task> Second>
    [[nodiscard]] static result<task_normalised_model> create(task_normalised_samples samples, F row_of, Second& second,
                                                              const task_normalised_online_options& options = {}, bounded_blend blend = {}) {
        auto trees = pretrain(samples, row_of.columns(), options);
        if (!trees) return trees.error();
        return task_normalised_model(offline_model(*std::move(trees), std::move(row_of), second, blend), std::move(samples), options);
    }

    /// Retrains on all records so far, oldest first; the records of the previous call must be a prefix of `records`. The label of a record is the
    /// least latency of its task's records / its latency, 0 for a failure; a record without a feature row is skipped.
    /// Errors: not_found (a task without `set_normaliser`); those of `task_normalised_trees::train`.
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records) {
        const std::size_t columns = this->columns();
        for (std::size_t i = record_valid_.size(); i < records.size(); ++i) {
            record_rows_.resize((i + 1) * columns);
            record_valid_.push_back(this->extract_row(*records[i].task, *records[i].schedule, std::span(record_rows_).last(columns)));
        }
        std::map<std::string, std::vector<std::size_t>, std::less<>> tasks;
        for (std::size_t i = 0; i < records.size(); ++i)
            if (record_valid_[i]) tasks[task_identity(*records[i].task)].push_back(i);
        task_normalised_samples samples = samples_;
        for (const auto& [key, indices] : tasks)
            if (auto added = add_task(records, indices, samples); !added) return added;
        auto trees = task_normalised_trees::train_members(samples, options_.trees, options_.members);
        if (!trees) return trees.error();
        this->replace_trees(*std::move(trees));
        return {};
    }

private:
    task_normalised_model(offline_model model, task_normalised_samples samples, const task_normalised_online_options& options)
        : offline_model(std::move(model)), samples_(std::move(samples)), options_(options) {}

    static result<std::vector<task_normalised_trees>> pretrain(const task_normalised_samples& samples, std::size_t columns,
                                                               const task_normalised_online_options& options) {
        if (options.members == 0 || options.weight == 0)
            return error{errc::invalid_argument, "task_normalised_model: expected members and a weight of 1 or more, got " +
                                                     std::to_string(options.members) + " and " + std::to_string(options.weight)};
        if (samples.columns() != columns)
            return error{errc::shape_mismatch, "task_normalised_model: expected samples of " + std::to_string(columns) + " columns, got " +
                                                   std::to_string(samples.columns())};
        return task_normalised_trees::train_members(samples, options.trees, options.members);
    }
    /// Adds the records of one task, each `weight` times.   pre: at least one index
    result<void> add_task(std::span<const observation<S, Task>> records, std::span<const std::size_t> indices,
                          task_normalised_samples& samples) const {
        const Task& t = *records[indices.front()].task;
        const task_normaliser* all = this->normaliser_of(t);
        if (all == nullptr) return this->no_normaliser(t);
        double least = std::numeric_limits<double>::infinity();
        for (const auto i : indices) least = (std::min)(least, records[i].outcome->latency());
        std::vector<float> rows, labels;
        for (const auto i : indices) {
            const auto row = std::span<const float>(record_rows_).subspan(i * this->columns(), this->columns());
            rows.insert(rows.end(), row.begin(), row.end());
            labels.push_back(speed_label(least, records[i].outcome->latency()));
        }
        return samples.add(*all, std::move(rows), labels, options_.weight);
    }

    task_normalised_samples samples_;
    task_normalised_online_options options_;
    std::vector<float> record_rows_; ///< (records, C)
    std::vector<bool> record_valid_; ///< by record: it has a row of finite features
};

} // namespace augur::inline v0

#endif
