// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_CODEGEN_GENERATED_PROGRAM_HPP
#define AUGUR_LOOPNEST_CODEGEN_GENERATED_PROGRAM_HPP

/// @file
/// A generated C program and its buffers: the interface between code generation and the runner.

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace augur::inline v0::loopnest {

/// One float32 buffer of a kernel, in argument order.
struct program_buffer {
    enum class role : std::uint8_t {
        input,   ///< the runner fills it with pseudo-random numbers before the first call
        weight,  ///< as input, but constant over calls; only the packing function reads it if `packed` buffers exist
        packed,  ///< a weight in the layout of this schedule; the packing function writes it once
        scratch, ///< an intermediate at the root
        output,  ///< compared with the reference output
    };
    role purpose{};
    std::int64_t elements = 0;
    std::uint64_t fill = 0; ///< number of the pseudo-random stream; equal numbers give equal contents in every program of the task
    double low = -1;        ///< inputs are uniform in [low, high)
    double high = 1;
    /// Of an input or weight: where its numbers begin in the file `generated_program::contents`, in bytes; -1: it is filled.
    std::int64_t offset = -1;
};

/// One kernel as C. `source` defines these functions; code generation chooses their names:
///
/// ```c
/// void <entry>(float *const *buffers, void (*launch)(void (*body)(void *, int64_t, int64_t), void *context, int64_t n));
/// void <pack_entry>(float *const *buffers);                                  // if pack_entry is not empty
/// ```
///
/// `launch` runs body(context, begin, end) over a partition of [0, n) on the runner's threads and returns after the last part.
/// `buffers` are distinct, 64-byte aligned, in the order of `buffers` below. The source needs only <stdint.h> and <math.h>. Several programs with
/// different entries can be concatenated into one translation unit after one `program_prelude`.
struct generated_program {
    std::string source;
    std::string entry;
    std::string pack_entry;
    std::vector<program_buffer> buffers;
    double flops = 0;       ///< floating-point operations of the workload, for reports
    int kernels = 1;        ///< that the source has: the limits of a compilation are for one
    std::string contents{}; ///< path of a file with float32 in the machine's byte order, for buffers with an offset; empty: none has one
};

/// The common C code at the start of a translation unit; the sources of its programs follow.
inline constexpr std::string_view program_prelude = R"(#include <stdint.h>
#include <math.h>
typedef void (*aug_body)(void *, int64_t, int64_t);
typedef void (*aug_launch)(aug_body, void *, int64_t);
#define AUG_INLINE static inline __attribute__((always_inline, unused))
AUG_INLINE int64_t aug_div(int64_t a, int64_t b) { int64_t q = a / b; return a % b < 0 ? q - 1 : q; }
AUG_INLINE int64_t aug_mod(int64_t a, int64_t b) { int64_t r = a % b; return r < 0 ? r + b : r; }
AUG_INLINE float aug_max1(float a, float b) { return a > b ? a : b; }
AUG_INLINE float aug_min1(float a, float b) { return a < b ? a : b; }
AUG_INLINE float aug_sqrt1(float a) { return sqrtf(a); }
/* The second operand of max and min may be NaN. The low bits of n have the bias of the exponent, so k << 23 is 2^n, or 0 for the least n. Only n has
   an upper limit: the rest of x makes the result infinite. */
AUG_INLINE float aug_exp1(float x) {
    x = aug_max1(-88.0f, x);
    float n = aug_min1(88.3f, x) * 1.44269504f + 12583039.0f; uint32_t k; __builtin_memcpy(&k, &n, 4); n -= 12583039.0f;
    x = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = ((1.9875691500e-4f * x + 1.3981999507e-3f) * x + 8.3334519073e-3f) * x + 4.1665795894e-2f;
    p = (p * x + 1.6666665459e-1f) * x + 5.0000001201e-1f;
    p = p * x * x + x + 1.0f;
    k <<= 23; __builtin_memcpy(&n, &k, 4); return p * n;
}
AUG_INLINE float aug_tanh1(float x) {
    float a = x < 0 ? -x : x, e = aug_exp1(-2.0f * a);
    float t = a < 0.02f ? a - a * a * a * 0.33333333f : (1.0f - e) / (1.0f + e);
    return x < 0 ? -t : t;
}
AUG_INLINE float aug_erf1(float x) {
    float a = x < 0 ? -x : x; float t = 1.0f / (1.0f + 0.3275911f * a);
    float y = 1.0f - ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t * aug_exp1(-a * a);
    return x < 0 ? -y : y;
}
static float aug_zero[4096] __attribute__((unused));
static const float aug_lowest[4096] __attribute__((unused)) = {[0 ... 4095] = -3.402823466e+38f};
#if defined(__x86_64__) && !defined(__clang__) /* gcc would read it from memory again for each use; only what one register holds */
#define AUG_HOLD(x) __asm__("" : "+v"(x))
#else
#define AUG_HOLD(x) ((void)0)
#endif
#define AUG_FORGET __asm__ volatile("" ::: "memory") /* what was read before is read again */
#define aug_hold4 AUG_HOLD
#ifdef __AVX__
#define aug_hold8 AUG_HOLD
#else
#define aug_hold8(x) ((void)0)
#endif
#ifdef __AVX512F__
#define aug_hold16 AUG_HOLD
#else
#define aug_hold16(x) ((void)0)
#endif
#define AUG_MAX2(a, b) aug_pick2(a > b, a, b)
#define AUG_MIN2(a, b) aug_pick2(a < b, a, b)
#if defined(__x86_64__) && !defined(__clang__) /* gcc compares and blends where one instruction does; clang sees it */
#define AUG_MAX4(a, b) __builtin_ia32_maxps(a, b)
#define AUG_MIN4(a, b) __builtin_ia32_minps(a, b)
#else
#define AUG_MAX4(a, b) aug_pick4(a > b, a, b)
#define AUG_MIN4(a, b) aug_pick4(a < b, a, b)
#endif
#if defined(__AVX__) && !defined(__clang__)
#define AUG_MAX8(a, b) __builtin_ia32_maxps256(a, b)
#define AUG_MIN8(a, b) __builtin_ia32_minps256(a, b)
#else
#define AUG_MAX8(a, b) aug_pick8(a > b, a, b)
#define AUG_MIN8(a, b) aug_pick8(a < b, a, b)
#endif
#if defined(__AVX512F__) && !defined(__clang__)
#define AUG_MAX16(a, b) __builtin_ia32_maxps512_mask(a, b, a, (uint16_t)-1, 4)
#define AUG_MIN16(a, b) __builtin_ia32_minps512_mask(a, b, a, (uint16_t)-1, 4)
#else
#define AUG_MAX16(a, b) aug_pick16(a > b, a, b)
#define AUG_MIN16(a, b) aug_pick16(a < b, a, b)
#endif
#define AUG_VECTOR(N, B) \
    typedef float aug_v##N __attribute__((vector_size(B), may_alias)); \
    typedef float aug_u##N __attribute__((vector_size(B), aligned(4), may_alias)); \
    typedef int32_t aug_i##N __attribute__((vector_size(B))); \
    AUG_INLINE aug_v##N aug_load##N(const float *p) { return *(const aug_u##N *)p; } \
    AUG_INLINE void aug_store##N(float *p, aug_v##N x) { *(aug_u##N *)p = x; } \
    AUG_INLINE aug_v##N aug_pick##N(aug_i##N m, aug_v##N a, aug_v##N b) { return (aug_v##N)((m & (aug_i##N)a) | (~m & (aug_i##N)b)); } \
    AUG_INLINE aug_v##N aug_set##N(float x) { return x - (aug_v##N){}; } \
    AUG_INLINE aug_v##N aug_max##N(aug_v##N a, aug_v##N b) { return AUG_MAX##N(a, b); } \
    AUG_INLINE aug_v##N aug_min##N(aug_v##N a, aug_v##N b) { return AUG_MIN##N(a, b); } \
    AUG_INLINE aug_v##N aug_sqrt##N(aug_v##N a) { for (int i = 0; i < N; ++i) a[i] = sqrtf(a[i]); return a; } \
    AUG_INLINE aug_v##N aug_exp##N(aug_v##N x) { \
        x = aug_max##N(aug_set##N(-88.0f), x); \
        aug_v##N n = aug_min##N(aug_set##N(88.3f), x) * 1.44269504f + 12583039.0f; aug_i##N k = (aug_i##N)n; n -= 12583039.0f; \
        x = x - n * 0.693359375f + n * 2.12194440e-4f; \
        aug_v##N p = ((1.9875691500e-4f * x + 1.3981999507e-3f) * x + 8.3334519073e-3f) * x + 4.1665795894e-2f; \
        p = (p * x + 1.6666665459e-1f) * x + 5.0000001201e-1f; \
        p = p * x * x + x + 1.0f; \
        return p * (aug_v##N)(k << 23); } \
    AUG_INLINE aug_v##N aug_tanh##N(aug_v##N x) { aug_v##N a = aug_max##N(x, -x), e = aug_exp##N(-2.0f * a); \
        aug_v##N t = aug_pick##N(a < 0.02f, a - a * a * a * 0.33333333f, (1.0f - e) / (1.0f + e)); return aug_pick##N(x < 0.0f, -t, t); } \
    AUG_INLINE aug_v##N aug_erf##N(aug_v##N x) { aug_v##N a = aug_max##N(x, -x), t = 1.0f / (1.0f + 0.3275911f * a); \
        aug_v##N y = ((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f; \
        y = 1.0f - (y * t + 0.254829592f) * t * aug_exp##N(-a * a); \
        return aug_pick##N(x < 0.0f, -y, y); }
AUG_VECTOR(2, 8)
AUG_VECTOR(4, 16)
AUG_VECTOR(8, 32)
AUG_VECTOR(16, 64)
#if defined(__AVX512VL__) && !defined(__clang__) && __GNUC__ < 14 /* GCC bug 110309: a masked load with a constant mask reads the whole vector */
#define AUG_BRANCH ({ __asm__ volatile(""); 1; }) /* what follows it does not become masked loads */
#else
#define AUG_BRANCH 1
#endif
AUG_INLINE int64_t aug_lane(int64_t i, int64_t lanes) { return i < 0 ? 0 : i > lanes ? lanes : i; }
AUG_INLINE uint32_t aug_lanes(int64_t low, int64_t high, int64_t lanes) { /* a bit for each from low to high, without high */
    return ((1u << aug_lane(high, lanes)) - 1) & ~((1u << aug_lane(low, lanes)) - 1); }
#define AUG_LOAD_MASK(N) /* the lanes of the mask from memory; nothing is read for the others */ \
    AUG_INLINE aug_v##N aug_load_mask##N(const float *p, uint32_t mask, float other) { \
        aug_v##N x = aug_set##N(other); \
        for (int i = 0; i < N; ++i) if (mask >> i & 1) x[i] = p[i]; \
        return x; }
#define AUG_LOAD_MASKED(N, LOAD) \
    AUG_INLINE aug_v##N aug_load_mask##N(const float *p, uint32_t mask, float other) { return (aug_v##N)LOAD(p, aug_set##N(other), mask); }
AUG_LOAD_MASK(2)
#ifdef __AVX512VL__
AUG_LOAD_MASKED(4, __builtin_ia32_loadups128_mask)
AUG_LOAD_MASKED(8, __builtin_ia32_loadups256_mask)
#elif defined(__AVX__)
#define AUG_LOAD_MASKED_AVX(N, LOAD, ...) \
    AUG_INLINE aug_v##N aug_load_mask##N(const float *p, uint32_t bits, float other) { \
        aug_i##N lane = {__VA_ARGS__}, one = 1 << lane, mask = ((int32_t)bits & one) == one; \
        aug_v##N x = (aug_v##N)LOAD((const aug_v##N *)p, mask); /* 0 in the other lanes */ \
        return other == 0 ? x : aug_pick##N(mask, x, aug_set##N(other)); }
AUG_LOAD_MASKED_AVX(4, __builtin_ia32_maskloadps, 0, 1, 2, 3)
AUG_LOAD_MASKED_AVX(8, __builtin_ia32_maskloadps256, 0, 1, 2, 3, 4, 5, 6, 7)
#else
AUG_LOAD_MASK(4)
AUG_LOAD_MASK(8)
#endif
#ifdef __AVX512F__
AUG_LOAD_MASKED(16, __builtin_ia32_loadups512_mask)
#else
AUG_LOAD_MASK(16)
#endif
#if defined(__x86_64__) && !defined(__clang__)
AUG_INLINE uint32_t aug_mask(uint32_t lanes) { __asm__("" : "+r"(lanes)); return lanes; } /* which gcc does not know, see AUG_BRANCH */
#else
#define aug_mask(lanes) (lanes)
#endif
#define AUG_STORE_MASK(N) \
    AUG_INLINE void aug_store_mask##N(float *p, uint32_t mask, aug_v##N x) { for (int i = 0; i < N; ++i) if (mask >> i & 1) p[i] = x[i]; }
#ifdef __AVX512VL__
AUG_INLINE void aug_store_mask4(float *p, uint32_t mask, aug_v4 x) { __builtin_ia32_storeups128_mask((void *)p, x, mask); }
AUG_INLINE void aug_store_mask8(float *p, uint32_t mask, aug_v8 x) { __builtin_ia32_storeups256_mask((void *)p, x, mask); }
AUG_INLINE void aug_store_mask16(float *p, uint32_t mask, aug_v16 x) { __builtin_ia32_storeups512_mask((void *)p, x, mask); }
#else
AUG_STORE_MASK(4)
AUG_STORE_MASK(8)
AUG_STORE_MASK(16)
#endif
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
#define AUG_SHUFFLE(N, a, b, ...) ((aug_v##N)__builtin_shufflevector(a, b, __VA_ARGS__))
#else
#define AUG_SHUFFLE(N, a, b, ...) ((aug_v##N)__builtin_shuffle(a, b, (aug_i##N){__VA_ARGS__}))
#endif
#define aug_zip_low2(a, b) AUG_SHUFFLE(2, a, b, 0, 2)
#define aug_zip_high2(a, b) AUG_SHUFFLE(2, a, b, 1, 3)
#define aug_zip_low4(a, b) AUG_SHUFFLE(4, a, b, 0, 4, 1, 5)
#define aug_zip_high4(a, b) AUG_SHUFFLE(4, a, b, 2, 6, 3, 7)
#define aug_zip_low8(a, b) AUG_SHUFFLE(8, a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define aug_zip_high8(a, b) AUG_SHUFFLE(8, a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define aug_zip_low16(a, b) AUG_SHUFFLE(16, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define aug_zip_high16(a, b) AUG_SHUFFLE(16, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define aug_unzip_even2 aug_zip_low2
#define aug_unzip_odd2 aug_zip_high2
#define aug_unzip_even4(a, b) AUG_SHUFFLE(4, a, b, 0, 2, 4, 6)
#define aug_unzip_odd4(a, b) AUG_SHUFFLE(4, a, b, 1, 3, 5, 7)
#define aug_apart_even8(a, b) AUG_SHUFFLE(8, a, b, 0, 2, 8, 10, 4, 6, 12, 14)
#define aug_apart_odd8(a, b) AUG_SHUFFLE(8, a, b, 1, 3, 9, 11, 5, 7, 13, 15)
AUG_INLINE aug_v8 aug_inner_halves8(aug_v8 a) { return AUG_SHUFFLE(8, a, a, 0, 1, 4, 5, 2, 3, 6, 7); }
#if defined(__AVX2__) && !defined(__AVX512VL__) /* within the halves, then the halves: two instructions, where gcc takes three and two constants */
#define aug_unzip_even8(a, b) aug_inner_halves8(aug_apart_even8(a, b))
#define aug_unzip_odd8(a, b) aug_inner_halves8(aug_apart_odd8(a, b))
#else
#define aug_unzip_even8(a, b) AUG_SHUFFLE(8, a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define aug_unzip_odd8(a, b) AUG_SHUFFLE(8, a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#endif
#define aug_unzip_even16(a, b) AUG_SHUFFLE(16, a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define aug_unzip_odd16(a, b) AUG_SHUFFLE(16, a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define aug_low_words8(a, b) AUG_SHUFFLE(8, a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define aug_high_words8(a, b) AUG_SHUFFLE(8, a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define aug_low_pairs8(a, b) AUG_SHUFFLE(8, a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define aug_high_pairs8(a, b) AUG_SHUFFLE(8, a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define aug_low_halves8(a, b) AUG_SHUFFLE(8, a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define aug_high_halves8(a, b) AUG_SHUFFLE(8, a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define aug_store_part4_2(p, x, i) aug_store2(p, ((const aug_v2 *)&(x))[i])
#define aug_store_part8_2(p, x, i) aug_store2(p, ((const aug_v2 *)&(x))[i])
#define aug_store_part8_4(p, x, i) aug_store4(p, ((const aug_v4 *)&(x))[i])
#define aug_store_part16_2(p, x, i) aug_store2(p, ((const aug_v2 *)&(x))[i])
#define aug_store_part16_4(p, x, i) aug_store4(p, ((const aug_v4 *)&(x))[i])
#define aug_store_part16_8(p, x, i) aug_store8(p, ((const aug_v8 *)&(x))[i])
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
#define AUG_BOTH4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)
#define AUG_BOTH8(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define AUG_BOTH16(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define AUG_BOTH4(a, b) ((union { aug_v2 half[2]; aug_v4 whole; }){{a, b}}.whole)
#define AUG_BOTH8(a, b) ((union { aug_v4 half[2]; aug_v8 whole; }){{a, b}}.whole)
#define AUG_BOTH16(a, b) ((union { aug_v8 half[2]; aug_v16 whole; }){{a, b}}.whole)
#endif
#define AUG_JOIN(N, H, B) \
    AUG_INLINE aug_v##N aug_load##N##_##B(const float *const *p) { return AUG_BOTH##N(aug_load##H##_##B(p), aug_load##H##_##B(p + H / B)); }
AUG_INLINE aug_v2 aug_load2_2(const float *const *p) { return aug_load2(*p); }
AUG_INLINE aug_v4 aug_load4_4(const float *const *p) { return aug_load4(*p); }
AUG_INLINE aug_v8 aug_load8_8(const float *const *p) { return aug_load8(*p); }
AUG_JOIN(4, 2, 2)
AUG_JOIN(8, 4, 2)
AUG_JOIN(8, 4, 4)
AUG_JOIN(16, 8, 2)
AUG_JOIN(16, 8, 4)
AUG_JOIN(16, 8, 8)
#define AUG_FOLD(NAME, OP, N, H) \
    AUG_INLINE float aug_fold_##NAME##N(aug_v##N a) { \
        aug_v##H half[2]; __builtin_memcpy(half, &a, sizeof a); return aug_fold_##NAME##H(OP##H(half[0], half[1])); }
#define AUG_FOLDS(NAME, OP) \
    AUG_INLINE float aug_fold_##NAME##2(aug_v2 a) { return OP##1(a[0], a[1]); } \
    AUG_FOLD(NAME, OP, 4, 2) AUG_FOLD(NAME, OP, 8, 4) AUG_FOLD(NAME, OP, 16, 8)
#define aug_add1(a, b) ((a) + (b))
#define aug_add2(a, b) ((a) + (b))
#define aug_add4(a, b) ((a) + (b))
#define aug_add8(a, b) ((a) + (b))
AUG_FOLDS(sum, aug_add)
AUG_FOLDS(max, aug_max)
AUG_FOLDS(min, aug_min)
)";

/// Element i of an input or weight, identical on every machine. The index and the key of the stream go through a 32-bit mixer (the finaliser of
/// MurmurHash3); the upper 24 bits are a fraction, scaled by one fused multiply-add.
inline float program_input_value(const program_buffer& b, std::int64_t i) noexcept {
    const auto at = static_cast<std::uint64_t>(i);
    std::uint32_t x = static_cast<std::uint32_t>(at) ^ static_cast<std::uint32_t>(mix64(b.fill + (at >> 32U) * 0x100000001B3ULL));
    x = (x ^ (x >> 16U)) * 0x85EBCA6BU;
    x = (x ^ (x >> 13U)) * 0xC2B2AE35U;
    x ^= x >> 16U;
    return std::fma(static_cast<float>(b.high - b.low), static_cast<float>(x >> 8U) * 0x1p-24F, static_cast<float>(b.low));
}

} // namespace augur::inline v0::loopnest

#endif
