// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_ELEMENTWISE_HPP
#define AUGUR_NN_KERNELS_ELEMENTWISE_HPP

/// @file
/// Elementwise float kernels, vectorised at run time independent of the compiler flags. No element depends on another, so only the results of `adam`,
/// GELU, products and `layer_norm` may differ between instruction sets, by rounding.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <augur/nn/kernels/bf16.hpp>
#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/kernels/simd_kernel.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

// x <- max(x, 0); a NaN stays NaN, so that an invalid score is detected
#define AUGUR_NN_RELU(LANES)                                                                                                                         \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    const lanes zero = {};                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) AUGUR_NN_WRITE(x + i) = AUGUR_NN_READ(x + i) < zero ? zero : AUGUR_NN_READ(x + i);                        \
    for (; i < n; ++i) x[i] = x[i] < 0 ? 0 : x[i];
AUGUR_NN_KERNEL(void, relu, AUGUR_NN_RELU, (float* x, std::ptrdiff_t n), x, n)

// to <- from if y > 0, else 0; `to` may be `from`
#define AUGUR_NN_RELU_BACKWARD(LANES)                                                                                                                \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    const lanes zero = {};                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) AUGUR_NN_WRITE(to + i) = AUGUR_NN_READ(y + i) > zero ? AUGUR_NN_READ(from + i) : zero;                    \
    for (; i < n; ++i) to[i] = y[i] > 0 ? from[i] : 0;
AUGUR_NN_KERNEL(void, relu_backward, AUGUR_NN_RELU_BACKWARD, (const float* y, const float* from, float* to, std::ptrdiff_t n), y, from, to, n)

// to <- to + x
#define AUGUR_NN_ADD(LANES)                                                                                                                          \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) AUGUR_NN_WRITE(to + i) += AUGUR_NN_READ(x + i);                                                           \
    for (; i < n; ++i) to[i] += x[i];
AUGUR_NN_KERNEL(void, add, AUGUR_NN_ADD, (const float* x, float* to, std::ptrdiff_t n), x, to, n)

// x <- x * factor
#define AUGUR_NN_SCALE(LANES)                                                                                                                        \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) AUGUR_NN_WRITE(x + i) *= factor;                                                                          \
    for (; i < n; ++i) x[i] *= factor;
AUGUR_NN_KERNEL(void, scale, AUGUR_NN_SCALE, (float factor, float* x, std::ptrdiff_t n), factor, x, n)

// hidden <- max(hidden, 0), y <- hidden + x
#define AUGUR_NN_RELU_ADD(LANES)                                                                                                                     \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    const lanes zero = {};                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) {                                                                                                         \
        const lanes h = AUGUR_NN_READ(hidden + i) < zero ? zero : AUGUR_NN_READ(hidden + i);                                                         \
        AUGUR_NN_WRITE(hidden + i) = h;                                                                                                              \
        AUGUR_NN_WRITE(y + i) = h + AUGUR_NN_READ(x + i);                                                                                            \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        hidden[i] = hidden[i] < 0 ? 0 : hidden[i];                                                                                                   \
        y[i] = hidden[i] + x[i];                                                                                                                     \
    }
AUGUR_NN_KERNEL(void, relu_add, AUGUR_NN_RELU_ADD, (const float* x, float* hidden, float* y, std::ptrdiff_t n), x, hidden, y, n)

// sums (cols) <- sums + rows of x (rows, cols), added in order
#define AUGUR_NN_ADD_ROWS(LANES)                                                                                                                     \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= cols; i += (LANES)) {                                                                                                      \
        lanes sum = AUGUR_NN_READ(sums + i);                                                                                                         \
        for (std::ptrdiff_t r = 0; r < rows; ++r) sum += AUGUR_NN_READ(x + r * stride + i);                                                          \
        AUGUR_NN_WRITE(sums + i) = sum;                                                                                                              \
    }                                                                                                                                                \
    for (; i < cols; ++i)                                                                                                                            \
        for (std::ptrdiff_t r = 0; r < rows; ++r) sums[i] += x[r * stride + i];
AUGUR_NN_KERNEL(void, add_rows, AUGUR_NN_ADD_ROWS, (const float* x, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t cols, float* sums), x,
                stride, rows, cols, sums)

// to <- y (to - shift) scale: gradient through a softmax row with weights y
#define AUGUR_NN_SOFTMAX_BACKWARD(LANES)                                                                                                             \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) AUGUR_NN_WRITE(to + i) = AUGUR_NN_READ(y + i) * (AUGUR_NN_READ(to + i) - shift) * scale;                  \
    for (; i < n; ++i) to[i] = y[i] * (to[i] - shift) * scale;
