// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_EXPECTED_OUTPUTS_HPP
#define AUGUR_LOOPNEST_RUN_EXPECTED_OUTPUTS_HPP

/// @file
/// Reference outputs of a task, and the tolerance of a comparison with them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace augur::inline v0::loopnest {

/// Tolerance of an output against the reference: |got - want| <= absolute + relative * |want|; NaN and the infinities equal themselves only.
struct tolerance {
    double absolute = 1e-5;
    double relative = 1e-4;

    /// The tolerance for sums of `length` terms of magnitude 1 in any order. Rounding errors grow with the square root of the length (Higham 2002,
    /// section 4.2, random errors), far below the error of one missing term.
    static tolerance of_reduction(double length) noexcept { return {1e-5 * std::sqrt((std::max)(length, 1.0)), 1e-4}; }
};

/// The reference outputs of a task, stored in the work folder of the runner that made them and removed with that runner. Default-constructed:
/// nothing is checked.
struct expected_outputs {
    std::string path;
    std::vector<std::int64_t> elements; ///< elements of each output, in order
    tolerance allowed;
    double seconds = 0; ///< latency of the trusted program, one call; 0 if the caller computed the outputs
};

} // namespace augur::inline v0::loopnest

#endif
