// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_FOREIGN_HPP
#define AUGUR_CORE_FOREIGN_HPP

/// @file
/// Out of place, on purpose.

#include <Eigen/Core>

#endif
// expect: core must not include <Eigen/Core>
