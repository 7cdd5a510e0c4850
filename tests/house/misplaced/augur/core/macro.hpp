// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_MACRO_HPP
#define AUGUR_CORE_MACRO_HPP

/// @file
/// Out of place, on purpose.

#define FAST 1

#endif
// expect: a macro that is not AUGUR_*
