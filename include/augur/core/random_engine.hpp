// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_RANDOM_ENGINE_HPP
#define AUGUR_CORE_RANDOM_ENGINE_HPP

/// @file
/// Reproducible random numbers (xoshiro256**): equal for every compiler, standard library and number of threads.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// One step of splitmix64: a bijective 64-bit mixer (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

/// xoshiro256** (Blackman, Vigna 2018) with its own distributions, because those of <random> differ between standard libraries.
///
/// A value: a copy continues the same stream. `stream(i)` returns the i-th independent child stream and does not change the parent, so work item i
/// draws the same numbers on every thread.
class random_engine {
public:
    using result_type = std::uint64_t;

    constexpr explicit random_engine(std::uint64_t seed) noexcept {
        for (auto& word : state_) word = seed = mix64(seed);
    }

    static constexpr result_type min() noexcept { return 0; }
    static constexpr result_type max() noexcept { return ~result_type{0}; }

    /// 64 uniform bits.
    constexpr std::uint64_t operator()() noexcept {
        const std::uint64_t out = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17U;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return out;
    }

    /// Uniform in [0, n), unbiased.   pre: n > 0
    constexpr std::uint64_t below(std::uint64_t n) noexcept {
        AUGUR_ASSERT(n > 0, "random::below: empty range");
        const std::uint64_t reject = (~n + 1) % n; // 2^64 mod n: draws below it would bias the result towards small numbers
        for (;;) {
            const std::uint64_t x = (*this)();
            if (x >= reject) return x % n;
        }
    }

    /// Uniform in [0, 1) with 53 bits.
    constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

    /// Uniform in [low, high).
    constexpr double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

    /// Fisher-Yates shuffle.
    template <class T>
    constexpr void shuffle(std::span<T> items) noexcept {
        for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
    }

    /// The i-th child stream; independent of the parent and of the other children.
    [[nodiscard]] constexpr random_engine stream(std::uint64_t i) const noexcept { return random_engine(mix64(state_[0] ^ mix64(state_[2] + i))); }

private:
    std::array<std::uint64_t, 4> state_{};
};

} // namespace augur::inline v0

#endif
