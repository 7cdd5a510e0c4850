// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/input_encoding.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace {
std::vector<double> bands_of(float x) {
    std::vector<double> out(augur::tlp::config::bands, -1);
    augur::tlp::detail::bands_of(x, out.data());
    return out;
}
} // namespace

TEST_CASE("tlp input: a number in bands says its size twice and its divisors") {
    for (const float x : {0.0F, 1.0F, 2.0F, 3.0F, 7.0F, 8.0F, 12.0F, 48.0F, 100.0F, 1023.0F, 3000.0F}) {
        CAPTURE(x);
        const auto b = bands_of(x);
        const double size = std::log2(1 + static_cast<double>(x));
        CHECK(b[0] == doctest::Approx(size / 4));
        // the nearness to the powers is a partition of one whose mean is the size
        double sum = 0, mean = 0;
        int used = 0;
        for (int k = 0; k < 13; ++k) {
            const double w = b[static_cast<std::size_t>(1 + k)];
            CHECK(w >= 0);
            used += w > 0 ? 1 : 0;
            sum += w;
            mean += w * k;
        }
        CHECK(used <= 2);
        CHECK(sum == doctest::Approx(1));
        CHECK(mean == doctest::Approx(size).epsilon(1e-5));
        for (int k = 0; k < 4; ++k) CHECK(b[static_cast<std::size_t>(14 + k)] == (x > 0 && static_cast<int>(x) % (2 << k) == 0 ? 1 : 0));
    }
    const auto huge = bands_of(334540800.0F); // a GPU's extent: the last band, and its true size
    CHECK(huge[13] == 1);
    CHECK(huge[12] == 0);
    CHECK(huge[0] == doctest::Approx(std::log2(334540801.0) / 4));
    CHECK(bands_of(-1)[0] == doctest::Approx(-0.25)); // an unknown name is not the number 1
    CHECK(bands_of(-1)[14] == 0);
}

TEST_CASE("tlp input: numbers in bands, one-hots as they are, in their order") {
    const auto schema = augur::tlp::schema::ansor(8, 2, 3);
    const auto config = augur::tlp::config::small(0).with_input(schema);
    REQUIRE(config.columns == 25);
    REQUIRE(config.numbers_at == 20);
    REQUIRE(config.numbers == 2);
    REQUIRE(config.inputs() == 25 - 2 + 2 * augur::tlp::config::bands);
    std::vector<float> row(25, 0.0F), in(static_cast<std::size_t>(config.inputs()), -1.0F);
    row[4] = 1;
    row[20] = 16;
    row[21] = 3;
    row[24] = 1;
    augur::tlp::encode_input(config, row.data(), in.data());
    for (std::size_t c = 0; c < 20; ++c) CHECK(in[c] == (c == 4 ? 1.0F : 0.0F));
    const auto sixteen = bands_of(16), three = bands_of(3);
    for (std::size_t k = 0; k < sixteen.size(); ++k) {
        CHECK(static_cast<double>(in[20 + k]) == doctest::Approx(sixteen[k]));
        CHECK(static_cast<double>(in[20 + sixteen.size() + k]) == doctest::Approx(three[k]));
    }
    CHECK(in[in.size() - 3] == 0);
    CHECK(in[in.size() - 1] == 1);
    auto broken = config;
    broken.numbers = 6;
    CHECK_FALSE(broken.check());
}

TEST_CASE("tlp input: bands of any number are what the plain formulas give, to the last bit") {
    std::vector<float> numbers{0.0F, -0.0F, -4.0F, 0.5F, 2.5F, 1e-40F, 1023.5F, 3.4e38F, std::numeric_limits<float>::infinity(), std::nanf("")};
    for (int i = -20; i < 5000; ++i) numbers.push_back(static_cast<float>(i));
    for (int e = 0; e < 40; ++e)
        for (const float x : {std::ldexp(1.0F, e), std::ldexp(3.0F, e), std::ldexp(1.0F, e) + 1, std::ldexp(16777215.0F, e - 20)})
            numbers.push_back(x);
    for (const float x : numbers) {
        CAPTURE(x);
        const float l = x == 0 ? 0.0F : std::copysign(1.44269504F * std::log1p(std::abs(x)), x);
        std::vector<float> got(augur::tlp::config::bands, -1);
        augur::tlp::detail::bands_of(x, got.data());
        CHECK((got[0] == l / 4 || std::isnan(x)));
        for (std::size_t k = 0; k < 13; ++k)
            CHECK(got[1 + k] == (std::max)(0.0F, 1 - std::abs((std::min)(std::abs(l), 12.0F) - static_cast<float>(k))));
        for (std::size_t k = 0; k < 4; ++k) CHECK(got[14 + k] == (x > 0 && std::fmod(x, static_cast<float>(2 << k)) == 0 ? 1.0F : 0.0F));
    }
}
