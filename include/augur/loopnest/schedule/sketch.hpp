// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_SKETCH_HPP
#define AUGUR_LOOPNEST_SCHEDULE_SKETCH_HPP

/// @file
/// Sketch generation: the loop structures that a schedule of a kernel may have, with tile sizes left open.
///
/// The rules and their order are those of Ansor for CPUs (src/auto_scheduler/search_policy/sketch_policy_rules.cc). From the last stage to the
/// first, each stage is inlined, factored (rfactor), cached, tiled (SSRSRS, alone or fused into its consumer) or left unchanged; each combination
/// of choices is a sketch. Three options add rules that Ansor does not have for CPUs: `tile_plain_reductions`, `copy_operands` and `block_rows`;
/// `ansor_space` sets them all unless `ansor_options::faithful` is set.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/inserted_stage.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/schedule/access_analysis.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// Options of sketch generation.
struct sketch_options {
    std::int64_t num_cores = 1; ///< cores of the target; a reduction is factored if its space loops have too few iterations for them
    std::size_t most = 4096;    ///< largest number of sketches; more are an error (the number is exponential in the number of reductions)
    /// Adds a tiling SRS for plain reductions that read along the innermost space axis, such as pooling. Space loops are then innermost: they can be
    /// vectorised, and neighbouring windows share their reads. Ansor leaves this to LLVM.
    bool tile_plain_reductions = false;
    /// Adds, for each tiling of a product that reads an input along the reduction, a sketch that copies the part of that input which a block of
    /// outer tiles needs, in the order of the tiles (CHR), e.g. K of an attention product Q K^T. Ansor has this rule for GPUs only.
    bool copy_operands = false;
    /// Adds, for an output that reads reductions of its own rows, such as softmax, a split of its rows into blocks, so that stages can be computed for one
    /// block: while one row is folded to a number, the processor works at another.
    bool block_rows = false;
};

/// A loop structure of a kernel.
struct sketch {
    step_list steps;                                 ///< split lengths that are still open are 0
    loop_state state;                                ///< after `steps`; splits for an rfactor have length 1, since open ones cannot be factored
    std::shared_ptr<const access_analysis> accesses; ///< of `state.dag()`
    /// False for a structure that another sketch makes needless: a factored reduction whose space loops occupy all cores, or a product that gathers an
    /// operand which another sketch copies.
    bool likely = true;
};

namespace detail {

[[nodiscard]] inline bool has_reduce_loop(const stage& s) {
    return std::any_of(s.iters.begin(), s.iters.end(), [&](const loop_iter& i) { return s.vars[i.var].reduce; });
}

/// True if the loops of the stage differ in number from the axes of its operation.
[[nodiscard]] inline bool is_tiled(const loop_state& s, std::size_t stage_index) {
    return s.stages()[stage_index].iters.size() != s.dag().ops[stage_index].axis_count();
}

/// Applies the sketch rules. One object generates the sketches of one kernel.
class sketch_generator {
public:
    sketch_generator(std::shared_ptr<const compute_dag> dag, const sketch_options& options) : options_(options) {
        auto accesses = std::make_shared<const access_analysis>(*dag);
        const auto stages = static_cast<std::ptrdiff_t>(dag->ops.size());
        current_.push_back({loop_state(std::move(dag)), std::move(accesses), stages - 1});
    }

    [[nodiscard]] result<std::vector<sketch>> run() {
        std::vector<sketch> out;
        while (!current_.empty() && failure_.detail.empty()) {
            next_.clear();
            for (const auto& p : current_) {
                if (p.at < 0) out.push_back({open_rfactor_splits(p.state.steps()), p.state, p.accesses, p.likely});
                else visit(p);
                if (out.size() + next_.size() > options_.most) return error{errc::limit, "more than " + std::to_string(options_.most) + " sketches"};
            }
            std::swap(current_, next_);
        }
        if (!failure_.detail.empty()) return failure_;
        return out;
    }

private:
    /// A partial sketch: the stages after index `at` are decided.
    struct partial {
        loop_state state;
        std::shared_ptr<const access_analysis> accesses;
        std::ptrdiff_t at;
        bool likely = true;
    };

    sketch_options options_;
    std::vector<partial> current_;
    std::vector<partial> next_;
    error failure_; ///< the error of the first refused step: a defect of a rule

    static std::int64_t number(std::size_t i) { return static_cast<std::int64_t>(i); }

    void apply(partial& p, const transform_step& step) {
        if (auto done = p.state.apply(step); !done && failure_.detail.empty()) failure_ = done.error();
    }
    /// As `apply`, for steps that change the DAG.
    void insert(partial& p, const transform_step& step) {
        apply(p, step);
        p.accesses = std::make_shared<const access_analysis>(p.state.dag());
    }
    void keep(partial p, std::ptrdiff_t at) {
        p.at = at;
        next_.push_back(std::move(p));
    }

