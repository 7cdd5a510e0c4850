// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_BORROWED_DETAIL_HPP
#define AUGUR_TLP_BORROWED_DETAIL_HPP

/// @file
/// Out of place, on purpose.

#include <augur/dataset/detail/packed_ids.hpp>

#endif
// expect: only dataset may include its detail
