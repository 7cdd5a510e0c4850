// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_ADAPTER_HPP
#define AUGUR_LOOPNEST_ADAPTER_HPP

/// @file
/// Out of place, on purpose.

#include <augur/tbb/executor.hpp>

#endif
// expect: loopnest must not include tbb
