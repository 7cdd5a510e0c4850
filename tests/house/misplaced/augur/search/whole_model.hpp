// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_WHOLE_MODEL_HPP
#define AUGUR_SEARCH_WHOLE_MODEL_HPP

/// @file
/// Out of place, on purpose.

#include <augur/tlp/model.hpp>

#endif
// expect: search must not include tlp
