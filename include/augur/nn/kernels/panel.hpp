// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_PANEL_HPP
#define AUGUR_NN_KERNELS_PANEL_HPP

/// @file
/// Matrix-product kernels for inference: B is packed once (panel_layer.hpp), A is a tile in the cache, and bias, ReLU and residual are fused with the
/// product in registers.
///
/// B is divided into panels of W columns, each stored as (k, W). In bf16 two steps of k are interleaved, (k / 2, W, 2), as `vdpbf16ps` reads them. A
/// panel may consist of segments of a few steps of k at any addresses, so that rows of B are gathered from a table without a copy.
///
/// Every element is one chain of fused multiply-adds that starts with its initial value, so AVX2 and AVX-512 are bit-identical, and a row does not
/// depend on the other rows.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/amx.hpp>
#include <augur/nn/kernels/bf16.hpp>
#include <augur/nn/kernels/gemm.hpp>

#if AUGUR_X86
#include <immintrin.h>
#endif

namespace augur::inline v0 {
namespace nn::kernels {

/// Operation fused after the product; s is the sum.
enum class panel_end : std::uint8_t {
    linear,   ///< y = s
    relu,     ///< y = max(s, 0)
    residual, ///< y = max(s, 0) + x
    fold,     ///< the panel is (s | t): y = max(t, 0) + s, half as many columns
    sums      ///< sums = s, in float
};

/// Arguments of one tile: R rows of A times one panel.
template <class T> // float or bf16
struct panel_tile {
    const T* a = nullptr; ///< row r begins at a + r * a_row; its numbers for segment s at offset s * a_segment
    std::ptrdiff_t a_row = 0, a_segment = 0;
    const T* const* segments = nullptr; ///< segment s of the panel begins at segments[s] + offset
    std::ptrdiff_t count = 1, offset = 0;
    std::ptrdiff_t steps = 0;           ///< steps per segment; a step is one k in float, two in bf16
    const float* const* init = nullptr; ///< initial value of row r is at init[r * init_next] + init_offset; init_next 0: a bias for all rows
    std::ptrdiff_t init_next = 0, init_offset = 0;
    const T* x = nullptr; ///< rows of the residual
    std::ptrdiff_t x_row = 0;
    T* y = nullptr;
    std::ptrdiff_t y_row = 0;
    float* sums = nullptr; ///< instead of y, with panel_end::sums
    std::ptrdiff_t sums_row = 0;
    const T* ahead = nullptr; ///< with panel_end::sums: step s fetches ahead + s * ahead_step into the cache, of the panel that is next
    std::ptrdiff_t ahead_step = 0;
};

namespace detail {

struct generic_panel {
    using number = float;
    static constexpr int lanes = 8, vectors = 2, rows = 2, pair = 1;
    struct vec {
        std::array<float, 8> x;
    };
    static vec load(const float* p) {
        vec v;
        std::memcpy(v.x.data(), p, sizeof v.x);
        return v;
    }
    static vec weights(const float* p) { return load(p); }
    static float broadcast(const float* p) { return *p; }
    static vec fma(float a, const vec& b, vec s) {
        for (std::size_t i = 0; i < 8; ++i) s.x[i] += a * b.x[i];
        return s;
    }
    static vec add(vec a, const vec& b) {
        for (std::size_t i = 0; i < 8; ++i) a.x[i] += b.x[i];
        return a;
    }
    static vec relu(vec a) {
        for (std::size_t i = 0; i < 8; ++i) a.x[i] = a.x[i] < 0 ? 0 : a.x[i];
        return a;
    }
    static void store(float* p, const vec& v) { std::memcpy(p, v.x.data(), sizeof v.x); }
};

/// Portable C++ version of the `vdpbf16ps` kernel, for tests: equally exact, slow, 64 columns.
struct generic_bf16_panel : generic_panel {
    using number = bf16;
    static constexpr int vectors = 8, pair = 2;
    struct two {
        std::array<bf16, 16> x;
    };
    using generic_panel::load, generic_panel::store;
    static vec load(const bf16* p) {
        vec v;
        for (std::size_t i = 0; i < 8; ++i) v.x[i] = to_float(p[i]);
        return v;
    }
    static two weights(const bf16* p) {
        two v;
        std::memcpy(v.x.data(), p, sizeof v.x);
        return v;
    }
    static const bf16* broadcast(const bf16* p) { return p; }
    static vec fma(const bf16* a, const two& b, vec s) {
        const float low = to_float(a[0]), high = to_float(a[1]);
        for (std::size_t i = 0; i < 8; ++i) s.x[i] += low * to_float(b.x[2 * i]) + high * to_float(b.x[2 * i + 1]);
        return s;
    }
    static void store(bf16* p, const vec& v) {
        for (std::size_t i = 0; i < 8; ++i) p[i] = to_bf16(v.x[i]);
    }
};

#if AUGUR_X86
#define AUGUR_NN_OP(features) __attribute__((target(features), always_inline)) static inline
struct avx2_panel {
    using number = float;
    using vec = __m256;
    static constexpr int lanes = 8, vectors = 2, rows = 6, pair = 1;
    AUGUR_NN_OP("avx2,fma") vec load(const float* p) { return _mm256_loadu_ps(p); }
    AUGUR_NN_OP("avx2,fma") vec weights(const float* p) { return _mm256_loadu_ps(p); }
    AUGUR_NN_OP("avx2,fma") vec broadcast(const float* p) { return _mm256_broadcast_ss(p); }
    AUGUR_NN_OP("avx2,fma") vec fma(vec a, vec b, vec s) { return _mm256_fmadd_ps(a, b, s); }
    AUGUR_NN_OP("avx2,fma") vec add(vec a, vec b) { return _mm256_add_ps(a, b); }
    AUGUR_NN_OP("avx2,fma") vec relu(vec a) { return _mm256_max_ps(_mm256_setzero_ps(), a); } // max returns the second operand for NaN
    AUGUR_NN_OP("avx2,fma") void store(float* p, vec v) { _mm256_storeu_ps(p, v); }
};
inline constexpr __mmask16 every = 0xFFFF; ///< GCC 12 warns about uninitialised vectors in the intrinsics without a mask
struct avx512_panel {
    using number = float;
    using vec = __m512;
    static constexpr int lanes = 16, vectors = 4, rows = 6, pair = 1;
    AUGUR_NN_OP("avx512f") vec load(const float* p) { return _mm512_loadu_ps(p); }
    AUGUR_NN_OP("avx512f") vec weights(const float* p) { return _mm512_loadu_ps(p); }
    AUGUR_NN_OP("avx512f") vec broadcast(const float* p) { return _mm512_set1_ps(*p); }
    AUGUR_NN_OP("avx512f") vec fma(vec a, vec b, vec s) { return _mm512_fmadd_ps(a, b, s); }
    AUGUR_NN_OP("avx512f") vec add(vec a, vec b) { return _mm512_add_ps(a, b); }
    AUGUR_NN_OP("avx512f") vec relu(vec a) { return _mm512_maskz_max_ps(every, _mm512_setzero_ps(), a); }
    AUGUR_NN_OP("avx512f") void store(float* p, vec v) { _mm512_storeu_ps(p, v); }
};
struct avx512_narrow_panel : avx512_panel {
    static constexpr int vectors = 1, rows = 12; // enough accumulators to hide the latency
};
struct avx512_bf16_panel {
    using number = bf16;
    using vec = __m512;
    static constexpr int lanes = 16, vectors = 4, rows = 6, pair = 2;
    AUGUR_NN_OP("avx512f,avx512bf16") vec load(const float* p) { return _mm512_loadu_ps(p); }
    AUGUR_NN_OP("avx512f,avx512bf16") vec load(const bf16* p) {
        const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(every, _mm512_maskz_cvtepu16_epi32(every, half), 16));
    }
    AUGUR_NN_OP("avx512f,avx512bf16") __m512i weights(const bf16* p) { return _mm512_loadu_si512(p); }
    AUGUR_NN_OP("avx512f,avx512bf16") __m512i broadcast(const bf16* p) {
        int both;
        __builtin_memcpy(&both, p, sizeof both);
        return _mm512_set1_epi32(both);
    }
    AUGUR_NN_OP("avx512f,avx512bf16") vec fma(__m512i a, __m512i b, vec s) { return _mm512_dpbf16_ps(s, (__m512bh)a, (__m512bh)b); }
    AUGUR_NN_OP("avx512f,avx512bf16") vec add(vec a, vec b) { return _mm512_add_ps(a, b); }
    AUGUR_NN_OP("avx512f,avx512bf16") vec relu(vec a) { return _mm512_maskz_max_ps(every, _mm512_setzero_ps(), a); }
    AUGUR_NN_OP("avx512f,avx512bf16") void store(float* p, vec v) { _mm512_storeu_ps(p, v); }
    AUGUR_NN_OP("avx512f,avx512bf16") void store(bf16* p, vec v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)_mm512_cvtneps_pbh(v));
    }
};
#endif

