// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TASK_NORMALISED_ONLINE_HPP
#define AUGUR_XGBOOST_TASK_NORMALISED_ONLINE_HPP

/// @file
/// Boosted trees pre-trained on other kernels of the target and retrained online with the records of a search.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
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
#include <augur/xgboost/task_normalised_model.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

namespace augur::inline v0 {

/// Options of `task_normalised_online`.
struct task_normalised_online_options {
    boosted_trees_options trees = task_normalised_trees::defaults(); ///< options of the first member; each next member has the next seed
    std::uint32_t members = 1;                                       ///< number of tree ensembles whose mean is the score
    std::uint32_t weight = 8;                                        ///< weight of a record of the search relative to a pre-training sample
};

/// A `task_normalised_model` whose trees are retrained at each update, on the pre-training samples and the records of the search. Models
/// `trainable_cost_model` for tasks with `set_normaliser`.
///
/// ```cpp
/// auto model = task_normalised_online<my_schedule, my_task, my_row>::create(samples_of_other_tasks, my_row());
/// if (!model) return model.error();
/// for (const auto& t : tasks)
///     if (auto set = model->set_normaliser(t, samples_of(t)); !set) return set.error(); // a few hundred random candidates of its space
/// ```
///
/// The pre-trained trees rank well from the first round on, but have systematic errors for some kernels; records of the kernel itself correct them
/// (decision 18).
///
/// Memory      the pre-training samples, twice during training, and one row per record
/// Threads     use an object from one thread at a time
template <schedule S, task Task, row_features_of<S, Task> F, class Opinion = no_opinion>
    requires(std::same_as<Opinion, no_opinion> || cost_model<Opinion, S, Task>)
class task_normalised_online {
public:
    using model_type = task_normalised_model<S, Task, F, Opinion>;
    static constexpr score_meaning meaning = model_type::meaning;

    /// Pre-trains a model without a second model.
    /// @param known  pre-training samples of other tasks, with `row_of.columns()` columns
    /// @note         errors: invalid_argument (members or weight of 0), shape_mismatch (other columns); those of `task_normalised_trees::train`
    [[nodiscard]] static result<task_normalised_online> create(task_normalised_samples known, F row_of,
                                                               const task_normalised_online_options& options = {})
        requires std::same_as<Opinion, no_opinion>
    {
        return made(std::move(known), std::move(row_of), options, [](auto&&... args) { return model_type(std::forward<decltype(args)>(args)...); });
    }
    /// Pre-trains a model with a second model.
    /// @param opinion  second model; must outlive this object
    [[nodiscard]] static result<task_normalised_online> create(task_normalised_samples known, F row_of, Opinion& opinion,
                                                               const task_normalised_online_options& options = {}, bounded_blend blend = {})
        requires(!std::same_as<Opinion, no_opinion>)
    {
        return made(std::move(known), std::move(row_of), options,
                    [&](auto&&... args) { return model_type(std::forward<decltype(args)>(args)..., opinion, blend); });
    }

    /// As `task_normalised_model::set_normaliser`.
    [[nodiscard]] result<void> set_normaliser(const Task& t, std::span<const S> candidates) { return model_.set_normaliser(t, candidates); }
    /// As `task_normalised_model::score`.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) { return model_.score(t, batch, scores); }

    /// Retrains on all records so far, oldest first; the records of the previous call must be a prefix of `records`. The label of a record is the
    /// least latency of its task's records / its latency, 0 for a failure; a record without a feature row is skipped.
    /// Errors: not_found (a task without `set_normaliser`); those of `task_normalised_trees::train`.
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records) {
        const std::size_t columns = row_of_.columns();
        for (std::size_t i = fine_.size(); i < records.size(); ++i) {
            rows_.resize((i + 1) * columns);
            const auto row = std::span(rows_).last(columns);
            fine_.push_back(row_of_(*records[i].task, *records[i].schedule, row) &&
                            std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); }));
        }
        std::map<std::string, std::vector<std::size_t>, std::less<>> tasks;
        for (std::size_t i = 0; i < records.size(); ++i)
            if (fine_[i]) tasks[task_identity(*records[i].task)].push_back(i);
        task_normalised_samples samples = known_;
        for (const auto& [key, indices] : tasks) {
            const task_normaliser* all = model_.known_of(*records[indices.front()].task);
            if (all == nullptr)
                return error{errc::not_found, "task_normalised_online: expected records of tasks whose candidates it has met, got one of " +
                                                  std::string(task_key(*records[indices.front()].task))};
            double least = std::numeric_limits<double>::infinity();
            for (const auto i : indices) least = (std::min)(least, records[i].outcome->latency());
            std::vector<float> rows, labels;
            for (const auto i : indices) {
                const auto row = std::span<const float>(rows_).subspan(i * columns, columns);
                rows.insert(rows.end(), row.begin(), row.end());
                labels.push_back(speed_label(least, records[i].outcome->latency()));
            }
            for (std::uint32_t n = 0; n < options_.weight; ++n)
                if (auto done = samples.add(*all, rows, labels); !done) return done;
        }
        auto trees = grown(samples, options_);
        if (!trees) return trees.error();
        model_.use(*std::move(trees));
        return {};
    }

private:
    task_normalised_online(task_normalised_samples known, F row_of, const task_normalised_online_options& options, model_type model)
        : known_(std::move(known)), row_of_(std::move(row_of)), options_(options), model_(std::move(model)) {}

    static result<std::vector<task_normalised_trees>> grown(const task_normalised_samples& samples, const task_normalised_online_options& options) {
        std::vector<task_normalised_trees> out;
        boosted_trees_options o = options.trees;
        for (std::uint32_t m = 0; m < options.members; ++m, ++o.seed) {
            auto trees = task_normalised_trees::train(samples, o);
            if (!trees) return trees.error();
            out.push_back(*std::move(trees));
        }
        return out;
    }
    template <class Make>
    static result<task_normalised_online> made(task_normalised_samples known, F row_of, const task_normalised_online_options& options, Make&& make) {
        if (options.members == 0 || options.weight == 0)
            return error{errc::invalid_argument, "task_normalised_online: expected members and a weight of 1 or more, got " +
                                                     std::to_string(options.members) + " and " + std::to_string(options.weight)};
        if (known.columns() != row_of.columns())
            return error{errc::shape_mismatch, "task_normalised_online: expected samples of " + std::to_string(row_of.columns()) + " columns, got " +
                                                   std::to_string(known.columns())};
        auto trees = grown(known, options);
        if (!trees) return trees.error();
        F rows = row_of;
        return task_normalised_online(std::move(known), std::move(row_of), options, make(*std::move(trees), std::move(rows)));
    }

    task_normalised_samples known_;
    F row_of_;
    task_normalised_online_options options_;
    model_type model_;
    std::vector<float> rows_; ///< (records, C)
    std::vector<bool> fine_;  ///< by record: it has a row of finite features
};

} // namespace augur::inline v0

#endif
