// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_INPUT_HPP
#define AUGUR_MODEL_TLP_INPUT_HPP

/// @file
/// What TLP's first layer gets to see of a row of features.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <augur/model/tlp.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {

namespace detail {

/// sign(x) log2(1 + |x|)
inline float tlp_logarithm(float x) { return x == 0 ? 0.0F : std::copysign(1.44269504F * std::log1p(std::abs(x)), x); }

/// Does a power of two from 1 to 16 divide x > 0? As `fmod` would say, many times as fast.
inline bool tlp_divides(float power, float x) {
    if (!(x >= power && x < std::numeric_limits<float>::infinity())) return false;
    const float share = x / power; // exact
    return x >= 0x1p28F || static_cast<float>(static_cast<std::int32_t>(share)) == share; // from 2^28 on every float is a multiple of 16
}

/// to (tlp_config::bands) <- a number in bands: a quarter of its logarithm; how near it is to each of the powers 2^0 - 1, 2^1 - 1, ..., those above
/// counting as the last; whether 2, 4, 8 and 16 divide it.
template <class S>
void tlp_bands(float x, S* to) {
    constexpr int powers = 13;
    const float l = tlp_logarithm(x);
    const float size = (std::min)(std::abs(l), static_cast<float>(powers - 1));
    *to++ = static_cast<S>(l / 4);
    for (int k = 0; k < powers; ++k) *to++ = static_cast<S>((std::max)(0.0F, 1 - std::abs(size - static_cast<float>(k))));
    for (const float divisor : {2.0F, 4.0F, 8.0F, 16.0F}) *to++ = static_cast<S>(tlp_divides(divisor, x) ? 1.0F : 0.0F);
}

} // namespace detail

/// to (config.inputs()) <- what the first layer gets for `row` (config.columns).
template <nn::scalar S>
void tlp_input(const tlp_config& config, const float* row, S* to) {
    const nn::index e = config.columns;
    switch (config.scaling) {
    case tlp_scaling::raw:
        for (nn::index c = 0; c < e; ++c) to[c] = static_cast<S>(row[c]);
        return;
    case tlp_scaling::logarithm:
        for (nn::index c = 0; c < e; ++c) to[c] = static_cast<S>(detail::tlp_logarithm(row[c]));
        return;
    case tlp_scaling::bands: break;
    }
    const nn::index first = config.numbers_at, last = config.numbers_at + config.numbers;
    for (nn::index c = 0; c < e; ++c) {
        if (c < first || c >= last) {
            *to++ = static_cast<S>(detail::tlp_logarithm(row[c]));
        } else {
            detail::tlp_bands(row[c], to);
            to += tlp_config::bands;
        }
    }
}

} // namespace augur::inline v0

#endif
