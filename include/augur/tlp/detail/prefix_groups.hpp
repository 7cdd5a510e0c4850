// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_PREFIX_GROUPS_HPP
#define AUGUR_TLP_DETAIL_PREFIX_GROUPS_HPP

/// @file
/// Candidates that have many rows in common, side by side: what attention makes of the common rows is computed once for all of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace augur::inline v0::tlp {

namespace detail {

/// A batch of bags cut into groups. Grows to its largest batch and then allocates no more.
///
/// In each bag the rows that many bags have come first, the most frequent one before the others, and the bags are sorted by them. So bags with a
/// common beginning are neighbours, a tree of beginnings as in mining frequent patterns (Han, Pei, Yin, SIGMOD 2000), and each node of the tree is a
/// possible group. Which nodes are taken follows from the multiplications that they cost.
class prefix_groups {
public:
    struct group {
        std::uint32_t first = 0, last = 0; ///< bags order()[first, last)
        std::uint32_t shared = 0;          ///< how many rows they have in common, as often each: the first ones of every bag
    };
    static constexpr std::size_t least = 8; ///< bags that are worth a group
    static constexpr std::size_t most = 64; ///< of a group: what it needs stays in the second-level cache

    /// Bag c has the rows rows[begin[c], begin[c + 1]), below `distinct`, each once, and times[] says how often.
    void build(std::span<const std::size_t> begin, std::span<const std::uint32_t> rows, std::span<const float> times, std::size_t distinct) {
        begin_ = begin;
        const std::size_t bags = begin.size() - 1;
        sort_rows(rows, times, distinct);
        order_.resize(bags);
        std::iota(order_.begin(), order_.end(), 0U);
        std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
            const std::uint32_t *x = ranks_.data() + begin_[a], *y = ranks_.data() + begin_[b];
            const std::size_t n = (std::min)(common_[a], common_[b]);
            for (std::size_t i = 0; i < n; ++i)
                if (x[i] != y[i]) return x[i] < y[i];
            return common_[a] != common_[b] ? common_[a] < common_[b] : a < b;
        });
        groups_.clear();
        stamp_.assign((std::max)(stamp_.size(), distinct), 0);
        epoch_ = 0;
        products_ = bags == 0 ? 0 : cut(0, bags, 0);
    }

    /// Cuts groups that have nothing in common into smaller ones, of about `rows` rows.
    void thin(std::size_t rows) {
        whole_.assign(groups_.begin(), groups_.end());
        groups_.clear();
        for (const group& g : whole_) {
            std::size_t all = 0;
            for (std::size_t i = g.first; i < g.last; ++i) all += begin_[order_[i] + 1] - begin_[order_[i]];
            const std::size_t parts = g.shared > 0 ? 1 : (all + rows - 1) / rows;
            push(g.first, g.last, g.shared, (std::clamp)(parts, std::size_t{1}, std::size_t{g.last - g.first}));
        }
    }

    [[nodiscard]] std::span<const group> groups() const { return groups_; }
    [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
    [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; } ///< as given, in another order within each bag
    [[nodiscard]] std::span<const float> times() const { return times_; }
    /// About how many products of a row's weights and a key's values it takes with these groups.
    [[nodiscard]] double products() const { return products_; }

private:
    static constexpr double start = 3; ///< what the common rows cost a row of a bag, in products: of means, and what is written and read again

    /// rows_, times_, ranks_, common_: in each bag frequent rows first.
    void sort_rows(std::span<const std::uint32_t> rows, std::span<const float> times, std::size_t distinct) {
        const std::size_t bags = begin_.size() - 1, all = begin_.back();
        // a row that occurs twice in one bag is not the same as one that occurs once: an item is a row with how often
        float most_times = 1;
        for (std::size_t t = 0; t < all; ++t) most_times = (std::max)(most_times, times[t]);
        const std::size_t kinds = static_cast<std::size_t>(most_times) + 1;
        count_.assign(distinct * kinds, 0);
        const auto item = [&](std::size_t t) { return rows[t] * kinds + static_cast<std::size_t>(times[t]); };
        for (std::size_t t = 0; t < all; ++t) ++count_[item(t)];
        frequent_.clear();
        for (std::size_t i = 0; i < count_.size(); ++i)
            if (count_[i] >= least) frequent_.push_back(static_cast<std::uint32_t>(i));
        std::sort(frequent_.begin(), frequent_.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return count_[a] != count_[b] ? count_[a] > count_[b] : a < b; });
        const auto rare = static_cast<std::uint32_t>(frequent_.size());
        slot_.assign(rare + 1, 0);
        for (std::uint32_t r = 0; r < rare; ++r) slot_[r + 1] = slot_[r] + count_[frequent_[r]];
        std::fill(count_.begin(), count_.end(), rare);
        for (std::uint32_t r = 0; r < rare; ++r) count_[frequent_[r]] = r; // now an item's rank
        // all rows of the batch by rank, then rank by rank to their bags
        by_rank_.resize(all);
        for (std::size_t c = 0; c < bags; ++c)
            for (std::size_t t = begin_[c]; t < begin_[c + 1]; ++t)
                by_rank_[slot_[count_[item(t)]]++] = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(c)};
        rows_.resize(all);
        times_.resize(all);
        ranks_.resize(all);
        common_.assign(bags, 0);
        next_.assign(begin_.begin(), begin_.end() - 1);
        for (const auto& [t, c] : by_rank_) {
            const std::size_t to = next_[c]++;
            rows_[to] = rows[t];
            times_[to] = times[t];
            ranks_[to] = count_[item(t)];
            common_[c] += ranks_[to] != rare ? 1 : 0;
        }
    }

    /// The best groups of order_[first, last), which have `depth` rows in common; gives what they cost.
    double cut(std::size_t first, std::size_t last, std::size_t depth) {
        const std::uint32_t front = order_[first], back = order_[last - 1];
        while (depth < common_[front] && depth < common_[back] && rank(front, depth) == rank(back, depth)) ++depth; // sorted: so do all between
        std::size_t shared = depth;
        const double here = cost(first, last, shared);
        const std::size_t mark = groups_.size();
        if (last - first >= 2 * least && common_[back] > depth) {
            double parts = 0;
            std::size_t rest = first, at = first; // [rest, at): branches too small for a group of their own
            const auto flush = [&] {
                if (rest == at) return;
                std::size_t of_rest = depth;
                parts += cost(rest, at, of_rest);
                push(rest, at, of_rest, (at - rest + most - 1) / most);
            };
            while (at < last) {
                std::size_t end = at + 1;
                if (common_[order_[at]] == depth) {
                    while (end < last && common_[order_[end]] == depth) ++end;
                } else {
                    while (end < last && rank(order_[end], depth) == rank(order_[at], depth)) ++end;
                }
                if (end - at >= least) {
                    flush();
                    parts += cut(at, end, depth);
                    rest = end;
                }
                at = end;
            }
            flush();
            if (parts < here) return parts;
            groups_.resize(mark);
        }
        push(first, last, shared, (last - first + most - 1) / most);
        return here;
    }

    /// Of one group: its own rows are multiplied for each bag, the common ones once for each distinct row. Where that does not pay, depth <- 0.
    double cost(std::size_t first, std::size_t last, std::size_t& depth) {
        double plain = 0, all = 0, distinct = 0;
        ++epoch_;
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t from = begin_[order_[i]], to = begin_[order_[i] + 1];
            const auto n = static_cast<double>(to - from);
            all += n;
            plain += n * n;
            for (std::size_t t = from; t < to; ++t) {
                if (stamp_[rows_[t]] == epoch_) continue;
                stamp_[rows_[t]] = epoch_;
                distinct += 1;
            }
        }
        const auto d = static_cast<double>(depth);
        const double saved = d * all - start * all - (d + start) * distinct;
        if (saved <= 0) depth = 0;
        return saved <= 0 ? plain : plain - saved;
    }

    void push(std::size_t first, std::size_t last, std::size_t depth, std::size_t parts) {
        for (std::size_t left = parts; left > 0; --left) { // as even as can be
            const std::size_t n = (last - first + left - 1) / left;
            groups_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + n), static_cast<std::uint32_t>(depth)});
            first += n;
        }
    }

    [[nodiscard]] std::uint32_t rank(std::uint32_t bag, std::size_t depth) const { return ranks_[begin_[bag] + depth]; }

    struct occurrence {
        std::uint32_t at, bag;
    };
    std::span<const std::size_t> begin_;
    std::vector<group> groups_, whole_;
    std::vector<std::uint32_t> order_, rows_;
    std::vector<float> times_;
    std::vector<std::uint32_t> ranks_;    ///< of the rows in their bags; beyond common_ meaningless
    std::vector<std::size_t> common_;     ///< by bag: how many of its rows are frequent
    std::vector<std::uint32_t> count_;    ///< by item, how often; then its rank
    std::vector<std::uint32_t> frequent_; ///< items
    std::vector<std::uint32_t> slot_;     ///< by rank
    std::vector<occurrence> by_rank_;
    std::vector<std::size_t> next_;
    std::vector<std::uint32_t> stamp_; ///< by row: the last cost() that has seen it
    std::uint32_t epoch_ = 0;
    double products_ = 0;
};

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