AUGUR_NN_KERNEL(void, softmax_backward, AUGUR_NN_SOFTMAX_BACKWARD, (const float* y, float shift, float scale, float* to, std::ptrdiff_t n), y, shift,
                scale, to, n)

// x <- min((x - max(x)) scale, 0): exponents of a softmax row
#define AUGUR_NN_SOFTMAX_SHIFT(LANES)                                                                                                                \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    const lanes zero = {};                                                                                                                           \
    float top = x[0];                                                                                                                                \
    std::ptrdiff_t i = 0;                                                                                                                            \
    if (n >= (LANES)) {                                                                                                                              \
        lanes most = AUGUR_NN_READ(x);                                                                                                               \
        for (i = (LANES); i + (LANES) <= n; i += (LANES)) most = AUGUR_NN_READ(x + i) > most ? AUGUR_NN_READ(x + i) : most;                          \
        for (int j = 0; j < (LANES); ++j) top = most[j] > top ? most[j] : top;                                                                       \
    }                                                                                                                                                \
    for (; i < n; ++i) top = x[i] > top ? x[i] : top;                                                                                                \
    for (i = 0; i + (LANES) <= n; i += (LANES)) {                                                                                                    \
        const lanes below = (AUGUR_NN_READ(x + i) - top) * scale;                                                                                    \
        AUGUR_NN_WRITE(x + i) = below > zero ? zero : below;                                                                                         \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        const float below = (x[i] - top) * scale;                                                                                                    \
        x[i] = below > 0 ? 0 : below;                                                                                                                \
    }
AUGUR_NN_KERNEL(void, softmax_shift, AUGUR_NN_SOFTMAX_SHIFT, (float scale, float* x, std::ptrdiff_t n), scale, x, n)

// lanes of numbers at P, bf16 as floats
#define AUGUR_NN_FLOATS(P) AUGUR_NN_READ(P)
#define AUGUR_NN_HALF_LANES(LANES)                                                                                                                   \
    typedef std::uint16_t halves __attribute__((vector_size((LANES) * sizeof(std::uint16_t)), aligned(alignof(std::uint16_t)), may_alias));          \
    typedef std::uint32_t words __attribute__((vector_size((LANES) * sizeof(std::uint32_t))))
#define AUGUR_NN_HALVES(P) reinterpret_cast<lanes>(__builtin_convertvector(*reinterpret_cast<const halves*>(P), words) << 16)

// y (n) <- [y +] x (k) b (k, n): one row, without packing b, behind whose last element `row_product_slack` numbers may be read
#define AUGUR_NN_ROW_PRODUCT(LANES, LOAD)                                                                                                            \
    for (std::ptrdiff_t j = 0; j < n; j += 4 * (LANES)) {                                                                                            \
        lanes sums[4] = {}, more[4] = {};                                                                                                            \
        std::ptrdiff_t i = 0;                                                                                                                        \
        for (; i + 2 <= k; i += 2)                                                                                                                   \
            for (std::ptrdiff_t v = 0; v < 4; ++v) {                                                                                                 \
                sums[v] += x[i] * LOAD(b + i * ldb + j + v * (LANES));                                                                               \
                more[v] += x[i + 1] * LOAD(b + (i + 1) * ldb + j + v * (LANES));                                                                     \
            }                                                                                                                                        \
        for (; i < k; ++i)                                                                                                                           \
            for (std::ptrdiff_t v = 0; v < 4; ++v) sums[v] += x[i] * LOAD(b + i * ldb + j + v * (LANES));                                            \
        for (std::ptrdiff_t v = 0; v < 4; ++v) sums[v] += more[v];                                                                                   \
        const auto* const from = reinterpret_cast<const float*>(sums);                                                                               \
        const std::ptrdiff_t count = n - j < 4 * (LANES) ? n - j : 4 * (LANES);                                                                      \
        for (std::ptrdiff_t c = 0; c < count; ++c) y[j + c] = accumulate ? y[j + c] + from[c] : from[c];                                             \
    }
#define AUGUR_NN_ROW_PRODUCT_F32(LANES)                                                                                                              \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    AUGUR_NN_ROW_PRODUCT(LANES, AUGUR_NN_FLOATS)
#define AUGUR_NN_ROW_PRODUCT_BF16(LANES)                                                                                                             \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    AUGUR_NN_HALF_LANES(LANES);                                                                                                                      \
    AUGUR_NN_ROW_PRODUCT(LANES, AUGUR_NN_HALVES)
