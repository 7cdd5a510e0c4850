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
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/loopnest/detail/nest_feature_columns.hpp>
#include <augur/loopnest/detail/nest_footprints.hpp>
#include <augur/loopnest/detail/nest_stage.hpp>
#include <augur/loopnest/features/nest_target.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/schedule/state.hpp>

namespace augur::inline v0::loopnest {

/// Number of stages with their own feature group: those with most operations.
inline constexpr std::size_t nest_feature_stages = 3;
inline constexpr std::size_t nest_stage_feature_count = 72;
inline constexpr std::size_t nest_feature_count = nest_feature_stages * nest_stage_feature_count + 16;

/// The name of each feature, in order: `stage0.log_operations`, ..., `total.log_iterations`. A name with `log_` is log2(1 + x), for cycles and
/// repeats of the totals log2(x). `detail/nest_feature_columns.hpp` defines x and its unit.
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

        const auto shown = shown_accesses();
        for (std::size_t q = 0; q < shown.size(); ++q) {
            auto& t = out.tensors[q];
            t.present = q == 0 || shown[q] != 0;
            for (std::size_t j = 0; j < (std::min)(n, t.stride.size()); ++j) t.stride[j] = touched_.stride(shown[q], j);
            t.lines = touched_.lines(shown[q], 0);
            t.inner_lines = touched_.lines(shown[q], n >= 4 ? n - 4 : 0);
        }
    }

    /// The write (access 0), then the two reads with most elements, the first of equals; 0 for a read that is missing.
    [[nodiscard]] std::array<std::size_t, 3> shown_accesses() const {
        std::array<std::size_t, 3> shown{0, 0, 0};
        for (std::size_t a = 1; a < touched_.accesses(); ++a) {
            const auto more = [&](std::size_t other) { return other == 0 || touched_.elements(a, 0) > touched_.elements(other, 0); };
            if (more(shown[1])) {
                shown[2] = shown[1];
                shown[1] = a;
            } else if (more(shown[2])) shown[2] = a;
        }
        return shown;
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
