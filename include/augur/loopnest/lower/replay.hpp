// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_LOWER_REPLAY_HPP
#define AUGUR_LOOPNEST_LOWER_REPLAY_HPP

/// @file
/// Applies the steps of another kernel's schedule to this kernel, split lengths unchanged: what TVM does when a record gets another workload key.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/ir/expr.hpp>
#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/schedule/stage.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// Why a list of steps does not apply to a kernel.
enum class replay_fault : std::uint8_t {
    stage,      ///< a step names a stage or loop that is not there, a placeholder, or an inlined stage
    fusion,     ///< FU of loops that are annotated, not neighbours, or have stages attached
    annotation, ///< AN of a loop that has an annotation
    order,      ///< RE of another number of loops
    placement,  ///< CA, CI, CR, CHR, CHW or RF that the stages do not allow
    bounds,     ///< all steps apply, but the bounds of the loops cannot be inferred, or are too large
    target,     ///< AN with the threads or blocks of a GPU, or with a tensor unit
    step,       ///< any other refusal: a split that is too large, a step that follows no split, a foreign step
};
inline constexpr std::array<std::string_view, 8> replay_fault_names{"stage",     "fusion", "annotation", "order",
                                                                    "placement", "bounds", "target",     "step"};
[[nodiscard]] constexpr std::string_view to_string(replay_fault f) noexcept { return replay_fault_names[static_cast<std::size_t>(f)]; }

/// What a kernel makes of the steps of a schedule.
struct replay_verdict {
    std::optional<replay_fault> fault;
    bool inexact = false;   ///< a split does not divide its loop: iterations beyond the extent are guarded
    bool oversized = false; ///< the lengths of a split are beyond the extent of its loop
    /// A split that does not divide is of a loop by which a constant is read. The layout of a constant follows the loops of its reader, so it is padded;
    /// TVM's check of packed weights refuses such a schedule, here it runs.
    bool padded_layout = false;
    /// Largest value, over all splits, of (extent of the loop rounded up to a multiple of the product of the lengths) / extent; 1: all lengths divide.
    /// A loop itself runs no longer than the extent, as in TVM; one that rfactor made an axis keeps its length.
    double padded_ratio = 1;
    friend bool operator==(const replay_verdict&, const replay_verdict&) = default;
};

/// What became of the steps.
struct replayed_steps : replay_verdict {
    error why;        ///< of the fault; its number of the step counts from 0
    loop_state state; ///< without a fault: all steps, and the bounds of all loops
    step_list steps;  ///< the steps with the extents that the split loops have here; 0: not known, of a stage that is computed in another one
};

namespace detail {

/// Does a step name a stage, and a loop of it, that can be scheduled?
inline bool names_a_loop(const loop_state& s, std::int64_t stage_index, std::int64_t iter) {
    const auto& stages = s.stages();
    if (stage_index < 0 || static_cast<std::size_t>(stage_index) >= stages.size()) return false;
    const auto at = static_cast<std::size_t>(stage_index);
    if (s.dag().ops[at].placeholder() || stages[at].placement == stage::place::inlined) return false;
    return iter >= 0 && static_cast<std::size_t>(iter) < stages[at].iters.size();
}

/// The stage and the loop that a step splits; nullopt: it splits none, or one that is not there.
inline std::optional<std::pair<std::size_t, std::size_t>> split_place(const loop_state& s, const transform_step& step) {
    return visit_step(step, [&](const auto& x) -> std::optional<std::pair<std::size_t, std::size_t>> {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, split_step> || std::is_same_v<T, follow_split_step> || std::is_same_v<T, follow_fused_split_step>)
            if (names_a_loop(s, x.stage, x.iter)) return std::pair(static_cast<std::size_t>(x.stage), static_cast<std::size_t>(x.iter));
        return std::nullopt;
    });
}

/// Is it an annotation that no CPU has?
inline bool is_of_accelerator(const transform_step& step) noexcept {
    const auto* annotate = std::get_if<annotate_step>(&step);
    return annotate != nullptr && annotate->annotation >= loop_annotation::vthread;
}

