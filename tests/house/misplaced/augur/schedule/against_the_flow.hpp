// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SCHEDULE_AGAINST_THE_FLOW_HPP
#define AUGUR_SCHEDULE_AGAINST_THE_FLOW_HPP

/// @file
/// Out of place, on purpose.

#include <augur/search/random.hpp>

#endif
// expect: schedule must not include search
