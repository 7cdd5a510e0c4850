// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_AUTOTVM_TREES_HPP
#define AUGUR_XGBOOST_AUTOTVM_TREES_HPP

/// @file
/// AutoTVM's cost model: boosted trees that rank the candidates of one task, and its transfer from the records of other tasks.

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

/// AutoTVM's trees (TVM, python/tvm/autotvm/tuner/xgboost_cost_model.py): rank loss without query groups, up to 8000 rounds, stopped by the recall of
/// the best `plan` training samples.
[[nodiscard]] inline boosted_trees_options autotvm_tree_options(std::uint32_t plan = 64) {
    boosted_trees_options o;
    o.objective = tree_objective::rank_pairwise; // the tuner's default; AutoTVM's other loss is squared_error
    o.rounds = 8000;
    o.depth = 3;
    o.learning_rate = 0.3;
    o.min_split_loss = 1e-4;
    o.min_child_weight = 1;
    o.start = 0;
    o.bins = 0;
    o.stop_recall = plan;
    o.patience = 20;
    return o;
}

/// Parameters of `autotvm_trees`. The defaults are AutoTVM's.
struct autotvm_trees_options {
    boosted_trees_options trees = autotvm_tree_options();
    std::uint32_t history_rounds = 400;   ///< most rounds of the trees of other tasks
    std::uint32_t history_patience = 100; ///< their `patience`
    std::size_t history_rows = 500;       ///< fewer records of other tasks teach nothing
    double half_life = 64;                ///< training samples of a task after which the other tasks' trees count half
    double least_weight = 0.05;           ///< below this weight they are left out
};

/// Trees that rank the candidates of each task by the records of that task alone, trained from scratch at each update.
///
/// A label is the least latency of the task over the latency, 0 for a failure. The score has no unit; it is 0 before the first training of a task.
/// With `learn_history` the trees of other tasks give the scores of a task without records; later they are the margin that its own trees correct,
/// with weight 2^(-n / half_life) for n own training samples. AutoTVM's labels of the history are throughputs over the greatest of all tasks; here
/// each task's labels are relative to its own best, because the rows do not say how much work a task is.
///
/// A schedule without a feature row scores -infinity and is not a training sample.
/// Source: Chen et al., Learning to Optimize Tensor Programs (NeurIPS 2018), sections 4 and 5; the code of AutoTVM.
/// Threads: use an object from one thread at a time.
template <schedule S, task Task, row_features_of<S, Task> F>
class autotvm_trees {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// pre: options.trees.check(); half_life > 0
    explicit autotvm_trees(F row_of, autotvm_trees_options options = {}) : row_of_(std::move(row_of)), options_(options) {
        AUGUR_ASSERT(options_.trees.check() && options_.half_life > 0, "autotvm_trees: options");
    }

    /// Trains the trees of other tasks and discards those of the tasks themselves, which corrected the earlier history: call `update` again. Returns whether
    /// there were enough records (`history_rows`); if not, there is no history. Errors: those of `boosted_trees::train`; there is no history then.
    [[nodiscard]] result<bool> learn_history(std::span<const observation<S, Task>> records) {
        history_.reset();
        own_.clear();
        std::vector<float> x, labels;
        for (auto& [key, own] : rows_by_task(records)) {
            x.insert(x.end(), own.x.begin(), own.x.end());
            labels.insert(labels.end(), own.labels.begin(), own.labels.end());
        }
        if (labels.empty() || labels.size() < options_.history_rows) return false;
        boosted_trees_options o = options_.trees;
        o.rounds = options_.history_rounds;
        o.patience = options_.history_patience;
        auto trees = boosted_trees::train({x, row_of_.columns(), labels, {}}, o);
        if (!trees) return trees.error();
        history_.emplace(*std::move(trees));
        return true;
    }

