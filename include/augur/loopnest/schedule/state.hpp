// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_STATE_HPP
#define AUGUR_LOOPNEST_SCHEDULE_STATE_HPP

/// @file
/// Schedule state: a kernel after a list of transform steps, with the loops and the compute location of each stage (Ansor's State,
/// src/auto_scheduler/loop_state.cc).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/detail/factor_reduction.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/schedule/stage.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

/// The kernel after a list of steps. A value type: copy it to branch.
///
/// `apply` checks the preconditions of a step (those of Ansor's State::DoStep and its ICHECKs). A refused step leaves the state unchanged.
class loop_state {
public:
    loop_state() = default;
    explicit loop_state(std::shared_ptr<const compute_dag> dag) : dag_(std::move(dag)) {
        for (const auto& op : dag_->ops) stages_.push_back(fresh(op));
    }

    [[nodiscard]] const compute_dag& dag() const noexcept { return *dag_; }
    [[nodiscard]] const std::vector<stage>& stages() const noexcept { return stages_; }
    [[nodiscard]] const std::vector<transform_step>& steps() const noexcept { return steps_; }
    /// The applied steps as a schedule.
    [[nodiscard]] step_list schedule() const { return {steps_}; }

    static constexpr std::size_t npos = static_cast<std::size_t>(-1); ///< no loop, no stage
    /// True if some stage is computed inside loop `iter` of `stage_index`, or inside any of its loops if `iter` is npos.
    [[nodiscard]] bool has_attached(std::size_t stage_index, std::size_t iter = npos) const {
        return std::any_of(stages_.begin(), stages_.end(), [&](const stage& s) {
            return s.placement == stage::place::at && s.at_stage == stage_index && (iter == npos || s.at_var == stages_[stage_index].iters[iter].var);
        });
    }

    /// Applies a step and records it. A step of another compiler (`foreign_step`) is recorded and changes nothing; `replay` refuses it.
    /// Errors: illegal_schedule, with the number of the step and the reason.
    result<void> apply(const transform_step& step) {
        if (auto done = visit_step(step, [&](const auto& s) { return run(s); }); !done) {
            const auto kind = visit_step(step, [](const auto& s) { return std::string_view(s.kind); });
            return refused("step " + std::to_string(steps_.size()) + " (" + std::string(kind) + "): " + done.error().detail);
        }
        steps_.push_back(step);
        return {};
    }

    /// Applies the steps of `list` in order; stops at the first refused step. The steps before it stay applied: use a copy where all or none must apply.
    /// Errors: that of the refused step.
    result<void> apply(const step_list& list) {
        for (const auto& s : list.steps)
            if (auto done = apply(s); !done) return done;
        return {};
    }

    /// N of the pragma `auto_unroll_max_step$N`; nullopt for another text.
    [[nodiscard]] static std::optional<std::int64_t> unroll_steps(std::string_view text) noexcept {
        constexpr std::string_view prefix = "auto_unroll_max_step$";
        if (!text.starts_with(prefix) || text.size() == prefix.size() || text.size() > prefix.size() + 9) return std::nullopt;
        std::int64_t n = 0;
        for (const char c : text.substr(prefix.size())) {
            if (c < '0' || c > '9') return std::nullopt;
            n = n * 10 + (c - '0');
        }
        return n;
    }

    /// Sets the extents found by bound inference: one vector per stage, one extent per variable (loopnest/lower/bounds.hpp).
    void set_extents(const std::vector<std::vector<std::int64_t>>& extents) {
        for (std::size_t s = 0; s < stages_.size(); ++s)
            for (std::size_t v = 0; v < stages_[s].vars.size() && v < extents[s].size(); ++v) stages_[s].vars[v].extent = extents[s][v];
    }

private:
    std::shared_ptr<const compute_dag> dag_;
    std::vector<stage> stages_;
    std::vector<transform_step> steps_;

