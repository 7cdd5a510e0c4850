// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TREES_ONLINE_HPP
#define AUGUR_XGBOOST_TREES_ONLINE_HPP

/// @file
/// Online boosted-trees cost model: regression of -ln(latency) on any row features, retrained on the records of a running search.

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
#include <augur/model/concepts.hpp>
#include <augur/model/row_features.hpp>
#include <augur/workload/concepts.hpp>
#include <augur/xgboost/boosted_trees.hpp>

namespace augur::inline v0 {

/// Boosted-trees options for tens of samples: shallow trees with row and column sampling, to limit the influence of a single candidate.
[[nodiscard]] inline boosted_trees_options few_sample_trees() {
    boosted_trees_options o;
    o.rounds = 100;
    o.depth = 4;
    o.learning_rate = 0.1;
    o.min_split_loss = 0;
    o.min_child_weight = 3;
    o.row_share = 0.8;
    o.column_share = 0.3;
    o.start = 0;
    return o;
}

/// Trees that start untrained and are retrained from scratch on all records at each update; the tuner decides when to update (`train_first`,
/// `train_growth`). Models `trainable_cost_model`.
///
/// Score: mean -ln(seconds) of the task's records + prediction of the trees; 0, of any schedule, before the first training. A failure has the label of the slowest
/// record of its task. A schedule without a feature row scores -infinity and is not a training sample.
/// Threads: use an object from one thread at a time.
template <schedule S, task Task, row_features_of<S, Task> F>
class trees_online {
public:
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;

    /// pre: options.check()
    explicit trees_online(F row_of, boosted_trees_options options = few_sample_trees()) : row_of_(std::move(row_of)), options_(options) {
        AUGUR_ASSERT(options_.check(), "trees_online: options");
    }

    /// scores[i] <- score of batch[i].
    /// @param prior  one additional feature per schedule, if `update` had it, too (see `residual_model`); empty: none
    /// Errors: shape_mismatch; errors of XGBoost.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores, std::span<const float> prior = {}) {
        if (batch.size() != scores.size() || (!prior.empty() && prior.size() != batch.size()))
            return error{errc::shape_mismatch, "trees: expected as many scores and as many prior scores or none, got " +
                                                   std::to_string(batch.size()) + " schedules, " + std::to_string(scores.size()) + " scores, " +
                                                   std::to_string(prior.size()) + " prior scores"};
        std::fill(scores.begin(), scores.end(), 0.0F);
        if (!trees_) return {};
        const auto at = means_.find(task_identity(t));
        const double mean = at == means_.end() ? 0 : at->second;
        const std::size_t columns = row_of_.columns() + (prior.empty() ? 0 : 1);
        rows_.assign(batch.size() * columns, 0.0F);
        std::vector<std::size_t> refused;
        for (std::size_t i = 0; i < batch.size(); ++i)
            if (!fill(t, batch[i], prior, i, std::span(rows_).subspan(i * columns, columns))) refused.push_back(i);
        if (auto done = trees_->predict(rows_, scores); !done) return done;
        for (float& s : scores) s += static_cast<float>(mean);
        for (const auto i : refused) scores[i] = -std::numeric_limits<float>::infinity();
        return {};
    }

    /// Retrains on all records so far. `prior` has one additional feature per record, or is empty. Errors: shape_mismatch; those of
    /// `boosted_trees::train`.
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records, std::span<const float> prior = {}) {
        if (!prior.empty() && prior.size() != records.size())
            return error{errc::shape_mismatch,
                         "trees: expected " + std::to_string(records.size()) + " prior scores, one per record, got " + std::to_string(prior.size())};
        struct sums {
            double all = 0, slowest = 0;
            std::size_t count = 0;
        };
        std::map<std::string, sums, std::less<>> tasks; // keyed by task_identity, because task objects may move
        for (const auto& r : records) {
            const double seconds = r.outcome->latency();
            if (!std::isfinite(seconds)) continue;
            auto& s = tasks[task_identity(*r.task)];
            s.slowest = (std::max)(s.slowest, seconds);
            s.all -= std::log(seconds);
            ++s.count;
        }
        std::vector<float> x, labels, row(row_of_.columns() + (prior.empty() ? 0 : 1));
        for (std::size_t i = 0; i < records.size(); ++i) {
            const auto& r = records[i];
            const auto at = tasks.find(task_identity(*r.task));
            if (at == tasks.end() || !fill(*r.task, *r.schedule, prior, i, row)) continue; // a task with failures only has no label
            const double seconds = r.outcome->latency();
            x.insert(x.end(), row.begin(), row.end());
            labels.push_back(static_cast<float>(-std::log(std::isfinite(seconds) ? seconds : at->second.slowest) -
                                                at->second.all / static_cast<double>(at->second.count)));
        }
        if (labels.empty()) return {};
        auto trees = boosted_trees::train({x, row.size(), labels, {}}, options_);
        if (!trees) return trees.error();
        trees_.emplace(*std::move(trees));
        trained_on_ = labels.size();
        means_.clear();
        for (const auto& [key, s] : tasks) means_[key] = s.all / static_cast<double>(s.count);
        return {};
    }

    [[nodiscard]] std::size_t trained_on() const { return trained_on_; } ///< number of training samples of the current trees

private:
    /// Writes the row of a schedule; false if there is no row, or if it has an infinite number, which XGBoost rejects.
    bool fill(const Task& t, const S& s, std::span<const float> prior, std::size_t i, std::span<float> row) {
        if (!prior.empty()) row.back() = prior[i];
        if (!prior.empty() && !std::isfinite(prior[i])) return false;
        return row_of_(t, s, row.first(row_of_.columns())) && std::none_of(row.begin(), row.end(), [](float x) { return std::isinf(x); });
    }

    F row_of_;
    boosted_trees_options options_;
    std::optional<boosted_trees> trees_;
    std::map<std::string, double, std::less<>> means_; ///< mean -ln(seconds) by task
    std::size_t trained_on_ = 0;
    std::vector<float> rows_;
};

} // namespace augur::inline v0

#endif
