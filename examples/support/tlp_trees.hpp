// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_TLP_TREES_HPP
#define AUGUR_EXAMPLES_SUPPORT_TLP_TREES_HPP

/// @file
/// Boosted trees on flattened TLP features (the L x E matrix as one row of L * E numbers): the baseline of the tables and searches of TLP. Needs
/// XGBoost.

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
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/retraining_schedule.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/model/concepts.hpp>
#include <augur/record/measurement.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/xgboost/boosted_trees.hpp>

namespace examples {

/// out (L * E) <- flattened features of a schedule from its rows in `table`, with positions; zeros after the last row.
///
/// @return  false, with `out` all zeros, if the vocabulary refuses a primitive
/// @note    O(L * E); allocates only with launch features. pre: `table` has all ids
[[nodiscard]] inline bool tlp_flat_features(std::span<const augur::primitive_id> schedule, const augur::tlp::row_table& table, std::span<float> out) {
    const augur::tlp::schema& schema = table.schema();
    AUGUR_ASSERT(out.size() == schema.rows * schema.columns, "tlp_flat_features: shape");
    std::fill(out.begin(), out.end(), 0.0F);
    if (!table.knows(schedule)) return false;
    float* next = out.data();
    augur::tlp::row_table::scratch scratch;
    table.visit_rows(
        schedule, scratch,
        [&](std::uint32_t row, std::uint32_t position) {
            table.write(row, position, next);
            next += schema.columns;
        },
        [&](std::span<const float> row) { next = std::copy(row.begin(), row.end(), next); });
    return true;
}

/// Trained trees and their schema. A value; share it as const.
class tlp_trees {
public:
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;

    /// Trains on records of a data set, e.g. from `tlp::make_samples` for one output. Records that the vocabulary refuses are skipped and counted.
    ///
    /// @param records  (N) indices of records of `data`
    /// @param labels   (N) least latency / latency, 0 for a failure
    /// @param groups   (N) task of each record, non-decreasing
    /// @note           errors: those of `boosted_trees::train`. Peak memory: 16 bytes per feature and record, 8.8 kB per record for 25x22 features.
    ///                 pre: `table` has all primitives of `data`
    [[nodiscard]] static augur::result<tlp_trees> train(const augur::tlp::row_table& table, const augur::dataset& data,
                                                        std::span<const std::uint32_t> records, std::span<const float> labels,
                                                        std::span<const std::uint32_t> groups, const augur::boosted_trees_options& options = {}) {
        if (labels.size() != records.size() || groups.size() != records.size())
            return augur::error{augur::errc::shape_mismatch, "tlp trees: " + std::to_string(records.size()) + " records, " +
                                                                 std::to_string(labels.size()) + " labels, " + std::to_string(groups.size()) +
                                                                 " groups"};
        const std::size_t width = table.schema().rows * table.schema().columns;
        std::vector<float> x(records.size() * width), y;
        std::vector<std::uint32_t> g;
        for (std::size_t i = 0; i < records.size(); ++i) {
            if (!tlp_flat_features(data.schedule(records[i]), table, std::span(x).subspan(y.size() * width, width))) continue;
            y.push_back(labels[i]);
            g.push_back(groups[i]);
        }
        auto trees = augur::boosted_trees::train({std::span<const float>(x).first(y.size() * width), width, y, g}, options);
        if (!trees) return trees.error();
        tlp_trees out(table.schema(), *std::move(trees));
        out.refused_ = records.size() - y.size();
        return out;
    }

    /// Combines a schema with trees trained elsewhere. Errors: shape_mismatch (other columns); those of `schema::check`.
    [[nodiscard]] static augur::result<tlp_trees> make(augur::tlp::schema schema, augur::boosted_trees trees) {
        if (auto fits = schema.check(); !fits) return fits.error();
        if (trees.columns() != schema.rows * schema.columns)
            return augur::error{augur::errc::shape_mismatch, "tlp trees: schema '" + schema.name + "' has " +
                                                                 std::to_string(schema.rows * schema.columns) + " features, the trees " +
                                                                 std::to_string(trees.columns())};
        return tlp_trees(std::move(schema), std::move(trees));
    }

