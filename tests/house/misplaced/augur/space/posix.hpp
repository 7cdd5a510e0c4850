// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SPACE_POSIX_HPP
#define AUGUR_SPACE_POSIX_HPP

/// @file
/// Out of place, on purpose.

#include <unistd.h>

#endif
// expect: space must not include <unistd.h>
