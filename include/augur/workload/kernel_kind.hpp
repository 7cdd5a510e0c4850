// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_KERNEL_KIND_HPP
#define AUGUR_WORKLOAD_KERNEL_KIND_HPP

/// @file
/// The operators of a kernel, the order of image axes, and the operations that can be fused, with their names in texts and keys.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace augur::inline v0 {

/// The operators and their parameters. Shapes are for NHWC; in NCHW the channels follow the batch, and weights are (F, C/G, K, K).
enum class kernel_kind : std::uint8_t {
    dense,             ///< (M,K) by constant (N,K): `m n k`
    matmul,            ///< (M,K) by (K,N): `m n k`
    batch_matmul,      ///< (B,M,K) by (B,N,K), or by (B,K,N) when transb=0: `b m n k transb`
    conv2d,            ///< (N,H,W,C) by constant (K,K,C/G,F): `n h w c f k stride pad dilation groups`
    depthwise_conv2d,  ///< (N,H,W,C) by constant (K,K,C,1): `n h w c k stride pad dilation`
    conv2d_transpose,  ///< (N,H,W,C) by constant (K,K,C,F), in NCHW (C,F,K,K): `n h w c f k stride pad opad`
    max_pool2d,        ///< `n h w c k stride pad`; padding counts as -infinity
    avg_pool2d,        ///< `n h w c k stride pad`; padding counts as zero, the divisor is always K*K
    global_avg_pool2d, ///< (N,H,W,C) to (N,1,1,C): `n h w c`
    softmax,           ///< over the last axis of (M,N): `m n`
    layer_norm,        ///< over the last axis of (M,N), epsilon 1e-5, with constant gamma and beta (N): `m n`
    elementwise,       ///< only the fused operations, on (N,H,W,C): `n h w c`
};

/// The order of the axes of an image tensor.
enum class tensor_layout : std::uint8_t { nhwc, nchw };

/// Operations that can be fused after an operator, in any order, up to 16.
enum class fused_op : std::uint8_t {
    bias,    ///< + a constant per channel (the last axis of matrices)
    scale,   ///< * a constant per channel, + a constant per channel: a folded batch normalisation
    add,     ///< + another input of the same shape: a residual
    relu,    ///< max(x, 0)
    relu6,   ///< max(min(x, 6), 0)
    gelu,    ///< x (1 + erf(x / sqrt 2)) / 2
    tanh,    ///< tanh(x)
    sigmoid, ///< 1 / (1 + exp(-x))
};

namespace detail {

inline constexpr std::array<std::string_view, 12> kernel_kind_names{
    "dense",      "matmul",     "batch_matmul",      "conv2d",  "depthwise_conv2d", "conv2d_transpose",
    "max_pool2d", "avg_pool2d", "global_avg_pool2d", "softmax", "layer_norm",       "elementwise"};
inline constexpr std::array<std::string_view, 8> fused_op_names{"bias", "scale", "add", "relu", "relu6", "gelu", "tanh", "sigmoid"};
inline constexpr std::array<std::string_view, 2> tensor_layout_names{"nhwc", "nchw"};

} // namespace detail

constexpr std::string_view to_string(kernel_kind k) noexcept { return detail::kernel_kind_names[static_cast<std::size_t>(k)]; }
constexpr std::string_view to_string(fused_op op) noexcept { return detail::fused_op_names[static_cast<std::size_t>(op)]; }
constexpr std::string_view to_string(tensor_layout l) noexcept { return detail::tensor_layout_names[static_cast<std::size_t>(l)]; }

} // namespace augur::inline v0

#endif
