// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_VIEW_TREES_HPP
#define AUGUR_XGBOOST_VIEW_TREES_HPP

/// @file
/// Boosted trees of several views of the features that propose candidates in turn, with another model's second opinion (decision 18).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/model/bounded_blend.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

namespace augur::inline v0 {

/// What a member of `view_trees` is trained on, task by task.
class view_samples {
public:
    /// pre: columns >= 1, at least one view
    explicit view_samples(std::size_t columns, std::span<const normalisation> views) {
        AUGUR_ASSERT(!views.empty(), "view_samples: no view");
        for (const auto view : views) of_.emplace_back(columns, view);
    }

    /// Adds the candidates of one task, each view's as `task_normalised_samples::add` does, among themselves.
    ///
    /// @param rows    (N, C), finite; N >= 1
    /// @param labels  (N) least latency over latency, 0 for a failure
    /// @note          errors: those of `task_normalised_samples::add`
    [[nodiscard]] result<void> add(std::span<const float> rows, std::span<const float> labels) {
        const std::size_t columns = of_.front().columns();
        if (rows.empty() || rows.size() % columns != 0)
            return error{errc::shape_mismatch,
                         "view samples: expected rows of " + std::to_string(columns) + ", got " + std::to_string(rows.size()) + " numbers"};
        for (auto& one : of_)
            if (auto done = one.add(task_normaliser::of(rows, columns, one.view()), {rows.begin(), rows.end()}, labels); !done) return done;
        return {};
    }
    [[nodiscard]] std::size_t size() const noexcept { return of_.front().size(); }
    /// In the order of the views.
    [[nodiscard]] std::span<const task_normalised_samples> by_view() const noexcept { return of_; }

private:
    std::vector<task_normalised_samples> of_;
};

/// For kernels of classes that nobody has measured. A value; shared and const while it is used.
///
///     view_trees trees;                                                 // relative, ranked and absolute features
///     for (seed : {1, 2, 3, 4, 5}) trees.train(samples, options(seed)); // a member each: the mean counts
///     trees.propose(rows, said, 5);                                     // what to measure of a task's candidates
class view_trees {
public:
    /// @param views  in the order of their turns; the first is to be the best alone.   pre: at least one
    explicit view_trees(std::vector<normalisation> views = {normalisation::relative, normalisation::ranked, normalisation::absolute})
        : views_(std::move(views)) {
        AUGUR_ASSERT(!views_.empty(), "view_trees: no view");
    }

    [[nodiscard]] std::span<const normalisation> views() const noexcept { return views_; }
    /// Trees of each view, in the order of the views: to be saved one by one.
    [[nodiscard]] std::span<const std::vector<task_normalised_trees>> members() const noexcept { return members_; }

    /// One member more. Errors: those of `task_normalised_trees::train`, of `add`.
    [[nodiscard]] result<void> train(const view_samples& samples, const boosted_trees_options& options = task_normalised_trees::defaults()) {
        std::vector<task_normalised_trees> member;
        for (const auto& one : samples.by_view()) {
            auto trees = task_normalised_trees::train(one, options);
            if (!trees) return trees.error();
            member.push_back(*std::move(trees));
        }
        return add(std::move(member));
    }
    /// One member more, of trees that were loaded. Errors: invalid_argument, other views or as many; shape_mismatch, not the others' columns.
    [[nodiscard]] result<void> add(std::vector<task_normalised_trees> member) {
        if (member.size() != views_.size())
            return error{errc::invalid_argument,
                         "view trees: expected " + std::to_string(views_.size()) + " views, got " + std::to_string(member.size())};
        for (std::size_t v = 0; v < member.size(); ++v) {
            if (member[v].view() != views_[v]) return detail::other_view(views_[v], member[v].view());
            const std::size_t columns = (members_.empty() ? member : members_.front()).front().columns();
            if (member[v].columns() != columns)
                return error{errc::shape_mismatch,
                             "view trees: expected trees of " + std::to_string(columns) + " columns, got " + std::to_string(member[v].columns())};
        }
        members_.push_back(std::move(member));
        return {};
    }

    /// Which of a task's candidates to try, the best first: the views take turns, and a program is proposed once (`take_turns`). The candidates are
    /// compared among themselves: all that there are, or a large sample.
    ///
    /// @param rows  (N, C), finite
    /// @param said  (N) another model's scores of them, higher is better, none NaN: its opinion counts in every view; or empty
    /// @param most  how many are asked for
    /// Errors: not_found, no member; shape_mismatch; those of `task_normalised_trees::score`. O(N log N C) and the members' trees.
    [[nodiscard]] result<std::vector<std::uint32_t>> propose(std::span<const float> rows, std::span<const float> said, std::size_t most,
                                                             const bounded_blend& opinion = {}) const {
        if (members_.empty()) return error{errc::not_found, "view trees: no member was trained"};
        const std::size_t columns = members_.front().front().columns(), n = rows.size() / columns;
        if (rows.size() != n * columns || (!said.empty() && said.size() != n))
            return error{errc::shape_mismatch, "view trees: expected rows of " + std::to_string(columns) + " and as many opinions or none, got " +
                                                   std::to_string(rows.size()) + " numbers and " + std::to_string(said.size())};
        if (n == 0) return std::vector<std::uint32_t>();
        std::vector<std::vector<float>> scores;
        std::vector<float> one(n);
        for (std::size_t v = 0; v < views_.size(); ++v) {
            const auto all = task_normaliser::of(rows, columns, views_[v]);
            auto& mean = scores.emplace_back(n);
            for (const auto& member : members_) {
                std::vector<float> related(rows.begin(), rows.end());
                if (auto done = member[v].score(all, related, one); !done) return done.error();
                for (std::size_t i = 0; i < n; ++i) mean[i] += one[i] / static_cast<float>(members_.size());
            }
            if (!said.empty()) opinion.add(task_normaliser::of(said, 1), said, mean);
        }
        return take_turns(scores, equal_rows(rows, columns), most);
    }

private:
    std::vector<normalisation> views_;
    std::vector<std::vector<task_normalised_trees>> members_;
};

} // namespace augur::inline v0

#endif
