// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_LOWER_REPLAY_CACHE_HPP
#define AUGUR_LOOPNEST_LOWER_REPLAY_CACHE_HPP

/// @file
/// Replay of many schedules on one kernel. Schedules that differ in split lengths alone have one structure, which is checked once.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/lower/bounds.hpp>
#include <augur/loopnest/lower/replay.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>

namespace augur::inline v0::loopnest {

namespace detail {

/// Steps without the lengths of splits and the numbers of unroll pragmas, which the structure does not depend on. A stage that rfactor makes has one of
/// the lengths as an axis, so those before the last rfactor belong to it.
class step_skeleton {
public:
    explicit step_skeleton(const step_list& list) : list_(&list) {
        for (std::size_t k = 0; k < list.steps.size(); ++k)
            if (std::holds_alternative<rfactor_step>(list.steps[k])) fixed_ = k + 1;
    }
    /// Steps below this number count with their split lengths.
    [[nodiscard]] std::size_t fixed() const noexcept { return fixed_; }

    [[nodiscard]] std::uint64_t hash() const {
        std::uint64_t state = list_->steps.size();
        for (std::size_t k = 0; k < list_->steps.size(); ++k) {
            add(state, static_cast<std::int64_t>(list_->steps[k].index()));
            visit_step(list_->steps[k], [&](const auto& step) { add(state, step, k < fixed_); });
        }
        return mix64(state);
    }

    friend bool operator==(const step_skeleton& a, const step_skeleton& b) {
        if (a.fixed_ != b.fixed_ || a.list_->steps.size() != b.list_->steps.size()) return false;
        for (std::size_t k = 0; k < a.list_->steps.size(); ++k) {
            const auto &x = a.list_->steps[k], &y = b.list_->steps[k];
            if (x.index() != y.index()) return false;
            const auto* split = k < a.fixed_ ? nullptr : std::get_if<split_step>(&x);
            const auto* pragma = std::get_if<pragma_step>(&x);
            if (split != nullptr    ? !same(*split, *std::get_if<split_step>(&y))
                : pragma != nullptr ? !same(*pragma, *std::get_if<pragma_step>(&y))
                                    : x != y)
                return false;
        }
        return true;
    }

private:
    const step_list* list_;
    std::size_t fixed_ = 0;

