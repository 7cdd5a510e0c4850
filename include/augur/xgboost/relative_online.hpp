// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_RELATIVE_ONLINE_HPP
#define AUGUR_XGBOOST_RELATIVE_ONLINE_HPP

/// @file
/// Boosted trees that know other kernels of the machine when a search begins, and learn on from what it measures.

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
#include <augur/feature/concepts.hpp>
#include <augur/feature/reference.hpp>
#include <augur/model/concepts.hpp>
#include <augur/model/second_opinion.hpp>
#include <augur/record/measurement.hpp>
#include <augur/workload/concepts.hpp>
#include <augur/xgboost/relative_model.hpp>
#include <augur/xgboost/relative_trees.hpp>

namespace augur::inline v0 {

struct relative_online_options {
    boosted_trees_options trees = relative_trees::defaults(); ///< of a member; each has the seed after the last one's
    std::uint32_t members = 1;                                ///< trees whose mean is the score
    std::uint32_t weight = 8;                                 ///< a record of the search counts as so many of those known before
};

/// A `relative_model` whose trees are grown anew at each update, from the samples of before and from the records of the search. Models
/// `trainable_cost_model` for the tasks whose candidates it has met.
///
///     auto model = relative_online<step_list, loopnest_task, nest_row>::create(samples_of_other_kernels, nest_row(target));
///     for (const auto& t : tasks) model->meet(t, samples_of_its_space); // some hundreds, drawn at random
///     tuner t(tasks, spaces, strategies, *model, threads, options);
///
/// What is known of other kernels chooses well from the first round on, but where it is wrong of a kernel it is wrong again and again; records of the
/// kernel itself mend that (decision 18).
///
/// Memory      the samples of before, twice while it learns, and a row a record
/// Threads     one thread an object
template <schedule S, task Task, row_features_of<S, Task> F, class Opinion = no_opinion>
requires(std::same_as<Opinion, no_opinion> || cost_model<Opinion, S, Task>) class relative_online {
public:
    using model_type = relative_model<S, Task, F, Opinion>;
    static constexpr score_meaning meaning = model_type::meaning;

    /// Of trees alone.
    /// @param known  candidates of other tasks, of `row_of.columns()` columns
    /// @note         errors: invalid_argument, no members or no weight; shape_mismatch, other columns; those of `relative_trees::train`
    [[nodiscard]] static result<relative_online> create(relative_samples known, F row_of,
                                                        const relative_online_options& options = {}) requires std::same_as<Opinion, no_opinion> {
        return made(std::move(known), std::move(row_of), options, [](auto&&... of) { return model_type(std::forward<decltype(of)>(of)...); });
    }
    /// @param opinion  must outlive it
    [[nodiscard]] static result<relative_online> create(relative_samples known, F row_of, Opinion& opinion,
                                                        const relative_online_options& options = {},
                                                        second_opinion weigh = {}) requires(!std::same_as<Opinion, no_opinion>) {
        return made(std::move(known), std::move(row_of), options,
                    [&](auto&&... of) { return model_type(std::forward<decltype(of)>(of)..., opinion, weigh); });
    }

    /// As `relative_model::meet`.
    [[nodiscard]] result<void> meet(const Task& t, std::span<const S> candidates) { return model_.meet(t, candidates); }
    /// As `relative_model::score`.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) { return model_.score(t, batch, scores); }

    /// Takes all records so far, oldest first; those of the last call come first among them. A record's label is the least latency of its task's
    /// records over its own, that of a failure 0; one whose row cannot be made teaches nothing.
    /// Errors: not_found, a task that was not met; those of `relative_trees::train`.
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
        relative_samples samples = known_;
        for (const auto& [key, of] : tasks) {
            const feature_reference* all = model_.known_of(*records[of.front()].task);
            if (all == nullptr)
                return error{errc::not_found, "relative online: expected records of tasks whose candidates it has met, got one of " +
                                                  std::string(task_key(*records[of.front()].task))};
            double least = std::numeric_limits<double>::infinity();
            for (const auto i : of) least = (std::min)(least, records[i].outcome->latency());
            std::vector<float> rows, labels;
            for (const auto i : of) {
                const auto row = std::span<const float>(rows_).subspan(i * columns, columns);
                rows.insert(rows.end(), row.begin(), row.end());
                labels.push_back(speed_label(least, records[i].outcome->latency()));
            }
            for (std::uint32_t n = 0; n < options_.weight; ++n)
                if (auto done = samples.add(*all, rows, labels); !done) return done;
        }
        auto trees = grown(samples, options_);
        if (!trees) return trees.why();
        model_.use(*std::move(trees));
        return {};
    }

private:
    relative_online(relative_samples known, F row_of, const relative_online_options& options, model_type model)
        : known_(std::move(known)), row_of_(std::move(row_of)), options_(options), model_(std::move(model)) {}

    static result<std::vector<relative_trees>> grown(const relative_samples& samples, const relative_online_options& options) {
        std::vector<relative_trees> out;
        boosted_trees_options o = options.trees;
        for (std::uint32_t m = 0; m < options.members; ++m, ++o.seed) {
            auto trees = relative_trees::train(samples, o);
            if (!trees) return trees.why();
            out.push_back(*std::move(trees));
        }
        return out;
    }
    template <class Make>
    static result<relative_online> made(relative_samples known, F row_of, const relative_online_options& options, Make&& make) {
        if (options.members == 0 || options.weight == 0)
            return error{errc::invalid_argument, "relative online: expected members and a weight of 1 or more, got " +
                                                     std::to_string(options.members) + " and " + std::to_string(options.weight)};
        if (known.columns() != row_of.columns())
            return error{errc::shape_mismatch, "relative online: expected samples of " + std::to_string(row_of.columns()) + " columns, got " +
                                                   std::to_string(known.columns())};
        auto trees = grown(known, options);
        if (!trees) return trees.why();
        F rows = row_of;
        return relative_online(std::move(known), std::move(row_of), options, make(*std::move(trees), std::move(rows)));
    }

    relative_samples known_;
    F row_of_;
    relative_online_options options_;
    model_type model_;
    std::vector<float> rows_; ///< (records, C)
    std::vector<bool> fine_;  ///< of each record: it has a row
};

} // namespace augur::inline v0

#endif
