// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_DATASET_DETAIL_XXH64_HPP
#define AUGUR_DATASET_DETAIL_XXH64_HPP

/// @file
/// XXH64, the content hash of data set files.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace augur::inline v0::detail {

/// XXH64 (Collet; github.com/Cyan4973/xxHash, doc/xxhash_spec.md), seed 0, incremental. A change within one aligned 8-byte word always changes the
/// hash.
class xxh64 {
public:
    void add(const void* from, std::size_t size) {
        const auto* bytes = static_cast<const unsigned char*>(from);
        length_ += size;
        while (size > 0) {
            if (held_ == 0 && size >= stripe) {
                eat(bytes);
                bytes += stripe;
                size -= stripe;
                continue;
            }
            const std::size_t n = (std::min)(size, stripe - held_);
            std::memcpy(hold_.data() + held_, bytes, n);
            bytes += n;
            size -= n;
            if ((held_ += n) == stripe) {
                eat(hold_.data());
                held_ = 0;
            }
        }
    }
    [[nodiscard]] std::uint64_t value() const {
        std::uint64_t h = p5;
        if (length_ >= stripe) {
            h = std::rotl(lane_[0], 1) + std::rotl(lane_[1], 7) + std::rotl(lane_[2], 12) + std::rotl(lane_[3], 18);
            for (const std::uint64_t l : lane_) h = (h ^ round(0, l)) * p1 + p4;
        }
        h += length_;
        std::size_t i = 0;
        for (; i + 8 <= held_; i += 8) h = std::rotl(h ^ round(0, word<std::uint64_t>(hold_.data() + i)), 27) * p1 + p4;
        if (i + 4 <= held_) {
            h = std::rotl(h ^ (word<std::uint32_t>(hold_.data() + i) * p1), 23) * p2 + p3;
            i += 4;
        }
        for (; i < held_; ++i) h = std::rotl(h ^ (hold_[i] * p5), 11) * p1;
        h = (h ^ (h >> 33U)) * p2;
        h = (h ^ (h >> 29U)) * p3;
        return h ^ (h >> 32U);
    }

private:
    static constexpr std::uint64_t p1 = 0x9E3779B185EBCA87ULL, p2 = 0xC2B2AE3D27D4EB4FULL, p3 = 0x165667B19E3779F9ULL, p4 = 0x85EBCA77C2B2AE63ULL,
                                   p5 = 0x27D4EB2F165667C5ULL;
    static constexpr std::size_t stripe = 32;

    static std::uint64_t round(std::uint64_t lane, std::uint64_t input) { return std::rotl(lane + input * p2, 31) * p1; }
    template <class T>
    static std::uint64_t word(const unsigned char* from) {
        T w;
        std::memcpy(&w, from, sizeof w);
        return w;
    }
    void eat(const unsigned char* from) {
        for (std::size_t i = 0; i < 4; ++i) lane_[i] = round(lane_[i], word<std::uint64_t>(from + 8 * i));
    }

    std::array<std::uint64_t, 4> lane_{p1 + p2, p2, 0, ~p1 + 1};
    std::array<unsigned char, stripe> hold_{};
    std::size_t held_ = 0;
    std::uint64_t length_ = 0;
};

} // namespace augur::inline v0::detail

#endif
