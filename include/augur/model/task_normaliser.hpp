// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TASK_NORMALISER_HPP
#define AUGUR_MODEL_TASK_NORMALISER_HPP

/// @file
/// Per-task normalisation of candidate features (difference to the task median, or rank within the task), and detection of equal candidates.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// Per-task normalisation of features. None is best for all tasks, and models with different normalisations err on different candidates (decision
/// 18).
enum class normalisation : std::uint8_t {
    relative, ///< value - median of the task's candidates: absolute features differ between kernels, the difference to the median generalises to
              ///< kernels that are not in the training data (decision 14)
    ranked,   ///< mid-rank within the task, in [0, 1]: fraction of the task's candidates with a lower value + half the fraction with an equal value
    absolute, ///< no normalisation
};

/// Normaliser of one task: statistics of the features of the task's candidates.
class task_normaliser {
public:
    /// Computes the statistics of `rows` (N, C), the candidates of one task on one target: its log, or a sample of its space. Scores of a model
    /// depend on this set. O(N C) time and C floats for `relative`, O(N log N C) and N C for `ranked`.   pre: columns >= 1, N >= 1, no number is NaN
    [[nodiscard]] static task_normaliser fit(std::span<const float> rows, std::size_t columns, normalisation method = normalisation::relative) {
        AUGUR_ASSERT(columns > 0 && !rows.empty() && rows.size() % columns == 0, "task_normaliser::fit: whole rows, at least one");
        task_normaliser out(columns, method);
        if (method == normalisation::absolute) return out;
        std::vector<float> column(rows.size() / columns);
        const auto middle = column.begin() + static_cast<std::ptrdiff_t>((column.size() - 1) / 2);
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows[i * columns + c];
            if (method == normalisation::ranked) {
                std::sort(column.begin(), column.end());
                out.known_.insert(out.known_.end(), column.begin(), column.end());
            } else {
                std::nth_element(column.begin(), middle, column.end());
                out.known_.push_back(*middle);
            }
        }
        return out;
    }

    [[nodiscard]] normalisation method() const noexcept { return method_; }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    /// (C) lower median of each column.   pre: method() is `relative`
    [[nodiscard]] std::span<const float> middle() const noexcept {
        AUGUR_ASSERT(method_ == normalisation::relative, "task_normaliser::middle: another normalisation");
        return known_;
    }

    /// rows (N, C) <- normalised rows, in place.   pre: the same features of the same task and target, no number is NaN
    void relate(std::span<float> rows) const {
        AUGUR_ASSERT(rows.size() % columns_ == 0, "task_normaliser::relate: whole rows");
        if (method_ == normalisation::absolute) return;
        const std::size_t n = known_.size() / columns_;
        for (std::size_t row = 0; row < rows.size(); row += columns_)
            for (std::size_t c = 0; c < columns_; ++c) {
                float& x = rows[row + c];
                const auto column = std::span(known_).subspan(c * n, n);
                if (method_ == normalisation::relative) {
                    x -= column.front();
                    continue;
                }
                const auto [from, to] = std::equal_range(column.begin(), column.end(), x);
                x = (static_cast<float>(from - column.begin()) + 0.5F * static_cast<float>(to - from)) / static_cast<float>(n);
            }
    }

private:
    task_normaliser(std::size_t columns, normalisation method) : columns_(columns), method_(method) {}

    std::size_t columns_;
    normalisation method_;
    std::vector<float> known_; ///< `relative`: (C) medians; `ranked`: (C, N) values, each column sorted
};

/// For each row of (N, C), the index of the first equal row. If the features determine the program, schedules with equal rows are the same program.
/// O(N log N) comparisons.   pre: columns >= 1, no number is NaN
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
        const auto x = row(order[i]), previous = row(order[i > 0 ? i - 1 : 0]);
        first[order[i]] = i > 0 && std::equal(x.begin(), x.end(), previous.begin()) ? first[order[i - 1]] : order[i];
    }
    return first;
}

} // namespace augur::inline v0

#endif