AUGUR_NN_KERNEL(void, row_product, AUGUR_NN_ROW_PRODUCT_F32,
                (const float* x, std::ptrdiff_t k, const float* b, std::ptrdiff_t ldb, std::ptrdiff_t n, float* y, bool accumulate), x, k, b, ldb, n,
                y, accumulate)
AUGUR_NN_KERNEL(void, row_product, AUGUR_NN_ROW_PRODUCT_BF16,
                (const float* x, std::ptrdiff_t k, const bf16* b, std::ptrdiff_t ldb, std::ptrdiff_t n, float* y, bool accumulate), x, k, b, ldb, n,
                y, accumulate)

/// Numbers behind the end of b that `row_product` may read, and does not use.
inline constexpr std::ptrdiff_t row_product_slack = 64;

/// Columns of a block of `column_block_product`.
inline constexpr std::ptrdiff_t column_block = 16;

// y (16) <- x (k) b (k, 16): a block of a matrix that grows by columns
#define AUGUR_NN_COLUMN_BLOCK(LANES, LOAD)                                                                                                           \
    constexpr std::ptrdiff_t vectors = column_block / (LANES);                                                                                       \
    lanes sums[4][vectors] = {}; /* four chains hide the latency of additions */                                                                     \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + 4 <= k; i += 4)                                                                                                                       \
        for (std::ptrdiff_t r = 0; r < 4; ++r)                                                                                                       \
            for (std::ptrdiff_t v = 0; v < vectors; ++v) sums[r][v] += x[i + r] * LOAD(b + (i + r) * column_block + v * (LANES));                    \
    for (; i < k; ++i)                                                                                                                               \
        for (std::ptrdiff_t v = 0; v < vectors; ++v) sums[0][v] += x[i] * LOAD(b + i * column_block + v * (LANES));                                  \
    for (std::ptrdiff_t v = 0; v < vectors; ++v) AUGUR_NN_WRITE(y + v * (LANES)) = (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]);
#define AUGUR_NN_COLUMN_BLOCK_F32(LANES)                                                                                                             \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    AUGUR_NN_COLUMN_BLOCK(LANES, AUGUR_NN_FLOATS)
#define AUGUR_NN_COLUMN_BLOCK_BF16(LANES)                                                                                                            \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    AUGUR_NN_HALF_LANES(LANES);                                                                                                                      \
    AUGUR_NN_COLUMN_BLOCK(LANES, AUGUR_NN_HALVES)
AUGUR_NN_KERNEL(void, column_block_product, AUGUR_NN_COLUMN_BLOCK_F32, (const float* x, std::ptrdiff_t k, const float* b, float* y), x, k, b, y)
AUGUR_NN_KERNEL(void, column_block_product, AUGUR_NN_COLUMN_BLOCK_BF16, (const float* x, std::ptrdiff_t k, const bf16* b, float* y), x, k, b, y)

// normal (n) <- (x - mean) / deviation, y <- gamma normal + beta, where deviation = sqrt(variance + epsilon); y may be x. Sums in 64 chains.
#define AUGUR_NN_LAYER_NORM(LANES)                                                                                                                   \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    constexpr std::ptrdiff_t chains = 64, vectors = chains / (LANES);                                                                                \
    const auto count = static_cast<float>(n);                                                                                                        \
    float mean = 0, squares = 0;                                                                                                                     \
    for (const bool first : {true, false}) { /* in two passes: no cancellation */                                                                    \
        lanes sums[vectors] = {};                                                                                                                    \
        std::ptrdiff_t i = 0;                                                                                                                        \
        for (; i + chains <= n; i += chains)                                                                                                         \
            for (std::ptrdiff_t v = 0; v < vectors; ++v) {                                                                                           \
                const lanes at = AUGUR_NN_READ(x + i + v * (LANES)) - mean;                                                                          \
                sums[v] += first ? at : at * at;                                                                                                     \
            }                                                                                                                                        \
        auto* const sum = reinterpret_cast<float*>(sums);                                                                                            \
        for (std::ptrdiff_t c = 0; i < n; ++i, ++c) sum[c] += first ? x[i] : (x[i] - mean) * (x[i] - mean);                                          \
        for (std::ptrdiff_t width = chains / 2; width > 0; width /= 2)                                                                               \
            for (std::ptrdiff_t c = 0; c < width; ++c) sum[c] += sum[c + width];                                                                     \
        (first ? mean : squares) = sum[0] / count;                                                                                                   \
    }                                                                                                                                                \
    const float below = std::sqrt(squares + epsilon);                                                                                                \
    *deviation = below;                                                                                                                              \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) {                                                                                                         \
        const lanes at = (AUGUR_NN_READ(x + i) - mean) / below;                                                                                      \
        AUGUR_NN_WRITE(normal + i) = at;                                                                                                             \
        AUGUR_NN_WRITE(y + i) = AUGUR_NN_READ(gamma + i) * at + AUGUR_NN_READ(beta + i);                                                             \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        normal[i] = (x[i] - mean) / below;                                                                                                           \
        y[i] = gamma[i] * normal[i] + beta[i];                                                                                                       \
    }
