// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_FEATURES_SCHEDULE_NEST_HPP
#define AUGUR_LOOPNEST_FEATURES_SCHEDULE_NEST_HPP

/// @file
/// The loops of a schedule as a `loop_nest`, with names that mean the same in all kernels; and AutoTVM's features of these loops, for super-graphs
/// (MetaTune, section 3.2).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/inserted_stage.hpp>
#include <augur/loopnest/detail/lowered_statement.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/workload/iterator_features.hpp>
#include <augur/workload/loop_nest.hpp>

namespace augur::inline v0::loopnest {

/// A schedule that has been lowered, as the loops that its steps made, without the register tiles of the C writer (`crop_nest` has them). Models
/// `loop_nest`. A reduction is one nest, which loads and stores its result; the store of the neutral value before it, the guards of loops that do not
/// divide, and packing, which runs once, are left out. Loops of one iteration are kept, so the loops depend on the structure of the schedule, not on
/// the lengths of its splits.
///
/// Names. A loop is `STAGE.AXES` and its level, which counts the loops of its first axis in the stage. The stage is `reduce` for a reduction, `output`
/// for the result, `after` for what reads a reduction, `before` for all else, with its number among those of the kernel. Axes are counted from the
/// innermost, `s0`, `s1`, ... for space and `r0`, ... for reduction, so that `s0` is the contiguous one; a fused loop has all of its axes. A cache
/// read has the axes `copy` in the order of its layout. Buffers are `input`, `constant`, `output`, `packed`, `scratch` or `local`.
///
/// Holds pointers.   pre: `kernel` is lower(*state)
struct schedule_nest {
    const loop_state* state = nullptr;      ///< not null
    const lowered_kernel* kernel = nullptr; ///< not null

    template <class Sink>
    void visit(Sink& sink) const;
};

namespace detail {

/// "reduce0", "output0", "before0", ... for each operation; empty for placeholders.
inline std::vector<std::string> stage_names(const compute_dag& dag) {
    enum : std::size_t { is_before, is_reduce, is_after, is_output };
    constexpr std::array<std::string_view, 4> names{"before", "reduce", "after", "output"};
    std::vector<std::size_t> kind(dag.ops.size(), is_before);
    std::vector<bool> read(dag.ops.size(), false);
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        if (dag.ops[i].placeholder()) continue;
        walk(dag.ops[i].body, [&](const expr_node& n) {
            if (n.op != expr_op::read) return;
            const auto from = dag.index_of(static_cast<int>(n.integer));
            read[from] = true;
            if (kind[from] != is_before) kind[i] = is_after;
        });
        if (dag.ops[i].combine != reducer::none) kind[i] = is_reduce;
    }
    std::array<std::size_t, 4> count{};
    std::vector<std::string> out(dag.ops.size());
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        if (dag.ops[i].placeholder()) continue;
        if (!read[i] && kind[i] != is_reduce) kind[i] = is_output;
        out[i] = std::string(names[kind[i]]) + std::to_string(count[kind[i]]++);
    }
    return out;
}

inline nest_annotation to_nest_annotation(loop_annotation a) noexcept {
    switch (a) {
    case loop_annotation::unroll: return nest_annotation::unrolled;
    case loop_annotation::vectorize: return nest_annotation::vectorized;
    case loop_annotation::parallel: return nest_annotation::parallel;
    case loop_annotation::vthread: return nest_annotation::virtual_thread;
    case loop_annotation::block_x: return nest_annotation::block_x;
    case loop_annotation::block_y: return nest_annotation::block_y;
    case loop_annotation::block_z: return nest_annotation::block_z;
    case loop_annotation::thread_x: return nest_annotation::thread_x;
    case loop_annotation::thread_y: return nest_annotation::thread_y;
    case loop_annotation::thread_z: return nest_annotation::thread_z;
    default: return nest_annotation::serial;
    }
}

template <class Sink>
class schedule_visitor {
public:
    schedule_visitor(const loop_state& s, const lowered_kernel& k, Sink& sink) : state_(s), kernel_(k), sink_(sink), stages_(stage_names(s.dag())) {}

    void run() {
        for (const auto& b : kernel_.buffers) {
            constexpr std::array<std::string_view, 5> kinds{"input", "output", "packed", "scratch", "local"};
            name_next(sink_, b.constant ? "constant" : kinds[static_cast<std::size_t>(b.type)]);
            sink_.buffer((std::max)(std::int64_t{4}, 4 * b.elements));
        }
        for (const auto n : kernel_.roots) nest(kernel_.nests[n]);
    }

private:
    struct named_loop {
        std::string axis;
        std::uint32_t level = 0;
    };

