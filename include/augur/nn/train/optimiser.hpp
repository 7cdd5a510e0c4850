// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_TRAIN_OPTIMISER_HPP
#define AUGUR_NN_TRAIN_OPTIMISER_HPP

/// @file
/// Adam optimiser, gradient clipping, and operations on all parameters of a model.
///
/// A model M offers `M::visit(f, models...)`, which calls `f(name, parameters...)` for each parameter of all models together.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <augur/core/executor.hpp>
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace nn {

/// Number of parameters.
template <class M>
std::size_t parameter_count(const M& model) {
    std::size_t n = 0;
    M::visit([&](auto&&, const auto& p) { n += static_cast<std::size_t>(p.size()); }, model);
    return n;
}

/// Every parameter <- 0.
template <class M>
void set_zero(M& model) {
    M::visit([](auto&&, auto& p) { p.setZero(); }, model);
}

/// sum <- sum + part, parameter by parameter.
template <class M>
void add_to(M& sum, const M& part) {
    M::visit([](auto&&, auto& s, const auto& p) { s += p; }, sum, part);
}

/// sum <- sum of the parts (at least 1); adds in the order of the parts, so the result does not depend on the executor.
template <class M, bulk_executor Executor>
void sum_of(M& sum, std::span<const M> parts, Executor& executor) {
    const auto slices = (std::min)(index{16}, static_cast<index>(executor.concurrency()));
    executor.bulk(static_cast<std::size_t>(slices), [&](std::size_t slice) {
        const auto s = static_cast<index>(slice);
        for (const M& part : parts)
            M::visit(
                [&](auto&&, auto& to, const auto& from) {
                    const index first = to.size() * s / slices, n = to.size() * (s + 1) / slices - first;
                    using S = typename std::remove_cvref_t<decltype(to)>::Scalar;
                    if (&part == parts.data()) std::copy_n(from.data() + first, n, to.data() + first);
                    else if constexpr (std::same_as<S, float>) kernels::add(from.data() + first, to.data() + first, n);
                    else
                        for (index i = first; i < first + n; ++i) to.data()[i] += from.data()[i];
                },
                sum, part);
    });
}

/// Scales the gradient so that its Euclidean norm is at most `limit` (torch's clip_grad_norm_). Returns the norm before scaling.
template <class M>
double clip_norm(M& gradient, double limit) {
    double squares = 0;
    M::visit(
        [&](auto&&, const auto& p) {
            if constexpr (std::same_as<typename std::remove_cvref_t<decltype(p)>::Scalar, float>) squares += kernels::square_sum(p.data(), p.size());
            else
                for (index i = 0; i < p.size(); ++i) squares += static_cast<double>(p.data()[i]) * static_cast<double>(p.data()[i]);
        },
        gradient);
    const double norm = std::sqrt(squares);
    const double scale = limit / (norm + 1e-6);
    if (scale < 1)
        M::visit(
            [&](auto&&, auto& p) {
                using S = typename std::remove_reference_t<decltype(p)>::Scalar;
                p *= static_cast<S>(scale);
            },
            gradient);
    return norm;
}

/// Adam (Kingma, Ba 2015) with torch's betas and epsilon; weight decay is added to the gradient, as in torch.optim.Adam.
template <class M>
class adam {
public:
    struct options {
        double learning_rate = 7e-4;
        double beta1 = 0.9;
        double beta2 = 0.999;
        double epsilon = 1e-8;
        double weight_decay = 1e-6;
    };

    /// @param like  model of the shape to be trained; its values are not used
    explicit adam(const M& like, options o = {}) : options_(o), first_(like), second_(like) {
        set_zero(first_);
        set_zero(second_);
    }

    [[nodiscard]] options& settings() { return options_; }
    [[nodiscard]] std::size_t steps() const { return steps_; }

    [[nodiscard]] const M& first() const { return first_; }   ///< first moments: running mean of the gradients
    [[nodiscard]] const M& second() const { return second_; } ///< second moments: running mean of the squared gradients
    /// Restores moments and step count, e.g. from a checkpoint.
    void restore(M first, M second, std::size_t steps) {
        first_ = std::move(first);
        second_ = std::move(second);
        steps_ = steps;
    }

    /// Updates the model by one step. Allocates nothing but long names of parts.
    void step(M& model, const M& gradient) {
        step(model, gradient, [](std::string_view) { return true; });
    }
    /// Updates only the parameters for which `moves(name)` is true.
    template <class Filter>
    void step(M& model, const M& gradient, const Filter& moves) {
        ++steps_;
        const double rate = options_.learning_rate / (1 - std::pow(options_.beta1, static_cast<double>(steps_)));
        const double root = std::sqrt(1 - std::pow(options_.beta2, static_cast<double>(steps_)));
        M::visit(
            [&](auto&& name, auto& p, const auto& g, auto& m, auto& v) {
                if (!moves(std::string_view(name))) return;
                using S = typename std::remove_reference_t<decltype(p)>::Scalar;
                if constexpr (std::same_as<S, float>) {
                    const auto narrow = [](double x) { return static_cast<float>(x); };
                    const kernels::adam_constants c{narrow(options_.beta1),     narrow(1 - options_.beta1),    narrow(options_.beta2),
                                                    narrow(1 - options_.beta2), narrow(options_.weight_decay), narrow(rate),
                                                    narrow(1 / root),           narrow(options_.epsilon)};
                    return kernels::adam(c, g.data(), m.data(), v.data(), p.data(), p.size());
                }
                const S b1 = static_cast<S>(options_.beta1), b2 = static_cast<S>(options_.beta2), decay = static_cast<S>(options_.weight_decay);
                const S lr = static_cast<S>(rate), bias = static_cast<S>(root), eps = static_cast<S>(options_.epsilon);
                for (index i = 0; i < p.size(); ++i) {
                    const S d = g.data()[i] + decay * p.data()[i];
                    S& mean = m.data()[i];
                    S& square = v.data()[i];
                    mean = b1 * mean + (S(1) - b1) * d;
                    square = b2 * square + (S(1) - b2) * d * d;
                    using std::sqrt;
                    p.data()[i] -= lr * mean / (sqrt(square) / bias + eps);
                }
            },
            model, gradient, first_, second_);
    }

private:
    options options_;
    M first_, second_;
    std::size_t steps_ = 0;
};

} // namespace nn
} // namespace augur::inline v0

#endif
