// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_PPO_HPP
#define AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_PPO_HPP

/// @file
/// Proximal policy optimisation (Schulman et al. 2017) of walks on which every knob moves by one option, or stays: the agent of Chameleon.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/nn/types.hpp>

#include "actor_critic.hpp"

namespace examples {

/// Parameters of the agent; the defaults are Chameleon's (rl_model_optimizer.py).
struct ppo_options {
    double learning_rate = 1e-3;
    std::size_t epochs = 3; ///< batches after a walk
    std::size_t batch = 32; ///< steps of a batch, drawn with replacement
    double gamma = 0.9, lambda = 0.99;
    double clip = 0.2;
    double value_coefficient = 1, entropy_coefficient = 0.3;
};

/// Steps of walks.
struct ppo_steps {
    ppo_matrix states;  ///< (T, K); below 0: the point does not have the knob
    ppo_matrix actions; ///< (T, K) 0, 1 or 2
    ppo_matrix before;  ///< (T, K) log probabilities of the actions under the policy that chose them
    ppo_matrix gains;   ///< (T, 1) advantages, and
    ppo_matrix returns; ///< (T, 1) what the values should be
};

/// The loss of Chameleon: mean over the steps of
///
///     c_v (return - value)^2 - sum over knobs (min(r A, clip(r, 1 - c, 1 + c) A) + c_e entropy),   r = p(action) / p_before(action)
///
/// Each knob has its own ratio. Knobs that a point does not have are left out.
///
/// @param grad  its gradient, overwritten
inline double ppo_loss(const actor_critic& networks, const ppo_steps& steps, const ppo_options& options, actor_critic& grad) {
    const nn::index rows = steps.states.rows();
    const double share = 1 / static_cast<double>(rows);
    actor_critic::activations a;
    networks.act(steps.states, a);
    networks.judge(steps.states, a);
    double loss = 0;
    ppo_matrix by_logits = ppo_matrix::Zero(rows, a.log_probabilities.cols()), by_values(rows, 1);
    for (nn::index t = 0; t < rows; ++t) {
        const double off = a.values(t, 0) - steps.returns(t, 0), gain = steps.gains(t, 0);
        loss += share * options.value_coefficient * off * off;
        by_values(t, 0) = share * options.value_coefficient * 2 * off;
        for (nn::index k = 0; k < steps.states.cols(); ++k) {
            if (steps.states(t, k) < 0) continue;
            const auto log_p = a.log_probabilities.row(t).segment(k * knob_actions, knob_actions);
            const auto action = static_cast<nn::index>(steps.actions(t, k));
            const double ratio = std::exp(log_p[action] - steps.before(t, k));
            const double clipped = std::clamp(ratio, 1 - options.clip, 1 + options.clip) * gain;
            const double slope = ratio * gain <= clipped ? ratio * gain : 0; // by log p(action)
            double entropy = 0;
            for (nn::index j = 0; j < knob_actions; ++j) entropy -= std::exp(log_p[j]) * log_p[j];
            loss -= share * ((std::min)(ratio * gain, clipped) + options.entropy_coefficient * entropy);
            for (nn::index j = 0; j < knob_actions; ++j) {
                const double p = std::exp(log_p[j]);
                by_logits(t, k * knob_actions + j) =
                    share * (options.entropy_coefficient * p * (log_p[j] + entropy) - slope * ((j == action ? 1 : 0) - p));
            }
        }
    }
    nn::set_zero(grad);
    networks.backward(steps.states, a, by_logits, by_values, grad);
    return loss;
}

/// Generalised advantage estimation (Schulman et al. 2016) of one walk, after whose last step the value is 0.
[[nodiscard]] inline std::vector<double> generalised_advantages(std::span<const double> rewards, std::span<const double> values, double gamma,
                                                                double lambda) {
    std::vector<double> out(rewards.size());
    double after = 0, next_value = 0;
    for (std::size_t t = rewards.size(); t-- > 0;) {
        after = rewards[t] + gamma * next_value - values[t] + gamma * lambda * after;
        next_value = values[t];
        out[t] = after;
    }
    return out;
}

/// An agent that takes the steps of a walk, and learns from the rewards at its end.
///
/// Cost     of a step of 8 knobs some microseconds; of `learn` the values of the walk and `epochs` batches
/// Threads  one thread per object
class ppo_agent {
public:
    ppo_agent(std::size_t knobs, ppo_options options, augur::random_engine& rng)
        : options_(options), networks_(static_cast<nn::index>(knobs), rng), gradient_(networks_),
          adam_(networks_, {options.learning_rate, 0.9, 0.999, 1e-5, 0}) {}

