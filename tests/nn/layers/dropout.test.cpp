// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/dropout.hpp>

#include <augur/nn/dual.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/transformer.hpp>

#include <array>
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;

namespace {

/// The factors by which the elements of a matrix are multiplied.
template <class S = double>
nn::matrix<S> mask_of(const nn::dropout& drop, nn::index rows, nn::index cols) {
    nn::matrix<S> ones = nn::matrix<S>::Ones(rows, cols);
    drop.apply(nn::map<S>(ones.data(), rows, cols));
    return ones;
}

nn::transformer_layer<double> layer_to_drop(nn::norm_place place) {
    augur::random_engine rng(7);
    auto layer = nn::transformer_layer<double>::zeros(6, 2, 10, place);
    nn::transformer_layer<double>::visit([&](auto&&, auto& p) { nn::fill_uniform(p, 1, rng); }, layer);
    return layer;
}

// a prefix of 3 rows, its continuations of 2 and 4 rows, and a sequence of its own
const std::array<nn::index, 5> sequence_begins{0, 3, 5, 9, 11};
const std::array<nn::index, 4> prefixes{-1, 0, 0, -1};
const nn::sequences with_prefix{sequence_begins, {}, true, prefixes};

} // namespace

TEST_CASE("dropout: the share of zeros, the expected value, and masks that are independent of each other") {
    constexpr nn::index rows = 300, cols = 401;
    constexpr auto n = static_cast<double>(rows * cols);
    const nn::dropout first{0.1, augur::random_engine(1)};
    for (const double rate : {0.1, 0.5, 0.93}) {
        CAPTURE(rate);
        const nn::dropout drop{rate, augur::random_engine(1)};
        const auto mask = mask_of(drop, rows, cols), other = mask_of(drop.stream(0), rows, cols), third = mask_of(drop.stream(1), rows, cols);
        double dropped = 0, kept = 0, both = 0, neighbours = 0;
        for (nn::index i = 0; i < mask.size(); ++i) {
            const bool zero = mask.data()[i] == 0;
            dropped += zero ? 1 : 0;
            kept += mask.data()[i] == 1 / (1 - rate) ? 1 : 0;
            both += other.data()[i] == 0 && third.data()[i] == 0 ? 1 : 0;
            neighbours += i > 0 && zero && mask.data()[i - 1] == 0 ? 1 : 0;
        }
        const auto deviation = [&](double p) { return std::sqrt(p * (1 - p) / n); };
        CHECK(dropped + kept == n);
        CHECK(std::abs(dropped / n - rate) < 4 * deviation(rate));
        CHECK(std::abs(both / n - rate * rate) < 4 * deviation(rate * rate));
        CHECK(std::abs(neighbours / n - rate * rate) < 6 * deviation(rate * rate)); // pairs overlap
        CHECK(std::abs(mask.mean() - 1) < 4 * deviation(rate) / (1 - rate));
        CHECK(mask == mask_of(drop, rows, cols)); // a function of the engine
        CHECK(mask.cast<float>() == mask_of<float>(drop, rows, cols));
    }
    const nn::dropout none{0, augur::random_engine(1)};
    auto x = vectors::random_matrix(3, 5, 1);
    const auto same = x;
    nn::buffer<double> room;
    const nn::map<double> view(x.data(), 3, 5);
    none.apply(view);
    CHECK(x == same);
    CHECK(none.applied(view, room).data() == x.data());
    const auto copy = first.applied(view, room);
    CHECK(x == same);
    CHECK(copy == nn::matrix<double>(x.array() * mask_of(first, 3, 5).array()));
}

TEST_CASE("dropout in attention: the mean over the masks is attention without, also behind a prefix") {
    const auto layer = layer_to_drop(nn::norm_place::before).attention;
    nn::attention_activation<double> kept;
    const auto qkv = vectors::random_matrix(11, 18, 3);
    kept.qkv.shape(11, 18) = qkv;
    layer.attend(with_prefix, kept);
    const nn::matrix<double> whole = kept.context.view();
    nn::matrix<double> sum = nn::matrix<double>::Zero(11, 6), squares = sum;
    constexpr int masks = 4000;
    const nn::dropout drop{0.3, augur::random_engine(5)};
    for (int i = 0; i < masks; ++i) {
        layer.attend(with_prefix, kept, drop.stream(static_cast<std::uint64_t>(i)));
        const nn::matrix<double> off = kept.context.view() - whole;
        sum += off;
        squares += off.cwiseProduct(off);
    }
    for (nn::index i = 0; i < sum.size(); ++i) CHECK(std::abs(sum.data()[i]) < 4.5 * std::sqrt(squares.data()[i]));
    CHECK(squares.minCoeff() > 0);
}

