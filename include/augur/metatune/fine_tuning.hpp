// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_FINE_TUNING_HPP
#define AUGUR_METATUNE_FINE_TUNING_HPP

/// @file
/// Adapts MetaTune's network to the measured candidates of one task (Ryu, Sung 2021, section 5).

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include <augur/core/error.hpp>
#include <augur/metatune/loss.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/samples.hpp>
#include <augur/metatune/training.hpp>

namespace augur::inline v0 {
namespace metatune {

/// Options of `fine_tune`: the steps of SGD for which meta-training prepares (`meta_training_options::preparing`), then Adam. The paper names no
/// optimiser and no number of steps.
struct fine_tuning_options {
    double inner_rate = 2e-3;     ///< learning rate of SGD
    std::size_t inner_steps = 5;  ///< of SGD
    double learning_rate = 1e-3;  ///< of Adam
    std::size_t steps = 100;      ///< of Adam
    bool frozen = true;           ///< trains the head only; false: the convolutions too
    double validity_weight = 0.1; ///< of the loss of the second output

    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check() const {
        if (detail::above_zero(inner_rate) && detail::above_zero(learning_rate) && detail::not_below_zero(validity_weight)) return {};
        return error{errc::invalid_argument, "metatune fine-tuning: expected learning rates above 0 and a weight of at least 0, got " +
                                                 std::to_string(inner_rate) + ", " + std::to_string(learning_rate) + " and " +
                                                 std::to_string(validity_weight)};
    }
};

inline meta_training_options meta_training_options::preparing(const fine_tuning_options& adapts) {
    meta_training_options o;
    o.inner.inner_rate = adapts.inner_rate;
    o.inner.inner_steps = adapts.inner_steps;
    o.frozen = adapts.frozen;
    o.validity_weight = adapts.validity_weight;
    o.cold = o.batch / 4;
    return o;
}

namespace detail {

/// Each step uses all samples.
template <class L, class M>
void fit(const L& loss, M& theta, const typename L::batch& data, const fine_tuning_options& options) {
    nn::maml<float, L>(loss, {options.inner_rate, options.inner_steps}).adapt(theta, data);
    auto optimiser = plain_adam(theta, options.learning_rate);
    typename L::template activation<float> kept;
    M gradient = theta;
    for (std::size_t s = 0; s < options.steps; ++s) {
        nn::set_zero(gradient);
        loss(theta, data, kept, gradient);
        optimiser.step(theta, gradient);
    }
}

} // namespace detail

/// Adapts `net` to the candidates of one task. Labels are relative to the least latency among them. Without samples, or with one output and failures
/// only, the weights do not change.
///
/// Repeatable: no random numbers.
/// Errors, after which `net` is unchanged: those of `fine_tuning_options::check` and `task_samples::check`; limit (the training diverged).
/// @note O(N (inner_steps + steps)) for N samples; with frozen convolutions they are evaluated once
[[nodiscard]] inline result<void> fine_tune(network<float>& net, const task_samples& samples, const fine_tuning_options& options = {}) {
    if (auto sound = options.check(); !sound) return sound;
    if (auto sound = samples.check(net.config); !sound) return sound;
    if (samples.candidates.empty()) return {};
    targets wanted;
    wanted.valid_share = options.validity_weight;
    const double least = samples.least();
    for (const double s : samples.seconds) detail::add_target(wanted, least, s);

    network<float> adapted = net;
    if (options.frozen) {
        detail::fit(head_loss{net.config}, adapted.head, {detail::embeddings_of(net, samples.candidates), std::move(wanted)}, options);
    } else {
        graph_samples data{candidate_graphs(net.config), std::move(wanted)};
        for (const loop_rows& one : samples.candidates)
            if (auto added = data.candidates.add(one); !added) return added;
        detail::fit(network_loss{net.config}, adapted, data, options);
    }
    if (const auto bad = adapted.not_finite(); !bad.empty())
        return error{errc::limit, "metatune fine-tuning: expected finite parameters, '" + bad + "' is not after training on " +
                                      std::to_string(samples.candidates.size()) + " candidates: lower the learning rates"};
    net = std::move(adapted);
    return {};
}

} // namespace metatune
} // namespace augur::inline v0

#endif
