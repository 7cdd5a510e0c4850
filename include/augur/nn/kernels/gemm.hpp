// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_GEMM_HPP
#define AUGUR_NN_KERNELS_GEMM_HPP

/// @file
/// Matrix product in float on plain pointers. The instruction set is chosen at run time: a program built for plain x86-64 gets the machine's speed.
///
/// Every element is one chain of fused multiply-adds over k in order, cut every 256 steps. So a row of the result depends on its row of A and on B
/// only, not on how many rows there are or where it stands, and AVX2 and AVX-512 agree to the last bit.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <augur/core/config.hpp>
#include <augur/core/isa.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

using augur::best_isa;
using augur::isa;

/// A read-only matrix: element (i, j) is data[i * row + j * col]. A transposed one has the strides exchanged. To be passed by reference: a copy is
/// read in larger pieces than it was just written in, and waits for them.
struct operand {
    const float* data;
    std::ptrdiff_t row, col;
};

namespace detail {

inline constexpr std::ptrdiff_t k_block = 256; ///< steps of k between two roundings to memory; 64 KiB of B at most

/// One tile: c (R, V vectors) = [c +] a (R, k) panel (k, V vectors), `ldb` floats between the panel's rows; of the last vector only the first `last`
/// lanes are in c.
using tile_function = void (*)(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c, std::ptrdiff_t ldc,
                               bool accumulate, int last);

template <int R, int V>
struct generic_tile {
    static void run(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c, std::ptrdiff_t ldc, bool accumulate,
                    int last) {
        constexpr int width = 8 * V;
        for (int r = 0; r < R; ++r) {
            float sum[width] = {};
            for (std::ptrdiff_t p = 0; p < k; ++p) {
                const float x = a.data[r * a.row + p * a.col];
                for (int j = 0; j < width; ++j) sum[j] += x * panel[p * ldb + j];
            }
            float* to = c + r * ldc;
            for (int j = 0; j < width - 8 + last; ++j) to[j] = accumulate ? to[j] + sum[j] : sum[j];
        }
    }
};

#if AUGUR_X86
template <int R, int V>
struct avx2_tile {
    __attribute__((target("avx2,fma"))) static void run(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c,
                                                        std::ptrdiff_t ldc, bool accumulate, int last) {
        __m256 sum[R][V];
        AUGUR_UNROLL
        for (int r = 0; r < R; ++r) {
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) sum[r][v] = _mm256_setzero_ps();
        }
        const float* from = a.data;
        const std::ptrdiff_t row = a.row, col = a.col;
        for (std::ptrdiff_t p = 0; p < k; ++p, panel += ldb, from += col) {
            __m256 b[V];
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) b[v] = _mm256_loadu_ps(panel + 8 * v);
            AUGUR_UNROLL
            for (int r = 0; r < R; ++r) {
                const __m256 x = _mm256_set1_ps(from[r * row]);
                AUGUR_UNROLL
                for (int v = 0; v < V; ++v) sum[r][v] = _mm256_fmadd_ps(x, b[v], sum[r][v]);
            }
        }
        AUGUR_UNROLL
        for (int r = 0; r < R; ++r) {
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) {
                float* const to = c + r * ldc + 8 * v;
                if (v + 1 < V || last == 8) {
                    _mm256_storeu_ps(to, accumulate ? _mm256_add_ps(_mm256_loadu_ps(to), sum[r][v]) : sum[r][v]);
                } else { // a masked store costs tens of cycles on AMD
                    alignas(32) float part[8];
                    _mm256_store_ps(part, sum[r][v]);
                    for (int j = 0; j < last; ++j) to[j] = accumulate ? to[j] + part[j] : part[j];
                }
            }
        }
    }
};
template <int R, int V>
struct avx512_tile {
    __attribute__((target("avx512f"))) static void run(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c,
                                                       std::ptrdiff_t ldc, bool accumulate, int last) {
        const auto mask = static_cast<__mmask16>((1U << static_cast<unsigned>(last)) - 1U);
        __m512 sum[R][V];
        AUGUR_UNROLL
        for (int r = 0; r < R; ++r) {
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) sum[r][v] = _mm512_setzero_ps();
        }
        const float* from = a.data;
        const std::ptrdiff_t row = a.row, col = a.col;
        for (std::ptrdiff_t p = 0; p < k; ++p, panel += ldb, from += col) {
            __m512 b[V];
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) b[v] = _mm512_loadu_ps(panel + 16 * v);
            AUGUR_UNROLL
            for (int r = 0; r < R; ++r) {
                const __m512 x = _mm512_set1_ps(from[r * row]);
                AUGUR_UNROLL
                for (int v = 0; v < V; ++v) sum[r][v] = _mm512_fmadd_ps(x, b[v], sum[r][v]);
            }
        }
        AUGUR_UNROLL
        for (int r = 0; r < R; ++r) {
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) {
                float* to = c + r * ldc + 16 * v;
                if (v + 1 < V) _mm512_storeu_ps(to, accumulate ? _mm512_add_ps(_mm512_loadu_ps(to), sum[r][v]) : sum[r][v]);
                else _mm512_mask_storeu_ps(to, mask, accumulate ? _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum[r][v]) : sum[r][v]);
            }
        }
    }
};
#endif

/// The tile functions of one instruction set, by rows and by vectors: 6 x 4 zmm or 6 x 2 ymm fill the registers.
template <template <int, int> class Tile, int V>
inline constexpr std::array<tile_function, 6> tile_column = {&Tile<1, V>::run, &Tile<2, V>::run, &Tile<3, V>::run,
                                                             &Tile<4, V>::run, &Tile<5, V>::run, &Tile<6, V>::run};

