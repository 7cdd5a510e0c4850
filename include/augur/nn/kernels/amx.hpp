// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_AMX_HPP
#define AUGUR_NN_KERNELS_AMX_HPP

/// @file
/// Matrix products with Intel AMX: one instruction multiplies 16 x 32 by 32 x 16 bf16 numbers and accumulates in float, at sixteen times the
/// throughput of AVX-512 fused multiply-adds.
///
/// Products in float precision split each float into two bf16 numbers, x = high + low with an error of at most 2^-17 |x|, and add three products,
/// high high + high low + low high. The relative error is about 2^-16, at five times the speed of float products (Henry, Tang, Heinecke, Leveraging
/// the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, 2019).

#include <cstddef>
#include <cstdint>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/bf16.hpp>

#if AUGUR_X86
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

/// Can this process use AMX tiles for bf16? The first call requests the permission from Linux (arch_prctl).
inline bool amx_ready() noexcept {
#if AUGUR_X86 && defined(__linux__)
    static const bool ready = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (!has_bf16() || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
        if ((d >> 22U & 1U) == 0 || (d >> 24U & 1U) == 0) return false; // amx_bf16, amx_tile
        long done = 0;
        __asm__ volatile("syscall" // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
                         : "=a"(done)
                         : "0"(158L), "D"(0x1023L), "S"(18L)
                         : "rcx", "r11", "memory");
        return done == 0;
    }();
    return ready;
#else
    return false;
#endif
}

inline constexpr std::ptrdiff_t amx_columns = 32; ///< columns of a panel: two tiles
inline constexpr std::ptrdiff_t amx_depth = 32;   ///< steps of k per tile; packed weights are padded to a multiple
inline constexpr std::ptrdiff_t amx_rows = 32;    ///< rows of A per product: two tiles

#if AUGUR_X86
namespace detail {

/// Operand of `ldtilecfg`: eight tiles of 16 rows of 64 bytes.
struct alignas(64) amx_shape {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// RAII owner of the AMX tile state of this thread; the tiles are usable after `renew`.
class amx_session {
public:
    amx_session() = default;
    /// Configures and clears the tiles (0.1 us). Call it every few microseconds: after an interrupt that restores the tiles, Sapphire Rapids loads
    /// tiles at a third of the speed until they are configured again.
    void renew() const noexcept { __asm__ volatile("ldtilecfg %0" : : "m"(shape)); }
    ~amx_session() { __asm__ volatile("tilerelease" : : :); }
    amx_session(const amx_session&) = delete;
    amx_session& operator=(const amx_session&) = delete;

private:
    static constexpr amx_shape shape{};
};

/// Adds A (32, k) B (k, 32) to the four accumulator tiles; reads the lower 16 rows of A only if `two`.
/// The row stride of A is a_row numbers; B has the layout (k / 2, 32, 2).   pre: k is a multiple of amx_depth
inline void amx_multiply(const bf16* a, std::ptrdiff_t a_row, const bf16* b, std::ptrdiff_t k, bool two) noexcept {
    const std::ptrdiff_t a_stride = a_row * static_cast<std::ptrdiff_t>(sizeof(bf16)),
                         b_stride = 2 * amx_columns * static_cast<std::ptrdiff_t>(sizeof(bf16));
    const bf16* low = a + 16 * a_row;
    for (std::ptrdiff_t i = 0; i < k; i += amx_depth, a += amx_depth, low += amx_depth, b += amx_depth * amx_columns) {
        __asm__ volatile("tileloadd (%0,%2,1), %%tmm4\n\t"
                         "tileloadd (%1,%3,1), %%tmm6\n\t"
                         "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
                         "tileloadd 64(%1,%3,1), %%tmm7\n\t"
                         "tdpbf16ps %%tmm7, %%tmm4, %%tmm1"
                         :
                         : "r"(a), "r"(b), "r"(a_stride), "r"(b_stride)
                         : "memory");
        if (!two) continue;
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm5\n\t"
                         "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
                         "tdpbf16ps %%tmm7, %%tmm5, %%tmm3"
                         :
                         : "r"(low), "r"(a_stride)
                         : "memory");
    }
}
inline void amx_zero() noexcept { __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" : : :); }
/// sums (32, 32) <- the four accumulator tiles
inline void amx_store(float* sums, bool two) noexcept {
    const std::ptrdiff_t stride = amx_columns * static_cast<std::ptrdiff_t>(sizeof(float));
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilestored %%tmm1, 64(%0,%1,1)" : : "r"(sums), "r"(stride) : "memory");
    if (two)
        __asm__ volatile("tilestored %%tmm2, (%0,%1,1)\n\ttilestored %%tmm3, 64(%0,%1,1)" : : "r"(sums + 16 * amx_columns), "r"(stride) : "memory");
}

#define AUGUR_NN_AMX_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

/// Converts 32 floats to bf16.
AUGUR_NN_AMX_TARGET inline __m512i amx_narrow(__m512 low, __m512 high) noexcept { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }
AUGUR_NN_AMX_TARGET inline __m512 amx_widen(__m256i half) noexcept {
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xFFFF, _mm512_maskz_cvtepu16_epi32(0xFFFF, half), 16));
}

