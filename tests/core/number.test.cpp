// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/number.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

using namespace augur;

TEST_CASE("parse_int: the whole text, in range, or nothing") {
    CHECK(parse_int("0") == 0);
    CHECK(parse_int("-9223372036854775808") == (std::numeric_limits<std::int64_t>::min)());
    CHECK(parse_int("9223372036854775807") == (std::numeric_limits<std::int64_t>::max)());
    for (const char* text : {"", "-", "9223372036854775808", "-9223372036854775809", "1.0", " 1", "1 ", "0x1", "1e3"}) {
        CAPTURE(text);
        CHECK(!parse_int(text));
    }
}

TEST_CASE("append_number: what is written is read back, bit by bit") {
    auto rng = augur::random_engine(11);
    for (int i = 0; i < 100'000; ++i) {
        const auto value = std::bit_cast<double>(rng());
        if (!std::isfinite(value)) continue;
        std::string text;
        append_number(text, value);
        const auto again = parse_double(text);
        const auto slow = detail::parse_double_by_strtod(text);
        CAPTURE(text);
        REQUIRE(again);
        REQUIRE(slow);
        REQUIRE(std::bit_cast<std::uint64_t>(*again) == std::bit_cast<std::uint64_t>(value));
        REQUIRE(std::bit_cast<std::uint64_t>(*slow) == std::bit_cast<std::uint64_t>(value));
        std::string six;
        append_number_6(six, value);
        char expected[64];
        std::snprintf(expected, sizeof expected, "%g", value);
        REQUIRE(six == expected);
    }
}

TEST_CASE("parse_double: correctly rounded, whichever way it is read") {
    const auto both = [](const std::string& text) {
        const auto fast = parse_double(text);
        const auto slow = detail::parse_double_by_strtod(text);
        const double expected = std::strtod(text.c_str(), nullptr); // the tests run in the "C" locale
        CAPTURE(text);
        REQUIRE(fast);
        REQUIRE(slow);
        CHECK(std::bit_cast<std::uint64_t>(*fast) == std::bit_cast<std::uint64_t>(expected));
        CHECK(std::bit_cast<std::uint64_t>(*slow) == std::bit_cast<std::uint64_t>(expected));
    };
    for (const char* text : {"0", "-0", "0.0", "1e400", "-1e400", "1e-400", "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
                             "2.2250738585072011e-308", "1.7976931348623157e308", "1.7976931348623159e308", "9007199254740993", "0.1", "1e23",
                             "123456789012345678901234567890", "0.000000000000000000000000000000000000000000001"})
        both(text);
    both("9007199254740993." + std::string(2000, '0') + "1"); // a tie that only the last of many digits breaks
    both("9007199254740993." + std::string(2000, '0'));
    both("0." + std::string(400, '0') + "1e401");
    both(std::string(900, '7') + "e-880");
    for (const char* text : {"", "-", "inf", "nan", "-inf", "0x10", "1e", "1e+", "1 ", "1,5", ".", "-.", "--1", "1e5x"}) {
        CAPTURE(text);
        CHECK(!parse_double(text));
        CHECK(!detail::parse_double_by_strtod(text));
    }
}

TEST_CASE("append_number_hex: what %a prints in the C locale") {
    auto rng = augur::random_engine(12);
    const auto same = [](double value) {
        std::string text;
        append_number_hex(text, value);
        char printed[64];
        std::snprintf(printed, sizeof printed, "%a", value);
        CHECK(std::strtod(text.c_str(), nullptr) == value);
        if (std::fpclassify(value) != FP_SUBNORMAL) CHECK(text == printed); // one may be normalised in several ways
    };
    for (const double value : {0.0, -0.0, 1.0, -1.5, 0.1, -3.402823466e+38, (std::numeric_limits<double>::max)(), 5e-324}) same(value);
    for (int i = 0; i < 10'000; ++i)
        if (const auto value = std::bit_cast<double>(rng()); std::isfinite(value)) same(value);
}
