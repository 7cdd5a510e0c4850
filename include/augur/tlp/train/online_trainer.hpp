// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_ONLINE_TRAINER_HPP
#define AUGUR_TLP_TRAIN_ONLINE_TRAINER_HPP

/// @file
/// Trains a TLP model on the few measurements of a running search, with LambdaRank within each task.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/forward_backward.hpp>
#include <augur/tlp/train/options.hpp>

namespace augur::inline v0::tlp {

/// Result of `fit_online`.
struct online_fit_report {
    std::size_t steps = 0;     ///< optimiser steps
    std::size_t schedules = 0; ///< sum of the batch sizes of all steps
    double first_loss = 0;     ///< mean loss over the ranking groups of the first epoch
    double last_loss = 0;      ///< mean loss over the ranking groups of the last epoch
};

/// Trains `net`, which has one output, to rank the schedules of each task by their labels. Full-model training with Adam and a cosine learning rate.
///
/// The loss of a ranking group is LambdaRank's sum divided by the group's number of schedules, so that the weight of a task grows linearly, not
/// quadratically, with its number of records; a step takes the mean over its ranking groups. The authors' code ranks the schedules of all tasks
/// against each other.
///
/// @param data    (N) schedules, in the row order `config::order` of the model
/// @param labels  (N) least latency of the task / latency, 0 for a failure
/// @param groups  (N) task of each schedule, any numbers; tasks whose labels are all equal are skipped
/// pre: equal N, options.check(), one output
/// @return        equal arguments give bit-identical weights with every executor
template <nn::scalar S, bulk_executor Executor>
online_fit_report fit_online(model<S>& net, const deduplicated_batch& data, std::span<const float> labels, std::span<const std::uint32_t> groups,
                             random_engine rng, Executor& executor, const online_fit_options& options = {}) {
    AUGUR_ASSERT(data.size() == labels.size() && data.size() == groups.size() && options.check() && net.decoders.size() == 1, "fit_online: shape");
    // schedules of each task, tasks in the order of their numbers
    std::vector<std::uint32_t> order(data.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return groups[a] != groups[b] ? groups[a] < groups[b] : a < b; });
    std::vector<std::vector<std::uint32_t>> members;
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        bool differ = false;
        while (end < order.size() && groups[order[end]] == groups[order[i]]) differ |= labels[order[end++]] != labels[order[i]];
        if (differ) members.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(i), order.begin() + static_cast<std::ptrdiff_t>(end));
        i = end;
    }
    online_fit_report report;
    std::size_t teach = 0;
    for (const auto& m : members) teach += m.size();
    if (teach == 0) return report;

    const std::size_t most = (std::min)(options.list, teach), batch_size = (std::min)(options.batch, teach);
    const std::size_t steps_an_epoch = (teach + batch_size - 1) / batch_size;
    const std::size_t at_least = options.least_steps / steps_an_epoch + (options.least_steps % steps_an_epoch != 0 ? 1 : 0);
    const std::size_t epochs = (std::max)(options.epochs, at_least);
    const double planned = static_cast<double>(epochs) * static_cast<double>(steps_an_epoch);

    nn::adam<model<S>> adam(net, {.learning_rate = options.learning_rate, .weight_decay = options.weight_decay});
    auto grad = model<S>::zeros(net.config);
    forward_backward<S> pass;
    nn::lambda_rank rank;
    deduplicated_batch batch(data.columns(), net.config.order());
    std::vector<S> scores, d_scores, truth;
    std::vector<std::span<std::uint32_t>> ranking_groups;
    std::vector<std::size_t> ends;

    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
        random_engine draw = rng.stream(epoch);
        ranking_groups.clear();
        for (auto& m : members) { // split into parts of nearly equal size, at most options.list
            draw.shuffle(std::span<std::uint32_t>(m));
            const std::size_t parts = (m.size() + most - 1) / most;
            for (std::size_t p = 0; p < parts; ++p)
                ranking_groups.push_back(
                    std::span<std::uint32_t>(m).subspan(m.size() * p / parts, m.size() * (p + 1) / parts - m.size() * p / parts));
        }
        draw.shuffle(std::span<std::span<std::uint32_t>>(ranking_groups));
        double sum = 0;
        for (std::size_t at = 0; at < ranking_groups.size();) {
            batch.clear();
            truth.clear();
            ends.clear();
            while (at < ranking_groups.size() && (ends.empty() || batch.size() + ranking_groups[at].size() <= batch_size)) {
                for (const auto i : ranking_groups[at]) {
                    batch.add(data, i);
                    truth.push_back(static_cast<S>(labels[i]));
                }
                ends.push_back(batch.size());
                ++at;
            }
            scores.resize(batch.size());
            d_scores.resize(batch.size());
            pass.forward_to_train(net, batch, executor, scores);
            std::size_t begin = 0;
            for (const std::size_t end : ends) {
                const std::size_t n = end - begin;
                const auto d = std::span<S>(d_scores).subspan(begin, n);
                sum += rank(std::span<const S>(scores).subspan(begin, n), std::span<const S>(truth).subspan(begin, n), d) / static_cast<double>(n);
                const S scale = S(1.0 / (static_cast<double>(n) * static_cast<double>(ends.size())));
                for (S& x : d) x *= scale;
                begin = end;
            }
            pass.backward(net, batch, executor, std::span<const S>(d_scores), grad);
            nn::clip_norm(grad, options.clip);
            const double done = (std::min)(1.0, static_cast<double>(report.steps) / planned);
            adam.settings().learning_rate = options.learning_rate * (0.01 + 0.99 * 0.5 * (1 + std::cos(3.14159265358979323846 * done)));
            adam.step(net, grad);
            ++report.steps;
            report.schedules += batch.size();
        }
        report.last_loss = sum / static_cast<double>(ranking_groups.size());
        if (epoch == 0) report.first_loss = report.last_loss;
    }
    return report;
}

} // namespace augur::inline v0::tlp

#endif
