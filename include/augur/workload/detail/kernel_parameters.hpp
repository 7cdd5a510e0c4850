// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_DETAIL_KERNEL_PARAMETERS_HPP
#define AUGUR_WORKLOAD_DETAIL_KERNEL_PARAMETERS_HPP

/// @file
/// The shape parameters of each operator: names, ranges and defaults; and the limits of a kernel.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <augur/workload/kernel_kind.hpp>

namespace augur::inline v0::detail {

inline constexpr std::int64_t kernel_max_extent = std::int64_t{1} << 24;
inline constexpr std::int64_t kernel_max_elements = std::int64_t{1} << 31;
inline constexpr std::int64_t kernel_max_window = 1024;
inline constexpr std::size_t kernel_max_fused = 16;
inline constexpr std::size_t kernel_max_text = 4096; ///< characters

/// What numbers a parameter may have beside one for all.
enum class parameter_form : std::uint8_t { single, per_axis, per_side };

/// A parameter of an operator; its numbers are within [low, high].
struct kernel_parameter {
    std::string_view name;
    std::int64_t low = 1;
    std::int64_t high = kernel_max_extent;
    std::int64_t fallback = -1; ///< default value; -1: the parameter is required
    bool quiet = false;         ///< omitted from the text form when it has its default
    parameter_form form = parameter_form::single;
    /// Trailing ones of these are omitted from the workload key when they have their defaults: logs have keys from before them.
    bool appended = false;
};

constexpr kernel_parameter appended(kernel_parameter p) {
    p.appended = true;
    return p;
}

/// The parameters by name, and the list of each operator.
namespace parameters {

inline constexpr kernel_parameter batch{"n", 1, kernel_max_extent, 1};
inline constexpr kernel_parameter depth{"d"};
inline constexpr kernel_parameter height{"h"};
inline constexpr kernel_parameter width{"w"};
inline constexpr kernel_parameter channels{"c"};
inline constexpr kernel_parameter filters{"f"};
inline constexpr kernel_parameter window{"k", 1, kernel_max_window, -1, false, parameter_form::per_axis};
inline constexpr kernel_parameter stride{"stride", 1, kernel_max_window, 1, false, parameter_form::per_axis};
inline constexpr kernel_parameter pad{"pad", 0, kernel_max_window, 0, false, parameter_form::per_side};
inline constexpr kernel_parameter opad{"opad", 0, kernel_max_window, 0, true, parameter_form::per_axis};
inline constexpr kernel_parameter dilation{"dilation", 1, kernel_max_window, 1, true, parameter_form::per_axis};
inline constexpr kernel_parameter groups{"groups", 1, kernel_max_extent, 1, true};
inline constexpr kernel_parameter tile{"tile", 2, 4, 4};
inline constexpr kernel_parameter inner{"inner", 1, kernel_max_extent, 1, true};

// Kinds whose parameter lists are parts of one another share a table.
inline constexpr std::array<kernel_parameter, 6> matrix_list{
    {{"b"}, {"m"}, {"n"}, {"k"}, {"transb", 0, 1, 1, true}, appended({"transa", 0, 1, 0, true})}};
inline constexpr std::array<kernel_parameter, 3> row_list{{{"m"}, {"n"}, appended(inner)}};
inline constexpr std::array conv1d_list{batch, width, channels, filters, window, stride, pad, dilation, groups};
inline constexpr std::array conv2d_list{batch, height, width, channels, filters, window, stride, pad, dilation, groups};
inline constexpr std::array conv3d_list{batch, depth, height, width, channels, filters, window, stride, pad, dilation, groups};
inline constexpr std::array transpose1d_list{batch, width, channels, filters, window, stride, pad, opad, dilation, groups};
inline constexpr std::array transpose2d_list{batch,  height, width, channels,           filters,         window,
                                             stride, pad,    opad,  appended(dilation), appended(groups)};
inline constexpr std::array depthwise_list{batch, height, width, channels, window, stride, pad, dilation};
inline constexpr std::array pool_list{batch, height, width, channels, window, stride, pad, appended(dilation)};
inline constexpr std::array winograd_list{batch, height, width, channels, filters, pad, tile};

} // namespace parameters

/// The parameters of an operator, in the order of its text form and of its workload key.
inline std::span<const kernel_parameter> kernel_parameters(kernel_kind kind) {
    switch (kind) {
    case kernel_kind::dense:
    case kernel_kind::matmul: return std::span(parameters::matrix_list).subspan(1, 3);
    case kernel_kind::batch_matmul: return parameters::matrix_list;
    case kernel_kind::conv1d: return parameters::conv1d_list;
    case kernel_kind::conv2d: return parameters::conv2d_list;
    case kernel_kind::conv3d: return parameters::conv3d_list;
    case kernel_kind::conv1d_transpose: return parameters::transpose1d_list;
    case kernel_kind::conv2d_transpose: return parameters::transpose2d_list;
    case kernel_kind::depthwise_conv2d: return parameters::depthwise_list;
    case kernel_kind::conv2d_winograd: return parameters::winograd_list;
    case kernel_kind::max_pool2d:
    case kernel_kind::avg_pool2d: return parameters::pool_list;
    case kernel_kind::global_avg_pool2d:
    case kernel_kind::elementwise: return std::span(parameters::pool_list).first(4);
    case kernel_kind::layer_norm: return std::span(parameters::row_list).first(2);
    case kernel_kind::softmax:
    case kernel_kind::reduce_sum:
    case kernel_kind::reduce_max:
    case kernel_kind::reduce_mean: return parameters::row_list;
    }
    return {};
}

} // namespace augur::inline v0::detail

#endif
