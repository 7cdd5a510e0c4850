// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_DETAIL_JSON_STRING_HPP
#define AUGUR_CORE_DETAIL_JSON_STRING_HPP

/// @file
/// Helpers for JSON strings: byte classes, UTF-8 validation and UTF-8 encoding.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace augur::inline v0::detail {

/// The class of a byte inside a JSON string.
enum class string_byte : std::uint8_t { plain, quote, escape, control, multibyte };

constexpr std::array<string_byte, 256> string_byte_table() noexcept {
    std::array<string_byte, 256> table{};
    for (std::size_t c = 0; c < 256; ++c) table[c] = c < 0x20 ? string_byte::control : c >= 0x80 ? string_byte::multibyte : string_byte::plain;
    table['"'] = string_byte::quote;
    table['\\'] = string_byte::escape;
    return table;
}
inline constexpr std::array<string_byte, 256> string_bytes = string_byte_table();

/// The length in bytes of the UTF-8 character at `at`; 0 if it is invalid (RFC 3629: no overlong form, no surrogate, at most U+10FFFF).
inline std::size_t utf8_length(const char* at, const char* end) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
    const auto in_range = [](unsigned c, unsigned low, unsigned high) { return c >= low && c <= high; };
    const auto available = static_cast<std::size_t>(end - at);
    if (available == 0) return 0;
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (in_range(lead, 0xC2, 0xDF)) return available >= 2 && in_range(byte(1), 0x80, 0xBF) ? 2 : 0;
    if (in_range(lead, 0xE0, 0xEF)) {
        const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
        const unsigned high = lead == 0xED ? 0x9F : 0xBF;
        return available >= 3 && in_range(byte(1), low, high) && in_range(byte(2), 0x80, 0xBF) ? 3 : 0;
    }
    if (in_range(lead, 0xF0, 0xF4)) {
        const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
        const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
        return available >= 4 && in_range(byte(1), low, high) && in_range(byte(2), 0x80, 0xBF) && in_range(byte(3), 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

/// Appends the UTF-8 encoding of a code point.
inline void append_utf8(std::string& out, std::uint32_t code) {
    const auto put = [&](std::uint32_t b) { out += static_cast<char>(static_cast<unsigned char>(b)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0U | (code >> 6U));
        put(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        put(0xE0U | (code >> 12U));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    } else {
        put(0xF0U | (code >> 18U));
        put(0x80U | ((code >> 12U) & 0x3FU));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    }
}

/// True if the eight bytes at `at` are all `plain`. Uses the has-zero-byte bit trick, once for each other byte class.
inline bool eight_plain(const char* at) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    std::uint64_t x = 0;
    std::memcpy(&x, at, 8);
    const auto has_zero = [](std::uint64_t v) { return (v - ones) & ~v; };
    const std::uint64_t bad = x | ((x - ones * 0x20) & ~x) | has_zero(x ^ (ones * '"')) | has_zero(x ^ (ones * '\\'));
    return (bad & (ones * 0x80)) == 0;
}

} // namespace augur::inline v0::detail

#endif
