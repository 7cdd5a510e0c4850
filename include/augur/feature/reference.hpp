// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_FEATURE_REFERENCE_HPP
#define AUGUR_FEATURE_REFERENCE_HPP

/// @file
/// Features of candidates among the others of their task, whatever the features are: what sets one apart, and which candidates are one program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// The middle of a task's candidates. A kernel that nobody has measured has other extents and operations than those that a model was trained on, but
/// more or less of something than its own candidates usually have means the same for all (decision 14).
class feature_reference {
public:
    /// The lower median of each column of `rows` (N, C), candidates of one task on one target: its log, or a sample of its space. A model's scores
    /// depend on which they are. O(N C).   pre: columns >= 1, N >= 1, no number is NaN
    [[nodiscard]] static feature_reference of(std::span<const float> rows, std::size_t columns) {
        AUGUR_ASSERT(columns > 0 && !rows.empty() && rows.size() % columns == 0, "feature_reference::of: whole rows, at least one");
        feature_reference out;
        std::vector<float> column(rows.size() / columns);
        const auto middle = column.begin() + static_cast<std::ptrdiff_t>((column.size() - 1) / 2);
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows[i * columns + c];
            std::nth_element(column.begin(), middle, column.end());
            out.middle_.push_back(*middle);
        }
        return out;
    }

    /// (C)
    [[nodiscard]] std::span<const float> middle() const noexcept { return middle_; }

    /// rows (N, C) <- rows - middle.   pre: the same features of the same task and target
    void relate(std::span<float> rows) const {
        AUGUR_ASSERT(rows.size() % middle_.size() == 0, "feature_reference::relate: whole rows");
        for (std::size_t i = 0; i < rows.size(); i += middle_.size())
            for (std::size_t c = 0; c < middle_.size(); ++c) rows[i + c] -= middle_[c];
    }

private:
    std::vector<float> middle_;
};

/// For each row of (N, C) the first one that is equal to it: schedules whose steps differ and whose features do not, where features say all that a
/// program does, are one program. O(N log N) comparisons.   pre: columns >= 1, no number is NaN
[[nodiscard]] inline std::vector<std::uint32_t> equal_rows(std::span<const float> rows, std::size_t columns) {
    AUGUR_ASSERT(columns > 0 && rows.size() % columns == 0, "equal_rows: whole rows");
    std::vector<std::uint32_t> order(rows.size() / columns), first(order.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto row = [&](std::uint32_t i) { return rows.subspan(i * columns, columns); };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto x = row(a), y = row(b);
        const auto [p, q] = std::mismatch(x.begin(), x.end(), y.begin());
        return p != x.end() ? *p < *q : a < b;
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto x = row(order[i]), before = row(order[i > 0 ? i - 1 : 0]);
        first[order[i]] = i > 0 && std::equal(x.begin(), x.end(), before.begin()) ? first[order[i - 1]] : order[i];
    }
    return first;
}

/// Of candidates that are equal, puts all but the best (of several the first) behind all other candidates: to try a program twice tells nothing new.
///
/// @param rows    (N, C) features
/// @param scores  (N) higher is better; -infinity stays.   pre: none is NaN or +infinity
inline void once_each(std::span<const float> rows, std::size_t columns, std::span<float> scores) {
    AUGUR_ASSERT(rows.size() == scores.size() * columns, "once_each: a row a score");
    auto best = equal_rows(rows, columns);
    const auto first = best;
    float low = 0, high = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (scores[i] > scores[best[first[i]]]) best[first[i]] = static_cast<std::uint32_t>(i);
        if (std::isfinite(scores[i])) low = (std::min)(low, scores[i]), high = (std::max)(high, scores[i]);
    }
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (best[first[i]] != i) scores[i] -= high - low + 1;
}

} // namespace augur::inline v0

#endif