/// to (cols, width) <- from (rows, cols) transposed, `from` with `stride` floats between rows.
inline void transpose(float* to, std::ptrdiff_t width, const float* from, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t cols) {
    std::ptrdiff_t i = 0;
#if AUGUR_X86
    for (; i + 4 <= rows; i += 4) {
        std::ptrdiff_t j = 0;
        for (; j + 4 <= cols; j += 4) {
            const float* const at = from + i * stride + j;
            float* const put = to + j * width + i;
            __m128 a = _mm_loadu_ps(at), b = _mm_loadu_ps(at + stride), c = _mm_loadu_ps(at + 2 * stride), d = _mm_loadu_ps(at + 3 * stride);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(put, a);
            _mm_storeu_ps(put + width, b);
            _mm_storeu_ps(put + 2 * width, c);
            _mm_storeu_ps(put + 3 * width, d);
        }
        for (; j < cols; ++j)
            for (std::ptrdiff_t r = i; r < i + 4; ++r) to[j * width + r] = from[r * stride + j];
    }
#endif
    for (; i < rows; ++i)
        for (std::ptrdiff_t j = 0; j < cols; ++j) to[j * width + i] = from[i * stride + j];
}

/// panel (depth, width) <- the first `used` columns of B from `from` on, then zeros.
template <std::ptrdiff_t Full>
void pack(float* panel, const float* from, const operand& b, std::ptrdiff_t depth, std::ptrdiff_t used, std::ptrdiff_t width) {
    if (b.col == 1 && used == Full) {
        for (std::ptrdiff_t p = 0; p < depth; ++p) std::memcpy(panel + p * Full, from + p * b.row, static_cast<std::size_t>(Full) * sizeof(float));
        return;
    }
    if (b.row == 1) {
        transpose(panel, width, from, b.col, used, depth);
    } else {
        for (std::ptrdiff_t p = 0; p < depth; ++p)
            for (std::ptrdiff_t j = 0; j < used; ++j) panel[p * width + j] = from[p * b.row + j * b.col];
    }
    if (used == width) return;
    for (std::ptrdiff_t p = 0; p < depth; ++p)
        for (std::ptrdiff_t j = used; j < width; ++j) panel[p * width + j] = 0;
}

/// C = [C +] A B with panels of B packed on the stack (64 KiB). A small product reads B where it lies.
template <template <int, int> class Tile, int Lanes, int Vectors>
void gemm_loop(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, const operand& a, const operand& b, float* c, std::ptrdiff_t ldc,
               bool accumulate) {
    constexpr std::ptrdiff_t full = Lanes * Vectors, small = 48;
    constexpr std::ptrdiff_t m_block = 192; // rows of A that all panels find in the second cache
    alignas(64) float panel[k_block * full];
    for (std::ptrdiff_t k0 = 0; k0 < k || k0 == 0; k0 += k_block) {
        const std::ptrdiff_t depth = (std::min)(k - k0, k_block);
        const bool add = accumulate || k0 > 0;
        for (std::ptrdiff_t m0 = 0; m0 < m; m0 += m_block) {
            const std::ptrdiff_t m1 = (std::min)(m, m0 + m_block);
            for (std::ptrdiff_t n0 = 0; n0 < n; n0 += full) {
                const std::ptrdiff_t used = (std::min)(n - n0, full);
                const std::ptrdiff_t vectors = (used + Lanes - 1) / Lanes;
                const std::ptrdiff_t width = vectors * Lanes;
                const auto last = static_cast<int>(used - (vectors - 1) * Lanes);
                const float* from = b.data + k0 * b.row + n0 * b.col;
                const bool in_place = m <= small && b.col == 1 && last == Lanes;
                if (!in_place) pack<full>(panel, from, b, depth, used, width);
                const std::array<tile_function, 6>* tiles = &tile_column<Tile, 1>;
                if constexpr (Vectors >= 2) {
                    if (vectors == 2) tiles = &tile_column<Tile, 2>;
                }
                if constexpr (Vectors >= 4) {
                    if (vectors == 3) tiles = &tile_column<Tile, 3>;
                    if (vectors == 4) tiles = &tile_column<Tile, 4>;
                }
                for (std::ptrdiff_t i = m0; i < m1; i += 6) {
                    const std::ptrdiff_t rows = (std::min)(m1 - i, std::ptrdiff_t{6});
                    const operand strip{a.data + i * a.row + k0 * a.col, a.row, a.col};
                    (*tiles)[static_cast<std::size_t>(rows - 1)](depth, strip, in_place ? from : panel, in_place ? b.row : width, c + i * ldc + n0,
                                                                 ldc, add, last);
                }
            }
        }
    }
}

} // namespace detail

/// C (m, n) = [C +] A (m, k) B (k, n); C is row-major with `ldc` floats between rows and overlaps neither operand.
///
/// @note O(m n k), no allocation, safe to call concurrently on distinct C
inline void gemm(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, const operand& a, const operand& b, float* c, std::ptrdiff_t ldc,
                 bool accumulate, isa level = best_isa()) {
#if AUGUR_X86
    if (level == isa::avx512) return detail::gemm_loop<detail::avx512_tile, 16, 4>(m, n, k, a, b, c, ldc, accumulate);
    if (level == isa::avx2) return detail::gemm_loop<detail::avx2_tile, 8, 2>(m, n, k, a, b, c, ldc, accumulate);
#endif
    (void)level;
    detail::gemm_loop<detail::generic_tile, 8, 2>(m, n, k, a, b, c, ldc, accumulate);
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
