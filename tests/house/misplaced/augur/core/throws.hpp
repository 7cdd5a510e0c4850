// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_THROWS_HPP
#define AUGUR_CORE_THROWS_HPP

/// @file
/// Out of place, on purpose.

inline void f() { throw 1; }

#endif
// expect: no exceptions, no RTTI