    /// Begins a walk.
    void begin() {
        for (auto* part : {&states_, &actions_, &before_}) part->clear();
    }

    /// Draws an action for each knob.   state (K): below 0, the point does not have the knob, which stays
    void act(std::span<const double> state, std::span<nn::index> actions, augur::random_engine& rng) {
        networks_.act(Eigen::Map<const ppo_matrix>(state.data(), 1, static_cast<nn::index>(state.size())), now_);
        for (std::size_t k = 0; k < state.size(); ++k) {
            const auto log_p = actor_critic::of(now_.log_probabilities, k);
            actions[k] = 1;
            if (state[k] >= 0) {
                double left = rng.uniform();
                for (actions[k] = 0; actions[k] + 1 < knob_actions; ++actions[k])
                    if ((left -= std::exp(log_p(0, actions[k]))) < 0) break;
            }
            actions_.push_back(static_cast<double>(actions[k]));
            before_.push_back(log_p(0, actions[k]));
        }
        states_.insert(states_.end(), state.begin(), state.end());
    }

    /// Learns from the steps since `begin`.   rewards: one a step, at least one
    void learn(std::span<const double> rewards, augur::random_engine& rng) {
        const auto rows = static_cast<nn::index>(rewards.size()), knobs = static_cast<nn::index>(networks_.knobs.size());
        AUGUR_ASSERT(rows > 0 && static_cast<nn::index>(states_.size()) == rows * knobs, "ppo_agent: one reward a step");
        const auto matrix_of = [&](const std::vector<double>& v, nn::index columns) { return Eigen::Map<const ppo_matrix>(v.data(), rows, columns); };
        networks_.judge(matrix_of(states_, knobs), now_);
        const std::vector<double> values(now_.values.data(), now_.values.data() + rows);
        std::vector<double> gains = generalised_advantages(rewards, values, options_.gamma, options_.lambda), returns(rewards.begin(), rewards.end());
        for (std::size_t t = 0; t + 1 < returns.size(); ++t) returns[t] += options_.gamma * values[t + 1];
        standardise(gains);

        ppo_steps batch;
        for (std::size_t e = 0; e < options_.epochs; ++e) {
            std::vector<nn::index> chosen(options_.batch);
            for (nn::index& row : chosen) row = static_cast<nn::index>(rng.below(static_cast<std::uint64_t>(rows)));
            batch.states = matrix_of(states_, knobs)(chosen, Eigen::all);
            batch.actions = matrix_of(actions_, knobs)(chosen, Eigen::all);
            batch.before = matrix_of(before_, knobs)(chosen, Eigen::all);
            batch.gains = matrix_of(gains, 1)(chosen, Eigen::all);
            batch.returns = matrix_of(returns, 1)(chosen, Eigen::all);
            ppo_loss(networks_, batch, options_, gradient_);
            adam_.step(networks_, gradient_);
        }
    }

    [[nodiscard]] const actor_critic& networks() const noexcept { return networks_; }

private:
    ppo_options options_;
    actor_critic networks_, gradient_;
    nn::adam<actor_critic> adam_;
    actor_critic::activations now_;
    std::vector<double> states_, actions_, before_; ///< (T, K) of the walk

    /// Mean 0 and deviation 1. The published code divides by 0 if a walk has one step, and all its weights become NaN; here such a walk has no gains.
    static void standardise(std::vector<double>& x) {
        const auto n = static_cast<double>(x.size());
        double mean = 0, squares = 0;
        for (const double v : x) mean += v / n;
        for (const double v : x) squares += (v - mean) * (v - mean) / n;
        const double deviation = std::sqrt(squares);
        for (double& v : x) v = deviation > 1e-12 * (1 + std::abs(mean)) ? (v - mean) / deviation : 0;
    }
};

} // namespace examples

#endif
