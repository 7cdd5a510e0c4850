// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_DETAIL_LAST_ACCESS_TABLE_HPP
#define AUGUR_PROGRAM_DETAIL_LAST_ACCESS_TABLE_HPP

/// @file
/// The time of the last access to each line: the hash table of reuse_stream.

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

/// Lines and times, nothing is ever taken out. Open addressing by buckets that are one cache line, so that a look-up waits for one line of memory;
/// the caller says which lines come next, and they are fetched meanwhile.
///
/// The bucket is the upper part of a product, which spreads the lines of arrays better than a random function would: nearly every line is in its own
/// bucket, where it is found without a branch. For some strides it is far worse, and then the table is laid out again with another factor.
/// Memory     64 bytes for 2.4 to 3.6 lines, and the half of that again while it grows
class last_access_table {
public:
    static constexpr std::uint32_t never = 0xFFFFFFFFU;
    static constexpr std::size_t batch = 64; ///< lines in one call of `exchange`

    explicit last_access_table(isa level) : avx2_(AUGUR_X86 != 0 && level != isa::generic), buckets_(64) {}

    [[nodiscard]] std::size_t size() const noexcept { return lines_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return buckets_.capacity() * sizeof(bucket); }

    /// Sees to it that the next `batch` lines have room.
    void make_room() {
        if (far_ > 2 * fresh_ + 64) lay_out(buckets_.size());
        if ((lines_ + batch) * 100 > buckets_.size() * places * 72) lay_out(buckets_.size() + buckets_.size() / 2);
    }

    /// before[i] = the time of lines[i], or `never`; its time becomes now + i. pre: n <= batch, and `make_room` was called
    void exchange(const std::uint64_t* lines, std::uint32_t n, std::uint32_t now, std::uint32_t* before) {
#if AUGUR_X86
        if (avx2_) return exchange_avx2(lines, n, now, before);
#endif
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint64_t line = lines[i];
            const std::size_t home = home_of(line);
            bucket& b = buckets_[home];
            unsigned at = static_cast<unsigned>(b.line[0] == line) | static_cast<unsigned>(b.line[1] == line) << 1U;
            at |= static_cast<unsigned>(b.line[2] == line) << 2U | static_cast<unsigned>(b.line[3] == line) << 3U;
            at |= static_cast<unsigned>(b.line[4] == line) << 4U;
            before[i] = settle(b, at & b.used, line, home, now + i);
        }
    }

    /// The places in memory that `exchange` will want for these lines, to be fetched meanwhile. Returns how many: none of a table that is near.
    std::uint32_t places_of(const std::uint64_t* lines, std::uint32_t n, const void** where) const noexcept {
        if (buckets_.size() < far_buckets) return 0;
        for (std::uint32_t i = 0; i < n; ++i) where[i] = &buckets_[home_of(lines[i])];
        return n;
    }

    /// The same for one line, at any time.
    std::uint32_t exchange(std::uint64_t line, std::uint32_t time) { return exchange_beyond(line, home_of(line), time); }

    /// pre: `line` is in the table
    [[nodiscard]] std::uint32_t find(std::uint64_t line) const {
        for (std::size_t i = home_of(line);; i = next(i)) {
            const bucket& b = buckets_[i];
            for (unsigned j = 0; (b.used >> j & 1U) != 0; ++j)
                if (b.line[j] == line) return b.time[j];
            AUGUR_ASSERT(b.used == full, "line_times: a line that is not there");
        }
    }
    /// Inline by force: gcc 12 takes the call of a function that only fetches for one that does nothing.
    [[gnu::always_inline]] void prefetch(std::uint64_t line) const { __builtin_prefetch(&buckets_[home_of(line)], 1); }

    /// f(times, n) for all times, some at once.
    template <class F>
    void each_times(const F& f) {
        for (bucket& b : buckets_) f(b.time, static_cast<std::size_t>(std::countr_one(b.used)));
    }

private:
    static constexpr std::size_t places = 5;
    static constexpr std::size_t far_buckets = std::size_t{1} << 14U; ///< a table that the second-level cache has needs no fetching
    static constexpr std::uint32_t full = (1U << places) - 1;
    struct alignas(64) bucket {
        std::uint64_t line[places]{};
        std::uint32_t time[places]{};
        std::uint32_t used = 0; ///< a bit a place, filled from the first on
    };
    static_assert(sizeof(bucket) == 64);

    [[nodiscard]] std::size_t home_of(std::uint64_t line) const noexcept { return ((line * factor_ >> 32U) * buckets_.size()) >> 32U; }
    [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return i + 1 == buckets_.size() ? 0 : i + 1; }

    /// The line is at the lowest bit of `at`, or not in its own bucket.
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

    /// With the same factor the lines keep their order, so both tables are walked from front to back.
    [[gnu::noinline]] void lay_out(std::size_t size) {
        AUGUR_ASSERT(size < (std::uint64_t{1} << 32U), "line_times: 2^32 buckets");
        if (size == buckets_.size()) factor_ = mix64(factor_) | 1U;
        std::vector<bucket, huge_page_allocator<bucket>> before(size);
        before.swap(buckets_);
        lines_ = fresh_ = far_ = 0;
        for (const bucket& b : before)
            for (unsigned j = 0; (b.used >> j & 1U) != 0; ++j) exchange(b.line[j], b.time[j]);
    }

#if AUGUR_X86
    __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))) void exchange_avx2(const std::uint64_t* lines, std::uint32_t n, std::uint32_t now, std::uint32_t* before) {
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint64_t line = lines[i];
            const std::size_t home = home_of(line);
            bucket& b = buckets_[home];
            // the vector ends before the times: reading over one that was just written would wait for it to reach the cache
            const __m256i four = _mm256_load_si256(reinterpret_cast<const __m256i*>(b.line));
            const __m256i same = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(static_cast<long long>(line)));
            const auto at = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) | static_cast<unsigned>(b.line[4] == line) << 4U;
            before[i] = settle(b, at & b.used, line, home, now + i);
        }
    }
#endif

    bool avx2_;
    std::vector<bucket, huge_page_allocator<bucket>> buckets_;
    std::uint64_t factor_ = 0x9E3779B97F4A7C15ULL;
    std::size_t lines_ = 0;
    std::size_t fresh_ = 0; ///< lines since the table was laid out,
    std::size_t far_ = 0;   ///< and how many buckets from their own they are, together
};

} // namespace augur::inline v0::detail

#endif