AUGUR_NN_KERNEL(void, layer_norm, AUGUR_NN_LAYER_NORM,
                (const float* x, std::ptrdiff_t n, float epsilon, const float* gamma, const float* beta, float* normal, float* deviation, float* y),
                x, n, epsilon, gamma, beta, normal, deviation, y)

// The steps of kernels/gelu.hpp around the exponential. With u = 1.59577 (x + 0.044715 x^3), 1 + tanh(u / 2) = 2 sigmoid(u):
// to <- -|u|
#define AUGUR_NN_GELU_ARGUMENT(LANES)                                                                                                                \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) {                                                                                                         \
        const lanes at = AUGUR_NN_READ(x + i), u = 1.5957691216057307F * (at + 0.044715F * at * at * at);                                            \
        AUGUR_NN_WRITE(to + i) = u < 0 ? u : -u;                                                                                                     \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        const float u = 1.5957691216057307F * (x[i] + 0.044715F * x[i] * x[i] * x[i]);                                                               \
        to[i] = u < 0 ? u : -u;                                                                                                                      \
    }
AUGUR_NN_KERNEL(void, gelu_argument, AUGUR_NN_GELU_ARGUMENT, (const float* x, float* to, std::ptrdiff_t n), x, to, n)

// y <- x sigmoid(u), where e = exp(-|u|); y may be x
#define AUGUR_NN_GELU_VALUE(LANES)                                                                                                                   \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    const lanes one = lanes{} + 1;                                                                                                                   \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) {                                                                                                         \
        const lanes at = AUGUR_NN_READ(x + i), power = AUGUR_NN_READ(e + i);                                                                         \
        AUGUR_NN_WRITE(y + i) = at * (at < 0 ? power : one) / (one + power);                                                                         \
    }                                                                                                                                                \
    for (; i < n; ++i) y[i] = x[i] * (x[i] < 0 ? e[i] : 1) / (1 + e[i]);
AUGUR_NN_KERNEL(void, gelu_value, AUGUR_NN_GELU_VALUE, (const float* x, const float* e, float* y, std::ptrdiff_t n), x, e, y, n)

// dy <- dy (s + x s (1 - s) du/dx), s = sigmoid(u)
#define AUGUR_NN_GELU_SLOPE(LANES)                                                                                                                   \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    const lanes one = lanes{} + 1;                                                                                                                   \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) {                                                                                                         \
        const lanes at = AUGUR_NN_READ(x + i), power = AUGUR_NN_READ(e + i), s = (at < 0 ? power : one) / (one + power);                             \
        AUGUR_NN_WRITE(dy + i) *= s + at * s * (one - s) * 1.5957691216057307F * (one + 0.134145F * at * at);                                        \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        const float s = (x[i] < 0 ? e[i] : 1) / (1 + e[i]);                                                                                          \
        dy[i] *= s + x[i] * s * (1 - s) * 1.5957691216057307F * (1 + 0.134145F * x[i] * x[i]);                                                       \
    }
AUGUR_NN_KERNEL(void, gelu_slope, AUGUR_NN_GELU_SLOPE, (const float* x, const float* e, float* dy, std::ptrdiff_t n), x, e, dy, n)

/// Constants of one step of Adam.
struct adam_constants {
    float beta1, rest1, beta2, rest2; ///< rest = 1 - beta, computed in double: in float 1 - 0.999 has a relative error of 1e-5
    float decay, rate, inverse_root, epsilon;
};

// mean <- b1 mean + (1 - b1) d, square <- b2 square + (1 - b2) d d, p <- p - rate mean / (sqrt(square) inverse_root + epsilon), d = g + decay p
#define AUGUR_NN_ADAM_ONE(I)                                                                                                                         \
    const float d = g[I] + c.decay * p[I];                                                                                                           \
    mean[I] = c.beta1 * mean[I] + c.rest1 * d;                                                                                                       \
    square[I] = c.beta2 * square[I] + c.rest2 * d * d;                                                                                               \
    p[I] -= c.rate * mean[I] / (std::sqrt(square[I]) * c.inverse_root + c.epsilon);
