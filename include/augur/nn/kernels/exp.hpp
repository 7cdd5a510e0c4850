// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_EXP_HPP
#define AUGUR_NN_KERNELS_EXP_HPP

/// @file
/// Vectorised float exponential for non-positive arguments; the result for an element does not depend on its position in the array.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/gemm.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

/// e^x for x <= 0, relative error below 3e-7; 0 below -87.
///
/// x = n ln2 + r with |r| <= ln2 / 2, e^r by its Taylor polynomial of degree 7, 2^n by the exponent bits.
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
inline void exp_generic(float* x, std::ptrdiff_t n) noexcept {
    for (std::ptrdiff_t i = 0; i < n; ++i) x[i] = exp_nonpositive(x[i]);
}
#if AUGUR_X86
/// Written with intrinsics: GCC 12 does not vectorise the loop because of its last comparison.
__attribute__((target("avx2,fma"), always_inline)) inline __m256 exp_eight(__m256 y) noexcept {
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256 scaled = _mm256_fmadd_ps(y, _mm256_set1_ps(1.44269504F), _mm256_set1_ps(-0.5F));
    const __m256i power = _mm256_cvttps_epi32(_mm256_max_ps(scaled, _mm256_set1_ps(-126.5F)));
    const __m256 whole = _mm256_cvtepi32_ps(power);
    const __m256 r = _mm256_fmadd_ps(whole, _mm256_set1_ps(2.12194440e-4F), _mm256_fnmadd_ps(whole, _mm256_set1_ps(0.693359375F), y));
    __m256 p = _mm256_set1_ps(1.0F / 5040.0F);
    for (const float c : {1.0F / 720.0F, 1.0F / 120.0F, 1.0F / 24.0F, 1.0F / 6.0F, 0.5F}) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
    p = _mm256_fmadd_ps(_mm256_fmadd_ps(p, r, one), r, one);
    const __m256 two = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(power, _mm256_set1_epi32(127)), 23));
    return _mm256_andnot_ps(_mm256_cmp_ps(y, _mm256_set1_ps(-87.0F), _CMP_LT_OQ), _mm256_mul_ps(p, two));
}
/// The same operations on sixteen lanes, hence bit-identical.
__attribute__((target("avx512f"), always_inline)) inline __m512 exp_sixteen(__m512 y) noexcept {
    constexpr __mmask16 all = 0xFFFF; // GCC 12 warns about the intrinsics without a mask
    const __m512 one = _mm512_set1_ps(1.0F);
    const __m512 scaled = _mm512_fmadd_ps(y, _mm512_set1_ps(1.44269504F), _mm512_set1_ps(-0.5F));
    const __m512i power = _mm512_maskz_cvttps_epi32(all, _mm512_maskz_max_ps(all, scaled, _mm512_set1_ps(-126.5F)));
    const __m512 whole = _mm512_maskz_cvtepi32_ps(all, power);
    const __m512 r = _mm512_fmadd_ps(whole, _mm512_set1_ps(2.12194440e-4F), _mm512_fnmadd_ps(whole, _mm512_set1_ps(0.693359375F), y));
    __m512 p = _mm512_set1_ps(1.0F / 5040.0F);
    for (const float c : {1.0F / 720.0F, 1.0F / 120.0F, 1.0F / 24.0F, 1.0F / 6.0F, 0.5F}) p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
    p = _mm512_fmadd_ps(_mm512_fmadd_ps(p, r, one), r, one);
    const __m512 two = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, _mm512_add_epi32(power, _mm512_set1_epi32(127)), 23));
    return _mm512_maskz_mul_ps(_mm512_cmp_ps_mask(y, _mm512_set1_ps(-87.0F), _CMP_NLT_UQ), p, two);
}
__attribute__((target("avx2,fma"))) inline void exp_avx2(float* x, std::ptrdiff_t n) noexcept {
    std::ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, exp_eight(_mm256_loadu_ps(x + i)));
    if (i == n) return;
    alignas(32) float rest[8] = {};
    std::memcpy(rest, x + i, static_cast<std::size_t>(n - i) * sizeof(float));
    _mm256_store_ps(rest, exp_eight(_mm256_load_ps(rest)));
    std::memcpy(x + i, rest, static_cast<std::size_t>(n - i) * sizeof(float));
}
#endif
} // namespace detail

/// x[i] <- e^x[i] for x[i] <= 0. CPUs with AVX-512 use the AVX2 version.
inline void exp_nonpositive(float* x, std::ptrdiff_t n, isa level = best_isa()) noexcept {
#if AUGUR_X86
    if (level != isa::generic) return detail::exp_avx2(x, n);
#endif
    (void)level;
    detail::exp_generic(x, n);
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
