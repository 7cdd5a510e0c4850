// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_TILE_SIZES_HPP
#define AUGUR_LOOPNEST_DETAIL_TILE_SIZES_HPP

/// @file
/// The options of an open split: factorisations of the extent, or of a slightly larger number if the extent has large prime factors.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/space/factorisation.hpp>

namespace augur::inline v0::loopnest::detail {

/// The number that is factored instead of `extent` when tiles may be cut at the end of an axis: `extent` itself if all its prime factors are at most
/// 7, else the number up to an eighth larger with the most divisors. An axis of 127 can be tiled like one of 132; by its own divisors it cannot be
/// tiled at all.
[[nodiscard]] inline std::int64_t well_divisible(std::int64_t extent) {
    auto rest = extent;
    for (const std::int64_t p : {2, 3, 5, 7})
        while (rest % p == 0) rest /= p;
    constexpr std::int64_t most = std::int64_t{1} << 24; // an axis beyond has enough divisors or enough work
    if (rest == 1 || extent <= 8 || extent > most) return extent;
    const auto last = extent + extent / 8;
    struct part {
        std::int64_t rest; ///< without the primes so far
        std::size_t divisors = 1;
    };
    std::vector<part> of; // of extent, extent + 1, ..: a sieve, as factoring each of two million numbers takes ten seconds
    for (auto n = extent; n <= last; ++n) of.push_back({n});
    for (std::int64_t p = 2; p * p <= last; ++p)
        for (auto n = (extent + p - 1) / p * p; n <= last; n += p) {
            part& at = of[static_cast<std::size_t>(n - extent)];
            std::size_t power = 1;
            for (; at.rest % p == 0; at.rest /= p) ++power; // none if p is no prime
            at.divisors *= power;
        }
    const auto divisors_of = [](const part& x) { return x.rest > 1 ? 2 * x.divisors : x.divisors; };
    const auto best = std::max_element(of.begin(), of.end(), [&](const part& a, const part& b) { return divisors_of(a) < divisors_of(b); });
    return extent + (best - of.begin()); // of several the first
}

/// The lengths that an open split may have. The first `likely()` options are the factorisations of `well_divisible(extent)`; behind them are those of
/// the extent itself that differ.
class tile_sizes {
public:
    tile_sizes(std::int64_t extent, std::size_t lengths, std::int64_t max_innermost, bool exact)
        : first_(exact ? extent : well_divisible(extent), lengths, max_innermost) {
        if (first_.extent() == extent) return;
        exact_.emplace(extent, lengths, max_innermost);
        for (std::uint64_t i = 0; i < exact_->count(); ++i)
            if (!first_.index_of(exact_->lengths_of(i))) others_.push_back(i);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return first_.count() + others_.size(); }
    [[nodiscard]] std::size_t lengths() const noexcept { return first_.lengths(); }
    [[nodiscard]] std::uint64_t likely() const noexcept { return first_.count(); }

    /// pre: index < count(), out has the number of lengths
    void lengths_of(std::uint64_t index, std::span<std::int64_t> out) const {
        if (index < first_.count()) first_.lengths_of(index, out);
        else exact_->lengths_of(others_[static_cast<std::size_t>(index - first_.count())], out);
    }

    [[nodiscard]] std::optional<std::uint64_t> index_of(std::span<const std::int64_t> lengths) const {
        if (const auto i = first_.index_of(lengths)) return i;
        const auto i = exact_ ? exact_->index_of(lengths) : std::nullopt;
        if (!i) return std::nullopt;
        return first_.count() + static_cast<std::uint64_t>(std::lower_bound(others_.begin(), others_.end(), *i) - others_.begin());
    }

    /// The option nearest to the given lengths; see `factorisation::nearest`.   pre: as many lengths as `lengths()`
    [[nodiscard]] std::uint64_t nearest(std::span<const std::int64_t> lengths) const {
        const auto likely = first_.nearest(lengths);
        if (!exact_ || !(likely.distance > 0)) return likely.index;
        const auto other = exact_->nearest(lengths);
        return other.distance < likely.distance ? value_of_exact(other.index) : likely.index;
    }

