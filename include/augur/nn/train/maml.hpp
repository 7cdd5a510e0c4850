// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_TRAIN_MAML_HPP
#define AUGUR_NN_TRAIN_MAML_HPP

/// @file
/// Model-agnostic meta-learning (MAML; Finn, Abbeel, Levine 2017): the gradient of what a model reaches after a few steps of SGD on a new task.

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/executor.hpp>
#include <augur/nn/dual.hpp>
#include <augur/nn/kernels/dual_pairs.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// Type of the model that a loss evaluates with scalars S.
template <class L, scalar S>
using model_of = decltype(std::declval<const L&>().template zeros<S>());

/// The loss of a model on a batch of data and its gradient, written once for all scalar types.
///
/// Syntax      `L::batch` is the data of one evaluation, whatever S is
///             `L::activation<S>` is the memory of one evaluation, default-constructible and movable
///             `loss.zeros<S>()` makes a model with all parameters 0, whose type offers `visit` (train/optimiser.hpp)
///             `loss(model, batch, activation, gradient)` returns the loss; gradient, zeros before <- its derivative by each parameter
/// Semantics   the models of all S have the same parameters in the same order, and the same calculation leads to loss and gradient
/// Threads     concurrent calls with distinct activations and gradients
template <class L, class S>
concept differentiable_loss =
    scalar<S> && std::default_initializable<typename L::template activation<S>> && std::movable<typename L::template activation<S>> &&
    requires(const L& loss, const model_of<L, S>& model, const typename L::batch& data, typename L::template activation<S>& kept,
             model_of<L, S>& gradient) {
        { loss(model, data, kept, gradient) } -> std::convertible_to<S>;
    };

/// What `maml::gradient` computes.
enum class meta_gradient : std::uint8_t {
    second_order, ///< the exact gradient
    first_order,  ///< the gradient by the adapted parameters, as if the steps did not depend on the initial ones (Finn et al., section 5.2)
    reptile       ///< (initial - adapted parameters) / inner_rate, from the support only (Nichol, Achiam, Schulman 2018)
};

/// How a model adapts to a task. What adapts the trained model should use the same rate and number of steps.
struct maml_options {
    double inner_rate = 2e-3;    ///< learning rate of the steps that adapt to a task
    std::size_t inner_steps = 1; ///< number of these steps; 0: the gradient of the query's loss
    meta_gradient gradient = meta_gradient::second_order;
};

/// Data of a task: the model adapts to the support, the adapted model is judged by the query.
template <class B>
struct meta_task {
    B support, query;
};

/// The meta-objective  sum over tasks of loss(adapted(theta, support), query)  and its gradient by theta. `adapted` is `inner_steps` steps of SGD,
/// theta_j+1 = theta_j - inner_rate dL/dtheta_j. It is MetaTune's Algorithm 1, lines 9 to 13; the outer step is an optimiser's, e.g. `adam`.
///
/// The exact gradient goes backward over the steps, v <- v - inner_rate H(theta_j) v from v = dL(query)/d(adapted). The Hessian times v is the
/// tangent of the gradient at the dual numbers theta_j + v e. So each step takes one more evaluation of the loss, in duals, about three times as dear
/// as in S.
///
/// Memory: inner_steps + 6 models per thread, and one for each of the up to 16 parts of the tasks. After the first call with as many tasks, it
/// allocates only what the loss does.
/// Threads: one object per calling thread; the executor's threads share it safely.
template <scalar S, class L>
    requires differentiable_loss<L, S> && differentiable_loss<L, dual<S>>
class maml {
public:
    using model = model_of<L, S>;
    using batch = typename L::batch;
    using task = meta_task<batch>;

    static constexpr std::size_t most_gradients = 16; ///< maximum number of parts of the tasks, each with its own gradient

    explicit maml(L loss, maml_options options = {}) : loss_(std::move(loss)), options_(options) { threads_.emplace_back(loss_); }

    [[nodiscard]] maml_options& settings() { return options_; }

    /// Takes the steps that adapt a model to a task: theta <- adapted(theta, support).
    void adapt(model& theta, const batch& support) { theta = adapted(theta, support, threads_.front(), false); }

