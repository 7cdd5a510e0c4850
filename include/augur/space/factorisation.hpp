// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_FACTORISATION_HPP
#define AUGUR_SPACE_FACTORISATION_HPP

/// @file
/// Enumerates the multi-level tile sizes of an axis: a bijection between indices and the factorisations of its extent.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/random_engine.hpp>

namespace augur::inline v0 {

/// All (l_1 .. l_k) whose product divides the extent and whose innermost length l_k is at most a limit. The outermost level is
/// extent / (l_1 ... l_k) and is not stored. The order is Ansor's (SplitFactorizationMemo in search_policy/utils.cc): depth first over the
/// sorted divisors, with l_1 varying slowest.
///
/// The list is not stored: the number of factorisations per divisor is enough to convert an index to lengths and back.
///
/// Cost        construction O(sqrt(extent) + k D^2) for D divisors; `lengths_of` and `index_of` O(k D)
/// Threads     immutable after construction; safe to share
class factorisation {
public:
    /// pre: extent >= 1, lengths >= 1, max_innermost >= 1
    factorisation(std::int64_t extent, std::size_t lengths, std::int64_t max_innermost = 64)
        : extent_(extent), lengths_(lengths), max_innermost_(max_innermost), divisors_(divisors_of(extent)) {
        AUGUR_ASSERT(extent >= 1 && lengths >= 1 && max_innermost >= 1, "factorisation: extent, lengths and limit are at least 1");
        starts_.push_back(0);
        for (std::size_t r = 0; r < divisors_.size(); ++r) {
            for (std::size_t d = 0; d <= r; ++d)
                if (divisors_[r] % divisors_[d] == 0) splits_.push_back({d, place_of(divisors_[r] / divisors_[d])});
            starts_.push_back(splits_.size());
        }
        counts_.assign(lengths, std::vector<std::uint64_t>(divisors_.size(), 0));
        for (std::size_t r = 0; r < divisors_.size(); ++r)
            for (const auto& s : splits(r)) counts_[0][r] += divisors_[s.divisor] <= max_innermost ? 1U : 0U;
        for (std::size_t k = 1; k < lengths; ++k)
            for (std::size_t r = 0; r < divisors_.size(); ++r)
                for (const auto& s : splits(r)) counts_[k][r] += counts_[k - 1][s.quotient];
    }

    [[nodiscard]] std::int64_t extent() const noexcept { return extent_; }
    [[nodiscard]] std::size_t lengths() const noexcept { return lengths_; }
    [[nodiscard]] std::int64_t max_innermost() const noexcept { return max_innermost_; }

    /// The number of factorisations; at least 1.
    [[nodiscard]] std::uint64_t count() const noexcept { return counts_.back().back(); }

    /// The lengths of the factorisation with this index.
    ///
    /// @param out  (k) overwritten
    /// pre: index < count(), out.size() == lengths()
    void lengths_of(std::uint64_t index, std::span<std::int64_t> out) const {
        AUGUR_ASSERT(index < count() && out.size() == lengths_, "factorisation::lengths_of: index or shape");
        std::size_t remaining = divisors_.size() - 1;
        for (std::size_t level = 0; level < lengths_; ++level) {
            for (const auto& s : splits(remaining)) {
                const std::uint64_t block = completions(level, s);
                if (index < block) {
                    out[level] = divisors_[s.divisor];
                    remaining = s.quotient;
                    break;
                }
                index -= block;
            }
        }
    }
    [[nodiscard]] std::vector<std::int64_t> lengths_of(std::uint64_t index) const {
        std::vector<std::int64_t> out(lengths_);
        lengths_of(index, out);
        return out;
    }

