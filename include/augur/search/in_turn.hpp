// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_IN_TURN_HPP
#define AUGUR_SEARCH_IN_TURN_HPP

/// @file
/// Two strategies in sequence, not alternating: one proposes the first points of a search, another one all the rest.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// Lets one strategy propose the first points, and another one all others. Both observe all points.
///
/// A proposal of more points than the first strategy has left is filled by the second, which never proposes what the first did. Points that an error kept
/// back, and that the space does not have any more because it has changed, wait until it has them.
///
/// Cost     of a proposal: that of the strategies, and a walk for each point that an error kept back
/// Threads  as the strategies
template <class First, class Second>
class in_turn {
public:
    /// @param points  of the first strategy; points that were observed without being proposed count as well
    in_turn(First first, std::size_t points, Second second) : first_(std::move(first)), second_(std::move(second)), points_(points) {}

    /// See `search_strategy`. Errors: those of the strategies.
    template <class Space, point_scorer F>
        requires search_strategy<First, Space> && search_strategy<Second, Space>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        std::vector<decision_vector> out, waiting;
        for (decision_vector& point : held_) (out.size() < n && trace_path(space, point) ? out : waiting).push_back(std::move(point));
        held_ = std::move(waiting);
        if (const std::size_t used = observed_ + pending_.size(); used < points_ && out.size() < n) {
            auto proposed = first_.propose(space, scorer, (std::min)(n - out.size(), points_ - used), rng);
            if (!proposed) return failed(proposed.error(), std::move(out));
            pending_.insert(pending_.end(), proposed->begin(), proposed->end());
            out.insert(out.end(), proposed->begin(), proposed->end());
        }
        while (out.size() < n) {
            auto more = second_.propose(space, scorer, n - out.size(), rng);
            if (!more) return failed(more.error(), std::move(out));
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

    /// What the strategies expect of a point, see `search_strategy`; where both do, the lower.
    [[nodiscard]] double expected_latency(std::span<const std::uint64_t> point) const {
        return (std::min)(detail::expected_latency_of(first_, point), detail::expected_latency_of(second_, point));
    }

private:
    error failed(error why, std::vector<decision_vector> proposed) {
        held_.insert(held_.begin(), std::make_move_iterator(proposed.begin()), std::make_move_iterator(proposed.end()));
        return why;
    }

    First first_;
    Second second_;
    std::size_t points_;
    std::size_t observed_ = 0;
    std::vector<decision_vector> held_;    ///< proposed before an error, for the next proposal in a space that has them
    std::vector<decision_vector> pending_; ///< proposed by the first and not observed yet, so not known to the second
};

} // namespace augur::inline v0

#endif