    static bool same(const split_step& a, const split_step& b) noexcept {
        return a.stage == b.stage && a.iter == b.iter && a.inner_to_outer == b.inner_to_outer && a.lengths.size() == b.lengths.size();
    }
    static bool same(const pragma_step& a, const pragma_step& b) noexcept {
        return a.stage == b.stage && a.iter == b.iter && (a.text == b.text || (loop_state::unroll_steps(a.text) && loop_state::unroll_steps(b.text)));
    }
    /// A rotation and a multiplication a number; `hash` mixes the bits once, at the end.
    static void add(std::uint64_t& state, std::int64_t n) { state = (std::rotl(state, 23) ^ static_cast<std::uint64_t>(n)) * 0x9E3779B97F4A7C15ULL; }
    static void add(std::uint64_t& state, bool b) { add(state, std::int64_t{b}); }
    static void add(std::uint64_t& state, loop_annotation a) { add(state, static_cast<std::int64_t>(a)); }
    static void add(std::uint64_t& state, const std::string& text) { add(state, static_cast<std::int64_t>(fnv1a64(text))); }
    static void add(std::uint64_t& state, const std::vector<std::int64_t>& list) {
        add(state, static_cast<std::int64_t>(list.size()));
        for (const auto n : list) add(state, n);
    }
    template <class S>
    static void add(std::uint64_t& state, const S& step, bool with_lengths) {
        if constexpr (std::is_same_v<S, foreign_step>) {
            add(state, step.json);
        } else if constexpr (std::is_same_v<S, split_step>) {
            add(state, step.stage);
            add(state, step.iter);
            add(state, step.inner_to_outer);
            if (with_lengths) add(state, step.lengths);
            else add(state, static_cast<std::int64_t>(step.lengths.size()));
        } else if constexpr (std::is_same_v<S, pragma_step>) {
            add(state, step.stage);
            add(state, step.iter);
            if (!loop_state::unroll_steps(step.text)) add(state, step.text);
        } else {
            std::apply([&](const auto&... fields) { (add(state, fields), ...); }, step_fields(step));
        }
    }
};

/// The extents of the loops of a skeleton as functions of its split lengths: a list of operations on numbered extents.
class extent_program {
public:
    /// Applies the steps, with 1 for each open length, which no step refuses for its size.
    extent_program(std::shared_ptr<const compute_dag> dag, const step_list& list, std::size_t fixed) {
        loop_state state(std::move(dag));
        std::vector<std::vector<std::size_t>> vars; // per stage, the numbers of its loop variables
        for (std::size_t s = 0; s < state.stages().size(); ++s) vars.push_back(new_stage(state, s));
        for (std::size_t k = 0; k < list.steps.size() && !structure_.fault && sized_; ++k) {
            auto step = list.steps[k];
            if (auto* split = std::get_if<split_step>(&step); split != nullptr && k >= fixed)
                std::fill(split->lengths.begin(), split->lengths.end(), std::int64_t{1});
            if (is_of_accelerator(step)) structure_.fault = replay_fault::target;
            else if (std::holds_alternative<foreign_step>(step)) structure_.fault = replay_fault::step;
            else if (state.apply(step)) visit_step(step, [&](const auto& x) { follow(x, k, state, vars); });
            else structure_.fault = fault_of(state, step);
        }
        if (structure_.fault || !sized_) return;
        for (std::size_t s = 0; s < vars.size(); ++s) {
            if (state.dag().ops[s].placeholder()) continue;
            nests_.push_back(loops_.size());
            for (const auto& iter : state.stages()[s].iters) loops_.push_back(vars[s][iter.var]);
        }
        nests_.push_back(loops_.size());
        if (!infer_bounds(state)) structure_.fault = replay_fault::bounds;
    }

    /// The verdict of `replay`; nullopt: a number is so large, or so wrong, that the steps must be replayed to tell.
    [[nodiscard]] std::optional<replay_verdict> run(const step_list& list, std::vector<std::int64_t>& scratch) const {
        if (!sized_) return std::nullopt;
        // `now`: as the steps see it; `most`: an upper bound of what bound inference will find
        const auto n = initial_.size();
        scratch.assign(2 * n, 0);
        std::copy(initial_.begin(), initial_.end(), scratch.begin());
        std::copy(initial_.begin(), initial_.end(), scratch.begin() + static_cast<std::ptrdiff_t>(n));
        const std::span<std::int64_t> now(scratch.data(), n), most(scratch.data() + n, n);
        auto out = structure_;
        for (const auto& op : ops_) {
            if (op.type == operation::kind::set) {
                now[op.made] = op.value;
            } else if (op.type == operation::kind::fuse) {
                std::int64_t product = 1, bound = 1;
                for (std::size_t p = op.first; p < op.first + op.count; ++p) {
                    if ((product != 0 && now[loops_[p]] > limit / product) || most[loops_[p]] > limit / bound) return std::nullopt;
                    product *= now[loops_[p]];
                    bound *= (std::max)(most[loops_[p]], std::int64_t{1});
                }
                now[op.made] = product;
                most[op.made] = bound;
            } else if (!split(op, list, now, most, out)) {
                return std::nullopt;
            }
        }
        for (std::size_t s = 0; s + 1 < nests_.size(); ++s) {
            std::int64_t iterations = 1;
            for (std::size_t i = nests_[s]; i < nests_[s + 1]; ++i) {
                if (most[loops_[i]] > max_stage_iterations / iterations) return std::nullopt;
                iterations *= (std::max)(most[loops_[i]], std::int64_t{1});
            }
        }
        return out;
    }

private:
    struct operation {
        enum class kind : std::uint8_t { set, split, fuse } type{};
        bool inner_to_outer = true;
        std::size_t made = 0;              ///< the variable, or the first of `count`
        std::size_t parent = 0;            ///< split: the variable
        std::size_t first = 0, count = 0;  ///< fuse: the parts, in `loops_`; split: the steps with the lengths, in `loops_`, and the number of parts
        std::size_t sources = 0, part = 0; ///< split: number of those steps; of FFSP, the level
        std::int64_t value = 0;            ///< set
        bool follows_fused = false;
        bool packs = false; ///< split: of a loop by which a constant is read
    };
    static constexpr std::int64_t limit = std::int64_t{1} << 40; // as in loop_state and bound inference

