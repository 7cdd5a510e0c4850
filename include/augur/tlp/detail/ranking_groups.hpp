// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_RANKING_GROUPS_HPP
#define AUGUR_TLP_DETAIL_RANKING_GROUPS_HPP

/// @file
/// Which samples TLP ranks against each other.

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

/// Which samples make a list, and which lists an epoch.
class ranking_groups {
public:
    /// Without by_task, or where the loss does not rank, all samples together. Else lists of one group whose labels differ; of several outputs, a
    /// sample stands in the list of the judged one if that has a label for it, else of the first one that has. A target's few labels, scattered among
    /// the schedules of other platforms, would hardly ever meet in a list, and only what meets is ranked.
    ranking_groups(const training_samples& samples, const std::vector<std::uint32_t>& usable, const training_options& options)
        : ranked_(options.fine.by_task && options.fine.loss == training_loss::lambda_rank), most_(ranked_ ? options.fine.list : options.batch) {
        const std::size_t outputs = samples.outputs;
        std::vector<std::vector<std::uint32_t>> members(ranked_ ? outputs : 1); // of the present group
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
                auto& list = members[k];
                const std::size_t passes = ranked_ && outputs > 1 && k == options.fine.target_head ? options.fine.target_head_passes : 1;
                for (std::size_t p = 0; p < passes && !list.empty() && (!ranked_ || differ(samples, list)); ++p) {
                    groups_.push_back({order_.size(), order_.size() + list.size()});
                    order_.insert(order_.end(), list.begin(), list.end());
                }
                list.clear();
            }
        }
    }

    [[nodiscard]] std::size_t size() const { return order_.size(); } ///< samples an epoch, those of a list that is drawn twice counted twice
    [[nodiscard]] bool ranked() const { return ranked_; }

    /// The lists of one epoch, which depend on the random numbers alone.
    [[nodiscard]] std::span<const std::span<std::uint32_t>> draw(random_engine rng) {
        drawn_ = order_;
        lists_.clear();
        for (const auto& [first, last] : groups_) {
            const auto all = std::span(drawn_).subspan(first, last - first);
            rng.shuffle(all);
            const std::size_t n = all.size(), most = (std::min)(most_, n), parts = (n + most - 1) / most;
            for (std::size_t p = 0; p < parts; ++p) // near-equal parts of a task; whole batches of all of them
                lists_.push_back(ranked_ ? all.subspan(n * p / parts, n * (p + 1) / parts - n * p / parts)
                                         : all.subspan(p * most, (std::min)(most, n - p * most)));
        }
        if (ranked_) rng.shuffle(std::span(lists_));
        return lists_;
    }

private:
    /// Are there two labels of one output that differ? Otherwise there is nothing to rank.
    [[nodiscard]] static bool differ(const training_samples& samples, std::span<const std::uint32_t> list) {
        for (std::size_t k = 0; k < samples.outputs; ++k) {
            float seen = -1;
            for (const std::uint32_t i : list) {
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
    std::vector<std::uint32_t> order_, drawn_;
    std::vector<std::pair<std::size_t, std::size_t>> groups_; ///< into order_
    std::vector<std::span<std::uint32_t>> lists_;
};

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
