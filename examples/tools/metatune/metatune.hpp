// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_METATUNE_HPP
#define AUGUR_EXAMPLES_TOOLS_METATUNE_HPP

/// @file
/// The parts of the program `metatune`: tuning logs as samples, and a training that can be interrupted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/loopnest/ir/task.hpp>
#include <augur/metatune.hpp>
#include <augur/schedule/steps.hpp>
#include <augur/session/schedule_rows.hpp>

#include "executor.hpp"

namespace metatune_program {

namespace metatune = augur::metatune;

// ---- logs.cpp

/// What was measured of a kernel on a machine, with one compiler and its flags: a task.
struct logged_kernel {
    augur::loopnest::kernel_task task;
    int cores = 0;                           ///< that its schedules are made for
    std::vector<augur::step_list> schedules; ///< each once
    std::vector<double> seconds;             ///< least latency of each; infinity: it failed
};
struct log_contents {
    std::vector<logged_kernel> kernels; ///< in the order of their first records
    std::size_t records = 0;
    std::size_t foreign = 0;  ///< records of kernels that the embedded compiler does not have
    std::size_t left_out = 0; ///< records of the kernels that were to be passed over
    std::size_t bad = 0;      ///< damaged lines
};
/// Reads tuning logs, plain or packed. Of a kernel with more than `most` schedules some are drawn.
/// Errors: those of `read_ansor_logs`; not_found, no kernel
augur::result<log_contents> read_logs(std::span<const std::string> paths, std::span<const augur::kernel> left_out, std::size_t most,
                                      std::uint64_t seed, examples::executor& threads);

/// The super-graph of these schedules, of the untuned one and of `random` schedules more of each kernel, so that it has slots for what a search proposes.
/// Kernels that nobody has measured (`unmeasured`) get the slots of such schedules alone.
/// Errors: those of `super_graph::add`, `kernel_task::create` and `ansor_space::create`
augur::result<metatune::super_graph> graph_of(std::span<const logged_kernel> kernels, std::span<const augur::kernel> unmeasured, std::size_t random,
                                              std::uint64_t seed, examples::executor& threads);

/// The measured candidates of a kernel that can be read.
struct kernel_samples {
    std::string name;
    metatune::task_samples samples;
    std::size_t unread = 0;   ///< schedules that cannot be lowered, or with a loop without a slot
    std::string first_unread; ///< why
};
std::vector<kernel_samples> samples_of(std::span<const logged_kernel> kernels, const augur::schedule_rows& rows, examples::executor& threads);

/// Standardises the samples.   Errors: those of `standardisation::apply`
augur::result<metatune::standardisation> standardise(std::span<kernel_samples> all);

// ---- kernels.cpp

/// Convolutions drawn from the ranges of the paper's Table 2, of five kinds in turn, with bias and ReLU: square images of 7, 14, ..., 224 (lines of 150,
/// 200, ..., 600), channels in steps of 16, or 3. None is a kernel of a network of `find_network`; the same convolution with other fused operations may be.
augur::result<std::vector<augur::kernel>> draw_kernels(std::size_t count, std::uint64_t seed);

// ---- training.cpp

struct training_plan {
    metatune::config shape; ///< `features` follow from the super-graph
    metatune::pretraining_options supervised;
    metatune::meta_training_options meta; ///< no steps: no meta-training
    std::uint64_t seed = 1;               ///< of the weights of the beginning
    std::string checkpoint;               ///< file from which an equal call goes on; empty: none
    double checkpoint_seconds = 60;       ///< between two of them

    /// Meta-training that prepares for `fine_tuning_options` as `cost_model` uses them, with the sizes of the authors' script.
    training_plan();
};
/// Stage and progress; false: write the checkpoint and stop.
using training_watch = std::function<bool(std::string_view, const metatune::training_progress&)>;

/// Pre-training, then meta-training. The weights do not depend on the number of threads, nor on whether the training was interrupted.
/// Errors: those of `pretrain`, `meta_train` and `load_checkpoint`; interrupted
augur::result<metatune::network<float>> train(std::span<const kernel_samples> kernels, const training_plan& plan, examples::executor& threads,
                                              const training_watch& watch);

} // namespace metatune_program

#endif
