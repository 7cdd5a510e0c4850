// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_PROGRAM_REUSE_PROFILE_HPP
#define AUGUR_PROGRAM_REUSE_PROFILE_HPP

/// @file
/// The reuse profile: how often each reuse distance comes (Crop, section 3.2.2, figure 4).

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

/// The distance of a line's first access: no cache has it.
inline constexpr std::uint32_t cold_access = 0xFFFFFFFFU;

/// The line sizes, in bytes, that memory profiles are gathered for. Any other is refused.
/// @note errors: unsupported, naming both.
[[nodiscard]] inline result<void> check_line_bytes(std::int64_t bytes) {
    if (bytes == 64 || bytes == 128) return {};
    return error{errc::unsupported, "cache lines of " + std::to_string(bytes) + " bytes: memory profiles are for lines of 64 or 128 bytes"};
}

/// A histogram of reuse distances: the numbers of other lines used between two accesses to a line. Exact below 1024, from there on 16 bins an octave.
///
/// A value. Merging is commutative and associative, so the parts of a trace may be counted anywhere.
class reuse_profile {
public:
    static constexpr std::size_t exact = 1024; ///< distances with a bin of their own
    static constexpr std::size_t bins = exact + 16 * (64 - 10);

    /// pre: check_line_bytes(line_bytes)
    explicit reuse_profile(std::int64_t line_bytes = 64) : line_bytes_(line_bytes), counts_(bins) {
        AUGUR_ASSERT(check_line_bytes(line_bytes), "reuse_profile: lines of 64 or 128 bytes");
    }

    /// The bin of a distance, and the distances of a bin: low(b), low(b) + 1, ..., low(b) + width(b) - 1.
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
    /// As reuse_stream gives them, `cold_access` among them.
    void add(std::span<const std::uint32_t> distances) noexcept {
        // programs have few small distances, again and again: adding to one count waits for the sum before, so there are four of each
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
    /// Takes `distances.size()` cold accesses away and adds what they turned out to be. pre: as many are there
    void replace_cold(std::span<const std::uint32_t> distances) noexcept {
        AUGUR_ASSERT(cold_ >= distances.size(), "reuse_profile: as many cold accesses");
        cold_ -= distances.size();
        add(distances);
    }

    /// @note errors: shape_mismatch, when the lines of the two have different sizes.
    [[nodiscard]] result<void> merge(const reuse_profile& other) {
        if (other.line_bytes_ != line_bytes_)
            return error{errc::shape_mismatch, "reuse_profile: lines of " + std::to_string(line_bytes_) + " bytes and lines of " +
                                                   std::to_string(other.line_bytes_) + " bytes do not go into one profile"};
        for (std::size_t b = 0; b < bins; ++b) counts_[b] += other.counts_[b];
        cold_ += other.cold_;
        return {};
    }

    [[nodiscard]] std::int64_t line_bytes() const noexcept { return line_bytes_; }
    /// First accesses: as many as lines.
    [[nodiscard]] std::uint64_t cold() const noexcept { return cold_; }
    [[nodiscard]] std::uint64_t count(std::size_t bin) const noexcept { return counts_[bin]; }
    /// All accesses, the cold ones with them.
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