    const loop_state& state_;
    const lowered_kernel& kernel_;
    Sink& sink_;
    std::vector<std::string> stages_;
    std::vector<int> open_; ///< terms of the enclosing loops

    void nest(const lowered_nest& n) {
        const auto names = names_of(n);
        const std::size_t rolled = first_unrolled(n);
        const auto outside = open_.size();
        for (std::size_t i = 0; i < n.loops.size(); ++i) {
            const auto& l = n.loops[i];
            name_next(sink_, names[i].axis, names[i].level);
            sink_.begin_loop(l.extent,
                             l.annotation == loop_annotation::none && i >= rolled ? nest_annotation::unrolled : to_nest_annotation(l.annotation));
            open_.push_back(l.term);
            for (const auto a : l.attached) nest(kernel_.nests[a]);
        }
        statement(n);
        for (; open_.size() > outside; open_.pop_back()) sink_.end_loop();
    }

    /// The first of the innermost loops that together run no longer than the pragma lets them be unrolled.
    [[nodiscard]] static std::size_t first_unrolled(const lowered_nest& n) {
        std::size_t first = n.loops.size();
        for (std::int64_t bodies = 1; first > 0; --first) {
            const auto& l = n.loops[first - 1];
            if (!l.attached.empty() || l.extent > n.auto_unroll_max_step / bodies) break;
            bodies *= l.extent;
        }
        return first;
    }

    void statement(const lowered_nest& n) {
        lowered_statement s(kernel_.terms, open_);
        const auto result = s.place(static_cast<std::uint32_t>(n.buffer), n.index);
        if (n.combine == reducer::none) {
            s.store(result, s.value(n.value));
        } else {
            const auto sum = s.load(result);
            s.store(result, s.combined(n.combine, sum, s.value(n.value)));
        }
        sink_.statement(s.take(1));
    }

    [[nodiscard]] std::vector<named_loop> names_of(const lowered_nest& n) const {
        std::vector<named_loop> out;
        const auto& s = state_.stages()[n.stage];
        const std::string& name = stages_[n.stage];
        if (s.placement == stage::place::at && is_cache_read(state_.steps(), n.stage)) {
            for (std::uint32_t i = 0; i < n.loops.size(); ++i) out.push_back({name + ".copy", i});
            return out;
        }
        const auto covered = axes_of_variables(n.stage);
        const auto& op = state_.dag().ops[n.stage];
        std::vector<std::uint32_t> loops(op.axis_count(), 0); // of each axis, so far
        for (const auto& i : s.iters) {
            const auto& axes = covered[i.var];
            named_loop& l = out.emplace_back(named_loop{name + ".", axes.empty() ? 0 : loops[axes.front()]});
            for (const auto a : axes) {
                const bool space = a < op.axes.size();
                l.axis += (space ? "s" : "r") + std::to_string((space ? op.axes.size() : op.axis_count()) - 1 - a);
                ++loops[a];
            }
        }
        return out;
    }

    /// The axes over which each variable of a stage runs, ascending.
    [[nodiscard]] std::vector<std::vector<std::size_t>> axes_of_variables(std::size_t index) const {
        const auto& s = state_.stages()[index];
        std::vector<std::vector<std::size_t>> out(s.vars.size());
        for (std::size_t a = 0; a < state_.dag().ops[index].axis_count(); ++a) out[a] = {a};
        for (const auto& r : s.relations)
            for (const auto part : r.parts) {
                if (r.type == loop_relation::kind::split) {
                    out[part] = out[r.parent];
                    continue;
                }
                auto& all = out[r.parent];
                std::vector<std::size_t> both;
                std::set_union(all.begin(), all.end(), out[part].begin(), out[part].end(), std::back_inserter(both));
                all = std::move(both);
            }
        return out;
    }
};

} // namespace detail

template <class Sink>
void schedule_nest::visit(Sink& sink) const {
    detail::schedule_visitor<Sink>(*state, *kernel, sink).run();
}

/// AutoTVM's features of the loops of a schedule, for a super-graph of all kernels.
///
/// No loop has a parent. A schedule moves stages into each other and fuses outer loops, so the loops around a loop do not tell it from others, its name
/// does; where it is, its features say.
/// Errors: those of applying and lowering the schedule, and of `iterator_features_of`
[[nodiscard]] inline result<iterator_features> schedule_features(const kernel_task& t, const step_list& schedule) {
    loop_state s(t.dag());
    if (auto applied = s.apply(schedule); !applied) return applied.error();
    const auto lowered = lower(s);
    if (!lowered) return lowered.error();
    auto features = iterator_features_of(schedule_nest{&s, &*lowered});
    if (!features) return features;
    for (loop_features& l : features->loops) l.parent = loop_features::no_parent;
    return features;
}

} // namespace augur::inline v0::loopnest

#endif
