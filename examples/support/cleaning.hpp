// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_CLEANING_HPP
#define AUGUR_EXAMPLES_SUPPORT_CLEANING_HPP

/// @file
/// Known faults of recorded AutoTVM logs, taken out.

#include <cstddef>
#include <vector>

#include <augur/io/tuning_archive.hpp>
#include <augur/schedule/autotvm_config.hpp>

namespace examples {

/// What was left out of the logs of a device, or changed.
struct cleaning {
    std::size_t records = 0, copied = 0, scaled = 0, slow_sessions = 0, bad = 0;
};

/// Leaves out the records whose timings are a copy of another configuration's, and scales the records of slow sessions.
///
/// A copy is a record whose list of latencies is equal to the last digit to that of an earlier record of another configuration. A session is a run of
/// records without a gap of ten minutes. Its slowness is the geometric mean, over its configurations that other sessions have too, of its latency over
/// the least of the others; a session with 20 such configurations and a slowness above 1.15 is divided by it.
cleaning clean(augur::tuning_archive& archive, std::vector<augur::autotvm_config>& configs);

} // namespace examples

#endif
