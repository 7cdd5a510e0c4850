// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_ONLINE_TRAINER_HPP
#define AUGUR_TLP_TRAIN_ONLINE_TRAINER_HPP

/// @file
/// Fits TLP's network to measurements by LambdaRank within each task.

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

/// What came of it.
struct online_fit_report {
    std::size_t steps = 0;
    std::size_t schedules = 0; ///< seen in all steps
    double first_loss = 0;     ///< mean over the ranking_lists of the first and the last epoch
    double last_loss = 0;
};

/// Moves `net`, which has one output, towards ranking the schedules of each group as their labels do.
///
/// A task's list has LambdaRank's loss divided by the number of its schedules, so that tasks with many records weigh as many but not their square;
/// a step takes the mean over its ranking_lists. (The authors rank the schedules of all tasks against each other.)
///
/// @param data    the schedules' rows (N), in order where the network sees it (`config::order`)
/// @param labels  (N) best latency of the group / latency, 0 for a failure
/// @param groups  (N) the task of each schedule, any numbers; a group of equal labels teaches nothing
/// pre: the spans fit together, the options check, one output
/// @return        what was done. Equal arguments give an equal network whatever the executor
template <nn::scalar S, bulk_executor Executor>
online_fit_report fit_online(model<S>& net, const deduplicated_batch& data, std::span<const float> labels, std::span<const std::uint32_t> groups, random_engine rng,
                       Executor& executor, const online_fit_options& options = {}) {
    AUGUR_ASSERT(data.size() == labels.size() && data.size() == groups.size() && options.check() && net.decoders.size() == 1, "tlp_fit: shape");
    // members of each group, groups in order of their number
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
    std::vector<std::span<std::uint32_t>> ranking_lists;
    std::vector<std::size_t> ends;

    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
        random_engine draw = rng.stream(epoch);
        ranking_lists.clear();
        for (auto& m : members) { // near-equal parts of at most `list`
            draw.shuffle(std::span<std::uint32_t>(m));
            const std::size_t parts = (m.size() + most - 1) / most;
            for (std::size_t p = 0; p < parts; ++p)
                ranking_lists.push_back(std::span<std::uint32_t>(m).subspan(m.size() * p / parts, m.size() * (p + 1) / parts - m.size() * p / parts));
        }
        draw.shuffle(std::span<std::span<std::uint32_t>>(ranking_lists));
        double sum = 0;
        for (std::size_t at = 0; at < ranking_lists.size();) {
            batch.clear();
            truth.clear();
            ends.clear();
            while (at < ranking_lists.size() && (ends.empty() || batch.size() + ranking_lists[at].size() <= batch_size)) {
                for (const auto i : ranking_lists[at]) {
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
        report.last_loss = sum / static_cast<double>(ranking_lists.size());
        if (epoch == 0) report.first_loss = report.last_loss;
    }
    return report;
}

} // namespace augur::inline v0::tlp

#endif
