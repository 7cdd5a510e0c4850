// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_LRU_RANK_INDEX_HPP
#define AUGUR_PROGRAM_DETAIL_LRU_RANK_INDEX_HPP

/// @file
/// Rank index of an LRU stack: counts the distinct lines accessed since a given time. Used by `reuse_stream`.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/program/detail/last_access_table.hpp>

namespace augur::inline v0::detail {

/// Masks of prefixes: from &one[32 - k], k ones and then zeros; from &wide[16 - k] the same.
struct prefix_rows {
    std::array<std::uint16_t, 64> one{};
    std::array<std::uint32_t, 32> wide{};
};
inline constexpr prefix_rows prefixes = [] {
    prefix_rows rows;
    for (std::size_t i = 0; i < 32; ++i) rows.one[i] = 1;
    for (std::size_t i = 0; i < 16; ++i) rows.wide[i] = 1;
    return rows;
}();

/// A bitmap over times: a bit is set when the access at that time is the last one to its line. The rank of a line, which is its reuse distance, is
/// the number of set bits after its own.
///
/// Hierarchical counts make ranks fast. Each word of 64 times has the number of set bits after it in its row of 32 words; each such row has the same
/// in its row of 32 rows, and higher levels have rows of 16. So a rank is the sum of three to five counts at known addresses, and moving a bit to the
/// front subtracts one from a prefix of one short row on each level: vector code without branches and without horizontal sums. The newest 128 times
/// are in two registers, which serve most reuses of a tensor program. When the times run out, `order` and `restart` renumber the lines without gaps.
///
/// Times      below 2^31, which allows 2^28 lines
/// Memory     0.16 bytes for each time; at most 16 times for each line (at least 65536 times)
class lru_rank_index {
public:
    static constexpr std::uint32_t never = last_access_table::never;

    explicit lru_rank_index(isa level) : avx2_(AUGUR_X86 != 0 && level != isa::generic) { restart(0, 0); }

    /// The time of the next access.
    [[nodiscard]] std::uint32_t now() const noexcept { return base_ + 64 + fill_; }
    /// The number of accesses that `move_to_front` accepts in one call; 0 when the times have run out.
    [[nodiscard]] std::uint32_t room() const noexcept { return now() < limit_ ? 64 - fill_ : 0; }
    /// True when `uses` more accesses fit before the times run out.
    [[nodiscard]] bool fits(std::size_t uses) const noexcept { return now() + uses < limit_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t sum = words_.capacity() * sizeof words_[0] + (in_32_.capacity() + in_1024_.capacity()) * sizeof in_32_[0];
        for (const auto& level : above_) sum += level.capacity() * sizeof level[0];
        return sum;
    }

    /// Moves n lines to the front of the LRU stack. rank[i] becomes the number of distinct lines accessed after time previous[i], or `never` for
    /// `never`; the new time of the line is now() + i. The addresses fetch[0 ... fetches) are prefetched on the way.   pre: n <= room(), fetches <= n
    void move_to_front(const std::uint32_t* previous, std::uint32_t n, std::uint32_t* rank, const void* const* fetch = nullptr,
                       std::uint32_t fetches = 0) {
        AUGUR_ASSERT(n <= room(), "lru_rank_index: more lines than room()");
        if (words_.size() > far_words) // larger than most second-level caches
            for (std::uint32_t i = 0; i < n; ++i) {
                const std::size_t w = previous[i] == never ? 0 : previous[i] / 64;
                __builtin_prefetch(&words_[w], 1);
                __builtin_prefetch(&in_32_[w & ~std::size_t{31}], 1);
            }
#if AUGUR_X86
        if (avx2_) return fetches > 0 ? move_avx2<true>(previous, n, rank, fetch, fetches) : move_avx2<false>(previous, n, rank, nullptr, 0);
#endif
        if (fetches > 0) move<true>(previous, n, rank, fetch, fetches);
        else move<false>(previous, n, rank, nullptr, 0);
    }

