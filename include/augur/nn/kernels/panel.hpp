// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_PANEL_HPP
#define AUGUR_NN_KERNELS_PANEL_HPP

/// @file
/// Matrix products for inference: B is packed once, A is a tile that stays in the cache, and what follows the product (bias, ReLU, a residual) is
/// done while the sums are still in registers.
///
/// B is cut into panels of W columns, each (k, W) in one piece. In bf16 two steps of k lie side by side, (k / 2, W, 2), as `vdpbf16ps` reads them. A
/// panel may come in segments, a few steps of k each, that lie anywhere: so the rows of B can be gathered from a table without being copied.
///
/// Every element is one chain of fused multiply-adds that begins with its initial value, so AVX2 and AVX-512 agree to the last bit, and a row does
/// not depend on the rows beside it.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <augur/nn/kernels/gemm.hpp>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define AUGUR_NN_X86 1
#include <immintrin.h>
#else
#define AUGUR_NN_X86 0
#endif

#if defined(__clang__)
#define AUGUR_NN_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define AUGUR_NN_UNROLL _Pragma("GCC unroll 8")
#else
#define AUGUR_NN_UNROLL
#endif

namespace augur::inline v0 {
namespace nn::kernels {

/// The upper half of a float's bits.
using bf16 = std::uint16_t;

/// To nearest, ties to even; NaN stays NaN.
inline bf16 to_bf16(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<bf16>((bits >> 16U) | 0x40U);
    return static_cast<bf16>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}
inline float to_float(bf16 x) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16U); }
inline float to_float(float x) noexcept { return x; }

/// Does this processor multiply bf16 (AVX512_BF16)? Constant for a process.
inline bool has_bf16() noexcept {
#if AUGUR_NN_X86
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

/// What becomes of a sum.
enum class panel_end : std::uint8_t {
    linear,   ///< y = s
    relu,     ///< y = max(s, 0)
    residual, ///< y = max(s, 0) + x
    fold      ///< the panel is (s | t): y = max(t, 0) + s, half as many columns
};

/// One tile: R rows of A times one panel.
template <class T> // float or bf16
struct panel_tile {
    const T* a = nullptr;               ///< row r begins at a + r a_row, its numbers for segment s at s a_segment
    std::ptrdiff_t a_row = 0, a_segment = 0;
    const T* const* segments = nullptr; ///< segment s of the panel begins at segments[s] + offset
    std::ptrdiff_t count = 1, offset = 0;
    std::ptrdiff_t steps = 0;            ///< in a segment; of one k in float, of two in bf16
    const float* const* init = nullptr;  ///< row r starts at init[r init_next] + init_offset: a bias (init_next 0), or one's own
    std::ptrdiff_t init_next = 0, init_offset = 0;
    const T* x = nullptr;                ///< the residual's rows
    std::ptrdiff_t x_row = 0;
    T* y = nullptr;
    std::ptrdiff_t y_row = 0;
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

/// The twin of `vdpbf16ps` in plain C++: as exact, not as fast. 64 columns, as the real one has.
struct generic_bf16_panel : generic_panel {
    using number = bf16;
    static constexpr int vectors = 8, pair = 2;
    struct two {
        std::array<bf16, 16> x;
    };
    using generic_panel::load;
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

#if AUGUR_NN_X86
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
    AUGUR_NN_OP("avx2,fma") vec relu(vec a) { return _mm256_max_ps(_mm256_setzero_ps(), a); } // the second operand of the two wins for NaN
    AUGUR_NN_OP("avx2,fma") void store(float* p, vec v) { _mm256_storeu_ps(p, v); }
};
inline constexpr __mmask16 every = 0xFFFF; ///< the forms without a mask make GCC 12 warn of uninitialised vectors
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
    AUGUR_NN_OP("avx512f,avx512bf16") void store(bf16* p, vec v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)_mm512_cvtneps_pbh(v));
    }
};
#endif

