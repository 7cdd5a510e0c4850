// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedule_text.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <augur/loopnest/schedule/state.hpp>

namespace {

using augur::loopnest::loop_state;

template <class List, class F>
std::string joined(const List& list, F&& text) {
    std::string out;
    for (const auto& x : list) out.append(out.empty() ? "" : ", ").append(text(x));
    return out;
}

std::string stage_name(const loop_state& s, std::int64_t stage) { return s.dag().ops[static_cast<std::size_t>(stage)].name; }
std::string loop_name(const loop_state& s, std::int64_t stage, std::int64_t iter) {
    return s.stages()[static_cast<std::size_t>(stage)].var_of(static_cast<std::size_t>(iter)).name;
}
/// The loops that the last split or fusion of a stage has made.
std::string made(const loop_state& s, std::int64_t stage) {
    const auto& at = s.stages()[static_cast<std::size_t>(stage)];
    const auto& last = at.relations.back();
    if (last.type == augur::loopnest::loop_relation::kind::fuse) return at.vars[last.parent].name;
    return joined(last.parts, [&](std::size_t v) { return at.vars[v].name; });
}

std::string annotation(augur::loop_annotation a) {
    switch (a) {
    case augur::loop_annotation::parallel: return "Parallel";
    case augur::loop_annotation::vectorize: return "Vectorize";
    case augur::loop_annotation::unroll: return "Unroll";
    default: return "Annotate " + std::to_string(static_cast<int>(a));
    }
}

/// The text of a step, from the kernel before it and after it.
std::string text_of_step(const loop_state& before, const loop_state& after, const augur::transform_step& step) {
    return augur::visit_step(step, [&](const auto& x) -> std::string {
        using T = std::decay_t<decltype(x)>;
        const auto number = [](std::int64_t n) { return std::to_string(n); };
        if constexpr (std::is_same_v<T, augur::foreign_step>) {
            return x.json;
        } else {
            const std::string stage = stage_name(before, x.stage) + ": ";
            if constexpr (std::is_same_v<T, augur::split_step> || std::is_same_v<T, augur::follow_split_step> ||
                          std::is_same_v<T, augur::follow_fused_split_step>)
                return stage + made(after, x.stage) + " <- Split(" + loop_name(before, x.stage, x.iter) + ", " +
                       joined(after.stages()[static_cast<std::size_t>(x.stage)].relations.back().lengths, number) + ")";
            else if constexpr (std::is_same_v<T, augur::fuse_step>)
                return stage + made(after, x.stage) + " <- Fuse(" + joined(x.iters, [&](std::int64_t i) { return loop_name(before, x.stage, i); }) +
                       ")";
            else if constexpr (std::is_same_v<T, augur::reorder_step>)
                return stage + "Reorder(" + joined(x.order, [&](std::int64_t i) { return loop_name(before, x.stage, i); }) + ")";
            else if constexpr (std::is_same_v<T, augur::annotate_step>)
                return stage + annotation(x.annotation) + "(" + loop_name(before, x.stage, x.iter) + ")";
            else if constexpr (std::is_same_v<T, augur::pragma_step>) {
                const auto steps = loop_state::unroll_steps(x.text);
                return stage + (steps ? "Unroll(" + loop_name(before, x.stage, x.iter) + ", " + number(*steps) + ")" : "Pragma(" + x.text + ")");
            } else if constexpr (std::is_same_v<T, augur::compute_at_step>)
                return "ComputeAt(" + stage_name(before, x.stage) + ", " + loop_name(before, x.target_stage, x.target_iter) + " of " +
                       stage_name(before, x.target_stage) + ")";
            else if constexpr (std::is_same_v<T, augur::compute_inline_step>) return "Inline(" + stage_name(before, x.stage) + ")";
            else if constexpr (std::is_same_v<T, augur::compute_root_step>) return "ComputeRoot(" + stage_name(before, x.stage) + ")";
            else if constexpr (std::is_same_v<T, augur::cache_write_step>)
                return "Create " + x.scope + " cache buffer " + stage_name(after, x.stage) + " of " + stage_name(after, x.stage + 1);
            else if constexpr (std::is_same_v<T, augur::cache_read_step>)
                return "Create " + x.scope + " cache buffer " + stage_name(after, x.stage + 1) + " of " + stage_name(before, x.stage);
            else if constexpr (std::is_same_v<T, augur::rfactor_step>)
                return "Create partial sums " + stage_name(after, x.stage) + " over " + loop_name(before, x.stage, x.iter) + " of " +
                       stage_name(before, x.stage);
            else return stage + "Align(" + loop_name(before, x.stage, x.iter) + ", " + number(x.factor) + ")";
        }
    });
}

} // namespace

std::vector<std::string> schedule_text(std::shared_ptr<const augur::loopnest::compute_dag> dag, const augur::step_list& schedule) {
    std::vector<std::string> out;
    loop_state before(std::move(dag));
    for (const auto& step : schedule.steps) {
        auto after = before;
        if (auto applied = after.apply(step); !applied) {
            out.push_back(applied.error().detail);
            return out;
        }
        out.push_back(text_of_step(before, after, step));
        before = std::move(after);
    }
    return out;
}
