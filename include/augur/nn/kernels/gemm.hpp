// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_GEMM_HPP
#define AUGUR_NN_KERNELS_GEMM_HPP

/// @file
/// Matrix product in float on plain pointers. The instruction set is chosen at run time: a program built for plain x86-64 gets the machine's speed.
///
/// Every element is one chain of fused multiply-adds over k in order, cut into equal parts of at most 384 steps. So a row of the result depends on
/// its row of A and on B only, not on how many rows there are or where it stands, and AVX2 and AVX-512 agree to the last bit.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

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

/// What a product is added to: row r at data + r row; data null: zeros.
struct gemm_start {
    const float* data = nullptr;
    std::ptrdiff_t row = 0;
};

namespace detail {

inline constexpr std::ptrdiff_t k_block = 384; ///< most steps of k between two roundings to memory; 48 KiB of B

/// One tile: c (R, V vectors) = [start +] a (R, k) panel (k, V vectors), `ldb` floats between the panel's rows; of the last vector only the first
/// `last` lanes are in c.
using tile_function = void (*)(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c, std::ptrdiff_t ldc,
                               const gemm_start& start, int last);

template <int R, int V>
struct generic_tile {
    static constexpr int lanes = 8, vectors = 2, rows = 6; // of the largest one
    static void run(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c, std::ptrdiff_t ldc, const gemm_start& start,
                    int last) {
        constexpr int width = 8 * V;
        for (int r = 0; r < R; ++r) {
            float sum[width] = {};
            for (std::ptrdiff_t p = 0; p < k; ++p) {
                const float x = a.data[r * a.row + p * a.col];
                for (int j = 0; j < width; ++j) sum[j] += x * panel[p * ldb + j];
            }
            float* to = c + r * ldc;
            for (int j = 0; j < width - 8 + last; ++j) to[j] = start.data != nullptr ? start.data[r * start.row + j] + sum[j] : sum[j];
        }
    }
};

#if AUGUR_X86
template <int R, int V>
struct avx2_tile {
    static constexpr int lanes = 8, vectors = 2, rows = 6; // fill the registers
    __attribute__((target("avx2,fma"))) static void run(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c,
                                                        std::ptrdiff_t ldc, const gemm_start& start, int last) {
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
                const float* const add = start.data != nullptr ? start.data + r * start.row + 8 * v : nullptr;
                if (v + 1 < V || last == 8) {
                    _mm256_storeu_ps(to, add != nullptr ? _mm256_add_ps(_mm256_loadu_ps(add), sum[r][v]) : sum[r][v]);
                } else { // a masked store costs tens of cycles on AMD
                    alignas(32) float part[8];
                    _mm256_store_ps(part, sum[r][v]);
                    for (int j = 0; j < last; ++j) to[j] = add != nullptr ? add[j] + part[j] : part[j];
                }
            }
        }
    }
};
template <int R, int V>
struct avx512_tile {
    static constexpr int lanes = 16, vectors = 2, rows = 12; // a panel of 256 steps stays in the first cache
    __attribute__((target("avx512f"))) static void run(std::ptrdiff_t k, const operand& a, const float* panel, std::ptrdiff_t ldb, float* c,
                                                       std::ptrdiff_t ldc, const gemm_start& start, int last) {
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
                float* const to = c + r * ldc + 16 * v;
                const float* const add = start.data != nullptr ? start.data + r * start.row + 16 * v : nullptr;
                const __mmask16 in_c = v + 1 < V ? static_cast<__mmask16>(0xFFFF) : mask;
                _mm512_mask_storeu_ps(to, in_c, add != nullptr ? _mm512_add_ps(_mm512_maskz_loadu_ps(in_c, add), sum[r][v]) : sum[r][v]);
            }
        }
    }
};
#endif

/// The tiles of V vectors, by rows.
template <template <int, int> class Tile, int V, int... R>
constexpr std::array<tile_function, sizeof...(R)> tiles_of(std::integer_sequence<int, R...>) {
    return {&Tile<R + 1, V>::run...};
}
template <template <int, int> class Tile, int V>
inline constexpr auto tile_column = tiles_of<Tile, V>(std::make_integer_sequence<int, Tile<1, 1>::rows>());

