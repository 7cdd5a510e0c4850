// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_ANSOR_OPTIONS_HPP
#define AUGUR_LOOPNEST_SCHEDULE_ANSOR_OPTIONS_HPP

/// @file
/// What the schedule space of a kernel offers.

#include <cstddef>
#include <cstdint>

namespace augur::inline v0::loopnest {

/// Limits of the schedule space of a kernel.
struct ansor_options {
    std::int64_t num_cores = 1;      ///< cores of the target; decides which reductions are factored and how many loops are parallel
    std::int64_t max_innermost = 64; ///< largest innermost length of a split
    std::int64_t max_vectorize = 64; ///< largest vectorised loop in iterations, fused or not; Ansor: 16
    std::size_t max_sketches = 4096;
    /// Use exactly Ansor's sketches and compute-location candidates: "unchanged" and an explicit root are two options, no stage is inlined, and a
    /// loop that runs once is a location. By default each option gives a different program, stages may be inlined, plain reductions are tiled, and
    /// operands that are read along the reduction may be copied, and the rows of an output such as softmax may be split into blocks.
    bool faithful = false;
    /// Offer more options, behind the others, where sampling does not reach: what becomes of a sampled program when Ansor's evolution changes one step
    /// and keeps the others. A stage is computed at an explicit root or in any legal loop around its reader, a vector has any length or is missing
    /// although it would be short, and a fusion of one loop is parallel. So programs in TVM logs lie in the space, also if it is not `faithful`.
    /// Each location is checked by bound inference, so a walk takes several times as long.
    bool evolved = false;

    /// TVM's values, so that the random programs in TVM logs lie in the space.
    [[nodiscard]] static ansor_options as_tvm(std::int64_t cores) noexcept {
        ansor_options o;
        o.num_cores = cores;
        o.max_vectorize = 16;
        o.faithful = true;
        return o;
    }
};

} // namespace augur::inline v0::loopnest

#endif
