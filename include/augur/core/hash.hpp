// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_HASH_HPP
#define AUGUR_CORE_HASH_HPP

/// @file
/// FNV-1a for keys and CRC-32 for checksums. Both are written to files, so their values never change.

#include <array>
#include <cstdint>
#include <string_view>

namespace augur::inline v0 {

/// 64-bit FNV-1a hash of `bytes`. To hash several parts, pass the hash of the earlier parts as `seed`.
constexpr std::uint64_t fnv1a64(std::string_view bytes, std::uint64_t seed = 0xCBF29CE484222325ULL) noexcept {
    for (const char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return seed;
}

namespace detail {
constexpr std::array<std::uint32_t, 256> crc32_table() noexcept {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t c = i;
        for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xEDB88320U ^ (c >> 1U) : c >> 1U;
        table[i] = c;
    }
    return table;
}
inline constexpr std::array<std::uint32_t, 256> crc32_bytes = crc32_table();
} // namespace detail

/// CRC-32 (IEEE 802.3, as in zlib). Detects every error burst of up to 32 bits. To continue a checksum, pass the checksum of the earlier bytes as
/// `seed`.
constexpr std::uint32_t crc32(std::string_view bytes, std::uint32_t seed = 0) noexcept {
    std::uint32_t c = seed ^ 0xFFFFFFFFU;
    for (const char b : bytes) c = detail::crc32_bytes[(c ^ static_cast<unsigned char>(b)) & 0xFFU] ^ (c >> 8U);
    return c ^ 0xFFFFFFFFU;
}

} // namespace augur::inline v0

#endif
