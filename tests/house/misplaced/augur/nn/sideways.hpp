// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_SIDEWAYS_HPP
#define AUGUR_NN_SIDEWAYS_HPP

/// @file
/// Out of place, on purpose.

#include <augur/schedule/concepts.hpp>

#endif
// expect: nn must not include schedule
