// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_COUNT_HPP
#define AUGUR_SPACE_COUNT_HPP

/// @file
/// The number of leaves of a search space: exact for small spaces, Knuth's estimate by random walks for large ones.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// The number of complete decision vectors of a space.
struct leaf_count {
    double leaves = 0;
    double standard_error = 0; ///< of `leaves`; 0 when exact
    bool exact = false;        ///< true: every leaf was visited; false: Knuth's estimate
};

/// Calls `visit(span of values) -> bool` for the leaves in lexicographic order, until it returns false or `limit` nodes were expanded.
/// All options are visited, also those of decisions with `sampled == false`. Returns whether all leaves were visited. Behind a decision without options
/// there is no leaf.
template <decision_tree P, class F>
bool for_each_leaf(const P& space, std::uint64_t limit, F&& visit) {
    decision_vector values;
    std::vector<std::uint64_t> options;
    for (std::uint64_t expanded = 0; expanded < limit; ++expanded) {
        const std::optional<decision> d = space.next(std::span<const std::uint64_t>(values));
        if (d && d->options > 0) {
            values.push_back(0);
            options.push_back(d->options);
            continue;
        }
        if (!d && !visit(std::span<const std::uint64_t>(values))) return false;
        while (!values.empty() && values.back() + 1 >= options.back()) {
            values.pop_back();
            options.pop_back();
        }
        if (values.empty()) return true;
        ++values.back();
    }
    return false;
}

/// Counts the leaves: exactly if that expands at most `limit` nodes. Otherwise estimates the count by the mean, over `probes` random walks, of the
/// product of the numbers of options (Knuth, "Estimating the efficiency of backtrack programs", 1975; unbiased), with the standard error of the mean.
///
/// pre: probes >= 2
template <decision_tree P>
[[nodiscard]] leaf_count count_leaves(const P& space, random_engine& rng, std::uint64_t limit = 100000, std::size_t probes = 2000) {
    AUGUR_ASSERT(probes >= 2, "count_leaves: a standard error needs two probes");
    double seen = 0;
    if (for_each_leaf(space, limit, [&](std::span<const std::uint64_t>) { return ++seen, true; })) return {seen, 0, true};
    double mean = 0;
    double squares = 0;
    for (std::size_t i = 0; i < probes; ++i) {
        double product = 1;
        auto cursor = detail::cursor_of(space);
        while (const std::optional<decision> d = cursor.next()) {
            product *= static_cast<double>(d->options);
            if (d->options == 0) break; // no leaf
            cursor.choose(rng.below(d->options));
        }
        const double step = product - mean; // Welford
        mean += step / static_cast<double>(i + 1);
        squares += step * (product - mean);
    }
    const auto n = static_cast<double>(probes);
    return {mean, std::sqrt(squares / (n - 1) / n), false};
}

} // namespace augur::inline v0

#endif