    /// The index of the given lengths; nullopt if they are no factorisation of the extent.
    [[nodiscard]] std::optional<std::uint64_t> index_of(std::span<const std::int64_t> lengths) const {
        if (lengths.size() != lengths_ || lengths.back() > max_innermost_) return std::nullopt;
        std::uint64_t index = 0;
        std::size_t remaining = divisors_.size() - 1;
        for (std::size_t level = 0; level < lengths_; ++level) {
            bool found = false;
            for (const auto& s : splits(remaining)) {
                if (divisors_[s.divisor] == lengths[level]) {
                    remaining = s.quotient;
                    found = true;
                    break;
                }
                index += completions(level, s);
            }
            if (!found) return std::nullopt;
        }
        return index;
    }

    /// A uniformly distributed index.
    [[nodiscard]] std::uint64_t uniform(random_engine& rng) const { return rng.below(count()); }

    /// Ansor's tile mutation (MutateTileSize in sketch_policy_rules.cc): moves a random divisor > 1 from one level, the outermost included, to the
    /// next level in a random permutation of the levels. The innermost level stays within its limit. Returns `index` if no divisor can move.
    ///
    /// pre: index < count()
    [[nodiscard]] std::uint64_t neighbour(std::uint64_t index, random_engine& rng) const {
        std::vector<std::int64_t> level(lengths_ + 1);
        lengths_of(index, std::span<std::int64_t>(level).subspan(1));
        level[0] = extent_;
        for (std::size_t i = 1; i <= lengths_; ++i) level[0] /= level[i];
        std::vector<std::size_t> order(level.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        rng.shuffle(std::span<std::size_t>(order));
        for (std::size_t i = 0; i < order.size(); ++i) {
            const std::size_t from = order[i];
            const std::size_t to = order[(i + 1) % order.size()];
            const auto candidates = splits(place_of(level[from])); // the first is the divisor 1
            std::size_t usable = candidates.size();
            if (to == lengths_)
                while (usable > 1 && divisors_[candidates[usable - 1].divisor] * level[to] > max_innermost_) --usable;
            if (usable <= 1) continue;
            const std::int64_t moved = divisors_[candidates[1 + static_cast<std::size_t>(rng.below(usable - 1))].divisor];
            level[from] /= moved;
            level[to] *= moved;
            const auto out = index_of(std::span<const std::int64_t>(level).subspan(1));
            AUGUR_ASSERT(out.has_value(), "factorisation::neighbour: left the space");
            return out.value_or(index);
        }
        return index;
    }

private:
    struct split {
        std::size_t divisor; ///< indices into divisors_: divisor * quotient = the number that is split
        std::size_t quotient;
    };

    static std::vector<std::int64_t> divisors_of(std::int64_t n) {
        std::vector<std::int64_t> low;
        std::vector<std::int64_t> high;
        for (std::int64_t d = 1; d <= n / d; ++d) {
            if (n % d != 0) continue;
            low.push_back(d);
            if (d != n / d) high.push_back(n / d);
        }
        low.insert(low.end(), high.rbegin(), high.rend());
        return low;
    }
    [[nodiscard]] std::size_t place_of(std::int64_t divisor) const {
        return static_cast<std::size_t>(std::lower_bound(divisors_.begin(), divisors_.end(), divisor) - divisors_.begin());
    }
    [[nodiscard]] std::span<const split> splits(std::size_t place) const {
        return std::span<const split>(splits_).subspan(starts_[place], starts_[place + 1] - starts_[place]);
    }
    /// The number of factorisations of the remaining levels after `level` takes this split.
    [[nodiscard]] std::uint64_t completions(std::size_t level, const split& s) const {
        if (level + 1 == lengths_) return divisors_[s.divisor] <= max_innermost_ ? 1 : 0;
        return counts_[lengths_ - level - 2][s.quotient];
    }

    std::int64_t extent_;
    std::size_t lengths_;
    std::int64_t max_innermost_;
    std::vector<std::int64_t> divisors_;             ///< (D) ascending; the last is the extent
    std::vector<split> splits_;                      ///< for each divisor, its own divisors in ascending order
    std::vector<std::size_t> starts_;                ///< (D+1) begin of the splits of each divisor
    std::vector<std::vector<std::uint64_t>> counts_; ///< (k, D) factorisations of divisor r into k+1 lengths
};

} // namespace augur::inline v0

#endif
