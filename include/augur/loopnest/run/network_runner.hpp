// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_RUN_NETWORK_RUNNER_HPP
#define AUGUR_LOOPNEST_RUN_NETWORK_RUNNER_HPP

/// @file
/// Measures a whole network: latency of the whole, and of each kernel inside it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/printable.hpp>
#include <augur/loopnest/codegen/naive_program.hpp>
#include <augur/loopnest/codegen/network_program.hpp>
#include <augur/loopnest/detail/worker_limits.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/loopnest/run/task_runner.hpp>
#include <augur/record/measurement.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0::loopnest {

/// Latencies of a network in seconds over several processes: the fastest one, quartiles, the slowest one. Infinity: it failed.
struct network_latency {
    double least = 0, low = 0, median = 0, high = 0, most = 0;

    /// pre: values is not empty
    [[nodiscard]] static network_latency of(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        const auto at = [&](double share) { return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)]; };
        return {at(0), at(0.25), at(0.5), at(0.75), at(1)};
    }
    /// The distance of the quartiles, relative to the median.
    [[nodiscard]] double spread() const noexcept { return (high - low) / median; }
};

/// Measures programs of one network. Their outputs are compared with those of the naive nests of all its kernels, which run once.
///
/// Threads  one call at a time; uses the task runner that it was made with
class network_runner {
public:
    /// Runs the naive nests of the whole network once: as long as the sum of them, on one thread.
    ///
    /// @param runner  must outlive this object
    /// @param tasks   one for each of `g.kernels()`, in the same order
    /// @param weights numbers of the caller; its file must stay as it is
    /// Errors: invalid_argument (tasks of other kernels, an output that is not finite, with which nothing can be compared); limit (the buffers need more
    ///         memory than the machine has); those of `write_network` and `program_runner::make_expected_outputs`
    [[nodiscard]] static result<network_runner> create(task_runner& runner, network_graph g, std::span<const kernel_task> tasks,
                                                       network_weights weights = {}) {
        network_runner out(runner, std::move(g), tasks);
        const auto list = out.graph_.kernels().kernels;
        const auto same = [](const kernel_task& t, const network_kernel& k) { return t.workload() == k.workload; };
        if (!std::equal(tasks.begin(), tasks.end(), list.begin(), list.end(), same))
            return error{errc::invalid_argument, "network '" + printable(out.graph_.name()) + "': expected one task for each of its " +
                                                     std::to_string(list.size()) + " kernels, in their order"};
        out.weights_ = std::move(weights);
        std::vector<generated_program> naive;
        double length = 1;
        for (std::size_t k = 0; k < tasks.size(); ++k) {
            auto p = naive_program(*tasks[k].dag(), "augur_naive_" + std::to_string(k));
            if (!p) return p.error();
            naive.push_back(std::move(*p));
        }
        for (std::size_t i = 0; i < out.graph_.nodes().size(); ++i) length += out.graph_.kernel_of(i) != nullptr ? 1 : 0;
        const auto whole = write_network(out.graph_, naive, {.weights = &out.weights_, .in_place = false});
        if (!whole) return whole.error();
        if (auto fits = out.check_memory(whole->program); !fits) return fits.error();
        auto right = runner.programs().make_expected_outputs(whole->program, tolerance_of_network(length));
        if (!right) return right.error();
        out.right_ = std::move(*right);
        if (auto finite = out.check_outputs(); !finite) return finite.error();
        return out;
    }

    [[nodiscard]] const network_graph& graph() const noexcept { return graph_; }
    /// Latency of the naive network in seconds, one thread, one run.
    [[nodiscard]] double naive_seconds() const noexcept { return right_.seconds; }
    /// The outputs of the naive network.
    [[nodiscard]] const expected_outputs& right() const noexcept { return right_; }