    [[nodiscard]] const augur::tlp::schema& schema() const { return schema_; }
    [[nodiscard]] const augur::boosted_trees& trees() const { return trees_; }
    [[nodiscard]] std::size_t refused() const { return refused_; } ///< number of records skipped in training

    [[nodiscard]] std::string save() const { return trees_.save(schema_.hash()); }
    /// Errors: those of `boosted_trees::load`; version_mismatch for trees of another schema.
    [[nodiscard]] static augur::result<tlp_trees> load(std::string_view bytes, augur::tlp::schema schema, std::uint32_t threads = 1) {
        auto trees = augur::boosted_trees::load(bytes, schema.hash(), threads);
        if (!trees) return trees.error();
        return make(std::move(schema), *std::move(trees));
    }

    /// scores[i] <- score of record `records[i]`; -infinity if the vocabulary refuses it.   pre: `table` has all primitives of `data`
    [[nodiscard]] augur::result<void> score_records(const augur::tlp::row_table& table, const augur::dataset& data,
                                                    std::span<const std::uint32_t> records, std::span<float> scores) const {
        if (auto same = augur::tlp::same_schema(table.schema(), "rows", schema_, "trees"); !same) return same;
        return score_blocks(records.size(), scores,
                            [&](std::size_t i, std::span<float> row) { return tlp_flat_features(data.schedule(records[i]), table, row); });
    }

    /// scores[i] <- score of batch[i]; -infinity if the vocabulary refuses a word. Models `cost_model` for every schedule and task.
    ///
    /// Errors: shape_mismatch if the spans differ in length. Allocates a block of features and memory of XGBoost. Concurrent calls are safe.
    template <class Range, augur::task Task>
    [[nodiscard]] augur::result<void> score(const Task&, const Range& schedules, std::span<float> scores) const {
        const auto batch = augur::schedule_span(schedules);
        return score_blocks(batch.size(), scores, [&](std::size_t i, std::span<float> row) {
            std::fill(row.begin(), row.end(), 0.0F);
            return static_cast<bool>(augur::tlp::extract_features(batch[i], schema_, row));
        });
    }

private:
    tlp_trees(augur::tlp::schema schema, augur::boosted_trees trees) : schema_(std::move(schema)), trees_(std::move(trees)) {}

    /// Predicts in blocks of 512 rows; `fill(i, row)` writes row i and returns false if schedule i cannot be scored.
    template <class Fill>
    [[nodiscard]] augur::result<void> score_blocks(std::size_t count, std::span<float> scores, const Fill& fill) const {
        constexpr std::size_t block = 512;
        if (count != scores.size())
            return augur::error{augur::errc::shape_mismatch, "tlp trees: expected as many scores as schedules, got " + std::to_string(scores.size()) +
                                                                 " and " + std::to_string(count)};
        const std::size_t width = trees_.columns();
        std::vector<float> x((std::min)(count, block) * width);
        std::vector<std::size_t> unknown;
        for (std::size_t first = 0; first < count; first += block) {
            const std::size_t n = (std::min)(block, count - first);
            for (std::size_t i = 0; i < n; ++i)
                if (!fill(first + i, std::span(x).subspan(i * width, width))) unknown.push_back(first + i);
            if (auto done = trees_.predict(std::span<const float>(x).first(n * width), scores.subspan(first, n)); !done) return done;
        }
        for (const std::size_t i : unknown) scores[i] = -std::numeric_limits<float>::infinity();
        for (float& s : scores)
            if (std::isnan(s)) s = -std::numeric_limits<float>::infinity();
        return {};
    }

    augur::tlp::schema schema_;
    augur::boosted_trees trees_;
    std::size_t refused_ = 0;
};

/// Schema, training options and retraining schedule of `tlp_trees_online`.
struct tlp_trees_online_options {
    /// Without position columns: the column of a flattened feature determines its position.
    augur::tlp::schema schema = augur::tlp::schema::ansor(32, 12, 0);
    augur::boosted_trees_options trees;
    std::size_t first_update = 64; ///< number of records at the first training
    double growth = 2;             ///< retraining after first_update * growth^k records; at least 1.01
};

/// Trees that start untrained and are retrained after 64, 128, 256, ... records, as `tlp::online_model`. Models `trainable_cost_model`.
///
/// The model depends on the records and their order only. Labels are the task's least latency / latency, 0 for a failure.
/// Threads: use an object from one thread at a time.
template <augur::schedule S, augur::task Task>
class tlp_trees_online {
public:
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;

