// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_FEATURES_NEST_FEATURES_HPP
#define AUGUR_LOOPNEST_FEATURES_NEST_FEATURES_HPP

/// @file
/// What a bounded loop nest will do on the machine, as a fixed vector of numbers for cost models: loops from the inside, vectors, parallel parts and
/// how evenly they load the cores, strides, footprints, traffic behind each cache, and an estimate of time.
///
/// The idea is Ansor's (Zheng et al., Ansor: Generating high-performance tensor programs, section 5.2; TVM, src/auto_scheduler/feature.cc, 164
/// numbers a store statement); the choice is our own: one group for each of the three stages with most work, and totals.

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

/// What the features ask of a machine. All numbers are above 0. The default is a server of 24 cores whose compiler was not told of AVX, as TVM's
/// public CPU logs were measured; features of one model must all be taken for one target, or for each log's own.
struct nest_target {
    double cores = 24;                                        ///< that run the parts of a parallel loop
    double vector_lanes = 4;                                  ///< floats in the vectors that the compiler uses
    double line_bytes = 64;                                   ///< of a cache line
    std::array<double, 3> cache_bytes{32768, 1 << 20, 1.4e6}; ///< that one core has of each level, inner to outer
    std::array<double, 3> line_cycles{4, 12, 40};             ///< in which one core takes a line from behind each level

    /// What a log line says of its target; caches are those of the default.
    [[nodiscard]] static nest_target of(const hardware_params& h) noexcept {
        nest_target t;
        t.cores = static_cast<double>((std::max)(h.num_cores, std::int64_t{1}));
        t.vector_lanes = static_cast<double>((std::max)(h.vector_unit_bytes / 4, std::int64_t{1}));
        if (h.cache_line_bytes > 0) t.line_bytes = static_cast<double>(h.cache_line_bytes);
        return t;
    }
    /// What is known of a machine, the default for the rest. A shared cache is parted evenly among its cores; the processors that share the first
    /// level are one core. A level that it has not holds what the one before it holds.
    [[nodiscard]] static nest_target of(const machine& m, int threads = 0) noexcept {
        nest_target t = of(m.hardware(threads));
        const auto* first = m.cache(1);
        const double together = first == nullptr ? 1 : (std::max)(first->sharers, 1);
        for (std::size_t i = 0; i < t.cache_bytes.size(); ++i) {
            const auto level = static_cast<int>(i) + 1;
            if (const auto* c = m.cache(level); c != nullptr && c->bytes > 0)
                t.cache_bytes[i] = static_cast<double>(c->bytes) / (std::max)(c->sharers / together, 1.0);
            else if (i > 0 && first != nullptr) t.cache_bytes[i] = t.cache_bytes[i - 1];
            const auto* behind = m.cache(level + 1);
            if (behind != nullptr && behind->bytes_per_cycle > 0) t.line_cycles[i] = t.line_bytes / behind->bytes_per_cycle;
            if (behind == nullptr && m.memory.core_bytes_per_second > 0 && m.clock_hz > 0)
                t.line_cycles[i] = t.line_bytes * m.clock_hz / m.memory.core_bytes_per_second;
        }
        return t;
    }
};

namespace detail {

/// Operations of one run of a body.
struct nest_operations {
    double adds = 0;    ///< of floats, with subtractions, minima, maxima and the step of the reduction
    double muls = 0;    ///< of floats
    double special = 0; ///< divisions, exponentials, tanh, erf, roots
    double reads = 0;
    double selects = 0;
    double index_divs = 0; ///< quotients and remainders of indices

    /// A special one is taken for four.
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

/// What is known of one stage before it is written as numbers.
struct nest_stage {
    static constexpr std::size_t inner_loops = 6, shown = 3, caches = 3;

    struct tensor {
        bool there = false;
        std::array<double, 2> stride{}; ///< elements; of the innermost and second innermost loop
        double lines = 0;               ///< that the whole nest touches
        double inner_lines = 0;         ///< that the four innermost loops touch
    };
    struct cache {
        double bytes = 0;   ///< of lines that come from behind it
        double fitting = 0; ///< innermost loops whose lines fit into it together
        double rounds = 1;  ///< of those fitting loops
    };