    void visit(const partial& p) {
        const auto at = static_cast<std::size_t>(p.at);
        const auto& op = p.state.dag().ops[at];
        const auto& st = p.state.stages()[at];
        if (op.placeholder() || st.placement == stage::place::at) return keep(p, p.at - 1); // a copy of an operand has its place

        if (!p.accesses->output(at) && !has_reduce_loop(st) && (p.accesses->strictly_inlineable(at) || op.inline_always)) {
            partial q = p;
            apply(q, compute_inline_step{p.at});
            return keep(std::move(q), p.at - 1);
        }
        if (!op.constant_index.empty()) return keep(unroll_constant_index(p), p.at - 1);

        if (options_.block_rows && p.accesses->output(at) && p.accesses->row_axis(at) != access_analysis::npos) {
            partial q = p;
            const auto rows = number(p.accesses->row_axis(at));
            apply(q, split_step{p.at, rows, st.vars[st.iters[static_cast<std::size_t>(rows)].var].extent, {0}, true});
            keep(std::move(q), p.at - 1);
            return others(p, at, false);
        }
        others(p, at, p.likely);
    }

    /// The sketches of Ansor's rules for a stage that is not inlined.
    void others(partial p, std::size_t at, bool likely) {
        p.likely = likely;
        const auto& st = p.state.stages()[at];
        const bool tiled = p.accesses->needs_tiling(at);
        const bool cached = has_cache_write(p.state.steps(), at);
        const auto consumer = tiled ? fusion_consumer(p, at) : loop_state::npos;
        if (!cached && needs_rfactor(st, tiled)) {
            auto base = p;
            constexpr double short_rows = 64; // a fold costs more than so few additions, and the partial sums of a factored reduction need none
            const bool short_fold = iterations(st, true) < short_rows && !p.accesses->reads_along_rows(at);
            base.likely = p.likely && (few_space_iterations(st) || short_fold);
            keep(rfactor(base, false), p.at - 1);
            keep(rfactor(base, true), p.at - 1);
        }
        if (!tiled) {
            if (options_.tile_plain_reductions && has_reduce_loop(st) && p.accesses->reads_along_rows(at)) keep(tile_plain_reduction(p), p.at - 1);
            return keep(p, p.at - 1);
        }
        if (consumer == loop_state::npos) {
            partial q = p;
            insert(q, cache_write_step{p.at, "local"});
            keep(std::move(q), p.at); // the cache stage has the index of the old stage and is handled next
        } else {
            std::vector<std::int64_t> splits;
            partial base = p;
            tile(base, at, splits);
            for (const std::size_t level : {std::size_t{1}, std::size_t{2}}) {
                partial q = base;
                follow(q, consumer, splits, level);
                apply(q, compute_at_step{p.at, number(consumer), number(level * splits.size()) - 1});
                keep_tiled(std::move(q), at, consumer, splits.size());
            }
            if (cached) return;
        }
        partial q = p;
        std::vector<std::int64_t> splits;
        tile(q, at, splits);
        keep_tiled(std::move(q), at, at, splits.size());
    }

    /// Keeps a sketch whose stage `at` is tiled, and, if that reads an input along the reduction, the same sketch with a copy of that input. The copy
    /// is made inside the `outer` outermost tile loops, which are loops of stage `outer_stage`.
    void keep_tiled(partial p, std::size_t at, std::size_t outer_stage, std::size_t outer) {
        const auto operand = options_.copy_operands ? strided_operand(p.state.dag(), at) : read_operand{};
        if (operand.op != loop_state::npos) {
            constexpr double enough_uses = 8; // the copy costs a store and a load for each element
            partial q = p;
            insert(q, cache_read_step{number(operand.op), "local", {number(at)}});
            apply(q, compute_at_step{number(operand.op) + 1, number(outer_stage) + 1, number(outer) - 1});
            (operand.uses < enough_uses ? q : p).likely = false;
            keep(std::move(p), number(at) - 1);
            return keep(std::move(q), number(at));
        }
        keep(std::move(p), number(at) - 1);
    }

    /// An operand of a product.
    struct read_operand {
        std::size_t op = loop_state::npos;
        double uses = 1; ///< number of results that read an element
    };