/// Does a loop variable of a stage run over an axis that indexes a constant?
/// Cost  linear in the body and in (variables) x (relations) of the stage
inline bool indexes_constant(const loop_state& s, std::size_t stage_index, std::size_t var) {
    const auto& op = s.dag().ops[stage_index];
    const auto& at = s.stages()[stage_index];
    std::vector<bool> reached(at.vars.size());
    std::vector<std::size_t> open{var};
    while (!open.empty()) {
        const auto v = open.back();
        open.pop_back();
        if (reached[v]) continue;
        reached[v] = true;
        for (const auto& r : at.relations) {
            const bool fuse = r.type == loop_relation::kind::fuse;
            if (fuse && r.parent == v) open.insert(open.end(), r.parts.begin(), r.parts.end());
            else if (!fuse && std::find(r.parts.begin(), r.parts.end(), v) != r.parts.end()) open.push_back(r.parent);
        }
    }
    bool found = false;
    walk(op.body, [&](const expr_node& n) {
        if (n.op != expr_op::read || found) return;
        const auto from = s.dag().index_of(static_cast<int>(n.integer));
        if (from == s.dag().ops.size() || !s.dag().ops[from].constant) return;
        for (const auto& index : n.operands)
            walk(index, [&](const expr_node& x) { found = found || (x.op == expr_op::axis && reached[static_cast<std::size_t>(x.integer)]); });
    });
    return found;
}

inline replay_fault fault_of(const loop_state& s, const transform_step& step) {
    return visit_step(step, [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, foreign_step>) return replay_fault::step;
        else {
            std::int64_t loop = 0;
            if constexpr (requires { x.iter; }) loop = x.iter;
            else if constexpr (std::is_same_v<T, fuse_step>)
                for (const auto i : x.iters) loop = (std::max)(loop, i);
            if (!names_a_loop(s, x.stage, loop)) return replay_fault::stage;
            if constexpr (std::is_same_v<T, fuse_step>) return replay_fault::fusion;
            else if constexpr (std::is_same_v<T, annotate_step>) return replay_fault::annotation;
            else if constexpr (std::is_same_v<T, reorder_step>) return replay_fault::order;
            else if constexpr (std::is_same_v<T, compute_at_step>)
                return names_a_loop(s, x.target_stage, x.target_iter) ? replay_fault::placement : replay_fault::stage;
            else if constexpr (std::is_same_v<T, compute_inline_step> || std::is_same_v<T, compute_root_step> || std::is_same_v<T, cache_read_step> ||
                               std::is_same_v<T, cache_write_step> || std::is_same_v<T, rfactor_step>)
                return replay_fault::placement;
            else return replay_fault::step;
        }
    });
}

} // namespace detail

/// Applies the steps of a schedule of any kernel. Splits keep their lengths; the outermost loop is as long as the extent needs, so that a schedule of
/// another shape applies, with guards where its lengths do not divide (Gibson and Cano, section 4.1: the form `Split(N, N/8, 8)`).
///
/// Cost  that of the steps and of bound inference
[[nodiscard]] inline replayed_steps replay(std::shared_ptr<const compute_dag> dag, const step_list& steps) {
    replayed_steps out;
    out.state = loop_state(std::move(dag));
    out.steps = steps;
    for (auto& step : out.steps.steps) {
        const auto place = detail::split_place(out.state, step);
        const std::int64_t extent = place ? out.state.stages()[place->first].var_of(place->second).extent : 0;
        if (auto* split = std::get_if<split_step>(&step)) split->extent = extent;
        if (detail::is_of_accelerator(step)) {
            out.fault = replay_fault::target;
            out.why = {errc::illegal_schedule,
                       "step " + std::to_string(out.state.steps().size()) + " (AN): a loop of GPU threads or of a tensor unit"};
            return out;
        }
        if (std::holds_alternative<foreign_step>(step)) {
            out.fault = replay_fault::step;
            out.why = {errc::illegal_schedule,
                       "step " + std::to_string(out.state.steps().size()) + ": expected a step of Ansor, got one of another kind"};
            return out;
        }
        if (auto done = out.state.apply(step); !done) {
            out.fault = detail::fault_of(out.state, step);
            out.why = done.error();
            return out;
        }
        if (extent == 0) continue;
        double lengths = 1;
        for (const auto l : out.state.stages()[place->first].relations.back().lengths) lengths *= static_cast<double>(l);
        const auto wanted = static_cast<double>(extent);
        const double covered = lengths < 1 ? wanted : std::ceil(wanted / lengths) * lengths; // 0: a length that is not chosen
        out.inexact = out.inexact || covered != wanted;
        out.oversized = out.oversized || lengths > wanted;
        out.padded_layout =
            out.padded_layout ||
            (covered != wanted && detail::indexes_constant(out.state, place->first, out.state.stages()[place->first].relations.back().parent));
        out.padded_ratio = (std::max)(out.padded_ratio, covered / wanted);
    }
    if (auto bounded = infer_bounds(out.state); !bounded) {
        out.fault = replay_fault::bounds;
        out.why = bounded.error();
    }
    return out;
}

} // namespace augur::inline v0::loopnest

#endif
