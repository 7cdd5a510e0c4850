// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_DETAIL_JSON_NUMBER_HPP
#define AUGUR_CORE_DETAIL_JSON_NUMBER_HPP

/// @file
/// Lexer of JSON numbers.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <augur/core/detail/json_fault.hpp>
#include <augur/core/error.hpp>
#include <augur/core/number.hpp>

namespace augur::inline v0 {

/// A number: an integer if it is written as one and fits into 64 bits, and always a double.
struct json_number {
    bool is_integer = false;
    std::int64_t integer = 0; ///< valid if is_integer
    double real = 0;          ///< always valid
};

namespace detail {

/// Scans the number at `text` into `out`. Returns its end; nullptr: `fault` says why, without a reason if no number begins at `text`.
inline const char* scan_number(const char* const text, const char* const end, json_number& out, json_fault& fault) noexcept {
    const char* p = text;
    const bool negative = *p == '-';
    if (negative) ++p;
    if (p == end || !is_digit(*p)) return nullptr;
    const char* const first = p;
    std::uint64_t mantissa = 0; // may overflow: more than 19 digits take the slow path below
    std::int64_t scale = 0;
    std::size_t digits = 0;
    const auto run = [&] {
        const char* const from = p;
        for (; p != end && is_digit(*p); ++p) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
        digits += static_cast<std::size_t>(p - from);
        return p - from;
    };
    if (run() > 1 && *first == '0') return fault.set(first, errc::parse, "a number must not begin with 0");
    bool integer = true;
    if (p != end && *p == '.') {
        integer = false;
        ++p;
        const auto fraction = run();
        if (fraction == 0) return fault.set(p, errc::parse, "expected a digit after the decimal point");
        scale = -static_cast<std::int64_t>(fraction);
    }
    if (p != end && (*p == 'e' || *p == 'E')) {
        integer = false;
        ++p;
        const bool negative_exponent = p != end && *p == '-';
        if (p != end && (*p == '-' || *p == '+')) ++p;
        if (p == end || !is_digit(*p)) return fault.set(p, errc::parse, "expected a digit in the exponent");
        std::int64_t e = 0;
        for (; p != end && is_digit(*p); ++p)
            if (e < 100'000) e = e * 10 + (*p - '0');
        scale += negative_exponent ? -e : e;
    }
    const std::string_view token(text, static_cast<std::size_t>(p - text));
    out.is_integer = false;
    if (integer) {
        if (const auto exact = parse_int(token)) {
            out.is_integer = true;
            out.integer = *exact;
        }
    }
    if (digits <= 19 && exact_decimal(mantissa, scale, out.real)) {
        if (negative) out.real = -out.real;
    } else {
        const auto real = parse_double(token);
        if (!real || !(*real <= (std::numeric_limits<double>::max)() && *real >= std::numeric_limits<double>::lowest()))
            return fault.set(text, errc::limit, "a number beyond the range of a double");
        out.real = *real;
    }
    return p;
}

} // namespace detail

} // namespace augur::inline v0

#endif
