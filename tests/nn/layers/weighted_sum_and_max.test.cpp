// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/weighted_sum_and_max.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/init.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;
using M = nn::matrix<double>;

namespace {
template <class S>
void check_read_out_reference(double tolerance) {
    const auto j = vectors::load("readout_weighted_sum_and_max.json");
    auto layer = nn::weighted_sum_and_max<S>::zeros(4);
    layer.gate.W = vectors::to_matrix(j["a"], 4, 1).cast<S>();
    layer.gate.b = vectors::to_matrix(j["c"], 1, 1).cast<S>();
    const nn::matrix<S> h = vectors::to_matrix(j["h"], 7, 4).cast<S>(), dy = vectors::to_matrix(j["cotangent"], 2, 8).cast<S>();
    const std::array<nn::index, 3> first{0, 4, 7};
    nn::weighted_sum_and_max_activation<S> kept;
    nn::matrix<S> y(2, 8), dh(7, 4);
    layer.forward(h, first, {}, kept, y);
    CHECK(vectors::distance(y, vectors::to_matrix(j["out"], 2, 8)) < tolerance);
    auto grad = nn::weighted_sum_and_max<S>::zeros(4);
    layer.backward(h, kept, dy, dh, grad);
    CHECK(vectors::distance(dh, vectors::to_matrix(j["grad_h"], 7, 4)) < tolerance);
    CHECK(vectors::distance(grad.gate.W, vectors::to_matrix(j["grad_a"], 4, 1)) < tolerance);
    CHECK(vectors::distance(grad.gate.b, vectors::to_matrix(j["grad_c"], 1, 1)) < tolerance);
}
} // namespace

TEST_CASE("weighted sum and max: PyTorch's numbers") {
    check_read_out_reference<double>(1e-12);
    check_read_out_reference<float>(1e-5);
}

TEST_CASE("weighted sum and max: masked nodes, one-node and empty graphs, by the definition and by central differences") {
    augur::random_engine rng(4);
    auto layer = nn::weighted_sum_and_max<double>::zeros(3);
    nn::init(layer, rng);
    vectors::input in{vectors::random_matrix(10, 3, 1)};
    const std::array<nn::index, 6> first{0, 4, 5, 5, 7, 10};
    const std::vector<std::uint8_t> some{1, 0, 1, 1, 1, 0, 0, 0, 1, 1}; // no node of the fourth graph
    for (const auto& present : {std::vector<std::uint8_t>{}, some}) {
        nn::weighted_sum_and_max_activation<double> kept;
        M y(5, 6), dh(10, 3);
        layer.forward(in.x, first, present, kept, y);
        for (std::size_t g = 0; g < 5; ++g) {
            M expected = M::Zero(1, 6);
            bool any = false;
            for (nn::index i = first[g]; i < first[g + 1]; ++i) {
                if (!present.empty() && present[static_cast<std::size_t>(i)] == 0) continue;
                const double gate = 1 / (1 + std::exp(-((in.x.row(i) * layer.gate.W)(0, 0) + layer.gate.b[0])));
                expected.leftCols(3) += gate * in.x.row(i);
                expected.rightCols(3) = any ? M(expected.rightCols(3).cwiseMax(in.x.row(i))) : M(in.x.row(i));
                any = true;
            }
            CHECK(vectors::distance(y.row(static_cast<nn::index>(g)), expected) < 1e-14);
        }
        const M c = vectors::random_matrix(5, 6, 2);
        const auto loss = [&] {
            layer.forward(in.x, first, present, kept, y);
            return (c.array() * y.array()).sum();
        };
        loss();
        auto grad = nn::weighted_sum_and_max<double>::zeros(3);
        layer.backward(in.x, kept, c, dh, grad);
        CHECK(vectors::gradient_error(layer, grad, loss) < 1e-8);
        CHECK(vectors::gradient_error(in, vectors::input{dh}, loss) < 1e-8);
        for (std::size_t i = 0; i < present.size(); ++i)
            if (present[i] == 0) CHECK(dh.row(static_cast<nn::index>(i)).isZero(0));
    }
}

TEST_CASE("weighted sum and max: of equal maxima the first node has the gradient; masked values do not matter") {
    auto layer = nn::weighted_sum_and_max<double>::zeros(2);
    M h(4, 2);
    h << 1, -3, 5, -3, 5, -4, 1e300, 7;
    const std::array<nn::index, 2> first{0, 4};
    const std::array<std::uint8_t, 4> present{1, 1, 1, 0};
    nn::weighted_sum_and_max_activation<double> kept;
    M y(1, 4), dh(4, 2), dy(1, 4);
    layer.forward(h, first, present, kept, y);
    M expected(1, 4);
    expected << 5.5, -5, 5, -3; // all gates are 1/2
    CHECK(y == expected);
    dy << 0, 0, 2, 3;
    auto grad = nn::weighted_sum_and_max<double>::zeros(2);
    layer.backward(h, kept, dy, dh, grad);
    M by_node = M::Zero(4, 2);
    by_node(1, 0) = 2;
    by_node(0, 1) = 3;
    CHECK(dh == by_node);
}