    double iterations = 1; ///< runs of the body
    double around = 1;     ///< runs of the whole stage: iterations of the loops of other stages around
    double points = 1;     ///< of the operation: elements times reduction
    double parallel = 1;   ///< product of the parallel extents
    double vector = 1;     ///< product of the vector extents
    bool vector_innermost = false;
    double unroll_limit = -1; ///< of the pragma, iterations; -1: none
    double unrolled = 1;      ///< iterations of the innermost own loops that stay within it
    double inner_space = 1;   ///< iterations of the space loops inside the innermost reduce loop: a register tile
    double inner_reduce = 1;  ///< iterations of the reduce loops right around them
    std::size_t loops = 0, loops_around = 0;
    double guards = 0; ///< conditions of splits that overshoot
    bool at_root = true;
    nest_operations each;
    std::array<nest_loop, inner_loops> inner;     ///< from the inside
    std::array<double, inner_loops> line_bytes{}; ///< lines that the 1, 2, ... innermost loops touch, all tensors, in bytes
    std::array<tensor, shown> tensors;            ///< the write, then the reads with most elements
    std::array<cache, caches> behind;
    double core_load = 0; ///< mean busy share of the cores while the parallel parts run in rounds of one a core

    // Cycles with no overlap at all: of one operation a lane and cycle, and of lines from behind each cache, on the cores that are busy.
    double compute_cycles = 0;
    std::array<double, caches> memory_cycles{};