    /// The network with a schedule for each kernel, as it is measured.
    /// @param timed_runs  as in `network_options`
    /// Errors: invalid_argument (not one schedule for each kernel); those of `compile_schedule` and `write_network`; limit, as in `create`
    [[nodiscard]] result<network_program> program_of(std::span<const step_list> schedules, int timed_runs = 0) const {
        if (schedules.size() != tasks_.size())
            return error{errc::invalid_argument, "network '" + printable(graph_.name()) + "': expected " + std::to_string(tasks_.size()) +
                                                     " schedules, got " + std::to_string(schedules.size())};
        std::vector<generated_program> kernels;
        for (std::size_t k = 0; k < tasks_.size(); ++k) {
            auto p = runner_->program_of(tasks_[k], schedules[k], static_cast<unsigned>(k));
            if (!p) return error{p.error().code, tasks_[k].workload().text() + ": " + p.error().detail};
            kernels.push_back(std::move(*p));
        }
        auto out = write_network(graph_, kernels, {.weights = &weights_, .timed_runs = timed_runs});
        if (!out) return out;
        if (auto fits = check_memory(out->program); !fits) return fits.error();
        return out;
    }

    /// Measures the whole, as `program_runner::measure` measures a kernel.   Errors: those of `program_of`
    [[nodiscard]] result<measurement> measure(std::span<const step_list> schedules) {
        const auto whole = program_of(schedules);
        if (!whole) return whole.error();
        return runner_->programs().measure(std::span(&whole->program, 1), right_).front();
    }

    /// Seconds of each node inside the network, the median of the runs of three processes; 0 for a node that is not executed.
    /// Cost    three compilations of the network
    /// Errors: those of `program_of` and `program_runner::make_expected_outputs`
    [[nodiscard]] result<std::vector<double>> times_inside(std::span<const step_list> schedules) {
        constexpr int processes = 3, runs = 24, warm = 4; // the first runs find cold caches; what disturbs one process is over before the next one
        const auto whole = program_of(schedules, runs);
        if (!whole) return whole.error();
        const auto steps = whole->steps.size();
        std::vector<std::vector<float>> of_step(steps);
        for (int p = 0; p < processes; ++p) {
            const auto ran = runner_->programs().make_expected_outputs(whole->program, right_.allowed);
            if (!ran) return ran.error();
            const auto outputs = program_runner::read_reference(*ran);
            ::unlink(ran->path.c_str()); // the work folder lives as long as the runner
            if (!outputs) return outputs.error();
            const auto& times = outputs->back();
            for (std::size_t r = warm; r < static_cast<std::size_t>(runs); ++r)
                for (std::size_t s = 0; s < steps; ++s) of_step[s].push_back(times[r * steps + s]);
        }
        std::vector<double> out(graph_.nodes().size(), 0.0);
        for (std::size_t s = 0; s < steps; ++s) {
            const auto middle = of_step[s].begin() + static_cast<std::ptrdiff_t>(of_step[s].size() / 2);
            std::nth_element(of_step[s].begin(), middle, of_step[s].end());
            out[whole->steps[s]] = static_cast<double>(*middle);
        }
        return out;
    }