    /// sum <- gradient of the meta-objective, as the options say. Returns the meta-objective.
    ///
    /// Tasks are summed in a fixed order: the bits do not depend on the executor.
    /// @param sum  a model of the shape of theta; not theta itself
    template <bulk_executor Executor>
    S gradient(const model& theta, std::span<const task> tasks, Executor& executor, model& sum) {
        const std::size_t parts = (std::min)(tasks.size(), most_gradients);
        const std::size_t workers = (std::min)(parts, static_cast<std::size_t>(executor.concurrency()));
        while (gradients_.size() < parts) gradients_.push_back(loss_.template zeros<S>());
        while (threads_.size() < workers) threads_.emplace_back(loss_);
        losses_.assign(parts, S(0));
        std::atomic<std::size_t> next{0};
        executor.bulk(workers, [&](std::size_t w) {
            for (std::size_t p = next.fetch_add(1); p < parts; p = next.fetch_add(1)) {
                set_zero(gradients_[p]);
                for (std::size_t t = tasks.size() * p / parts; t < tasks.size() * (p + 1) / parts; ++t)
                    losses_[p] += add_task(theta, tasks[t], threads_[w], gradients_[p]);
            }
        });
        if (parts == 0) set_zero(sum);
        else sum_of(sum, std::span<const model>(gradients_).first(parts), executor);
        S loss(0);
        for (const S& part : losses_) loss += part;
        return loss;
    }

private:
    struct scratch {
        std::vector<model> path;                   ///< parameters after each inner step
        model gradient, meta;                      ///< of a step; of the task
        model_of<L, dual<S>> along, dual_gradient; ///< theta_j + meta e, and the gradient there
        typename L::template activation<S> kept;
        typename L::template activation<dual<S>> dual_kept;

        explicit scratch(const L& loss)
            : gradient(loss.template zeros<S>()), meta(gradient), along(loss.template zeros<dual<S>>()), dual_gradient(along) {}
    };

    /// The parameters after the inner steps: theta itself, or the last of `path`, which has all steps if `keep`, else only the last one.
    const model& adapted(const model& theta, const batch& support, scratch& now, bool keep) const {
        const model* from = &theta;
        while (now.path.size() < (keep ? options_.inner_steps : 1)) now.path.push_back(now.gradient);
        for (std::size_t j = 0; j < options_.inner_steps; ++j) {
            set_zero(now.gradient);
            loss_(*from, support, now.kept, now.gradient);
            model& to = now.path[keep ? j : 0];
            model::visit([&](auto&&, auto& p, const auto& before, const auto& g) { p = before - S(options_.inner_rate) * g; }, to, *from,
                         now.gradient);
            from = &to;
        }
        return *from;
    }

    /// sum <- sum + the gradient of one task. Returns the query's loss.
    S add_task(const model& theta, const task& data, scratch& now, model& sum) const {
        const bool exact = options_.gradient == meta_gradient::second_order;
        const model& last = adapted(theta, data.support, now, exact);
        set_zero(now.meta);
        const S loss = loss_(last, data.query, now.kept, now.meta);
        if (options_.gradient == meta_gradient::reptile) {
            model::visit([&](auto&&, auto& s, const auto& a, const auto& b) { s += (a - b) / S(options_.inner_rate); }, sum, theta, last);
            return loss;
        }
        for (std::size_t j = exact ? options_.inner_steps : 0; j-- > 0;)
            subtract_hessian_product(j == 0 ? theta : now.path[j - 1], data.support, now);
        add_to(sum, now.meta);
        return loss;
    }

    /// meta <- meta - inner_rate H(theta) meta
    void subtract_hessian_product(const model& theta, const batch& support, scratch& now) const {
        model::visit(
            [](auto&&, const auto& value, const auto& tangent, auto& both) {
                if constexpr (std::same_as<S, float>)
                    return kernels::join_pairs(value.data(), tangent.data(), reinterpret_cast<float*>(both.data()), both.size(), false);
                for (index i = 0; i < both.size(); ++i) both.data()[i] = {value.data()[i], tangent.data()[i]};
            },
            theta, now.meta, now.along);
        set_zero(now.dual_gradient);
        loss_(now.along, support, now.dual_kept, now.dual_gradient);
        model::visit(
            [&](auto&&, auto& meta, const auto& g) {
                const auto rate = static_cast<S>(options_.inner_rate);
                if constexpr (std::same_as<S, float>)
                    return kernels::add_tangents(-rate, reinterpret_cast<const float*>(g.data()), meta.data(), meta.size());
                for (index i = 0; i < meta.size(); ++i) meta.data()[i] -= rate * g.data()[i].tangent;
            },
            now.meta, now.dual_gradient);
    }

    L loss_;
    maml_options options_;
    std::vector<scratch> threads_;
    std::vector<model> gradients_; ///< of each part of the tasks
    std::vector<S> losses_;        ///< likewise
};

} // namespace nn
} // namespace augur::inline v0

#endif
