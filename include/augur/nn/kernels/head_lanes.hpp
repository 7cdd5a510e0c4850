// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_HEAD_LANES_HPP
#define AUGUR_NN_KERNELS_HEAD_LANES_HPP

/// @file
/// Attention weights with one SIMD lane per head: one fused multiply-add processes eight heads, without broadcasts and horizontal sums. AVX-512
/// processes two queries at a time with the same operations per lane, so it is bit-identical to AVX2.
///
/// A query or key of H heads of width d has the layout (G, d, 8) with G = ceil(H / 8) groups of heads; heads beyond H are zero. Scores and weights
/// are (query, key, 8 G).

#include <cmath>
#include <cstddef>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/exp.hpp>
#include <augur/nn/kernels/gemm.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

inline constexpr std::ptrdiff_t head_lanes = 8;
inline constexpr std::ptrdiff_t query_block = 4; ///< queries per block; memory and pointers are needed for whole blocks
inline constexpr std::ptrdiff_t key_block = 3;

/// Rounds n up to a multiple of `block`.
constexpr std::ptrdiff_t whole_blocks(std::ptrdiff_t n, std::ptrdiff_t block) noexcept { return (n + block - 1) / block * block; }

namespace detail {

struct generic_lanes {
    static constexpr int wide = 1; // queries in a vector
    struct vec {
        float x[8];
    };
    static vec load(const float* p, const float*) {
        vec v;
        for (int i = 0; i < 8; ++i) v.x[i] = p[i];
        return v;
    }
    static vec same(const float* p) { return load(p, p); } // for all queries
    static vec all(float a) {
        vec v;
        for (float& x : v.x) x = a;
        return v;
    }
    static vec fma(const vec& a, const vec& b, vec s) {
        for (int i = 0; i < 8; ++i) s.x[i] += a.x[i] * b.x[i];
        return s;
    }
    static vec add(vec a, const vec& b) {
        for (int i = 0; i < 8; ++i) a.x[i] += b.x[i];
        return a;
    }
    static vec subtract(vec a, const vec& b) {
        for (int i = 0; i < 8; ++i) a.x[i] -= b.x[i];
        return a;
    }
    static vec multiply(vec a, const vec& b) {
        for (int i = 0; i < 8; ++i) a.x[i] *= b.x[i];
        return a;
    }
    static vec divide(vec a, const vec& b) {
        for (int i = 0; i < 8; ++i) a.x[i] /= b.x[i];
        return a;
    }
    static vec larger(vec a, const vec& b) {
        for (int i = 0; i < 8; ++i) a.x[i] = a.x[i] > b.x[i] ? a.x[i] : b.x[i];
        return a;
    }
    static vec exp(vec a) {
        for (float& x : a.x) x = exp_nonpositive(x);
        return a;
    }
    static void store(float* p, float*, const vec& v) {
        for (int i = 0; i < 8; ++i) p[i] = v.x[i];
    }
};

#if AUGUR_X86
#define AUGUR_NN_OP __attribute__((target("avx2,fma"), always_inline)) static inline
struct avx2_lanes {
    static constexpr int wide = 1;
    using vec = __m256;
    AUGUR_NN_OP vec load(const float* p, const float*) { return _mm256_loadu_ps(p); }
    AUGUR_NN_OP vec same(const float* p) { return _mm256_loadu_ps(p); }
    AUGUR_NN_OP vec all(float a) { return _mm256_set1_ps(a); }
    AUGUR_NN_OP vec fma(vec a, vec b, vec s) { return _mm256_fmadd_ps(a, b, s); }
    AUGUR_NN_OP vec add(vec a, vec b) { return _mm256_add_ps(a, b); }
    AUGUR_NN_OP vec subtract(vec a, vec b) { return _mm256_sub_ps(a, b); }
    AUGUR_NN_OP vec multiply(vec a, vec b) { return _mm256_mul_ps(a, b); }
    AUGUR_NN_OP vec divide(vec a, vec b) { return _mm256_div_ps(a, b); }
    AUGUR_NN_OP vec larger(vec a, vec b) { return _mm256_max_ps(a, b); }
    AUGUR_NN_OP vec exp(vec a) { return exp_eight(a); }
    AUGUR_NN_OP void store(float* p, float*, vec v) { _mm256_storeu_ps(p, v); }
};
#undef AUGUR_NN_OP
#define AUGUR_NN_OP __attribute__((target("avx512f"), always_inline)) static inline
struct avx512_lanes {
    static constexpr int wide = 2;
    using vec = __m512;
    AUGUR_NN_OP vec load(const float* p, const float* next) {
        const __m512d low = _mm512_maskz_broadcast_f64x4(0xFF, _mm256_castps_pd(_mm256_loadu_ps(p)));
        return _mm512_castpd_ps(_mm512_mask_broadcast_f64x4(low, 0xF0, _mm256_castps_pd(_mm256_loadu_ps(next))));
    }
    AUGUR_NN_OP vec same(const float* p) { return _mm512_castpd_ps(_mm512_maskz_broadcast_f64x4(0xFF, _mm256_castps_pd(_mm256_loadu_ps(p)))); }
    AUGUR_NN_OP vec all(float a) { return _mm512_set1_ps(a); }
    AUGUR_NN_OP vec fma(vec a, vec b, vec s) { return _mm512_fmadd_ps(a, b, s); }
    AUGUR_NN_OP vec add(vec a, vec b) { return _mm512_add_ps(a, b); }
    AUGUR_NN_OP vec subtract(vec a, vec b) { return _mm512_sub_ps(a, b); }
    AUGUR_NN_OP vec multiply(vec a, vec b) { return _mm512_mul_ps(a, b); }
    AUGUR_NN_OP vec divide(vec a, vec b) { return _mm512_div_ps(a, b); }
    AUGUR_NN_OP vec larger(vec a, vec b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
    AUGUR_NN_OP vec exp(vec a) { return exp_sixteen(a); }
    AUGUR_NN_OP void store(float* p, float* next, vec v) {
        _mm256_storeu_pd(reinterpret_cast<double*>(p), _mm512_maskz_extractf64x4_pd(0xF, _mm512_castps_pd(v), 0));
        _mm256_storeu_pd(reinterpret_cast<double*>(next), _mm512_maskz_extractf64x4_pd(0xF, _mm512_castps_pd(v), 1));
    }
};
#undef AUGUR_NN_OP
#endif

// one body for all instruction sets, as in panel.hpp
#define AUGUR_NN_HEAD_LANES(prefix, P, attributes)                                                                                                   \
    template <int K>                                                                                                                                 \
    attributes void prefix##_block(const float* const* q, const float* const* next, const float* const* k, std::ptrdiff_t d, std::ptrdiff_t groups,  \
                                   float* out, std::ptrdiff_t out_row) {                                                                             \
        constexpr int A = 4 / P::wide;                                                                                                               \
        for (std::ptrdiff_t g = 0; g < groups; ++g) {                                                                                                \
            const std::ptrdiff_t from = g * d * 8;                                                                                                   \
            const float* const query[4] = {q[0] + from, q[1] + from, q[2] + from, q[3] + from};                                                      \
            const float* key[K];                                                                                                                     \
            AUGUR_UNROLL                                                                                                                             \
            for (int b = 0; b < K; ++b) key[b] = k[b] + from;                                                                                        \
            P::vec s[A][K];                                                                                                                          \
            AUGUR_UNROLL                                                                                                                             \
            for (int a = 0; a < A; ++a) {                                                                                                            \
                AUGUR_UNROLL                                                                                                                         \
                for (int b = 0; b < K; ++b) s[a][b] = P::all(0);                                                                                     \
            }                                                                                                                                        \
            for (std::ptrdiff_t c = 0; c < 8 * d; c += 8) {                                                                                          \
                if (c % 16 == 0) { /* rows of a table: the processor does not see where the next ones lie */                                         \
                    AUGUR_UNROLL                                                                                                                     \
                    for (int a = 0; a < 4; ++a) __builtin_prefetch(next[a] + from + c);                                                              \
                }                                                                                                                                    \
                P::vec y[K];                                                                                                                         \
                AUGUR_UNROLL                                                                                                                         \
                for (int b = 0; b < K; ++b) y[b] = P::same(key[b] + c);                                                                              \
                AUGUR_UNROLL                                                                                                                         \
                for (int a = 0; a < A; ++a) {                                                                                                        \
                    const P::vec x = P::load(query[a * P::wide] + c, query[a * P::wide + P::wide - 1] + c);                                          \
                    AUGUR_UNROLL                                                                                                                     \
                    for (int b = 0; b < K; ++b) s[a][b] = P::fma(x, y[b], s[a][b]);                                                                  \
                }                                                                                                                                    \
            }                                                                                                                                        \
            AUGUR_UNROLL                                                                                                                             \
            for (int a = 0; a < A; ++a) {                                                                                                            \
                float* const to = out + a * P::wide * out_row + g * 8;                                                                               \
                AUGUR_UNROLL                                                                                                                         \
                for (int b = 0; b < K; ++b) P::store(to + b * groups * 8, to + (P::wide - 1) * out_row + b * groups * 8, s[a][b]);                   \
            }                                                                                                                                        \
        }                                                                                                                                            \
    }                                                                                                                                                \
    attributes void prefix##_scores(const float* const* q, std::ptrdiff_t queries, const float* const* k, std::ptrdiff_t keys, std::ptrdiff_t d,     \
                                    std::ptrdiff_t groups, float* out, std::ptrdiff_t out_row) {                                                     \
        for (std::ptrdiff_t i = 0; i < queries; i += query_block) {                                                                                  \
            const float* const* const next = q + (i + query_block < queries ? i + query_block : i);                                                  \
            std::ptrdiff_t j = 0;                                                                                                                    \
            if constexpr (P::wide > 1) { /* as many sums as hide what one takes */                                                                   \
                for (; j + key_block < keys; j += 2 * key_block)                                                                                     \
                    prefix##_block<2 * key_block>(q + i, next, k + j, d, groups, out + i * out_row + j * groups * 8, out_row);                       \
            }                                                                                                                                        \
            for (; j < keys; j += key_block) prefix##_block<key_block>(q + i, next, k + j, d, groups, out + i * out_row + j * groups * 8, out_row);  \
        }                                                                                                                                            \
    }                                                                                                                                                \
    attributes void prefix##_soften(float* rows, std::ptrdiff_t count, std::ptrdiff_t stride, const float* times, std::ptrdiff_t keys,               \
                                    std::ptrdiff_t lanes, float* log_sums) {                                                                         \
        for (std::ptrdiff_t i = 0; i < count; i += P::wide)                                                                                          \
            for (std::ptrdiff_t g = 0; g < lanes; g += 8) {                                                                                          \
                float* const row = rows + i * stride + g;                                                                                            \
                const bool more = P::wide > 1 && i + 1 < count;                                                                                      \
                float* const next = more ? row + stride : row;                                                                                       \
                P::vec top = P::load(row, next);                                                                                                     \
                for (std::ptrdiff_t j = 1; j < keys; ++j) top = P::larger(P::load(row + j * lanes, next + j * lanes), top);                          \
                P::vec sum = P::all(0);                                                                                                              \
                for (std::ptrdiff_t j = 0; j < keys; ++j) {                                                                                          \
                    const P::vec e = P::multiply(P::exp(P::subtract(P::load(row + j * lanes, next + j * lanes), top)), P::all(times[j]));            \
                    sum = P::add(sum, e);                                                                                                            \
                    P::store(row + j * lanes, next + j * lanes, e);                                                                                  \
                }                                                                                                                                    \
                const P::vec share = P::divide(P::all(1), sum);                                                                                      \
                for (std::ptrdiff_t j = 0; j < keys; ++j)                                                                                            \
                    P::store(row + j * lanes, next + j * lanes, P::multiply(P::load(row + j * lanes, next + j * lanes), share));                     \
                if (log_sums == nullptr) continue;                                                                                                   \
                float tops[16], sums[16];                                                                                                            \
                P::store(tops, tops + 8, top);                                                                                                       \
                P::store(sums, sums + 8, sum);                                                                                                       \
                for (std::ptrdiff_t r = 0; r < (more ? 2 : 1); ++r)                                                                                  \
                    for (std::ptrdiff_t l = 0; l < 8; ++l) log_sums[(i + r) * lanes + g + l] = tops[8 * r + l] + std::log(sums[8 * r + l]);          \
            }                                                                                                                                        \
    }                                                                                                                                                \
    attributes void prefix##_soften_backward(const float* weights, float* rows, std::ptrdiff_t count, std::ptrdiff_t stride, std::ptrdiff_t keys,    \
                                             std::ptrdiff_t lanes, float scale) {                                                                    \
        for (std::ptrdiff_t i = 0; i < count; i += P::wide)                                                                                          \
            for (std::ptrdiff_t g = 0; g < lanes; g += 8) {                                                                                          \
                const std::ptrdiff_t more = P::wide > 1 && i + 1 < count ? stride : 0;                                                               \
                float* const row = rows + i * stride + g;                                                                                            \
                const float* const p = weights + i * stride + g;                                                                                     \
                P::vec mean = P::all(0);                                                                                                             \
                for (std::ptrdiff_t j = 0; j < keys * lanes; j += lanes)                                                                             \
                    mean = P::fma(P::load(p + j, p + j + more), P::load(row + j, row + j + more), mean);                                             \
                for (std::ptrdiff_t j = 0; j < keys * lanes; j += lanes) {                                                                           \
                    const P::vec off = P::subtract(P::load(row + j, row + j + more), mean);                                                          \
                    P::store(row + j, row + j + more, P::multiply(P::multiply(P::load(p + j, p + j + more), off), P::all(scale)));                   \
                }                                                                                                                                    \
            }                                                                                                                                        \
    }

