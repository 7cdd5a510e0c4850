// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_LAST_ACCESS_TABLE_HPP
#define AUGUR_PROGRAM_DETAIL_LAST_ACCESS_TABLE_HPP

/// @file
/// Hash table from cache line to the time of its last access, used by `reuse_stream`.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/isa.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/program/detail/huge_pages.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0::detail {

/// Insert-only hash table with open addressing. A bucket is one cache line, so a look-up waits for one memory access; the caller can prefetch the
/// buckets of the next lines.
///
/// The hash is multiplicative: the bucket index is the upper part of a product. It spreads the lines of arrays more evenly than a random function
/// does, so nearly every line is in its home bucket, where it is found without a branch. For strides with many collisions the table is rebuilt with
/// another factor.
/// Memory     64 bytes for 2.4 to 3.6 lines; during growth the old table and the new one, which is 1.5 times as large, exist together
class last_access_table {
public:
    static constexpr std::uint32_t never = 0xFFFFFFFFU;
    static constexpr std::size_t batch = 64; ///< lines in one call of `exchange`

    explicit last_access_table(isa level) : avx2_(AUGUR_X86 != 0 && level != isa::generic), buckets_(64) {}

    [[nodiscard]] std::size_t size() const noexcept { return lines_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return buckets_.capacity() * sizeof(bucket); }

    /// Makes room for the next `batch` lines; may rebuild the table.
    void make_room() {
        if (far_ > 2 * fresh_ + 64) lay_out(buckets_.size());
        if ((lines_ + batch) * 100 > buckets_.size() * places * 72) lay_out(buckets_.size() + buckets_.size() / 2);
    }

    /// Sets previous[i] to the time of lines[i], or `never` for a new line, and its time to now + i. pre: n <= batch, and `make_room` was called
    void exchange(const std::uint64_t* lines, std::uint32_t n, std::uint32_t now, std::uint32_t* previous) {
#if AUGUR_X86
        if (avx2_) return exchange_avx2(lines, n, now, previous);
#endif
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint64_t line = lines[i];
            const std::size_t home = home_of(line);
            bucket& b = buckets_[home];
            unsigned at = static_cast<unsigned>(b.line[0] == line) | static_cast<unsigned>(b.line[1] == line) << 1U;
            at |= static_cast<unsigned>(b.line[2] == line) << 2U | static_cast<unsigned>(b.line[3] == line) << 3U;
            at |= static_cast<unsigned>(b.line[4] == line) << 4U;
            previous[i] = settle(b, at & b.used, line, home, now + i);
        }
    }

    /// Stores the addresses of the buckets of these lines, for prefetching. Returns their number: n, or 0 for a table that fits the second-level
    /// cache.
    std::uint32_t places_of(const std::uint64_t* lines, std::uint32_t n, const void** addresses) const noexcept {
        if (buckets_.size() < far_buckets) return 0;
        for (std::uint32_t i = 0; i < n; ++i) addresses[i] = &buckets_[home_of(lines[i])];
        return n;
    }

    /// Sets the time of one line and returns the previous time, or `never`.
    std::uint32_t exchange(std::uint64_t line, std::uint32_t time) { return exchange_beyond(line, home_of(line), time); }

    /// pre: `line` is in the table
    [[nodiscard]] std::uint32_t find(std::uint64_t line) const {
        for (std::size_t i = home_of(line);; i = next(i)) {
            const bucket& b = buckets_[i];
            for (unsigned j = 0; (b.used >> j & 1U) != 0; ++j)
                if (b.line[j] == line) return b.time[j];
            AUGUR_ASSERT(b.used == full, "last_access_table: find: unknown line");
        }
    }
    /// Prefetches the bucket of a line. Forced inline, because gcc 12 removes calls of a function that only prefetches.
    [[gnu::always_inline]] void prefetch(std::uint64_t line) const { __builtin_prefetch(&buckets_[home_of(line)], 1); }

    /// Calls f(times, n) for the times of each bucket.
    template <class F>
    void each_times(const F& f) {
        for (bucket& b : buckets_) f(b.time, static_cast<std::size_t>(std::countr_one(b.used)));
    }