// One body for every instruction set: a function that may use its instructions must name them, which a template argument cannot do.
#define AUGUR_NN_PANEL_TILE(name, policy, attributes)                                                                                                \
    template <int R, panel_end End>                                                                                                                  \
    attributes void name(const panel_tile<policy::number>& t) {                                                                                      \
        using P = policy;                                                                                                                            \
        constexpr int V = P::vectors;                                                                                                                \
        typename P::vec sum[R][V];                                                                                                                   \
        AUGUR_NN_UNROLL                                                                                                                              \
        for (int r = 0; r < R; ++r) {                                                                                                                \
            const float* const from = t.init[r * t.init_next] + t.init_offset;                                                                       \
            AUGUR_NN_UNROLL                                                                                                                          \
            for (int v = 0; v < V; ++v) sum[r][v] = P::load(from + v * P::lanes);                                                                    \
        }                                                                                                                                            \
        const std::ptrdiff_t row = t.a_row, steps = t.steps;                                                                                         \
        const P::number* from = t.a;                                                                                                                 \
        for (std::ptrdiff_t s = 0; s < t.count; ++s, from += t.a_segment) {                                                                          \
            const P::number* b = t.segments[s] + t.offset;                                                                                           \
            [[maybe_unused]] const P::number* next = t.segments[s + 1 < t.count ? s + 1 : s] + t.offset;                                             \
            const P::number* a = from;                                                                                                               \
            for (std::ptrdiff_t k = 0; k < steps; ++k, a += P::pair, b += P::pair * P::lanes * V) {                                                  \
                decltype(P::weights(b)) w[V];                                                                                                        \
                AUGUR_NN_UNROLL                                                                                                                      \
                for (int v = 0; v < V; ++v) {                                                                                                        \
                    w[v] = P::weights(b + v * P::pair * P::lanes);                                                                                   \
                    if constexpr (End == panel_end::fold) { /* its rows are gathered: the processor does not see where the next ones lie */          \
                        if (v * static_cast<int>(sizeof w[0]) % 64 == 0) __builtin_prefetch(next + (k * V + v) * P::pair * P::lanes);                \
                    }                                                                                                                                \
                }                                                                                                                                    \
                AUGUR_NN_UNROLL                                                                                                                      \
                for (int r = 0; r < R; ++r) {                                                                                                        \
                    const auto x = P::broadcast(a + r * row);                                                                                        \
                    AUGUR_NN_UNROLL                                                                                                                  \
                    for (int v = 0; v < V; ++v) sum[r][v] = P::fma(x, w[v], sum[r][v]);                                                              \
                }                                                                                                                                    \
            }                                                                                                                                        \
        }                                                                                                                                            \
        AUGUR_NN_UNROLL                                                                                                                              \
        for (int r = 0; r < R; ++r) {                                                                                                                \
            P::number* const y = t.y + r * t.y_row;                                                                                                  \
            AUGUR_NN_UNROLL                                                                                                                          \
            for (int v = 0; v < (End == panel_end::fold ? V / 2 : V); ++v) {                                                                         \
                P::number* const to = y + v * P::lanes;                                                                                              \
                if constexpr (End == panel_end::linear) P::store(to, sum[r][v]);                                                                     \
                else if constexpr (End == panel_end::relu) P::store(to, P::relu(sum[r][v]));                                                         \
                else if constexpr (End == panel_end::fold) P::store(to, P::add(P::relu(sum[r][v + V / 2]), sum[r][v]));                              \
                else P::store(to, P::add(P::relu(sum[r][v]), P::load(t.x + r * t.x_row + v * P::lanes)));                                            \
            }                                                                                                                                        \
        }                                                                                                                                            \
    }

AUGUR_NN_PANEL_TILE(generic_panel_tile, generic_panel, inline)
AUGUR_NN_PANEL_TILE(generic_bf16_panel_tile, generic_bf16_panel, inline)
#if AUGUR_NN_X86
AUGUR_NN_PANEL_TILE(avx2_panel_tile, avx2_panel, __attribute__((target("avx2,fma"))))
AUGUR_NN_PANEL_TILE(avx512_panel_tile, avx512_panel, __attribute__((target("avx512f"))))
AUGUR_NN_PANEL_TILE(avx512_bf16_panel_tile, avx512_bf16_panel, __attribute__((target("avx512f,avx512bf16"))))
#endif
#undef AUGUR_NN_PANEL_TILE

template <class T>
using panel_function = void (*)(const panel_tile<T>&);

} // namespace detail

/// The tiles of one instruction set.
template <class T>
struct panel_kernels {
    std::ptrdiff_t width = 0; ///< W, columns of a panel
    std::ptrdiff_t rows = 0;  ///< most rows of a tile
    std::ptrdiff_t pair = 1;  ///< k in a step
    std::array<std::array<detail::panel_function<T>, 6>, 4> tiles{};

    /// Y (m, W) = end(init + A panel); fields of `t` are those of the first row.
    void operator()(panel_end end, std::ptrdiff_t m, panel_tile<T> t) const {
        const auto& by_rows = tiles[static_cast<std::size_t>(end)];
        for (std::ptrdiff_t left = (m + rows - 1) / rows; left > 0; --left) { // as even as can be: thin tiles are slow
            const std::ptrdiff_t r = (m + left - 1) / left;
            by_rows[static_cast<std::size_t>(r - 1)](t);
            m -= r;
            t.a += r * t.a_row;
            t.init += r * t.init_next;
            t.x += t.x == nullptr ? 0 : r * t.x_row;
            t.y += r * t.y_row;
        }
    }
};

namespace detail {
template <class Policy>
constexpr int tile_height(int r) { // beyond the highest: never called
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
        policy::lanes * policy::vectors, policy::rows, policy::pair, {                                                                               \
            {                                                                                                                                        \
                AUGUR_NN_PANEL_ROW(tile, policy, panel_end::linear), AUGUR_NN_PANEL_ROW(tile, policy, panel_end::relu),                              \
                    AUGUR_NN_PANEL_ROW(tile, policy, panel_end::residual), AUGUR_NN_PANEL_ROW(tile, policy, panel_end::fold)                         \
            }                                                                                                                                        \
        }                                                                                                                                            \
    }
} // namespace detail

