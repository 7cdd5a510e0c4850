// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TLP_TREES_HPP
#define AUGUR_XGBOOST_TLP_TREES_HPP

/// @file
/// Boosted trees on TLP's features, the matrix (L, E) of a schedule read as one row of L * E numbers: the baseline that the network must beat, and a
/// cost model that trains in seconds.

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

namespace augur::inline v0 {

/// out (L * E) <- the features of a schedule by its rows in `table`, places with them; zeros behind its end.
///
/// @return  false, and zeros, when the vocabulary refuses a primitive
/// @note    O(L * E), no allocation without thread rows. pre: `table` has all ids
[[nodiscard]] inline bool tlp_flat_features(std::span<const primitive_id> schedule, const tlp::row_table& table, std::span<float> out) {
    const tlp::schema& schema = table.schema();
    AUGUR_ASSERT(out.size() == schema.rows * schema.columns, "tlp_flat_features: shape");
    std::fill(out.begin(), out.end(), 0.0F);
    for (const primitive_id id : schedule) // those behind the crop count too, as they do when the schedule itself is read
        if (table.row(id) == tlp::row_table::refused) return false;
    std::size_t rows = 0;
    const auto add = [&](std::span<const float> values) {
        if (rows >= schema.rows) return;
        const auto row = out.subspan(rows * schema.columns, schema.columns);
        std::copy_n(values.begin(), schema.columns, row.begin());
        if (schema.positions > 0) row[schema.columns - schema.positions + (std::min)(rows, schema.positions - 1)] = 1;
        ++rows;
    };
    for (const primitive_id id : schedule) add(table.values(table.row(id)));
    tlp::launch_follower follower;
    std::vector<float> scratch;
    table.for_launch_features(schedule, follower, scratch, add);
    return true;
}

/// Trees and the schema they were trained with. A value; shared and const while it is used.
class tlp_trees {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Trains on records of a data set, as `tlp::make_samples` gives them for one output. Those that the vocabulary refuses are left out and counted.
    ///
    /// @param records  (N) of `data`
    /// @param labels   (N) least latency over latency, 0 for a failure
    /// @param groups   (N) rising, the task of each
    /// @note           errors: those of `boosted_trees::train`. 16 bytes a feature and record at the peak: 8.8 kB a record for a crop of 25x22.
    ///                 pre: `table` has all primitives of `data`
    [[nodiscard]] static result<tlp_trees> train(const tlp::row_table& table, const dataset& data, std::span<const std::uint32_t> records,
                                                 std::span<const float> labels, std::span<const std::uint32_t> groups,
                                                 const boosted_trees_options& options = {}) {
        if (labels.size() != records.size() || groups.size() != records.size())
            return error{errc::shape_mismatch, "tlp trees: " + std::to_string(records.size()) + " records, " + std::to_string(labels.size()) +
                                                   " labels, " + std::to_string(groups.size()) + " groups"};
        const std::size_t width = table.schema().rows * table.schema().columns;
        std::vector<float> x(records.size() * width), y;
        std::vector<std::uint32_t> g;
        for (std::size_t i = 0; i < records.size(); ++i) {
            if (!tlp_flat_features(data.schedule(records[i]), table, std::span(x).subspan(y.size() * width, width))) continue;
            y.push_back(labels[i]);
            g.push_back(groups[i]);
        }
        auto trees = boosted_trees::train({std::span<const float>(x).first(y.size() * width), width, y, g}, options);
        if (!trees) return trees.error();
        tlp_trees out(table.schema(), *std::move(trees));
        out.refused_ = records.size() - y.size();
        return out;
    }

    /// Trees of somebody's own training. Error: shape_mismatch.
    [[nodiscard]] static result<tlp_trees> make(tlp::schema schema, boosted_trees trees) {
        if (auto fits = schema.check(); !fits) return fits.error();
        if (trees.columns() != schema.rows * schema.columns)
            return error{errc::shape_mismatch, "tlp trees: schema '" + schema.name + "' has " + std::to_string(schema.rows * schema.columns) +
                                                   " features, the trees " + std::to_string(trees.columns())};
        return tlp_trees(std::move(schema), std::move(trees));
    }

    [[nodiscard]] const tlp::schema& schema() const { return schema_; }
    [[nodiscard]] const boosted_trees& trees() const { return trees_; }
    [[nodiscard]] std::size_t refused() const { return refused_; } ///< records that the training left out

    [[nodiscard]] std::string save() const { return trees_.save(schema_.hash()); }
    /// Errors: those of `boosted_trees::load`; version_mismatch when the trees know another schema.
    [[nodiscard]] static result<tlp_trees> load(std::string_view bytes, tlp::schema schema, std::uint32_t threads = 1) {
        auto trees = boosted_trees::load(bytes, schema.hash(), threads);
        if (!trees) return trees.error();
        return make(std::move(schema), *std::move(trees));
    }