    /// The number that the lengths of the likely options divide.
    [[nodiscard]] std::int64_t extent() const noexcept { return first_.extent(); }
    [[nodiscard]] std::int64_t max_innermost() const noexcept { return first_.max_innermost(); }

    /// Spells an option: its lengths from the outermost, each with its legal values, ascending, given those before. A length is legal if the extent or
    /// the larger number can still be factored.   pre: the tile sizes outlive the speller
    class speller {
    public:
        explicit speller(const tile_sizes& of) : of_(&of), likely_(of.first_) {
            if (of.exact_) other_.emplace(*of.exact_);
        }
        [[nodiscard]] std::uint64_t choices() const {
            if (!other_) return likely_->choices();
            std::uint64_t n = 0;
            each([&](std::int64_t) { return ++n, true; });
            return n;
        }
        /// pre: choice < choices()
        void word(std::uint64_t choice, auto& sink) const { sink.number(length(choice)); }
        /// pre: choice < choices()
        void choose(std::uint64_t choice) {
            if (!other_) return likely_->choose(choice);
            const auto wanted = length(choice);
            for (auto* one : {&likely_, &other_}) {
                if (!*one) continue;
                std::uint64_t c = 0;
                while (c < (*one)->choices() && (*one)->length(c) != wanted) ++c;
                if (c < (*one)->choices()) (*one)->choose(c);
                else one->reset();
            }
        }
        /// pre: choices() == 0
        [[nodiscard]] std::uint64_t value() const { return likely_ ? likely_->index() : of_->value_of_exact(other_->index()); }

    private:
        const tile_sizes* of_;
        std::optional<factorisation::speller> likely_; ///< none: the lengths so far are none of it; at least one of the two is there
        std::optional<factorisation::speller> other_;

        [[nodiscard]] std::int64_t length(std::uint64_t choice) const {
            if (!other_) return likely_->length(choice);
            std::int64_t found = 0;
            each([&](std::int64_t l) { return found = l, choice-- > 0; });
            return found;
        }
        /// Calls `f` with the legal lengths of both in ascending order, each once, until it returns false.
        void each(auto&& f) const {
            const std::uint64_t n = likely_ ? likely_->choices() : 0, m = other_ ? other_->choices() : 0;
            for (std::uint64_t i = 0, j = 0; i < n || j < m;) {
                const auto a = i < n ? likely_->length(i) : std::numeric_limits<std::int64_t>::max();
                const auto b = j < m ? other_->length(j) : std::numeric_limits<std::int64_t>::max();
                if (!f((std::min)(a, b))) return;
                i += a <= b ? 1 : 0;
                j += b <= a ? 1 : 0;
            }
        }
    };

    /// pre: index < count()
    [[nodiscard]] std::uint64_t neighbour(std::uint64_t index, random_engine& rng) const {
        if (index < first_.count()) return first_.neighbour(index, rng);
        const auto near = exact_->neighbour(others_[static_cast<std::size_t>(index - first_.count())], rng);
        return index_of(exact_->lengths_of(near)).value_or(index);
    }

private:
    factorisation first_;
    std::optional<factorisation> exact_;
    std::vector<std::uint64_t> others_; ///< indices in `exact_`, ascending

    /// The option with the lengths of a factorisation of `exact_`, which may be one of `first_`, too.
    [[nodiscard]] std::uint64_t value_of_exact(std::uint64_t index) const {
        const auto at = std::lower_bound(others_.begin(), others_.end(), index);
        if (at != others_.end() && *at == index) return first_.count() + static_cast<std::uint64_t>(at - others_.begin());
        return first_.index_of(exact_->lengths_of(index)).value_or(0);
    }
};

} // namespace augur::inline v0::loopnest::detail

#endif
