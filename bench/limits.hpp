// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_BENCH_LIMITS_HPP
#define AUGUR_BENCH_LIMITS_HPP

/// @file
/// What the machine can do at most, measured in the same run as everything else: a table without it is no result.

#include <ctime>

namespace limits {

/// Seconds of processor time of this thread: neighbours on a shared machine count less than with the wall clock.
inline double thread_seconds() {
    std::timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Floating-point operations of fused multiply-adds a second on one core, the widest vectors that it has; the best of some tries, measured once.
double fma_f32();
/// The same by vdpbf16ps; 0 where there is none.
double dot_bf16();

} // namespace limits

#endif
