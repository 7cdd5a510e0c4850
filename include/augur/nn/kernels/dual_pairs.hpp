// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_DUAL_PAIRS_HPP
#define AUGUR_NN_KERNELS_DUAL_PAIRS_HPP

/// @file
/// Float kernels of dual numbers in memory: pairs of a value and a tangent. Vectorised at run time where the value is the lower half of a pair
/// (little-endian machines); all results are the same on all instruction sets but those of `add_tangents`, which may differ by rounding.

#include <bit>
#include <cstddef>
#include <cstdint>

#include <augur/nn/kernels/simd_kernel.hpp>

namespace augur::inline v0 {
namespace nn::kernels {

namespace detail {
inline constexpr bool value_is_low = std::endian::native == std::endian::little;
}

// to <- from where the value of y is above 0, else 0; `to` may be `from`; n pairs. As integers the bits of such a number lie between those of 0
// and of infinity; a shift leaves them alone in a lane of two floats.
#define AUGUR_NN_RELU_BACKWARD_PAIRS(LANES)                                                                                                          \
    typedef std::int64_t pairs __attribute__((vector_size((LANES) * sizeof(float)), aligned(alignof(float)), may_alias));                            \
    constexpr std::int64_t infinity = std::int64_t{0x7F800000} << 32;                                                                                \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; detail::value_is_low && i + (LANES) <= 2 * n; i += (LANES)) {                                                                             \
        const pairs value = *reinterpret_cast<const pairs*>(y + i) << 32;                                                                            \
        *reinterpret_cast<pairs*>(to + i) = *reinterpret_cast<const pairs*>(from + i) & (value > 0) & (value <= infinity);                           \
    }                                                                                                                                                \
    for (; i < 2 * n; i += 2) {                                                                                                                      \
        const bool on = y[i] > 0;                                                                                                                    \
        to[i] = on ? from[i] : 0;                                                                                                                    \
        to[i + 1] = on ? from[i + 1] : 0;                                                                                                            \
    }
AUGUR_NN_KERNEL(void, relu_backward_pairs, AUGUR_NN_RELU_BACKWARD_PAIRS, (const float* y, const float* from, float* to, std::ptrdiff_t n), y, from,
                to, n)

#define AUGUR_NN_PAIRS(LANES)                                                                                                                        \
    typedef std::uint64_t pairs __attribute__((vector_size((LANES) * sizeof(float)), aligned(alignof(float)), may_alias));                           \
    typedef std::uint32_t halves __attribute__((vector_size((LANES) / 2 * sizeof(float)), aligned(alignof(float)), may_alias))

// values (n), tangents (n) <- the parts of n pairs
#define AUGUR_NN_SPLIT_PAIRS(LANES)                                                                                                                  \
    AUGUR_NN_PAIRS(LANES);                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; detail::value_is_low && i + (LANES) / 2 <= n; i += (LANES) / 2) {                                                                         \
        const pairs both = *reinterpret_cast<const pairs*>(from + 2 * i);                                                                            \
        *reinterpret_cast<halves*>(values + i) = __builtin_convertvector(both, halves);                                                              \
        *reinterpret_cast<halves*>(tangents + i) = __builtin_convertvector(both >> 32, halves);                                                      \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        values[i] = from[2 * i];                                                                                                                     \
        tangents[i] = from[2 * i + 1];                                                                                                               \
    }
AUGUR_NN_KERNEL(void, split_pairs, AUGUR_NN_SPLIT_PAIRS, (const float* from, float* values, float* tangents, std::ptrdiff_t n), from, values,
                tangents, n)

// to <- [to +] n pairs of these parts
#define AUGUR_NN_JOIN_PAIRS(LANES)                                                                                                                   \
    AUGUR_NN_LANES(LANES);                                                                                                                           \
    AUGUR_NN_PAIRS(LANES);                                                                                                                           \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; detail::value_is_low && i + (LANES) / 2 <= n; i += (LANES) / 2) {                                                                         \
        const pairs value = __builtin_convertvector(*reinterpret_cast<const halves*>(values + i), pairs);                                            \
        const pairs tangent = __builtin_convertvector(*reinterpret_cast<const halves*>(tangents + i), pairs);                                        \
        const lanes both = reinterpret_cast<lanes>(value | tangent << 32);                                                                           \
        AUGUR_NN_WRITE(to + 2 * i) = accumulate ? AUGUR_NN_READ(to + 2 * i) + both : both;                                                           \
    }                                                                                                                                                \
    for (; i < n; ++i) {                                                                                                                             \
        to[2 * i] = accumulate ? to[2 * i] + values[i] : values[i];                                                                                  \
        to[2 * i + 1] = accumulate ? to[2 * i + 1] + tangents[i] : tangents[i];                                                                      \
    }
AUGUR_NN_KERNEL(void, join_pairs, AUGUR_NN_JOIN_PAIRS, (const float* values, const float* tangents, float* to, std::ptrdiff_t n, bool accumulate),
                values, tangents, to, n, accumulate)

// to (n) <- to + factor times the tangents of n pairs
#define AUGUR_NN_ADD_TANGENTS(LANES)                                                                                                                 \
    AUGUR_NN_PAIRS(LANES);                                                                                                                           \
    typedef float floats __attribute__((vector_size((LANES) / 2 * sizeof(float)), aligned(alignof(float)), may_alias));                              \
    std::ptrdiff_t i = 0;                                                                                                                            \
    for (; detail::value_is_low && i + (LANES) / 2 <= n; i += (LANES) / 2) {                                                                         \
        const halves tangents = __builtin_convertvector(*reinterpret_cast<const pairs*>(from + 2 * i) >> 32, halves);                                \
        *reinterpret_cast<floats*>(to + i) += factor * reinterpret_cast<floats>(tangents);                                                           \
    }                                                                                                                                                \
    for (; i < n; ++i) to[i] += factor * from[2 * i + 1];
AUGUR_NN_KERNEL(void, add_tangents, AUGUR_NN_ADD_TANGENTS, (float factor, const float* from, float* to, std::ptrdiff_t n), factor, from, to, n)

#undef AUGUR_NN_ADD_TANGENTS
#undef AUGUR_NN_JOIN_PAIRS
#undef AUGUR_NN_SPLIT_PAIRS
#undef AUGUR_NN_PAIRS
#undef AUGUR_NN_RELU_BACKWARD_PAIRS

} // namespace nn::kernels
} // namespace augur::inline v0

#endif