// One body for all instruction sets, in a macro: the target attribute of a function cannot depend on a template argument.
#define AUGUR_NN_PANEL_TILE(name, policy, attributes)                                                                                                \
    template <int R, panel_end End>                                                                                                                  \
    attributes void name(const panel_tile<policy::number>& t) {                                                                                      \
        using P = policy;                                                                                                                            \
        constexpr int V = P::vectors;                                                                                                                \
        typename P::vec sum[R][V];                                                                                                                   \
        AUGUR_UNROLL                                                                                                                                 \
        for (int r = 0; r < R; ++r) {                                                                                                                \
            const float* const from = t.init[r * t.init_next] + t.init_offset;                                                                       \
            AUGUR_UNROLL                                                                                                                             \
            for (int v = 0; v < V; ++v) sum[r][v] = P::load(from + v * P::lanes);                                                                    \
        }                                                                                                                                            \
        const std::ptrdiff_t row = t.a_row, steps = t.steps;                                                                                         \
        [[maybe_unused]] const P::number* ahead = t.ahead;                                                                                           \
        [[maybe_unused]] const std::ptrdiff_t ahead_step = t.ahead_step;                                                                             \
        const P::number* from = t.a;                                                                                                                 \
        for (std::ptrdiff_t s = 0; s < t.count; ++s, from += t.a_segment) {                                                                          \
            const P::number* b = t.segments[s] + t.offset;                                                                                           \
            [[maybe_unused]] const P::number* next = t.segments[s + 1 < t.count ? s + 1 : s] + t.offset;                                             \
            const P::number* a = from;                                                                                                               \
            for (std::ptrdiff_t k = 0; k < steps; ++k, a += P::pair, b += P::pair * P::lanes * V) {                                                  \
                decltype(P::weights(b)) w[V];                                                                                                        \
                if constexpr (End == panel_end::sums) {                                                                                              \
                    __builtin_prefetch(ahead);                                                                                                       \
                    ahead += ahead_step;                                                                                                             \
                }                                                                                                                                    \
                AUGUR_UNROLL                                                                                                                         \
                for (int v = 0; v < V; ++v) {                                                                                                        \
                    w[v] = P::weights(b + v * P::pair * P::lanes);                                                                                   \
                    if constexpr (End == panel_end::fold) { /* its rows are gathered: the processor does not see where the next ones lie */          \
                        if (v * static_cast<int>(sizeof w[0]) % 64 == 0) __builtin_prefetch(next + (k * V + v) * P::pair * P::lanes);                \
                    }                                                                                                                                \
                }                                                                                                                                    \
                AUGUR_UNROLL                                                                                                                         \
                for (int r = 0; r < R; ++r) {                                                                                                        \
                    const auto x = P::broadcast(a + r * row);                                                                                        \
                    AUGUR_UNROLL                                                                                                                     \
                    for (int v = 0; v < V; ++v) sum[r][v] = P::fma(x, w[v], sum[r][v]);                                                              \
                }                                                                                                                                    \
            }                                                                                                                                        \
        }                                                                                                                                            \
        AUGUR_UNROLL                                                                                                                                 \
        for (int r = 0; r < R; ++r) {                                                                                                                \
            AUGUR_UNROLL                                                                                                                             \
            for (int v = 0; v < (End == panel_end::fold ? V / 2 : V); ++v) {                                                                         \
                [[maybe_unused]] P::number* const to = End == panel_end::sums ? nullptr : t.y + r * t.y_row + v * P::lanes;                          \
                if constexpr (End == panel_end::linear) P::store(to, sum[r][v]);                                                                     \
                else if constexpr (End == panel_end::sums) P::store(t.sums + r * t.sums_row + v * P::lanes, sum[r][v]);                              \
                else if constexpr (End == panel_end::relu) P::store(to, P::relu(sum[r][v]));                                                         \
                else if constexpr (End == panel_end::fold) P::store(to, P::add(P::relu(sum[r][v + V / 2]), sum[r][v]));                              \
                else P::store(to, P::add(P::relu(sum[r][v]), P::load(t.x + r * t.x_row + v * P::lanes)));                                            \
            }                                                                                                                                        \
        }                                                                                                                                            \
    }

