// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_DETAIL_OBSERVED_POINTS_HPP
#define AUGUR_SEARCH_BAYES_DETAIL_OBSERVED_POINTS_HPP

/// @file
/// The observed points of a Bayesian search, and which of them a model is made of.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <augur/search/bayes/encoding.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0::detail {

/// Observed points with their words, numbered in the order in which they were observed. Points that the space does not have are kept, but have no
/// number.
class observed_points {
public:
    void add(std::span<const measured_decisions> points) { all_.insert(all_.end(), points.begin(), points.end()); }

    /// Reads the words of all points anew, for space and description may have changed, and adds the points to `seen`.   Cost: a walk a point
    template <class Space>
    void read_words(const Space& space, seen_points& seen) {
        known_.clear();
        words_.clear();
        for (std::size_t i = 0; i < all_.size(); ++i) {
            auto words = features_of_words(space, all_[i].decisions);
            if (!words) continue; // of another space
            seen.insert(fingerprint_decisions(space, all_[i].decisions));
            known_.push_back(i);
            words_.push_back(*std::move(words));
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }
    /// Observed points that are none of the space.
    [[nodiscard]] std::size_t foreign() const noexcept { return all_.size() - known_.size(); }
    [[nodiscard]] const decision_vector& decisions(std::size_t i) const { return all_[known_[i]].decisions; }
    [[nodiscard]] const word_features& words(std::size_t i) const { return words_[i]; }
    [[nodiscard]] double latency(std::size_t i) const { return all_[known_[i]].latency; }
    [[nodiscard]] bool succeeded(std::size_t i) const { return latency(i) > 0 && std::isfinite(latency(i)); }

    /// Is one point faster than another, or as fast and earlier?
    [[nodiscard]] bool before(std::size_t a, std::size_t b) const { return worth(a) != worth(b) ? worth(a) > worth(b) : a < b; }

    /// Of ascending points those for a model: all, or the best half and the most recent others; ascending.
    [[nodiscard]] std::vector<std::size_t> select(std::vector<std::size_t> points, std::size_t most) const {
        if (points.size() <= most) return points;
        const auto half = static_cast<std::ptrdiff_t>(most / 2);
        std::sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) { return before(a, b); });
        std::sort(points.begin() + half, points.end(), std::greater<>());
        points.resize(most);
        std::sort(points.begin(), points.end());
        return points;
    }

private:
    /// Minus the latency; -infinity: it failed.
    [[nodiscard]] double worth(std::size_t i) const { return succeeded(i) ? -latency(i) : -std::numeric_limits<double>::infinity(); }

    std::vector<measured_decisions> all_;
    std::vector<std::size_t> known_;   ///< indices of those of `all_` that the space has
    std::vector<word_features> words_; ///< of `known_`
};

/// The last of ascending points, at most `most`.
[[nodiscard]] inline std::vector<std::size_t> most_recent(const std::vector<std::size_t>& points, std::size_t most) {
    const auto n = static_cast<std::ptrdiff_t>((std::min)(points.size(), most));
    return {points.end() - n, points.end()};
}

} // namespace augur::inline v0::detail

#endif
