// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_SPEED_LOSS_HPP
#define AUGUR_TLP_TRAIN_SPEED_LOSS_HPP

/// @file
/// TLP as a model that `nn::maml` meta-trains: the loss of predicted speeds, for any scalar.

#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/executor.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/types.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/forward_backward.hpp>

namespace augur::inline v0::tlp {

/// Schedules with their speeds.
struct measured_schedules {
    deduplicated_batch rows;
    std::vector<double> speeds; ///< of each schedule, for example the least latency of its task over its own
};

/// Smooth L1 of a model's scores and the speeds, mean over the schedules. Models `nn::differentiable_loss`.
///
/// ```cpp
/// augur::nn::maml<float, augur::tlp::speed_loss> meta(augur::tlp::speed_loss{net.config}, {.inner_rate = 0.01, .inner_steps = 5});
/// const float loss = meta.gradient(net, tasks, threads, gradient); // tasks: supports and queries of `measured_schedules`
/// ```
///
/// Threads  const calls are thread-safe with distinct activations and gradients
struct speed_loss {
    using batch = measured_schedules;
    template <nn::scalar S>
    struct activation {
        forward_backward<S> pass;
        std::vector<S> score, label, slope; ///< by schedule
    };

    tlp::config config; ///< with one output

    template <nn::scalar S>
    [[nodiscard]] model<S> zeros() const {
        return model<S>::zeros(config);
    }
    /// pre: a speed for each schedule
    template <nn::scalar S>
    S operator()(const model<S>& net, const measured_schedules& data, activation<S>& kept, model<S>& gradient) const {
        AUGUR_ASSERT(data.speeds.size() == data.rows.size() && config.outputs == 1, "tlp::speed_loss: shape");
        serial_executor serial; // the meta-tasks are parallel
        kept.score.assign(data.speeds.size(), S(0));
        kept.slope.assign(data.speeds.size(), S(0));
        kept.label.clear();
        for (const double speed : data.speeds) kept.label.push_back(S(speed));
        kept.pass.forward_to_train(net, data.rows, serial, std::span<S>(kept.score));
        const S loss = nn::smooth_l1<S>(kept.score, kept.label, kept.slope);
        kept.pass.backward(net, data.rows, serial, std::span<const S>(kept.slope), gradient);
        return loss;
    }
};

} // namespace augur::inline v0::tlp

#endif
