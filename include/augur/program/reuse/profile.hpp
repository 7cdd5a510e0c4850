// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_PROFILE_HPP
#define AUGUR_PROGRAM_REUSE_PROFILE_HPP

/// @file
/// The reuse profile: histogram of LRU reuse distances (Crop, section 3.2.2, figure 4).

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>

namespace augur::inline v0 {

/// The distance of a cold access, the first access to a line: a miss in every cache.
inline constexpr std::uint32_t cold_access = 0xFFFFFFFFU;

/// Checks a line size: memory profiles support lines of 64 and 128 bytes.
/// @note errors: unsupported, any other size
[[nodiscard]] inline result<void> check_line_bytes(std::int64_t bytes) {
    if (bytes == 64 || bytes == 128) return {};
    return error{errc::unsupported, "cache lines of " + std::to_string(bytes) + " bytes: memory profiles are for lines of 64 or 128 bytes"};
}

/// Histogram of reuse distances. The reuse distance is the number of distinct other lines between two accesses to a line. One bin for each distance
/// below 1024, then 16 bins for each octave.
///
/// `merge` is commutative and associative, so parts of a trace may be counted in any order.
class reuse_profile {
public:
    static constexpr std::size_t exact = 1024; ///< distances below this one have a bin each
    static constexpr std::size_t bins = exact + 16 * (64 - 10);

    /// pre: check_line_bytes(line_bytes)
    explicit reuse_profile(std::int64_t line_bytes = 64) : line_bytes_(line_bytes), counts_(bins) {
        AUGUR_ASSERT(check_line_bytes(line_bytes), "reuse_profile: lines of 64 or 128 bytes");
    }

    /// The bin of a distance. Bin b has the distances low(b), low(b) + 1, ..., low(b) + width(b) - 1.
    static constexpr std::size_t bin_of(std::uint64_t distance) noexcept {
        if (distance < exact) return static_cast<std::size_t>(distance);
        const auto octave = static_cast<unsigned>(std::bit_width(distance)) - 1;
        return exact + 16 * (octave - 10) + static_cast<std::size_t>(distance >> (octave - 4) & 15U);
    }
    static constexpr std::uint64_t low(std::size_t bin) noexcept {
        if (bin < exact) return bin;
        return (16 + (bin - exact) % 16) << ((bin - exact) / 16 + 6);
    }
    static constexpr std::uint64_t width(std::size_t bin) noexcept { return bin < exact ? 1 : std::uint64_t{1} << ((bin - exact) / 16 + 6); }

    void add(std::uint64_t distance, std::uint64_t times = 1) noexcept { counts_[bin_of(distance)] += times; }
    void add_cold(std::uint64_t times) noexcept { cold_ += times; }
    /// Adds distances as `reuse_stream::distances` returns them, including `cold_access`.
    void add(std::span<const std::uint32_t> distances) noexcept {
        // Small distances are frequent, and an addition waits for the previous one to the same count: so each small count has four copies.
        constexpr std::size_t small = 64;
        std::array<std::uint32_t, 4 * small> near{};
        std::uint64_t* const counts = counts_.data();
        std::uint64_t cold = 0;
        while (!distances.empty()) {
            const auto part = distances.first((std::min)(distances.size(), std::size_t{1} << 30U));
            for (std::size_t i = 0; i < part.size(); ++i) {
                const std::uint32_t d = part[i];
                if (d < small) ++near[i % 4 * small + d];
                else if (d == cold_access) ++cold;
                else ++counts[bin_of(d)];
            }
            for (std::size_t i = 0; i < near.size(); ++i) counts[i % small] += std::exchange(near[i], 0U);
            distances = distances.subspan(part.size());
        }
        cold_ += cold;
    }
    /// Replaces `distances.size()` cold accesses by accesses of these distances. pre: cold() >= distances.size()
    void replace_cold(std::span<const std::uint32_t> distances) noexcept {
        AUGUR_ASSERT(cold_ >= distances.size(), "reuse_profile: more distances than cold accesses");
        cold_ -= distances.size();
        add(distances);
    }

    /// Adds the counts of another profile.
    /// @note errors: shape_mismatch, when the line sizes differ
    [[nodiscard]] result<void> merge(const reuse_profile& other) {
        if (other.line_bytes_ != line_bytes_)
            return error{errc::shape_mismatch, "reuse_profile: lines of " + std::to_string(line_bytes_) + " bytes and lines of " +
                                                   std::to_string(other.line_bytes_) + " bytes do not go into one profile"};
        for (std::size_t b = 0; b < bins; ++b) counts_[b] += other.counts_[b];
        cold_ += other.cold_;
        return {};
    }

    [[nodiscard]] std::int64_t line_bytes() const noexcept { return line_bytes_; }
    /// Cold accesses, which is the number of distinct lines.
    [[nodiscard]] std::uint64_t cold() const noexcept { return cold_; }
    [[nodiscard]] std::uint64_t count(std::size_t bin) const noexcept { return counts_[bin]; }
    /// All accesses, including the cold ones.
    [[nodiscard]] std::uint64_t total() const noexcept {
        std::uint64_t n = cold_;
        for (const auto c : counts_) n += c;
        return n;
    }
    friend bool operator==(const reuse_profile&, const reuse_profile&) = default;

private:
    std::int64_t line_bytes_;
    std::uint64_t cold_ = 0;
    std::vector<std::uint64_t> counts_;
};

} // namespace augur::inline v0

#endif
