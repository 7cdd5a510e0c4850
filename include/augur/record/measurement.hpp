// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_RECORD_MEASUREMENT_HPP
#define AUGUR_RECORD_MEASUREMENT_HPP

/// @file
/// Result of one measurement: outcome code, latencies and times, with the mapping to TVM's MeasureErrorNO.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace augur::inline v0 {

/// Outcome of a trial. The values are written to files: append, never renumber. `ansor_error` maps to TVM's MeasureErrorNO.
enum class outcome : std::uint8_t {
    ok = 0,
    illegal_schedule = 1, ///< the steps could not be applied or lowered
    compile_error = 2,
    compile_timeout = 3,
    run_crash = 4,   ///< killed by a signal
    run_timeout = 5, ///< exceeded the wall or CPU time limit
    run_memory = 6,  ///< exceeded the memory limit
    wrong_result = 7,
    run_exit = 8,     ///< ended without a result (exit, malformed message)
    runner_error = 9, ///< failure of the runner itself: cannot start a process, disk full
    unstable = 10,    ///< a measured time is not finite and positive
};

constexpr std::string_view to_string(outcome o) noexcept {
    constexpr std::string_view names[] = {"ok",         "illegal_schedule", "compile_error", "compile_timeout", "run_crash", "run_timeout",
                                          "run_memory", "wrong_result",     "run_exit",      "runner_error",    "unstable"};
    const auto i = static_cast<std::size_t>(o);
    return i < std::size(names) ? names[i] : std::string_view("unknown");
}

/// TVM's MeasureErrorNO for an outcome: 0 none, 1 instantiation, 2 compile host, 4 runtime device, 5 wrong answer, 6 build timeout,
/// 7 run timeout, 8 unknown (include/tvm/auto_scheduler/measure.h).
constexpr int ansor_error(outcome o) noexcept {
    switch (o) {
    case outcome::ok: return 0;
    case outcome::illegal_schedule: return 1;
    case outcome::compile_error: return 2;
    case outcome::compile_timeout: return 6;
    case outcome::run_timeout: return 7;
    case outcome::wrong_result: return 5;
    case outcome::run_crash:
    case outcome::run_memory:
    case outcome::run_exit: return 4;
    case outcome::runner_error:
    case outcome::unstable: return 8;
    }
    return 8;
}

/// Result of one trial. A failed trial is a value, not an error.
struct measurement {
    outcome status = outcome::runner_error;
    std::vector<double>
        seconds; ///< one latency per repeat, in seconds; empty for a failed trial, but `unstable` may keep the unsound times: use `latency()`
    double total_seconds = 0; ///< wall time of the trial, compilation included
    double compile_cpu_seconds = 0;
    double run_cpu_seconds = 0; ///< CPU time of the child process outside the timed calls; 0: not known
    double packing_seconds = 0; ///< time of the one-time layout rewrite of constant inputs; not part of a latency
    double max_error = 0;       ///< largest absolute error of an output element divided by its tolerance
    std::int64_t timestamp = 0; ///< Unix seconds
    std::string reason;         ///< human-readable reason of a failure

    [[nodiscard]] bool ok() const noexcept { return status == outcome::ok; }

    /// First repeat that is not finite and positive; null: all are.
    [[nodiscard]] const double* unsound() const {
        const auto at = std::find_if(seconds.begin(), seconds.end(), [](double s) { return !(s > 0 && std::isfinite(s)); });
        return at == seconds.end() ? nullptr : &*at;
    }
    /// Median of the repeats in seconds; infinity for a failed trial, or if a repeat is not finite and positive.
    [[nodiscard]] double latency() const {
        if (!ok() || seconds.empty() || unsound() != nullptr) return std::numeric_limits<double>::infinity();
        auto sorted = seconds;
        const auto mid = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
        std::nth_element(sorted.begin(), mid, sorted.end());
        if (sorted.size() % 2 == 1) return *mid;
        return *mid / 2 + *std::max_element(sorted.begin(), mid) / 2;
    }

    /// (largest - smallest) / median of the repeats; 0 for fewer than two repeats.
    [[nodiscard]] double spread() const {
        if (seconds.size() < 2) return 0;
        const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
        return (*high - *low) / latency();
    }
};

/// Training label of a latency: the smallest latency of its task divided by `latency`. It is 1 for the best schedule and 0 for a failure.
/// pre: least > 0 and latency > 0; the latency of a failure is infinite
[[nodiscard]] inline float speed_label(double least, double latency) noexcept {
    return std::isfinite(latency) ? static_cast<float>(least / latency) : 0.0F;
}

} // namespace augur::inline v0

#endif
