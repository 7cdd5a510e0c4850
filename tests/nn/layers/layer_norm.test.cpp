// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/layer_norm.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/nn/dual.hpp>
#include <augur/nn/layers/init.hpp>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;

namespace {
template <class S>
void check_layer_norm_reference(double tolerance) {
    const auto j = vectors::load("layer_norm.json");
    const nn::matrix<S> x = vectors::to_matrix(j["x"], 4, 6).cast<S>(), dy = vectors::to_matrix(j["cotangent"], 4, 6).cast<S>();
    for (const auto& c : j["cases"]) {
        nn::layer_norm<S> layer = nn::layer_norm<S>::zeros(6, c["eps"].get<double>());
        layer.gamma = vectors::to_matrix(j["gamma"], 1, 6).cast<S>();
        layer.beta = vectors::to_matrix(j["beta"], 1, 6).cast<S>();
        nn::matrix<S> normal(4, 6), deviation(4, 1), y(4, 6), dx(4, 6);
        layer.forward(x, normal, deviation, y);
        CHECK(vectors::distance(y, vectors::to_matrix(c["out"], 4, 6)) < tolerance);
        auto grad = nn::layer_norm<S>::zeros(6);
        layer.backward(normal, deviation, dy, dx, grad);
        CHECK(vectors::distance(dx, vectors::to_matrix(c["grad_x"], 4, 6)) < tolerance);
        CHECK(vectors::distance(grad.gamma, vectors::to_matrix(c["grad_gamma"], 1, 6)) < tolerance);
        CHECK(vectors::distance(grad.beta, vectors::to_matrix(c["grad_beta"], 1, 6)) < tolerance);
        nn::matrix<S> in_place = dy; // dx may be dy
        layer.backward(normal, deviation, in_place, in_place, grad);
        CHECK(in_place == dx);
        const nn::matrix<S> constant = vectors::to_matrix(j["constant_row"]["x"], 1, 6).cast<S>();
        layer.forward(constant, normal.topRows(1), deviation.topRows(1), y.topRows(1));
        CHECK(vectors::distance(y.topRows(1), vectors::to_matrix(j["constant_row"]["out"], 1, 6)) < tolerance);
    }
}
} // namespace

TEST_CASE("layer norm: PyTorch's numbers, forward and backward; a constant row") {
    check_layer_norm_reference<double>(1e-12);
    check_layer_norm_reference<float>(1e-5);
}

TEST_CASE("layer norm: floats in vectors against doubles, whatever the width, in place too") {
    augur::random_engine rng(3);
    for (const nn::index width : {1, 15, 16, 17, 63, 64, 65, 200}) {
        nn::matrix<float> x(3, width), normal(3, width), deviation(3, 1), y(3, width);
        auto layer = nn::layer_norm<float>::zeros(width);
        nn::fill_uniform(x, 2, rng);
        nn::fill_uniform(layer.gamma, 2, rng);
        nn::fill_uniform(layer.beta, 2, rng);
        x.array() += 10; // a mean far from 0
        nn::layer_norm<double> exact{layer.gamma.cast<double>(), layer.beta.cast<double>()};
        vectors::matrix normal_d(3, width), deviation_d(3, 1), y_d(3, width);
        exact.forward(x.cast<double>(), normal_d, deviation_d, y_d);
        layer.forward(x, normal, deviation, y);
        CHECK(vectors::distance(normal, normal_d) < 1e-5);
        CHECK(vectors::distance(deviation, deviation_d) < 1e-5);
        CHECK(vectors::distance(y, y_d) < 1e-5);
        layer.forward(x, normal, deviation, x);
        CHECK(x == y);
    }
}

TEST_CASE("layer norm of duals: the tangent of the input is the derivative by it") {
    using D = nn::dual<double>;
    const auto j = vectors::load("layer_norm.json");
    const vectors::matrix x = vectors::to_matrix(j["x"], 4, 6), dy = vectors::to_matrix(j["cotangent"], 4, 6);
    auto layer = nn::layer_norm<D>::zeros(6);
    layer.gamma = vectors::to_matrix(j["gamma"], 1, 6).cast<D>();
    layer.beta = vectors::to_matrix(j["beta"], 1, 6).cast<D>();
    nn::matrix<D> xd = x.cast<D>(), normal(4, 6), deviation(4, 1), y(4, 6);
    xd(2, 3).tangent = 1;
    layer.forward(xd, normal, deviation, y);
    D sum(0);
    for (nn::index t = 0; t < 4; ++t)
        for (nn::index i = 0; i < 6; ++i) sum += D(dy(t, i)) * y(t, i);
    CHECK(sum.tangent == doctest::Approx(j["cases"][0]["grad_x"][2][3].get<double>()).epsilon(1e-10));
}