    /// The input of the product `at` that is not constant and whose last index is a reduce axis, while its other indices contain the innermost space
    /// axis: its elements for neighbouring results are not adjacent. `op` is npos if there is none.
    static read_operand strided_operand(const compute_dag& dag, std::size_t at) {
        const auto& op = dag.ops[at];
        const auto innermost = number(op.axes.size()) - 1;
        read_operand found;
        walk(op.body, [&](const expr_node& n) {
            if (n.op != expr_op::read || n.operands.size() < 2) return;
            const auto plain = [](const expr& e) { return e->op == expr_op::axis; };
            const auto has = [&](std::int64_t axis) {
                return std::any_of(n.operands.begin(), n.operands.end(), [&](const expr& e) { return e->integer == axis; });
            };
            if (!std::all_of(n.operands.begin(), n.operands.end(), plain) || n.operands.back()->integer <= innermost || !has(innermost)) return;
            const auto source = dag.index_of(static_cast<int>(n.integer));
            if (!dag.ops[source].placeholder() || dag.ops[source].constant) return;
            found = {source, 1};
            for (std::int64_t a = 0; a < innermost; ++a)
                if (!has(a)) found.uses *= static_cast<double>(op.axes[static_cast<std::size_t>(a)].extent);
        });
        return found;
    }

    /// The iterations of the space loops or of the reduce loops of `s`.
    static double iterations(const stage& s, bool reduce) {
        double n = 1;
        for (const auto& iter : s.iters)
            if (s.vars[iter.var].reduce == reduce) n *= static_cast<double>(s.vars[iter.var].extent);
        return n;
    }

    [[nodiscard]] bool few_space_iterations(const stage& s) const { return iterations(s, false) <= static_cast<double>(options_.num_cores) * 16; }

    [[nodiscard]] bool needs_rfactor(const stage& s, bool tiled) const {
        const auto reduce = iterations(s, true);
        if (tiled) return has_reduce_loop(s) && iterations(s, false) <= reduce && few_space_iterations(s);
        return reduce > 1 && reduce > static_cast<double>(options_.num_cores);
    }

    static bool has_cache_write(const std::vector<transform_step>& steps, std::size_t stage_index) {
        const auto* step = step_that_inserted(steps, stage_index);
        return step != nullptr && std::holds_alternative<cache_write_step>(*step);
    }

    /// The stage whose tiles can contain this one: its only reader, matched element by element. A reader that reduces or has tiles of its own is
    /// no candidate; Ansor would stop at such a reader.
    static std::size_t fusion_consumer(const partial& p, std::size_t at) {
        const auto consumers = p.accesses->consumers(p.state.stages(), at);
        if (consumers.size() != 1 || !p.accesses->matches_elementwise(at, consumers[0])) return loop_state::npos;
        const auto& reader = p.state.stages()[consumers[0]];
        if (has_reduce_loop(reader) || is_tiled(p.state, consumers[0])) return loop_state::npos;
        return consumers[0];
    }

    /// SSRSRS: splits each space loop into four and each reduce loop into two. `space_splits` receives the step numbers of the space-loop splits.
    void tile(partial& p, std::size_t at, std::vector<std::int64_t>& space_splits) {
        const auto st = p.state.stages()[at]; // copy: the state changes below
        std::vector<std::vector<std::int64_t>> space(4);
        std::vector<std::vector<std::int64_t>> reduce(2);
        std::int64_t loop = 0;
        for (const auto& iter : st.iters) {
            auto& levels = st.vars[iter.var].reduce ? reduce : space;
            if (&levels == &space) space_splits.push_back(number(p.state.steps().size()));
            apply(p, split_step{number(at), loop, st.vars[iter.var].extent, std::vector<std::int64_t>(levels.size() - 1, 0), true});
            for (auto& level : levels) level.push_back(loop++);
        }
        std::vector<std::int64_t> order;
        for (const auto* level : {&space[0], &space[1], &reduce[0], &space[2], &reduce[1], &space[3]})
            order.insert(order.end(), level->begin(), level->end());
        apply(p, reorder_step{number(at), std::move(order)});
    }

    /// Splits the loops of stage `at` like the steps `splits`, each into level+1 parts, outer parts first.
    void follow(partial& p, std::size_t at, const std::vector<std::int64_t>& splits, std::size_t level) {
        std::vector<std::int64_t> order(splits.size() * (level + 1));
        std::int64_t loop = 0;
        for (std::size_t k = 0; k < splits.size(); ++k) {
            apply(p, follow_split_step{number(at), loop, splits[k], number(level)});
            for (std::size_t l = 0; l <= level; ++l) order[l * splits.size() + k] = loop++;
        }
        apply(p, reorder_step{number(at), std::move(order)});
    }

