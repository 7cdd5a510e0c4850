// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_FEATURES_NEST_FEATURES_HPP
#define AUGUR_LOOPNEST_FEATURES_NEST_FEATURES_HPP

/// @file
/// Hand-crafted features of a bounded loop nest for cost models: inner loops, vectorisation, parallelism and load balance, strides, footprints,
/// cache traffic and a time estimate, as a vector of fixed length.
///
/// Based on Ansor's features (Zheng et al., Ansor: Generating high-performance tensor programs, section 5.2; TVM, src/auto_scheduler/feature.cc,
/// 164 numbers per store statement). The features differ: one group for each of the three stages with most work, and totals.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/loopnest/detail/nest_footprints.hpp>
#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// Machine parameters of the features; all are above 0. The default is a server with 24 cores and a compiler without AVX, as for TVM's public CPU
/// logs. The features of one model must all use the same target, or each the target of its log.
struct nest_target {
    double cores = 24;                                        ///< cores that execute the parts of a parallel loop
    double vector_lanes = 4;                                  ///< float lanes of the vectors that the compiler uses
    double line_bytes = 64;                                   ///< cache line size in bytes
    std::array<double, 3> cache_bytes{32768, 1 << 20, 1.4e6}; ///< capacity of each level available to one core, L1 first
    std::array<double, 3> line_cycles{4, 12, 40};             ///< cycles in which one core fetches a line from behind each level

    /// The target of a log line; cache parameters are the default ones.
    [[nodiscard]] static nest_target make(const hardware_params& h) noexcept {
        nest_target t;
        t.cores = static_cast<double>((std::max)(h.num_cores, std::int64_t{1}));
        t.vector_lanes = static_cast<double>((std::max)(h.vector_unit_bytes / 4, std::int64_t{1}));
        if (h.cache_line_bytes > 0) t.line_bytes = static_cast<double>(h.cache_line_bytes);
        return t;
    }
    /// The target of a machine; unknown parameters keep their default. The capacity of a shared cache is divided evenly among its cores; processors
    /// that share an L1 cache count as one core. A missing level gets the capacity of the level before it.
    [[nodiscard]] static nest_target make(const machine& m, int threads = 0) noexcept {
        nest_target t = make(m.hardware(threads));
        const auto* first = m.cache(1);
        const double together = first == nullptr ? 1 : (std::max)(first->sharers, 1);
        for (std::size_t i = 0; i < t.cache_bytes.size(); ++i) {
            const auto level = static_cast<int>(i) + 1;
            if (const auto* c = m.cache(level); c != nullptr && c->bytes > 0)
                t.cache_bytes[i] = static_cast<double>(c->bytes) / (std::max)(c->sharers / together, 1.0);
            else if (i > 0 && first != nullptr) t.cache_bytes[i] = t.cache_bytes[i - 1];
            const auto* next_level = m.cache(level + 1);
            if (next_level != nullptr && next_level->bytes_per_cycle > 0) t.line_cycles[i] = t.line_bytes / next_level->bytes_per_cycle;
            if (next_level == nullptr && m.memory.core_bytes_per_second > 0 && m.clock_hz > 0)
                t.line_cycles[i] = t.line_bytes * m.clock_hz / m.memory.core_bytes_per_second;
        }
        return t;
    }
};

namespace detail {

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

} // namespace detail

/// Number of stages with their own feature group: those with most operations.
inline constexpr std::size_t nest_feature_stages = 3;
inline constexpr std::size_t nest_stage_feature_count = 72;
inline constexpr std::size_t nest_feature_count = nest_feature_stages * nest_stage_feature_count + 16;

/// The name of each feature, in order: `stage0.log_operations`, ..., `total.log_iterations`. A name with `log_` is log2(1 + x), for cycles and
/// repeats of the totals log2(x). `put_stage` and `put_totals` define x and its unit.
[[nodiscard]] inline std::vector<std::string> nest_feature_names() {
    detail::nest_name_sink put;
    for (std::size_t s = 0; s < nest_feature_stages; ++s) {
        put.prefix = "stage" + std::to_string(s) + ".";
        detail::put_stage(put, {}, {});
    }
    put.prefix = "total.";
    detail::put_totals(put, {});
    return std::move(put.out);
}

/// Extracts the features of loop nests. Reuses its buffers: after the first states only bound inference and indices allocate.
///
/// Cost     linear in stages times reads times loops
/// Threads  one object per thread
class nest_extractor {
public:
    explicit nest_extractor(const nest_target& target = {}) : target_(target) {
        bool fine = target.cores > 0 && target.vector_lanes > 0 && target.line_bytes >= 4;
        for (const auto b : target.cache_bytes) fine = fine && b > 0;
        for (const auto c : target.line_cycles) fine = fine && c > 0;
        AUGUR_ASSERT(fine, "nest_extractor: a target's numbers are above 0");
        static_cast<void>(fine);
    }