    /// One run of a body that only moves data counts as one operation.
    [[nodiscard]] double work() const noexcept { return iterations * (std::max)(each.flops(), 1.0); }
};

/// Sums over all stages.
struct nest_totals {
    double stages = 0, roots = 0, parallel_stages = 0, steps = 0;
    double iterations = 0, work = 0, scalar_work = 0, serial_work = 0;
    double least_work = 0; ///< as `work` if every stage ran its points once
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
        least_work += s.points * (std::max)(s.each.flops(), 1.0);
        compute_cycles += s.compute_cycles;
        for (std::size_t c = 0; c < memory_cycles.size(); ++c) memory_cycles[c] += s.memory_cycles[c];
        if (s.parallel <= 1) return;
        least_parallel = parallel_stages == 0 ? s.parallel : (std::min)(least_parallel, s.parallel);
        most_parallel = (std::max)(most_parallel, s.parallel);
        ++parallel_stages;
    }
};

inline double log2_1p(double x) { return std::log2(1 + (std::max)(x, 0.0)); }

/// The numbers of a stage in their order: the one place that knows it. `put(name, x)` gives x, `put.log(name, x)` log2(1 + x); of a list the place in
/// it comes between.
template <class Put>
void put_stage(Put& put, const nest_stage& s, const nest_target& on) {
    put("there", 1); // 0, as all others of the group: the kernel has fewer stages
    put.log("operations", s.work());
    put.log("repeats",
            s.iterations / s.points); // runs of the body a point: over 1 where boxes overlap or splits overshoot, under 1 where not all is read
    put.log("parallel", s.parallel);  // parts
    put("core_load", s.core_load);    // 0 to 1
    put.log("vector", s.vector);      // iterations
    put("vector_innermost", s.vector_innermost ? 1 : 0);
    put("vector_fill", s.vector <= 1 ? 0 : s.vector / (std::ceil(s.vector / on.vector_lanes) * on.vector_lanes)); // of the lanes, 0 to 1
    put("log_unroll_limit", s.unroll_limit < 0 ? -1 : log2_1p(s.unroll_limit));                                   // iterations; -1: no pragma
    put.log("unrolled", s.unrolled);                                                                              // iterations
    put.log("inner_space", s.inner_space);                                                                        // iterations
    put.log("inner_reduce", s.inner_reduce);                                                                      // iterations
    put.log("register_tile", s.inner_space); // elements: inner_space once more, so that trained models keep their places
    put.log("around", s.around);             // iterations
    put("loops_around", static_cast<double>(s.loops_around));
    put("loops", static_cast<double>(s.loops)); // those around included
    put("adds", s.each.adds);                   // operations of one run of the body, here and below
    put("muls", s.each.muls);
    put("special", s.each.special);
    put("reads", s.each.reads);
    put("selects", s.each.selects);
    put("index_divs", s.each.index_divs);
    put.log("guards", s.guards);
    put("at_root", s.at_root ? 1 : 0);
    for (std::size_t q = 0; q < s.inner.size(); ++q) { // from the inside; 0, -1, -1 where there is no loop
        const bool there = q < s.loops;
        put.log("loop_extent", q, there ? s.inner[q].extent : 0);
        put("loop_reduces", q, !there ? -1 : s.inner[q].reduce ? 1 : 0);
        put("loop_annotation", q, there ? static_cast<double>(s.inner[q].annotation) : -1); // as a log's AN step numbers it
    }
    for (std::size_t q = 0; q < s.tensors.size(); ++q) { // the write, then the two reads of most elements; -1 where there is none
        const auto& a = s.tensors[q];
        put("log_stride_innermost", q, a.there ? log2_1p(a.stride[0]) : -1); // elements
        put("log_stride_second", q, a.there ? log2_1p(a.stride[1]) : -1);    // elements
        put("log_lines", q, a.there ? log2_1p(a.lines) : -1);                // of the whole nest
        put("log_inner_lines", q, a.there ? log2_1p(a.inner_lines) : -1);    // of the four innermost loops
    }
    for (std::size_t c = 0; c < s.behind.size(); ++c) {
        put.log("flops_a_line", c, s.iterations * s.each.flops() / s.behind[c].bytes * on.line_bytes); // that comes from behind the cache
        put.log("fitting_loops", c, s.behind[c].fitting);
        put.log("fitting_rounds", c, s.behind[c].rounds); // runs of all that fits
    }
    for (std::size_t q = 0; q < s.line_bytes.size(); ++q)
        put.log("inner_bytes", q, s.line_bytes[q]); // of lines that q + 1 loops touch; 0: fewer loops
    const double near = s.memory_cycles[0] + s.memory_cycles[1];
    put.log("compute_cycles", s.compute_cycles);
    put.log("cache_cycles", near); // of lines from behind the first and second level
    put.log("cycles", s.compute_cycles + near + s.memory_cycles[2]);
}

/// The totals, likewise. Cycles are given by operation that must be done: log2((1 + cycles) / least_work).
template <class Put>
void put_totals(Put& put, const nest_totals& t) {
    const double least = (std::max)(t.least_work, 1.0);
    const double all = t.work > 0 ? t.work : 1;
    put("stages", t.stages); // that are not inlined
    put("roots", t.roots);   // of them not inside another
    put.log("operations", t.work);
    put("log_compute_cycles", std::log2((1 + t.compute_cycles) / least));
    for (std::size_t c = 0; c < t.memory_cycles.size(); ++c) put("log_memory_cycles", c, std::log2((1 + t.memory_cycles[c]) / least));
    put("log_cycles", std::log2((1 + t.compute_cycles + t.memory_cycles[0] + t.memory_cycles[1] + t.memory_cycles[2]) / least));
    put("scalar_share", t.scalar_work / all); // of operations in stages without vectors
    put("serial_share", t.serial_work / all); // of operations in stages without parallel loops
    put("log_repeats", std::log2(all / least));
    put("parallel_stages", t.parallel_stages);
    put.log("least_parallel", t.least_parallel); // parts, of stages with parallel loops
    put.log("most_parallel", t.most_parallel);
    put("steps", t.steps); // of the schedule
    put.log("iterations", t.iterations);
}

/// Takes the numbers. A ratio of two products beyond the range of double, the only way to none, is 0.
struct nest_number_sink {
    std::span<float> out;
    std::size_t at = 0;

    void operator()(std::string_view, double x) { out[at++] = x - x == 0 ? static_cast<float>(x) : 0.0F; }
    void operator()(std::string_view name, std::size_t, double x) { (*this)(name, x); }
    void log(std::string_view name, double x) { (*this)(name, log2_1p((std::min)(x, 1e300))); }
    void log(std::string_view name, std::size_t, double x) { log(name, x); }
};

/// Takes the names.
struct nest_name_sink {
    std::vector<std::string> out;
    std::string prefix;

    void operator()(std::string_view name, double) { out.push_back(prefix + std::string(name)); }
    void operator()(std::string_view name, std::size_t i, double) { out.push_back(prefix + std::string(name) + "." + std::to_string(i)); }
    void log(std::string_view name, double) { (*this)("log_" + std::string(name), 0); }
    void log(std::string_view name, std::size_t i, double) { (*this)("log_" + std::string(name), i, 0); }
};

} // namespace detail

