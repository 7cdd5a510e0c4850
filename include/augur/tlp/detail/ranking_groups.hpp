// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_RANKING_GROUPS_HPP
#define AUGUR_TLP_DETAIL_RANKING_GROUPS_HPP

/// @file
/// Partition of training samples into ranking groups: the loss compares samples of the same group only.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/tlp/train/options.hpp>
#include <augur/tlp/train/samples.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Builds the ranking groups and draws those of each epoch.
class ranking_groups {
public:
    /// Without `by_task`, or with a loss that does not rank, all samples form one group. Otherwise a group holds samples of one task whose labels
    /// differ. With several outputs, a sample with a label of the target head goes to a group of the target head, any other sample to a group of the
    /// first output that has a label for it. Otherwise the few labels of the target head would be spread over many groups, and few pairs of them
    /// would be compared.
    ranking_groups(const training_samples& samples, const std::vector<std::uint32_t>& usable, const training_options& options)
        : ranked_(options.fine.by_task && options.fine.loss == training_loss::lambda_rank),
          most_(ranked_ ? (std::min)(options.fine.list, options.batch) : options.batch) {
        const std::size_t outputs = samples.outputs;
        std::vector<std::vector<std::uint32_t>> members(ranked_ ? outputs : 1); // samples of the current task, by output
        for (std::size_t i = 0; i < usable.size();) {
            const std::uint32_t group = samples.groups[usable[i]];
            for (; i < usable.size() && (!ranked_ || samples.groups[usable[i]] == group); ++i) {
                const auto known = std::span(samples.known).subspan(usable[i] * outputs, outputs);
                const auto first = known[options.fine.target_head] != 0
                                       ? known.begin() + static_cast<std::ptrdiff_t>(options.fine.target_head)
                                       : std::find_if(known.begin(), known.end(), [](std::uint8_t k) { return k != 0; });
                if (!ranked_) members.front().push_back(usable[i]);
                else if (first != known.end()) members[static_cast<std::size_t>(first - known.begin())].push_back(usable[i]);
            }
            for (std::size_t k = 0; k < members.size(); ++k) {
                auto& same_output = members[k];
                const std::size_t passes = ranked_ && outputs > 1 && k == options.fine.target_head ? options.fine.target_head_passes : 1;
                for (std::size_t p = 0; p < passes && !same_output.empty() && (!ranked_ || differ(samples, same_output)); ++p) {
                    ranges_.push_back({order_.size(), order_.size() + same_output.size()});
                    order_.insert(order_.end(), same_output.begin(), same_output.end());
                }
                same_output.clear();
            }
        }
        drawn_ = order_;
    }

    [[nodiscard]] std::size_t size() const { return order_.size(); } ///< samples per epoch, counted once for each pass over their group
    [[nodiscard]] bool ranked() const { return ranked_; }

    /// Draws the groups of one epoch: splits groups that are too large, and shuffles. The result depends on `rng` only, so that a resumed training
    /// draws the groups of an uninterrupted one.
    [[nodiscard]] std::span<const std::span<std::uint32_t>> draw(random_engine rng) {
        drawn_ = order_;
        return redraw(rng);
    }

    /// As `draw`, but shuffles the samples in the order of the last draw, so that the result depends on all draws before. Only for `fit_online`, whose
    /// weights would change with `draw`.
    [[nodiscard]] std::span<const std::span<std::uint32_t>> redraw(random_engine rng) {
        groups_.clear();
        for (const auto& [first, last] : ranges_) {
            const auto all = std::span(drawn_).subspan(first, last - first);
            rng.shuffle(all);
            const std::size_t n = all.size(), most = (std::min)(most_, n), parts = (n + most - 1) / most;
            for (std::size_t p = 0; p < parts; ++p) // ranked: parts of nearly equal size; not ranked: full batches
                groups_.push_back(ranked_ ? all.subspan(n * p / parts, n * (p + 1) / parts - n * p / parts)
                                          : all.subspan(p * most, (std::min)(most, n - p * most)));
        }
        if (ranked_) rng.shuffle(std::span(groups_));
        return groups_;
    }

private:
    /// Do two labels of one output differ? Otherwise LambdaRank has no pair to compare.
    [[nodiscard]] static bool differ(const training_samples& samples, std::span<const std::uint32_t> group) {
        for (std::size_t k = 0; k < samples.outputs; ++k) {
            float seen = -1;
            for (const std::uint32_t i : group) {
                const std::size_t at = i * samples.outputs + k;
                if (samples.known[at] == 0) continue;
                if (seen >= 0 && seen != samples.labels[at]) return true;
                seen = samples.labels[at];
            }
        }
        return false;
    }

    bool ranked_;
    std::size_t most_;
    std::vector<std::uint32_t> order_, drawn_;                ///< samples by group; the same, shuffled within the groups
    std::vector<std::pair<std::size_t, std::size_t>> ranges_; ///< into order_
    std::vector<std::span<std::uint32_t>> groups_;
};

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
