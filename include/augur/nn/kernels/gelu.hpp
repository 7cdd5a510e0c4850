// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_GELU_HPP
#define AUGUR_NN_KERNELS_GELU_HPP

/// @file
/// GELU with the tanh approximation of GPT-2 for floats, in the widest vectors of the machine: as `gelu_tanh<float>` up to rounding.

#include <algorithm>
#include <cstddef>

#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/exp.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

inline constexpr std::ptrdiff_t gelu_chunk = 512; ///< elements whose exponentials are in the first cache

/// y <- gelu(x); y may be x.
inline void gelu(const float* x, float* y, std::ptrdiff_t n) noexcept {
    alignas(64) float e[gelu_chunk];
    for (std::ptrdiff_t i = 0; i < n; i += gelu_chunk) {
        const auto count = (std::min)(gelu_chunk, n - i);
        gelu_argument(x + i, e, count);
        exp_nonpositive(e, count);
        gelu_value(x + i, e, y + i, count);
    }
}

/// dy <- dy gelu'(x).
inline void gelu_backward(const float* x, float* dy, std::ptrdiff_t n) noexcept {
    alignas(64) float e[gelu_chunk];
    for (std::ptrdiff_t i = 0; i < n; i += gelu_chunk) {
        const auto count = (std::min)(gelu_chunk, n - i);
        gelu_argument(x + i, e, count);
        exp_nonpositive(e, count);
        gelu_slope(x + i, e, dy + i, count);
    }
}

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
