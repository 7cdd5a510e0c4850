// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_DETAIL_TRAINING_LOOP_HPP
#define AUGUR_TLP_DETAIL_TRAINING_LOOP_HPP

/// @file
/// Training loop of TLP, for data sets and for a running search: batches of ranking groups, loss, gradient, learning rate, Adam.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/detail/ranking_groups.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/forward_backward.hpp>
#include <augur/tlp/train/mtl_loss.hpp>
#include <augur/tlp/train/options.hpp>
#include <augur/tlp/train/samples.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Learning rate in `epoch`, counted from 0, when the part `done` of the training is done, from 0 to 1.
[[nodiscard]] inline double learning_rate(const training_options& options, std::size_t epoch, double done) {
    double rate = options.learning_rate;
    if (options.fine.rate == learning_rate_decay::step)
        rate *= std::pow(options.fine.rate_factor, static_cast<double>(epoch / options.fine.rate_every));
    if (options.fine.rate == learning_rate_decay::cosine) rate *= 0.01 + 0.99 * 0.5 * (1 + std::cos(3.14159265358979323846 * done));
    return rate;
}

/// Loss of one ranking group by one output: mean squared error, or LambdaRank with sharpened labels plus expected regret.
/// Owns scratch memory: allocates nothing after its largest group.
class group_loss {
public:
    explicit group_loss(const training_options& options)
        : loss_(options.fine.loss), sharpness_(options.fine.sharpness), regret_(options.fine.regret) {}

    /// Returns the loss; gradient <- its derivative by the scores.   All (n).
    double operator()(std::span<const float> scores, std::span<const float> labels, std::span<float> gradient) {
        if (loss_ == training_loss::mse) return static_cast<double>(nn::mse(scores, labels, gradient));
        sharp_.assign(labels.begin(), labels.end());
        if (sharpness_ != 1)
            for (float& x : sharp_) x = static_cast<float>(std::pow(x, sharpness_));
        double value = rank_(scores, std::span<const float>(sharp_), gradient);
        if (regret_ > 0) {
            d_regret_.resize(gradient.size());
            const double weight = regret_ * static_cast<double>(scores.size()); // `rank_` is a sum over the group as well
            value += weight * nn::expected_regret(scores, labels, std::span<float>(d_regret_));
            for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += static_cast<float>(weight) * d_regret_[i];
        }
        return value;
    }

private:
    training_loss loss_;
    double sharpness_, regret_;
    nn::lambda_rank rank_;
    std::vector<float> sharp_, d_regret_; ///< (n) sharpened labels, gradient of the regret
};

/// Optimiser, ranking groups and scratch memory of one training. The callers decide the number of epochs and keep what is between them.
class training_loop {
public:
    /// @param like     model of the shape to be trained; its values are not used
    /// @param samples  samples of all ranking groups, with as many outputs as the model; kept by reference
    /// @param usable   indices into `samples` of those that are trained on, sorted by group
    /// pre: options.check(samples.outputs)
    training_loop(const model<float>& like, const training_samples& samples, const std::vector<std::uint32_t>& usable,
                  const training_options& options)
        : options_(options), samples_(&samples), groups_(samples, usable, options), loss_(options),
          adam_(like, {.learning_rate = options.learning_rate, .weight_decay = options.fine.weight_decay}), grad_(model<float>::zeros(like.config)),
          batch_(static_cast<std::size_t>(like.config.columns), like.config.order()) {}

    [[nodiscard]] ranking_groups& groups() { return groups_; }
    [[nodiscard]] nn::adam<model<float>>& optimiser() { return adam_; }
    [[nodiscard]] forward_backward<float>& pass() { return pass_; }

    /// Steps of an epoch with full batches.   pre: groups().size() > 0
    [[nodiscard]] std::size_t steps_per_epoch() const {
        const std::size_t batch = (std::min)(options_.batch, groups_.size());
        return (groups_.size() + batch - 1) / batch;
    }
    /// Epochs of the training: more than `options.epochs` if these have fewer than `least_steps` steps.   pre: groups().size() > 0
    [[nodiscard]] std::size_t epochs() const {
        const std::size_t steps = steps_per_epoch(), least = options_.fine.least_steps;
        return (std::max)(options_.epochs, least / steps + (least % steps != 0 ? 1 : 0));
    }

