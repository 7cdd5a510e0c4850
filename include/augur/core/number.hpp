// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_NUMBER_HPP
#define AUGUR_CORE_NUMBER_HPP

/// @file
/// Exact, locale-independent conversion between numbers and text (std::from_chars and std::to_chars, with a fallback for libc++).

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// Parses `text` as a decimal integer (`-?[0-9]+`); nullopt if the whole text is no such integer or does not fit into 64 bits.
[[nodiscard]] inline std::optional<std::int64_t> parse_int(std::string_view text) noexcept {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || at != end) return std::nullopt;
    return value;
}

namespace detail {

/// The powers of ten that a double represents exactly.
inline constexpr std::array<double, 23> powers_of_ten{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Sets `out` to mantissa * 10^scale, correctly rounded, if mantissa and power are exact in a double, so that one operation rounds (Clinger 1990).
/// False: `out` is unchanged; use `parse_double`.
inline bool exact_decimal(std::uint64_t mantissa, std::int64_t scale, double& out) noexcept {
    if (mantissa > (std::uint64_t{1} << 53U) || scale < -22 || scale > 22) return false;
    const auto m = static_cast<double>(mantissa);
    const double power = powers_of_ten[static_cast<std::size_t>(scale < 0 ? -scale : scale)];
    out = scale < 0 ? m / power : m * power;
    return true;
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Calls strtod on a text without a decimal point, so that the locale has no effect: 1.25e-3 becomes 125e-5.
/// 768 significant digits determine every double; of the digits after them it only matters whether one is not zero.
inline std::optional<double> parse_double_by_strtod(std::string_view text) noexcept {
    constexpr std::size_t max_digits = 800;
    std::array<char, max_digits + 32> digits{};
    std::size_t n = 0;
    std::size_t i = 0;
    std::int64_t exponent = 0;
    bool has_digits = false;
    bool point = false;
    bool dropped = false;
    if (i < text.size() && text[i] == '-') digits[n++] = text[i++];
    const std::size_t first = n;
    for (; i < text.size(); ++i) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(text[i])) break;
        has_digits = true;
        if (point) --exponent;
        if (n == first && text[i] == '0') continue;
        if (n < max_digits) {
            digits[n++] = text[i];
        } else {
            ++exponent;
            dropped = dropped || text[i] != '0';
        }
    }
    if (!has_digits) return std::nullopt;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        const bool negative_exponent = i < text.size() && text[i] == '-';
        if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
        if (i == text.size()) return std::nullopt;
        std::int64_t e = 0;
        for (; i < text.size() && is_digit(text[i]); ++i)
            if (e < 100'000'000) e = e * 10 + (text[i] - '0');
        exponent += negative_exponent ? -e : e;
    }
    if (i != text.size()) return std::nullopt;
    if (n == first) digits[n++] = '0';
    if (dropped) {
        digits[n++] = '1';
        --exponent;
    }
    digits[n++] = 'e';
    const auto [at, failure] = std::to_chars(digits.data() + n, digits.data() + digits.size() - 1, exponent);
    if (failure != std::errc{}) return std::nullopt;
    *at = '\0';
    return std::strtod(digits.data(), nullptr);
}

} // namespace detail

/// Parses `text` as a decimal number, as in JSON, and rounds it to the nearest double; nullopt if the whole text is no such number.
/// A number too large for a double gives infinity, one too small gives zero.
[[nodiscard]] inline std::optional<double> parse_double(std::string_view text) noexcept {
    if (text.empty() || !(detail::is_digit(text.front()) || text.front() == '-' || text.front() == '.')) return std::nullopt; // no inf, nan
    if (text.size() > 1 && text.front() == '-' && !(detail::is_digit(text[1]) || text[1] == '.')) return std::nullopt;
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L // libc++ has no from_chars for floating point
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc{}) return at == end ? std::optional<double>(value) : std::nullopt;
#endif
    return detail::parse_double_by_strtod(text); // from_chars also reports subnormals as out of range
}

/// Appends the decimal digits of `value`.
template <std::integral I>
inline void append_number(std::string& out, I value) {
    std::array<char, 24> text;
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

/// Appends the shortest text that parses to the same double. pre: `value` is finite
inline void append_number(std::string& out, double value) {
    AUGUR_ASSERT(std::isfinite(value), "append_number: a finite number");
    std::array<char, 32> text;
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

/// Appends `value` exactly, as a hexadecimal floating-point literal of C (`%a` in the C locale). pre: `value` is finite
inline void append_number_hex(std::string& out, double value) {
    AUGUR_ASSERT(std::isfinite(value), "append_number_hex: a finite number");
    std::array<char, 32> text;
    out.append(std::signbit(value) ? "-0x" : "0x");
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), std::abs(value), std::chars_format::hex).ptr);
}

/// Appends `value` with six significant digits, as `%g` and a default C++ stream print it. pre: `value` is finite
inline void append_number_6(std::string& out, double value) {
    AUGUR_ASSERT(std::isfinite(value), "append_number_6: a finite number");
    std::array<char, 32> text;
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr);
}

} // namespace augur::inline v0

#endif
