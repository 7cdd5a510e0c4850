// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_CONFIG_HPP
#define AUGUR_CORE_CONFIG_HPP

/// @file
/// Version numbers and configuration macros: assertions, x86-64 detection, loop unrolling.
/// To replace AUGUR_ASSERT, define it before the first include.

#define AUGUR_VERSION_MAJOR 0
#define AUGUR_VERSION_MINOR 2
#define AUGUR_VERSION_PATCH 0

/// Checks a precondition. The default is `assert`, which is off when NDEBUG is defined; define the macro beforehand to use another handler.
#ifndef AUGUR_ASSERT
#include <cassert>
#define AUGUR_ASSERT(condition, text) assert((condition) && (text))
#endif

/// 1 where the compiler offers x86-64 intrinsics and target attributes, else 0. core/isa.hpp detects at run time what the processor supports.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define AUGUR_X86 1
#else
#define AUGUR_X86 0
#endif

/// Unrolls the next loop completely. For loops with a small constant trip count, so that arrays indexed by the loop counter stay in registers.
#if defined(__clang__)
#define AUGUR_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define AUGUR_UNROLL _Pragma("GCC unroll 16")
#else
#define AUGUR_UNROLL
#endif

#endif
