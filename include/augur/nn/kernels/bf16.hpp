// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_BF16_HPP
#define AUGUR_NN_KERNELS_BF16_HPP

/// @file
/// bfloat16 type, conversions, and detection of CPUs with fast bf16 products.

#include <bit>
#include <cstddef>
#include <cstdint>

#include <augur/core/config.hpp>
#include <augur/core/isa.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

/// bfloat16: the upper 16 bits of a float.
using bf16 = std::uint16_t;

/// Rounds to nearest, ties to even; NaN stays NaN.
inline bf16 to_bf16(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<bf16>((bits >> 16U) | 0x40U);
    return static_cast<bf16>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}
inline float to_float(bf16 x) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16U); }
inline float to_float(float x) noexcept { return x; }

/// Does this CPU have AVX512_BF16? Constant for a process.
inline bool has_bf16() noexcept {
#if AUGUR_X86
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

/// Are bf16 products faster than float products? Not on Intel's Sapphire Rapids: one `vdpbf16ps` per two cycles against two float multiply-adds per
/// cycle (measured: 0.49 of limit/fma_f32).
inline bool has_fast_bf16() noexcept {
#if AUGUR_X86
    return has_bf16() && __builtin_cpu_is("intel") == 0;
#else
    return false;
#endif
}

namespace detail {
#if AUGUR_X86
__attribute__((target("avx512f,avx512bf16"))) inline std::ptrdiff_t narrow_avx512(const float* from, bf16* to, std::ptrdiff_t n) noexcept {
    std::ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from + i)));
    return i;
}
__attribute__((target("avx512f,avx512bf16"))) inline void narrow_pairs_avx512(const float* first, const float* second, bf16* to,
                                                                              std::ptrdiff_t n) noexcept {
    constexpr __mmask16 every = 0xFFFF;
    for (std::ptrdiff_t i = 0; i < n; i += 16) {
        const auto mask = static_cast<__mmask16>(n - i < 16 ? (1U << static_cast<unsigned>(n - i)) - 1U : 0xFFFFU);
        const __m512 a = _mm512_maskz_loadu_ps(mask, first + i);
        const __m512 b = second == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, second + i);
        const __m512i low = _mm512_maskz_cvtepu16_epi32(every, (__m256i)_mm512_cvtneps_pbh(a));
        const __m512i high = _mm512_maskz_slli_epi32(every, _mm512_maskz_cvtepu16_epi32(every, (__m256i)_mm512_cvtneps_pbh(b)), 16);
        _mm512_mask_storeu_epi32(to + 2 * i, mask, _mm512_or_si512(low, high));
    }
}
__attribute__((target("avx512f,avx512bf16"))) inline std::ptrdiff_t transpose_pairs_avx512(const bf16* first, const bf16* second, bf16* even,
                                                                                           bf16* odd, std::ptrdiff_t n) noexcept {
    constexpr __mmask16 every = 0xFFFF;
    const __m512i low = _mm512_set1_epi32(0xFFFF);
    std::ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i a = _mm512_loadu_si512(first + 2 * i), b = second == nullptr ? _mm512_setzero_si512() : _mm512_loadu_si512(second + 2 * i);
        _mm512_storeu_si512(even + 2 * i, _mm512_or_si512(_mm512_and_si512(a, low), _mm512_maskz_slli_epi32(every, b, 16)));
        _mm512_storeu_si512(odd + 2 * i, _mm512_or_si512(_mm512_maskz_srli_epi32(every, a, 16), _mm512_maskz_andnot_epi32(every, low, b)));
    }
    return i;
}
#endif
} // namespace detail

/// to (n) <- from (n), rounded. Denormal numbers may become 0.
inline void to_bf16(const float* from, bf16* to, std::ptrdiff_t n, bool native = has_bf16()) noexcept {
    std::ptrdiff_t i = 0;
#if AUGUR_X86
    if (native) i = detail::narrow_avx512(from, to, n);
#endif
    (void)native;
    for (; i < n; ++i) to[i] = to_bf16(from[i]);
}

/// to (n, 2) <- interleaved first (n) and second (n), rounded; a null `second` gives zeros. Denormal numbers may become 0.
inline void to_bf16_pairs(const float* first, const float* second, bf16* to, std::ptrdiff_t n, bool native = has_bf16()) noexcept {
#if AUGUR_X86
    if (native) return detail::narrow_pairs_avx512(first, second, to, n);
#endif
    (void)native;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        to[2 * i] = to_bf16(first[i]);
        to[2 * i + 1] = second == nullptr ? bf16{0} : to_bf16(second[i]);
    }
}

/// even (n, 2), odd (n, 2) <- even and odd elements of first (n, 2), interleaved with those of second (n, 2); a null `second` gives zeros.
inline void transpose_pairs(const bf16* first, const bf16* second, bf16* even, bf16* odd, std::ptrdiff_t n, bool native = has_bf16()) noexcept {
    std::ptrdiff_t i = 0;
#if AUGUR_X86
    if (native) i = detail::transpose_pairs_avx512(first, second, even, odd, n);
#endif
    (void)native;
    for (; i < n; ++i) {
        even[2 * i] = first[2 * i];
        even[2 * i + 1] = second == nullptr ? bf16{0} : second[2 * i];
        odd[2 * i] = first[2 * i + 1];
        odd[2 * i + 1] = second == nullptr ? bf16{0} : second[2 * i + 1];
    }
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