/// In float.   pre: the processor has `level`
inline panel_kernels<float> float_panels(isa level = best_isa()) {
#if AUGUR_NN_X86
    if (level == isa::avx512) return AUGUR_NN_PANEL_KERNELS(detail::avx512_panel_tile, detail::avx512_panel);
    if (level == isa::avx2) return AUGUR_NN_PANEL_KERNELS(detail::avx2_panel_tile, detail::avx2_panel);
#endif
    (void)level;
    return AUGUR_NN_PANEL_KERNELS(detail::generic_panel_tile, detail::generic_panel);
}

/// In bf16 with sums in float: by the processor's instruction, or slowly.   pre: !native || has_bf16()
inline panel_kernels<bf16> bf16_panels(bool native = has_bf16()) {
#if AUGUR_NN_X86
    if (native) return AUGUR_NN_PANEL_KERNELS(detail::avx512_bf16_panel_tile, detail::avx512_bf16_panel);
#endif
    (void)native;
    return AUGUR_NN_PANEL_KERNELS(detail::generic_bf16_panel_tile, detail::generic_bf16_panel);
}
#undef AUGUR_NN_PANEL_KERNELS
#undef AUGUR_NN_PANEL_ROW

/// Memory that begins a cache line. Grows, and keeps what it holds.
template <class T>
class line_buffer {
public:
    line_buffer() = default;
    explicit line_buffer(std::size_t n) { reserve(n); }
    T* reserve(std::size_t n) {
        const std::size_t lines = (n + per_line - 1) / per_line;
        if (lines_.size() < lines) lines_.resize(lines);
        return data();
    }
    [[nodiscard]] T* data() { return lines_.empty() ? nullptr : lines_.data()->x; }
    [[nodiscard]] const T* data() const { return lines_.empty() ? nullptr : lines_.data()->x; }

private:
    static constexpr std::size_t per_line = 64 / sizeof(T);
    struct alignas(64) line {
        T x[per_line];
    };
    std::vector<line> lines_;
};

/// A layer's weights, packed, and its bias.
template <class T>
struct packed_panels {
    std::ptrdiff_t inputs = 0, panels = 0, steps = 0, panel_size = 0;
    line_buffer<T> weights;  ///< (panels, steps, W [, 2]), zeros beyond
    line_buffer<float> bias; ///< (panels, W)

    /// `at(k, c)` gives the weight, `bias_at(c)` the bias of column c.
    template <class Weight, class Bias>
    packed_panels(const panel_kernels<T>& kernels, std::ptrdiff_t k, std::ptrdiff_t columns, const Weight& at, const Bias& bias_at)
        : inputs(k), panels((columns + kernels.width - 1) / kernels.width), steps((k + kernels.pair - 1) / kernels.pair),
          panel_size(steps * kernels.width * kernels.pair), weights(static_cast<std::size_t>(panels * panel_size)),
          bias(static_cast<std::size_t>(panels * kernels.width)) {
        const std::ptrdiff_t w = kernels.width;
        for (std::ptrdiff_t c = 0; c < columns; ++c) {
            T* const panel = weights.data() + c / w * panel_size;
            for (std::ptrdiff_t i = 0; i < k; ++i) {
                T& to = panel[(i / kernels.pair * w + c % w) * kernels.pair + i % kernels.pair];
                if constexpr (sizeof(T) == sizeof(bf16)) to = to_bf16(at(i, c));
                else to = at(i, c);
            }
            bias.data()[c] = bias_at(c);
        }
    }
};

/// Y (m, columns) = end(A packed + bias); rows of A, of the residual and of Y are `a_row`, `x_row`, `y_row` numbers apart.
/// Y has whole panels: columns rounded up to W.   pre: end is not fold
template <class T>
void panel_layer(const panel_kernels<T>& kernels, panel_end end, std::ptrdiff_t m, const T* a, std::ptrdiff_t a_row, const packed_panels<T>& packed,
                 T* y, std::ptrdiff_t y_row, const T* x = nullptr, std::ptrdiff_t x_row = 0) {
    panel_tile<T> t;
    const T* const segment = packed.weights.data();
    const float* const bias = packed.bias.data();
    t.segments = &segment;
    t.init = &bias;
    t.a = a;
    t.a_row = a_row;
    t.steps = packed.steps;
    t.x_row = x_row;
    t.y_row = y_row;
    for (std::ptrdiff_t p = 0; p < packed.panels; ++p) {
        t.offset = p * packed.panel_size;
        t.init_offset = p * kernels.width;
        t.x = x == nullptr ? nullptr : x + p * kernels.width;
        t.y = y + p * kernels.width;
        kernels(end, m, t);
    }
}

} // namespace nn::kernels
} // namespace augur::inline v0

#undef AUGUR_NN_OP
#undef AUGUR_NN_UNROLL
#undef AUGUR_NN_X86

#endif
