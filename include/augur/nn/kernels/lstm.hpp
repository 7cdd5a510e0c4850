// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_LSTM_HPP
#define AUGUR_NN_KERNELS_LSTM_HPP

/// @file
/// The gates of an LSTM in float, vectorised at run time.

#include <cmath>
#include <cstddef>
#include <cstring>

#include <augur/nn/kernels/exp.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

namespace detail {

inline float sigmoid(float x) noexcept {
    const float e = exp_nonpositive(x < 0.0F ? x : -x);
    return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}
/// Near 0, where 1 - e^-2|x| has few digits left, its Taylor polynomial: relative error below 1e-6 everywhere.
inline float tanh(float x) noexcept {
    const float a = x < 0.0F ? -x : x;
    const float e = exp_nonpositive(-2.0F * a);
    const float far = (1.0F - e) / (1.0F + e);
    const float s = a * a;
    const float near = a * (1.0F - s * (1.0F / 3.0F - s * (2.0F / 15.0F - s * (17.0F / 315.0F))));
    const float t = a < 0.125F ? near : far;
    return x < 0.0F ? -t : t;
}

/// Sixteen hidden units; a loop of known length becomes vector code at -O2.
#define AUGUR_NN_LSTM_SIXTEEN(I, F, G, O, BEFORE, C, H)                                                                                              \
    for (std::ptrdiff_t j = 0; j < 16; ++j) {                                                                                                        \
        const float i = sigmoid((I)[j]), f = sigmoid((F)[j]), g = tanh((G)[j]), o = sigmoid((O)[j]);                                                 \
        const float cell = f * (BEFORE)[j] + i * g;                                                                                                  \
        (I)[j] = i;                                                                                                                                  \
        (F)[j] = f;                                                                                                                                  \
        (G)[j] = g;                                                                                                                                  \
        (O)[j] = o;                                                                                                                                  \
        (C)[j] = cell;                                                                                                                               \
        (H)[j] = o * tanh(cell);                                                                                                                     \
    }
#define AUGUR_NN_LSTM_LOOP                                                                                                                           \
    std::ptrdiff_t at = 0;                                                                                                                           \
    for (; at + 16 <= d; at += 16) {                                                                                                                 \
        float block[7][16];                                                                                                                          \
        for (std::ptrdiff_t q = 0; q < 4; ++q) std::memcpy(block[q], gates + q * d + at, sizeof block[q]);                                           \
        std::memcpy(block[4], before + at, sizeof block[4]);                                                                                         \
        AUGUR_NN_LSTM_SIXTEEN(block[0], block[1], block[2], block[3], block[4], block[5], block[6])                                                  \
        for (std::ptrdiff_t q = 0; q < 4; ++q) std::memcpy(gates + q * d + at, block[q], sizeof block[q]);                                           \
        std::memcpy(c + at, block[5], sizeof block[5]);                                                                                              \
        std::memcpy(h + at, block[6], sizeof block[6]);                                                                                              \
    }                                                                                                                                                \
    if (at == d) return;                                                                                                                             \
    const auto rest = static_cast<std::size_t>(d - at) * sizeof(float);                                                                              \
    float block[7][16] = {};                                                                                                                         \
    for (std::ptrdiff_t q = 0; q < 4; ++q) std::memcpy(block[q], gates + q * d + at, rest);                                                          \
    std::memcpy(block[4], before + at, rest);                                                                                                        \
    AUGUR_NN_LSTM_SIXTEEN(block[0], block[1], block[2], block[3], block[4], block[5], block[6])                                                      \
    for (std::ptrdiff_t q = 0; q < 4; ++q) std::memcpy(gates + q * d + at, block[q], rest);                                                          \
    std::memcpy(c + at, block[5], rest);                                                                                                             \
    std::memcpy(h + at, block[6], rest);

inline void lstm_generic(float* gates, const float* before, float* c, float* h, std::ptrdiff_t d) noexcept { AUGUR_NN_LSTM_LOOP }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) inline void lstm_avx2(float* gates, const float* before, float* c, float* h, std::ptrdiff_t d) noexcept {
    AUGUR_NN_LSTM_LOOP
}
__attribute__((target("avx512f"))) inline void lstm_avx512(float* gates, const float* before, float* c, float* h, std::ptrdiff_t d) noexcept {
    AUGUR_NN_LSTM_LOOP
}
#endif
#undef AUGUR_NN_LSTM_LOOP
#undef AUGUR_NN_LSTM_SIXTEEN
} // namespace detail

/// One LSTM state of width d: gates (4 d) i, f, g, o in place to sigmoid, sigmoid, tanh, sigmoid; c <- f before + i g; h <- o tanh(c).
/// @note relative error of each function below 1e-6; before and c may be the same memory
inline void lstm_gates(float* gates, const float* before, float* c, float* h, std::ptrdiff_t d, isa level = best_isa()) noexcept {
#if defined(__x86_64__)
    if (level == isa::avx512) return detail::lstm_avx512(gates, before, c, h, d);
    if (level == isa::avx2) return detail::lstm_avx2(gates, before, c, h, d);
#endif
    (void)level;
    detail::lstm_generic(gates, before, c, h, d);
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