    /// The seconds of each kernel: the sum over its calls.
    /// @param inside  of `times_inside`
    [[nodiscard]] std::vector<double> seconds_of_kernels(std::span<const double> inside) const {
        std::vector<double> out(tasks_.size(), 0.0);
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            const auto* k = graph_.kernel_of(i);
            if (k == nullptr) continue;
            const auto at = std::find_if(tasks_.begin(), tasks_.end(), [&](const kernel_task& t) { return t.workload() == *k; });
            out[static_cast<std::size_t>(at - tasks_.begin())] += inside[i];
        }
        return out;
    }

    /// Latencies of variants of the network. A round visits all of them in turn, each in a process of its own, so that what disturbs the machine does not meet
    /// one alone.
    /// @param variants  a schedule for each kernel; one that cannot be lowered has failed, and so has what a stop leaves out
    /// @param rounds    at least 1
    [[nodiscard]] std::vector<network_latency> compare(std::span<const std::vector<step_list>> variants, int rounds) {
        AUGUR_ASSERT(rounds >= 1, "network_runner: at least one round");
        std::vector<generated_program> programs;
        std::vector<std::size_t> place;
        for (std::size_t v = 0; v < variants.size(); ++v) {
            auto p = program_of(variants[v]);
            if (!p) continue;
            programs.push_back(std::move(p->program));
            place.push_back(v);
        }
        std::vector<std::vector<double>> seconds(variants.size(),
                                                 std::vector<double>(static_cast<std::size_t>(rounds), std::numeric_limits<double>::infinity()));
        const auto built = runner_->programs().build(programs);
        for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r)
            for (std::size_t i = 0; i < place.size(); ++i)
                if (const auto m = runner_->programs().run(built, i, right_); m.ok()) seconds[place[i]][r] = m.latency();
        std::vector<network_latency> out;
        for (auto& s : seconds) out.push_back(network_latency::of(std::move(s)));
        return out;
    }

    /// The contents of the constants that kernels read, packed, in the order of `p.constants`. Compiles `p` once more.
    /// Errors: those of `program_runner::make_expected_outputs`
    [[nodiscard]] result<std::vector<std::vector<float>>> constants(const network_program& p) {
        using role = program_buffer::role;
        auto job = p.program; // packs, and has the packed buffers as its outputs, then copies of those that are not packed
        job.entry += "_constants";
        auto& source = job.source += "void " + job.entry + "(float *const *b, aug_launch launch) {\n    (void)launch;\n";
        if (!job.pack_entry.empty()) source += "    " + job.pack_entry + "(b);\n";
        job.pack_entry.clear();
        for (auto& b : job.buffers)
            if (b.purpose == role::output) b.purpose = role::scratch;
        std::vector<std::size_t> place(p.program.buffers.size()); // of a constant among the outputs
        std::size_t outputs = 0;
        for (std::size_t i = 0; i < place.size(); ++i) {
            if (job.buffers[i].purpose != role::packed) continue;
            job.buffers[i].purpose = role::output;
            place[i] = outputs++;
        }
        for (const auto c : p.constants) {
            if (p.program.buffers[c].purpose != role::weight) continue;
            source += "    __builtin_memcpy(b[" + std::to_string(job.buffers.size()) + "], b[" + std::to_string(c) + "], " +
                      std::to_string(job.buffers[c].elements * static_cast<std::int64_t>(sizeof(float))) + ");\n";
            job.buffers.push_back({role::output, job.buffers[c].elements, 0});
            place[c] = outputs++;
        }
        source += "}\n";
        const auto made = runner_->programs().make_expected_outputs(job);
        if (!made) return made.error();
        auto read = program_runner::read_reference(*made);
        ::unlink(made->path.c_str());
        if (!read) return read.error();
        std::vector<std::vector<float>> out;
        for (const auto c : p.constants) out.push_back(std::move((*read)[place[c]]));
        return out;
    }

private:
    task_runner* runner_;
    network_graph graph_;
    std::vector<kernel_task> tasks_;
    expected_outputs right_;
    network_weights weights_;

    network_runner(task_runner& runner, network_graph g, std::span<const kernel_task> tasks)
        : runner_(&runner), graph_(std::move(g)), tasks_(tasks.begin(), tasks.end()) {}

    /// Values keep the magnitude of the inputs through all kernels, and the rounding errors of `kernels` of them add up as those of a sum.
    static tolerance tolerance_of_network(double kernels) noexcept { return {1e-4 * std::sqrt(kernels), 1e-3}; }

    /// Every program would be right that computes no numbers where the naive one does not.
    [[nodiscard]] result<void> check_outputs() const {
        const auto outputs = program_runner::read_reference(right_);
        if (!outputs) return outputs.error();
        for (std::size_t o = 0; o < outputs->size(); ++o) {
            const auto& values = (*outputs)[o];
            const auto at = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
            if (at != values.end())
                return error{errc::invalid_argument, "network '" + printable(graph_.name()) + "': output '" +
                                                         printable(graph_.nodes()[graph_.outputs()[o]].name) + "' is not finite at element " +
                                                         std::to_string(at - values.begin()) + ": its weights or inputs are too large"};
        }
        return {};
    }

    /// Asked before a compiler starts.
    [[nodiscard]] result<void> check_memory(const generated_program& p) const {
        auto fits = detail::check_memory(p, runner_->programs().options().huge_pages);
        if (fits) return fits;
        return error{fits.error().code, "network '" + printable(graph_.name()) + "': " + fits.error().detail};
    }
};

} // namespace augur::inline v0::loopnest

#endif
