// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_NEST_STAGE_HPP
#define AUGUR_LOOPNEST_DETAIL_NEST_STAGE_HPP

/// @file
/// Properties of a bounded stage, from which its features follow: loops, operations, footprints, cache traffic, cycles; and sums over all stages.

#include <algorithm>
#include <array>
#include <cstddef>

#include <augur/loopnest/detail/nest_footprints.hpp>
#include <augur/loopnest/ir/expr.hpp>

namespace augur::inline v0::loopnest::detail {

/// Operations of one execution of a body.
struct nest_operations {
    double adds = 0;    ///< on floats: additions, subtractions, minima, maxima and the step of the reduction
    double muls = 0;    ///< on floats
    double special = 0; ///< divisions, exponentials, tanh, erf, square roots
    double reads = 0;
    double selects = 0;
    double index_divs = 0; ///< quotients and remainders of indices

    /// Floating-point operations; a special function counts four.
    [[nodiscard]] double flops() const noexcept { return adds + muls + 4 * special; }

    void count(const expr_node& x) {
        switch (x.op) {
        case expr_op::add:
        case expr_op::sub:
        case expr_op::min:
        case expr_op::max: adds += x.is_index() ? 0 : 1; break;
        case expr_op::mul: muls += x.is_index() ? 0 : 1; break;
        case expr_op::div:
        case expr_op::exp:
        case expr_op::tanh:
        case expr_op::erf:
        case expr_op::sqrt: ++special; break;
        case expr_op::read: ++reads; break;
        case expr_op::select: ++selects; break;
        case expr_op::floor_div:
        case expr_op::floor_mod: ++index_divs; break;
        default: break;
        }
    }
};

/// Properties of one stage, before they are written as features.
struct nest_stage {
    static constexpr std::size_t inner_loops = 6, shown = 3, caches = 3;

    struct tensor {
        bool present = false;
        std::array<double, 2> stride{}; ///< in elements, for the innermost and second innermost loop
        double lines = 0;               ///< cache lines touched by the whole nest
        double inner_lines = 0;         ///< cache lines touched by the four innermost loops
    };
    struct cache {
        double bytes = 0;   ///< bytes fetched from behind this cache
        double fitting = 0; ///< number of innermost loops whose lines together fit into this cache
        double rounds = 1;  ///< number of executions of those loops
    };

    double iterations = 1; ///< executions of the body
    double enclosing = 1;  ///< executions of the whole stage: iterations of the enclosing loops of other stages
    double points = 1;     ///< points of the operation: elements times reduction length
    double parallel = 1;   ///< product of the parallel extents
    double vector = 1;     ///< product of the vector extents
    bool vector_innermost = false;
    double unroll_limit = -1; ///< value of the unroll pragma, in iterations; -1: none
    double unrolled = 1;      ///< iterations of the innermost loops of the stage within that limit
    double inner_space = 1;   ///< iterations of the space loops inside the innermost reduce loop, which form a register tile
    double inner_reduce = 1;  ///< iterations of the reduce loops directly around these space loops
    std::size_t loops = 0, loops_around = 0;
    double guards = 0; ///< number of conditions for splits that overshoot
    bool at_root = true;
    nest_operations body;
    std::array<nest_loop, inner_loops> inner;     ///< innermost first
    std::array<double, inner_loops> line_bytes{}; ///< bytes of the cache lines touched by the 1, 2, ... innermost loops, all tensors
    std::array<tensor, shown> tensors;            ///< the write, then the reads with most elements
    std::array<cache, caches> levels;
    double core_load = 0; ///< fraction of cores busy, averaged over rounds in which each core runs one parallel part

    // Cycles without overlap on the busy cores: one operation per lane and cycle, and the cycles of the lines fetched from behind each cache.
    double compute_cycles = 0;
    std::array<double, caches> memory_cycles{};

    /// Work of the stage; an execution of a body without arithmetic counts one operation.
    [[nodiscard]] double work() const noexcept { return iterations * (std::max)(body.flops(), 1.0); }
};

/// Sums over all stages.
struct nest_totals {
    double stages = 0, roots = 0, parallel_stages = 0, steps = 0;
    double iterations = 0, work = 0, scalar_work = 0, serial_work = 0;
    double least_work = 0; ///< as `work` if each stage computed each point once
    double compute_cycles = 0;
    std::array<double, nest_stage::caches> memory_cycles{};
    double least_parallel = 0, most_parallel = 0;

    void add(const nest_stage& s) {
        const double work_here = s.work();
        ++stages;
        roots += s.at_root ? 1 : 0;
        iterations += s.iterations;
        work += work_here;
        if (s.vector <= 1) scalar_work += work_here;
        if (s.parallel <= 1) serial_work += work_here;
        least_work += s.points * (std::max)(s.body.flops(), 1.0);
        compute_cycles += s.compute_cycles;
        for (std::size_t c = 0; c < memory_cycles.size(); ++c) memory_cycles[c] += s.memory_cycles[c];
        if (s.parallel <= 1) return;
        least_parallel = parallel_stages == 0 ? s.parallel : (std::min)(least_parallel, s.parallel);
        most_parallel = (std::max)(most_parallel, s.parallel);
        ++parallel_stages;
    }
};

} // namespace augur::inline v0::loopnest::detail

#endif