private:
    static constexpr std::size_t places = 5;
    static constexpr std::size_t far_buckets = std::size_t{1} << 14U; ///< smaller tables fit the second-level cache and need no prefetching
    static constexpr std::uint32_t full = (1U << places) - 1;
    struct alignas(64) bucket {
        std::uint64_t line[places]{};
        std::uint32_t time[places]{};
        std::uint32_t used = 0; ///< one bit for each place in use, from the lowest bit
    };
    static_assert(sizeof(bucket) == 64);

    [[nodiscard]] std::size_t home_of(std::uint64_t line) const noexcept { return ((line * factor_ >> 32U) * buckets_.size()) >> 32U; }
    [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return i + 1 == buckets_.size() ? 0 : i + 1; }

    /// Sets the time of a line whose place is the lowest bit of `at`; 0: the line is not in its home bucket.
    std::uint32_t settle(bucket& b, unsigned at, std::uint64_t line, std::size_t home, std::uint32_t time) {
        if (at == 0) [[unlikely]]
            return exchange_beyond(line, home, time);
        return std::exchange(b.time[std::countr_zero(at)], time);
    }
    [[gnu::noinline]] std::uint32_t exchange_beyond(std::uint64_t line, std::size_t i, std::uint32_t time) {
        for (std::size_t distance = 0;; i = next(i), ++distance) {
            bucket& b = buckets_[i];
            unsigned j = 0;
            for (; (b.used >> j & 1U) != 0; ++j)
                if (b.line[j] == line) return std::exchange(b.time[j], time);
            if (j == places) continue;
            b.line[j] = line;
            b.time[j] = time;
            b.used |= 1U << j;
            ++lines_;
            ++fresh_;
            far_ += distance;
            return never;
        }
    }

    /// Rebuilds the table with `size` buckets; with the present size it also changes the factor. With the same factor the lines keep their order, so
    /// both tables are accessed sequentially.
    [[gnu::noinline]] void lay_out(std::size_t size) {
        AUGUR_ASSERT(size < (std::uint64_t{1} << 32U), "last_access_table: expected less than 2^32 buckets");
        if (size == buckets_.size()) factor_ = mix64(factor_) | 1U;
        std::vector<bucket, huge_page_allocator<bucket>> old_buckets(size);
        old_buckets.swap(buckets_);
        lines_ = fresh_ = far_ = 0;
        for (const bucket& b : old_buckets)
            for (unsigned j = 0; (b.used >> j & 1U) != 0; ++j) exchange(b.line[j], b.time[j]);
    }

#if AUGUR_X86
    __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))) void exchange_avx2(const std::uint64_t* lines, std::uint32_t n, std::uint32_t now,
                                                                             std::uint32_t* previous) {
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint64_t line = lines[i];
            const std::size_t home = home_of(line);
            bucket& b = buckets_[home];
            // The vector excludes the times: a load over a time that was just stored would wait, because the store cannot be forwarded.
            const __m256i four = _mm256_load_si256(reinterpret_cast<const __m256i*>(b.line));
            const __m256i same = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(static_cast<long long>(line)));
            const auto at = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) | static_cast<unsigned>(b.line[4] == line) << 4U;
            previous[i] = settle(b, at & b.used, line, home, now + i);
        }
    }
#endif

    bool avx2_;
    std::vector<bucket, huge_page_allocator<bucket>> buckets_;
    std::uint64_t factor_ = 0x9E3779B97F4A7C15ULL;
    std::size_t lines_ = 0;
    std::size_t fresh_ = 0; ///< lines inserted since the last rebuild
    std::size_t far_ = 0;   ///< sum of their distances from the home bucket, in buckets
};

} // namespace augur::inline v0::detail

#endif