/// Stages that have a group of their own, those of most operations first.
inline constexpr std::size_t nest_feature_stages = 3;
inline constexpr std::size_t nest_stage_feature_count = 72;
inline constexpr std::size_t nest_feature_count = nest_feature_stages * nest_stage_feature_count + 16;

/// What each number is, in order: `stage0.log_operations`, ..., `total.log_iterations`. A name with log_ is of log2(1 + x), in the totals' cycles and
/// repeats of log2(x). What x is, and its unit, stands in `put_stage` and `put_totals`.
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

/// Takes the features of loop nests. Keeps its memory, so that after some states only bound inference and indices allocate.
///
/// Cost     linear in stages times reads times loops
/// Threads  one each
class nest_extractor {
public:
    explicit nest_extractor(const nest_target& on = {}) : on_(on) {
        bool fine = on.cores > 0 && on.vector_lanes > 0 && on.line_bytes >= 4;
        for (const auto b : on.cache_bytes) fine = fine && b > 0;
        for (const auto c : on.line_cycles) fine = fine && c > 0;
        AUGUR_ASSERT(fine, "nest_extractor: a target's numbers are above 0");
        static_cast<void>(fine);
    }

    [[nodiscard]] const nest_target& target() const noexcept { return on_; }

    /// Bounds the state and writes its features; all are finite.   pre: out has nest_feature_count places
    /// Errors: those of `bound`; `out` is then as it was.
    result<void> extract(const loop_state& s, std::span<float> out) {
        auto b = bound(s);
        if (!b) return b.error();
        extract(s, *b, out);
        return {};
    }

    /// The same of a state that is bounded already. Its table of terms may get quotients and remainders of reads.   pre: b = bound(s)
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
            while (at > 0 && most_[at - 1].work() < st.work()) --at; // of equals the first stays in front
            if (at == most_.size()) continue;
            kept = (std::min)(kept + 1, most_.size());
            std::move_backward(most_.begin() + at, most_.begin() + kept - 1, most_.begin() + kept);
            most_[at] = st;
        }
        std::fill(out.begin(), out.end(), 0.0F);
        detail::nest_number_sink put{out};
        for (std::size_t k = 0; k < kept; ++k) detail::put_stage(put, most_[k], on_);
        put.at = nest_feature_stages * nest_stage_feature_count;
        detail::put_totals(put, totals);
        AUGUR_ASSERT(put.at == out.size(), "nest_extractor: the numbers are nest_feature_count");
    }

