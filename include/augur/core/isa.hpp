// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_ISA_HPP
#define AUGUR_CORE_ISA_HPP

/// @file
/// Which instructions this processor has, for functions that are there in several forms and are chosen at run time.

#include <cstdint>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// Which instructions a function may use; each has all of those before it.
enum class isa : std::uint8_t {
    generic, ///< what the compiler was told to build for
    avx2,    ///< AVX2 and FMA, and what every processor with them has: POPCNT, BMI1, BMI2, LZCNT
    avx512,  ///< AVX-512 F, BW, DQ and VL: every processor with AVX-512 but the Xeon Phi
};

/// The best that this processor has. Constant for a process; a few nanoseconds.
inline isa best_isa() noexcept {
#if AUGUR_X86
    if (__builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0)
        return isa::avx512;
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return isa::avx2;
#endif
    return isa::generic;
}

} // namespace augur::inline v0

#endif
