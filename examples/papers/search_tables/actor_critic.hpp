// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_ACTOR_CRITIC_HPP
#define AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_ACTOR_CRITIC_HPP

/// @file
/// The networks of Chameleon's agent: a policy that moves each knob, and the value of a state.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/types.hpp>

namespace examples {

namespace nn = augur::nn;
using ppo_matrix = nn::matrix<double>;

/// The actions of a knob: 0 one option down, 1 stay, 2 one option up.
inline constexpr nn::index knob_actions = 3;

/// The networks of the agent, which share no parameters (ppo_core.py):
///
///     states (T, K)    log probabilities of the actions (T, 3 K)    values (T, 1)
struct actor_critic {
    using layer = nn::linear<double>;
    /// What a knob has of its own: tanh(. second), and of ten times that softmax(. last); the first layers of all knobs are one, `actor_critic::heads`.
    struct knob_layers {
        layer second, last; ///< (3, 3)
    };
    /// What a forward pass stores for the backward pass.
    struct activations {
        std::array<ppo_matrix, 2> trunk;             ///< (T, 20)
        ppo_matrix heads, second, log_probabilities; ///< (T, 3 K)
        std::array<ppo_matrix, 3> hidden;            ///< (T, 20)
        ppo_matrix values;                           ///< (T, 1)
    };

    std::array<layer, 2> trunk;     ///< (K, 20), (20, 20), tanh
    layer heads;                    ///< (20, 3 K), tanh
    std::vector<knob_layers> knobs; ///< (K)
    std::array<layer, 4> value;     ///< (K, 20), (20, 20), (20, 20), tanh; (20, 1)

    /// The columns of a knob.
    static auto of(ppo_matrix& m, std::size_t knob) { return m.middleCols(static_cast<nn::index>(knob) * knob_actions, knob_actions); }
    static auto of(const ppo_matrix& m, std::size_t knob) { return m.middleCols(static_cast<nn::index>(knob) * knob_actions, knob_actions); }

    /// Weights as TensorFlow draws them (Glorot, Bengio 2010, uniform), biases 0.
    actor_critic(nn::index n, augur::random_engine& rng) : knobs(static_cast<std::size_t>(n)) {
        const auto make = [&](layer& l, nn::index inputs, nn::index outputs, nn::index outputs_of_one) {
            l = layer::zeros(inputs, outputs);
            nn::fill_uniform(l.W, std::sqrt(6 / static_cast<double>(inputs + outputs_of_one)), rng);
        };
        constexpr nn::index width = 20;
        make(trunk[0], n, width, width);
        make(trunk[1], width, width, width);
        make(heads, width, knob_actions * n, knob_actions);
        for (knob_layers& k : knobs)
            for (layer* l : {&k.second, &k.last}) make(*l, knob_actions, knob_actions, knob_actions);
        make(value[0], n, width, width);
        make(value[1], width, width, width);
        make(value[2], width, width, width);
        make(value[3], width, 1, 1);
    }

    /// Calls f(name, parameters...) for each parameter of several networks together. The names say the part only.
    template <class F, class... N>
    static void visit(F&& f, N&... networks) {
        for (std::size_t i = 0; i < 2; ++i) layer::visit(f, networks.trunk[i]...);
        layer::visit(f, networks.heads...);
        const std::size_t count[] = {networks.knobs.size()...};
        for (std::size_t k = 0; k < count[0]; ++k) {
            layer::visit(f, networks.knobs[k].second...);
            layer::visit(f, networks.knobs[k].last...);
        }
        for (std::size_t i = 0; i < 4; ++i) layer::visit(f, networks.value[i]...);
    }

    /// The policy: fills all of `a` but `hidden` and `values`.
    void act(nn::in<double> states, activations& a) const {
        dense(trunk[0], states, a.trunk[0]);
        dense(trunk[1], a.trunk[0], a.trunk[1]);
        dense(heads, a.trunk[1], a.heads);
        a.second.resize(states.rows(), a.heads.cols());
        a.log_probabilities.resize(states.rows(), a.heads.cols());
        for (std::size_t k = 0; k < knobs.size(); ++k) {
            auto second = of(a.second, k), logits = of(a.log_probabilities, k);
            knobs[k].second.forward(of(a.heads, k), second);
            second = sharpness * second.array().tanh();
            knobs[k].last.forward(second, logits);
            for (nn::index t = 0; t < logits.rows(); ++t) {
                const double high = logits.row(t).maxCoeff();
                double sum = 0;
                for (nn::index j = 0; j < knob_actions; ++j) sum += std::exp(logits(t, j) - high);
                logits.row(t).array() -= high + std::log(sum);
            }
        }
    }

    /// The value network: fills `hidden` and `values`.
    void judge(nn::in<double> states, activations& a) const {
        dense(value[0], states, a.hidden[0]);
        dense(value[1], a.hidden[0], a.hidden[1]);
        dense(value[2], a.hidden[1], a.hidden[2]);
        a.values.resize(states.rows(), 1);
        value[3].forward(a.hidden[2], a.values);
    }

    /// grad += the gradient by all parameters, given that by the logits (T, 3 K) and by the values (T, 1), which are overwritten.
    /// pre: `a` from `act` and `judge` of these states
    void backward(nn::in<double> states, const activations& a, ppo_matrix& by_logits, ppo_matrix& by_values, actor_critic& grad) const {
        ppo_matrix by_heads(states.rows(), a.heads.cols());
        for (std::size_t k = 0; k < knobs.size(); ++k) {
            ppo_matrix by_second(states.rows(), knob_actions);
            knobs[k].last.backward(of(a.second, k), of(by_logits, k), by_second, grad.knobs[k].last);
            by_second.array() *= sharpness * (1 - (of(a.second, k).array() / sharpness).square());
            knobs[k].second.backward(of(a.heads, k), by_second, of(by_heads, k), grad.knobs[k].second);
        }
        ppo_matrix by_trunk = dense_backward(heads, a.trunk[1], a.heads, by_heads, grad.heads);
        by_trunk = dense_backward(trunk[1], a.trunk[0], a.trunk[1], by_trunk, grad.trunk[1]);
        dense_backward(trunk[0], states, a.trunk[0], by_trunk, grad.trunk[0]);

        ppo_matrix by_hidden(states.rows(), value[3].W.rows());
        value[3].backward(a.hidden[2], by_values, by_hidden, grad.value[3]);
        by_hidden = dense_backward(value[2], a.hidden[1], a.hidden[2], by_hidden, grad.value[2]);
        by_hidden = dense_backward(value[1], a.hidden[0], a.hidden[1], by_hidden, grad.value[1]);
        dense_backward(value[0], states, a.hidden[0], by_hidden, grad.value[0]);
    }

private:
    static constexpr double sharpness = 10; ///< 1 / temperature

    /// y <- tanh(x W + b)
    static void dense(const layer& l, nn::in<double> x, ppo_matrix& y) {
        y.resize(x.rows(), l.W.cols());
        l.forward(x, y);
        y = y.array().tanh();
    }
    /// Returns dL/dx given dL/dy, which is overwritten.
    static ppo_matrix dense_backward(const layer& l, nn::in<double> x, const ppo_matrix& y, ppo_matrix& dy, layer& grad) {
        dy.array() *= 1 - y.array().square();
        ppo_matrix dx(x.rows(), x.cols());
        l.backward(x, dy, dx, grad);
        return dx;
    }
};

} // namespace examples

#endif
