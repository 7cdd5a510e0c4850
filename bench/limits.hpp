// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_BENCH_LIMITS_HPP
#define AUGUR_BENCH_LIMITS_HPP

/// @file
/// What the machine can do at most, measured in the same run as everything else: a table without it is no result.

#include <cmath>
#include <cstddef>
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
/// The same, at this moment: the best of a few milliseconds. 0 where there is none.
double fma_f32_now();
/// By vdpbf16ps, measured once; 0 where there is none.
double dot_bf16();
/// The same, at this moment. 0 where there is none.
double dot_bf16_now();

/// How much of a peak, by default that of fused multiply-adds, timed work reaches: the geometric mean over its pieces, each against the peak right
/// before and behind it. On a machine with neighbours the peak of another minute says nothing.
class share_of_peak {
public:
    explicit share_of_peak(double (*now)() = fma_f32_now) : now_(now) {}
    void begin() { before_ = now_(); }
    void end(double operations, double seconds) {
        const double peak = (before_ + now_()) / 2;
        known_ = known_ && peak > 0;
        logs_ += peak > 0 ? std::log(operations / seconds / peak) : 0;
        ++pieces_;
    }
    /// 0 where a peak is not known.
    [[nodiscard]] double value() const { return pieces_ > 0 && known_ ? std::exp(logs_ / static_cast<double>(pieces_)) : 0; }

private:
    double (*now_)();
    double before_ = 0, logs_ = 0;
    std::size_t pieces_ = 0;
    bool known_ = true;
};

} // namespace limits

#endif