#define AUGUR_NN_ADAM(V, P, ROOT, LANES)                                                                                                             \
    std::ptrdiff_t i = 0;                                                                                                                            \
    const V b1 = P##_set1_ps(c.beta1), b2 = P##_set1_ps(c.beta2), rest1 = P##_set1_ps(c.rest1), rest2 = P##_set1_ps(c.rest2);                        \
    const V decay = P##_set1_ps(c.decay), rate = P##_set1_ps(c.rate), root = P##_set1_ps(c.inverse_root), eps = P##_set1_ps(c.epsilon);              \
    for (; i + (LANES) <= n; i += (LANES)) {                                                                                                         \
        const V at = P##_loadu_ps(p + i);                                                                                                            \
        const V d = P##_fmadd_ps(decay, at, P##_loadu_ps(g + i));                                                                                    \
        const V m = P##_fmadd_ps(b1, P##_loadu_ps(mean + i), P##_mul_ps(rest1, d));                                                                  \
        const V v = P##_fmadd_ps(b2, P##_loadu_ps(square + i), P##_mul_ps(P##_mul_ps(rest2, d), d));                                                 \
        P##_storeu_ps(mean + i, m);                                                                                                                  \
        P##_storeu_ps(square + i, v);                                                                                                                \
        P##_storeu_ps(p + i, P##_sub_ps(at, P##_div_ps(P##_mul_ps(rate, m), P##_fmadd_ps(ROOT(v), root, eps))));                                     \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        AUGUR_NN_ADAM_ONE(i)                                                                                                                         \
    }

namespace detail {
inline void adam_generic(const adam_constants& c, const float* g, float* mean, float* square, float* p, std::ptrdiff_t n) noexcept {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        AUGUR_NN_ADAM_ONE(i)
    }
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) inline void adam_avx2(const adam_constants& c, const float* g, float* mean, float* square, float* p,
                                                          std::ptrdiff_t n) noexcept {
    AUGUR_NN_ADAM(__m256, _mm256, _mm256_sqrt_ps, 8)
}
__attribute__((target("avx512f"))) inline void adam_avx512(const adam_constants& c, const float* g, float* mean, float* square, float* p,
                                                           std::ptrdiff_t n) noexcept {
#define AUGUR_NN_SQRT(X) _mm512_maskz_sqrt_ps(0xFFFF, X) // gcc 12 warns of _mm512_sqrt_ps itself
    AUGUR_NN_ADAM(__m512, _mm512, AUGUR_NN_SQRT, 16)
#undef AUGUR_NN_SQRT
}
#endif
} // namespace detail
/// One step of Adam for n parameters.
inline void adam(const adam_constants& c, const float* g, float* mean, float* square, float* p, std::ptrdiff_t n) noexcept {
#if defined(__x86_64__)
    const isa level = best_isa();
    if (level == isa::avx512) return detail::adam_avx512(c, g, mean, square, p, n);
    if (level == isa::avx2) return detail::adam_avx2(c, g, mean, square, p, n);
#endif
    detail::adam_generic(c, g, mean, square, p, n);
}

/// Sum of squares, in double, with eight independent accumulators.
inline double square_sum(const float* x, std::ptrdiff_t n) noexcept {
    double chain[8] = {};
    std::ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::ptrdiff_t j = 0; j < 8; ++j) chain[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    for (; i < n; ++i) chain[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return ((chain[0] + chain[1]) + (chain[2] + chain[3])) + ((chain[4] + chain[5]) + (chain[6] + chain[7]));
}

#undef AUGUR_NN_ADAM
#undef AUGUR_NN_ADAM_ONE
#undef AUGUR_NN_COLUMN_BLOCK_BF16
#undef AUGUR_NN_COLUMN_BLOCK_F32
#undef AUGUR_NN_COLUMN_BLOCK
#undef AUGUR_NN_LAYER_NORM
#undef AUGUR_NN_ROW_PRODUCT_BF16
#undef AUGUR_NN_ROW_PRODUCT_F32
#undef AUGUR_NN_ROW_PRODUCT
#undef AUGUR_NN_HALVES
#undef AUGUR_NN_HALF_LANES
#undef AUGUR_NN_FLOATS
#undef AUGUR_NN_GELU_SLOPE
#undef AUGUR_NN_GELU_VALUE
#undef AUGUR_NN_GELU_ARGUMENT
#undef AUGUR_NN_SOFTMAX_SHIFT
#undef AUGUR_NN_SOFTMAX_BACKWARD
#undef AUGUR_NN_ADD_ROWS
#undef AUGUR_NN_RELU_ADD
#undef AUGUR_NN_SCALE
#undef AUGUR_NN_ADD
#undef AUGUR_NN_RELU_BACKWARD
#undef AUGUR_NN_RELU

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
