// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TREES_ONLINE_HPP
#define AUGUR_XGBOOST_TREES_ONLINE_HPP

/// @file
/// Boosted trees that learn the logarithm of the time while the search runs, on any numbers that describe a schedule.

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

/// Options of boosted trees for tens of samples, not thousands: small trees on a part of the rows and columns each, so that no single candidate says
/// much.
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

/// Trees that begin without knowledge and are grown anew from all records at each update: how often that is the tuner decides (`train_first`,
/// `train_growth`). Models `trainable_cost_model`.
///
/// A score is the mean -ln(seconds) of the task's records and what the trees make of the schedule; 0 without records. A failure counts as the slowest
/// record of its task. A schedule whose row cannot be made scores -infinity and teaches nothing.
/// Threads: one thread an object.
template <schedule S, task Task, row_features_of<S, Task> F>
class trees_online {
public:
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;

    /// pre: the options check
    explicit trees_online(F row_of, boosted_trees_options options = few_sample_trees()) : row_of_(std::move(row_of)), options_(options) {
        AUGUR_ASSERT(options_.check(), "trees_online: options");
    }

    /// @param prior  a number more of each schedule, as with the records; `residual_model` gives it. Empty: none
    /// Errors: shape_mismatch; what XGBoost refuses.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores, std::span<const float> prior = {}) {
        if (batch.size() != scores.size() || (!prior.empty() && prior.size() != batch.size()))
            return error{errc::shape_mismatch,
                         "trees: " + std::to_string(batch.size()) + " schedules and room for " + std::to_string(scores.size()) + " scores"};
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

    /// Takes all records so far. Errors: shape_mismatch; those of `boosted_trees::train`.
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records, std::span<const float> prior = {}) {
        if (!prior.empty() && prior.size() != records.size()) return error{errc::shape_mismatch, "trees: as many numbers of a prior as records"};
        struct sums {
            double all = 0, slowest = 0;
            std::size_t count = 0;
        };
        std::map<std::string, sums, std::less<>> tasks; // by key: the task objects may move
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
            if (at == tasks.end() || !fill(*r.task, *r.schedule, prior, i, row)) continue; // of nothing but failures nothing is learned
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

    [[nodiscard]] std::size_t trained_on() const { return trained_on_; } ///< records that the present trees have seen

private:
    /// False: there is no row, or it has a number that trees do not take.
    bool fill(const Task& t, const S& s, std::span<const float> prior, std::size_t i, std::span<float> row) {
        if (!prior.empty()) row.back() = prior[i];
        if (!prior.empty() && !std::isfinite(prior[i])) return false;
        return row_of_(t, s, row.first(row_of_.columns())) && std::none_of(row.begin(), row.end(), [](float x) { return std::isinf(x); });
    }

    F row_of_;
    boosted_trees_options options_;
    std::optional<boosted_trees> trees_;
    std::map<std::string, double, std::less<>> means_; ///< of -ln(seconds), by task
    std::size_t trained_on_ = 0;
    std::vector<float> rows_;
};

} // namespace augur::inline v0

#endif
