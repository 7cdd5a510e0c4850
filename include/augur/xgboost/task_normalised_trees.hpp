// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TASK_NORMALISED_TREES_HPP
#define AUGUR_XGBOOST_TASK_NORMALISED_TREES_HPP

/// @file
/// Boosted trees on task-normalised features, which rank the candidates of kernels that are not in the training data (decisions 14 and 18).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/model/concepts.hpp>
#include <augur/model/task_normaliser.hpp>
#include <augur/xgboost/boosted_trees.hpp>

namespace augur::inline v0 {

namespace detail {

/// Error about features of another normalisation. `type` is the name of the class.
inline error other_normalisation(std::string_view type, normalisation expected, normalisation got) {
    const auto name = [](normalisation v) { return v == normalisation::relative ? "relative" : v == normalisation::ranked ? "ranked" : "absolute"; };
    return {errc::invalid_argument, std::string(type) + ": expected features of normalisation " + name(expected) + ", got " + name(got)};
}

} // namespace detail

/// Training samples of `task_normalised_trees`, added task by task.
class task_normalised_samples {
public:
    /// pre: columns >= 1
    explicit task_normalised_samples(std::size_t columns, normalisation method = normalisation::relative) : columns_(columns), method_(method) {
        AUGUR_ASSERT(columns > 0, "task_normalised_samples: columns");
    }

    /// Adds the candidates of one task, normalised by `all`. Candidates with equal rows get the best of their labels, because differences between
    /// measurements of one program are noise. The label is cubed, which separates the fast programs. A task with failures only is skipped, because
    /// the cause is rarely in the schedule.
    ///
    /// @param rows    (N, C), finite
    /// @param labels  (N) least latency over latency, 0 for a failure
    /// @param repeat  adds the candidates so many times, as so many calls would: the weight of the task
    /// @note          errors: shape_mismatch; invalid_argument (a row that is not finite, a label outside [0, 1], another normalisation)
    [[nodiscard]] result<void> add(const task_normaliser& all, std::vector<float> rows, std::span<const float> labels, std::uint32_t repeat = 1) {
        if (rows.size() != labels.size() * columns_ || all.columns() != columns_)
            return error{errc::shape_mismatch, "task_normalised_samples: " + std::to_string(labels.size()) + " labels and " +
                                                   std::to_string(rows.size()) + " numbers, expected " + std::to_string(columns_) +
                                                   " each, got a normaliser of " + std::to_string(all.columns())};
        if (all.method() != method_) return detail::other_normalisation("task_normalised_samples", method_, all.method());
        for (const float l : labels)
            if (!(l >= 0 && l <= 1))
                return error{errc::invalid_argument, "task_normalised_samples: expected labels of 0 to 1, got " + std::to_string(l)};
        if (!std::all_of(rows.begin(), rows.end(), [](float x) { return std::isfinite(x); }))
            return error{errc::invalid_argument, "task_normalised_samples: expected finite rows"};
        if (std::all_of(labels.begin(), labels.end(), [](float l) { return l == 0; })) return {};
        const auto first = equal_rows(rows, columns_);
        std::vector<float> best(labels.begin(), labels.end());
        for (std::size_t i = 0; i < labels.size(); ++i) best[first[i]] = (std::max)(best[first[i]], labels[i]);
        all.relate(rows);
        for (std::uint32_t n = 0; n < repeat; ++n) {
            for (const auto i : first) labels_.push_back(best[i] * best[i] * best[i]);
            groups_.resize(labels_.size(), tasks_++);
            rows_.insert(rows_.end(), rows.begin(), rows.end());
        }
        return {};
    }
    [[nodiscard]] std::size_t size() const noexcept { return labels_.size(); }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    [[nodiscard]] tree_samples samples() const noexcept { return {rows_, columns_, labels_, groups_}; }
    [[nodiscard]] normalisation method() const noexcept { return method_; }

private:
    std::size_t columns_;
    normalisation method_;
    std::vector<float> rows_, labels_;
    std::vector<std::uint32_t> groups_;
    std::uint32_t tasks_ = 0;
};

/// Trained trees and their normalisation. A value; share it as const.
class task_normalised_trees {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Default options, tuned on held-out classes of kernels with features of loop nests.
    [[nodiscard]] static boosted_trees_options defaults() {
        boosted_trees_options o;
        o.rounds = 300;
        o.depth = 6;
        o.learning_rate = 0.1;
        o.min_child_weight = 20;
        o.row_share = 0.5;
        o.column_share = 0.2;
        return o;
    }

