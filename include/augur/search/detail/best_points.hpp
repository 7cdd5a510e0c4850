// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_DETAIL_BEST_POINTS_HPP
#define AUGUR_SEARCH_DETAIL_BEST_POINTS_HPP

/// @file
/// The best points of a proposal, and how many of a proposal are random.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/search/detail/score_cache.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0::detail {

/// The best unseen points of those offered, a bounded heap. Of equal scores the earlier point is kept.
class best_points {
public:
    /// pre: `seen` outlives the object
    best_points(std::size_t capacity, const seen_points& seen) : capacity_(capacity), seen_(&seen) {}

    /// Returns true if the point is among the best. Points with score -infinity are never taken.
    bool offer(float score, std::uint64_t fingerprint, const decision_vector& point) {
        if (score == unusable_score || capacity_ == 0) return false;
        if (heap_.size() == capacity_ && !(score > heap_.front().score)) return false;
        if (seen_->contains(fingerprint) || !taken_.insert(fingerprint)) return false;
        if (heap_.size() == capacity_) {
            std::pop_heap(heap_.begin(), heap_.end(), better);
            heap_.pop_back();
        }
        heap_.push_back({score, taken_.size(), point});
        std::push_heap(heap_.begin(), heap_.end(), better);
        return true;
    }

    /// The points, best first; they are moved out.
    [[nodiscard]] std::vector<decision_vector> release() {
        std::sort_heap(heap_.begin(), heap_.end(), better);
        std::vector<decision_vector> out;
        out.reserve(heap_.size());
        for (item& i : heap_) out.push_back(std::move(i.point));
        heap_.clear();
        return out;
    }

private:
    struct item {
        float score;
        std::size_t order; ///< of the offers, breaks ties
        decision_vector point;
    };
    [[nodiscard]] static bool better(const item& a, const item& b) { return a.score > b.score || (a.score == b.score && a.order < b.order); }

    std::size_t capacity_;
    const seen_points* seen_;
    seen_points taken_;
    std::vector<item> heap_; ///< the worst first
};

/// How many of `n` points a share is: rounded, and at least one for n >= 10 if the share is not zero; `truncate`: int(share n).
[[nodiscard]] inline std::size_t random_points(double share_of_one, std::size_t n, bool truncate = false) {
    const double share = share_of_one * static_cast<double>(n);
    if (!(share > 0)) return 0;
    if (share >= static_cast<double>(n)) return n;
    if (truncate) return static_cast<std::size_t>(share);
    const auto rounded = static_cast<std::size_t>(std::lround(share));
    return n >= 10 ? (std::max)(std::size_t{1}, rounded) : rounded;
}

} // namespace augur::inline v0::detail

#endif
