// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_IN_TURN_HPP
#define AUGUR_SEARCH_IN_TURN_HPP

/// @file
/// Two searches one after the other: what begins well need not be what ends well.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>

namespace augur::inline v0 {

/// Lets one strategy propose until so many points were observed, and then another one. Both observe all points.
///
/// The second one never proposes what the first one did. The first may overshoot by a proposal, as a proposal comes from one of them.
///
/// Cost     of a proposal: that of the strategy
/// Threads  as the strategies
template <class First, class Second>
class in_turn {
public:
    /// @param points  the first strategy proposes until so many points were observed
    in_turn(First first, std::size_t points, Second second) : first_(std::move(first)), second_(std::move(second)), points_(points) {}

    /// See `search_strategy`. Errors: those of the strategies.
    template <class Space, point_scorer F>
        requires search_strategy<First, Space> && search_strategy<Second, Space>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        if (observed_ < points_) {
            auto out = first_.propose(space, scorer, n, rng);
            if (out) pending_.insert(pending_.end(), out->begin(), out->end());
            return out;
        }
        std::vector<decision_vector> out;
        while (out.size() < n) {
            auto more = second_.propose(space, scorer, n - out.size(), rng);
            if (!more) return more.error();
            if (more->empty()) break;
            for (auto& point : *more)
                if (std::find(pending_.begin(), pending_.end(), point) == pending_.end()) out.push_back(std::move(point));
        }
        return out;
    }

    void observe(std::span<const measured_decisions> points) {
        observed_ += points.size();
        for (const auto& p : points)
            if (const auto at = std::find(pending_.begin(), pending_.end(), p.decisions); at != pending_.end()) pending_.erase(at);
        first_.observe(points);
        second_.observe(points);
    }

private:
    First first_;
    Second second_;
    std::size_t points_;
    std::size_t observed_ = 0;
    std::vector<decision_vector> pending_; ///< proposed by the first and not observed yet, so not known to the second
};

} // namespace augur::inline v0

#endif
