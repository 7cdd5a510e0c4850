// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_DESCENT_HPP
#define AUGUR_SEARCH_DESCENT_HPP

/// @file
/// Coordinate descent over measured latencies, alone or as the last pass behind another search.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/draw_usable.hpp>
#include <augur/search/detail/score_cache.hpp>
#include <augur/search/in_turn.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

namespace detail {

/// The lengths of a factorisation, empty if the words are not numbers.
inline std::vector<std::int64_t> loop_lengths(std::span<const schedule_item> words) {
    std::vector<std::int64_t> out;
    for (const schedule_item& w : words) {
        if (w.type != schedule_item::kind::integer || w.integer < 1) return {};
        out.push_back(w.integer);
    }
    return out;
}

/// The values of the open decision that move a factor from one loop to another: for each pair of loops, the outermost one included, the value with
/// the nearest ratio. A value that changes one length moves a factor from or to the outermost loop, whose length is not among the words.
template <describing_cursor C>
[[nodiscard]] std::vector<std::uint64_t> near_factorisations(const C& cursor, std::uint64_t options, std::uint64_t value) {
    recording_sink words;
    cursor.words(value, words);
    const auto own = loop_lengths(words.items);
    const std::size_t outermost = own.size(), loops = own.size() + 1;
    struct nearest_value {
        double ratio = std::numeric_limits<double>::infinity();
        std::uint64_t value = 0;
    };
    std::vector<nearest_value> moves(loops * loops); // [loop that gets longer][loop that gets shorter]
    for (std::uint64_t v = 0; v < options; ++v) {
        if (v == value) continue;
        words.items.clear();
        cursor.words(v, words);
        const auto other = loop_lengths(words.items);
        if (other.size() != own.size()) continue;
        std::size_t longer = outermost, shorter = outermost, changed = 0;
        double ratio = 1, product = 1;
        for (std::size_t i = 0; i < own.size(); ++i) {
            if (other[i] == own[i]) continue;
            const double r = static_cast<double>(other[i]) / static_cast<double>(own[i]);
            (r > 1 ? longer : shorter) = i;
            ratio = (std::max)({ratio, r, 1 / r});
            product *= r;
            ++changed;
        }
        if (changed > 2 || longer == shorter || (changed == 2 && std::abs(product - 1) > 1e-9)) continue;
        nearest_value& best = moves[longer * loops + shorter];
        if (ratio < best.ratio) best = {ratio, v};
    }
    std::vector<std::uint64_t> out;
    for (const nearest_value& m : moves)
        if (std::isfinite(m.ratio)) out.push_back(m.value);
    return out;
}

/// The values of the open decision that are next to `value`.
template <describing_cursor C>
[[nodiscard]] std::vector<std::uint64_t> near_values(const C& cursor, std::uint64_t options, std::uint64_t value) {
    std::vector<std::uint64_t> out;
    switch (cursor.scale().type) {
    case decision_scale::kind::factorisation: return near_factorisations(cursor, options, value);
    case decision_scale::kind::ordinal:
        if (value > 0) out.push_back(value - 1);
        if (value + 1 < options) out.push_back(value + 1);
        break;
    case decision_scale::kind::categorical:
        for (std::uint64_t v = 0; v < options; ++v)
            if (v != value) out.push_back(v);
        break;
    }
    return out;
}

} // namespace detail

/// The points next to a point along one decision: of an ordinal scale the value on each side, of a factorisation those that move a factor from one
/// loop to another, of a categorical scale all other values. The other decisions keep their words, or take the nearest legal ones (`adapt_point`).
///
/// Cost    a walk per point; of a factorisation the words of all its values
/// Errors  illegal_schedule, as `trace_path`
template <described_space P>
[[nodiscard]] result<std::vector<decision_vector>> coordinate_neighbours(const P& space, std::span<const std::uint64_t> point) {
    auto words = describe_point(space, point);
    if (!words) return words.error();
    std::vector<decision_vector> out;
    auto cursor = space.cursor();
    for (std::size_t i = 0; i < point.size(); ++i) {
        const std::optional<decision> d = cursor.next();
        const auto kept = words->decisions[i];
        const std::size_t end = words->items.size();
        for (const std::uint64_t v : detail::near_values(cursor, d->options, point[i])) {
            recording_sink moved;
            cursor.words(v, moved);
            std::move(moved.items.begin(), moved.items.end(), std::back_inserter(words->items));
            words->decisions[i].begin = end;
            words->decisions[i].end = words->items.size();
            auto path = adapt_point(space, *words).path;
            if (!std::equal(path.values.begin(), path.values.end(), point.begin(), point.end())) out.push_back(std::move(path.values));
            words->items.resize(end);
        }
        words->decisions[i] = kept;
        cursor.choose(point[i]);
    }
    return out;
}

/// Parameters of the descent.
struct descent_options {
    /// A point is left for another one whose latency is lower by this fraction at least: differences below are noise. Droplet Search compares the
    /// repeats of a measurement with a t-test; a strategy observes one latency a point.
    double margin = 0.01;
    /// Where no neighbour is better: true, the search begins anew from random points; false, it goes on with the neighbours of the next best point.
    bool restart = false;
};

