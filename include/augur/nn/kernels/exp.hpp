// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_EXP_HPP
#define AUGUR_NN_KERNELS_EXP_HPP

/// @file
/// The exponential in float, equal on every machine and at every place of a vector.

#include <bit>
#include <cstddef>
#include <cstdint>

#include <augur/nn/kernels/gemm.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

/// e^x for x <= 0, relative error below 3e-7; 0 below -87.
///
/// x = n ln2 + r with |r| <= ln2 / 2, e^r by its Taylor polynomial of degree 7, 2^n by the exponent bits. Plain multiplications and additions: a loop
/// over it becomes vector code.
inline float exp_nonpositive(float x) noexcept {
    const float scaled = x * 1.44269504F - 0.5F; // x <= 0: truncation towards 0 rounds to nearest
    const auto n = static_cast<std::int32_t>(scaled > -126.5F ? scaled : -126.5F);
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
    const float e = p * std::bit_cast<float>((n + 127) << 23);
    return x < -87.0F ? 0.0F : e;
}

namespace detail {
/// Sixteen at a time: a loop of known length becomes vector code at -O2.
#define AUGUR_NN_EXP_LOOP                                                                                                                            \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + 16 <= n; i += 16)                                                                                                                     \
        for (std::ptrdiff_t j = 0; j < 16; ++j) x[i + j] = exp_nonpositive(x[i + j]);                                                                \
    if (i == n) return;                                                                                                                              \
    float rest[16] = {};                                                                                                                             \
    for (std::ptrdiff_t j = 0; j < n - i; ++j) rest[j] = x[i + j];                                                                                   \
    for (std::ptrdiff_t j = 0; j < 16; ++j) rest[j] = exp_nonpositive(rest[j]);                                                                      \
    for (std::ptrdiff_t j = 0; j < n - i; ++j) x[i + j] = rest[j];
inline void exp_generic(float* x, std::ptrdiff_t n) noexcept { AUGUR_NN_EXP_LOOP }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) inline void exp_avx2(float* x, std::ptrdiff_t n) noexcept { AUGUR_NN_EXP_LOOP }
__attribute__((target("avx512f"))) inline void exp_avx512(float* x, std::ptrdiff_t n) noexcept { AUGUR_NN_EXP_LOOP }
#endif
#undef AUGUR_NN_EXP_LOOP
} // namespace detail

/// x[i] <- e^x[i] for x[i] <= 0.
inline void exp_nonpositive(float* x, std::ptrdiff_t n, isa level = best_isa()) noexcept {
#if defined(__x86_64__)
    if (level == isa::avx512) return detail::exp_avx512(x, n);
    if (level == isa::avx2) return detail::exp_avx2(x, n);
#endif
    (void)level;
    detail::exp_generic(x, n);
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
