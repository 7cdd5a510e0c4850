// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_GRAPH_HPP
#define AUGUR_NN_KERNELS_GRAPH_HPP

/// @file
/// Float kernels of graph networks: sums, gated sums and maxima of rows that are anywhere in a matrix, dot products, and a check of what comes in.
/// Vectorised at run time, as elementwise.hpp.
///
/// Up to four vectors of columns stay in registers while the rows pass. A column is one chain in the order of the rows and does not depend on the
/// other columns. Instruction sets may differ by rounding.

#include <cstddef>
#include <cstdint>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/simd_kernel.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

/// Rows of a matrix, `stride` numbers apart; `data` is where row `first` begins.
struct row_source {
    const float* data;
    std::ptrdiff_t stride, first = 0;
};

// Most kernels go over columns: BLOCK(LANES, V) for the V vectors of columns from c on, V = 4 and then 1, and REST for each column that is left.
#define AUGUR_NN_COLUMNS(LANES, BLOCK, REST)                                                                                                         \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    typedef std::int32_t numbers __attribute__((vector_size((LANES) * sizeof(float)), aligned(alignof(float)), may_alias));                          \
    static_assert(sizeof(lanes) == sizeof(numbers));                                                                                                 \
    std::ptrdiff_t c = 0;                                                                                                                            \
    for (; c + 4 * (LANES) <= n; c += 4 * (LANES)) {                                                                                                 \
        BLOCK(LANES, 4)                                                                                                                              \
    }                                                                                                                                                \
    for (; c + (LANES) <= n; c += (LANES)) {                                                                                                         \
        BLOCK(LANES, 1)                                                                                                                              \
    }                                                                                                                                                \
    for (; c < n; ++c) {                                                                                                                             \
        REST                                                                                                                                         \
    }

// y (n) <- start + sum of factors[m] x[rows[m]] over the `count` rows
#define AUGUR_NN_WEIGHTED_ROWS_BLOCK(LANES, V)                                                                                                       \
    lanes sums[V];                                                                                                                                   \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) sums[v] = AUGUR_NN_READ(start + c + v * (LANES));                                                                  \
    for (std::ptrdiff_t m = 0; m < count; ++m) {                                                                                                     \
        const auto factor = static_cast<float>(factors[m]);                                                                                          \
        const float* const from = x.data + (rows[m] - x.first) * x.stride + c;                                                                       \
        AUGUR_UNROLL                                                                                                                                 \
        for (int v = 0; v < (V); ++v) sums[v] += factor * AUGUR_NN_READ(from + v * (LANES));                                                         \
    }                                                                                                                                                \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) AUGUR_NN_WRITE(y + c + v * (LANES)) = sums[v];
#define AUGUR_NN_WEIGHTED_ROWS_REST                                                                                                                  \
    float sum = start[c];                                                                                                                            \
    for (std::ptrdiff_t m = 0; m < count; ++m) sum += static_cast<float>(factors[m]) * x.data[(rows[m] - x.first) * x.stride + c];                   \
    y[c] = sum;
#define AUGUR_NN_WEIGHTED_ROWS(LANES) AUGUR_NN_COLUMNS(LANES, AUGUR_NN_WEIGHTED_ROWS_BLOCK, AUGUR_NN_WEIGHTED_ROWS_REST)
AUGUR_NN_KERNEL(void, weighted_rows, AUGUR_NN_WEIGHTED_ROWS,
                (row_source x, const std::ptrdiff_t* rows, const double* factors, std::ptrdiff_t count, const float* start, float* y,
                 std::ptrdiff_t n),
                x, rows, factors, count, start, y, n)