    replay_verdict structure_;
    bool sized_ = true;                 ///< no product of extents of a stage is near the limits
    std::vector<std::int64_t> initial_; ///< extents of the variables before the first step
    std::vector<operation> ops_;
    std::vector<std::size_t> loops_; ///< of all nests, one after the other; and operands
    std::vector<std::size_t> nests_;

    std::size_t new_variable(std::int64_t extent) {
        initial_.push_back(extent);
        return initial_.size() - 1;
    }
    std::vector<std::size_t> new_stage(const loop_state& state, std::size_t s) {
        std::vector<std::size_t> out;
        std::int64_t product = 1;
        for (const auto& v : state.stages()[s].vars) {
            out.push_back(new_variable(v.extent));
            sized_ = sized_ && v.extent <= limit / product;
            if (sized_) product *= (std::max)(v.extent, std::int64_t{1});
        }
        return out;
    }

    using variables = std::vector<std::vector<std::size_t>>;
    template <class Step>
    void follow(const Step& x, std::size_t k, const loop_state& state, variables& vars) {
        constexpr bool follows_fused = std::is_same_v<Step, follow_fused_split_step>;
        if constexpr (std::is_same_v<Step, split_step> || std::is_same_v<Step, follow_split_step> || follows_fused) {
            const auto s = static_cast<std::size_t>(x.stage);
            const auto& relation = state.stages()[s].relations.back();
            operation op{.type = operation::kind::split, .inner_to_outer = relation.inner_to_outer, .made = initial_.size()};
            op.parent = vars[s][relation.parent];
            op.first = loops_.size();
            op.count = relation.parts.size();
            op.follows_fused = follows_fused;
            op.packs = indexes_constant(state, s, relation.parent);
            if constexpr (std::is_same_v<Step, split_step>) loops_.push_back(k);
            else if constexpr (std::is_same_v<Step, follow_split_step>) loops_.push_back(static_cast<std::size_t>(x.source_step));
            else {
                for (const auto source : x.source_steps) loops_.push_back(static_cast<std::size_t>(source));
                op.part = static_cast<std::size_t>(x.level);
            }
            op.sources = loops_.size() - op.first;
            for (std::size_t p = 0; p < op.count; ++p) vars[s].push_back(new_variable(0));
            ops_.push_back(op);
        } else if constexpr (std::is_same_v<Step, fuse_step>) {
            const auto s = static_cast<std::size_t>(x.stage);
            const auto& relation = state.stages()[s].relations.back();
            operation op{.type = operation::kind::fuse, .made = initial_.size(), .first = loops_.size(), .count = relation.parts.size()};
            for (const auto p : relation.parts) loops_.push_back(vars[s][p]);
            vars[s].push_back(new_variable(0));
            ops_.push_back(op);
        } else if constexpr (std::is_same_v<Step, compute_at_step> || std::is_same_v<Step, compute_root_step>) {
            const auto s = static_cast<std::size_t>(x.stage);
            for (std::size_t v = 0; v < vars[s].size(); ++v)
                ops_.push_back({.type = operation::kind::set, .made = vars[s][v], .value = state.stages()[s].vars[v].extent});
        } else if constexpr (std::is_same_v<Step, cache_read_step>) {
            const auto s = static_cast<std::size_t>(x.stage) + 1;
            vars.insert(vars.begin() + static_cast<std::ptrdiff_t>(s), new_stage(state, s));
        } else if constexpr (std::is_same_v<Step, cache_write_step> || std::is_same_v<Step, rfactor_step>) {
            const auto s = static_cast<std::size_t>(x.stage);
            vars.insert(vars.begin() + static_cast<std::ptrdiff_t>(s), new_stage(state, s));
            vars[s + 1] = new_stage(state, s + 1);
        }
    }