    /// Replaces each time by the position of its line in the order of last accesses, the oldest at 64: the times that `restart` assigns.
    void order(std::uint32_t* times, std::size_t n, std::size_t lines) const noexcept {
#if AUGUR_X86
        if (avx2_) return order_avx2(times, n, lines);
#endif
        order_by_rank(times, n, lines);
    }

    /// The number of distinct lines accessed after `time`.
    [[nodiscard]] [[gnu::always_inline]] std::uint32_t rank(std::uint32_t time) const noexcept {
        if (time >= base_) {
            const std::uint32_t k = time - base_;
            return k < 64 ? ones_behind(older_, k) + ones(newer_) : ones_behind(newer_, k - 64);
        }
        const std::size_t w = time / 64;
        std::uint32_t n = ones_behind(words_[w], time % 64) + ones(older_) + ones(newer_) + in_32_[w] + in_1024_[w / 32];
        std::size_t g = w / 1024;
        for (unsigned l = 0; l < levels_; ++l, g /= 16) n += above_[l][g];
        return n;
    }

    /// Resets the index to `lines` lines at the times 64, 65, ..., with room for at least `uses` more accesses.
    void restart(std::size_t lines, std::size_t uses) {
        constexpr std::size_t most = std::size_t{1} << 31U;
        AUGUR_ASSERT(lines + uses < most - 256, "lru_rank_index: too many lines");
        const std::size_t times = (std::min)((std::max)({std::bit_ceil(8 * lines), std::bit_ceil(lines + uses + 256), std::size_t{65536}}), most);
        const auto clear = [](auto& v, std::size_t n) {
            if (v.size() != n) v = {};
            v.assign(n, 0);
        };
        clear(words_, times / 64);
        clear(in_32_, times / 64);
        clear(in_1024_, times / 2048);
        levels_ = 0;
        for (std::size_t n = times / 65536; n > 1; n /= 16) {
            n = (n + 15) / 16 * 16;
            clear(above_[levels_++], n);
        }
        limit_ = static_cast<std::uint32_t>(times - 64);
        const auto whole = static_cast<std::uint32_t>(lines / 64); // word 0 stays empty, so that every word has a predecessor
        base_ = whole * 64;
        fill_ = static_cast<std::uint32_t>(lines % 64);
        older_ = whole > 0 ? ~std::uint64_t{0} : 0;
        newer_ = (std::uint64_t{1} << fill_) - 1;
        for (std::uint32_t w = 1; w < whole; ++w) push(w, ~std::uint64_t{0});
    }

private:
    static constexpr std::size_t far_words = std::size_t{1} << 15U;
    static std::uint32_t ones(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(std::popcount(word)); }
    static std::uint32_t ones_behind(std::uint64_t word, std::uint32_t bit) noexcept { return ones(word >> 1U >> bit); }

    /// row[0 ... k) -= 1
    [[gnu::always_inline]] static void take_one(std::uint16_t* __restrict row, std::size_t k) noexcept {
        const std::uint16_t* const one = &prefixes.one[32 - k];
        for (std::size_t j = 0; j < 32; ++j) row[j] = static_cast<std::uint16_t>(row[j] - one[j]);
    }
    [[gnu::always_inline]] static void take_one(std::uint32_t* __restrict row, std::size_t k) noexcept {
        const std::uint32_t* const one = &prefixes.wide[16 - k];
        for (std::size_t j = 0; j < 16; ++j) row[j] -= one[j];
    }

    /// row[0 ... k) += n
    [[gnu::always_inline]] static void give(std::uint16_t* __restrict row, std::size_t k, std::uint32_t n) noexcept {
        const std::uint16_t* const one = &prefixes.one[32 - k];
        for (std::size_t j = 0; j < 32; ++j) row[j] = static_cast<std::uint16_t>(row[j] + (one[j] != 0 ? n : 0));
    }
    [[gnu::always_inline]] static void give(std::uint32_t* __restrict row, std::size_t k, std::uint32_t n) noexcept {
        const std::uint32_t* const one = &prefixes.wide[16 - k];
        for (std::size_t j = 0; j < 16; ++j) row[j] += one[j] != 0 ? n : 0;
    }