AUGUR_NN_PANEL_TILE(generic_panel_tile, generic_panel, inline)
AUGUR_NN_PANEL_TILE(generic_bf16_panel_tile, generic_bf16_panel, inline)
#if AUGUR_X86
AUGUR_NN_PANEL_TILE(avx2_panel_tile, avx2_panel, __attribute__((target("avx2,fma"))))
AUGUR_NN_PANEL_TILE(avx512_panel_tile, avx512_panel, __attribute__((target("avx512f"))))
AUGUR_NN_PANEL_TILE(avx512_narrow_panel_tile, avx512_narrow_panel, __attribute__((target("avx512f"))))
AUGUR_NN_PANEL_TILE(avx512_bf16_panel_tile, avx512_bf16_panel, __attribute__((target("avx512f,avx512bf16"))))
#endif
#undef AUGUR_NN_PANEL_TILE

template <class T>
using panel_function = void (*)(const panel_tile<T>&);

} // namespace detail

/// Tile kernels of one instruction set.
template <class T>
struct panel_kernels {
    std::ptrdiff_t width = 0; ///< W, columns of a panel
    std::ptrdiff_t rows = 0;  ///< maximum rows of a tile
    std::ptrdiff_t pair = 1;  ///< steps of k that are interleaved: 1 in float, 2 in bf16
    bool amx = false;         ///< whole layers use AMX (panel_layer); no tile kernels
    std::array<std::array<detail::panel_function<T>, 12>, 5> tiles{};

