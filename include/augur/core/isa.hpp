// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_ISA_HPP
#define AUGUR_CORE_ISA_HPP

/// @file
/// Detects the x86-64 vector instruction sets of the processor, for functions that have several versions and choose one at run time.

#include <cstdint>

#include <augur/core/config.hpp>

namespace augur::inline v0 {

/// The instruction set that a function may use; each one includes those before it.
enum class isa : std::uint8_t {
    generic, ///< the target of the compilation
    avx2,    ///< AVX2 and FMA, and POPCNT, BMI1, BMI2 and LZCNT, which every processor with AVX2 and FMA has
    avx512,  ///< AVX-512 F, BW, DQ and VL: every AVX-512 processor except Xeon Phi
};

/// The best instruction set that this processor supports. Constant for a process; takes a few nanoseconds.
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
