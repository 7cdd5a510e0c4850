// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_TRAINING_HPP
#define AUGUR_METATUNE_TRAINING_HPP

/// @file
/// MetaTune's training on measurements of many tasks: supervised pre-training and meta-training (Ryu, Sung 2021, Algorithm 1).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/metatune/loss.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/samples.hpp>
#include <augur/nn/train/maml.hpp>
#include <augur/nn/train/optimiser.hpp>

namespace augur::inline v0 {
namespace metatune {

/// Options of `pretrain`. The defaults are those of the authors' training script.
struct pretraining_options {
    std::size_t epochs = 75;
    std::size_t batch = 128; ///< candidates a step
    double learning_rate = 2e-3;
    double validity_weight = 0.1; ///< of the loss of the second output
    std::uint64_t seed = 1;

    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check() const;
};

struct fine_tuning_options;

/// Options of `meta_train`. A meta-task has `ways` tasks with `shots` candidates each to adapt to, and `queries` others of each to be judged by.
/// The defaults adapt in one step and have no `cold` meta-tasks; `fine_tune` takes several steps. For weights that `fine_tune` or `cost_model` will
/// adapt, use `preparing`.
struct meta_training_options {
    nn::maml_options inner;   ///< how the model adapts to a meta-task
    std::size_t ways = 1;     ///< tasks of a meta-task; above 1 a meta-task mixes them, as in the paper's Figure 4
    std::size_t shots = 20;   ///< candidates of each to adapt to
    std::size_t queries = 20; ///< others of each, by which the adapted model is judged
    std::size_t batch = 32;   ///< meta-tasks a step
    std::size_t cold = 0;     ///< of these, meta-tasks without support: a search begins without measurements, so the start weights must predict, too
    std::size_t steps = 12800;
    double learning_rate = 1e-3;
    bool frozen = true;           ///< trains the head only, on embeddings computed once (paper section 5); false: the convolutions too
    double validity_weight = 0.1; ///< of the loss of the second output
    std::uint64_t seed = 1;

    /// Options for weights that `fine_tune` will adapt with these options: the same rate and number of inner steps, the same frozen layers and weight of
    /// validity; a quarter of the meta-tasks is `cold`, because a search begins before anything of its task is measured. All else has its default.
    /// Change `cold` with `batch`. Defined in fine_tuning.hpp.
    [[nodiscard]] static meta_training_options preparing(const fine_tuning_options& adapts);
    /// The authors' script: 20 ways, 1 shot, 1 query.
    static meta_training_options authors() {
        meta_training_options o;
        o.ways = 20;
        o.shots = o.queries = 1;
        return o;
    }
    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check() const;
};

/// Weights in training, Adam's moments and the number of steps done: all that a training needs to go on. A value: copy it to keep it. A state is of one
/// training: `meta_train` after `pretrain` begins with `training_state(pretrained.net)`, because both count their steps in `steps`.
struct training_state {
    network<float> net, first, second;
    std::size_t steps = 0;

    /// Begins a training at these weights.
    explicit training_state(network<float> start) : net(std::move(start)), first(network<float>::zeros(net.config)), second(first) {}
};

/// What a training tells after each step.
struct training_progress {
    std::size_t step = 0, steps = 0; ///< done, planned
    double loss = 0;                 ///< of this step; meta-training: of the adapted models, mean over the meta-tasks
};

/// What a call of `pretrain` or `meta_train` did.
struct training_report {
    std::size_t steps = 0; ///< of this call
    double first_loss = 0, last_loss = 0;
    bool stopped = false; ///< by `progress`
};

/// Trains the whole network on the candidates of all tasks: smooth L1 of the speed, least latency of the task / latency, by Adam (Algorithm 1, lines
/// 1 to 6). Failures have no speed and teach only the second output.
///
/// Goes on behind `state.steps`: a training that is interrupted and continued gives the same bits as one that is not, with every executor.
/// @param state     weights, changed in place, unless options or samples are refused; after `limit` they are of no use
/// @param progress  `progress(const training_progress&) -> bool` after each step; false stops
/// Errors: those of `pretraining_options::check` and `task_samples::check`; invalid_argument (no candidate), limit (the training diverged).
template <bulk_executor Executor, class Progress>
[[nodiscard]] result<training_report> pretrain(training_state& state, std::span<const task_samples> tasks, Executor& executor,
                                               const pretraining_options& options, Progress&& progress);

/// Trains the head, or the whole network, to adapt to a task in a few steps of SGD (Algorithm 1, lines 7 to 14). Tasks with fewer than shots +
/// queries candidates are left out. Speeds are relative to the best candidate of the support, as in `fine_tune`, so a query's may be above 1; without a
/// support (`cold`), or without a success in it, to the best candidate of the whole task.
///
/// Repeatable, resumable and interruptible as `pretrain`.
/// Errors: those of `meta_training_options::check` and `task_samples::check`; invalid_argument (fewer tasks than `ways`), limit (the training
/// diverged).
template <bulk_executor Executor, class Progress>
[[nodiscard]] result<training_report> meta_train(training_state& state, std::span<const task_samples> tasks, Executor& executor,
                                                 const meta_training_options& options, Progress&& progress);

} // namespace metatune
} // namespace augur::inline v0

#include <augur/metatune/detail/training_impl.hpp>

#endif
