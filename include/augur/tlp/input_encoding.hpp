// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_INPUT_ENCODING_HPP
#define AUGUR_TLP_INPUT_ENCODING_HPP

/// @file
/// Input scaling of TLP: converts a feature row to the inputs of the first layer (`config::scaling`).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <augur/nn/types.hpp>
#include <augur/tlp/model.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// log2(1 + size)
inline float scaled_logarithm(float size) { return 1.44269504F * std::log1p(size); }

/// scaled_logarithm of 0 to 1023. Not a lambda: the compiler could evaluate a lambda at compile time, where log1p rounds differently.
inline std::array<float, 1024> logarithm_table() {
    std::array<float, 1024> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = scaled_logarithm(static_cast<float>(i));
    return all;
}

/// sign(x) log2(1 + |x|), from a table for integers below 1024, which are nearly all numbers in schedules.
inline float scaled_logarithm_cached(float x) {
    static const std::array<float, 1024> known = logarithm_table();
    if (x == 0) return 0.0F;
    const float size = std::abs(x);
    if (size < static_cast<float>(known.size())) {
        const auto whole = static_cast<std::int32_t>(size);
        if (static_cast<float>(whole) == size) return std::copysign(known[static_cast<std::size_t>(whole)], x);
    }
    return std::copysign(scaled_logarithm(size), x);
}

/// to (config::bands) <- band encoding of a number x with l = log2(1 + |x|): l / 4 with the sign of x; 13 values max(0, 1 - |l - k|), k = 0, ..., 12,
/// where l is at most 12; 4 values that are 1 if 2, 4, 8, 16 divide x.
inline void write_bands(float x, float* to) {
    constexpr int powers = 13;
    std::fill_n(to, 1 + powers + 4, 0.0F);
    const float l = scaled_logarithm_cached(x);
    const float size = (std::min)(std::abs(l), static_cast<float>(powers - 1));
    *to++ = l / 4;
    const int below = size > 0 ? static_cast<int>(size) : 0; // only bands `below` and `below` + 1 are not 0
    for (int k = below; k < (std::min)(below + 2, powers); ++k) to[k] = (std::max)(0.0F, 1 - std::abs(size - static_cast<float>(k)));
    to += powers;
    std::uint32_t bits = 1; // not divisible
    if (x > 0 && x < 0x1p28F && static_cast<float>(static_cast<std::int32_t>(x)) == x) bits = static_cast<std::uint32_t>(x);
    else if (x >= 0x1p28F && x < std::numeric_limits<float>::infinity()) bits = 0; // every float is a multiple of 16
    for (const std::uint32_t divisor : {2U, 4U, 8U, 16U}) *to++ = bits % divisor == 0 ? 1.0F : 0.0F;
}

/// Band encodings of 0 to 1023 (72 KiB).
using band_table = std::array<std::array<float, static_cast<std::size_t>(config::bands)>, 1024>;
inline const band_table& cached_bands() {
    static const auto known = [] {
        band_table all;
        for (std::size_t i = 0; i < all.size(); ++i) write_bands(static_cast<float>(i), all[i].data());
        return all;
    }();
    return known;
}

/// to (config::bands) <- band encoding of x, from the table if x is an integer in [0, 1023].
template <class S>
void bands_of(float x, S* to) {
    const auto& known = cached_bands();
    const auto whole = x > -1 && x < static_cast<float>(known.size()) ? static_cast<std::int32_t>(x) : -1; // not a NaN
    std::array<float, static_cast<std::size_t>(config::bands)> other;
    const auto* from = &other;
    if (whole >= 0 && static_cast<float>(whole) == x) from = &known[static_cast<std::size_t>(whole)];
    else write_bands(x, other.data());
    std::copy(from->begin(), from->end(), to);
}

} // namespace detail

/// to (config.inputs()) <- inputs of the first layer for the feature row `row` (config.columns).
template <nn::scalar S>
void encode_input(const tlp::config& config, const float* row, S* to) {
    const nn::index e = config.columns;
    switch (config.scaling) {
    case scaling::raw:
        for (nn::index c = 0; c < e; ++c) to[c] = static_cast<S>(row[c]);
        return;
    case scaling::logarithm:
        for (nn::index c = 0; c < e; ++c) to[c] = static_cast<S>(detail::scaled_logarithm_cached(row[c]));
        return;
    case scaling::bands: break;
    }
    const auto logarithms = [&](nn::index from, nn::index end) { // one-hot columns, nearly all 0
        for (nn::index c = from; c < end; ++c) *to++ = row[c] == 0 ? S(0) : static_cast<S>(detail::scaled_logarithm_cached(row[c]));
    };
    logarithms(0, config.numbers_at);
    for (nn::index c = config.numbers_at; c < config.numbers_at + config.numbers; ++c, to += config::bands) detail::bands_of(row[c], to);
    logarithms(config.numbers_at + config.numbers, e);
}

} // namespace augur::inline v0::tlp

#endif