    /// Y (m, W) = end(init + A panel). The fields of `t` describe the first row; they are restored on return. `t` is not copied, because the copy
    /// would take as long as a small tile.
    void operator()(panel_end end, std::ptrdiff_t m, panel_tile<T>& t) const {
        const auto& by_rows = tiles[static_cast<std::size_t>(end)];
        if (m <= rows) {
            if (m > 0) by_rows[static_cast<std::size_t>(m - 1)](t);
            return;
        }
        const T *const a = t.a, *const x = t.x, *const ahead = t.ahead;
        const float* const* const init = t.init;
        T* const y = t.y;
        float* const sums = t.sums;
        const auto parts =
            static_cast<std::ptrdiff_t>((static_cast<std::uint32_t>(m) + static_cast<std::uint32_t>(rows) - 1) / static_cast<std::uint32_t>(rows));
        const auto least = static_cast<std::ptrdiff_t>(static_cast<std::uint32_t>(m) / static_cast<std::uint32_t>(parts));
        std::ptrdiff_t higher = m - parts * least;
        for (std::ptrdiff_t left = parts; left > 0; --left, --higher) { // tiles of nearly equal height: low tiles are slow
            const std::ptrdiff_t r = higher > 0 ? least + 1 : least;
            by_rows[static_cast<std::size_t>(r - 1)](t);
            t.a += r * t.a_row;
            t.init += r * t.init_next;
            t.x += t.x == nullptr ? 0 : r * t.x_row;
            t.y += t.y == nullptr ? 0 : r * t.y_row;
            t.sums += t.sums == nullptr ? 0 : r * t.sums_row;
            t.ahead += t.steps * t.ahead_step;
        }
        t.a = a;
        t.ahead = ahead;
        t.x = x;
        t.init = init;
        t.y = y;
        t.sums = sums;
    }
};

