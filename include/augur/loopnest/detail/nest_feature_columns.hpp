// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_NEST_FEATURE_COLUMNS_HPP
#define AUGUR_LOOPNEST_DETAIL_NEST_FEATURE_COLUMNS_HPP

/// @file
/// The columns of the loop-nest features: the order, name, unit and scale of each feature. One definition gives both the values and the names.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/loopnest/detail/nest_stage.hpp>
#include <augur/loopnest/features/nest_target.hpp>

namespace augur::inline v0::loopnest::detail {

inline double log2_1p(double x) { return std::log2(1 + (std::max)(x, 0.0)); }

/// Defines the features of a stage and their order. `put(name, x)` appends x, `put.log(name, x)` appends log2(1 + x); for the elements of a list,
/// the index follows the name.
template <class Put>
void put_stage(Put& put, const nest_stage& s, const nest_target& target) {
    put("there", 1); // 0, as all features of the group, if the kernel has fewer stages
    put.log("operations", s.work());
    put.log("repeats",
            s.iterations / s.points); // executions of the body per point: above 1 if boxes overlap, below 1 for unread points
    put.log("parallel", s.parallel);  // parts
    put("core_load", s.core_load);    // 0 to 1
    put.log("vector", s.vector);      // iterations
    put("vector_innermost", s.vector_innermost ? 1 : 0);
    put("vector_fill", s.vector <= 1 ? 0 : s.vector / (std::ceil(s.vector / target.vector_lanes) * target.vector_lanes)); // fraction
    put("log_unroll_limit", s.unroll_limit < 0 ? -1 : log2_1p(s.unroll_limit));                                           // iterations; -1: no pragma
    put.log("unrolled", s.unrolled);                                                                                      // iterations
    put.log("inner_space", s.inner_space);                                                                                // iterations
    put.log("inner_reduce", s.inner_reduce);                                                                              // iterations
    put.log("register_tile", s.inner_space); // in elements; a duplicate of inner_space that keeps the feature positions of trained models
    put.log("around", s.enclosing);          // iterations
    put("loops_around", static_cast<double>(s.loops_around));
    put("loops", static_cast<double>(s.loops)); // enclosing loops of other stages included
    put("adds", s.body.adds);                   // from here to index_divs: operations of one execution of the body
    put("muls", s.body.muls);
    put("special", s.body.special);
    put("reads", s.body.reads);
    put("selects", s.body.selects);
    put("index_divs", s.body.index_divs);
    put.log("guards", s.guards);
    put("at_root", s.at_root ? 1 : 0);
    for (std::size_t q = 0; q < s.inner.size(); ++q) { // innermost first; 0, -1, -1 for a missing loop
        const bool present = q < s.loops;
        put.log("loop_extent", q, present ? s.inner[q].extent : 0);
        put("loop_reduces", q, !present ? -1 : s.inner[q].reduce ? 1 : 0);
        put("loop_annotation", q, present ? static_cast<double>(s.inner[q].annotation) : -1); // numbered as in the AN step of a log
    }
    for (std::size_t q = 0; q < s.tensors.size(); ++q) { // the write, then the two reads with most elements; -1 for a missing tensor
        const auto& a = s.tensors[q];
        put("log_stride_innermost", q, a.present ? log2_1p(a.stride[0]) : -1); // elements
        put("log_stride_second", q, a.present ? log2_1p(a.stride[1]) : -1);    // elements
        put("log_lines", q, a.present ? log2_1p(a.lines) : -1);                // whole nest
        put("log_inner_lines", q, a.present ? log2_1p(a.inner_lines) : -1);    // four innermost loops
    }
    for (std::size_t c = 0; c < s.levels.size(); ++c) {
        put.log("flops_a_line", c, s.iterations * s.body.flops() / s.levels[c].bytes * target.line_bytes); // per line fetched
        put.log("fitting_loops", c, s.levels[c].fitting);
        put.log("fitting_rounds", c, s.levels[c].rounds); // executions of the loops that fit
    }
    for (std::size_t q = 0; q < s.line_bytes.size(); ++q)
        put.log("inner_bytes", q, s.line_bytes[q]); // lines touched by q + 1 loops; 0 with fewer loops
    const double near = s.memory_cycles[0] + s.memory_cycles[1];
    put.log("compute_cycles", s.compute_cycles);
    put.log("cache_cycles", near); // lines fetched from behind the first and second level
    put.log("cycles", s.compute_cycles + near + s.memory_cycles[2]);
}

/// Defines the totals in the same form. Cycles are relative to the necessary operations: log2((1 + cycles) / least_work).
template <class Put>
void put_totals(Put& put, const nest_totals& t) {
    const double least = (std::max)(t.least_work, 1.0);
    const double all = t.work > 0 ? t.work : 1;
    put("stages", t.stages); // stages that are not inlined
    put("roots", t.roots);   // stages at the root
    put.log("operations", t.work);
    put("log_compute_cycles", std::log2((1 + t.compute_cycles) / least));
    for (std::size_t c = 0; c < t.memory_cycles.size(); ++c) put("log_memory_cycles", c, std::log2((1 + t.memory_cycles[c]) / least));
    put("log_cycles", std::log2((1 + t.compute_cycles + t.memory_cycles[0] + t.memory_cycles[1] + t.memory_cycles[2]) / least));
    put("scalar_share", t.scalar_work / all); // share of the operations in stages without vector loops
    put("serial_share", t.serial_work / all); // share of the operations in stages without parallel loops
    put("log_repeats", std::log2(all / least));
    put("parallel_stages", t.parallel_stages);
    put.log("least_parallel", t.least_parallel); // parallel parts of the stages with parallel loops
    put.log("most_parallel", t.most_parallel);
    put("steps", t.steps); // steps of the schedule
    put.log("iterations", t.iterations);
}

/// Collects feature values. A value that is not finite, which happens only if two products exceed the range of double, becomes 0.
struct nest_number_sink {
    std::span<float> out;
    std::size_t at = 0;

    void operator()(std::string_view, double x) { out[at++] = x - x == 0 ? static_cast<float>(x) : 0.0F; }
    void operator()(std::string_view name, std::size_t, double x) { (*this)(name, x); }
    void log(std::string_view name, double x) { (*this)(name, log2_1p((std::min)(x, 1e300))); }
    void log(std::string_view name, std::size_t, double x) { log(name, x); }
};

/// Collects feature names.
struct nest_name_sink {
    std::vector<std::string> out;
    std::string prefix;

    void operator()(std::string_view name, double) { out.push_back(prefix + std::string(name)); }
    void operator()(std::string_view name, std::size_t i, double) { out.push_back(prefix + std::string(name) + "." + std::to_string(i)); }
    void log(std::string_view name, double) { (*this)("log_" + std::string(name), 0); }
    void log(std::string_view name, std::size_t i, double) { (*this)("log_" + std::string(name), i, 0); }
};

} // namespace augur::inline v0::loopnest::detail

#endif
