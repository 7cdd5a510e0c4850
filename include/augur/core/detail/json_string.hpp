// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_DETAIL_JSON_STRING_HPP
#define AUGUR_CORE_DETAIL_JSON_STRING_HPP

/// @file
/// Lexer of JSON strings: byte classes, UTF-8 validation and encoding, escapes.

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include <augur/core/detail/json_fault.hpp>
#include <augur/core/error.hpp>

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

/// Reads four hexadecimal digits.
inline bool hex4(const char*& p, const char* const end, std::uint32_t& code) noexcept {
    if (end - p < 4) return false;
    const auto [at, failure] = std::from_chars(p, p + 4, code, 16);
    if (failure != std::errc{} || at != p + 4) return false;
    p = at;
    return true;
}

/// Appends the character of the escape sequence at `p` to `scratch`. False: `fault` says why.
inline bool decode_escape(const char*& p, const char* const end, std::string& scratch, json_fault& fault) {
    const char* const backslash = p++;
    switch (p == end ? '\0' : *p++) {
    case '"': scratch += '"'; return true;
    case '\\': scratch += '\\'; return true;
    case '/': scratch += '/'; return true;
    case 'b': scratch += '\b'; return true;
    case 'f': scratch += '\f'; return true;
    case 'n': scratch += '\n'; return true;
    case 'r': scratch += '\r'; return true;
    case 't': scratch += '\t'; return true;
    case 'u': break;
    default: return fault.set(backslash, errc::parse, "an unknown escape inside a string"), false;
    }
    std::uint32_t code = 0;
    if (!hex4(p, end, code)) return fault.set(backslash, errc::parse, "\\u must be followed by four hexadecimal digits"), false;
    if (code >= 0xD800 && code < 0xE000) {
        std::uint32_t low = 0;
        if (code >= 0xDC00 || end - p < 2 || p[0] != '\\' || p[1] != 'u' || !hex4(p += 2, end, low) || low < 0xDC00 || low >= 0xE000)
            return fault.set(backslash, errc::parse, "an unpaired surrogate inside a string"), false;
        code = 0x10000U + ((code - 0xD800U) << 10U) + (low - 0xDC00U);
    }
    append_utf8(scratch, code);
    return true;
}

/// Decodes the string that begins at `start`, after its opening quote. `out` is a view of the text, or of `scratch` if the string has escapes.
/// Returns the position after the closing quote; nullptr: `fault` says why, without a reason if the string is longer than `limit` bytes.
inline const char* decode_string(const char* const start, const char* const end, std::size_t limit, std::string_view& out, std::string& scratch,
                                 json_fault& fault) {
    const char* p = start;
    const char* from = start; // begin of the characters that are not yet copied to scratch
    scratch.clear();
    for (;;) {
        while (end - p >= 8 && eight_plain(p)) p += 8;
        while (p != end && string_bytes[static_cast<unsigned char>(*p)] == string_byte::plain) ++p;
        if (p == end) return fault.set(p, errc::parse, "a string without a closing quote");
        switch (string_bytes[static_cast<unsigned char>(*p)]) {
        case string_byte::plain: break;
        case string_byte::quote: {
            const std::string_view last(from, static_cast<std::size_t>(p - from));
            if (scratch.size() + last.size() > limit) return nullptr;
            if (from == start) {
                out = last;
            } else {
                scratch.append(last);
                out = scratch;
            }
            return p + 1;
        }
        case string_byte::control: return fault.set(p, errc::parse, "a control character inside a string must be escaped");
        case string_byte::multibyte: {
            const std::size_t n = utf8_length(p, end);
            if (n == 0) return fault.set(p, errc::parse, "a string that is not UTF-8");
            p += n;
            break;
        }
        case string_byte::escape:
            scratch.append(from, p);
            if (scratch.size() > limit) return nullptr;
            if (!decode_escape(p, end, scratch, fault)) return nullptr;
            from = p;
            break;
        }
    }
}

} // namespace augur::inline v0::detail

#endif
