// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_PREFIX_GROUPS_HPP
#define AUGUR_TLP_DETAIL_PREFIX_GROUPS_HPP

/// @file
/// Groups the candidates of a batch by common rows, so that the frozen model computes attention over the common rows once per group.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace augur::inline v0::tlp {

namespace detail {

/// Partition of a batch of candidates (each a set of rows with multiplicities) into groups. Its memory grows to the largest batch and is reused.
///
/// The rows of each candidate are sorted by frequency in the batch, the most frequent first, and the candidates are sorted by these rows. Candidates
/// with a common prefix are then neighbours and form a prefix tree, as the FP-tree of frequent pattern mining (Han, Pei, Yin, SIGMOD 2000). Each node
/// of the tree is a possible group; the selected nodes minimise the estimated number of multiplications.
class prefix_groups {
public:
    struct group {
        std::uint32_t first = 0, last = 0; ///< candidates order()[first, last)
        std::uint32_t shared = 0;          ///< number of common rows with equal multiplicities: the first rows of every candidate
    };
    static constexpr std::size_t least = 8; ///< minimum number of candidates of a group
    static constexpr std::size_t most = 64; ///< maximum number of candidates, so that the data of a group fit in the second-level cache

    /// Builds the groups. Candidate c has the distinct rows rows[begin[c], begin[c + 1]), below `distinct`, with multiplicities times[].
    void build(std::span<const std::size_t> begin, std::span<const std::uint32_t> rows, std::span<const float> times, std::size_t distinct) {
        begin_ = begin;
        const std::size_t candidates = begin.size() - 1;
        sort_rows(rows, times, distinct);
        order_.resize(candidates);
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
        products_ = candidates == 0 ? 0 : cut(0, candidates, 0);
    }

    /// Splits groups without common rows into smaller groups of about `rows` rows.
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
    [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; } ///< permutation of the candidates
    [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }   ///< rows by candidate, most frequent first
    [[nodiscard]] std::span<const float> times() const { return times_; }         ///< multiplicities, in the order of rows()
    /// Estimated number of (query row, key row) products with these groups.
    [[nodiscard]] double products() const { return products_; }

private:
    static constexpr double start = 3; ///< overhead of the common rows per query row, in products: for the mean and for memory traffic

    /// Sets rows_, times_, ranks_ and common_: sorts the rows of each candidate by frequency.
    void sort_rows(std::span<const std::uint32_t> rows, std::span<const float> times, std::size_t distinct) {
        const std::size_t candidates = begin_.size() - 1, all = begin_.back();
        // an item is a pair (row, multiplicity): only rows with equal multiplicities can be shared
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
        for (std::uint32_t r = 0; r < rare; ++r) count_[frequent_[r]] = r; // from here on the rank of an item
        // counting sort of all rows by rank, then distribution to the candidates in that order
        by_rank_.resize(all);
        for (std::size_t c = 0; c < candidates; ++c)
            for (std::size_t t = begin_[c]; t < begin_[c + 1]; ++t)
                by_rank_[slot_[count_[item(t)]]++] = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(c)};
        rows_.resize(all);
        times_.resize(all);
        ranks_.resize(all);
        common_.assign(candidates, 0);
        next_.assign(begin_.begin(), begin_.end() - 1);
        for (const auto& [t, c] : by_rank_) {
            const std::size_t to = next_[c]++;
            rows_[to] = rows[t];
            times_[to] = times[t];
            ranks_[to] = count_[item(t)];
            common_[c] += ranks_[to] != rare ? 1 : 0;
        }
    }

    /// Appends the cheapest groups of order_[first, last), whose candidates share `depth` rows; returns their cost.
    double cut(std::size_t first, std::size_t last, std::size_t depth) {
        const std::uint32_t front = order_[first], back = order_[last - 1];
        while (depth < common_[front] && depth < common_[back] && rank(front, depth) == rank(back, depth))
            ++depth; // sorted: the candidates between them share these rows as well
        std::size_t shared = depth;
        const double here = cost(first, last, shared);
        const std::size_t mark = groups_.size();
        if (last - first >= 2 * least && common_[back] > depth) {
            double parts = 0;
            std::size_t rest = first, at = first; // [rest, at): subtrees that are too small for a group
            const auto flush = [&] {
                if (rest == at) return;
                std::size_t rest_depth = depth;
                parts += cost(rest, at, rest_depth);
                push(rest, at, rest_depth, (at - rest + most - 1) / most);
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

    /// Cost of one group: products with non-common rows per candidate, products with common rows once per distinct row. If sharing the common rows
    /// saves nothing, depth <- 0.
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
        for (std::size_t left = parts; left > 0; --left) { // parts of nearly equal size
            const std::size_t n = (last - first + left - 1) / left;
            groups_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + n), static_cast<std::uint32_t>(depth)});
            first += n;
        }
    }

    [[nodiscard]] std::uint32_t rank(std::uint32_t candidate, std::size_t depth) const { return ranks_[begin_[candidate] + depth]; }

    struct occurrence {
        std::uint32_t at, candidate;
    };
    std::span<const std::size_t> begin_;
    std::vector<group> groups_, whole_;
    std::vector<std::uint32_t> order_, rows_;
    std::vector<float> times_;
    std::vector<std::uint32_t> ranks_;    ///< ranks of rows_; not defined beyond the common_ first of a candidate
    std::vector<std::size_t> common_;     ///< by candidate: number of frequent rows
    std::vector<std::uint32_t> count_;    ///< by item: number of occurrences, later the rank
    std::vector<std::uint32_t> frequent_; ///< items by rank
    std::vector<std::uint32_t> slot_;     ///< by rank: next position in by_rank_
    std::vector<occurrence> by_rank_;
    std::vector<std::size_t> next_;
    std::vector<std::uint32_t> stamp_; ///< by row: epoch of the last cost() call that counted the row
    std::uint32_t epoch_ = 0;
    double products_ = 0;
};

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
