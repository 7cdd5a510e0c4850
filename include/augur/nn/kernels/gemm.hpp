// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_GEMM_HPP
#define AUGUR_NN_KERNELS_GEMM_HPP

/// @file
/// Float matrix product (GEMM) with AVX2 and AVX-512 kernels, selected at run time; no -march flag is needed.
///
/// Every element is one chain of fused multiply-adds over k in order, in equal blocks of at most 384 steps. So a row of the result depends on its row
/// of A and on B only, not on the number or the position of the rows, and AVX2 and AVX-512 are bit-identical.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <augur/core/config.hpp>
#include <augur/core/isa.hpp>
#include <augur/nn/kernels/line_buffer.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

using augur::best_isa;
using augur::isa;

/// Read-only matrix: element (i, j) is data[i * row + j * col]; exchange the strides to transpose. Pass it by reference: a fresh copy causes
/// store-forwarding stalls.
struct operand {
    const float* data;
    std::ptrdiff_t row, col;
};

/// Initial value of a product: row r is at data + r * row; null data: zeros.
struct gemm_start {
    const float* data = nullptr;
    std::ptrdiff_t row = 0;
};

namespace detail {

inline constexpr std::ptrdiff_t k_block = 384; ///< maximum steps of k between two stores of the sums; 48 KiB of B

/// Rows of A of a tile, and the address to prefetch for the next tile; the address advances by `stride` floats per step of k.
struct strip : operand {
    const float* prefetch;
    std::ptrdiff_t stride;
};

/// Kernel of one tile: c (R, V vectors) = [start +] a (R, k) panel (k, V vectors). `ldb` is the row stride of the panel; only the first `last` lanes
/// of the last vector belong to c.
using tile_function = void (*)(std::ptrdiff_t k, const strip& a, const float* panel, std::ptrdiff_t ldb, float* c, std::ptrdiff_t ldc,
                               const gemm_start& start, int last);

/// Minimum steps of k for which prefetching c pays.
inline constexpr std::ptrdiff_t deep = 64;

template <int R, int V>
struct generic_tile {
    static constexpr int lanes = 8, vectors = 2, rows = 6; // of the largest one
    static void run(std::ptrdiff_t k, const strip& a, const float* panel, std::ptrdiff_t ldb, float* c, std::ptrdiff_t ldc, const gemm_start& start,
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
    __attribute__((target("avx2,fma"))) static void run(std::ptrdiff_t k, const strip& a, const float* panel, std::ptrdiff_t ldb, float* c,
                                                        std::ptrdiff_t ldc, const gemm_start& start, int last) {
        __m256 sum[R][V];
        AUGUR_UNROLL
        for (int r = 0; r < R; ++r) {
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) sum[r][v] = _mm256_setzero_ps();
        }
        if (k >= deep) {
            AUGUR_UNROLL
            for (int r = 0; r < R; ++r) {
                AUGUR_UNROLL
                for (int v = 0; v < V; v += 2) __builtin_prefetch(c + r * ldc + 8 * v, 1);
            }
        }
        const float *from = a.data, *prefetch = a.prefetch;
        const std::ptrdiff_t row = a.row, col = a.col, stride = a.stride;
        for (std::ptrdiff_t p = 0; p < k; ++p, panel += ldb, from += col, prefetch += stride) {
            __builtin_prefetch(prefetch);
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
    __attribute__((target("avx512f"))) static void run(std::ptrdiff_t k, const strip& a, const float* panel, std::ptrdiff_t ldb, float* c,
                                                       std::ptrdiff_t ldc, const gemm_start& start, int last) {
        const auto mask = static_cast<__mmask16>((1U << static_cast<unsigned>(last)) - 1U);
        __m512 sum[R][V];
        AUGUR_UNROLL
        for (int r = 0; r < R; ++r) {
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) sum[r][v] = _mm512_setzero_ps();
        }
        if (k >= deep) {
            AUGUR_UNROLL
            for (int r = 0; r < R; ++r) {
                AUGUR_UNROLL
                for (int v = 0; v < V; ++v) __builtin_prefetch(c + r * ldc + 16 * v, 1);
            }
        }
        const float* prefetch = a.prefetch;
        const std::ptrdiff_t row = a.row, col = a.col, stride = a.stride;
        const float* from[3] = {a.data, a.data + (R > 4 ? 4 : 0) * row, a.data + (R > 8 ? 8 : 0) * row}; // addresses that take few registers
        for (std::ptrdiff_t p = 0; p < k; ++p, panel += ldb, from[0] += col, from[1] += col, from[2] += col, prefetch += stride) {
            __builtin_prefetch(prefetch);
            __m512 b[V];
            AUGUR_UNROLL
            for (int v = 0; v < V; ++v) b[v] = _mm512_loadu_ps(panel + 16 * v);
            AUGUR_UNROLL
            for (int r = 0; r < R; ++r) {
                const __m512 x = _mm512_set1_ps(from[r / 4][r % 4 * row]);
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

/// Tile kernels of V vectors, by number of rows.
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
    for (; j + 4 <= cols; j += 4) { // writes whole cache lines of `to`; the lines of `from` stay in the first-level cache
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

/// panel (depth, width) <- `used` columns of B, starting at `from`, then zeros.
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

/// Partition of B into blocks of `depth` <= k_block steps of k, of nearly equal size, and panels of `full` columns.
template <template <int, int> class Tile>
struct cut {
    using largest = Tile<1, 1>;
    static constexpr std::ptrdiff_t full = largest::lanes * largest::vectors;
    /// Calls f(k0, depth) for each block, at least once.
    template <class F>
    static void blocks(std::ptrdiff_t k, const F& f) {
        std::ptrdiff_t k0 = 0;
        for (std::ptrdiff_t left = (std::max)((k + k_block - 1) / k_block, std::ptrdiff_t{1}); left > 0; --left) {
            const std::ptrdiff_t depth = (k - k0 + left - 1) / left;
            f(k0, depth);
            k0 += depth;
        }
    }
    static std::ptrdiff_t vectors(std::ptrdiff_t used) { return (used + largest::lanes - 1) / largest::lanes; }
};

/// C = [start +] A B. Packs the panels of B on the stack (48 KiB) unless `packed` has them; a small product reads B without packing.
template <template <int, int> class Tile>
void gemm_loop(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, const operand& a, const operand& b, const float* packed, float* c,
               std::ptrdiff_t ldc, const gemm_start& start) {
    using shape = cut<Tile>;
    using largest = typename shape::largest;
    constexpr std::ptrdiff_t full = shape::full, small = 48;
    constexpr std::ptrdiff_t m_block = 384;  // rows of A that fit in the second-level cache
    constexpr std::ptrdiff_t two_tiles = 10; // rows whose halves hide the latency of a multiply-add; with two tiles the next panel is fetched early
    alignas(64) float room[k_block * full];
    shape::blocks(k, [&](std::ptrdiff_t k0, std::ptrdiff_t depth) {
        const gemm_start from_c{c, ldc}, &add = k0 > 0 ? from_c : start;
        for (std::ptrdiff_t m0 = 0; m0 < m; m0 += m_block) {
            const std::ptrdiff_t m1 = (std::min)(m, m0 + m_block);
            for (std::ptrdiff_t n0 = 0; n0 < n; n0 += full) {
                const std::ptrdiff_t used = (std::min)(n - n0, full);
                const std::ptrdiff_t vectors = shape::vectors(used);
                const auto last = static_cast<int>(used - (vectors - 1) * largest::lanes);
                const float* panel = room;
                std::ptrdiff_t width = vectors * largest::lanes;
                if (packed != nullptr) {
                    panel = packed + k0 * shape::vectors(n) * largest::lanes + n0 * depth;
                } else if (const float* from = b.data + k0 * b.row + n0 * b.col; m <= small && b.col == 1 && last == largest::lanes) {
                    panel = from;
                    width = b.row;
                } else {
                    pack<full>(room, from, b, depth, used, width);
                }
                const auto& tiles = vectors == 1 ? tile_column<Tile, 1> : tile_column<Tile, 2>;
                const std::ptrdiff_t height =
                    packed != nullptr && m1 - m0 >= two_tiles && m1 - m0 <= largest::rows ? 2 : (m1 - m0 + largest::rows - 1) / largest::rows;
                const std::ptrdiff_t share = packed != nullptr && height > 1 && n0 + full < n ? (full + height - 1) / height : 0;
                std::ptrdiff_t i = m0;
                for (std::ptrdiff_t left = height; left > 0; --left) { // tiles of nearly equal height
                    const std::ptrdiff_t rows = (m1 - i + left - 1) / left;
                    strip at{{a.data + i * a.row + k0 * a.col, a.row, a.col}, nullptr, 0};
                    at.prefetch = at.data;
                    if (n0 == 0 && left > 1) { // for later panels the rows are in the cache
                        at.prefetch += (a.col == 1 ? rows : 2 * rows - 1) * a.row;
                        at.stride = a.col == 1 ? rows : a.col;
                    } else if (share > 0) { // the next panel comes from memory while this one is multiplied, a share by each tile
                        at.prefetch = panel + depth * width + (height - left) * depth * share;
                        at.stride = share;
                    }
                    const gemm_start from_start{add.data == nullptr ? nullptr : add.data + i * add.row + n0, add.row};
                    tiles[static_cast<std::size_t>(rows - 1)](depth, at, panel, width, c + i * ldc + n0, ldc, from_start, last);
                    i += rows;
                }
            }
        }
    });
}

/// Packs all panels of B in the order of `gemm_loop`.
template <template <int, int> class Tile>
void pack_all(std::ptrdiff_t k, std::ptrdiff_t n, const operand& b, line_buffer<float>& to) {
    using shape = cut<Tile>;
    constexpr std::ptrdiff_t lanes = shape::largest::lanes;
    float* panel = to.reserve(static_cast<std::size_t>(k * shape::vectors(n) * lanes));
    shape::blocks(k, [&](std::ptrdiff_t k0, std::ptrdiff_t depth) {
        for (std::ptrdiff_t n0 = 0; n0 < n; n0 += shape::full) {
            const std::ptrdiff_t used = (std::min)(n - n0, shape::full), width = shape::vectors(used) * lanes;
            pack<shape::full>(panel, b.data + k0 * b.row + n0 * b.col, b, depth, used, width);
            panel += depth * width;
        }
    });
}

} // namespace detail

/// C (m, n) = [start +] A (m, k) B (k, n). C is row-major with row stride `ldc`; it must not overlap A or B, and may be the start.
///
/// @note O(m n k), no allocation, safe to call concurrently on distinct C
inline void gemm(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, const operand& a, const operand& b, float* c, std::ptrdiff_t ldc,
                 const gemm_start& start = {}, isa level = best_isa()) {
#if AUGUR_X86
    if (level == isa::avx512) return detail::gemm_loop<detail::avx512_tile>(m, n, k, a, b, nullptr, c, ldc, start);
    if (level == isa::avx2) return detail::gemm_loop<detail::avx2_tile>(m, n, k, a, b, nullptr, c, ldc, start);
#endif
    (void)level;
    detail::gemm_loop<detail::generic_tile>(m, n, k, a, b, nullptr, c, ldc, start);
}

/// Packed matrix B (k, n) for many products with the same B. Its memory grows and never shrinks.
class packed_operand {
public:
    /// pre: the processor has `level`
    void pack(std::ptrdiff_t k, std::ptrdiff_t n, const operand& b, isa level = best_isa()) {
        k_ = k;
        n_ = n;
        level_ = level;
#if AUGUR_X86
        if (level == isa::avx512) return detail::pack_all<detail::avx512_tile>(k, n, b, panels_);
        if (level == isa::avx2) return detail::pack_all<detail::avx2_tile>(k, n, b, panels_);
#endif
        detail::pack_all<detail::generic_tile>(k, n, b, panels_);
    }

    /// C (m, n) = [start +] A (m, k) B, bit-identical to `gemm`. Safe to call concurrently on distinct C.
    void gemm(std::ptrdiff_t m, const operand& a, float* c, std::ptrdiff_t ldc, const gemm_start& start = {}) const {
        const operand none{nullptr, 0, 0};
#if AUGUR_X86
        if (level_ == isa::avx512) return detail::gemm_loop<detail::avx512_tile>(m, n_, k_, a, none, panels_.data(), c, ldc, start);
        if (level_ == isa::avx2) return detail::gemm_loop<detail::avx2_tile>(m, n_, k_, a, none, panels_.data(), c, ldc, start);
#endif
        detail::gemm_loop<detail::generic_tile>(m, n_, k_, a, none, panels_.data(), c, ldc, start);
    }

private:
    std::ptrdiff_t k_ = 0, n_ = 0;
    isa level_ = isa::generic;
    line_buffer<float> panels_;
};

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
