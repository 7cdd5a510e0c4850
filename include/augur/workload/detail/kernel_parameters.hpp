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

/// A parameter of an operator; its value is within [low, high].
struct kernel_parameter {
    std::string_view name;
    std::int64_t low = 1;
    std::int64_t high = kernel_max_extent;
    std::int64_t fallback = -1; ///< default value; -1: the parameter is required
    bool quiet = false;         ///< omitted from the text form when it has its default
};

// Kinds whose parameter lists are parts of one another share a table.
inline constexpr std::array<kernel_parameter, 5> matrix_parameters{{{"b"}, {"m"}, {"n"}, {"k"}, {"transb", 0, 1, 1, true}}};
inline constexpr std::array<kernel_parameter, 10> conv_parameters{{{"n", 1, kernel_max_extent, 1},
                                                                   {"h"},
                                                                   {"w"},
                                                                   {"c"},
                                                                   {"f"},
                                                                   {"k", 1, kernel_max_window},
                                                                   {"stride", 1, kernel_max_window, 1},
                                                                   {"pad", 0, kernel_max_window, 0},
                                                                   {"dilation", 1, kernel_max_window, 1, true},
                                                                   {"groups", 1, kernel_max_extent, 1, true}}};
inline constexpr std::array<kernel_parameter, 9> transpose_parameters{{{"n", 1, kernel_max_extent, 1},
                                                                       {"h"},
                                                                       {"w"},
                                                                       {"c"},
                                                                       {"f"},
                                                                       {"k", 1, kernel_max_window},
                                                                       {"stride", 1, kernel_max_window, 1},
                                                                       {"pad", 0, kernel_max_window, 0},
                                                                       {"opad", 0, kernel_max_window, 0, true}}};
inline constexpr std::array<kernel_parameter, 8> window_parameters{{{"n", 1, kernel_max_extent, 1},
                                                                    {"h"},
                                                                    {"w"},
                                                                    {"c"},
                                                                    {"k", 1, kernel_max_window},
                                                                    {"stride", 1, kernel_max_window, 1},
                                                                    {"pad", 0, kernel_max_window, 0},
                                                                    {"dilation", 1, kernel_max_window, 1, true}}};

/// The parameters of an operator, in the order of its text form and of its workload key.
inline std::span<const kernel_parameter> kernel_parameters(kernel_kind kind) {
    const std::span<const kernel_parameter> matrix(matrix_parameters);
    const std::span<const kernel_parameter> window(window_parameters);
    switch (kind) {
    case kernel_kind::dense:
    case kernel_kind::matmul: return matrix.subspan(1, 3);
    case kernel_kind::batch_matmul: return matrix;
    case kernel_kind::conv2d: return conv_parameters;
    case kernel_kind::conv2d_transpose: return transpose_parameters;
    case kernel_kind::depthwise_conv2d: return window;
    case kernel_kind::max_pool2d:
    case kernel_kind::avg_pool2d: return window.first(7);
    case kernel_kind::global_avg_pool2d:
    case kernel_kind::elementwise: return window.first(4);
    case kernel_kind::softmax:
    case kernel_kind::layer_norm: return matrix.subspan(1, 2);
    }
    return {};
}

} // namespace augur::inline v0::detail

#endif
