// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_PANEL_LAYER_HPP
#define AUGUR_NN_KERNELS_PANEL_LAYER_HPP

/// @file
/// Linear layers with packed weights for inference, on the kernels of panel.hpp or amx.hpp.

#include <cstddef>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/amx.hpp>
#include <augur/nn/kernels/bf16.hpp>
#include <augur/nn/kernels/line_buffer.hpp>
#include <augur/nn/kernels/panel.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

/// Packed weights and bias of a layer.
template <class T>
struct packed_panels {
    std::ptrdiff_t inputs = 0, panels = 0, steps = 0, panel_size = 0;
    line_buffer<T> weights;  ///< (panels, steps, W [, 2]), zeros beyond
    line_buffer<bf16> tiles; ///< AMX, instead of weights: (panels, parts, k / 2, W, 2), k padded to whole tiles; float: two parts, high and low
    line_buffer<float> bias; ///< (panels, W)

    /// Packs a layer; `at(k, c)` returns the weight, `bias_at(c)` the bias of column c.
    template <class Weight, class Bias>
    packed_panels(const panel_kernels<T>& kernels, std::ptrdiff_t k, std::ptrdiff_t columns, const Weight& at, const Bias& bias_at)
        : inputs(k), panels((columns + kernels.width - 1) / kernels.width), steps((k + kernels.pair - 1) / kernels.pair),
          panel_size(steps * kernels.width * kernels.pair), bias(static_cast<std::size_t>(panels * kernels.width)) {
        const std::ptrdiff_t w = kernels.width, depth = (k + amx_depth - 1) / amx_depth * amx_depth;
        constexpr bool half = sizeof(T) == sizeof(bf16);
        if (kernels.amx) panel_size = (half ? 1 : 2) * depth * w;
        if (kernels.amx) tiles.reserve(static_cast<std::size_t>(panels * panel_size));
        else weights.reserve(static_cast<std::size_t>(panels * panel_size));
        for (std::ptrdiff_t c = 0; c < columns; ++c) {
            for (std::ptrdiff_t i = 0; i < k; ++i) {
                const float x = at(i, c);
                if (kernels.amx) {
                    bf16* const to = tiles.data() + c / w * panel_size + (i / 2 * w + c % w) * 2 + i % 2;
                    *to = to_bf16(x);
                    if constexpr (!half) to[depth * w] = to_bf16(x - to_float(*to));
                } else {
                    T& to = weights.data()[c / w * panel_size + (i / kernels.pair * w + c % w) * kernels.pair + i % kernels.pair];
                    if constexpr (half) to = to_bf16(x);
                    else to = x;
                }
            }
            bias.data()[c] = bias_at(c);
        }
    }
};

/// Arguments of a layer: A, residual x and result Y with row strides `a_row`, `x_row`, `y_row` in numbers. Y has whole panels: its columns are
/// rounded up to a multiple of W. With panel_end::sums the result goes to `sums`, in float whatever T is.
///
/// With AMX in bf16, A is read up to the next multiple of 32 columns, whose values must be finite, and up to the next multiple of 16 rows, which must
/// be allocated. With AMX in float, `room` needs 64 numbers per column of A, with the columns rounded up to a multiple of 32.
template <class T>
struct layer_rows {
    const T* a = nullptr;
    std::ptrdiff_t a_row = 0;
    T* y = nullptr;
    std::ptrdiff_t y_row = 0;
    const T* x = nullptr; ///< residual
    std::ptrdiff_t x_row = 0;
    const float* const* init = nullptr; ///< initial value of each row instead of the bias
    bf16* room = nullptr;
    float* sums = nullptr; ///< instead of y, with panel_end::sums
    std::ptrdiff_t sums_row = 0;
};

