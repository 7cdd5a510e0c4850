// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_TASK_RUNNER_HPP
#define AUGUR_LOOPNEST_RUN_TASK_RUNNER_HPP

/// @file
/// Schedules of a kernel in, measurements out: lowers, writes C, compiles, runs, checks. Models `runner`.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/codegen/c_writer.hpp>
#include <augur/loopnest/codegen/naive_evaluator.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// What C is written for on this machine.
[[nodiscard]] inline c_options native_c_options(const machine& on) {
    c_options o;
    o.vector_floats = static_cast<int>(std::clamp(on.vector_bytes / 4, std::int64_t{1}, std::int64_t{16}));
    o.vector_registers = on.vector_bytes >= 64 || on.architecture == "aarch64" ? 32 : 16;
    return o;
}

/// A schedule of a task as a program, or why there is none.
/// Errors: those of `loop_state::apply` and `lower`; illegal_schedule, also where the source would pass `c_options::max_source_bytes`.
[[nodiscard]] inline result<generated_program> compile_schedule(const kernel_task& t, const step_list& schedule, const c_options& how = {},
                                                      const lower_options& lowering = {}) {
    loop_state s(t.dag());
    if (auto applied = s.apply(schedule); !applied) return applied.error();
    const auto lowered = lower(s, lowering);
    if (!lowered) return lowered.error();
    auto written = write_c(*lowered, how);
    if (written.source.empty())
        return error{errc::illegal_schedule, "the program is longer than " + std::to_string(how.max_source_bytes) + " bytes of C"};
    return written;
}

/// How far an output of `dag` may be from the naive nest's: by the longest chain of sums on the way to one element.
[[nodiscard]] inline tolerance tolerance_of(const compute_dag& dag) {
    double length = 1;
    for (const auto& op : dag.ops) {
        double own = 1;
        for (const auto& a : op.reduce_axes) own *= static_cast<double>(a.extent);
        length = (std::max)(length, own);
    }
    return tolerance::of_reduction(length);
}

/// Measures schedules of kernels. The outputs of every candidate are compared with those of the naive nest, which runs once a task.
///
/// Threads  one call at a time
class task_runner {
public:
    task_runner(program_runner runner, c_options how, lower_options lowering = {}) : runner_(std::move(runner)), how_(how), lowering_(lowering) {}

    /// One measurement a schedule. A schedule that cannot be lowered is `illegal_schedule`, with the reason.
    std::vector<measurement> measure(const kernel_task& t, std::span<const step_list> candidates) {
        std::vector<measurement> out(candidates.size());
        const auto known = prepare(t);
        std::vector<generated_program> programs;
        std::vector<std::size_t> place;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            auto p = known ? program_of(t, candidates[i], static_cast<unsigned>(i)) : result<generated_program>(known.error());
            if (!p) {
                out[i].status = known ? outcome::illegal_schedule : outcome::runner_error;
                out[i].reason = p.error().detail;
                continue;
            }
            programs.push_back(std::move(*p));
            place.push_back(i);
        }
        if (programs.empty()) return out;
        auto& mine = tasks_.find(t.key())->second;
        auto measured = runner_.measure(programs, mine.right, mine.best);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            if (measured[i].ok()) mine.best = mine.best > 0 ? (std::min)(mine.best, measured[i].latency()) : measured[i].latency();
            out[place[i]] = std::move(measured[i]);
        }
        return out;
    }

    /// Runs the naive nest of a task, if that was not done: its outputs are the reference, its latency the baseline.
    /// Errors: those of `program_runner::make_expected_outputs`
    result<void> prepare(const kernel_task& t) {
        if (tasks_.find(t.key()) != tasks_.end()) return {};
        const auto naive = naive_program(*t.dag());
        if (!naive) return naive.error();
        auto right = runner_.make_expected_outputs(*naive, tolerance_of(*t.dag()));
        if (!right) return right.error();
        tasks_.emplace(std::string(t.key()), known_task{std::move(*right), 0});
        return {};
    }

    /// Seconds of the naive nest, one thread; infinity when it has not run.
    [[nodiscard]] double naive_seconds(const kernel_task& t) const {
        const auto at = tasks_.find(t.key());
        return at == tasks_.end() ? std::numeric_limits<double>::infinity() : at->second.right.seconds;
    }

    /// What the outputs of a task are compared with.   pre: prepare(t)
    [[nodiscard]] const expected_outputs& right(const kernel_task& t) const {
        const auto at = tasks_.find(t.key());
        AUGUR_ASSERT(at != tasks_.end(), "task_runner::right: the task is not prepared");
        return at->second.right;
    }
    /// A schedule as this runner would compile it; `id` tells its names from those of others.   Errors: those of `compile_schedule`
    [[nodiscard]] result<generated_program> program_of(const kernel_task& t, const step_list& schedule, unsigned id) const {
        auto how = how_;
        how.id = id;
        return compile_schedule(t, schedule, how, lowering_);
    }

    [[nodiscard]] program_runner& programs() noexcept { return runner_; }
    [[nodiscard]] const program_runner& programs() const noexcept { return runner_; }

private:
    struct known_task {
        expected_outputs right;
        double best = 0; ///< seconds; 0: none yet
    };

    program_runner runner_;
    c_options how_;
    lower_options lowering_;
    std::map<std::string, known_task, std::less<>> tasks_;
};

/// The baseline that a programmer reaches with two annotations: every stage at the root, its outermost space loop parallel, its innermost one a
/// vector; no tiling.
[[nodiscard]] inline step_list untuned_schedule(const compute_dag& dag) {
    loop_state s(std::make_shared<const compute_dag>(dag));
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        const auto& op = dag.ops[i];
        if (op.placeholder()) continue;
        const auto stage = static_cast<std::int64_t>(i);
        const auto space = static_cast<std::int64_t>(op.axes.size());
        if (space == 0) continue;
        std::int64_t outer = 0;
        while (outer + 1 < space && op.axes[static_cast<std::size_t>(outer)].extent == 1) ++outer;
        const bool vector = space - 1 > outer && op.axes.back().extent <= 64;
        (void)static_cast<bool>(s.apply(annotate_step{stage, outer, loop_annotation::parallel}));
        if (vector) (void)static_cast<bool>(s.apply(annotate_step{stage, space - 1, loop_annotation::vectorize}));
    }
    return s.schedule();
}

} // namespace augur::inline v0::loopnest

#endif
