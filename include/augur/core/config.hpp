// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_CONFIG_HPP
#define AUGUR_CORE_CONFIG_HPP

/// @file
/// Version and the few macros of the library. A host may set AUGUR_ASSERT before the first include.

#define AUGUR_VERSION_MAJOR 0
#define AUGUR_VERSION_MINOR 1
#define AUGUR_VERSION_PATCH 0

/// A broken precondition. Off in release builds; a host may route it to its own handler.
#ifndef AUGUR_ASSERT
#include <cassert>
#define AUGUR_ASSERT(condition, text) assert((condition) && (text))
#endif

#endif
