// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_STOP_FLAG_HPP
#define AUGUR_LOOPNEST_RUN_STOP_FLAG_HPP

/// @file
/// Stop request for calls that wait for child processes.

#include <atomic>

namespace augur::inline v0::loopnest {

/// Stop request for a long call. It is polled, so a signal handler may set it. Null: never stops.
using stop_flag = const std::atomic<bool>*;

/// True if the flag is set.
[[nodiscard]] inline bool stop_requested(stop_flag stop) noexcept { return stop != nullptr && stop->load(std::memory_order_relaxed); }

} // namespace augur::inline v0::loopnest

#endif