// to (n) <- to + factor x
#define AUGUR_NN_ADD_SCALED_BLOCK(LANES, V)                                                                                                          \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) AUGUR_NN_WRITE(to + c + v * (LANES)) += factor * AUGUR_NN_READ(x + c + v * (LANES));
#define AUGUR_NN_ADD_SCALED_REST to[c] += factor * x[c];
#define AUGUR_NN_ADD_SCALED(LANES) AUGUR_NN_COLUMNS(LANES, AUGUR_NN_ADD_SCALED_BLOCK, AUGUR_NN_ADD_SCALED_REST)
AUGUR_NN_KERNEL(void, add_scaled, AUGUR_NN_ADD_SCALED, (float factor, const float* x, float* to, std::ptrdiff_t n), factor, x, to, n)

// sums (n) <- sum of weight[row] x[row], most (n) <- the maximum of x[row], greatest (n) <- the row that has it, of equal ones the first, over the
// `count` rows, of which `first` is the first one, -1 without rows; then 0, 0 and -1. A NaN in the first row stays.
#define AUGUR_NN_GATED_SUM_AND_MAX_BLOCK(LANES, V)                                                                                                   \
    lanes gated[V] = {}, top[V] = {};                                                                                                                \
    numbers where[V];                                                                                                                                \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) {                                                                                                                  \
        where[v] = numbers{} + first;                                                                                                                \
        if (count > 0) top[v] = AUGUR_NN_READ(x.data + (first - x.first) * x.stride + c + v * (LANES));                                              \
    }                                                                                                                                                \
    for (std::ptrdiff_t m = 0; m < count; ++m) {                                                                                                     \
        const float* const from = x.data + (rows[m] - x.first) * x.stride + c;                                                                       \
        AUGUR_UNROLL                                                                                                                                 \
        for (int v = 0; v < (V); ++v) {                                                                                                              \
            const lanes at = AUGUR_NN_READ(from + v * (LANES));                                                                                      \
            gated[v] += weight[rows[m]] * at;                                                                                                        \
            where[v] = at > top[v] ? numbers{} + rows[m] : where[v];                                                                                 \
            top[v] = at > top[v] ? at : top[v];                                                                                                      \
        }                                                                                                                                            \
    }                                                                                                                                                \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) {                                                                                                                  \
        AUGUR_NN_WRITE(sums + c + v * (LANES)) = gated[v];                                                                                           \
        AUGUR_NN_WRITE(most + c + v * (LANES)) = top[v];                                                                                             \
        *reinterpret_cast<numbers*>(greatest + c + v * (LANES)) = where[v];                                                                          \
    }
#define AUGUR_NN_GATED_SUM_AND_MAX_REST                                                                                                              \
    float gated = 0, top = count > 0 ? x.data[(first - x.first) * x.stride + c] : 0;                                                                 \
    std::int32_t where = first;                                                                                                                      \
    for (std::ptrdiff_t m = 0; m < count; ++m) {                                                                                                     \
        const float at = x.data[(rows[m] - x.first) * x.stride + c];                                                                                 \
        gated += weight[rows[m]] * at;                                                                                                               \
        where = at > top ? rows[m] : where;                                                                                                          \
        top = at > top ? at : top;                                                                                                                   \
    }                                                                                                                                                \
    sums[c] = gated;                                                                                                                                 \
    most[c] = top;                                                                                                                                   \
    greatest[c] = where;
#define AUGUR_NN_GATED_SUM_AND_MAX(LANES) AUGUR_NN_COLUMNS(LANES, AUGUR_NN_GATED_SUM_AND_MAX_BLOCK, AUGUR_NN_GATED_SUM_AND_MAX_REST)
AUGUR_NN_KERNEL(void, gated_sum_and_max, AUGUR_NN_GATED_SUM_AND_MAX,
                (row_source x, const std::int32_t* rows, std::int32_t first, std::ptrdiff_t count, const float* weight, float* sums, float* most,
                 std::int32_t* greatest, std::ptrdiff_t n),
                x, rows, first, count, weight, sums, most, greatest, n)

// y (n) <- max(start + factor x, 0); a NaN stays one
#define AUGUR_NN_SCALED_RELU_BLOCK(LANES, V)                                                                                                         \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) {                                                                                                                  \
        const lanes at = AUGUR_NN_READ(start + c + v * (LANES)) + factor * AUGUR_NN_READ(x + c + v * (LANES));                                       \
        AUGUR_NN_WRITE(y + c + v * (LANES)) = at < 0 ? lanes{} : at;                                                                                 \
    }