namespace detail {
template <class T>
void amx_layer([[maybe_unused]] panel_end end, [[maybe_unused]] std::ptrdiff_t m, [[maybe_unused]] layer_rows<T> t,
               [[maybe_unused]] const packed_panels<T>& packed) {
#if AUGUR_X86
    constexpr bool half = sizeof(T) == sizeof(bf16);
    constexpr std::ptrdiff_t block = half ? 2 * amx_rows : amx_rows; // rows of A that fit in the first-level cache
    const std::ptrdiff_t depth = (packed.inputs + amx_depth - 1) / amx_depth * amx_depth;
    const float* const bias = packed.bias.data();
    const float* const* init = t.init == nullptr ? &bias : t.init;
    const std::ptrdiff_t init_next = t.init == nullptr ? 0 : 1;
    alignas(64) float sums[amx_rows * amx_columns];
    const amx_session tiles;
    for (std::ptrdiff_t i = 0; i < m; i += block, t.a += block * t.a_row) {
        const std::ptrdiff_t rows = m - i < block ? m - i : block;
        tiles.renew();
        if constexpr (!half) amx_split(t.a, t.a_row, rows, packed.inputs, depth, t.room, t.room + amx_rows * depth);
        for (std::ptrdiff_t p = 0; p < packed.panels; ++p) {
            const bf16* const b = packed.tiles.data() + p * packed.panel_size;
            for (std::ptrdiff_t r = 0; r < rows; r += amx_rows) {
                const std::ptrdiff_t n = rows - r < amx_rows ? rows - r : amx_rows;
                const bool two = n > 16;
                amx_zero();
                if constexpr (half) {
                    amx_multiply(t.a + r * t.a_row, t.a_row, b, depth, two);
                } else {
                    const bf16* const low = t.room + amx_rows * depth;
                    amx_multiply(t.room, depth, b, depth, two);
                    amx_multiply(t.room, depth, b + depth * amx_columns, depth, two);
                    amx_multiply(low, depth, b, depth, two);
                }
                amx_store(sums, two);
                const std::ptrdiff_t at = i + r, c = p * amx_columns;
                const float* const* const from = init + at * init_next;
                if (end == panel_end::sums) {
                    amx_finish<false, float>(sums, n, from, init_next, c, nullptr, 0, t.sums + at * t.sums_row + c, t.sums_row);
                    continue;
                }
                T* const y = t.y + at * t.y_row + c;
                const T* const x = end == panel_end::residual ? t.x + at * t.x_row + c : nullptr;
                if (end == panel_end::linear) amx_finish<false>(sums, n, from, init_next, c, x, 0, y, t.y_row);
                else amx_finish<true>(sums, n, from, init_next, c, x, t.x_row, y, t.y_row);
            }
        }
    }
#endif
}
} // namespace detail

/// Y (m, columns) = end(A packed + bias).   pre: end is not fold
template <class T>
void panel_layer(const panel_kernels<T>& kernels, panel_end end, std::ptrdiff_t m, const layer_rows<T>& rows, const packed_panels<T>& packed) {
    if (kernels.amx) return detail::amx_layer(end, m, rows, packed);
    panel_tile<T> t;
    const T* const segment = packed.weights.data();
    const float* const bias = packed.bias.data();
    t.segments = &segment;
    t.init = rows.init == nullptr ? &bias : rows.init;
    t.init_next = rows.init == nullptr ? 0 : 1;
    t.a = rows.a;
    t.a_row = rows.a_row;
    t.steps = packed.steps;
    t.x_row = rows.x_row;
    t.y_row = rows.y_row;
    t.sums_row = rows.sums_row;
    const std::ptrdiff_t tiles = m > kernels.rows ? (m + kernels.rows - 1) / kernels.rows : 1;
    const std::ptrdiff_t share = (kernels.width * kernels.pair + tiles - 1) / tiles;
    const bool in_lines = share * static_cast<std::ptrdiff_t>(sizeof(T)) <= 64; // a step of a tile fetches one line
    for (std::ptrdiff_t p = 0; p < packed.panels; ++p) {
        const bool next = in_lines && p + 1 < packed.panels; // it comes from memory while this one is multiplied, a share by each tile
        t.offset = p * packed.panel_size;
        t.ahead = segment + t.offset + (next ? packed.panel_size : 0);
        t.ahead_step = next ? share : 0;
        t.init_offset = p * kernels.width;
        t.x = rows.x == nullptr ? nullptr : rows.x + p * kernels.width;
        t.y = rows.y == nullptr ? nullptr : rows.y + p * kernels.width;
        t.sums = rows.sums == nullptr ? nullptr : rows.sums + p * kernels.width;
        kernels(end, m, t);
    }
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
