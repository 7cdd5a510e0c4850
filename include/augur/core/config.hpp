// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_CONFIG_HPP
#define AUGUR_CORE_CONFIG_HPP

/// @file
/// Version and the few macros of the library. A host may set AUGUR_ASSERT before the first include.

#define AUGUR_VERSION_MAJOR 0
#define AUGUR_VERSION_MINOR 2
#define AUGUR_VERSION_PATCH 0

/// A broken precondition. Off in release builds; a host may route it to its own handler.
#ifndef AUGUR_ASSERT
#include <cassert>
#define AUGUR_ASSERT(condition, text) assert((condition) && (text))
#endif

/// Are there the intrinsics and target attributes of x86-64? 1 or 0; core/isa.hpp says which of them the processor has.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define AUGUR_X86 1
#else
#define AUGUR_X86 0
#endif

/// Before a loop of few constant rounds: written out in full, so that arrays indexed by it stay in registers.
#if defined(__clang__)
#define AUGUR_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define AUGUR_UNROLL _Pragma("GCC unroll 16")
#else
#define AUGUR_UNROLL
#endif

#endif