    /// Factors the reduction into two stages: all reduce loops are fused and split. Either the outer part becomes a space axis, or the inner part
    /// does and moves innermost for vectorisation.
    partial rfactor(partial p, bool inner) {
        const auto at = static_cast<std::size_t>(p.at);
        const auto st = p.state.stages()[at];
        std::int64_t space = 0;
        std::vector<std::int64_t> reduce;
        for (std::size_t i = 0; i < st.iters.size(); ++i) {
            if (st.var_of(i).reduce) reduce.push_back(number(i));
            else ++space;
        }
        if (reduce.size() > 1) apply(p, fuse_step{p.at, reduce});
        const auto extent = p.state.stages()[at].var_of(static_cast<std::size_t>(reduce[0])).extent;
        apply(p, split_step{p.at, reduce[0], extent, {1}, true});
        insert(p, rfactor_step{p.at, reduce[0] + (inner ? 1 : 0), space});
        if (inner) {
            std::vector<std::int64_t> order;
            for (std::size_t i = 0; i < p.state.stages()[at].iters.size(); ++i)
                if (number(i) != space) order.push_back(number(i));
            order.push_back(space);
            apply(p, reorder_step{p.at, std::move(order)});
        }
        return p;
    }

    /// SRS: splits each space loop into two, with the reduction between the halves. The tiles are computed inside those of an element-wise reader, such
    /// as the division of an average.
    partial tile_plain_reduction(partial p) {
        const auto st = p.state.stages()[static_cast<std::size_t>(p.at)];
        std::vector<std::int64_t> splits;
        std::vector<std::int64_t> outer;
        std::vector<std::int64_t> reduce;
        std::vector<std::int64_t> inner;
        std::int64_t loop = 0;
        for (const auto& iter : st.iters) {
            const auto& v = st.vars[iter.var];
            if (v.reduce) {
                reduce.push_back(loop++);
                continue;
            }
            splits.push_back(number(p.state.steps().size()));
            apply(p, split_step{p.at, loop, v.extent, {0}, true});
            outer.push_back(loop++);
            inner.push_back(loop++);
        }
        outer.insert(outer.end(), reduce.begin(), reduce.end());
        outer.insert(outer.end(), inner.begin(), inner.end());
        apply(p, reorder_step{p.at, std::move(outer)});
        if (const auto consumer = fusion_consumer(p, static_cast<std::size_t>(p.at)); consumer != loop_state::npos) {
            follow(p, consumer, splits, 1);
            apply(p, compute_at_step{p.at, number(consumer), number(splits.size()) - 1});
        }
        return p;
    }

    /// Moves loops that index constant tensors innermost and unrolls them; splits the other loops into two.
    partial unroll_constant_index(partial p) {
        const auto at = static_cast<std::size_t>(p.at);
        const auto st = p.state.stages()[at];
        const auto& names = p.state.dag().ops[at].constant_index;
        std::vector<std::int64_t> outer;
        std::vector<std::int64_t> inner;
        std::vector<std::int64_t> unrolled;
        std::int64_t loop = 0;
        for (std::size_t i = 0; i < st.iters.size(); ++i) {
            const auto& v = st.var_of(i);
            if (v.reduce || std::find(names.begin(), names.end(), v.name) != names.end()) {
                apply(p, annotate_step{p.at, loop, loop_annotation::unroll});
                unrolled.push_back(loop++);
            } else {
                apply(p, split_step{p.at, loop, v.extent, {0}, true});
                outer.push_back(loop++);
                inner.push_back(loop++);
            }
        }
        outer.insert(outer.end(), inner.begin(), inner.end());
        outer.insert(outer.end(), unrolled.begin(), unrolled.end());
        apply(p, reorder_step{p.at, std::move(outer)});
        return p;
    }

    static step_list open_rfactor_splits(std::vector<transform_step> steps) {
        for (std::size_t i = 1; i < steps.size(); ++i)
            if (std::holds_alternative<rfactor_step>(steps[i])) std::get_if<split_step>(&steps[i - 1])->lengths = {0};
        return {std::move(steps)};
    }
};

} // namespace detail

/// All sketches of a kernel, in Ansor's order.
///
/// Errors: shape_mismatch from `dag->check()`, invalid_argument, limit.   pre: dag is not null
[[nodiscard]] inline result<std::vector<sketch>> generate_sketches(std::shared_ptr<const compute_dag> dag, const sketch_options& options) {
    AUGUR_ASSERT(dag != nullptr, "generate_sketches: no DAG");
    if (options.num_cores < 1) return error{errc::invalid_argument, "number of cores: expected at least 1, got " + std::to_string(options.num_cores)};
    if (auto sound = dag->check(); !sound) return sound.error();
    return detail::sketch_generator(std::move(dag), options).run();
}

} // namespace augur::inline v0::loopnest

#endif
