// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_INITIAL_POINTS_HPP
#define AUGUR_SEARCH_INITIAL_POINTS_HPP

/// @file
/// A search that begins with given points: a schedule made by rules, or schedules of other kernels.

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

/// Proposes given points first, then those of another strategy. By default that strategy does not observe the given points, so that it does not search
/// around them alone; with `observed` it observes them. Given points that the space does not have, because it has changed, wait until it has them, and so do
/// points that an error kept back.
///
/// Cost  of a proposal: that of the strategy, and a walk for each given point that was not proposed yet
template <class Strategy>
class initial_points {
public:
    /// @param points  of the space that is searched, distinct; the first is proposed first
    /// @param observed  the strategy observes them, too
    initial_points(Strategy strategy, std::vector<decision_vector> points, bool observed = false)
        : strategy_(std::move(strategy)), points_(std::move(points)), left_(points_), observed_(observed) {}

    /// See `search_strategy`. Errors: those of the strategy.
    template <class Space, point_scorer F>
        requires search_strategy<Strategy, Space>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        std::vector<decision_vector> out, left, waiting;
        for (const decision_vector& point : left_) (out.size() < n && trace_path(space, point) ? out : left).push_back(point);
        const auto given = static_cast<std::ptrdiff_t>(out.size());
        for (decision_vector& point : held_) (out.size() < n && trace_path(space, point) ? out : waiting).push_back(std::move(point));
        held_ = std::move(waiting);
        while (out.size() < n) {
            auto others = strategy_.propose(space, scorer, n - out.size(), rng);
            if (!others) {
                held_.insert(held_.begin(), std::make_move_iterator(out.begin() + given), std::make_move_iterator(out.end()));
                return others.error();
            }
            if (others->empty()) break;
            for (auto& point : *others)
                if (std::find(points_.begin(), points_.end(), point) == points_.end()) out.push_back(std::move(point));
        }
        left_ = std::move(left); // not before an error
        return out;
    }

    void observe(std::span<const measured_decisions> points) {
        if (observed_) return strategy_.observe(points);
        std::vector<measured_decisions> others;
        for (const auto& p : points)
            if (std::find(points_.begin(), points_.end(), p.decisions) == points_.end()) others.push_back(p);
        strategy_.observe(others);
    }

    /// What the strategy expects of a point, see `search_strategy`.
    [[nodiscard]] double expected_latency(std::span<const std::uint64_t> point) const { return detail::expected_latency_of(strategy_, point); }

private:
    Strategy strategy_;
    std::vector<decision_vector> points_; ///< all that were given
    std::vector<decision_vector> left_;   ///< of these, what was not proposed yet
    std::vector<decision_vector> held_;   ///< of the strategy, kept back by an error
    bool observed_;
};

} // namespace augur::inline v0

#endif
