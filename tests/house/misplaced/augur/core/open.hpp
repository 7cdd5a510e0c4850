// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_OPEN_HPP
#define AUGUR_CORE_OPEN_HPP

/// @file
/// Out of place, on purpose.

using namespace std;

#endif
// expect: using namespace