/// to (cols, width) <- from (rows, cols) transposed, `from` with `stride` floats between rows.
inline void transpose(float* to, std::ptrdiff_t width, const float* from, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t cols) {
    std::ptrdiff_t j = 0;
#if AUGUR_X86
    for (; j + 4 <= cols; j += 4) { // whole lines of `to`, while those of `from` stay in the first cache
        std::ptrdiff_t i = 0;
        for (; i + 4 <= rows; i += 4) {
            const float* const at = from + i * stride + j;
            float* const put = to + j * width + i;
            __m128 a = _mm_loadu_ps(at), b = _mm_loadu_ps(at + stride), c = _mm_loadu_ps(at + 2 * stride), d = _mm_loadu_ps(at + 3 * stride);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(put, a);
            _mm_storeu_ps(put + width, b);
            _mm_storeu_ps(put + 2 * width, c);
            _mm_storeu_ps(put + 3 * width, d);
        }
        for (; i < rows; ++i)
            for (std::ptrdiff_t c = j; c < j + 4; ++c) to[c * width + i] = from[i * stride + c];
    }
#endif
    for (; j < cols; ++j)
        for (std::ptrdiff_t i = 0; i < rows; ++i) to[j * width + i] = from[i * stride + j];
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

/// C = [start +] A B with panels of B packed on the stack (48 KiB). A small product reads B where it lies.
template <template <int, int> class Tile>
void gemm_loop(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, const operand& a, const operand& b, float* c, std::ptrdiff_t ldc,
               const gemm_start& start) {
    using largest = Tile<1, 1>;
    constexpr std::ptrdiff_t full = largest::lanes * largest::vectors, small = 48;
    constexpr std::ptrdiff_t m_block = 384; // rows of A that all panels find in the second cache
    alignas(64) float panel[k_block * full];
    std::ptrdiff_t k0 = 0;
    for (std::ptrdiff_t blocks = (std::max)((k + k_block - 1) / k_block, std::ptrdiff_t{1}); blocks > 0; --blocks) {
        const std::ptrdiff_t depth = (k - k0 + blocks - 1) / blocks;
        const gemm_start from_c{c, ldc}, &add = k0 > 0 ? from_c : start;
        for (std::ptrdiff_t m0 = 0; m0 < m; m0 += m_block) {
            const std::ptrdiff_t m1 = (std::min)(m, m0 + m_block);
            for (std::ptrdiff_t n0 = 0; n0 < n; n0 += full) {
                const std::ptrdiff_t used = (std::min)(n - n0, full);
                const std::ptrdiff_t vectors = (used + largest::lanes - 1) / largest::lanes;
                const std::ptrdiff_t width = vectors * largest::lanes;
                const auto last = static_cast<int>(used - (vectors - 1) * largest::lanes);
                const float* from = b.data + k0 * b.row + n0 * b.col;
                const bool in_place = m <= small && b.col == 1 && last == largest::lanes;
                if (!in_place) pack<full>(panel, from, b, depth, used, width);
                const auto& tiles = vectors == 1 ? tile_column<Tile, 1> : tile_column<Tile, 2>;
                std::ptrdiff_t i = m0;
                for (std::ptrdiff_t left = (m1 - m0 + largest::rows - 1) / largest::rows; left > 0; --left) { // as even as can be
                    const std::ptrdiff_t rows = (m1 - i + left - 1) / left;
                    const operand strip{a.data + i * a.row + k0 * a.col, a.row, a.col};
                    const gemm_start at{add.data == nullptr ? nullptr : add.data + i * add.row + n0, add.row};
                    tiles[static_cast<std::size_t>(rows - 1)](depth, strip, in_place ? from : panel, in_place ? b.row : width, c + i * ldc + n0, ldc,
                                                              at, last);
                    i += rows;
                }
            }
        }
        k0 += depth;
    }
}

} // namespace detail

/// C (m, n) = [start +] A (m, k) B (k, n); C is row-major with `ldc` floats between rows and overlaps neither operand; it may be the start.
///
/// @note O(m n k), no allocation, safe to call concurrently on distinct C
inline void gemm(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, const operand& a, const operand& b, float* c, std::ptrdiff_t ldc,
                 const gemm_start& start = {}, isa level = best_isa()) {
#if AUGUR_X86
    if (level == isa::avx512) return detail::gemm_loop<detail::avx512_tile>(m, n, k, a, b, c, ldc, start);
    if (level == isa::avx2) return detail::gemm_loop<detail::avx2_tile>(m, n, k, a, b, c, ldc, start);
#endif
    (void)level;
    detail::gemm_loop<detail::generic_tile>(m, n, k, a, b, c, ldc, start);
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
