// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_LEAKING_MACRO_HPP
#define AUGUR_CORE_LEAKING_MACRO_HPP

/// @file
/// Out of place, on purpose.

#define AUGUR_TWICE(x) ((x) + (x))

#endif
// expect: the macro AUGUR_TWICE leaks
