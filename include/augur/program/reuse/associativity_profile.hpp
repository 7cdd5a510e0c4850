// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_ASSOCIATIVITY_PROFILE_HPP
#define AUGUR_PROGRAM_REUSE_ASSOCIATIVITY_PROFILE_HPP

/// @file
/// Exact LRU hits of a set-associative cache with a given number of sets, for all associativities in one pass (all-associativity simulation: Hill,
/// Smith 1989).

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/isa.hpp>
#include <augur/program/detail/collapse_repeats.hpp>
#include <augur/program/reuse/profile.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {

/// Histogram of the LRU positions at which accesses find their line in its set; position 0 is the most recently used line. An LRU cache of `sets`
/// sets and `ways` ways hits the accesses at positions below `ways`.
///
/// Unlike reuse distances, the profile includes conflict misses: the lines of a matrix column with a power-of-two stride are in few sets, where they
/// evict one another and their fills wait for one another.
struct associativity_profile {
    std::int64_t line_bytes = 64;
    std::uint64_t sets = 1;
    std::uint64_t accesses = 0;
    std::vector<std::uint64_t> hits; ///< by LRU position; its size is the largest associativity of the profile
    std::uint64_t fills = 0;         ///< accesses of the first run whose line is at no position of the set
    std::uint64_t crowded = 0;       ///< of each `crowd` consecutive fills, those into the set with the most of them, summed

    static constexpr std::uint32_t crowd = 32; ///< about the number of fills in flight in a core

    /// Adds the counts of another profile.
    /// @note errors: shape_mismatch, when sets, positions or line sizes differ
    [[nodiscard]] result<void> merge(const associativity_profile& other) {
        if (other.line_bytes != line_bytes || other.sets != sets || other.hits.size() != hits.size())
            return error{errc::shape_mismatch, "associativity_profile: " + shape() + " and " + other.shape() + " do not go into one profile"};
        accesses += other.accesses;
        fills += other.fills;
        crowded += other.crowded;
        for (std::size_t i = 0; i < hits.size(); ++i) hits[i] += other.hits[i];
        return {};
    }
    /// The dimensions of the profile as text, for messages.
    [[nodiscard]] std::string shape() const {
        return std::to_string(sets) + " sets of " + std::to_string(hits.size()) + " places, lines of " + std::to_string(line_bytes) + " bytes";
    }
    friend bool operator==(const associativity_profile&, const associativity_profile&) = default;
};

/// Computes an associativity profile of a stream of accesses. The set of a line is the line number modulo the number of sets.
///
/// Cost       2 to 8 ns for each access with AVX-512 (docs/program.md), O(depth) without
/// Memory     8 bytes for each position of each set; positions are rounded up to 8, 16 or 32
/// Threads    one thread per stream; streams of several set counts may read one trace at the same time
class associativity_stream {
public:
    static constexpr std::size_t deepest = 32;

    /// @param sets   number of sets, 1 to 2^26
    /// @param depth  number of LRU positions, 1 to 32
    /// @note errors: invalid_argument, sets or depth out of range; unsupported, the line size
    [[nodiscard]] static result<associativity_stream> create(std::uint64_t sets, std::size_t depth, std::int64_t line_bytes = 64,
                                                             isa level = best_isa()) {
        if (sets < 1 || sets > std::uint64_t{1} << 26U)
            return error{errc::invalid_argument, "associativity_stream: expected 1 to 2^26 sets, got " + std::to_string(sets)};
        if (depth < 1 || depth > deepest)
            return error{errc::invalid_argument,
                         "associativity_stream: expected a depth of 1 to " + std::to_string(deepest) + ", got " + std::to_string(depth)};
        if (auto known = check_line_bytes(line_bytes); !known) return known.error();
        return associativity_stream(sets, depth, line_bytes, level);
    }

    void feed(std::span<const std::uint64_t> lines) {
        accesses_ += lines.size();
        std::array<std::uint64_t, detail::repeats_block> kept;
        std::array<std::uint32_t, detail::repeats_block> sets;
        for (; !lines.empty(); lines = lines.subspan((std::min)(kept.size(), lines.size()))) {
            const auto part = lines.first((std::min)(kept.size(), lines.size()));
            const auto rest = detail::collapse_repeats(part, kept);
            found_[0] += part.size() - rest.size();
            for (std::size_t i = 0; i < rest.size(); ++i) sets[i] = static_cast<std::uint32_t>(power_ ? rest[i] & (sets_ - 1) : rest[i] % sets_);
#if AUGUR_X86
            if (avx512_) {
                if (width_ == 8) look_up_avx512<1>(rest, sets.data());
                else if (width_ == 16) look_up_avx512<2>(rest, sets.data());
                else look_up_avx512<4>(rest, sets.data());
                continue;
            }
#endif
            look_up(rest, sets.data());
        }
    }

    /// The same, and adds the counts of these accesses to `sum`.   pre: `sum` has the dimensions of this stream, as `profile()` returns it
    void feed(std::span<const std::uint64_t> lines, associativity_profile& sum) {
        const auto previous = found_;
        const auto crowded = crowded_;
        feed(lines);
        sum.accesses += lines.size();
        sum.crowded += crowded_ - crowded;
        for (std::size_t i = 0; i < depth_; ++i) sum.hits[i] += found_[i] - previous[i];
        for (std::size_t i = depth_; i < found_.size(); ++i) sum.fills += found_[i] - previous[i];
    }

