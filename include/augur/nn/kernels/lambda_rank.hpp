// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_LAMBDA_RANK_HPP
#define AUGUR_NN_KERNELS_LAMBDA_RANK_HPP

/// @file
/// LambdaRank kernel: loss and gradient of all pairs with one item, in double.

#include <cstddef>

#include <augur/nn/kernels/gemm.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

/// Items sorted by score, highest first, padded to a multiple of `lambda_lanes` with items of discount 1.
struct ranked_items {
    const double* score;
    const double* power;    ///< e^(score - base), the base at least the score
    const double* gain;     ///< (2^y - 1) / maxDCG
    const double* discount; ///< 1 / log2(1 + rank), falling
};

inline constexpr std::ptrdiff_t lambda_lanes = 8;

namespace detail {

// Vector extensions of gcc and clang in a macro, so that the enclosing function's instruction set applies; a template would be lowered too early.
//
// e = e^-|s_a - s_b|; log(1 + e) = log(1 + f) [+ log 2] with f = e, or (e - 1) / 2 where e > sqrt(2) - 1, as 2 s + s R(s^2), s = f / (2 + f), and R
// of fdlibm's e_log.c; 1 / (1 + e) comes from the same division. A pair with an item that stands higher, or with padding, has no weight.
#define AUGUR_NN_LAMBDA_PAIRS(LANES)                                                                                                                 \
    typedef double lanes __attribute__((vector_size((LANES) * sizeof(double)), aligned(alignof(double)), may_alias));                                \
    constexpr double most = 33.219280948873623479; /* -log2(1e-10) */                                                                                \
    constexpr double log2_e = 1.4426950408889634074;                                                                                                 \
    const double share = 1 / items.power[a];                                                                                                         \
    const lanes zero = {}, one = zero + 1, ceiling = zero + most, log_2 = zero + 0.69314718055994530942, bend = zero + 0.41421356237309503;          \
    const lanes score = zero + items.score[a], gain = zero + items.gain[a], discount = zero + items.discount[a];                                     \
    lanes loss = {}, own = {};                                                                                                                       \
    for (std::ptrdiff_t b = (a + 1) / (LANES) * (LANES); b < n; b += (LANES)) {                                                                      \
        const lanes gap = gain - *reinterpret_cast<const lanes*>(items.gain + b);                                                                    \
        const lanes fall = discount - *reinterpret_cast<const lanes*>(items.discount + b);                                                           \
        const lanes w = (fall > zero ? fall : zero) * (gap > zero ? gap : -gap);                                                                     \
        const lanes ratio = *reinterpret_cast<const lanes*>(items.power + b) * share;                                                                \
        const lanes e = ratio < one ? ratio : one;                                                                                                   \
        const lanes sum = one + e;                                                                                                                   \
        const lanes above = e > bend ? e - one : e;                                                                                                  \
        const lanes below = (e > bend ? one + one : one) + sum;                                                                                      \
        const lanes both = one / (sum * below);                                                                                                      \
        const lanes inverse = below * both; /* 1 / (1 + e) */                                                                                        \
        const lanes s = above * (sum * both), z = s * s;                                                                                             \
        lanes r = zero + 1.479819860511658591e-01;                                                                                                   \
        r = r * z + 1.531383769920937332e-01;                                                                                                        \
        r = r * z + 1.818357216161805012e-01;                                                                                                        \
        r = r * z + 2.222219843214978396e-01;                                                                                                        \
        r = r * z + 2.857142874366239149e-01;                                                                                                        \
        r = r * z + 3.999999999940941908e-01;                                                                                                        \
        r = r * z + 6.666666666666735130e-01;                                                                                                        \
        const lanes log = (s * (r * z) + (s + s)) + (e > bend ? log_2 : zero);                                                                       \
        const lanes bits = ((gap > zero ? zero : score - *reinterpret_cast<const lanes*>(items.score + b)) + log) * log2_e; /* -log2 sigmoid */      \
        const lanes wrong = gap > zero ? e * inverse : inverse;                                                             /* 1 - sigmoid */        \
        const lanes term = w * (bits < ceiling ? bits : ceiling);                                                                                    \
        const lanes pull = w * log2_e * wrong;                                                                                                       \
        const lanes held = bits > ceiling ? zero : term > ceiling ? zero : pull; /* clamped: no gradient */                                          \
        const lanes lambda = gap > zero ? held : -held;                                                                                              \
        loss += term < ceiling ? term : ceiling;                                                                                                     \
        own -= lambda;                                                                                                                               \
        *reinterpret_cast<lanes*>(gradient + b) += lambda;                                                                                           \
    }                                                                                                                                                \
    double total = 0, pulled = 0;                                                                                                                    \
    for (int j = 0; j < (LANES); ++j) {                                                                                                              \
        total += loss[j];                                                                                                                            \
        pulled += own[j];                                                                                                                            \
    }                                                                                                                                                \
    gradient[a] += pulled;                                                                                                                           \
    return total;

inline double lambda_pairs_generic(const ranked_items& items, std::ptrdiff_t a, std::ptrdiff_t n, double* gradient) noexcept {
    AUGUR_NN_LAMBDA_PAIRS(2)
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) inline double lambda_pairs_avx2(const ranked_items& items, std::ptrdiff_t a, std::ptrdiff_t n,
                                                                    double* gradient) noexcept {
    AUGUR_NN_LAMBDA_PAIRS(4)
}
__attribute__((target("avx512f"))) inline double lambda_pairs_avx512(const ranked_items& items, std::ptrdiff_t a, std::ptrdiff_t n,
                                                                     double* gradient) noexcept {
    AUGUR_NN_LAMBDA_PAIRS(8)
}
#endif
#undef AUGUR_NN_LAMBDA_PAIRS

} // namespace detail

/// The loss of the pairs of item `a` with the items ranked below it; gradient (n) += its derivative by the scores.
///
/// @param n  items with the padding, a multiple of `lambda_lanes`; gradient has as many
/// @note     pre: power[a] is not 0
inline double lambda_pairs(const ranked_items& items, std::ptrdiff_t a, std::ptrdiff_t n, double* gradient, isa level = best_isa()) noexcept {
#if defined(__x86_64__)
    if (level == isa::avx512) return detail::lambda_pairs_avx512(items, a, n, gradient);
    if (level == isa::avx2) return detail::lambda_pairs_avx2(items, a, n, gradient);
#endif
    (void)level;
    return detail::lambda_pairs_generic(items, a, n, gradient);
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
