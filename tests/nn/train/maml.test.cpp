// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/train/maml.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/nn/layers/activation.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/mlp.hpp>
#include <augur/nn/train/loss.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;
using M = nn::matrix<double>;

namespace {

template <nn::scalar S>
struct tanh_function {
    static S value(const S& x) { return nn::hyperbolic_tangent(x); }
    static S derivative(const S& x) { return S(1) - value(x) * value(x); }
};
struct use_tanh {
    template <nn::scalar S>
    using function = tanh_function<S>;
};
struct use_relu {
    template <nn::scalar S>
    using function = nn::rectifier<S>;
};

struct points {
    M x;                      ///< (n, I)
    nn::row_vector<double> y; ///< (n)
};

/// What a user writes: the loss of a multilayer perceptron and its gradient, once for all scalars.
template <class F>
struct mlp_loss {
    using batch = points;
    template <nn::scalar S>
    using model = nn::mlp<S, typename F::template function<S>>;
    template <nn::scalar S>
    struct activation {
        nn::mlp_activation<S> net;
        nn::buffer<S> x, label, score, slope; ///< (n, I), (n, 1) each
    };

    std::vector<nn::index> widths;
    bool smooth = false; ///< smooth L1 instead of the mean squared error

    template <nn::scalar S>
    [[nodiscard]] model<S> zeros() const {
        return model<S>::zeros(widths);
    }
    template <nn::scalar S>
    S operator()(const model<S>& net, const points& data, activation<S>& kept, model<S>& gradient) const {
        const nn::index n = data.x.rows();
        nn::map<S> x = kept.x.shape(n, data.x.cols()), label = kept.label.shape(n, 1), score = kept.score.shape(n, 1), slope = kept.slope.shape(n, 1);
        x = data.x.template cast<S>();
        label = data.y.transpose().template cast<S>();
        net.forward(x, kept.net, score);
        const auto fit = smooth ? nn::smooth_l1<S> : nn::mse<S>;
        const auto list = [n](nn::map<S>& m) { return std::span<S>(m.data(), static_cast<std::size_t>(n)); };
        const S loss = fit(list(score), list(label), list(slope));
        net.backward(x, kept.net, slope, gradient);
        return loss;
    }
};
using relu_loss = mlp_loss<use_relu>;
static_assert(nn::differentiable_loss<relu_loss, float> && nn::differentiable_loss<relu_loss, nn::dual<double>>);
struct loss_without_gradient : relu_loss {
    void operator()() const;
};
static_assert(!nn::differentiable_loss<loss_without_gradient, float> && !nn::differentiable_loss<int, float>);

template <class N>
void check_parameters(const N& net, const nlohmann::json& expected, double tolerance) {
    std::size_t at = 0;
    N::visit(
        [&](std::string_view, const auto& p) { CHECK(vectors::distance(p, vectors::to_matrix(expected[at++], p.rows(), p.cols())) < tolerance); },
        net);
    CHECK(at == expected.size());
}

template <class F>
void check_maml_case(const nlohmann::json& c) {
    using loss_type = mlp_loss<F>;
    const loss_type loss{c["sizes"].get<std::vector<nn::index>>(), c["loss"] == "smooth_l1"};
    auto theta = loss.template zeros<double>();
    std::size_t at = 0;
    decltype(theta)::visit([&](std::string_view, auto& p) { p = vectors::to_matrix(c["params"][at++], p.rows(), p.cols()); }, theta);
    const auto data = [&](const nlohmann::json& x, const nlohmann::json& y) {
        const auto n = static_cast<nn::index>(x.size());
        return points{vectors::to_matrix(x, n, loss.widths.front()), vectors::to_matrix(y, 1, n)};
    };
    std::vector<nn::meta_task<points>> tasks;
    for (const auto& t : c["tasks"]) tasks.push_back({data(t["xs"], t["ys"]), data(t["xq"], t["yq"])});

    nn::maml<double, loss_type> meta(loss, {c["alpha"].get<double>(), c["inner_steps"].get<std::size_t>()});
    augur::serial_executor serial;
    auto second = loss.template zeros<double>(), first = second;
    CHECK(meta.gradient(theta, tasks, serial, second) == doctest::Approx(c["outer_loss_sum"].get<double>()).epsilon(1e-12));
    check_parameters(second, c["grad_second_order"], 1e-11);
    meta.settings().gradient = nn::meta_gradient::first_order;
    CHECK(meta.gradient(theta, tasks, serial, first) == doctest::Approx(c["outer_loss_sum"].get<double>()).epsilon(1e-12));
    check_parameters(first, c["grad_first_order"], 1e-11);
    double apart = 0;
    decltype(theta)::visit([&](std::string_view, const auto& a, const auto& b) { apart += (a - b).squaredNorm(); }, first, second);
    CHECK(apart > 1e-4);

    for (std::size_t t = 0; t < tasks.size(); ++t) {
        auto adapted = theta;
        meta.adapt(adapted, tasks[t].support);
        check_parameters(adapted, c["adapted_params"][t], 1e-12);
    }
    auto after = theta;
    typename nn::adam<decltype(theta)>::options rate;
    rate.learning_rate = 1e-3;
    rate.weight_decay = 0;
    nn::adam<decltype(theta)> outer(theta, rate);
    outer.step(after, second);
    check_parameters(after, c["params_after_adam_step1_lr1e_3_eps1e_8"], 1e-11);
}

/// Random tasks: the support and the query of each are of one function, which is a multiple of the same linear function.
std::vector<nn::meta_task<points>> random_tasks(std::size_t n, nn::index shots, nn::index inputs) {
    std::vector<nn::meta_task<points>> tasks(n);
    for (std::size_t t = 0; t < n; ++t) {
        const M slope = vectors::random_matrix(1, 1, 100 + t)(0, 0) * vectors::random_matrix(inputs, 1, 99);
        for (points* part : {&tasks[t].support, &tasks[t].query}) {
            part->x = vectors::random_matrix(shots, inputs, 1000 * t + (part == &tasks[t].query ? 1 : 0));
            part->y = (part->x * slope).transpose();
        }
    }
    return tasks;
}

template <class N>
bool same_bits(const N& a, const N& b) {
    bool same = true;
    N::visit([&](std::string_view, const auto& p, const auto& q) { same = same && p == q; }, a, b);
    return same;
}

} // namespace