private:
    nest_target on_;
    std::vector<detail::nest_loop> by_term_; ///< the loops of all stages
    std::vector<detail::nest_loop> loops_;   ///< of one stage, outermost first
    std::vector<double> rounds_;             ///< [d]: how often its loops from depth d run
    std::vector<double> line_bytes_;         ///< [d]: of lines that they touch, all tensors
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
        out.at_root = s.stages()[i].where == stage::place::root;
        out.unroll_limit = static_cast<double>(s.stages()[i].auto_unroll_max_step);
        const auto& op = s.dag().ops[i];
        for (std::size_t a = 0; a < op.axis_count(); ++a) out.points *= static_cast<double>(op.axis(a).extent);
        nest(out);
        access(s.dag(), b, i, out);
        memory(out);
        time(out);
        return out;
    }

    /// What the loops alone say.
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
        out.around = rounds_[out.loops_around];
        out.vector_innermost = n > 0 && loops_[n - 1].annotation == loop_annotation::vectorize;
        for (std::size_t q = 0; q < (std::min)(n, out.inner.size()); ++q) out.inner[q] = loops_[n - 1 - q];
        std::size_t k = n;
        for (; k > 0 && !loops_[k - 1].reduce; --k) out.inner_space *= loops_[k - 1].extent;
        for (; k > 0 && loops_[k - 1].reduce; --k) out.inner_reduce *= loops_[k - 1].extent;
        const double limit = (std::max)(out.unroll_limit, 1.0);
        for (k = n; k > out.loops_around && out.unrolled * loops_[k - 1].extent <= limit; --k) out.unrolled *= loops_[k - 1].extent;
    }

    /// The operations of the body, the footprint of its write (access 0) and of its reads in their order.
    void access(const compute_dag& dag, bounded_state& b, std::size_t i, detail::nest_stage& out) {
        const auto& axes = b.stages[i].axes;
        const auto n = loops_.size();
        touched_.begin(loops_, by_term_.size(), on_.line_bytes / 4);
        const auto extent = [](const operation& op, std::size_t a) { return static_cast<double>(op.axes[a].extent); };
        touched_.open();
        for (std::size_t a = dag.ops[i].axes.size(); a-- > 0;) touched_.dimension(b.terms, &axes[a], extent(dag.ops[i], a));
        touched_.close();
        walk(b.bodies[i], [&](const expr_node& x) {
            out.each.count(x);
            if (x.op != expr_op::read) return;
            const auto& from = dag.ops[dag.index_of(static_cast<int>(x.integer))];
            touched_.open();
            for (std::size_t a = x.operands.size(); a-- > 0;) {
                const auto& e = x.operands[a];
                if (e->op == expr_op::axis) { // the common case, without a copy
                    touched_.dimension(b.terms, &axes[static_cast<std::size_t>(e->integer)], extent(from, a));
                    continue;
                }
                const auto index = detail::to_affine(e, axes, b.terms);
                touched_.dimension(b.terms, index ? &*index : nullptr, extent(from, a));
            }
            touched_.close();
        });
        if (dag.ops[i].combine != reducer::none) ++out.each.adds;

        // the write, then the two reads of most elements, of equals the first
        std::array<std::size_t, 3> shown{0, 0, 0};
        for (std::size_t a = 1; a < touched_.accesses(); ++a) {
            const auto more = [&](std::size_t than) { return than == 0 || touched_.elements(a, 0) > touched_.elements(than, 0); };
            if (more(shown[1])) {
                shown[2] = shown[1];
                shown[1] = a;
            } else if (more(shown[2])) shown[2] = a;
        }
        for (std::size_t q = 0; q < shown.size(); ++q) {
            auto& t = out.tensors[q];
            t.there = q == 0 || shown[q] != 0;
            for (std::size_t j = 0; j < (std::min)(n, t.stride.size()); ++j) t.stride[j] = touched_.stride(shown[q], j);
            t.lines = touched_.lines(shown[q], 0);
            t.inner_lines = touched_.lines(shown[q], n >= 4 ? n - 4 : 0);
        }
    }

    /// What fits into each cache, and what comes from behind it: the lines of the loops that fit, once a round of theirs, but for the rounds of the
    /// loops right outside with which a tensor does not move.
    void memory(detail::nest_stage& out) {
        const auto n = loops_.size();
        const auto accesses = touched_.accesses();
        line_bytes_.assign(n + 1, 0);
        for (std::size_t a = 0; a < accesses; ++a)
            for (std::size_t d = 0; d <= n; ++d) line_bytes_[d] += touched_.lines(a, d) * on_.line_bytes;
        for (std::size_t q = 0; q < (std::min)(n, out.line_bytes.size()); ++q) out.line_bytes[q] = line_bytes_[n - 1 - q];
        for (std::size_t c = 0; c < out.behind.size(); ++c) {
            std::size_t d = n;
            while (d > 0 && line_bytes_[d - 1] <= on_.cache_bytes[c]) --d;
            out.behind[c] = {0, static_cast<double>(n - d), rounds_[d]};
            for (std::size_t a = 0; a < accesses; ++a) {
                std::size_t q = d;
                while (q > 0 && !touched_.varies(a, q - 1)) --q;
                out.behind[c].bytes += rounds_[q] * touched_.lines(a, d) * on_.line_bytes;
            }
        }
    }

    void time(detail::nest_stage& out) const {
        out.core_load = out.parallel / (std::ceil(out.parallel / on_.cores) * on_.cores);
        const double busy = (std::max)(1.0, on_.cores * out.core_load);
        const double lanes = out.vector_innermost ? (std::min)(out.vector, on_.vector_lanes) : 1;
        out.compute_cycles = out.work() / lanes / busy;
        for (std::size_t c = 0; c < out.behind.size(); ++c) out.memory_cycles[c] = out.behind[c].bytes / on_.line_bytes * on_.line_cycles[c] / busy;
    }
};

} // namespace augur::inline v0::loopnest

#endif