    /// Trains `net` for one epoch; returns the mean loss over the ranking groups, or without ranking groups the sum over the batches.
    ///
    /// @param drawn   groups of this epoch, drawn by `groups()`
    /// @param epoch   number of the epoch, from 0
    /// @param append  `append(batch, record)` appends the schedule of a sample with `samples.records[i] == record` to a batch
    /// @param done    `done(first)`: part of the training, from 0 to 1, that is done before the step that begins with group `first`
    template <class Append, class Done, bulk_executor Executor>
    double train_epoch(model<float>& net, std::span<const std::span<std::uint32_t>> drawn, std::size_t epoch, const Append& append, const Done& done,
                       Executor& executor) {
        double sum = 0;
        for (std::size_t next = 0; next < drawn.size();) {
            adam_.settings().learning_rate = learning_rate(options_, epoch, done(next));
            next = fill_batch(drawn, next, append);
            pass_.forward_to_train(net, batch_, executor, scores_);
            compute_loss(sum);
            pass_.backward(net, batch_, executor, std::span<const float>(d_scores_), grad_, options_.fine.decoders_only);
            update(net);
        }
        return groups_.ranked() ? sum / static_cast<double>(drawn.size()) : sum;
    }

private:
    /// Fills the batch with whole groups from `next` on, at most `options.batch` schedules. Returns the group behind them.
    template <class Append>
    std::size_t fill_batch(std::span<const std::span<std::uint32_t>> drawn, std::size_t next, const Append& append) {
        const auto outputs = static_cast<std::ptrdiff_t>(samples_->outputs);
        batch_.clear();
        labels_.clear();
        known_.clear();
        ends_.clear();
        while (next < drawn.size() && (ends_.empty() || batch_.size() + drawn[next].size() <= options_.batch)) {
            for (const std::uint32_t i : drawn[next]) {
                append(batch_, samples_->records[i]);
                const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(i) * outputs, last = first + outputs;
                labels_.insert(labels_.end(), samples_->labels.begin() + first, samples_->labels.begin() + last);
                known_.insert(known_.end(), samples_->known.begin() + first, samples_->known.begin() + last);
            }
            ends_.push_back(batch_.size());
            ++next;
        }
        scores_.resize(labels_.size());
        d_scores_.resize(labels_.size());
        return next;
    }

    /// Adds the loss of each group to `sum`; d_scores_ <- gradient of the loss of the step.
    ///
    /// The loss of a step is the mean over its ranking groups, and that of a group the mean over its schedules, so that the weight of a task grows
    /// linearly, not quadratically, with its number of records. The authors' code, as all losses without ranking groups, has one group per batch.
    void compute_loss(double& sum) {
        const std::size_t outputs = samples_->outputs;
        std::size_t begin = 0;
        for (const std::size_t end : ends_) {
            const std::size_t first = begin * outputs, n = (end - begin) * outputs;
            const auto d = std::span<float>(d_scores_).subspan(first, n);
            const double value = heads_(std::span<const float>(scores_).subspan(first, n), std::span<const float>(labels_).subspan(first, n),
                                        std::span<const std::uint8_t>(known_).subspan(first, n), options_.fine.output_weights, outputs, loss_, d);
            const double share = groups_.ranked() ? 1 / static_cast<double>(end - begin) : 1;
            sum += value * share;
            if (groups_.ranked())
                for (float& x : d) x *= static_cast<float>(share / static_cast<double>(ends_.size()));
            begin = end;
        }
    }

    /// Clips the gradient and moves the parameters; those outside the decoders stay with `decoders_only`.
    void update(model<float>& net) {
        const auto trained = [&](std::string_view name) {
            return !options_.fine.decoders_only || name.starts_with("decoder.") || name.starts_with("mtl_heads.");
        };
        nn::clip_norm(grad_, options_.fine.clip);
        adam_.step(net, grad_, trained);
    }

    training_options options_;
    const training_samples* samples_;
    ranking_groups groups_;
    group_loss loss_;
    mtl_loss<float> heads_;
    nn::adam<model<float>> adam_;
    model<float> grad_;
    forward_backward<float> pass_;
    // current batch
    deduplicated_batch batch_;
    std::vector<float> scores_, d_scores_, labels_; ///< (schedules, outputs)
    std::vector<std::uint8_t> known_;               ///< (schedules, outputs)
    std::vector<std::size_t> ends_;                 ///< schedules up to the end of each ranking group
};

} // namespace detail

} // namespace augur::inline v0::tlp

#endif