/// Proposes the unseen neighbours of the best observed point, and moves on to a neighbour that is better.
///
/// The neighbours (`coordinate_neighbours`) are proposed in the order of their scores, equal ones at random; a neighbour with score -infinity or
/// NaN is left out. If they are too few for a proposal, the neighbours of the next best points fill it. If no observed point has an unseen
/// neighbour, the points are random. So the search begins, unless something was observed before; `initial_points` with `told` gives it a start.
/// Failed points, and points that the space does not have, have no neighbours proposed. Of a point observed twice the lower latency counts, as
/// noise only makes kernels slower.
/// Source: Droplet Search (Canesche et al., The Droplet Search Algorithm for Kernel Scheduling, ACM TACO 2024; TVM's droplet_tuner.py), which
/// takes all decisions for ordinal and steps along several at once.
///
/// Cost     of a proposal: the neighbours of one point and their scores, while they are enough
/// Threads  one thread per object
class coordinate_descent {
public:
    /// pre: 0 <= options.margin < 1
    explicit coordinate_descent(descent_options options = {}) : options_(options) {
        AUGUR_ASSERT(options.margin >= 0 && options.margin < 1, "coordinate_descent: options");
    }

    [[nodiscard]] const descent_options& options() const noexcept { return options_; }

    /// See `search_strategy`. Errors: those of the scorer.
    template <described_space Space, point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        take_observed(space);
        std::vector<decision_vector> out;
        if (n == 0) return out;
        seen_points seen = seen_; // after an error nothing has been proposed
        for (const std::size_t base : bases()) {
            if (out.size() == n) break;
            auto near = coordinate_neighbours(space, points_[base].decisions);
            if (!near) continue; // a point of another space
            near->erase(std::remove_if(near->begin(), near->end(), [&](const auto& p) { return seen.contains(fingerprint_decisions(space, p)); }),
                        near->end());
            const std::size_t before = out.size();
            if (auto ok = take_best(space, scorer, *near, seen, n, rng, out); !ok) return ok.error();
            if (out.size() > before) continue;
            points_[base].open = false;
            if (options_.restart && out.empty()) { // a local optimum
                for (known_point& p : points_) p.open = false;
                break;
            }
        }
        if (out.size() < n)
            if (auto ok = draw_usable(space, scorer, seen, n - out.size(), rng, out); !ok) return ok.error();
        seen_ = std::move(seen);
        return out;
    }

    void observe(std::span<const measured_decisions> points) { observed_.insert(observed_.end(), points.begin(), points.end()); }

private:
    struct known_point {
        decision_vector decisions;
        double latency;
        bool open; ///< may have neighbours to propose
    };

    /// Points of another space wait until the space has them.
    template <class Space>
    void take_observed(const Space& space) {
        std::vector<measured_decisions> waiting;
        for (measured_decisions& p : observed_) {
            if (!trace_path(space, p.decisions)) {
                waiting.push_back(std::move(p));
                continue;
            }
            const std::uint64_t fingerprint = fingerprint_decisions(space, p.decisions);
            seen_.insert(fingerprint);
            if (!std::isfinite(p.latency)) continue;
            const auto [at, added] = known_.try_emplace(fingerprint, points_.size());
            if (added) points_.push_back({std::move(p.decisions), p.latency, true});
            else points_[at->second].latency = (std::min)(points_[at->second].latency, p.latency);
        }
        observed_ = std::move(waiting);
    }

    /// The open points, the best first; but the base remains the first until another one is better by the margin.
    [[nodiscard]] std::vector<std::size_t> bases() {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < points_.size(); ++i)
            if (points_[i].open) order.push_back(i);
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return points_[a].latency != points_[b].latency ? points_[a].latency < points_[b].latency : a < b;
        });
        const auto base = std::find(order.begin(), order.end(), base_);
        if (base != order.end() && points_[order.front()].latency > (1 - options_.margin) * points_[base_].latency)
            std::rotate(order.begin(), base, base + 1);
        if (!order.empty()) base_ = order.front();
        return order;
    }

    /// Appends the points in the order of their scores until `out` has n.
    template <class Space, class F>
    result<void> take_best(const Space& space, F& scorer, std::vector<decision_vector>& points, seen_points& seen, std::size_t n, random_engine& rng,
                           std::vector<decision_vector>& out) {
        if (points.empty()) return {};
        rng.shuffle(std::span<decision_vector>(points));
        std::vector<float> scores(points.size(), 0.0F);
        if (auto ok = scorer(std::span<const decision_vector>(points), std::span<float>(scores)); !ok) return ok;
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < points.size(); ++i)
            if (scores[i] > unusable_score) order.push_back(i);
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
        for (const std::size_t i : order) {
            if (out.size() == n) break;
            if (seen.insert(fingerprint_decisions(space, points[i]))) out.push_back(std::move(points[i]));
        }
        return {};
    }

    descent_options options_;
    seen_points seen_;                                     ///< proposed or observed points
    std::vector<measured_decisions> observed_;             ///< since the last proposal, or of another space
    std::vector<known_point> points_;                      ///< observed with a latency
    std::unordered_map<std::uint64_t, std::size_t> known_; ///< the index of a point by its fingerprint; no result depends on its order
    std::size_t base_ = 0;                                 ///< index of the point whose neighbours are proposed first
};

/// Lets another strategy search first, and descends from the best point that was observed then.
template <class Strategy>
class then_descend : public in_turn<Strategy, coordinate_descent> {
public:
    /// @param points  of the strategy; the descent proposes all others
    then_descend(Strategy strategy, std::size_t points, descent_options options = {})
        : in_turn<Strategy, coordinate_descent>(std::move(strategy), points, coordinate_descent(options)) {}
};

} // namespace augur::inline v0

#endif
