// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_XGBOOST_TREE_OPTIONS_HPP
#define AUGUR_XGBOOST_TREE_OPTIONS_HPP

/// @file
/// Options and samples for the training of boosted trees.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <augur/core/error.hpp>

namespace augur::inline v0 {

/// Training objective of the trees.
enum class tree_objective : std::uint8_t {
    squared_error, ///< regression of the label (`reg:squarederror`)
    rank_pairwise, ///< pairwise ranking of the labels within a group (`rank:pairwise`)
};

/// Training options. The defaults are Ansor's (TVM, auto_scheduler/cost_model/xgb_model.py), with a fixed number of rounds instead of early stopping.
struct boosted_trees_options {
    tree_objective objective = tree_objective::squared_error;
    std::uint32_t rounds = 300;    ///< number of trees
    std::uint32_t depth = 10;      ///< maximum tree depth, 1 to 30
    double learning_rate = 0.2;    ///< eta
    double min_split_loss = 0.001; ///< gamma
    double min_child_weight = 0;
    double row_share = 1;        ///< fraction of the rows sampled per tree (subsample)
    double column_share = 1;     ///< fraction of the columns sampled per tree (colsample_bytree)
    double start = 0.5;          ///< base score, the prediction without trees; Ansor's and XGBoost's default for labels in [0, 1]
    bool weigh_by_label = false; ///< squared error: the weight of a sample is its label, so that fast programs have the largest weights
    std::uint32_t bins = 256;    ///< split candidates per column, by quantiles (hist); 0: all values (exact, slower)
    std::uint64_t seed = 0;      ///< seed of the sampling; only the lowest 31 bits are used
    /// Early stopping: training ends when the average recall of the best 1 to this many training samples (`average_recall`) has not risen for
    /// `patience` rounds. The trees of these rounds are kept, as AutoTVM does. 0: all `rounds`.
    std::uint32_t stop_recall = 0;
    std::uint32_t patience = 20; ///< of `stop_recall`, at least 1
    /// Number of threads. Ranking is trained on one thread, because XGBoost's sampling of pairs depends on the number of threads. XGBoost's threads
    /// spin while they wait: on a busy machine one thread is much faster than several.
    std::uint32_t threads = 1;

    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check() const {
        const auto wrong = [](std::string_view text) { return error{errc::invalid_argument, "boosted trees: expected " + std::string(text)}; };
        const auto share = [](double s) { return s > 0 && s <= 1; };
        if (rounds < 1 || rounds > 1000000) return wrong("1 to 1000000 rounds, got " + std::to_string(rounds));
        if (depth < 1 || depth > 30) return wrong("a depth of 1 to 30, got " + std::to_string(depth));
        if (!share(learning_rate) || !share(row_share) || !share(column_share)) return wrong("a learning rate and shares above 0, at most 1");
        if (!(min_split_loss >= 0) || !(min_child_weight >= 0) || std::isinf(min_split_loss) || std::isinf(min_child_weight))
            return wrong("a finite least loss and weight of at least 0");
        if (!std::isfinite(start)) return wrong("a finite start");
        if (bins == 1 || bins > 65536) return wrong("0 or 2 to 65536 bins, got " + std::to_string(bins));
        if (stop_recall > 0 && patience < 1) return wrong("a patience of at least 1, got 0");
        if (threads < 1 || threads > 4096) return wrong("1 to 4096 threads, got " + std::to_string(threads));
        return {};
    }
};

/// Training samples: N rows of C features.
struct tree_samples {
    std::span<const float> x;              ///< (N, C) row-major; NaN for a missing value
    std::size_t columns = 0;               ///< C
    std::span<const float> labels;         ///< (N) higher is better
    std::span<const std::uint32_t> groups; ///< (N) non-decreasing; empty: one group. Only the ranking objective reads the groups
    /// (N) a prediction that the trees are to correct (XGBoost's base margin); empty: 0. `boosted_trees::predict` gives what to add to it.
    std::span<const float> margins{};
};

} // namespace augur::inline v0

#endif
