// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_IO_DETAIL_TEXT_CURSOR_HPP
#define AUGUR_IO_DETAIL_TEXT_CURSOR_HPP

/// @file
/// Lexer of the record lines that TVM writes: characters, one-letter keys and usual numbers. A text that it does not read goes to json_reader.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <augur/core/number.hpp>
#include <augur/io/detail/text_cache.hpp>

namespace augur::inline v0::detail {

/// Value of eight ASCII digits; 100'000'000 if a byte is not a digit.
inline std::uint64_t eight_digits(std::uint64_t text) noexcept {
    constexpr std::uint64_t high = 0xF0F0F0F0F0F0F0F0ULL;
    if ((text & high) != 0x3030303030303030ULL || ((text + 0x0606060606060606ULL) & high) != 0x3030303030303030ULL) return 100'000'000;
    text = (text & 0x0F0F0F0F0F0F0F0FULL) * 2561U >> 8U; // pairs: 10 a + b
    text = (text & 0x00FF00FF00FF00FFULL) * 6553601U >> 16U;
    return (text & 0x0000FFFF0000FFFFULL) * 42949672960001ULL >> 32U;
}

/// Cursor over the text of a line. The byte after the line must not be part of a value; usually it is the newline.
struct text_cursor {
    const char* at;

    bool eat(char c) noexcept {
        while (*at == ' ') ++at;
        if (*at != c) return false;
        ++at;
        return true;
    }
    bool eat_name(char c) noexcept { // a key of one letter
        if (!eat('"') || at[0] != c || at[1] != '"') return false;
        at += 2;
        return eat(':');
    }
    /// Reads an integer of at most 18 digits.
    bool integer(std::int64_t& out) noexcept {
        while (*at == ' ') ++at;
        const char* p = at;
        const bool negative = *p == '-';
        if (negative) ++p;
        const char* const first = p;
        std::int64_t n = 0;
        for (; is_digit(*p) && p - first < 18; ++p) n = n * 10 + (*p - '0');
        if (p == first || is_digit(*p) || (*first == '0' && p - first > 1) || *p == '.' || *p == 'e' || *p == 'E') return false;
        out = negative ? -n : n;
        at = p;
        return true;
    }
    /// Reads a number if one rounded operation gives its exact value (`exact_decimal`, as in json_reader).
    bool real(double& out) noexcept {
        number_text n;
        if (!scan(n) || !exact(n, out)) return false;
        at = n.end;
        return true;
    }
    /// Reads any number that is a finite double, with the value that json_reader gives.
    bool any_real(double& out) noexcept {
        number_text n;
        if (!scan(n)) return false;
        if (!exact(n, out)) {
            const auto value = parse_double({n.begin, static_cast<std::size_t>(n.end - n.begin)});
            if (!value || !(std::abs(*value) <= (std::numeric_limits<double>::max)())) return false;
            out = *value;
        }
        at = n.end;
        return true;
    }

private:
    /// Text of a JSON number; its value is mantissa * 10^scale if it has at most 19 digits.
    struct number_text {
        const char *begin, *end;
        std::uint64_t mantissa;
        std::int64_t scale, digits;
    };
    bool scan(number_text& out) const noexcept {
        const char* p = at;
        while (*p == ' ') ++p;
        out.begin = p;
        if (*p == '-') ++p;
        const char* const first = p;
        std::uint64_t mantissa = 0;
        std::int64_t scale = 0;
        for (; is_digit(*p); ++p) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
        std::int64_t digits = p - first;
        if (digits == 0 || (*first == '0' && digits > 1)) return false;
        if (*p == '.') {
            const char* const point = ++p;
            if (const auto eight = eight_digits(eight_bytes(p)); eight < 100'000'000) {
                mantissa = mantissa * 100'000'000 + eight;
                p += 8;
            }
            for (; is_digit(*p); ++p) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
            scale = point - p;
            if (scale == 0) return false;
            digits -= scale;
        }
        if (*p == 'e' || *p == 'E') {
            ++p;
            const bool down = *p == '-';
            if (*p == '-' || *p == '+') ++p;
            if (!is_digit(*p)) return false;
            std::int64_t e = 0;
            for (; is_digit(*p); ++p)
                if (e < 1000) e = e * 10 + (*p - '0');
            scale += down ? -e : e;
        }
        out.end = p;
        out.mantissa = mantissa;
        out.scale = scale;
        out.digits = digits;
        return true;
    }
    static bool exact(const number_text& n, double& out) noexcept {
        if (n.digits > 19 || !exact_decimal(n.mantissa, n.scale, out)) return false;
        if (*n.begin == '-') out = -out;
        return true;
    }
};

} // namespace augur::inline v0::detail

#endif
