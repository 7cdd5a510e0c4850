// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_GUMBEL_HPP
#define AUGUR_TLM_GENERATE_GUMBEL_HPP

/// @file
/// Perturbed log-probabilities: whatever has the highest ones is a sample without replacement (Kool, van Hoof, Welling 2019, "Stochastic beams and where to
/// find them").

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <augur/core/random_engine.hpp>

namespace augur::inline v0::tlm {

/// log(e^x[0] + e^x[1] + ...); -infinity if there is none.
[[nodiscard]] inline double log_sum_exp(std::span<const double> x) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const double v : x) most = (std::max)(most, v);
    if (!std::isfinite(most)) return most;
    for (const double v : x) sum += std::exp(v - most);
    return most + std::log(sum);
}

/// log(1 - e^x) for x <= 0.
[[nodiscard]] inline double log_one_minus_exp(double x) { return x > -0.6931471805599453 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); }

/// Log-probabilities become Gumbel variables of these locations, given that the highest is `top` (equation 10 and appendix B.3 of Kool et al.).
inline void perturb_below(double top, std::span<double> log_probabilities, random_engine& rng) {
    double highest = -std::numeric_limits<double>::infinity();
    for (double& x : log_probabilities) {
        x -= std::log(-std::log((std::max)(rng.uniform(), 1e-300)));
        highest = (std::max)(highest, x);
    }
    for (double& x : log_probabilities) {
        const double v = top - x + log_one_minus_exp(x - highest);
        x = top - (std::max)(v, 0.0) - std::log1p(std::exp(-std::abs(v)));
    }
}

} // namespace augur::inline v0::tlm

#endif
