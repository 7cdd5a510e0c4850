// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_STAGE_HPP
#define AUGUR_LOOPNEST_SCHEDULE_STAGE_HPP

/// @file
/// A stage: an operation with its loop variables, the splits and fusions between them, its loops, and its compute location (Ansor's Stage,
/// include/tvm/auto_scheduler/loop_state.h).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// A loop variable of a stage: a root axis, a part of a split, or the result of a fusion.
struct loop_var {
    std::string name;
    std::int64_t extent = 0; ///< 0: unknown before bound inference
    bool space = true;       ///< iterates over space axes; a fusion of space and reduce loops sets both flags
    bool reduce = false;
};

/// A split or fusion: the relation between one loop variable and its parts.
struct loop_relation {
    enum class kind : std::uint8_t { split, fuse } type{};
    std::size_t parent = 0;         ///< for a split: the variable that was split; for a fusion: the result
    std::vector<std::size_t> parts; ///< outermost first
    /// For a split into n parts: n - 1 lengths, those of parts[1] to parts[n-1] if `inner_to_outer` (the outermost part takes the rest of the extent), else
    /// those of parts[0] to parts[n-2] (the innermost part takes the rest). A length of 0 is still open.
    std::vector<std::int64_t> lengths;
    bool inner_to_outer = true;
};

/// A loop of a stage; `stage::iters` lists them outermost first.
struct loop_iter {
    std::size_t var = 0;
    loop_annotation annotation = loop_annotation::none;
};

/// An operation and its loop nest.
struct stage {
    enum class place : std::uint8_t { root, inlined, at } placement = place::root;
    std::size_t at_stage = 0;   ///< for place::at: the stage in whose loop nest this one is computed
    std::size_t at_var = 0;     ///< for place::at: the loop variable of that stage in whose loop this one is computed
    std::vector<loop_var> vars; ///< root axes of the operation first
    std::vector<loop_relation> relations;
    std::vector<loop_iter> iters;
    std::int64_t auto_unroll_max_step = -1; ///< value of the pragma; -1: no pragma

    /// The index of the loop over `var`; `iters.size()` if `var` was split or fused.
    [[nodiscard]] std::size_t iter_of(std::size_t var) const {
        return static_cast<std::size_t>(std::find_if(iters.begin(), iters.end(), [&](const loop_iter& i) { return i.var == var; }) - iters.begin());
    }
    [[nodiscard]] const loop_var& var_of(std::size_t iter) const { return vars[iters[iter].var]; }
};

// Limits of a stage. Steps come from logs, and alternating splits and fusions would otherwise use unbounded memory.
inline constexpr std::size_t max_stage_loops = 512;      ///< largest number of loops of one stage at any time
inline constexpr std::size_t max_loop_name = 4096;       ///< largest name of a loop or stage in bytes; each split, fusion and copy makes it longer
inline constexpr std::size_t max_operations = 512;       ///< of a DAG with the stages that steps insert
inline constexpr std::int64_t max_rfactor_overshoot = 4; ///< rfactor: the split may make at most this multiple of the loop's iterations,
inline constexpr std::int64_t rfactor_free_steps = 1024; ///< plus this number of iterations

} // namespace augur::inline v0::loopnest

#endif