AUGUR_NN_HEAD_LANES(generic, generic_lanes, inline)
#if AUGUR_X86
AUGUR_NN_HEAD_LANES(avx2, avx2_lanes, __attribute__((target("avx2,fma"))) inline)
AUGUR_NN_HEAD_LANES(avx512, avx512_lanes, __attribute__((target("avx512f"))) inline)
#endif
#undef AUGUR_NN_HEAD_LANES

} // namespace detail

/// Kernels of the attention weights: scores, softmax over keys, and its backward pass.
struct head_lane_kernels {
    /// out (queries, keys, 8 groups) <- q k. Pointers and memory must be padded to whole blocks: queries to a multiple of 4, keys to a multiple of 3.
    void (*scores)(const float* const* q, std::ptrdiff_t queries, const float* const* k, std::ptrdiff_t keys, std::ptrdiff_t d, std::ptrdiff_t groups,
                   float* out, std::ptrdiff_t out_row);
    /// Softmax in place of each of `count` rows (keys, lanes) of scores with row stride `stride`, where key j has multiplicity times[j].
    /// log_sums (count, lanes) <- log(sum of times[j] e^score), unless null.   pre: keys > 0
    void (*soften)(float* rows, std::ptrdiff_t count, std::ptrdiff_t stride, const float* times, std::ptrdiff_t keys, std::ptrdiff_t lanes,
                   float* log_sums);
    /// rows <- dL/d(unscaled score), given dL/d(weight) in `rows` and the softmax weights in `weights`; the scores were multiplied by `scale`. Both
    /// are (count, keys, lanes) with row stride `stride`.
    void (*soften_backward)(const float* weights, float* rows, std::ptrdiff_t count, std::ptrdiff_t stride, std::ptrdiff_t keys, std::ptrdiff_t lanes,
                            float scale);
};

/// Returns the kernels of an instruction set.   pre: the CPU has `level`
inline head_lane_kernels head_lane_functions(isa level = best_isa()) {
#if AUGUR_X86
    if (level == isa::avx512) return {&detail::avx512_scores, &detail::avx512_soften, &detail::avx512_soften_backward};
    if (level == isa::avx2) return {&detail::avx2_scores, &detail::avx2_soften, &detail::avx2_soften_backward};
#endif
    (void)level;
    return {&detail::generic_scores, &detail::generic_soften, &detail::generic_soften_backward};
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
