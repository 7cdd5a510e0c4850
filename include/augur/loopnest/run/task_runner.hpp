// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_TASK_RUNNER_HPP
#define AUGUR_LOOPNEST_RUN_TASK_RUNNER_HPP

/// @file
/// Measures schedules of kernels: lowering, C generation, compilation, execution, output check and timing. Models the concept `runner`.

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
#include <augur/loopnest/codegen/naive_program.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/lower/lower.hpp>
#include <augur/loopnest/run/program_runner.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/target/machine.hpp>

namespace augur::inline v0::loopnest {

/// Lowers a schedule of a task and generates its C program.
/// Errors: those of `loop_state::apply` and `lower`; illegal_schedule also for a source longer than `c_options::max_source_bytes`.
[[nodiscard]] inline result<generated_program> compile_schedule(const kernel_task& t, const step_list& schedule, const c_options& options = {},
                                                                const lower_options& lowering = {}) {
    loop_state s(t.dag());
    if (auto applied = s.apply(schedule); !applied) return applied.error();
    const auto lowered = lower(s, lowering);
    if (!lowered) return lowered.error();
    auto written = write_c(*lowered, options);
    if (written.source.empty())
        return error{errc::illegal_schedule, "the program is longer than " + std::to_string(options.max_source_bytes) + " bytes of C"};
    return written;
}

namespace detail {

/// The mean square of a computed tensor that reads no other one; 1 for a large one, or one that cannot be evaluated.
inline double constant_mean_square(const operation& op) {
    compute_dag alone;
    alone.ops.push_back(op);
    std::vector<std::vector<float>> tensors(1);
    if (op.elements() > 4096 || !evaluate(alone, tensors)) return 1;
    double sum = 0;
    for (const auto x : tensors[0]) sum += static_cast<double>(x) * static_cast<double>(x);
    return sum / static_cast<double>(op.elements());
}

} // namespace detail

/// The tolerance of the outputs of `dag` against the naive nest, based on its longest reduction. Inputs have the magnitude 1. Products with constant
/// matrices (Winograd) have terms of another one, which counts through the stages that follow.
[[nodiscard]] inline tolerance tolerance_of(const compute_dag& dag) {
    double length = 1;
    std::vector<double> mean_square(dag.ops.size(),
                                    1); // of stages that depend on constant matrices; others are taken to have the magnitude of inputs
    for (std::size_t i = 0; i < dag.ops.size(); ++i) {
        const auto& op = dag.ops[i];
        if (op.placeholder()) continue;
        double steps = 1;
        for (const auto& a : op.reduce_axes) steps *= static_cast<double>(a.extent);
        double factors = 1;
        bool reads = false;
        walk(op.body, [&](const expr_node& n) {
            if (n.op != expr_op::read) return;
            reads = true;
            factors *= mean_square[dag.index_of(static_cast<int>(n.integer))];
        });
        if (!reads) factors = detail::constant_mean_square(op);
        if (factors != 1) mean_square[i] = steps * factors;
        if (reads) length = (std::max)(length, steps * factors);
    }
    return tolerance::of_reduction(length);
}

/// Measures schedules of kernels. The outputs of every candidate are compared with those of the naive nest, which runs once per task.
///
/// Threads  one call at a time
class task_runner {
public:
    task_runner(program_runner runner, c_options options, lower_options lowering = {})
        : runner_(std::move(runner)), code_options_(options), lowering_(lowering) {}

    /// One measurement per schedule. A schedule that cannot be lowered gives `illegal_schedule`, with the reason.
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
        auto& task = tasks_.find(t.key())->second;
        auto measured = runner_.measure(programs, task.right, task.best);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            if (measured[i].ok()) task.best = task.best > 0 ? (std::min)(task.best, measured[i].latency()) : measured[i].latency();
            out[place[i]] = std::move(measured[i]);
        }
        return out;
    }

    /// Runs the naive nest of a task unless it has run before. Its outputs are the reference, its latency is the baseline.
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

    /// Latency of the naive nest in seconds, one thread; infinity if it has not run.
    [[nodiscard]] double naive_seconds(const kernel_task& t) const {
        const auto at = tasks_.find(t.key());
        return at == tasks_.end() ? std::numeric_limits<double>::infinity() : at->second.right.seconds;
    }

    /// The reference outputs of a task.   pre: prepare(t)
    [[nodiscard]] const expected_outputs& right(const kernel_task& t) const {
        const auto at = tasks_.find(t.key());
        AUGUR_ASSERT(at != tasks_.end(), "task_runner::right: the task is not prepared");
        return at->second.right;
    }
    /// The program of a schedule as this runner would compile it; `id` makes its entry names distinct.   Errors: those of `compile_schedule`
    [[nodiscard]] result<generated_program> program_of(const kernel_task& t, const step_list& schedule, unsigned id) const {
        auto options = code_options_;
        options.id = id;
        return compile_schedule(t, schedule, options, lowering_);
    }

    [[nodiscard]] program_runner& programs() noexcept { return runner_; }
    [[nodiscard]] const program_runner& programs() const noexcept { return runner_; }

private:
    struct known_task {
        expected_outputs right;
        double best = 0; ///< best latency in seconds; 0: none yet
    };

    program_runner runner_;
    c_options code_options_;
    lower_options lowering_;
    std::map<std::string, known_task, std::less<>> tasks_;
};

} // namespace augur::inline v0::loopnest

#endif