    static stage fresh(const operation& op) {
        stage s;
        for (std::size_t i = 0; i < op.axis_count(); ++i) {
            const bool reduce = i >= op.axes.size();
            s.vars.push_back({op.axis(i).name, op.axis(i).extent, !reduce, reduce});
            s.iters.push_back({i, loop_annotation::none});
        }
        return s;
    }

    [[nodiscard]] static bool in_range(std::int64_t i, std::size_t n) noexcept { return i >= 0 && static_cast<std::size_t>(i) < n; }
    static std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }
    static constexpr std::int64_t max_extent = std::int64_t{1} << 40;

    static error refused(std::string reason) { return {errc::illegal_schedule, std::move(reason)}; }

    /// Checks that a stage can be scheduled.
    [[nodiscard]] result<void> check_stage(std::int64_t s) const {
        if (!in_range(s, stages_.size())) return refused("stage " + std::to_string(s) + " of " + std::to_string(stages_.size()));
        if (dag_->ops[at(s)].placeholder()) return refused("stage " + std::to_string(s) + " is a placeholder");
        if (stages_[at(s)].placement == stage::place::inlined) return refused("stage " + std::to_string(s) + " is inlined");
        return {};
    }
    [[nodiscard]] result<void> check_iter(std::int64_t s, std::int64_t i) const {
        if (auto valid = check_stage(s); !valid) return valid;
        if (!in_range(i, stages_[at(s)].iters.size()))
            return refused("loop " + std::to_string(i) + " of " + std::to_string(stages_[at(s)].iters.size()) + " in stage " + std::to_string(s));
        return {};
    }

    result<void> run(const annotate_step& x) {
        if (auto valid = check_iter(x.stage, x.iter); !valid) return valid;
        auto& iter = stages_[at(x.stage)].iters[at(x.iter)];
        if (iter.annotation != loop_annotation::none) return refused("the loop has an annotation already");
        iter.annotation = x.annotation;
        return {};
    }

    result<void> run(const fuse_step& x) {
        if (x.iters.empty()) return refused("nothing to fuse");
        for (std::size_t k = 0; k < x.iters.size(); ++k) {
            if (auto valid = check_iter(x.stage, x.iters[k]); !valid) return valid;
            if (k > 0 && x.iters[k] != x.iters[k - 1] + 1) return refused("loops to fuse must be consecutive");
        }
        auto& s = stages_[at(x.stage)];
        loop_var fused;
        fused.space = fused.reduce = false;
        fused.extent = 1;
        loop_relation rel;
        rel.type = loop_relation::kind::fuse;
        for (const auto i : x.iters) {
            const auto& iter = s.iters[at(i)];
            if (iter.annotation != loop_annotation::none) return refused("a loop to fuse has an annotation");
            if (i != x.iters.back() && has_attached(at(x.stage), at(i)))
                return refused("cannot fuse a loop with attached stages unless it is the last");
            const auto& v = s.vars[iter.var];
            fused.name += v.name + "@";
            if (fused.extent != 0 && v.extent > max_extent / fused.extent) return refused("fused extent beyond 2^40");
            fused.extent *= v.extent; // 0 (unknown) makes the product 0
            fused.space = fused.space || v.space;
            fused.reduce = fused.reduce || v.reduce;
            rel.parts.push_back(iter.var);
        }
        if (fused.name.size() > max_loop_name) return refused("a loop name beyond " + std::to_string(max_loop_name) + " bytes");
        const auto last = s.iters[at(x.iters.back())].var;
        rel.parent = s.vars.size();
        s.vars.push_back(std::move(fused));
        for (auto& other : stages_)
            if (other.placement == stage::place::at && other.at_stage == at(x.stage) && other.at_var == last) other.at_var = rel.parent;
        const auto first = s.iters.begin() + x.iters.front();
        s.iters.erase(first + 1, first + static_cast<std::ptrdiff_t>(x.iters.size()));
        s.iters[at(x.iters.front())] = {rel.parent, loop_annotation::none};
        s.relations.push_back(std::move(rel));
        return {};
    }

    result<void> run(const pragma_step& x) {
        if (auto valid = check_iter(x.stage, x.iter); !valid) return valid;
        if (x.text == "debug_skip_region") return {};
        const auto steps = unroll_steps(x.text);
        if (!steps) return refused("unknown pragma");
        stages_[at(x.stage)].auto_unroll_max_step = *steps;
        return {};
    }

    result<void> run(const reorder_step& x) {
        if (auto valid = check_stage(x.stage); !valid) return valid;
        auto& s = stages_[at(x.stage)];
        if (x.order.size() != s.iters.size())
            return refused("expected an order of all " + std::to_string(s.iters.size()) + " loops, got " + std::to_string(x.order.size()));
        std::vector<loop_iter> order;
        std::vector<bool> seen(s.iters.size(), false);
        for (const auto i : x.order) {
            if (!in_range(i, s.iters.size()) || seen[at(i)])
                return refused("expected a permutation of the loops, got loop " + std::to_string(i) + " twice or out of range");
            seen[at(i)] = true;
            order.push_back(s.iters[at(i)]);
        }
        s.iters = std::move(order);
        return {};
    }

    result<void> split(std::int64_t stage_index, std::int64_t iter, const std::vector<std::int64_t>& lengths, bool inner_to_outer) {
        if (auto valid = check_iter(stage_index, iter); !valid) return valid;
        auto& s = stages_[at(stage_index)];
        const auto old = s.iters[at(iter)];
        if (old.annotation != loop_annotation::none) return refused("the loop to split has an annotation");
        if (lengths.empty() || lengths.size() > 16) return refused("expected 1 to 16 split lengths, got " + std::to_string(lengths.size()));
        if (s.iters.size() + lengths.size() > max_stage_loops) return refused("more than " + std::to_string(max_stage_loops) + " loops in a stage");
        if (s.vars[old.var].name.size() + 4 > max_loop_name) return refused("a loop name beyond " + std::to_string(max_loop_name) + " bytes");
        std::int64_t known = 1, chosen = 1; // a length 0 (open) makes `known` 0 and leaves `chosen` unchanged
        for (const auto l : lengths) {
            if (l < 0 || l > max_extent) return refused("expected split lengths from 0 to 2^40, got " + std::to_string(l));
            if (l > 0 && l > max_extent / chosen) return refused("product of lengths beyond 2^40");
            chosen *= l > 0 ? l : 1;
            known *= l > 0 ? l : 0;
        }
        const auto total = s.vars[old.var].extent;
        const std::int64_t rest = known == 0 || total == 0 ? 0 : (total + known - 1) / known;
        loop_relation rel;
        rel.parent = old.var;
        rel.lengths = lengths;
        rel.inner_to_outer = inner_to_outer;
        std::vector<loop_iter> made;
        for (std::size_t k = 0; k <= lengths.size(); ++k) {
            auto v = s.vars[old.var];
            v.name += "." + std::to_string(k);
            v.extent = inner_to_outer ? (k == 0 ? rest : lengths[k - 1]) : (k == lengths.size() ? rest : lengths[k]);
            rel.parts.push_back(s.vars.size());
            made.push_back({s.vars.size(), loop_annotation::none});
            s.vars.push_back(std::move(v));
        }
        for (auto& other : stages_) // as in Ansor, stages attached to the loop move to its innermost part
            if (other.placement == stage::place::at && other.at_stage == at(stage_index) && other.at_var == old.var) other.at_var = rel.parts.back();
        s.relations.push_back(std::move(rel));
        s.iters.erase(s.iters.begin() + iter);
        s.iters.insert(s.iters.begin() + iter, made.begin(), made.end());
        return {};
    }

    result<void> run(const split_step& x) { return split(x.stage, x.iter, x.lengths, x.inner_to_outer); }

    /// The earlier split step with number `step`; null if that step is no split.
    [[nodiscard]] const split_step* source(std::int64_t step) const {
        return in_range(step, steps_.size()) ? std::get_if<split_step>(&steps_[at(step)]) : nullptr;
    }

    result<void> run(const follow_split_step& x) {
        const auto* from = source(x.source_step);
        if (from == nullptr) return refused("step " + std::to_string(x.source_step) + " is not an earlier SP");
        if (x.parts < 1 || at(x.parts) > from->lengths.size() + 1)
            return refused("cannot follow " + std::to_string(from->lengths.size()) + " lengths in " + std::to_string(x.parts) + " parts");
        std::vector<std::int64_t> lengths(from->lengths.begin(), from->lengths.begin() + (x.parts - 1));
        std::int64_t rest = 1;
        for (std::size_t k = at(x.parts) - 1; k < from->lengths.size(); ++k) rest *= from->lengths[k];
        lengths.push_back(rest);
        return split(x.stage, x.iter, lengths, true); // as TVM, whatever the direction of the source
    }

    result<void> run(const follow_fused_split_step& x) {
        std::int64_t product = 1;
        for (const auto step : x.source_steps) {
            const auto* from = source(step);
            if (from == nullptr || !in_range(x.level, from->lengths.size()))
                return refused("step " + std::to_string(step) + " is not an earlier SP with level " + std::to_string(x.level));
            const auto length = from->lengths[at(x.level)];
            if (product != 0 && length > max_extent / product) return refused("product of lengths beyond 2^40");
            product *= length;
        }
        return split(x.stage, x.iter, {product}, x.factor_or_nparts);
    }

    /// Affects only the layout of scratch buffers: the state does not change.
    result<void> run(const storage_align_step& x) { return check_iter(x.stage, x.iter); }

    /// Resets the extents of a stage to unknown, since they depend on the compute location.
    void forget_extents(stage& s, std::size_t index) const {
        for (auto& v : s.vars) v.extent = 0;
        const auto& op = dag_->ops[index];
        for (std::size_t i = op.axes.size(); i < op.axis_count(); ++i) s.vars[i].extent = op.axis(i).extent;
    }

    result<void> run(const compute_at_step& x) {
        if (auto valid = check_stage(x.stage); !valid) return valid;
        if (auto valid = check_iter(x.target_stage, x.target_iter); !valid) return valid;
        if (dag_->is_output(at(x.stage))) return refused("an output cannot be computed inside another stage");
        for (std::size_t ancestor = at(x.target_stage);;) { // refuses a cycle of stages computed inside each other
            if (ancestor == at(x.stage)) return refused("a stage cannot be computed inside itself");
            if (stages_[ancestor].placement != stage::place::at) break;
            ancestor = stages_[ancestor].at_stage;
        }
        auto& s = stages_[at(x.stage)];
        s.placement = stage::place::at;
        s.at_stage = at(x.target_stage);
        s.at_var = stages_[s.at_stage].iters[at(x.target_iter)].var;
        forget_extents(s, at(x.stage));
        return {};
    }

    result<void> run(const compute_inline_step& x) {
        if (auto valid = check_stage(x.stage); !valid) return valid;
        if (has_attached(at(x.stage))) return refused("cannot inline a stage that has attached stages");
        if (dag_->ops[at(x.stage)].combine != reducer::none) return refused("a reduction cannot be inlined");
        if (dag_->is_output(at(x.stage))) return refused("an output cannot be inlined");
        auto& s = stages_[at(x.stage)];
        s.placement = stage::place::inlined;
        return {};
    }

    result<void> run(const compute_root_step& x) {
        if (auto valid = check_stage(x.stage); !valid) return valid;
        auto& s = stages_[at(x.stage)];
        s.placement = stage::place::root;
        forget_extents(s, at(x.stage));
        return {};
    }

    void insert_stage(std::size_t index, stage s) {
        stages_.insert(stages_.begin() + static_cast<std::ptrdiff_t>(index), std::move(s));
        for (auto& other : stages_)
            if (other.placement == stage::place::at && other.at_stage >= index) ++other.at_stage;
    }
    [[nodiscard]] bool untouched(std::size_t s) const {
        return stages_[s].relations.empty() && stages_[s].placement == stage::place::root && !has_attached(s);
    }

    /// Steps come from logs: each inserted stage copies the DAG, and names grow with chains of copies.
    [[nodiscard]] result<void> check_insertion(std::size_t index, std::string_view suffix) const {
        if (dag_->ops.size() >= max_operations) return refused("more than " + std::to_string(max_operations) + " stages");
        if (dag_->ops[index].name.size() + suffix.size() + 1 > max_loop_name)
            return refused("a name beyond " + std::to_string(max_loop_name) + " bytes");
        return {};
    }

    result<void> run(const cache_read_step& x) {
        if (!in_range(x.stage, stages_.size())) return refused("stage " + std::to_string(x.stage) + " of " + std::to_string(stages_.size()));
        const auto consumers = dag_->consumers(at(x.stage));
        std::vector<std::size_t> readers;
        for (const auto r : x.readers) {
            if (!in_range(r, stages_.size()) || std::find(consumers.begin(), consumers.end(), at(r)) == consumers.end())
                return refused("stage " + std::to_string(r) + " does not read stage " + std::to_string(x.stage));
            readers.push_back(at(r));
        }
        if (readers.empty()) return refused("no stage reads the copy");
        if (auto fits = check_insertion(at(x.stage), x.scope); !fits) return fits;
        auto dag = std::make_shared<compute_dag>(*dag_);
        dag->cache_read(at(x.stage), x.scope, readers);
        dag_ = std::move(dag);
        insert_stage(at(x.stage) + 1, fresh(dag_->ops[at(x.stage) + 1]));
        return {};
    }

    result<void> run(const cache_write_step& x) {
        if (auto valid = check_stage(x.stage); !valid) return valid;
        if (!untouched(at(x.stage))) return refused("cache_write must come before every split, fusion and placement of its stage");
        if (auto fits = check_insertion(at(x.stage), x.scope); !fits) return fits;
        auto dag = std::make_shared<compute_dag>(*dag_);
        dag->cache_write(at(x.stage), x.scope);
        dag_ = std::move(dag);
        insert_stage(at(x.stage), fresh(dag_->ops[at(x.stage)]));
        stages_[at(x.stage) + 1] = fresh(dag_->ops[at(x.stage) + 1]);
        return {};
    }

    result<void> run(const rfactor_step& x) {
        if (auto valid = check_iter(x.stage, x.iter); !valid) return valid;
        const auto index = at(x.stage);
        const auto& s = stages_[index];
        const auto& op = dag_->ops[index];
        if (op.combine == reducer::none) return refused("rfactor: the stage is not a reduction");
        if (auto fits = check_insertion(index, "rf"); !fits) return fits;
        if (s.placement != stage::place::root || has_attached(index)) return refused("rfactor needs a root stage with nothing attached");
        const auto factored = s.iters[at(x.iter)].var;
        if (!s.vars[factored].reduce || s.vars[factored].space) return refused("rfactor: the loop is not a reduce loop");
        if (!in_range(x.factor_axis, op.axes.size() + 1))
            return refused("expected a factor axis below " + std::to_string(op.axes.size() + 1) + ", got " + std::to_string(x.factor_axis));
        for (std::size_t a = 0; a < op.axes.size(); ++a)
            if (s.iter_of(a) == s.iters.size()) return refused("rfactor: a space axis is already split or fused");
        for (const auto& iter : s.iters)
            if (s.vars[iter.var].extent == 0) return refused("rfactor: the stage has a loop of unknown extent");
        auto made = detail::factor_reduction(op, s, factored, at(x.factor_axis), dag_->fresh_id());
        if (!made) return made.error();
        auto dag = std::make_shared<compute_dag>(*dag_);
        dag->ops[index] = std::move(made->total);
        dag->ops.insert(dag->ops.begin() + static_cast<std::ptrdiff_t>(index), std::move(made->partial));
        dag_ = std::move(dag);
        insert_stage(index, fresh(dag_->ops[index]));
        stages_[index + 1] = fresh(dag_->ops[index + 1]);
        return {};
    }

    result<void> run(const foreign_step&) { return {}; } // steps of other compilers have no effect here
};

} // namespace augur::inline v0::loopnest

#endif
