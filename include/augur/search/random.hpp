// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_RANDOM_HPP
#define AUGUR_SEARCH_RANDOM_HPP

/// @file
/// Random search: uniform samples without repetition. The baseline for other strategies.

#include <cstddef>
#include <span>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/seen.hpp>

namespace augur::inline v0 {

/// Proposes uniform samples of the space without repetition; ignores the scorer.
class random_search {
public:
    /// See `search_strategy`. No errors.
    template <decision_tree Space, point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F&, std::size_t n, random_engine& rng) {
        take_observed(space, observed_, seen_);
        std::vector<decision_vector> out;
        draw_unseen(space, seen_, n, rng, out);
        return out;
    }

    void observe(std::span<const measured_decisions> points) {
        for (const measured_decisions& p : points) observed_.push_back(p.decisions);
    }

private:
    seen_points seen_;
    std::vector<decision_vector> observed_; ///< observed since the last proposal, or of another space; not proposed
};

} // namespace augur::inline v0

#endif