    /// Adds the completed word w to the bitmap.
    [[gnu::always_inline]] void push(std::uint32_t w, std::uint64_t word) noexcept {
        words_[w] = word;
        const std::uint32_t n = ones(word);
        give(&in_32_[w / 32 * 32], w % 32, n);
        give(&in_1024_[w / 1024 * 32], w / 32 % 32, n);
        std::size_t g = w / 1024;
        for (unsigned l = 0; l < levels_; ++l, g /= 16) give(&above_[l][g / 16 * 16], g % 16, n);
    }

    template <bool Fetch>
    [[gnu::always_inline]] void move(const std::uint32_t* previous, std::uint32_t n, std::uint32_t* rank, const void* const* fetch,
                                     std::uint32_t fetches) noexcept {
        std::uint64_t older = older_, newer = newer_;
        std::uint64_t bit = std::uint64_t{1} << fill_;
        const std::uint32_t base = base_;
        std::uint64_t* const words = words_.data();
        std::uint16_t* const in_32 = in_32_.data();
        std::uint16_t* const in_1024 = in_1024_.data();
        const unsigned levels = levels_;
        for (std::uint32_t i = 0; i < n; ++i, bit <<= 1U) {
            if constexpr (Fetch)
                if (i < fetches) __builtin_prefetch(fetch[i], 1);
            const std::uint32_t time = previous[i];
            const std::uint64_t mask = ~(std::uint64_t{1} << time % 64);
            if (time >= base) {
                if (time == never) {
                    rank[i] = never;
                } else if (time - base >= 64) {
                    rank[i] = ones_behind(newer, time % 64);
                    newer &= mask;
                } else {
                    rank[i] = ones_behind(older, time % 64) + ones(newer);
                    older &= mask;
                }
            } else {
                const std::size_t w = time / 64;
                const std::uint64_t word = words[w];
                words[w] = word & mask;
                std::uint32_t sum = ones_behind(word, time % 64) + ones(older) + ones(newer) + in_32[w] + in_1024[w / 32];
                take_one(in_32 + w / 32 * 32, w % 32);
                take_one(in_1024 + w / 1024 * 32, w / 32 % 32);
                std::size_t g = w / 1024;
                for (unsigned l = 0; l < levels; ++l, g /= 16) {
                    std::uint32_t* const row = above_[l].data();
                    sum += row[g];
                    take_one(row + g / 16 * 16, g % 16);
                }
                rank[i] = sum;
            }
            newer |= bit;
        }
        older_ = older;
        newer_ = newer;
        fill_ += n;
        if (fill_ < 64) return;
        push(base_ / 64, older_);
        base_ += 64;
        older_ = newer_;
        newer_ = 0;
        fill_ = 0;
    }
    [[gnu::always_inline]] void order_by_rank(std::uint32_t* times, std::size_t n, std::size_t lines) const noexcept {
        const auto newest = static_cast<std::uint32_t>(lines) + 63;
        for (std::size_t i = 0; i < n; ++i) times[i] = newest - rank(times[i]);
    }
#if AUGUR_X86
    __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))) void order_avx2(std::uint32_t* times, std::size_t n, std::size_t lines) const noexcept {
        order_by_rank(times, n, lines);
    }
    template <bool Fetch>
    __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))) void move_avx2(const std::uint32_t* previous, std::uint32_t n, std::uint32_t* rank,
                                                                         const void* const* fetch, std::uint32_t fetches) noexcept {
        move<Fetch>(previous, n, rank, fetch, fetches);
    }
#endif

    bool avx2_;
    unsigned levels_ = 0;
    std::uint32_t limit_ = 0;
    std::uint32_t base_ = 0;              ///< a multiple of 64; earlier times are in words_
    std::uint64_t older_ = 0, newer_ = 0; ///< the 64 times from base_, and the 64 after those
    std::uint32_t fill_ = 0;              ///< times of newer_ in use
    std::vector<std::uint64_t> words_;
    std::vector<std::uint16_t> in_32_, in_1024_;      ///< by word, by row of 32 words: set bits after it in its row
    std::array<std::vector<std::uint32_t>, 4> above_; ///< higher levels, rows of 16
};

} // namespace augur::inline v0::detail

#endif
