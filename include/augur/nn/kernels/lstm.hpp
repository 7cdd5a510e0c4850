// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_LSTM_HPP
#define AUGUR_NN_KERNELS_LSTM_HPP

/// @file
/// LSTM gate activations and state update in float, vectorised at run time.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <augur/nn/kernels/gemm.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

namespace detail {

/// e^x for -87 <= x <= 0 as `exp_nonpositive`, without branches, so that the compiler vectorises a loop over it. NaN stays NaN (huge weights can
/// produce it). A NaN cannot be converted to an integer, so the exponent is computed from `number`: x, or any other number if x is NaN.
constexpr float exp_within(float x, float number) noexcept {
    const auto n = static_cast<std::int32_t>(number * 1.44269504F - 0.5F); // towards 0: rounds to nearest
    const auto whole = static_cast<float>(n);
    const float r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F; // ln2 in two parts
    float p = 1.0F / 5040.0F;
    p = p * r + 1.0F / 720.0F;
    p = p * r + 1.0F / 120.0F;
    p = p * r + 1.0F / 24.0F;
    p = p * r + 1.0F / 6.0F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    return p * std::bit_cast<float>((n + 127) << 23);
}
/// e^x of a single number.
constexpr float exp_within(float x) noexcept { return exp_within(x, x > -87.0F ? x : -87.0F); }
inline float near_tanh(float a) noexcept {
    const float s = a * a;
    return a * (1.0F - s * (1.0F / 3.0F - s * (2.0F / 15.0F - s * (17.0F / 315.0F))));
}
/// tanh with a relative error below 1e-6, as the vector version below.
inline float tanh(float x) noexcept {
    const float a = std::abs(x), e = exp_within(a > 43.5F ? -87.0F : -2.0F * a);
    return std::copysign(a < 0.125F ? near_tanh(a) : (1.0F - e) / (1.0F + e), x);
}

// Loops over sixteen numbers with one operation and at most one condition each, so that the compiler vectorises them at -O2.
#define AUGUR_NN_LSTM_EACH(...)                                                                                                                      \
    for (std::ptrdiff_t j = 0; j < 16; ++j) __VA_ARGS__;
#define AUGUR_NN_LSTM_SIGMOID(X)                                                                                                                     \
    AUGUR_NN_LSTM_EACH(e[j] = -std::abs((X)[j]))                                                                                                     \
    AUGUR_NN_LSTM_EACH(t[j] = e[j] > -87.0F ? e[j] : -87.0F)                                                                                         \
    AUGUR_NN_LSTM_EACH(e[j] = e[j] < -87.0F ? -87.0F : e[j])                                                                                         \
    AUGUR_NN_LSTM_EACH(e[j] = exp_within(e[j], t[j]))                                                                                                \
    AUGUR_NN_LSTM_EACH(t[j] = (X)[j] < 0.0F ? e[j] : 1.0F)                                                                                           \
    AUGUR_NN_LSTM_EACH((X)[j] = t[j] / (1.0F + e[j]))
// near 0, where 1 - e^-2|x| has few digits left, the Taylor polynomial
#define AUGUR_NN_LSTM_TANH(X)                                                                                                                        \
    AUGUR_NN_LSTM_EACH(e[j] = -2.0F * std::abs((X)[j]))                                                                                              \
    AUGUR_NN_LSTM_EACH(t[j] = e[j] > -87.0F ? e[j] : -87.0F)                                                                                         \
    AUGUR_NN_LSTM_EACH(e[j] = e[j] < -87.0F ? -87.0F : e[j])                                                                                         \
    AUGUR_NN_LSTM_EACH(e[j] = exp_within(e[j], t[j]))                                                                                                \
    AUGUR_NN_LSTM_EACH(t[j] = (1.0F - e[j]) / (1.0F + e[j]))                                                                                         \
    AUGUR_NN_LSTM_EACH(e[j] = near_tanh(std::abs((X)[j])))                                                                                           \
    AUGUR_NN_LSTM_EACH(t[j] = std::abs((X)[j]) < 0.125F ? e[j] : t[j])                                                                               \
    AUGUR_NN_LSTM_EACH((X)[j] = std::copysign(t[j], (X)[j]))
#define AUGUR_NN_LSTM_SIXTEEN(I, F, G, O, BEFORE, C, H)                                                                                              \
    AUGUR_NN_LSTM_SIGMOID(I)                                                                                                                         \
    AUGUR_NN_LSTM_SIGMOID(F)                                                                                                                         \
    AUGUR_NN_LSTM_TANH(G)                                                                                                                            \
    AUGUR_NN_LSTM_SIGMOID(O)                                                                                                                         \
    AUGUR_NN_LSTM_EACH((H)[j] = (C)[j] = (F)[j] * (BEFORE)[j] + (I)[j] * (G)[j])                                                                     \
    AUGUR_NN_LSTM_TANH(H)                                                                                                                            \
    AUGUR_NN_LSTM_EACH((H)[j] *= (O)[j])
#define AUGUR_NN_LSTM_LOOP                                                                                                                           \
    std::ptrdiff_t at = 0;                                                                                                                           \
    float e[16], t[16];                                                                                                                              \
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
#undef AUGUR_NN_LSTM_TANH
#undef AUGUR_NN_LSTM_SIGMOID
#undef AUGUR_NN_LSTM_EACH
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
