// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_BANNED_HPP
#define AUGUR_CORE_BANNED_HPP

/// @file
/// Out of place, on purpose.

#include <iostream>

#endif
// expect: <iostream> is not for public headers
