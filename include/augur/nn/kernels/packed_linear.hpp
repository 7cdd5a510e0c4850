// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_PACKED_LINEAR_HPP
#define AUGUR_NN_KERNELS_PACKED_LINEAR_HPP

/// @file
/// Affine maps of float rows for inference, with weights packed in float or in bf16.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/bf16.hpp>
#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/kernels/head_lanes.hpp>
#include <augur/nn/kernels/line_buffer.hpp>
#include <augur/nn/kernels/panel.hpp>
#include <augur/nn/kernels/panel_layer.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

/// y = x W + b for rows of floats, with packed weights. With bf16 kernels W and the rows are rounded to bf16, b and the sums are float. A row of y
/// depends on its row of x only.
///
/// Threads  const calls are thread-safe, each with its own scratch
class packed_linear {
public:
    /// Memory of `forward`, for any number of maps in turn.
    struct scratch {
        line_buffer<bf16> rows;
        line_buffer<float> sums;
    };

    packed_linear() = default;
    /// W (k, n); b (n), or null for 0. Float without `half`.   pre: the CPU has `level`
    packed_linear(std::ptrdiff_t k, std::ptrdiff_t n, const operand& W, const float* b, const std::optional<panel_kernels<bf16>>& half,
                  isa level = best_isa())
        : columns_(n) {
        const auto bias = [&](std::ptrdiff_t c) { return b == nullptr ? 0.0F : b[c]; };
        if (half) {
            half_.emplace(
                half_weights{*half, {*half, k, n, [&](std::ptrdiff_t i, std::ptrdiff_t c) { return W.data[i * W.row + c * W.col]; }, bias}});
            return;
        }
        single_.pack(k, n, W, level);
        bias_.resize(static_cast<std::size_t>(n));
        for (std::ptrdiff_t c = 0; c < n; ++c) bias_[static_cast<std::size_t>(c)] = bias(c);
    }

    /// y (m, n) <- x (m, k) W + b, with row strides in floats.   pre: packed; y does not overlap x
    void forward(std::ptrdiff_t m, const float* x, std::ptrdiff_t x_row, float* y, std::ptrdiff_t y_row, scratch& to) const {
        if (!half_) return single_.gemm(m, {x, x_row, 1}, y, y_row, {bias_.data(), 0});
        const std::ptrdiff_t k = half_->packed.inputs, whole = half_->packed.panels * half_->kernels.width;
        layer_rows<bf16> rows;
        rows.a_row = whole_blocks(k, amx_depth);
        bf16* const a = to.rows.reserve(static_cast<std::size_t>(whole_blocks(m, amx_rows) * rows.a_row));
        for (std::ptrdiff_t r = 0; r < m; ++r) {
            to_bf16(x + r * x_row, a + r * rows.a_row, k);
            std::fill_n(a + r * rows.a_row + k, rows.a_row - k, bf16{0});
        }
        rows.a = a;
        rows.sums = whole == columns_ ? y : to.sums.reserve(static_cast<std::size_t>(m * whole));
        rows.sums_row = whole == columns_ ? y_row : whole;
        panel_layer<bf16>(half_->kernels, panel_end::sums, m, rows, half_->packed);
        if (whole == columns_) return;
        for (std::ptrdiff_t r = 0; r < m; ++r) std::copy_n(rows.sums + r * whole, columns_, y + r * y_row);
    }

private:
    struct half_weights {
        panel_kernels<bf16> kernels;
        packed_panels<bf16> packed;
    };
    std::ptrdiff_t columns_ = 0;
    packed_operand single_;
    std::vector<float> bias_;
    std::optional<half_weights> half_; ///< instead of these two
};

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