    [[nodiscard]] associativity_profile profile() const {
        const auto end = found_.begin() + static_cast<std::ptrdiff_t>(depth_);
        return {line_bytes_, sets_, accesses_, std::vector<std::uint64_t>(found_.begin(), end), std::accumulate(end, found_.end(), std::uint64_t{0}),
                crowded_};
    }

private:
    associativity_stream(std::uint64_t sets, std::size_t depth, std::int64_t line_bytes, isa level)
        : line_bytes_(line_bytes), sets_(sets), depth_(depth), width_(depth <= 8    ? 8
                                                                      : depth <= 16 ? 16
                                                                                    : 32),
          power_(std::has_single_bit(sets)), avx512_(AUGUR_X86 != 0 && level == isa::avx512 && sets > 1), used_(sets > 1 ? depth : 0),
          rows_(sets * width_ / 8), in_crowd_(sets) {
        for (std::uint64_t s = 0; s < sets; ++s) std::fill_n(row(s), width_, (s + 1) % sets); // marks a position as empty with a line of another set
    }

    struct alignas(64) eight {
        std::uint64_t line[8];
    };

    [[nodiscard]] std::uint64_t* row(std::uint64_t set) noexcept { return rows_[set * (width_ / 8)].line; }
    /// Appends a set to the sets of the latest fills when `fill` is true. The entry is written in any case, which avoids an unpredictable branch.
    [[gnu::always_inline]] std::uint32_t note(std::uint32_t noted, std::uint32_t set, bool fill) noexcept {
        crowd_[noted] = set;
        noted += fill ? 1U : 0U;
        if (noted < associativity_profile::crowd) return noted;
        end_crowd();
        return 0;
    }
    void end_crowd() noexcept {
        std::uint8_t most = 0;
        for (const auto set : crowd_) most = (std::max)(most, ++in_crowd_[set]);
        for (const auto set : crowd_) in_crowd_[set] = 0;
        crowded_ += most;
    }

    void look_up(std::span<const std::uint64_t> lines, const std::uint32_t* sets) noexcept {
        for (const std::uint64_t line : lines) {
            const auto set = *sets++;
            std::uint64_t* const places = row(set);
            std::uint64_t moved = line;
            std::size_t at = 0;
            for (; at < used_; ++at) {
                std::swap(places[at], moved);
                if (moved == line) break;
            }
            noted_ = note(noted_, set, at == used_);
            if (at < used_) {
                ++found_[at];
            } else {
                ++found_[depth_];
                if (used_ < depth_) places[used_++] = moved;
            }
        }
    }

#if AUGUR_X86
    template <int V> // vectors for each set
    __attribute__((target("avx512f,bmi,bmi2,lzcnt,popcnt"))) void look_up_avx512(std::span<const std::uint64_t> lines,
                                                                                 const std::uint32_t* sets) noexcept {
        constexpr std::size_t ahead = 16;
        const bool far = rows_.size() * sizeof rows_[0] > std::size_t{1} << 20U; // larger than most second-level caches
        eight* const rows = rows_.data();
        std::uint32_t noted = noted_;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (far && i + ahead < lines.size()) __builtin_prefetch(&rows[std::size_t{sets[i + ahead]} * V], 1);
            std::uint64_t* const places = rows[std::size_t{sets[i]} * V].line;
            if (places[0] == lines[i]) {
                ++found_[0];
                continue;
            }
            const __m512i line = _mm512_set1_epi64(static_cast<long long>(lines[i]));
            __m512i v[V];
            std::uint64_t same = std::uint64_t{1} << 8 * V;
            for (int j = 0; j < V; ++j) {
                v[j] = _mm512_load_si512(places + 8 * j);
                same |= static_cast<std::uint64_t>(_mm512_cmpeq_epi64_mask(v[j], line)) << 8 * j;
            }
            const auto at = static_cast<std::size_t>(std::countr_zero(same));
            ++found_[at];
            noted = note(noted, sets[i], at >= depth_);
            const std::uint64_t moved = same ^ (same - 1); // positions up to this one shift by one
            for (int j = V - 1; j >= 0; --j) {
                const __m512i shifted = _mm512_maskz_alignr_epi64(0xFF, v[j], j == 0 ? line : v[j - 1], 7);
                _mm512_store_si512(places + 8 * j, _mm512_mask_mov_epi64(v[j], static_cast<__mmask8>(moved >> 8 * j), shifted));
            }
        }
        noted_ = noted;
    }
#endif

    std::int64_t line_bytes_;
    std::uint64_t sets_;
    std::size_t depth_, width_;
    bool power_, avx512_;
    std::size_t used_; ///< positions in use: with one set they fill up one by one, as no line can mark an empty position; else all
    std::uint64_t accesses_ = 0;
    std::array<std::uint64_t, deepest + 1> found_{}; ///< by position; beyond the depth: misses
    std::vector<eight> rows_;
    std::uint64_t crowded_ = 0;
    std::uint32_t noted_ = 0;
    std::array<std::uint32_t, associativity_profile::crowd> crowd_{}; ///< sets of the latest fills
    std::vector<std::uint8_t> in_crowd_;                              ///< by set; all 0 between two groups of fills
};

} // namespace augur::inline v0

#endif