TEST_CASE("dropout in a transformer layer: central differences and dual numbers agree with the backward pass; it is on the outputs of both blocks") {
    for (const auto place : {nn::norm_place::after, nn::norm_place::before}) {
        CAPTURE(static_cast<int>(place));
        auto layer = layer_to_drop(place);
        vectors::input in{vectors::random_matrix(11, 6, 1)};
        const nn::matrix<double> c = vectors::random_matrix(11, 6, 2);
        const nn::dropout drop{0.4, augur::random_engine(9)};
        nn::transformer_activation<double> kept;
        nn::matrix<double> y(11, 6), dx(11, 6);
        const auto loss = [&] {
            layer.forward(in.x, with_prefix, kept, y, drop);
            return (c.array() * y.array()).sum();
        };
        const double at = loss();
        auto grad = layer;
        nn::transformer_layer<double>::visit([](auto&&, auto& p) { p.setZero(); }, grad);
        layer.backward(in.x, with_prefix, kept, c, dx, grad);
        CHECK(vectors::gradient_error(layer, grad, loss) < 1e-6);
        CHECK(vectors::gradient_error(in, vectors::input{dx}, loss) < 1e-6);

        using D = nn::dual<double>; // the derivative by all weights and inputs at once, in the direction of their own values
        auto lifted = nn::transformer_layer<D>::zeros(6, 2, 10, place);
        double along = (dx.array() * in.x.array()).sum();
        const auto doubled = [](double v) { return D(v, v); };
        const auto lift = [&](auto& to, const auto& from, const auto& g) {
            to = from.unaryExpr(doubled);
            along += (g.array() * from.array()).sum();
        };
        lift(lifted.attention.in_proj.W, layer.attention.in_proj.W, grad.attention.in_proj.W);
        lift(lifted.attention.in_proj.b, layer.attention.in_proj.b, grad.attention.in_proj.b);
        lift(lifted.attention.out_proj.W, layer.attention.out_proj.W, grad.attention.out_proj.W);
        lift(lifted.attention.out_proj.b, layer.attention.out_proj.b, grad.attention.out_proj.b);
        lift(lifted.expand.W, layer.expand.W, grad.expand.W);
        lift(lifted.expand.b, layer.expand.b, grad.expand.b);
        lift(lifted.contract.W, layer.contract.W, grad.contract.W);
        lift(lifted.contract.b, layer.contract.b, grad.contract.b);
        lift(lifted.norm_1.gamma, layer.norm_1.gamma, grad.norm_1.gamma);
        lift(lifted.norm_1.beta, layer.norm_1.beta, grad.norm_1.beta);
        lift(lifted.norm_2.gamma, layer.norm_2.gamma, grad.norm_2.gamma);
        lift(lifted.norm_2.beta, layer.norm_2.beta, grad.norm_2.beta);
        const nn::matrix<D> x = in.x.unaryExpr(doubled);
        nn::matrix<D> z(11, 6);
        nn::transformer_activation<D> kept_of_duals;
        lifted.forward(x, with_prefix, kept_of_duals, z, drop);
        double value = 0, tangent = 0;
        for (nn::index i = 0; i < z.size(); ++i) {
            value += c.data()[i] * z.data()[i].value;
            tangent += c.data()[i] * z.data()[i].tangent;
        }
        CHECK(value == doctest::Approx(at).epsilon(1e-12));
        CHECK(tangent == doctest::Approx(along).epsilon(1e-10));

        // without values attention gives its bias, and without the wide part contract gives its own: what is left are the masks
        layer.attention.in_proj.W.setZero();
        layer.attention.in_proj.b.setZero();
        layer.contract.W.setZero();
        layer.attention.out_proj.b.setConstant(2);
        layer.contract.b.setConstant(3);
        loss();
        const nn::matrix<double> a = in.x + 2 * mask_of(drop.stream(1), 11, 6);
        CHECK(vectors::distance(kept.attended.view(), a) < 1e-14);
        if (place == nn::norm_place::before) CHECK(vectors::distance(y, nn::matrix<double>(a + 3 * mask_of(drop.stream(2), 11, 6))) < 1e-14);
    }
}

TEST_CASE("dropout in float: a rate of 0 keeps the bits of every path, and a rate turns the path in lanes off") {
    augur::random_engine rng(5);
    auto layer = nn::attention<float>::zeros(32, 4);
    nn::init(layer, rng);
    const nn::matrix<float> x = vectors::random_matrix(11, 32, 1).cast<float>();
    const std::array<nn::index, 3> two{0, 4, 11};
    for (const auto& layout : {nn::sequences{two, {}}, nn::sequences{two, {}, true}, with_prefix}) {
        nn::attention_activation<float> kept, other;
        nn::matrix<float> y(11, 32), z(11, 32), dx(11, 32), dz(11, 32);
        auto g = nn::attention<float>::zeros(32, 4), h = g;
        layer.forward(x, layout, kept, y);
        layer.backward(x, layout, kept, x, dx, g);
        layer.forward(x, layout, other, z, {0, augur::random_engine(3)});
        layer.backward(x, layout, other, x, dz, h);
        CHECK(y == z);
        CHECK(dx == dz);
        CHECK(g.in_proj.W == h.in_proj.W);
        // a rate at which nothing is dropped here: the general path
        layer.forward(x, layout, other, z, {1e-9, augur::random_engine(3)});
        layer.backward(x, layout, other, x, dz, h);
        CHECK(vectors::distance(z, y) < 1e-5);
        CHECK(vectors::distance(dz, dx) < 1e-5);
    }
}