    /// Errors: those of `boosted_trees::train`.
    [[nodiscard]] static result<task_normalised_trees> train(const task_normalised_samples& samples,
                                                             const boosted_trees_options& options = defaults()) {
        auto trees = boosted_trees::train(samples.samples(), options);
        if (!trees) return trees.error();
        return task_normalised_trees(*std::move(trees), samples.method());
    }
    /// Trains the members of a `task_normalised_model`: `count` times, with the seeds options.seed, options.seed + 1, ...
    [[nodiscard]] static result<std::vector<task_normalised_trees>> train_members(const task_normalised_samples& samples,
                                                                                  boosted_trees_options options, std::size_t count) {
        std::vector<task_normalised_trees> out;
        for (; out.size() < count; ++options.seed) {
            auto trees = train(samples, options);
            if (!trees) return trees.error();
            out.push_back(*std::move(trees));
        }
        return out;
    }

    [[nodiscard]] normalisation method() const noexcept { return method_; }
    [[nodiscard]] std::size_t columns() const noexcept { return trees_.columns(); }

    /// scores[i] <- score of row i of (N, C), higher is better among the candidates of one task. Normalises the rows by `all` in place.
    /// Errors: shape_mismatch; invalid_argument (another normalisation than in training); those of `boosted_trees::predict`.
    [[nodiscard]] result<void> score(const task_normaliser& all, std::span<float> rows, std::span<float> scores) const {
        if (all.columns() != trees_.columns() || rows.size() != scores.size() * trees_.columns())
            return error{errc::shape_mismatch, "task_normalised_trees: " + std::to_string(scores.size()) + " scores and " +
                                                   std::to_string(rows.size()) + " numbers, expected " + std::to_string(trees_.columns()) +
                                                   " each, got a normaliser of " + std::to_string(all.columns())};
        if (all.method() != method_) return detail::other_normalisation("task_normalised_trees", method_, all.method());
        all.relate(rows);
        return predict(rows, scores);
    }
    /// `score` of rows that are normalised already, e.g. for several trees of one normalisation. Errors: those of `boosted_trees::predict`.
    [[nodiscard]] result<void> predict(std::span<const float> normalised, std::span<float> scores) const {
        return trees_.predict(normalised, scores);
    }

    /// @param schema  hash of the names and the order of the features
    [[nodiscard]] std::string save(std::uint64_t schema) const { return trees_.save(schema_of(schema, method_)); }
    /// Errors: those of `boosted_trees::load`; version_mismatch for trees of another schema or normalisation.
    [[nodiscard]] static result<task_normalised_trees> load(std::string_view bytes, std::uint64_t schema,
                                                            normalisation method = normalisation::relative, std::uint32_t threads = 1) {
        auto trees = boosted_trees::load(bytes, schema_of(schema, method), threads);
        if (!trees) return trees.error();
        return task_normalised_trees(*std::move(trees), method);
    }

private:
    task_normalised_trees(boosted_trees trees, normalisation method) : trees_(std::move(trees)), method_(method) {}
    [[nodiscard]] static std::uint64_t schema_of(std::uint64_t schema, normalisation method) noexcept {
        return method == normalisation::relative ? schema : mix64(schema ^ static_cast<std::uint64_t>(method));
    }

    boosted_trees trees_;
    normalisation method_;
};

} // namespace augur::inline v0

#endif
