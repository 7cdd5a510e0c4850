// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TASK_NORMALISER_HPP
#define AUGUR_MODEL_TASK_NORMALISER_HPP

/// @file
/// Features of candidates among the others of their task, whatever the features are: what sets one apart, and which candidates are one program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// How a model is shown a candidate's features. None is better everywhere, and models of different views err on different candidates (decision 18).
enum class normalisation : std::uint8_t {
    relative, ///< less the middle of the task's candidates: a kernel that nobody has measured has other extents than those that a model was trained
              ///< on, but more or less of something than its own candidates usually have means the same for all (decision 14)
    ranked,   ///< the share of the task's candidates that have less, and half the share of those that have the same: from 0, all have more, to 1, all
              ///< have less
    absolute, ///< as they are
};

/// A task's candidates, to show one of them among the others.
class task_normaliser {
public:
    /// Of `rows` (N, C), candidates of one task on one target: its log, or a sample of its space. A model's scores depend on which they are. O(N C)
    /// time and C floats for `relative`, O(N log N C) and N C for `ranked`.   pre: columns >= 1, N >= 1, no number is NaN
    [[nodiscard]] static task_normaliser of(std::span<const float> rows, std::size_t columns, normalisation view = normalisation::relative) {
        AUGUR_ASSERT(columns > 0 && !rows.empty() && rows.size() % columns == 0, "feature_reference::of: whole rows, at least one");
        task_normaliser out(columns, view);
        if (view == normalisation::absolute) return out;
        std::vector<float> column(rows.size() / columns);
        const auto middle = column.begin() + static_cast<std::ptrdiff_t>((column.size() - 1) / 2);
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows[i * columns + c];
            if (view == normalisation::ranked) {
                std::sort(column.begin(), column.end());
                out.known_.insert(out.known_.end(), column.begin(), column.end());
            } else {
                std::nth_element(column.begin(), middle, column.end());
                out.known_.push_back(*middle);
            }
        }
        return out;
    }

    [[nodiscard]] normalisation view() const noexcept { return view_; }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    /// (C) the lower median of each column.   pre: of view `relative`
    [[nodiscard]] std::span<const float> middle() const noexcept {
        AUGUR_ASSERT(view_ == normalisation::relative, "feature_reference::middle: another view");
        return known_;
    }

    /// rows (N, C) <- how the view shows them.   pre: the same features of the same task and target, no number is NaN
    void relate(std::span<float> rows) const {
        AUGUR_ASSERT(rows.size() % columns_ == 0, "feature_reference::relate: whole rows");
        if (view_ == normalisation::absolute) return;
        const std::size_t n = known_.size() / columns_;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto of = std::span(known_).subspan(i % columns_ * n, n);
            if (view_ == normalisation::relative) {
                rows[i] -= of.front();
                continue;
            }
            const auto [from, to] = std::equal_range(of.begin(), of.end(), rows[i]);
            rows[i] = (static_cast<float>(from - of.begin()) + 0.5F * static_cast<float>(to - from)) / static_cast<float>(n);
        }
    }

private:
    task_normaliser(std::size_t columns, normalisation view) : columns_(columns), view_(view) {}

    std::size_t columns_;
    normalisation view_;
    std::vector<float> known_; ///< `relative`: (C); `ranked`: (C, N), each column sorted
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

/// Which candidates to try: several models' rankings take turns, each proposing its best of what is not proposed yet, the first model first. To try
/// a program twice tells nothing new, so it is proposed once, by the one of its candidates that the model prefers; repeats come when there is nothing
/// else. Of equal scores the earlier candidate.
///
/// @param scores  of each model, (N) each, higher is better, -infinity last.   pre: at least one model, none is NaN
/// @param first   (N) `equal_rows` of the candidates
/// @param most    how many are asked for
/// @return        at most `most` different indices, the first to try in front. O(models N log N)
[[nodiscard]] inline std::vector<std::uint32_t> take_turns(std::span<const std::vector<float>> scores, std::span<const std::uint32_t> first,
                                                           std::size_t most) {
    AUGUR_ASSERT(!scores.empty(), "take_turns: a model");
    std::vector<std::vector<std::uint32_t>> orders;
    for (const auto& one : scores) {
        AUGUR_ASSERT(one.size() == first.size(), "take_turns: a score a candidate");
        auto& order = orders.emplace_back(first.size());
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return one[a] != one[b] ? one[a] > one[b] : a < b; });
    }
    std::vector<std::uint32_t> out;
    std::vector<bool> proposed(first.size()), known(first.size()); // candidates; programs, by their first candidate
    for (const bool repeats : {false, true}) {
        std::vector<std::size_t> next(orders.size());
        for (std::size_t turn = 0, idle = 0; out.size() < most && idle < orders.size(); turn = (turn + 1) % orders.size()) {
            const auto& order = orders[turn];
            std::size_t& at = next[turn];
            while (at < order.size() && (proposed[order[at]] || (!repeats && known[first[order[at]]]))) ++at;
            idle = at < order.size() ? 0 : idle + 1;
            if (idle > 0) continue;
            proposed[order[at]] = known[first[order[at]]] = true;
            out.push_back(order[at]);
        }
    }
    return out;
}

} // namespace augur::inline v0

#endif