namespace detail {
template <class Policy>
constexpr int tile_height(int r) { // clamps heights that are never called
    return r < Policy::rows ? r : Policy::rows;
}
#define AUGUR_NN_PANEL_ROW(tile, policy, end)                                                                                                        \
    {&tile<1, end>,                                                                                                                                  \
     &tile<2, end>,                                                                                                                                  \
     &tile<detail::tile_height<policy>(3), end>,                                                                                                     \
     &tile<detail::tile_height<policy>(4), end>,                                                                                                     \
     &tile<detail::tile_height<policy>(5), end>,                                                                                                     \
     &tile<detail::tile_height<policy>(6), end>}
#define AUGUR_NN_PANEL_KERNELS(tile, policy)                                                                                                         \
    panel_kernels<policy::number> {                                                                                                                  \
        policy::lanes *policy::vectors, policy::rows, policy::pair, false, {                                                                         \
            {                                                                                                                                        \
                AUGUR_NN_PANEL_ROW(tile, policy, panel_end::linear), AUGUR_NN_PANEL_ROW(tile, policy, panel_end::relu),                              \
                    AUGUR_NN_PANEL_ROW(tile, policy, panel_end::residual), AUGUR_NN_PANEL_ROW(tile, policy, panel_end::fold),                        \
                    AUGUR_NN_PANEL_ROW(tile, policy, panel_end::sums)                                                                                \
            }                                                                                                                                        \
        }                                                                                                                                            \
    }
#if AUGUR_X86
template <std::size_t... R>
panel_kernels<float> narrow_avx512_panels(std::index_sequence<R...>) {
    panel_kernels<float> out{avx512_narrow_panel::lanes, avx512_narrow_panel::rows, 1, false, {}};
    out.tiles[static_cast<std::size_t>(panel_end::linear)] = {&avx512_narrow_panel_tile<static_cast<int>(R) + 1, panel_end::linear>...};
    return out;
}
#endif
} // namespace detail

/// Float kernels.   pre: the CPU has `level`, and amx_ready() if `amx`
inline panel_kernels<float> float_panels(isa level = best_isa(), bool amx = false) {
    if (amx) return {amx_columns, amx_rows, 1, true, {}};
#if AUGUR_X86
    if (level == isa::avx512) return AUGUR_NN_PANEL_KERNELS(detail::avx512_panel_tile, detail::avx512_panel);
    if (level == isa::avx2) return AUGUR_NN_PANEL_KERNELS(detail::avx2_panel_tile, detail::avx2_panel);
#endif
    (void)level;
    return AUGUR_NN_PANEL_KERNELS(detail::generic_panel_tile, detail::generic_panel);
}

/// Float kernels with panels of at most 16 columns, for panel_end::linear only.   pre: the CPU has `level`
inline panel_kernels<float> narrow_float_panels(isa level = best_isa()) {
#if AUGUR_X86
    if (level == isa::avx512) return detail::narrow_avx512_panels(std::make_index_sequence<detail::avx512_narrow_panel::rows>());
#endif
    return float_panels(level);
}

/// bf16 kernels with float sums: AVX512_BF16 if `native`, AMX if `amx`, else portable C++.   pre: !native || has_bf16(), and amx_ready() if `amx`
inline panel_kernels<bf16> bf16_panels(bool native = has_bf16(), bool amx = false) {
    if (amx) return {amx_columns, amx_rows, 2, true, {}};
#if AUGUR_X86
    if (native) return AUGUR_NN_PANEL_KERNELS(detail::avx512_bf16_panel_tile, detail::avx512_bf16_panel);
#endif
    (void)native;
    return AUGUR_NN_PANEL_KERNELS(detail::generic_bf16_panel_tile, detail::generic_bf16_panel);
}
#undef AUGUR_NN_PANEL_KERNELS
#undef AUGUR_NN_PANEL_ROW

/// bf16 kernels where they are faster than float's (AMX, or AVX512_BF16 but for Intel's), else none. `portable`: kernels in any case.
/// pre: the CPU has `level`; with a level below AVX-512 or without `amx` what it has beyond is not used
inline std::optional<panel_kernels<bf16>> fast_bf16_panels(isa level = best_isa(), bool amx = true, bool portable = false) {
    const bool vectors = level == isa::avx512, native = vectors && has_bf16(), tiles = vectors && amx && amx_ready();
    if (!tiles && !(native && has_fast_bf16()) && !portable) return std::nullopt;
    return bf16_panels(native, tiles);
}

} // namespace nn::kernels
} // namespace augur::inline v0

#undef AUGUR_NN_OP

#endif
