// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/lstm.hpp>

#include <augur/nn/dual.hpp>
#include <augur/nn/layers/init.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;
using M = nn::matrix<double>;

namespace {

/// One layer over all of a time: what each step leaves, and the way back.
template <class S>
struct unrolled {
    std::vector<nn::matrix<S>> x, h, c, gates; // h and c: [0] is the state before the first step

    void forward(const nn::lstm<S>& layer) {
        gates.clear();
        h.resize(1);
        c.resize(1);
        for (const auto& now : x) {
            nn::matrix<S> g(now.rows(), 4 * layer.width()), next_h(now.rows(), layer.width()), next_c = next_h;
            layer.input.forward(now, g);
            layer.step(h.back(), c.back(), g, next_c, next_h);
            gates.push_back(g);
            h.push_back(next_h);
            c.push_back(next_c);
        }
    }
    /// dh: by the output of each step; dh_last, dc_last: by the last state, then by the first one. Returns the gradients by x.
    std::vector<nn::matrix<S>> backward(const nn::lstm<S>& layer, const std::vector<nn::matrix<S>>& dh, nn::matrix<S>& dh_last,
                                        nn::matrix<S>& dc_last, nn::lstm<S>& grad) const {
        std::vector<nn::matrix<S>> dx(x.size());
        for (std::size_t t = x.size(); t-- > 0;) {
            const nn::matrix<S> by_h = dh_last + dh[t], by_c = dc_last;
            nn::matrix<S> d_gates(by_h.rows(), 4 * layer.width());
            layer.step_backward(h[t], c[t], gates[t], c[t + 1], by_h, by_c, d_gates, dh_last, dc_last, grad);
            dx[t].resize(by_h.rows(), layer.input.W.rows());
            layer.input.backward(x[t], d_gates, dx[t], grad.input);
        }
        return dx;
    }
};

template <class S>
void check_lstm_reference(double tolerance) {
    const auto file = vectors::load("lstm_unidirectional.json");
    for (const auto& j : file["cases"]) {
        const auto layers = j["layers"].get<std::size_t>();
        const auto in = j["input"].get<nn::index>(), d = j["hidden"].get<nn::index>(), n = j["batch"].get<nn::index>();
        const auto steps = j["seq"].get<std::size_t>();
        CAPTURE(layers);
        const auto read = [](const nlohmann::json& from, nn::index rows, nn::index cols) -> nn::matrix<S> {
            return vectors::to_matrix(from, rows, cols).template cast<S>();
        };
        std::vector<nn::lstm<S>> net;
        std::vector<unrolled<S>> pass(layers);
        for (std::size_t l = 0; l < layers; ++l) {
            const std::string at = "_l" + std::to_string(l);
            const nn::index width = l == 0 ? in : d;
            auto layer = nn::lstm<S>::zeros(width, d);
            const auto& p = j["params"];
            layer.input.W = read(p["weight_ih" + at], 4 * d, width).transpose();
            layer.state.W = read(p["weight_hh" + at], 4 * d, d).transpose();
            layer.input.b = read(p["bias_ih" + at], 1, 4 * d);
            layer.state.b = read(p["bias_hh" + at], 1, 4 * d);
            net.push_back(layer);
            pass[l].h = {read(j["h0"][l], n, d)};
            pass[l].c = {read(j["c0"][l], n, d)};
            for (std::size_t t = 0; t < steps; ++t) pass[l].x.push_back(l == 0 ? read(j["x"][t], n, in) : pass[l - 1].h[t + 1]);
            pass[l].forward(layer);
            CHECK(vectors::distance(pass[l].h.back(), vectors::to_matrix(j["h_n"][l], n, d)) < tolerance);
            CHECK(vectors::distance(pass[l].c.back(), vectors::to_matrix(j["c_n"][l], n, d)) < tolerance);
        }
        std::vector<nn::matrix<S>> dh;
        for (std::size_t t = 0; t < steps; ++t) {
            CHECK(vectors::distance(pass.back().h[t + 1], vectors::to_matrix(j["out"][t], n, d)) < tolerance);
            dh.push_back(read(j["cotangent_out"][t], n, d));
        }
        for (std::size_t l = layers; l-- > 0;) {
            auto grad = nn::lstm<S>::zeros(net[l].input.W.rows(), d);
            nn::matrix<S> dh_last = read(j["cotangent_h"][l], n, d), dc_last = read(j["cotangent_c"][l], n, d);
            dh = pass[l].backward(net[l], dh, dh_last, dc_last, grad);
            CHECK(vectors::distance(dh_last, vectors::to_matrix(j["grad_h0"][l], n, d)) < tolerance);
            CHECK(vectors::distance(dc_last, vectors::to_matrix(j["grad_c0"][l], n, d)) < tolerance);
            const auto& g = j["grad_params"];
            const std::string at = "_l" + std::to_string(l);
            CHECK(vectors::distance(nn::matrix<S>(grad.input.W.transpose()), vectors::to_matrix(g["weight_ih" + at], 4 * d, grad.input.W.rows())) <
                  tolerance);
            CHECK(vectors::distance(nn::matrix<S>(grad.state.W.transpose()), vectors::to_matrix(g["weight_hh" + at], 4 * d, d)) < tolerance);
            CHECK(vectors::distance(grad.input.b, vectors::to_matrix(g["bias_ih" + at], 1, 4 * d)) < tolerance);
            CHECK(vectors::distance(grad.state.b, vectors::to_matrix(g["bias_hh" + at], 1, 4 * d)) < tolerance);
        }
        for (std::size_t t = 0; t < steps; ++t) CHECK(vectors::distance(dh[t], vectors::to_matrix(j["grad_x"][t], n, in)) < tolerance);
    }
}

} // namespace

