// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_FACTORISATION_HPP
#define AUGUR_SPACE_FACTORISATION_HPP

/// @file
/// Enumerates the multi-level tile sizes of an axis: a bijection between indices and the factorisations of its extent.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
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
        for (const auto d : divisors_) logarithms_.push_back(std::log2(static_cast<double>(d)));
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

    /// A factorisation and its distance from given lengths.
    struct approximation {
        std::uint64_t index = 0;
        double distance = 0; ///< sum over the levels of |log2(length / given length)|
    };
    /// The factorisation nearest to the given lengths, the given one itself if it is one. Of several, the one with the smallest outer lengths.
    ///
    /// Cost  O(k D) for a factorisation of the extent, else O(k S) for S pairs of divisors that divide each other; allocates above 128 divisors
    /// pre: lengths.size() == lengths()
    [[nodiscard]] approximation nearest(std::span<const std::int64_t> lengths) const {
        AUGUR_ASSERT(lengths.size() == lengths_, "factorisation::nearest: shape");
        if (const auto index = index_of(lengths)) return {*index, 0};
        const std::size_t numbers = divisors_.size();
        std::array<double, std::size_t{3} * 128> few; // (k-1, D): from a level on, the least distance of the factorisations of a divisor
        std::vector<double> many;
        std::span<double> rest(few);
        if ((lengths_ - 1) * numbers > few.size()) {
            many.resize((lengths_ - 1) * numbers);
            rest = many;
        }
        const auto far = [&](std::size_t level, const split& s) { // of a length, and of the best for the levels inside it
            const double own = std::abs(logarithms_[s.divisor] - std::log2(static_cast<double>((std::max)(lengths[level], std::int64_t{1}))));
            return level + 1 == lengths_ ? own : own + rest[level * numbers + s.quotient];
        };
        const auto best = [&](std::size_t level, std::size_t place) {
            std::pair<double, const split*> found{std::numeric_limits<double>::infinity(), nullptr};
            for (const auto& s : splits(place)) {
                if (level + 1 == lengths_ && divisors_[s.divisor] > max_innermost_) break;
                if (const double d = far(level, s); d < found.first) found = {d, &s};
            }
            return found;
        };
        for (std::size_t level = lengths_; --level > 0;)
            for (std::size_t place = 0; place < numbers; ++place) rest[(level - 1) * numbers + place] = best(level, place).first;
        approximation out;
        std::size_t remaining = numbers - 1;
        for (std::size_t level = 0; level < lengths_; ++level) {
            const auto [distance, chosen] = best(level, remaining);
            if (level == 0) out.distance = distance;
            for (const auto* s = splits(remaining).data(); s != chosen; ++s) out.index += completions(level, *s);
            remaining = chosen->quotient;
        }
        return out;
    }

    /// Spells a factorisation: its lengths one after the other, from the outermost, each with its legal values given those before.
    ///
    /// Cost  `choices` O(1), at the innermost level O(D); `choose` O(choice)
    /// pre: the factorisation outlives the speller
    class speller {
    public:
        explicit speller(const factorisation& of) noexcept : of_(&of), remaining_(of.divisors_.size() - 1) {}
        /// The number of legal values of the next length; 0: all lengths are chosen.
        [[nodiscard]] std::uint64_t choices() const noexcept {
            if (level_ == of_->lengths_) return 0;
            const auto all = of_->splits(remaining_);
            if (level_ + 1 < of_->lengths_) return all.size(); // whatever is left can be one
            std::uint64_t legal = 0;
            while (legal < all.size() && of_->divisors_[all[static_cast<std::size_t>(legal)].divisor] <= of_->max_innermost_) ++legal;
            return legal;
        }
        /// A legal value, ascending. pre: choice < choices()
        [[nodiscard]] std::int64_t length(std::uint64_t choice) const noexcept {
            return of_->divisors_[of_->splits(remaining_)[static_cast<std::size_t>(choice)].divisor];
        }
        /// pre: choice < choices()
        void choose(std::uint64_t choice) noexcept {
            const auto all = of_->splits(remaining_);
            for (std::uint64_t c = 0; c < choice; ++c) index_ += of_->completions(level_, all[static_cast<std::size_t>(c)]);
            remaining_ = all[static_cast<std::size_t>(choice)].quotient;
            ++level_;
        }
        /// The index of the factorisation. pre: choices() == 0
        [[nodiscard]] std::uint64_t index() const noexcept { return index_; }

    private:
        const factorisation* of_;
        std::size_t level_ = 0;
        std::size_t remaining_; ///< index of the divisor that is not chosen yet
        std::uint64_t index_ = 0;
    };

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
    std::vector<double> logarithms_;                 ///< (D) to base 2
    std::vector<split> splits_;                      ///< for each divisor, its own divisors in ascending order
    std::vector<std::size_t> starts_;                ///< (D+1) begin of the splits of each divisor
    std::vector<std::vector<std::uint64_t>> counts_; ///< (k, D) factorisations of divisor r into k+1 lengths
};

} // namespace augur::inline v0

#endif
