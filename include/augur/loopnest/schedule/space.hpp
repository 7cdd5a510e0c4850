// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_SCHEDULE_SPACE_HPP
#define AUGUR_LOOPNEST_SCHEDULE_SPACE_HPP

/// @file
/// Decision space of the schedules of a kernel: Ansor's CPU search space as a tree of decisions.
///
/// Source: src/auto_scheduler/search_policy/sketch_policy_rules.cc of TVM, the rules that sample the initial population.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/loopnest/detail/sketch_plan.hpp>
#include <augur/loopnest/ir/dag.hpp>
#include <augur/loopnest/schedule/cursor.hpp>
#include <augur/loopnest/schedule/sketch.hpp>
#include <augur/loopnest/schedule/state.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/space/concepts.hpp>

namespace augur::inline v0::loopnest {

/// All schedules that the sketches of one kernel can become. Models `decision_space<ansor_space, step_list>`.
///
/// Decisions, in this order:
///
///     sketch            one of `sketches()`
///     tile_size         each open split, in step order; the value is the index of a `factorisation` of the extent, or, for a space axis with large
///                       prime factors, of a slightly larger number: the last tile is then cut
///     compute_location  each stage that is neither inlined nor tiled nor in need of tiling, last first: unchanged, inlined, or in a reader's loop
///     parallel          each root stage whose outermost loop is a space loop: fuses value + 1 loops and makes them parallel. `preferred` is the
///                       value of Ansor's rule, which sampling uses
///     unroll            each stage with a reduce loop: the pragma auto_unroll_max_step with 0, 16, 64 or 512
///     vectorize         each stage: the innermost short space loops become a vector; if n > 1 loops are short, value + 1 < n of them are fused
///
/// With `ansor_options::evolved`, compute_location, parallel and vectorize have more options, behind these.
///
/// Steps have the order in which Ansor records them, so Ansor logs convert into decisions (`decide`) and back (`realise`). Different vectors give
/// different steps, so the hash of a decision vector identifies a program.
///
/// Threads  immutable after construction; concurrent calls are allowed
class ansor_space {
public:
    /// Errors: shape_mismatch (the DAG), invalid_argument (the options), limit (too many sketches).   pre: dag is not null
    [[nodiscard]] static result<ansor_space> create(std::shared_ptr<const compute_dag> dag, ansor_options options = {}) {
        AUGUR_ASSERT(dag != nullptr, "ansor_space: no DAG");
        if (options.max_innermost < 1 || options.max_vectorize < 1)
            return error{errc::invalid_argument, "innermost and vector lengths: expected at least 1, got " + std::to_string(options.max_innermost) +
                                                     " and " + std::to_string(options.max_vectorize)};
        const bool more = !options.faithful;
        auto sketches = generate_sketches(
            dag,
            {.num_cores = options.num_cores, .most = options.max_sketches, .tile_plain_reductions = more, .copy_operands = more, .block_rows = more});
        if (!sketches) return sketches.error();
        ansor_space out;
        out.tree_.dag = std::move(dag);
        out.tree_.options = options;
        detail::sketch_planner planner(options.max_innermost, options.faithful);
        for (const bool likely : {true, false}) {
            for (auto& s : *sketches)
                if ((s.likely || options.faithful) == likely) out.tree_.plans.push_back(planner.plan(out.tree_.dag, std::move(s)));
            if (likely) out.tree_.likely = out.tree_.plans.size();
        }
        return out;
    }

    [[nodiscard]] const compute_dag& dag() const noexcept { return *tree_.dag; }
    [[nodiscard]] const ansor_options& options() const noexcept { return tree_.options; }
    [[nodiscard]] std::size_t sketches() const noexcept { return tree_.plans.size(); }
    /// The steps of sketch `i`; split lengths that are decisions are 0.
    [[nodiscard]] const step_list& sketch_steps(std::size_t i) const { return tree_.plans[i].steps; }

    /// A cursor that walks the tree without replaying the prefix at each decision. The space must outlive the cursor.
    [[nodiscard]] ansor_cursor cursor() const { return ansor_cursor(tree_); }
    [[nodiscard]] std::optional<decision> next(std::span<const std::uint64_t> prefix) const;