TEST_CASE("lstm: PyTorch's numbers, one and two layers, forward and backward") {
    check_lstm_reference<double>(1e-12);
    check_lstm_reference<float>(1e-5);
}

TEST_CASE("lstm: backward agrees with central differences and with duals") {
    augur::random_engine rng(7);
    auto layer = nn::lstm<double>::zeros(3, 5);
    nn::init(layer, rng);
    const M c_out = vectors::random_matrix(2, 5, 2), c_cell = vectors::random_matrix(2, 5, 3);
    unrolled<double> pass;
    pass.h = {vectors::random_matrix(2, 5, 4)};
    pass.c = {vectors::random_matrix(2, 5, 5)};
    for (std::uint64_t t = 0; t < 3; ++t) pass.x.push_back(vectors::random_matrix(2, 3, 10 + t));
    const auto loss = [&] {
        pass.forward(layer);
        return (c_out.array() * pass.h.back().array()).sum() + (c_cell.array() * pass.c.back().array()).sum();
    };
    loss();
    auto grad = nn::lstm<double>::zeros(3, 5);
    M dh = c_out, dc = c_cell;
    pass.backward(layer, std::vector<M>(3, M::Zero(2, 5)), dh, dc, grad);
    CHECK(vectors::gradient_error(layer, grad, loss) < 1e-8);

    using D = nn::dual<double>;
    nn::lstm<D> moving{{layer.input.W.cast<D>(), layer.input.b.cast<D>()}, {layer.state.W.cast<D>(), layer.state.b.cast<D>()}};
    moving.state.W(2, 7).tangent = 1; // along one weight
    unrolled<D> dual;
    dual.h = {pass.h[0].cast<D>()};
    dual.c = {pass.c[0].cast<D>()};
    for (const auto& x : pass.x) dual.x.push_back(x.cast<D>());
    dual.forward(moving);
    D sum(0);
    for (nn::index n = 0; n < 2; ++n)
        for (nn::index k = 0; k < 5; ++k) sum += D(c_out(n, k)) * dual.h.back()(n, k) + D(c_cell(n, k)) * dual.c.back()(n, k);
    CHECK(sum.tangent == doctest::Approx(grad.state.W(2, 7)).epsilon(1e-12));
}

