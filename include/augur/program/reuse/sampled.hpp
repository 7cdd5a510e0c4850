// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_SAMPLED_HPP
#define AUGUR_PROGRAM_REUSE_SAMPLED_HPP

/// @file
/// Approximate reuse profiles by spatial sampling of cache lines (SHARDS): much faster than the exact stream.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/isa.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/program/reuse/profile.hpp>
#include <augur/program/reuse/stream.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {

/// SHARDS (Waldspurger, Park, Garthwaite, Ahmad 2015): follows all accesses to a sample of the lines, chosen by a hash of the line. A distance d in
/// the sample counts as d / rate, and an access as 1 / rate accesses; the count at distance 0 is adjusted to the true number of accesses
/// (SHARDS-adj).
///
/// Tensor programs touch few lines, so sampling suits outer caches: at a rate of 0.01 the hit rate of a first level is off by 0.01 to 0.05, of a
/// second level by 0.006, of a third level by 0.001 (docs/program.md). The exact stream is fast enough for most programs.
/// Cost       0.5 ns for each access of a convolution at a rate of 0.01 (Zen 5, docs/program.md)
/// Memory     that of a `reuse_stream` of the sampled lines
/// Threads    one thread per stream
class sampled_reuse_stream {
public:
    /// @param rate  share of the lines that is sampled
    /// @param seed  seed of the hash that chooses the lines
    /// @note errors: invalid_argument, a rate outside (0, 1]; unsupported, the line size
    [[nodiscard]] static result<sampled_reuse_stream> create(double rate, std::uint64_t seed = 0, std::int64_t line_bytes = 64,
                                                             isa level = best_isa()) {
        if (!(rate > 0 && rate <= 1))
            return error{errc::invalid_argument, "sampled_reuse_stream: expected a rate above 0 and at most 1, got " + std::to_string(rate)};
        if (auto known = check_line_bytes(line_bytes); !known) return known.error();
        return sampled_reuse_stream(rate, seed, line_bytes, level);
    }

    void feed(std::span<const std::uint64_t> lines) {
        std::array<std::uint64_t, block + 8> kept;
        accesses_ += lines.size();
        for (; !lines.empty(); lines = lines.subspan((std::min)(block, lines.size()))) {
            const std::size_t n = choose(lines.first((std::min)(block, lines.size())), kept);
            stream_.feed({kept.data(), n}, sample_);
            sampled_ += n;
        }
    }

    /// The estimated profile of all accesses; `total()` is the number of accesses fed.
    [[nodiscard]] reuse_profile profile() const {
        const double scale = 1 / rate_;
        const auto times = [scale](std::uint64_t n) { return static_cast<std::uint64_t>(std::llround(static_cast<double>(n) * scale)); };
        reuse_profile out(sample_.line_bytes());
        std::uint64_t left = accesses_;
        const auto take = [&left](std::uint64_t n) { return n = (std::min)(n, left), left -= n, n; };
        out.add_cold(take(times(sample_.cold())));
        for (std::size_t b = reuse_profile::bins; b-- > 1;) { // large distances first, so that distance 0 takes the error of the total
            if (sample_.count(b) == 0) continue;
            const double middle = static_cast<double>(reuse_profile::low(b)) + static_cast<double>(reuse_profile::width(b) - 1) / 2;
            out.add(static_cast<std::uint64_t>(std::llround((std::min)(middle * scale, 0x1p62))), take(times(sample_.count(b))));
        }
        out.add(0, left);
        return out;
    }

    /// Number of sampled accesses.
    [[nodiscard]] std::uint64_t sampled() const noexcept { return sampled_; }

private:
    static constexpr std::size_t block = 1024;

    sampled_reuse_stream(double rate, std::uint64_t seed, std::int64_t line_bytes, isa level)
        : rate_(rate), last_(rate < 1 ? static_cast<std::uint64_t>((std::max)(rate * 0x1p64, 1.0)) - 1 : ~std::uint64_t{0}), seed_(mix64(seed)),
          stream_(level), sample_(line_bytes) {}

    /// Copies the sampled lines to `kept` and returns their number.
    std::size_t choose(std::span<const std::uint64_t> lines, std::array<std::uint64_t, block + 8>& kept) const noexcept {
        std::size_t n = 0, i = 0;
#if AUGUR_X86
        if (stream_.level() == isa::avx512) n = choose_avx512(lines.data(), i = lines.size() & ~std::size_t{7}, kept.data());
#endif
        for (; i < lines.size(); ++i) {
            kept[n] = lines[i];
            n += mix64(lines[i] ^ seed_) <= last_ ? 1 : 0;
        }
        return n;
    }
#if AUGUR_X86
    __attribute__((target("avx512f,avx512dq,popcnt"))) std::size_t choose_avx512(const std::uint64_t* lines, std::size_t count,
                                                                                 std::uint64_t* kept) const noexcept {
        const __m512i seed = _mm512_set1_epi64(static_cast<long long>(seed_)), last = _mm512_set1_epi64(static_cast<long long>(last_));
        const __m512i add = _mm512_set1_epi64(static_cast<long long>(0x9E3779B97F4A7C15ULL)); // the constants of mix64
        const __m512i first = _mm512_set1_epi64(static_cast<long long>(0xBF58476D1CE4E5B9ULL));
        const __m512i second = _mm512_set1_epi64(static_cast<long long>(0x94D049BB133111EBULL));
        std::size_t n = 0;
        for (std::size_t i = 0; i < count; i += 8) {
            const __m512i line = _mm512_loadu_si512(lines + i);
            __m512i x = _mm512_add_epi64(_mm512_xor_si512(line, seed), add);
            x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_maskz_srli_epi64(0xFF, x, 30)), first); // plain shifts warn in gcc 12
            x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_maskz_srli_epi64(0xFF, x, 27)), second);
            x = _mm512_xor_si512(x, _mm512_maskz_srli_epi64(0xFF, x, 31));
            const __mmask8 chosen = _mm512_cmple_epu64_mask(x, last);
            _mm512_storeu_si512(kept + n, _mm512_maskz_compress_epi64(chosen, line));
            n += static_cast<std::size_t>(std::popcount(chosen));
        }
        return n;
    }
#endif

    double rate_;
    std::uint64_t last_; ///< lines with a hash up to this value are sampled
    std::uint64_t seed_;
    std::uint64_t accesses_ = 0, sampled_ = 0;
    reuse_stream stream_;
    reuse_profile sample_;
};

} // namespace augur::inline v0

#endif
