// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_SEEN_HPP
#define AUGUR_SEARCH_SEEN_HPP

/// @file
/// The set of points already proposed, and uniform sampling without repetition.

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/count.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// A set of fingerprints. No result depends on its order.
class seen_points {
public:
    /// Returns true if the fingerprint was not in the set.
    bool insert(std::uint64_t fingerprint) { return set_.insert(fingerprint).second; }
    [[nodiscard]] bool contains(std::uint64_t fingerprint) const { return set_.find(fingerprint) != set_.end(); }
    [[nodiscard]] std::size_t size() const noexcept { return set_.size(); }

private:
    struct identity_hash { // fingerprints are hashes already
        std::size_t operator()(std::uint64_t x) const noexcept { return static_cast<std::size_t>(x); }
    };
    std::unordered_set<std::uint64_t, identity_hash> set_;
};

/// Appends up to `n` uniform samples that are not in `seen`, and adds them to `seen`. After `patience` consecutive samples that were already seen,
/// the space is small or skewed. Then the function enumerates its leaves in order, expanding at most `limit` nodes, and draws from the unseen ones.
///
/// Returns fewer than `n` points only if no unseen leaf is left, or if the space is larger than `limit` and sampling nearly always repeats points.
template <decision_tree P>
void draw_unseen(const P& space, seen_points& seen, std::size_t n, random_engine& rng, std::vector<decision_vector>& out, std::size_t patience = 256,
                 std::uint64_t limit = 65536) {
    std::size_t misses = 0;
    while (n > 0 && misses < patience) {
        decision_path path = sample_path(space, rng);
        if (seen.insert(fingerprint_decisions(space, path.values))) {
            out.push_back(std::move(path.values));
            misses = 0;
            --n;
        } else {
            ++misses;
        }
    }
    if (n == 0) return;
    std::vector<decision_vector> left;
    seen_points listed; // two leaves may share a fingerprint
    for_each_leaf(space, limit, [&](std::span<const std::uint64_t> values) {
        const std::uint64_t fingerprint = fingerprint_decisions(space, values);
        if (!seen.contains(fingerprint) && listed.insert(fingerprint)) left.emplace_back(values.begin(), values.end());
        return true;
    });
    rng.shuffle(std::span<decision_vector>(left));
    for (std::size_t i = 0; i < left.size() && n > 0; ++i, --n) {
        seen.insert(fingerprint_decisions(space, left[i]));
        out.push_back(std::move(left[i]));
    }
}

/// Adds the observed points that the space has to `seen`, so that they are not proposed. The others, for example records of another version of the
/// space, stay in `points` until it has them. Call it at the beginning of `propose`.
template <decision_tree P>
void take_observed(const P& space, std::vector<decision_vector>& points, seen_points& seen) {
    std::vector<decision_vector> waiting;
    for (decision_vector& d : points) {
        if (trace_path(space, d)) seen.insert(fingerprint_decisions(space, d));
        else waiting.push_back(std::move(d));
    }
    points = std::move(waiting);
}

} // namespace augur::inline v0

#endif