#define AUGUR_NN_SCALED_RELU_REST                                                                                                                    \
    const float at = start[c] + factor * x[c];                                                                                                       \
    y[c] = at < 0 ? 0 : at;
#define AUGUR_NN_SCALED_RELU(LANES) AUGUR_NN_COLUMNS(LANES, AUGUR_NN_SCALED_RELU_BLOCK, AUGUR_NN_SCALED_RELU_REST)
AUGUR_NN_KERNEL(void, scaled_relu, AUGUR_NN_SCALED_RELU, (float factor, const float* x, const float* start, float* y, std::ptrdiff_t n), factor, x,
                start, y, n)

// u (n) <- max(start + factor x, 0) and v (n) <- max(start_v + factor_v x, 0) + share u; v may be x
#define AUGUR_NN_TWO_RELUS_BLOCK(LANES, V)                                                                                                           \
    AUGUR_UNROLL                                                                                                                                     \
    for (int i = 0; i < (V); ++i) {                                                                                                                  \
        const lanes from = AUGUR_NN_READ(x + c + i * (LANES));                                                                                       \
        const lanes at_u = AUGUR_NN_READ(start + c + i * (LANES)) + factor * from;                                                                   \
        const lanes at_v = AUGUR_NN_READ(start_v + c + i * (LANES)) + factor_v * from, first = at_u < 0 ? lanes{} : at_u;                            \
        AUGUR_NN_WRITE(u + c + i * (LANES)) = first;                                                                                                 \
        AUGUR_NN_WRITE(v + c + i * (LANES)) = (at_v < 0 ? lanes{} : at_v) + share * first;                                                           \
    }
#define AUGUR_NN_TWO_RELUS_REST                                                                                                                      \
    const float at_u = start[c] + factor * x[c], at_v = start_v[c] + factor_v * x[c];                                                                \
    u[c] = at_u < 0 ? 0 : at_u;                                                                                                                      \
    v[c] = (at_v < 0 ? 0 : at_v) + share * u[c];
#define AUGUR_NN_TWO_RELUS(LANES) AUGUR_NN_COLUMNS(LANES, AUGUR_NN_TWO_RELUS_BLOCK, AUGUR_NN_TWO_RELUS_REST)
AUGUR_NN_KERNEL(void, two_relus, AUGUR_NN_TWO_RELUS,
                (const float* x, float factor, const float* start, float* u, float factor_v, const float* start_v, float share, float* v,
                 std::ptrdiff_t n),
                x, factor, start, u, factor_v, start_v, share, v, n)

// y (n) <- the maximum of y and of the `count` rows
#define AUGUR_NN_ROW_MAXIMA_BLOCK(LANES, V)                                                                                                          \
    lanes most[V];                                                                                                                                   \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) most[v] = AUGUR_NN_READ(y + c + v * (LANES));                                                                      \
    for (std::ptrdiff_t m = 0; m < count; ++m) {                                                                                                     \
        const float* const from = x.data + (rows[m] - x.first) * x.stride + c;                                                                       \
        AUGUR_UNROLL                                                                                                                                 \
        for (int v = 0; v < (V); ++v) most[v] = AUGUR_NN_READ(from + v * (LANES)) > most[v] ? AUGUR_NN_READ(from + v * (LANES)) : most[v];           \
    }                                                                                                                                                \
    AUGUR_UNROLL                                                                                                                                     \
    for (int v = 0; v < (V); ++v) AUGUR_NN_WRITE(y + c + v * (LANES)) = most[v];
#define AUGUR_NN_ROW_MAXIMA_REST                                                                                                                     \
    for (std::ptrdiff_t m = 0; m < count; ++m) {                                                                                                     \
        const float at = x.data[(rows[m] - x.first) * x.stride + c];                                                                                 \
        y[c] = at > y[c] ? at : y[c];                                                                                                                \
    }
