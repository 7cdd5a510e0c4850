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

/// The operators and their parameters. Shapes are for channels that come last; else they follow the batch, and weights are (F, C/G, K, K). K stands
/// for the extents of the window, which may differ: (K,K) is (KH,KW). I is 1 and no axis where `inner` is left out.
enum class kernel_kind : std::uint8_t {
    dense,             ///< (M,K) by constant (N,K): `m n k`
    matmul,            ///< (M,K) by (K,N): `m n k`
    batch_matmul,      ///< (B,M,K), or (B,K,M) when transa=1, by (B,N,K), or by (B,K,N) when transb=0: `b m n k transb transa`
    conv2d,            ///< (N,H,W,C) by constant (K,K,C/G,F): `n h w c f k stride pad dilation groups`
    depthwise_conv2d,  ///< (N,H,W,C) by constant (K,K,C,1): `n h w c k stride pad dilation`
    conv2d_transpose,  ///< (N,H,W,C) by constant (K,K,C,F/G), in NCHW (C,F/G,K,K): `n h w c f k stride pad opad dilation groups`
    max_pool2d,        ///< `n h w c k stride pad dilation`; padding counts as the least float
    avg_pool2d,        ///< `n h w c k stride pad dilation`; padding counts as zero, the divisor is always K*K
    global_avg_pool2d, ///< (N,H,W,C) to (N,1,1,C): `n h w c`
    softmax,           ///< over the axis N of (M,N,I): `m n inner`
    layer_norm,        ///< over the last axis of (M,N), epsilon 1e-5, with constant gamma and beta (N): `m n`
    elementwise,       ///< only the fused operations, on (N,H,W,C): `n h w c`
    conv1d,            ///< (N,W,C) by constant (K,C/G,F): `n w c f k stride pad dilation groups`
    conv1d_transpose,  ///< (N,W,C) by constant (K,C,F/G), in NCW (C,F/G,K): `n w c f k stride pad opad dilation groups`
    conv3d,            ///< (N,D,H,W,C) by constant (K,K,K,C/G,F): `n d h w c f k stride pad dilation groups`
    conv2d_winograd,   ///< a 3x3 convolution of stride 1 by Winograd's F(T,3), T = 2 or 4: `n h w c f pad tile`. Its weights are transformed
                       ///< beforehand (`loopnest/ir/winograd.hpp`): constant (T+2,T+2,F,C), in NCHW (T+2,T+2,C,F)
    reduce_sum,        ///< (M,N,I) to (M,I): `m n inner`
    reduce_max,        ///< as reduce_sum
    reduce_mean,       ///< as reduce_sum
};

/// The order of the axes of an image: channels last, or behind the batch. Named as for two spatial axes; with one they are NWC and NCW, with three
/// NDHWC and NCDHW.
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

inline constexpr std::array<std::string_view, 19> kernel_kind_names{"dense",           "matmul",           "batch_matmul",
                                                                    "conv2d",          "depthwise_conv2d", "conv2d_transpose",
                                                                    "max_pool2d",      "avg_pool2d",       "global_avg_pool2d",
                                                                    "softmax",         "layer_norm",       "elementwise",
                                                                    "conv1d",          "conv1d_transpose", "conv3d",
                                                                    "conv2d_winograd", "reduce_sum",       "reduce_max",
                                                                    "reduce_mean"};
inline constexpr std::array<std::string_view, 8> fused_op_names{"bias", "scale", "add", "relu", "relu6", "gelu", "tanh", "sigmoid"};
inline constexpr std::array<std::array<std::string_view, 2>, 3> tensor_layout_names{{{"nwc", "ncw"}, {"nhwc", "nchw"}, {"ndhwc", "ncdhw"}}};

} // namespace detail

constexpr std::string_view to_string(kernel_kind k) noexcept { return detail::kernel_kind_names[static_cast<std::size_t>(k)]; }
constexpr std::string_view to_string(fused_op op) noexcept { return detail::fused_op_names[static_cast<std::size_t>(op)]; }
/// @param rank  spatial axes, 1 to 3
constexpr std::string_view to_string(tensor_layout l, std::size_t rank = 2) noexcept {
    return detail::tensor_layout_names[rank - 1][static_cast<std::size_t>(l)];
}

} // namespace augur::inline v0

#endif
