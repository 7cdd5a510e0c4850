// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_ONLINE_TRAINER_HPP
#define AUGUR_TLP_TRAIN_ONLINE_TRAINER_HPP

/// @file
/// Trains a TLP model on the few measurements of a running search, without validation.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/detail/training_loop.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/options.hpp>
#include <augur/tlp/train/samples.hpp>

namespace augur::inline v0::tlp {

/// Result of `fit_online`.
struct online_fit_report {
    std::size_t steps = 0;     ///< optimiser steps
    std::size_t schedules = 0; ///< sum of the batch sizes of all steps
    double first_loss = 0;     ///< mean loss over the ranking groups of the first epoch
    double last_loss = 0;      ///< mean loss over the ranking groups of the last epoch
};

namespace detail {

/// Samples of one output, sorted by task, then by index; `records` has the indices into `labels`.
[[nodiscard]] inline training_samples samples_by_task(std::span<const float> labels, std::span<const std::uint32_t> tasks) {
    training_samples out;
    out.records.resize(labels.size());
    std::iota(out.records.begin(), out.records.end(), 0U);
    std::sort(out.records.begin(), out.records.end(), [&](auto a, auto b) { return tasks[a] != tasks[b] ? tasks[a] < tasks[b] : a < b; });
    for (const std::uint32_t i : out.records) {
        out.groups.push_back(tasks[i]);
        out.labels.push_back(labels[i]);
    }
    out.known.assign(labels.size(), 1);
    return out;
}

} // namespace detail

/// Trains `net`, which has one output, to rank the schedules of each task by their labels. There is no validation: `net` gets the last weights, finite
/// or not, and `options.fine.patience` has no effect.
///
/// @param data     (N) schedules, in the row order `config::order` of the model
/// @param labels   (N) least latency of the task / latency, 0 for a failure
/// @param groups   (N) task of each schedule, any numbers; tasks whose labels are all equal are skipped
/// @param options  ranking groups are drawn from stream 1 of the seed
/// pre: equal N, options.check(1), no checkpoint, one output
/// @return         equal arguments give bit-identical weights with every executor
template <bulk_executor Executor>
online_fit_report fit_online(model<float>& net, const deduplicated_batch& data, std::span<const float> labels, std::span<const std::uint32_t> groups,
                             Executor& executor, const training_options& options = training_options::online()) {
    AUGUR_ASSERT(data.size() == labels.size() && data.size() == groups.size() && net.decoders.size() == 1, "fit_online: shape");
    AUGUR_ASSERT(options.check(1) && options.checkpoint.empty(), "fit_online: options");
    const training_samples samples = detail::samples_by_task(labels, groups);
    std::vector<std::uint32_t> all(samples.size());
    std::iota(all.begin(), all.end(), 0U);
    detail::training_loop loop(net, samples, all, options);
    online_fit_report report;
    if (loop.groups().size() == 0) return report;

    const std::size_t epochs = loop.epochs();
    const double planned = static_cast<double>(epochs) * static_cast<double>(loop.steps_per_epoch());
    const auto append = [&](deduplicated_batch& batch, std::uint32_t i) { batch.add(data, i); };
    // the groups of an epoch rarely fill all batches, so there may be more steps than planned
    const auto done = [&](std::size_t) { return (std::min)(1.0, static_cast<double>(loop.optimiser().steps()) / planned); };
    const random_engine rng = random_engine(options.seed).stream(1);
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
        report.last_loss = loop.train_epoch(net, loop.groups().redraw(rng.stream(epoch)), epoch, append, done, executor);
        if (epoch == 0) report.first_loss = report.last_loss;
        report.schedules += loop.groups().size();
    }
    report.steps = loop.optimiser().steps();
    return report;
}

} // namespace augur::inline v0::tlp

#endif