    /// pre: options.schema.check() and options.trees.check(), growth >= 1.01, first_update > 0
    explicit tlp_trees_online(tlp_trees_online_options options = {}) : options_(std::move(options)) {
        AUGUR_ASSERT(options_.schema.check() && options_.trees.check() && options_.growth >= augur::least_retraining_growth &&
                         options_.first_update > 0,
                     "tlp_trees_online: options");
    }

    /// As `tlp_trees::score`; all scores are 0 before the first training.
    augur::result<void> score(const Task& task, std::span<const S> batch, std::span<float> scores) {
        if (model_) return model_->score(task, batch, scores);
        if (batch.size() != scores.size())
            return augur::error{augur::errc::shape_mismatch, "tlp trees: expected as many scores as schedules, got " + std::to_string(scores.size()) +
                                                                 " and " + std::to_string(batch.size())};
        std::fill(scores.begin(), scores.end(), 0.0F);
        return {};
    }

    /// Takes all records so far, oldest first, and retrains when the retraining schedule requires it. A record whose schedule the vocabulary refuses
    /// counts for the retraining schedule, but is not a training sample. Errors: those of `boosted_trees::train`.
    augur::result<void> update(std::span<const augur::observation<S, Task>> records) {
        const std::size_t count = augur::last_retraining(records.size(), options_.first_update, options_.growth);
        if (count <= trained_on_) return {};
        if (auto done = train(records.first(count)); !done) return done;
        trained_on_ = count;
        return {};
    }

    [[nodiscard]] std::size_t trained_on() const { return trained_on_; } ///< number of records of the last training
    /// Current model; null before the first training.
    [[nodiscard]] const tlp_trees* model() const { return model_ ? &*model_ : nullptr; }

private:
    struct sample {
        std::uint32_t group;
        std::size_t row; ///< of `x`
        double seconds;
    };

    augur::result<void> train(std::span<const augur::observation<S, Task>> records) {
        const std::size_t width = options_.schema.rows * options_.schema.columns;
        std::vector<sample> samples;
        std::vector<float> rows(width), x;
        std::vector<double> best;
        augur::tlp::launch_follower follower;
        std::map<std::string, std::uint32_t, std::less<>> numbers; // keyed by task_identity, because task objects may move
        for (const auto& r : records) {
            std::fill(rows.begin(), rows.end(), 0.0F);
            if (!augur::tlp::extract_features(*r.schedule, options_.schema, std::span<float>(rows), follower)) continue;
            const std::uint32_t group = numbers.try_emplace(augur::task_identity(*r.task), static_cast<std::uint32_t>(best.size())).first->second;
            if (group == best.size()) best.push_back(std::numeric_limits<double>::infinity());
            const double seconds = r.outcome->latency();
            best[group] = (std::min)(best[group], seconds);
            samples.push_back({group, samples.size(), seconds});
            x.insert(x.end(), rows.begin(), rows.end());
        }
        if (samples.empty()) return {};
        std::sort(samples.begin(), samples.end(),
                  [](const sample& a, const sample& b) { return a.group != b.group ? a.group < b.group : a.row < b.row; });
        std::vector<float> sorted, labels;
        std::vector<std::uint32_t> groups;
        for (const sample& s : samples) {
            const auto row = std::span<const float>(x).subspan(s.row * width, width);
            sorted.insert(sorted.end(), row.begin(), row.end());
            labels.push_back(augur::speed_label(best[s.group], s.seconds));
            groups.push_back(s.group);
        }
        auto trees = augur::boosted_trees::train({sorted, width, labels, groups}, options_.trees);
        if (!trees) return trees.error();
        auto model = tlp_trees::make(options_.schema, *std::move(trees));
        if (!model) return model.error();
        model_.emplace(*std::move(model));
        return {};
    }

    tlp_trees_online_options options_;
    std::optional<tlp_trees> model_;
    std::size_t trained_on_ = 0;
};

} // namespace examples

#endif
