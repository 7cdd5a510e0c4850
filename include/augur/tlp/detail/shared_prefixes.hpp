// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_SHARED_PREFIXES_HPP
#define AUGUR_TLP_DETAIL_SHARED_PREFIXES_HPP

/// @file
/// Prefix tree of the schedules of a batch: the LSTM state of a common prefix is computed once.
///
/// The state of an LSTM depends on the prefix of a sequence only, and candidates of one task share their first steps.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/tlp/batch.hpp>

namespace augur::inline v0::tlp {
namespace detail {

/// Prefix tree, stored level by level. Its memory grows to the largest batch and is reused.
class shared_prefixes {
public:
    /// All distinct prefixes of one length, at least 1.
    struct level {
        std::vector<std::uint32_t> row;    ///< last row of each prefix
        std::vector<std::uint32_t> parent; ///< index of the prefix without its last row, on the previous level; 0 on the first level
    };
    /// End of a sequence: its length (0: empty) and the index of its prefix on level depth - 1.
    struct end {
        std::uint32_t depth = 0, node = 0;
    };

    /// Builds the tree.
    /// @param schedules  indices of schedules of the batch; schedules with common prefixes must be neighbours to share them (`sort`)
    void build(const deduplicated_batch& batch, std::span<const std::uint32_t> schedules) {
        depth_ = 0;
        ends_.clear();
        path_.clear();
        std::span<const std::uint32_t> previous;
        for (const std::uint32_t n : schedules) {
            const auto rows = sequence(batch, n);
            const auto differ = std::mismatch(previous.begin(), previous.end(), rows.begin(), rows.end()).second;
            path_.resize(rows.size());
            for (auto l = static_cast<std::size_t>(differ - rows.begin()); l < rows.size(); ++l) {
                if (l == depth_) {
                    if (levels_.size() == depth_) levels_.emplace_back();
                    levels_[l].row.clear();
                    levels_[l].parent.clear();
                    ++depth_;
                }
                path_[l] = static_cast<std::uint32_t>(levels_[l].row.size());
                levels_[l].row.push_back(rows[l]);
                levels_[l].parent.push_back(l == 0 ? 0 : path_[l - 1]);
            }
            ends_.push_back(rows.empty() ? end{} : end{static_cast<std::uint32_t>(rows.size()), path_.back()});
            previous = rows;
        }
    }

    [[nodiscard]] std::size_t depth() const { return depth_; }
    [[nodiscard]] const level& at(std::size_t l) const { return levels_[l]; } ///< pre: l < depth()
    [[nodiscard]] std::span<const end> ends() const { return ends_; }         ///< in the order of `schedules`

    /// order <- the indices 0 .. N - 1 of the batch's schedules, sorted lexicographically by their row ids.
    static void sort(const deduplicated_batch& batch, std::vector<std::uint32_t>& order) {
        order.resize(batch.size());
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            const auto x = sequence(batch, a), y = sequence(batch, b);
            const auto differ = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
            if (differ.second == y.end()) return differ.first == x.end() && x.size() == y.size() && a < b;
            return differ.first == x.end() || *differ.first < *differ.second;
        });
    }

private:
    static std::span<const std::uint32_t> sequence(const deduplicated_batch& batch, std::uint32_t n) {
        const auto first = static_cast<std::size_t>(batch.begin()[n]);
        return batch.ids().subspan(first, static_cast<std::size_t>(batch.begin()[n + 1]) - first);
    }

    std::vector<level> levels_;
    std::size_t depth_ = 0;
    std::vector<end> ends_;
    std::vector<std::uint32_t> path_; ///< prefix indices of the last sequence
};

} // namespace detail
} // namespace augur::inline v0::tlp

#endif
