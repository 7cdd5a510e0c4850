// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TRANSFER_SOURCE_COVER_HPP
#define AUGUR_TRANSFER_SOURCE_COVER_HPP

/// @file
/// A few candidates that cover several sources: for each source one of them was among its fastest, so that one should be fast on the new kernel.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0::transfer {

/// Chooses up to `count` candidates one after the other. Each adds the most to the sum, over the sources, of weight times the best share there of those
/// that are chosen; where several add as much, as when nothing is left to add, the one with the most weight times share. The best ones of one source are
/// much alike, and all of them slow if the target differs from it; this choice spreads over the sources.
///
/// @param shares   (sources x candidates), row by row: the best latency of the source over that of the candidate there, 0 to 1; what is not known gets
///                 the mean of the source
/// @param weights  per source, >= 0: how alike it is to the target
/// @return         indices of candidates, the first one alone the best; fewer than `count` if there are no more
///
/// Source  Nemhauser, Wolsey and Fisher 1978, "An analysis of approximations for maximizing submodular set functions": the sum is at least 1 - 1/e of
///         that of the best choice
/// Cost    count x sources x candidates
[[nodiscard]] inline std::vector<std::size_t> cover_sources(std::span<const float> shares, std::span<const double> weights, std::size_t count) {
    AUGUR_ASSERT(weights.empty() ? shares.empty() : shares.size() % weights.size() == 0, "cover_sources: a row of shares for each source");
    std::vector<std::size_t> chosen;
    if (weights.empty()) return chosen;
    const auto candidates = shares.size() / weights.size();
    std::vector<float> covered(weights.size(), 0.0F);
    std::vector<double> gain(candidates), worth(candidates, 0.0);
    for (std::size_t s = 0; s < weights.size(); ++s)
        for (std::size_t c = 0; c < candidates; ++c) worth[c] += weights[s] * static_cast<double>(shares[s * candidates + c]);
    while (chosen.size() < (std::min)(count, candidates)) {
        std::fill(gain.begin(), gain.end(), 0.0);
        for (std::size_t s = 0; s < weights.size(); ++s)
            for (std::size_t c = 0; c < candidates; ++c)
                gain[c] += weights[s] * static_cast<double>((std::max)(shares[s * candidates + c] - covered[s], 0.0F));
        for (const auto c : chosen) gain[c] = -1;
        std::size_t best = 0;
        for (std::size_t c = 1; c < candidates; ++c)
            if (gain[c] > gain[best] || (gain[c] == gain[best] && worth[c] > worth[best])) best = c;
        for (std::size_t s = 0; s < weights.size(); ++s) covered[s] = (std::max)(covered[s], shares[s * candidates + best]);
        chosen.push_back(best);
    }
    return chosen;
}

} // namespace augur::inline v0::transfer

#endif