TEST_CASE("lstm: the gates in float, on every instruction set and in every width") {
    using nn::kernels::isa;
    augur::random_engine rng(3);
    for (const auto level : {isa::generic, isa::avx2, isa::avx512}) {
        if (static_cast<int>(level) > static_cast<int>(nn::kernels::best_isa())) continue;
        for (const std::size_t d : {1U, 15U, 16U, 37U}) {
            std::vector<float> gates(4 * d), before(d), c(d), h(d);
            for (float& x : gates) x = static_cast<float>(rng.uniform(-1, 1) * std::pow(10.0, rng.uniform(-4, 2)));
            for (float& x : before) x = static_cast<float>(rng.uniform(-3, 3));
            const auto raw = gates;
            nn::kernels::lstm_gates(gates.data(), before.data(), c.data(), h.data(), static_cast<std::ptrdiff_t>(d), level);
            double worst = 0;
            const auto differ = [&](float got, double expected) {
                worst = (std::max)(worst, std::abs(static_cast<double>(got) - expected) / (std::max)(std::abs(expected), 1e-30));
            };
            for (std::size_t j = 0; j < d; ++j) {
                for (const std::size_t q : {0U, 1U, 3U})
                    differ(gates[q * d + j], 1 / (1 + std::exp(-(std::max)(-87.0, static_cast<double>(raw[q * d + j])))));
                differ(gates[2 * d + j], std::tanh(static_cast<double>(raw[2 * d + j])));
                differ(h[j], static_cast<double>(gates[3 * d + j]) * std::tanh(static_cast<double>(c[j])));
                CHECK(std::abs(c[j] - (gates[d + j] * before[j] + gates[j] * gates[2 * d + j])) < 1e-6F * (1 + std::abs(c[j])));
            }
            CHECK(worst < 2e-6);
        }
        for (std::size_t q = 0; q < 4; ++q) { // a gate that is no number is not hidden
            std::vector<float> gates(4 * 16, 0.5F), before(16, 1.0F), c(16), h(16);
            gates[q * 16 + 3] = std::numeric_limits<float>::quiet_NaN();
            nn::kernels::lstm_gates(gates.data(), before.data(), c.data(), h.data(), 16, level);
            CHECK(std::isnan(h[3]));
            CHECK(std::isfinite(h[2]));
        }
    }
}

TEST_CASE("lstm: huge finite weights give NaN, and nothing undefined") {
    using augur::nn::kernels::detail::exp_within;
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
#if defined(__GNUC__) && !defined(__clang__)   // clang evaluates no NaN at compile time
    constexpr float through = exp_within(nan); // a constant expression has no undefined behaviour
    static_assert(through != through);
#endif
    CHECK(std::isnan(exp_within(nan)));
    for (const float x : {-87.0F, -86.9F, -1.0F, -1e-6F, 0.0F}) CHECK(exp_within(x) == doctest::Approx(std::exp(x)).epsilon(1e-6));

    constexpr float huge = std::numeric_limits<float>::max(), infinite = std::numeric_limits<float>::infinity();
    for (const auto level : {augur::isa::generic, augur::best_isa()}) {
        const std::vector<float> values{nan, infinite, -infinite, huge, -huge, 0, 1e30F, -200, 200};
        const std::ptrdiff_t d = 9;
        std::vector<float> gates, before(9, 0.5F), c(9), h(9);
        for (int q = 0; q < 4; ++q) gates.insert(gates.end(), values.begin(), values.end());
        augur::nn::kernels::lstm_gates(gates.data(), before.data(), c.data(), h.data(), d, level);
        for (std::size_t i = 0; i < values.size(); ++i) {
            CAPTURE(values[i]);
            const bool bad = std::isnan(values[i]);
            const double x = static_cast<double>(values[i]), sigmoid = 1 / (1 + std::exp(-x)), want_c = sigmoid * 0.5 + sigmoid * std::tanh(x);
            CHECK(std::isnan(c[i]) == bad);
            CHECK(std::isnan(h[i]) == bad);
            if (bad) continue;
            CHECK(static_cast<double>(c[i]) == doctest::Approx(want_c).epsilon(1e-5));
            CHECK(static_cast<double>(h[i]) == doctest::Approx(sigmoid * std::tanh(want_c)).epsilon(1e-5));
        }
    }
}