#define AUGUR_NN_ROW_MAXIMA(LANES) AUGUR_NN_COLUMNS(LANES, AUGUR_NN_ROW_MAXIMA_BLOCK, AUGUR_NN_ROW_MAXIMA_REST)
AUGUR_NN_KERNEL(void, row_maxima, AUGUR_NN_ROW_MAXIMA, (row_source x, const std::ptrdiff_t* rows, std::ptrdiff_t count, float* y, std::ptrdiff_t n),
                x, rows, count, y, n)

// sum of x[i] y[i], in 16 chains
#define AUGUR_NN_DOT(LANES)                                                                                                                          \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    constexpr std::ptrdiff_t chains = 16, vectors = chains / (LANES);                                                                                \
    lanes sums[vectors] = {};                                                                                                                        \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + chains <= n; i += chains) AUGUR_UNROLL                                                                                                \
    for (std::ptrdiff_t v = 0; v < vectors; ++v) sums[v] += AUGUR_NN_READ(x + i + v * (LANES)) * AUGUR_NN_READ(y + i + v * (LANES));                 \
    float sum[chains];                                                                                                                               \
    AUGUR_UNROLL                                                                                                                                     \
    for (std::ptrdiff_t v = 0; v < vectors; ++v) AUGUR_NN_WRITE(sum + v * (LANES)) = sums[v];                                                        \
    for (std::ptrdiff_t j = 0; i < n; ++i, ++j) sum[j] += x[i] * y[i];                                                                               \
    for (std::ptrdiff_t width = chains / 2; width > 0; width /= 2)                                                                                   \
        for (std::ptrdiff_t j = 0; j < width; ++j) sum[j] += sum[j + width];                                                                         \
    return sum[0];
AUGUR_NN_KERNEL(float, dot, AUGUR_NN_DOT, (const float* x, const float* y, std::ptrdiff_t n), x, y, n)

// is no element a NaN or an infinity?
#define AUGUR_NN_ALL_FINITE(LANES)                                                                                                                   \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    lanes zeros = {}; /* or NaN: infinity times 0 is one, too */                                                                                     \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; i + (LANES) <= n; i += (LANES)) zeros += AUGUR_NN_READ(x + i) * 0.0F;                                                                     \
    float zero = 0;                                                                                                                                  \
    for (int j = 0; j < (LANES); ++j) zero += zeros[j];                                                                                              \
    for (; i < n; ++i) zero += x[i] * 0.0F;                                                                                                          \
    return zero == 0;
AUGUR_NN_KERNEL(bool, all_finite, AUGUR_NN_ALL_FINITE, (const float* x, std::ptrdiff_t n), x, n)

#undef AUGUR_NN_ALL_FINITE
#undef AUGUR_NN_DOT
#undef AUGUR_NN_ROW_MAXIMA
#undef AUGUR_NN_ROW_MAXIMA_REST
#undef AUGUR_NN_ROW_MAXIMA_BLOCK
#undef AUGUR_NN_TWO_RELUS
#undef AUGUR_NN_TWO_RELUS_REST
#undef AUGUR_NN_TWO_RELUS_BLOCK
#undef AUGUR_NN_SCALED_RELU
#undef AUGUR_NN_SCALED_RELU_REST
#undef AUGUR_NN_SCALED_RELU_BLOCK
#undef AUGUR_NN_GATED_SUM_AND_MAX_REST
#undef AUGUR_NN_GATED_SUM_AND_MAX_BLOCK
#undef AUGUR_NN_GATED_SUM_AND_MAX
#undef AUGUR_NN_ADD_SCALED_REST
#undef AUGUR_NN_ADD_SCALED_BLOCK
#undef AUGUR_NN_ADD_SCALED
#undef AUGUR_NN_WEIGHTED_ROWS_REST
#undef AUGUR_NN_WEIGHTED_ROWS_BLOCK
#undef AUGUR_NN_WEIGHTED_ROWS
#undef AUGUR_NN_COLUMNS

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