    [[nodiscard]] const nest_target& target() const noexcept { return target_; }

    /// Infers the bounds of a state and writes its features; all are finite.   pre: out has nest_feature_count elements
    /// Errors: those of `bound`; `out` is then unchanged.
    result<void> extract(const loop_state& s, std::span<float> out) {
        auto b = bound(s);
        if (!b) return b.error();
        extract(s, *b, out);
        return {};
    }

    /// As above for a bounded state. May add quotients and remainders of read indices to the table of terms of `b`.   pre: b = bound(s)
    void extract(const loop_state& s, bounded_state& b, std::span<float> out) {
        AUGUR_ASSERT(out.size() == nest_feature_count, "nest_extractor: room for nest_feature_count numbers");
        list_loops(s, b);
        detail::nest_totals totals;
        totals.steps = static_cast<double>(s.steps().size());
        std::size_t kept = 0;
        for (std::size_t i = 0; i < b.bodies.size(); ++i) {
            if (!b.bodies[i]) continue;
            const auto st = describe(s, b, i);
            totals.add(st);
            std::size_t at = kept;
            while (at > 0 && most_[at - 1].work() < st.work()) --at; // equal stages keep their order
            if (at == most_.size()) continue;
            kept = (std::min)(kept + 1, most_.size());
            std::move_backward(most_.begin() + at, most_.begin() + kept - 1, most_.begin() + kept);
            most_[at] = st;
        }
        std::fill(out.begin(), out.end(), 0.0F);
        detail::nest_number_sink put{out};
        for (std::size_t k = 0; k < kept; ++k) detail::put_stage(put, most_[k], target_);
        put.at = nest_feature_stages * nest_stage_feature_count;
        detail::put_totals(put, totals);
        AUGUR_ASSERT(put.at == out.size(), "nest_extractor: the numbers are nest_feature_count");
    }

private:
    nest_target target_;
    std::vector<detail::nest_loop> by_term_; ///< the loops of all stages, by term number
    std::vector<detail::nest_loop> loops_;   ///< the loops of the current stage, outermost first
    std::vector<double> rounds_;             ///< [d]: executions of the loops from depth d inwards
    std::vector<double> line_bytes_;         ///< [d]: bytes of the cache lines that these loops touch, all tensors
    detail::nest_footprints touched_;
    std::array<detail::nest_stage, nest_feature_stages> most_;

    void list_loops(const loop_state& s, const bounded_state& b) {
        by_term_.assign(b.terms.size(), {});
        for (std::size_t i = 0; i < b.bodies.size(); ++i) {
            if (!b.bodies[i]) continue;
            const auto& stage = s.stages()[i];
            for (std::size_t k = 0; k < stage.iters.size(); ++k) {
                const int t = b.stages[i].loops[k];
                const auto var = stage.iters[k].var;
                if (t >= 0)
                    by_term_[static_cast<std::size_t>(t)] = {t, static_cast<double>(b.stages[i].extents[var]), stage.vars[var].reduce,
                                                             stage.iters[k].annotation};
            }
        }
    }

    [[nodiscard]] detail::nest_stage describe(const loop_state& s, bounded_state& b, std::size_t i) {
        const auto& bounds = b.stages[i];
        detail::nest_stage out;
        loops_.clear();
        for (const int t : bounds.around) loops_.push_back(by_term_[static_cast<std::size_t>(t)]);
        out.loops_around = loops_.size();
        for (const int t : bounds.loops)
            if (t >= 0) loops_.push_back(by_term_[static_cast<std::size_t>(t)]);
        out.loops = loops_.size();
        out.guards = static_cast<double>(bounds.room.size());
        out.at_root = s.stages()[i].placement == stage::place::root;
        out.unroll_limit = static_cast<double>(s.stages()[i].auto_unroll_max_step);
        const auto& op = s.dag().ops[i];
        for (std::size_t a = 0; a < op.axis_count(); ++a) out.points *= static_cast<double>(op.axis(a).extent);
        nest(out);
        access(s.dag(), b, i, out);
        memory(out);
        time(out);
        return out;
    }

    /// Features of the loops without their accesses.
    void nest(detail::nest_stage& out) {
        const auto n = loops_.size();
        rounds_.assign(n + 1, 1);
        for (std::size_t k = 0; k < n; ++k) {
            const auto& l = loops_[k];
            rounds_[k + 1] = rounds_[k] * l.extent;
            if (l.annotation == loop_annotation::parallel) out.parallel *= l.extent;
            if (l.annotation == loop_annotation::vectorize) out.vector *= l.extent;
        }
        out.iterations = rounds_[n];
        out.enclosing = rounds_[out.loops_around];
        out.vector_innermost = n > 0 && loops_[n - 1].annotation == loop_annotation::vectorize;
        for (std::size_t q = 0; q < (std::min)(n, out.inner.size()); ++q) out.inner[q] = loops_[n - 1 - q];
        std::size_t k = n;
        for (; k > 0 && !loops_[k - 1].reduce; --k) out.inner_space *= loops_[k - 1].extent;
        for (; k > 0 && loops_[k - 1].reduce; --k) out.inner_reduce *= loops_[k - 1].extent;
        const double limit = (std::max)(out.unroll_limit, 1.0);
        for (k = n; k > out.loops_around && out.unrolled * loops_[k - 1].extent <= limit; --k) out.unrolled *= loops_[k - 1].extent;
    }

