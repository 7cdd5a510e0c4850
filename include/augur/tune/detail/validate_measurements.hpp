// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TUNE_DETAIL_VALIDATE_MEASUREMENTS_HPP
#define AUGUR_TUNE_DETAIL_VALIDATE_MEASUREMENTS_HPP

/// @file
/// Validates the measurements that a runner returns: one per candidate, and finite latencies in every successful one.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <augur/record/measurement.hpp>

namespace augur::inline v0::detail {

/// Drops measurements beyond `candidates`, adds a failure for each that is missing, and turns a success without a finite latency into `unstable`.
inline void validate_measurements(std::vector<measurement>& outcomes, std::size_t candidates) {
    const std::size_t received = outcomes.size();
    outcomes.resize(candidates);
    for (std::size_t i = received; i < candidates; ++i)
        outcomes[i].reason = "the runner gave " + std::to_string(received) + " measurements for " + std::to_string(candidates) + " candidates";
    for (measurement& m : outcomes) {
        if (!m.ok() || std::isfinite(m.latency())) continue;
        const double* const invalid_time = m.unsound();
        m.reason =
            "expected finite times above zero, " + (invalid_time != nullptr ? std::to_string(*invalid_time) + " s" : std::string("none")) + " came";
        m.status = outcome::unstable;
    }
}

} // namespace augur::inline v0::detail

#endif
