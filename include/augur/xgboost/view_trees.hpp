// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_VIEW_TREES_HPP
#define AUGUR_XGBOOST_VIEW_TREES_HPP

/// @file
/// Boosted trees with several feature normalisations that select candidates round-robin, with a bounded blend of a second model (decision 18).

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

/// Training samples of one member of `view_trees`: `task_normalised_samples` for each normalisation.
class view_samples {
public:
    /// pre: columns >= 1, at least one normalisation
    explicit view_samples(std::size_t columns, std::span<const normalisation> views) {
        AUGUR_ASSERT(!views.empty(), "view_samples: no view");
        for (const auto view : views) samples_.emplace_back(columns, view);
    }

    /// Adds the candidates of one task to the samples of each normalisation; the candidates themselves are the reference of the normalisation.
    ///
    /// @param rows    (N, C), finite; N >= 1
    /// @param labels  (N) least latency over latency, 0 for a failure
    /// @note          errors: those of `task_normalised_samples::add`
    [[nodiscard]] result<void> add(std::span<const float> rows, std::span<const float> labels) {
        const std::size_t columns = samples_.front().columns();
        if (rows.empty() || rows.size() % columns != 0)
            return error{errc::shape_mismatch,
                         "view samples: expected rows of " + std::to_string(columns) + ", got " + std::to_string(rows.size()) + " numbers"};
        for (auto& samples : samples_)
            if (auto done = samples.add(task_normaliser::fit(rows, columns, samples.method()), {rows.begin(), rows.end()}, labels); !done) return done;
        return {};
    }
    [[nodiscard]] std::size_t size() const noexcept { return samples_.front().size(); }
    /// Samples in the order of the normalisations.
    [[nodiscard]] std::span<const task_normalised_samples> by_view() const noexcept { return samples_; }

private:
    std::vector<task_normalised_samples> samples_;
};

/// Selects candidates of kernels whose class is not in the training data. A value; share it as const.
///
/// ```cpp
/// view_trees trees; // relative, ranked and absolute features
/// for (const std::uint64_t seed : {1U, 2U, 3U})
///     if (auto trained = trees.train(samples, options(seed)); !trained) return trained.error(); // adds a member; their mean is used
/// auto first = trees.propose(rows, second_scores, 5);                                           // the 5 candidates to measure first
/// ```
class view_trees {
public:
    /// @param views  normalisations in round-robin order, the best single one first.   pre: at least one
    explicit view_trees(std::vector<normalisation> views = {normalisation::relative, normalisation::ranked, normalisation::absolute})
        : views_(std::move(views)) {
        AUGUR_ASSERT(!views_.empty(), "view_trees: no view");
    }

    [[nodiscard]] std::span<const normalisation> views() const noexcept { return views_; }
    /// Trees by member and normalisation, e.g. to save them one by one.
    [[nodiscard]] std::span<const std::vector<task_normalised_trees>> members() const noexcept { return members_; }

    /// Trains and adds one member. Errors: those of `task_normalised_trees::train` and of `add`.
    [[nodiscard]] result<void> train(const view_samples& samples, const boosted_trees_options& options = task_normalised_trees::defaults()) {
        std::vector<task_normalised_trees> member;
        for (const auto& one_view : samples.by_view()) {
            auto trees = task_normalised_trees::train(one_view, options);
            if (!trees) return trees.error();
            member.push_back(*std::move(trees));
        }
        return add(std::move(member));
    }
    /// Adds one member, e.g. of loaded trees. Errors: invalid_argument (other normalisations), shape_mismatch (other columns than earlier members).
    [[nodiscard]] result<void> add(std::vector<task_normalised_trees> member) {
        if (member.size() != views_.size())
            return error{errc::invalid_argument,
                         "view trees: expected " + std::to_string(views_.size()) + " views, got " + std::to_string(member.size())};
        for (std::size_t v = 0; v < member.size(); ++v) {
            if (member[v].method() != views_[v]) return detail::other_normalisation("view_trees", views_[v], member[v].method());
            const std::size_t columns = (members_.empty() ? member : members_.front()).front().columns();
            if (member[v].columns() != columns)
                return error{errc::shape_mismatch,
                             "view trees: expected trees of " + std::to_string(columns) + " columns, got " + std::to_string(member[v].columns())};
        }
        members_.push_back(std::move(member));
        return {};
    }

    /// Selects the candidates of a task to measure, best first: the normalisations take turns (`take_turns`), and equal programs are selected once.
    /// `rows` is the reference of the normalisation: pass all candidates or a large sample.
    ///
    /// @param rows           (N, C), finite
    /// @param second_scores  (N) scores of a second model for `blend`, higher is better, no NaN; or empty
    /// @param most           maximum number of selected candidates
    /// Errors: not_found (no member), shape_mismatch; those of `task_normalised_trees::score`. O(N log N C) plus the members' predictions.
    [[nodiscard]] result<std::vector<std::uint32_t>> propose(std::span<const float> rows, std::span<const float> second_scores, std::size_t most,
                                                             const bounded_blend& blend = {}) const {
        if (members_.empty()) return error{errc::not_found, "view trees: no member was trained"};
        const std::size_t columns = members_.front().front().columns(), n = rows.size() / columns;
        if (rows.size() != n * columns || (!second_scores.empty() && second_scores.size() != n))
            return error{errc::shape_mismatch, "view trees: expected rows of " + std::to_string(columns) +
                                                   " numbers and one second score per row, got " + std::to_string(rows.size()) + " numbers and " +
                                                   std::to_string(second_scores.size()) + " scores"};
        if (n == 0) return std::vector<std::uint32_t>();
        std::vector<std::vector<float>> scores;
        std::vector<float> member_scores(n);
        for (std::size_t v = 0; v < views_.size(); ++v) {
            const auto all = task_normaliser::fit(rows, columns, views_[v]);
            auto& mean = scores.emplace_back(n);
            for (const auto& member : members_) {
                std::vector<float> related(rows.begin(), rows.end());
                if (auto done = member[v].score(all, related, member_scores); !done) return done.error();
                for (std::size_t i = 0; i < n; ++i) mean[i] += member_scores[i] / static_cast<float>(members_.size());
            }
            if (!second_scores.empty()) blend.add(task_normaliser::fit(second_scores, 1), second_scores, mean);
        }
        return take_turns(scores, equal_rows(rows, columns), most);
    }

private:
    std::vector<normalisation> views_;
    std::vector<std::vector<task_normalised_trees>> members_;
};

} // namespace augur::inline v0

#endif
