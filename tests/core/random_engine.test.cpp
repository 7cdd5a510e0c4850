// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/core/random_engine.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <doctest/doctest.h>

// A search is repeated from its seed: the numbers are part of the format. Those without a source are of an implementation in Python, with integers
// of any length.
TEST_CASE("mix64: splitmix64 as published") {
    CHECK(augur::mix64(0) == 0xE220A8397B1DCDAFULL); // the first number of java.util.SplittableRandom(0) and of splitmix64.c
    constexpr std::array<std::uint64_t, 3> published{6457827717110365317U, 3203168211198807973U, 9817491932198370423U}; // of the seed 1234567
    for (std::uint64_t i = 0; i < published.size(); ++i) CHECK(augur::mix64(1234567 + i * 0x9E3779B97F4A7C15ULL) == published[i]);
    CHECK(augur::mix64(1) == 0x910A2DEC89025CC1ULL);
    CHECK(augur::mix64(~std::uint64_t{0}) == 0xE4D971771B652C20ULL);
    CHECK(augur::mix64(0x0123456789ABCDEFULL) == 0x157A3807A48FAA9DULL);
}

TEST_CASE("random: the numbers never change") {
    struct expected {
        std::uint64_t seed;
        std::array<std::uint64_t, 4> first;
    };
    for (const auto& [seed, first] : {
             expected{0, {0x1A70A846BD9CC2A9ULL, 0x6A0EF250CD2B9E80ULL, 0x61325A7589C2FF27ULL, 0x21CCF8536A2BB70AULL}},
             expected{1, {0xC5883E370B0926C3ULL, 0x021B74B80F71F81CULL, 0x268DF06749E5C8CEULL, 0xE052757D667AFEF2ULL}},
             expected{42, {0x5C8961E1F2055D33ULL, 0xE182E8E848466886ULL, 0x9F7313650E290A18ULL, 0xE6C0F551804EF0BBULL}},
             expected{~std::uint64_t{0}, {0x8DEFBD3346F3593AULL, 0x41A928FAAE78060CULL, 0xDDE9BCCAF1CD0233ULL, 0x939E26AE8C3A89E7ULL}},
         }) {
        CAPTURE(seed);
        augur::random_engine r(seed);
        for (const auto x : first) CHECK(r() == x);
    }
    augur::random_engine late(5);
    for (int i = 0; i < 999; ++i) late();
    CHECK(late() == 0x1E50CE320BC4E769ULL);

    const augur::random_engine parent(42);
    CHECK(parent.stream(0)() == 0x5E4F53331266DE2CULL);
    CHECK(parent.stream(1)() == 0x522DE9EE2E5B2E12ULL);
    CHECK(parent.stream(1000)() == 0x7F149DC9A0735543ULL);
    CHECK(parent.stream(3).stream(4)() == 0xB783EDB6E56AABC3ULL);
}

TEST_CASE("random: the distributions never change") {
    augur::random_engine small(7);
    for (const std::uint64_t x : {3U, 2U, 6U, 4U, 2U, 3U, 3U, 4U, 9U, 8U, 3U, 7U}) CHECK(small.below(10) == x);
    augur::random_engine large(7); // every second draw is refused
    for (const std::uint64_t x : {7141108816294253364U, 2008010779721700033U, 2657643843709728983U})
        CHECK(large.below((std::uint64_t{1} << 63U) + 1) == x);
    augur::random_engine real(7);
    for (const double x : {0x1.c634a14433422p-1, 0x1.37bbc6549cef2p-1, 0x1.fcc0e2ab9d388p-3}) CHECK(real.uniform() == x);
    std::vector<int> order(10);
    std::iota(order.begin(), order.end(), 0);
    augur::random_engine(9).shuffle(std::span<int>(order));
    CHECK(order == std::vector<int>{6, 8, 9, 2, 1, 0, 7, 4, 3, 5});
}