    [[nodiscard]] bool split(const operation& op, const step_list& list, std::span<std::int64_t> now, std::span<std::int64_t> most,
                             replay_verdict& out) const {
        const auto lengths_of = [&](std::size_t source) -> const std::vector<std::int64_t>& {
            return std::get_if<split_step>(&list.steps[loops_[op.first + source]])->lengths;
        };
        const auto n = op.count - 1; // lengths; the remaining part is as long as is needed
        const auto outer = op.inner_to_outer ? op.made : op.made + n, inner = op.inner_to_outer ? op.made + 1 : op.made;
        std::int64_t product = 1;
        const auto take = [&](std::int64_t length) {
            if (length < 1 || length > limit / product) return false;
            product *= length;
            return true;
        };
        if (op.follows_fused) {
            for (std::size_t k = 0; k < op.sources; ++k)
                if (!take(lengths_of(k)[op.part])) return false;
            now[inner] = product;
        } else {
            const auto& lengths = lengths_of(0);
            now[inner + n - 1] = 1; // FSP: the product of the lengths that remain, which may be none
            for (std::size_t k = 0; k < lengths.size(); ++k) {
                if (!take(lengths[k])) return false;
                now[inner + (std::min)(k, n - 1)] = k < n ? lengths[k] : now[inner + n - 1] * lengths[k];
            }
        }
        std::int64_t rest = most[op.parent];
        for (std::size_t k = 0; k < n; ++k) {
            const auto part = inner + (op.inner_to_outer ? n - 1 - k : k);
            most[part] = (std::min)(now[part], rest);
            rest = rest / now[part] + (rest % now[part] != 0 ? 1 : 0);
        }
        most[outer] = rest;
        const auto extent = now[op.parent];
        now[outer] = extent == 0 ? 0 : (extent + product - 1) / product;
        if (extent == 0) return true;
        const auto covered = now[outer] * product;
        out.inexact = out.inexact || covered != extent;
        out.oversized = out.oversized || product > extent;
        out.padded_layout = out.padded_layout || (op.packs && covered != extent);
        out.padded_ratio = (std::max)(out.padded_ratio, static_cast<double>(covered) / static_cast<double>(extent));
        return true;
    }
};

} // namespace detail

/// Says of many schedules what `replay` says of each.
///
/// ```cpp
/// augur::loopnest::replay_cache cache(dag);
/// for (const auto& s : schedules)
///     if (!cache.check(s).fault) usable.push_back(s);
/// ```
///
/// Cost     the first schedule with a structure: as `replay`; another: linear in its steps, no allocation
/// Threads  one thread per object
class replay_cache {
public:
    /// pre: dag is not null
    explicit replay_cache(std::shared_ptr<const compute_dag> dag) : dag_(std::move(dag)) {}

    [[nodiscard]] replay_verdict check(const step_list& list) {
        const detail::step_skeleton skeleton(list);
        const auto hash = skeleton.hash();
        auto [at, end] = known_.equal_range(hash);
        while (at != end && detail::step_skeleton(at->second.example) != skeleton) ++at;
        if (at == end) at = known_.emplace(hash, entry{list, detail::extent_program(dag_, list, skeleton.fixed())});
        if (const auto verdict = at->second.program.run(list, scratch_)) return *verdict;
        return replay(dag_, list);
    }

    /// The number of different structures so far.
    [[nodiscard]] std::size_t structures() const noexcept { return known_.size(); }

private:
    struct entry {
        step_list example;
        detail::extent_program program;
    };
    std::shared_ptr<const compute_dag> dag_;
    std::unordered_multimap<std::uint64_t, entry> known_;
    std::vector<std::int64_t> scratch_;
};

} // namespace augur::inline v0::loopnest

#endif
