// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CORE_STEADY_SECONDS_HPP
#define AUGUR_CORE_STEADY_SECONDS_HPP

/// @file
/// The monotonic clock of the library.

#include <chrono>

namespace augur::inline v0 {

/// Seconds of std::chrono::steady_clock since an arbitrary point in time. Only differences mean something.
[[nodiscard]] inline double steady_seconds() noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace augur::inline v0

#endif
