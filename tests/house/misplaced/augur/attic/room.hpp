// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_ATTIC_ROOM_HPP
#define AUGUR_ATTIC_ROOM_HPP

/// @file
/// Out of place, on purpose.

#endif
// expect: 'attic' is not a room