TEST_CASE("maml: PyTorch's meta-gradients of first and second order") {
    const auto file = vectors::load("maml_mlp_second_order.json");
    CHECK(file["cases"].size() == 16);
    for (const auto& c : file["cases"]) {
        CAPTURE(c["activation"].get<std::string>());
        CAPTURE(c["loss"].get<std::string>());
        CAPTURE(c["inner_steps"].get<int>());
        if (c["activation"] == "relu") check_maml_case<use_relu>(c);
        else check_maml_case<use_tanh>(c);
    }
}

TEST_CASE("maml: central differences of the meta-objective, with more tasks than parts") {
    const mlp_loss<use_tanh> loss{{3, 4, 1}};
    augur::random_engine rng(1);
    auto theta = loss.zeros<double>();
    nn::init(theta, rng);
    const auto tasks = random_tasks(37, 5, 3);
    augur::serial_executor serial;
    nn::maml<double, mlp_loss<use_tanh>> meta(loss, {0.2, 2});
    auto gradient = loss.zeros<double>(), unused = gradient;
    meta.gradient(theta, tasks, serial, gradient);
    const auto objective = [&] {
        double sum = 0;
        for (const auto& t : tasks) {
            auto adapted = theta;
            meta.adapt(adapted, t.support);
            nn::set_zero(unused);
            mlp_loss<use_tanh>::activation<double> kept;
            sum += loss(adapted, t.query, kept, unused);
        }
        return sum;
    };
    CHECK(meta.gradient(theta, tasks, serial, unused) == doctest::Approx(objective()));
    CHECK(vectors::gradient_error(theta, gradient, objective) < 1e-7);
}