/// high, low (rows, depth) <- bf16 split of x (rows, k), zeros beyond k.   pre: depth is a multiple of 32
AUGUR_NN_AMX_TARGET inline void amx_split(const float* x, std::ptrdiff_t x_row, std::ptrdiff_t rows, std::ptrdiff_t k, std::ptrdiff_t depth,
                                          bf16* high, bf16* low) noexcept {
    const auto first = [](std::ptrdiff_t n) {
        return static_cast<__mmask16>(n >= 16 ? 0xFFFFU : n <= 0 ? 0U : (1U << static_cast<unsigned>(n)) - 1U);
    };
    for (std::ptrdiff_t r = 0; r < rows; ++r)
        for (std::ptrdiff_t c = 0; c < depth; c += 32) {
            const float* const from = x + r * x_row + c;
            const __m512 a = _mm512_maskz_loadu_ps(first(k - c), from), b = _mm512_maskz_loadu_ps(first(k - c - 16), from + 16);
            const __m512i upper = amx_narrow(a, b);
            const __m512 rest_a = _mm512_sub_ps(a, amx_widen(_mm512_maskz_extracti64x4_epi64(0xFF, upper, 0)));
            const __m512 rest_b = _mm512_sub_ps(b, amx_widen(_mm512_maskz_extracti64x4_epi64(0xFF, upper, 1)));
            _mm512_storeu_si512(high + r * depth + c, upper);
            _mm512_storeu_si512(low + r * depth + c, amx_narrow(rest_a, rest_b));
        }
}

AUGUR_NN_AMX_TARGET inline __m512 amx_load(const float* p) noexcept { return _mm512_loadu_ps(p); }
AUGUR_NN_AMX_TARGET inline __m512 amx_load(const bf16* p) noexcept { return amx_widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
AUGUR_NN_AMX_TARGET inline void amx_put(float* p, __m512 low, __m512 high) noexcept {
    _mm512_storeu_ps(p, low);
    _mm512_storeu_ps(p + 16, high);
}
AUGUR_NN_AMX_TARGET inline void amx_put(bf16* p, __m512 low, __m512 high) noexcept { _mm512_storeu_si512(p, amx_narrow(low, high)); }

/// y (rows, 32) <- sums + init, then max(., 0) if Positive, then + x if x is not null.
template <bool Positive, class T>
AUGUR_NN_AMX_TARGET void amx_finish(const float* sums, std::ptrdiff_t rows, const float* const* init, std::ptrdiff_t init_next,
                                    std::ptrdiff_t init_offset, const T* x, std::ptrdiff_t x_row, T* y, std::ptrdiff_t y_row) noexcept {
    for (std::ptrdiff_t r = 0; r < rows; ++r, sums += amx_columns, y += y_row) {
        const float* const from = init[r * init_next] + init_offset;
        __m512 low = _mm512_add_ps(_mm512_loadu_ps(sums), _mm512_loadu_ps(from));
        __m512 high = _mm512_add_ps(_mm512_loadu_ps(sums + 16), _mm512_loadu_ps(from + 16));
        if constexpr (Positive) { // max returns the second operand for NaN
            low = _mm512_maskz_max_ps(0xFFFF, _mm512_setzero_ps(), low);
            high = _mm512_maskz_max_ps(0xFFFF, _mm512_setzero_ps(), high);
        }
        if (x != nullptr) {
            low = _mm512_add_ps(low, amx_load(x + r * x_row));
            high = _mm512_add_ps(high, amx_load(x + r * x_row + 16));
        }
        amx_put(y, low, high);
    }
}
#undef AUGUR_NN_AMX_TARGET

} // namespace detail
#endif

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