    /// scores[i] <- the score of record `records[i]`; -infinity where the vocabulary refuses it.   pre: `table` has all primitives of `data`
    [[nodiscard]] result<void> score_records(const tlp::row_table& table, const dataset& data, std::span<const std::uint32_t> records,
                                             std::span<float> scores) const {
        if (auto same = tlp::same_schema(table.schema(), "rows", schema_, "trees"); !same) return same;
        return by_blocks(records.size(), scores,
                         [&](std::size_t i, std::span<float> row) { return tlp_flat_features(data.schedule(records[i]), table, row); });
    }

    /// scores[i] <- the score of batch[i]; -infinity where the vocabulary does not know a word. Models `cost_model` for every schedule and task.
    ///
    /// Errors: shape_mismatch when the spans differ in length. Allocates a block of features and what XGBoost needs. Const, so safe from many
    /// threads.
    template <schedule S, task Task>
    [[nodiscard]] result<void> score(const Task&, std::span<const S> batch, std::span<float> scores) const {
        return by_blocks(batch.size(), scores, [&](std::size_t i, std::span<float> row) {
            std::fill(row.begin(), row.end(), 0.0F);
            return static_cast<bool>(tlp::extract_features(batch[i], schema_, row));
        });
    }

private:
    tlp_trees(tlp::schema schema, boosted_trees trees) : schema_(std::move(schema)), trees_(std::move(trees)) {}

    /// `fill(i, row)` writes row i, false: it cannot be scored.
    template <class Fill>
    [[nodiscard]] result<void> by_blocks(std::size_t count, std::span<float> scores, const Fill& fill) const {
        constexpr std::size_t block = 512;
        if (count != scores.size())
            return error{errc::shape_mismatch,
                         "tlp trees: " + std::to_string(count) + " schedules, but room for " + std::to_string(scores.size()) + " scores"};
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

    tlp::schema schema_;
    boosted_trees trees_;
    std::size_t refused_ = 0;
};

/// What online trees are made of and when they learn.
struct tlp_trees_online_options {
    tlp::schema schema = tlp::schema::ansor(32, 12, 0); ///< a column knows its place, so no columns for places
    boosted_trees_options trees;
    std::size_t first_update = 64; ///< records before the first training
    double growth = 2;             ///< they are trained again at first_update * growth^k records; at least 1.01
};

/// Trees that start without knowledge and are trained anew after 64, 128, 256, ... records, as `tlp::online_model` is. Models `trainable_cost_model`.
///
/// The model depends on the records and their order only. Labels are the task's best latency / latency; a failure is 0.
/// Threads: one thread an object.
template <schedule S, task Task>
class tlp_trees_online {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// pre: the options' schema and trees check
    explicit tlp_trees_online(tlp_trees_online_options options = {}) : options_(std::move(options)) {
        AUGUR_ASSERT(options_.schema.check() && options_.trees.check() && options_.growth >= least_retraining_growth && options_.first_update > 0,
                     "tlp_trees_online: options");
    }

    /// As `tlp_trees::score`; 0 for all while there is no knowledge.
    result<void> score(const Task& task, std::span<const S> batch, std::span<float> scores) {
        if (model_) return model_->score(task, batch, scores);
        if (batch.size() != scores.size()) return error{errc::shape_mismatch, "tlp trees: as many scores as schedules are needed"};
        std::fill(scores.begin(), scores.end(), 0.0F);
        return {};
    }

    /// Takes all records so far, oldest first, and trains when their number has reached the next mark.
    /// A record whose schedule the vocabulary does not know counts, but teaches nothing. Errors: those of `boosted_trees::train`.
    result<void> update(std::span<const observation<S, Task>> records) {
        const std::size_t mark = last_retraining(records.size(), options_.first_update, options_.growth);
        if (mark <= trained_on_) return {};
        if (auto done = train(records.first(mark)); !done) return done;
        trained_on_ = mark;
        return {};
    }

    [[nodiscard]] std::size_t trained_on() const { return trained_on_; } ///< records that the present model has seen
    /// The present model; nothing while there is no knowledge.
    [[nodiscard]] const tlp_trees* model() const { return model_ ? &*model_ : nullptr; }

private:
    struct sample {
        std::uint32_t group;
        std::size_t row; ///< of `x`
        double seconds;
    };

    result<void> train(std::span<const observation<S, Task>> records) {
        const std::size_t width = options_.schema.rows * options_.schema.columns;
        std::vector<sample> samples;
        std::vector<float> rows(width), x;
        std::vector<double> best;
        std::map<std::string, std::uint32_t, std::less<>> numbers; // by key: the task objects may move
        for (const auto& r : records) {
            std::fill(rows.begin(), rows.end(), 0.0F);
            if (!tlp::extract_features(*r.schedule, options_.schema, std::span<float>(rows))) continue;
            const std::uint32_t group = numbers.try_emplace(task_identity(*r.task), static_cast<std::uint32_t>(best.size())).first->second;
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
            labels.push_back(speed_label(best[s.group], s.seconds));
            groups.push_back(s.group);
        }
        auto trees = boosted_trees::train({sorted, width, labels, groups}, options_.trees);
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

} // namespace augur::inline v0

#endif