TEST_CASE("maml: the same bits on one thread and on many, for all kinds of gradients") {
    const relu_loss loss{{8, 16, 1}};
    augur::random_engine rng(2);
    auto theta = loss.zeros<float>();
    nn::init(theta, rng);
    const auto tasks = random_tasks(33, 6, 8);
    augur::serial_executor serial;
    augur::thread_pool_executor pool(4);
    for (const auto kind : {nn::meta_gradient::second_order, nn::meta_gradient::first_order, nn::meta_gradient::reptile})
        for (const std::size_t steps : std::array<std::size_t, 3>{0, 1, 3}) {
            nn::maml<float, relu_loss> one(loss, {0.05, steps, kind}), many = one;
            auto by_one = loss.zeros<float>(), by_many = by_one, again = by_one;
            const float expected = one.gradient(theta, tasks, serial, by_one);
            CHECK(many.gradient(theta, tasks, pool, by_many) == expected);
            CHECK(many.gradient(theta, tasks, pool, again) == expected);
            CHECK(same_bits(by_one, by_many));
            CHECK(same_bits(by_one, again));
        }
}

TEST_CASE("maml: Reptile is the way back from the adapted parameters; without steps all is the query's gradient") {
    const relu_loss loss{{4, 6, 1}};
    augur::random_engine rng(3);
    auto theta = loss.zeros<double>();
    nn::init(theta, rng);
    const auto tasks = random_tasks(5, 7, 4);
    augur::serial_executor serial;
    nn::maml<double, relu_loss> meta(loss, {0.1, 3, nn::meta_gradient::reptile});
    auto gradient = loss.zeros<double>(), expected = gradient;
    meta.gradient(theta, tasks, serial, gradient);
    for (const auto& t : tasks) {
        auto adapted = theta;
        meta.adapt(adapted, t.support);
        decltype(theta)::visit([](std::string_view, auto& sum, const auto& a, const auto& b) { sum += (a - b) / 0.1; }, expected, theta, adapted);
    }
    decltype(theta)::visit([](std::string_view, const auto& a, const auto& b) { CHECK(vectors::distance(a, b) < 1e-12); }, gradient, expected);

    nn::set_zero(expected);
    relu_loss::activation<double> kept;
    for (const auto& t : tasks) loss(theta, t.query, kept, expected);
    for (const auto kind : {nn::meta_gradient::second_order, nn::meta_gradient::first_order}) {
        meta.settings() = {0.1, 0, kind};
        meta.gradient(theta, tasks, serial, gradient);
        decltype(theta)::visit([](std::string_view, const auto& a, const auto& b) { CHECK(vectors::distance(a, b) < 1e-14); }, gradient, expected);
    }
    CHECK(meta.gradient(theta, {}, serial, gradient) == 0);
    decltype(theta)::visit([](std::string_view, const auto& p) { CHECK(p.isZero(0)); }, gradient);
}

TEST_CASE("maml: meta-training adapts better to new tasks than training on all of them") {
    const relu_loss loss{{4, 16, 1}};
    const auto tasks = random_tasks(64, 8, 4);
    const std::span<const nn::meta_task<points>> seen(tasks.data(), 48), unseen(tasks.data() + 48, 16);
    augur::serial_executor serial;
    const auto trained = [&](std::size_t steps) { // on `seen`; without inner steps it is multi-task training
        augur::random_engine rng(4);
        auto theta = loss.zeros<float>();
        nn::init(theta, rng);
        nn::maml<float, relu_loss> meta(loss, {0.1, steps});
        typename nn::adam<nn::mlp<float>>::options rate;
        rate.learning_rate = 1e-2;
        nn::adam<nn::mlp<float>> outer(theta, rate);
        auto gradient = loss.zeros<float>();
        for (int step = 0; step < 200; ++step) {
            meta.gradient(theta, seen, serial, gradient);
            outer.step(theta, gradient);
        }
        return theta;
    };
    nn::maml<float, relu_loss> judge(loss, {0.1, 1});
    auto unused = loss.zeros<float>();
    const float meta_trained = judge.gradient(trained(1), unseen, serial, unused), multi_task = judge.gradient(trained(0), unseen, serial, unused);
    CHECK(meta_trained < 0.8F * multi_task);
}
