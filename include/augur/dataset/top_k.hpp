// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_TOP_K_HPP
#define AUGUR_DATASET_TOP_K_HPP

/// @file
/// Top-k score of a cost model (Zhai et al. 2023, section 6): best latency divided by the best latency among the k programs with the highest scores,
/// with both latencies summed over the tasks.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// Accumulates tasks:   score(k) = sum of weight * best latency / sum of weight * best latency among the k highest scores
///
/// A failed record (label 0 or nearly 0) stays a candidate; its latency is 1e5 times the best, as in the TLP authors' code. A task without a valid
/// record is in neither sum and is counted. Equal scores rank in record order; NaN ranks last.
class top_k_score {
public:
    /// pre: every k is at least 1
    explicit top_k_score(std::vector<std::size_t> ks = {1, 5, 10, 20}) : ks_(std::move(ks)), picked_(ks_.size()) {
        AUGUR_ASSERT(std::find(ks_.begin(), ks_.end(), 0U) == ks_.end(), "top_k_score: every k is at least 1");
    }

    /// Adds a task. With float arguments it rounds as the TLP authors' code does.
    ///
    /// @param scores       (n) model scores, higher is better
    /// @param labels       (n) smallest latency / latency, in [0, 1]; 0 or nearly 0 for a failure
    /// @param min_seconds  smallest latency of the task in seconds, from `task_labels`: infinity or 1e6 if the task has no valid record
    /// @param weight       number of times that the task occurs in its network
    /// @note               O(n log k) for the largest k
    template <std::floating_point Score, std::floating_point Label>
    void add(std::span<const Score> scores, std::span<const Label> labels, double min_seconds, double weight = 1) {
        AUGUR_ASSERT(scores.size() == labels.size(), "top_k_score::add: one score per label");
        if (!(min_seconds > 0 && min_seconds < 1e6) || labels.empty()) {
            ++without_record_;
            return;
        }
        ++tasks_;
        best_ += weight * min_seconds;
        const std::size_t most = ks_.empty() ? 0 : *std::max_element(ks_.begin(), ks_.end());
        order_.resize(scores.size());
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        const auto value = [&](std::size_t i) { return std::isnan(scores[i]) ? -std::numeric_limits<Score>::infinity() : scores[i]; };
        const auto end = order_.begin() + static_cast<std::ptrdiff_t>((std::min)(most, order_.size()));
        std::partial_sort(order_.begin(), end, order_.end(), [&](std::size_t a, std::size_t b) {
            if (value(a) != value(b)) return value(a) > value(b);
            if (std::isnan(scores[a]) != std::isnan(scores[b])) return std::isnan(scores[b]);
            return a < b;
        });
        for (std::size_t k = 0; k < ks_.size(); ++k) {
            Label highest = 0;
            for (std::size_t i = 0; i < (std::min)(ks_[k], order_.size()); ++i) highest = (std::max)(highest, labels[order_[i]]);
            const Label latency = static_cast<Label>(min_seconds) / (std::max)(highest, static_cast<Label>(1e-5));
            picked_[k] += weight * static_cast<double>(latency);
        }
    }

    /// Adds the sums of another accumulator.   pre: both have the same list of k
    void add(const top_k_score& other) {
        AUGUR_ASSERT(ks_ == other.ks_, "top_k_score::add: another list of k");
        best_ += other.best_;
        for (std::size_t k = 0; k < picked_.size(); ++k) picked_[k] += other.picked_[k];
        tasks_ += other.tasks_;
        without_record_ += other.without_record_;
    }

    [[nodiscard]] const std::vector<std::size_t>& ks() const noexcept { return ks_; }
    /// Score of the i-th k: at most 1 up to the rounding of float labels; NaN if no task was added.
    [[nodiscard]] double score(std::size_t i) const { return tasks_ == 0 ? std::numeric_limits<double>::quiet_NaN() : best_ / picked_[i]; }
    [[nodiscard]] std::size_t tasks() const noexcept { return tasks_; }
    /// Number of tasks left out because they have no valid record. Report it with the score.
    [[nodiscard]] std::size_t without_record() const noexcept { return without_record_; }

private:
    std::vector<std::size_t> ks_;
    double best_ = 0;            ///< weighted sum of the best latencies in seconds
    std::vector<double> picked_; ///< (k values) weighted sum of the latencies selected by the model, in seconds
    std::size_t tasks_ = 0, without_record_ = 0;
    std::vector<std::size_t> order_;
};

} // namespace augur::inline v0

#endif