    /// scores[i] <- score of batch[i]. Errors: shape_mismatch; errors of XGBoost.
    [[nodiscard]] result<void> score(const Task& t, std::span<const S> batch, std::span<float> scores) {
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch, "autotvm_trees: expected as many scores as schedules, got " + std::to_string(scores.size()) + " for " +
                                                   std::to_string(batch.size())};
        std::fill(scores.begin(), scores.end(), 0.0F);
        const auto own = own_.find(task_identity(t));
        rows_.assign(batch.size() * row_of_.columns(), 0.0F);
        std::vector<std::size_t> refused;
        for (std::size_t i = 0; i < batch.size(); ++i)
            if (!fill(t, batch[i], std::span(rows_).subspan(i * row_of_.columns(), row_of_.columns()))) refused.push_back(i);
        if (auto done = margins(rows_, own == own_.end() ? 1 : own->second.history, scores); !done) return done; // 0 without a history
        if (own != own_.end()) {
            std::vector<float> corrections(batch.size());
            if (auto done = own->second.trees.predict(rows_, corrections); !done) return done;
            for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += corrections[i];
        }
        for (const auto i : refused) scores[i] = -std::numeric_limits<float>::infinity();
        return {};
    }

    /// Trains the trees of each task on all its records so far. Errors: those of `boosted_trees::train`.
    [[nodiscard]] result<void> update(std::span<const observation<S, Task>> records) {
        for (auto& [key, rows] : rows_by_task(records)) {
            const double weight = history_weight(rows.labels.size());
            if (const auto at = own_.find(key); at != own_.end() && at->second.samples == rows.labels.size()) continue; // nothing new
            std::vector<float> margin;
            if (history_ && weight > 0) {
                margin.resize(rows.labels.size());
                if (auto done = margins(rows.x, weight, margin); !done) return done;
            }
            auto trees = boosted_trees::train({rows.x, row_of_.columns(), rows.labels, {}, margin}, options_.trees);
            if (!trees) return trees.error();
            own_.insert_or_assign(key, trained{*std::move(trees), weight, rows.labels.size()});
        }
        return {};
    }

    /// The weight of the other tasks' trees for a task with so many training samples.
    [[nodiscard]] double history_weight(std::size_t samples) const {
        const double weight = std::exp2(-static_cast<double>(samples) / options_.half_life);
        return history_ && weight >= options_.least_weight ? weight : 0;
    }

private:
    struct trained {
        boosted_trees trees;
        double history;      ///< weight of the other tasks' trees in their training
        std::size_t samples; ///< that they were trained on
    };
    struct task_rows {
        std::vector<float> x, labels;
    };

    /// Rows and labels by task. A task without a success is left out.
    [[nodiscard]] std::map<std::string, task_rows, std::less<>> rows_by_task(std::span<const observation<S, Task>> records) {
        std::map<std::string, double, std::less<>> best; // keyed by task_identity, because task objects may move
        for (const auto& r : records)
            if (const double seconds = r.outcome->latency(); std::isfinite(seconds) && seconds > 0) {
                const auto [at, fresh] = best.try_emplace(task_identity(*r.task), seconds);
                if (!fresh) at->second = (std::min)(at->second, seconds);
            }
        std::map<std::string, task_rows, std::less<>> out;
        std::vector<float> row(row_of_.columns());
        for (const auto& r : records) {
            const auto at = best.find(task_identity(*r.task));
            if (at == best.end() || !fill(*r.task, *r.schedule, row)) continue;
            task_rows& own = out[at->first];
            own.x.insert(own.x.end(), row.begin(), row.end());
            const double seconds = r.outcome->latency();
            own.labels.push_back(std::isfinite(seconds) && seconds > 0 ? static_cast<float>(at->second / seconds) : 0.0F);
        }
        return out;
    }
    /// out[i] <- weight * prediction of the other tasks' trees; 0 without them.
    [[nodiscard]] result<void> margins(std::span<const float> x, double weight, std::span<float> out) const {
        if (!history_ || weight == 0) return {};
        if (auto done = history_->predict(x, out); !done) return done;
        for (float& m : out) m *= static_cast<float>(weight);
        return {};
    }
    /// Writes the row of a schedule; false if there is no row, or if it has an infinite number, which XGBoost rejects.
    bool fill(const Task& t, const S& s, std::span<float> row) {
        return row_of_(t, s, row) && std::none_of(row.begin(), row.end(), [](float x) { return std::isinf(x); });
    }

    F row_of_;
    autotvm_trees_options options_;
    std::optional<boosted_trees> history_;
    std::map<std::string, trained, std::less<>> own_; ///< by task
    std::vector<float> rows_;
};

} // namespace augur::inline v0

#endif
