// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_KERNELS_SIMD_KERNEL_HPP
#define AUGUR_NN_KERNELS_SIMD_KERNEL_HPP

/// @file
/// Makes a float kernel of one text for several instruction sets, with the vector extensions of gcc and clang. Which one runs is decided at run time,
/// whatever flags a user compiles with.

#include <augur/core/isa.hpp>

/// Declares the type `lanes`, of LANES floats at any address, in the text of a kernel.
#define AUGUR_NN_LANES(LANES) typedef float lanes __attribute__((vector_size((LANES) * sizeof(float)), aligned(alignof(float)), may_alias))
/// The lanes at an address.
#define AUGUR_NN_READ(P) (*reinterpret_cast<const lanes*>(P))
#define AUGUR_NN_WRITE(P) (*reinterpret_cast<lanes*>(P))

/// Defines `TYPE NAME PARAMETERS`, whose body is TEXT(number of lanes); the arguments that are left are the names of the parameters.
#if defined(__x86_64__)
#define AUGUR_NN_KERNEL(TYPE, NAME, TEXT, PARAMETERS, ...)                                                                                           \
    namespace detail {                                                                                                                               \
    inline TYPE NAME##_generic PARAMETERS noexcept { TEXT(4) }                                                                                       \
    __attribute__((target("avx2,fma"))) inline TYPE NAME##_avx2 PARAMETERS noexcept { TEXT(8) }                                                      \
    __attribute__((target("avx512f"))) inline TYPE NAME##_avx512 PARAMETERS noexcept { TEXT(16) }                                                    \
    }                                                                                                                                                \
    inline TYPE NAME PARAMETERS noexcept {                                                                                                           \
        const isa level = best_isa();                                                                                                                \
        if (level == isa::avx512) return detail::NAME##_avx512(__VA_ARGS__);                                                                         \
        if (level == isa::avx2) return detail::NAME##_avx2(__VA_ARGS__);                                                                             \
        return detail::NAME##_generic(__VA_ARGS__);                                                                                                  \
    }
#else
#define AUGUR_NN_KERNEL(TYPE, NAME, TEXT, PARAMETERS, ...)                                                                                           \
    inline TYPE NAME PARAMETERS noexcept { TEXT(4) }
#endif

#endif