    /// The steps of a complete vector.   Errors: illegal_schedule, with the position of an invalid value or the wrong number of values
    [[nodiscard]] result<step_list> realise(std::span<const std::uint64_t> decisions) const;
    /// The kernel after the steps of a complete vector, for lowering.   Errors: as `realise`
    [[nodiscard]] result<loop_state> state(std::span<const std::uint64_t> decisions) const;
    /// The inverse of `realise`.   Errors: not_found if no vector gives exactly these steps
    [[nodiscard]] result<decision_vector> decide(const step_list& list) const;

    /// A tile size with one divisor moved between two levels (Ansor's MutateTileSize); other decisions are returned unchanged.
    [[nodiscard]] std::uint64_t neighbour(std::span<const std::uint64_t> prefix, std::uint64_t value, random_engine& rng) const {
        if (prefix.empty() || prefix[0] >= tree_.plans.size()) return value;
        const auto& splits = tree_.plans[static_cast<std::size_t>(prefix[0])].splits;
        return prefix.size() <= splits.size() ? splits[prefix.size() - 1].tiles->neighbour(value, rng) : value;
    }

    /// The plan of sketch `i`: its open splits and movable stages.
    [[nodiscard]] const detail::sketch_plan& plan(std::size_t i) const { return tree_.plans[i]; }

private:
    detail::space_tree tree_;

    ansor_space() = default;

    [[nodiscard]] result<ansor_cursor> walk(std::span<const std::uint64_t> decisions) const;
};

inline std::optional<decision> ansor_space::next(std::span<const std::uint64_t> prefix) const {
    auto c = cursor();
    for (const auto v : prefix) {
        const auto d = c.next();
        if (!d || v >= d->options) return std::nullopt;
        c.choose(v);
    }
    return c.next();
}

inline result<ansor_cursor> ansor_space::walk(std::span<const std::uint64_t> decisions) const {
    auto c = cursor();
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        const auto d = c.next();
        if (!d && c.broken().empty())
            return error{errc::illegal_schedule, "expected " + std::to_string(i) + " decisions, got " + std::to_string(decisions.size())};
        if (!d) break;
        if (decisions[i] >= d->options)
            return error{errc::illegal_schedule, "decision " + std::to_string(i) + ": expected a value below " + std::to_string(d->options) +
                                                     ", got " + std::to_string(decisions[i])};
        c.choose(decisions[i]);
    }
    if (!c.broken().empty()) return error{errc::illegal_schedule, c.broken()};
    if (c.next()) return error{errc::illegal_schedule, "expected more than " + std::to_string(decisions.size()) + " decisions"};
    return c;
}

inline result<loop_state> ansor_space::state(std::span<const std::uint64_t> decisions) const {
    auto c = walk(decisions);
    if (!c) return c.error();
    return std::move(*c).state();
}

inline result<step_list> ansor_space::realise(std::span<const std::uint64_t> decisions) const {
    auto c = walk(decisions);
    if (!c) return c.error();
    return c->state().schedule();
}

inline result<decision_vector> ansor_space::decide(const step_list& list) const {
    for (std::size_t p = 0; p < tree_.plans.size(); ++p) {
        const auto tiles = tree_.plans[p].tiles_of(list.steps);
        if (!tiles) continue;
        auto c = cursor();
        decision_vector out{p};
        c.choose(p);
        for (const auto t : *tiles) {
            c.choose(t);
            out.push_back(t);
        }
        std::size_t done = tree_.plans[p].steps.steps.size();
        while (const auto d = c.next()) { // greedy: takes the option whose steps match the longest part of the list; an option may add no step
            std::optional<std::uint64_t> best;
            std::size_t most = 0;
            for (std::uint64_t v = 0; v < d->options; ++v) {
                const auto steps = c.emits(v);
                if ((best && steps.size() <= most) || steps.size() > list.steps.size() - done) continue;
                if (!std::equal(steps.begin(), steps.end(), list.steps.begin() + static_cast<std::ptrdiff_t>(done))) continue;
                best = v;
                most = steps.size();
            }
            if (!best) break;
            c.choose(*best);
            out.push_back(*best);
            done += most;
        }
        if (!c.next() && c.broken().empty() && done == list.steps.size()) return out;
    }
    return error{errc::not_found, "these " + std::to_string(list.steps.size()) + " steps are not in the space"};
}

static_assert(decision_space<ansor_space, step_list> && described_space<ansor_space>);

} // namespace augur::inline v0::loopnest

#endif