    /// Counts the operations of the body; computes the footprints of its write (access 0) and of its reads, in order.
    void access(const compute_dag& dag, bounded_state& b, std::size_t i, detail::nest_stage& out) {
        const auto& axes = b.stages[i].axes;
        const auto n = loops_.size();
        touched_.begin(loops_, by_term_.size(), target_.line_bytes / 4);
        const auto extent = [](const operation& op, std::size_t a) { return static_cast<double>(op.axes[a].extent); };
        touched_.open();
        for (std::size_t a = dag.ops[i].axes.size(); a-- > 0;) touched_.dimension(b.terms, &axes[a], extent(dag.ops[i], a));
        touched_.close();
        walk(b.bodies[i], [&](const expr_node& x) {
            out.body.count(x);
            if (x.op != expr_op::read) return;
            const auto& from = dag.ops[dag.index_of(static_cast<int>(x.integer))];
            touched_.open();
            for (std::size_t a = x.operands.size(); a-- > 0;) {
                const auto& e = x.operands[a];
                if (e->op == expr_op::axis) { // fast path: the index is one axis, no copy
                    touched_.dimension(b.terms, &axes[static_cast<std::size_t>(e->integer)], extent(from, a));
                    continue;
                }
                const auto index = detail::to_affine(e, axes, b.terms);
                touched_.dimension(b.terms, index ? &*index : nullptr, extent(from, a));
            }
            touched_.close();
        });
        if (dag.ops[i].combine != reducer::none) ++out.body.adds;

        // the write, then the two reads with most elements; the first of equals wins
        std::array<std::size_t, 3> shown{0, 0, 0};
        for (std::size_t a = 1; a < touched_.accesses(); ++a) {
            const auto more = [&](std::size_t other) { return other == 0 || touched_.elements(a, 0) > touched_.elements(other, 0); };
            if (more(shown[1])) {
                shown[2] = shown[1];
                shown[1] = a;
            } else if (more(shown[2])) shown[2] = a;
        }
        for (std::size_t q = 0; q < shown.size(); ++q) {
            auto& t = out.tensors[q];
            t.present = q == 0 || shown[q] != 0;
            for (std::size_t j = 0; j < (std::min)(n, t.stride.size()); ++j) t.stride[j] = touched_.stride(shown[q], j);
            t.lines = touched_.lines(shown[q], 0);
            t.inner_lines = touched_.lines(shown[q], n >= 4 ? n - 4 : 0);
        }
    }

    /// For each cache: the loops that fit, and the bytes fetched from behind it. The lines of a tensor are fetched once per execution of the fitting
    /// loops; loops directly around them with which the tensor does not move cause no further fetch.
    void memory(detail::nest_stage& out) {
        const auto n = loops_.size();
        const auto accesses = touched_.accesses();
        line_bytes_.assign(n + 1, 0);
        for (std::size_t a = 0; a < accesses; ++a)
            for (std::size_t d = 0; d <= n; ++d) line_bytes_[d] += touched_.lines(a, d) * target_.line_bytes;
        for (std::size_t q = 0; q < (std::min)(n, out.line_bytes.size()); ++q) out.line_bytes[q] = line_bytes_[n - 1 - q];
        for (std::size_t c = 0; c < out.levels.size(); ++c) {
            std::size_t d = n;
            while (d > 0 && line_bytes_[d - 1] <= target_.cache_bytes[c]) --d;
            out.levels[c] = {0, static_cast<double>(n - d), rounds_[d]};
            for (std::size_t a = 0; a < accesses; ++a) {
                std::size_t q = d;
                while (q > 0 && !touched_.varies(a, q - 1)) --q;
                out.levels[c].bytes += rounds_[q] * touched_.lines(a, d) * target_.line_bytes;
            }
        }
    }

    void time(detail::nest_stage& out) const {
        out.core_load = out.parallel / (std::ceil(out.parallel / target_.cores) * target_.cores);
        const double busy = (std::max)(1.0, target_.cores * out.core_load);
        const double lanes = out.vector_innermost ? (std::min)(out.vector, target_.vector_lanes) : 1;
        out.compute_cycles = out.work() / lanes / busy;
        for (std::size_t c = 0; c < out.levels.size(); ++c)
            out.memory_cycles[c] = out.levels[c].bytes / target_.line_bytes * target_.line_cycles[c] / busy;
    }
};

} // namespace augur::inline v0::loopnest

#endif
