// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/transformer.hpp>

#include <augur/nn/dual.hpp>
#include <augur/nn/layers/embedding.hpp>
#include <augur/nn/layers/init.hpp>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;
using M = nn::matrix<double>;

namespace {

template <class F = nn::gelu_tanh<double>>
nn::transformer_layer<double, F> random_layer(nn::norm_place place, std::uint64_t seed = 7) {
    augur::random_engine rng(seed);
    auto layer = nn::transformer_layer<double, F>::zeros(6, 2, 10, place);
    nn::init(layer, rng);
    for (auto* norm : {&layer.norm_1, &layer.norm_2}) { // not the identity, so that mistakes show
        nn::fill_uniform(norm->gamma, 1, rng);
        nn::fill_uniform(norm->beta, 1, rng);
    }
    nn::fill_uniform(layer.attention.in_proj.b, 1, rng);
    return layer;
}

/// The definition, written down with whole matrices.
M normalised(const nn::layer_norm<double>& norm, const M& x) {
    M y = x;
    for (nn::index t = 0; t < x.rows(); ++t) {
        const double mean = x.row(t).mean();
        const double variance = (x.row(t).array() - mean).square().mean();
        y.row(t) = ((x.row(t).array() - mean) / std::sqrt(variance + norm.epsilon)) * norm.gamma.array() + norm.beta.array();
    }
    return y;
}
M attended(const nn::attention<double>& a, const M& x, bool causal) {
    const nn::index d = x.cols(), head = d / a.heads, t = x.rows();
    if (t == 0) return x; // Eigen would take columns of no memory
    const M qkv = (x * a.in_proj.W).rowwise() + a.in_proj.b;
    M context(t, d);
    for (nn::index h = 0; h < a.heads; ++h) {
        M p = qkv.middleCols(h * head, head) * qkv.middleCols(d + h * head, head).transpose() / std::sqrt(static_cast<double>(head));
        for (nn::index i = 0; i < t; ++i) {
            for (nn::index j = 0; j < t; ++j) p(i, j) = causal && j > i ? 0 : std::exp(p(i, j));
            p.row(i) /= p.row(i).sum();
        }
        context.middleCols(h * head, head) = p * qkv.middleCols(2 * d + h * head, head);
    }
    return (context * a.out_proj.W).rowwise() + a.out_proj.b;
}
template <class F>
M reference(const nn::transformer_layer<double, F>& l, const M& x, bool causal) {
    const auto affine = [&](const M& in) {
        M wide = (in * l.expand.W).rowwise() + l.expand.b;
        for (nn::index i = 0; i < wide.size(); ++i) wide.data()[i] = F::value(wide.data()[i]);
        return M((wide * l.contract.W).rowwise() + l.contract.b);
    };
    if (l.place == nn::norm_place::before) {
        const M a = x + attended(l.attention, normalised(l.norm_1, x), causal);
        return a + affine(normalised(l.norm_2, a));
    }
    const M a = normalised(l.norm_1, x + attended(l.attention, x, causal));
    return normalised(l.norm_2, a + affine(a));
}

const std::array<nn::index, 4> begin{0, 4, 4, 7}; // three sequences, one of them empty

template <class F>
void check_layer(nn::norm_place place, bool causal) {
    CAPTURE(causal);
    CAPTURE(static_cast<int>(place));
    auto layer = random_layer<F>(place);
    const nn::sequences which{begin, {}, causal};
    vectors::input in{vectors::random_matrix(7, 6, 1)};
    const M c = vectors::random_matrix(7, 6, 2);
    nn::transformer_activation<double> kept;
    M y(7, 6), dx(7, 6);
    const auto loss = [&] {
        layer.forward(in.x, which, kept, y);
        return (c.array() * y.array()).sum();
    };
    loss();
    CHECK(vectors::distance(y.topRows(4), reference(layer, in.x.topRows(4), causal)) < 1e-12);
    CHECK(vectors::distance(y.bottomRows(3), reference(layer, in.x.bottomRows(3), causal)) < 1e-12);
    auto grad = layer;
    nn::transformer_layer<double, F>::visit([](auto&&, auto& p) { p.setZero(); }, grad);
    layer.backward(in.x, which, kept, c, dx, grad);
    CHECK(vectors::gradient_error(layer, grad, loss) < 1e-7);
    CHECK(vectors::gradient_error(in, vectors::input{dx}, loss) < 1e-7);
}

} // namespace

TEST_CASE("transformer layer: its definition, and central differences, normalised before and after, causal and not") {
    for (const auto place : {nn::norm_place::after, nn::norm_place::before})
        for (const bool causal : {false, true}) {
            check_layer<nn::gelu_tanh<double>>(place, causal);
            check_layer<nn::gelu_exact<double>>(place, causal);
            check_layer<nn::rectifier<double>>(place, causal);
        }
}

TEST_CASE("attention, causal: a row is the last row of the sequence up to it; PyTorch's weights") {
    const auto j = vectors::load("mha_d64_h8_b3_s5.json");
    augur::random_engine rng(3);
    auto layer = nn::attention<double>::zeros(64, 8);
    nn::init(layer, rng);
    const M x = vectors::to_matrix(j["x"], 15, 64).topRows(5);
    const std::array<nn::index, 2> all{0, 5};
    nn::attention_activation<double> kept;
    M y(5, 64);
    layer.forward(x, {all, {}, true}, kept, y);
    for (nn::index l = 1; l <= 5; ++l) {
        const std::array<nn::index, 2> part{0, l};
        M own(l, 64);
        layer.forward(x.topRows(l), {part, {}}, kept, own);
        CHECK(vectors::distance(y.row(l - 1), own.row(l - 1)) < 1e-13);
    }
}

TEST_CASE("transformer layer, causal: what comes later changes nothing, to the last bit in float") {
    augur::random_engine rng(5);
    auto layer = nn::transformer_layer<float>::zeros(32, 4, 64, nn::norm_place::before);
    nn::init(layer, rng);
    nn::matrix<float> x = vectors::random_matrix(9, 32, 1).cast<float>(), y(9, 32), z(9, 32);
    const std::array<nn::index, 2> all{0, 9};
    nn::transformer_activation<float> kept;
    layer.forward(x, {all, {}, true}, kept, y);
    x.bottomRows(3).array() *= -2;
    layer.forward(x, {all, {}, true}, kept, z);
    CHECK(y.topRows(6) == z.topRows(6));
    CHECK(!(y.bottomRows(3) == z.bottomRows(3)));
}

TEST_CASE("transformer layer, causal: sequences that share a prefix give what each gives with the prefix in front, and the gradients of all") {
    auto layer = random_layer(nn::norm_place::before);
    // a prefix of 3 rows, its continuations of 2, 0 and 4 rows, and a sequence of its own
    const std::array<nn::index, 6> shared{0, 3, 5, 5, 9, 11};
    const std::array<nn::index, 5> prefix{-1, 0, 0, 0, -1};
    const M x = vectors::random_matrix(11, 6, 1), c = vectors::random_matrix(11, 6, 2);
    nn::transformer_activation<double> kept;
    M y(11, 6), dx(11, 6);
    auto grad = layer, expected = layer;
    nn::transformer_layer<double>::visit([](auto&&, auto& p) { p.setZero(); }, grad);
    nn::transformer_layer<double>::visit([](auto&&, auto& p) { p.setZero(); }, expected);
    const nn::sequences which{shared, {}, true, prefix};
    layer.forward(x, which, kept, y);
    layer.backward(x, which, kept, c, dx, grad);
    // each by itself; the loss of the prefix' own rows counts once
    M d_apart = M::Zero(11, 6);
    for (std::size_t n = 0; n < prefix.size(); ++n) {
        const nn::index front = prefix[n] < 0 ? 0 : 3, own = shared[n + 1] - shared[n], l = front + own;
        if (own == 0) continue;
        M in(l, 6), out(l, 6), d_in(l, 6), d_out = M::Zero(l, 6);
        in << x.topRows(front), x.middleRows(shared[n], own);
        d_out.bottomRows(own) = c.middleRows(shared[n], own);
        const std::array<nn::index, 2> one{0, l};
        nn::transformer_activation<double> of_one;
        layer.forward(in, {one, {}, true}, of_one, out);
        layer.backward(in, {one, {}, true}, of_one, d_out, d_in, expected);
        CHECK(vectors::distance(y.middleRows(shared[n], own), out.bottomRows(own)) < 1e-12);
        d_apart.topRows(front) += d_in.topRows(front);
        d_apart.middleRows(shared[n], own) += d_in.bottomRows(own);
    }
    CHECK(vectors::distance(dx, d_apart) < 1e-12);
    nn::transformer_layer<double>::visit([](auto&&, const auto& a, const auto& b) { CHECK(vectors::distance(a, b) < 1e-12); }, grad, expected);
}

TEST_CASE("transformer stack: its definition, and central differences, causal with a shared prefix and not") {
    auto stack = nn::transformer_stack<double>::zeros(3, 6, 2, 10);
    augur::random_engine rng(11);
    nn::init(stack, rng);
    nn::transformer_stack<double>::visit(
        [&](auto&&, auto& p) { // the last normalisation is not the identity, so that mistakes show
            auto noise = p;
            nn::fill_uniform(noise, 0.5, rng);
            p += noise;
        },
        stack);
    const std::array<nn::index, 5> places{0, 3, 5, 5, 9};
    const std::array<nn::index, 4> prefix{-1, 0, 0, -1};
    vectors::input in{vectors::random_matrix(9, 6, 1)};
    const M c = vectors::random_matrix(9, 6, 2);
    for (const bool causal : {true, false}) {
        CAPTURE(causal);
        const nn::sequences which{places, {}, causal, causal ? std::span<const nn::index>(prefix) : std::span<const nn::index>()};
        nn::transformer_stack_activation<double> kept;
        M y(9, 6), dx(9, 6);
        const auto loss = [&] {
            stack.forward(in.x, which, kept, y);
            return (c.array() * y.array()).sum();
        };
        loss();
        for (std::size_t n = 0; n < prefix.size(); ++n) {
            const nn::index front = causal && prefix[n] == 0 ? 3 : 0, own = places[n + 1] - places[n];
            M x(front + own, 6);
            x << in.x.topRows(front), in.x.middleRows(places[n], own);
            for (const auto& layer : stack.layers) x = reference(layer, x, causal);
            CHECK(vectors::distance(y.middleRows(places[n], own), normalised(stack.last, x).bottomRows(own)) < 1e-12);
        }
        auto grad = nn::transformer_stack<double>::zeros(3, 6, 2, 10);
        stack.backward(in.x, which, kept, c, dx, grad);
        CHECK(vectors::gradient_error(stack, grad, loss) < 1e-7);
        CHECK(vectors::gradient_error(in, vectors::input{dx}, loss) < 1e-7);
        loss();
        M in_place = c;
        stack.backward(in.x, which, kept, in_place, in_place, grad);
        CHECK(in_place == dx);
    }
}

TEST_CASE("transformer stack: the names of PyTorch's encoder, in order; without layers it normalises") {
    auto stack = nn::transformer_stack<double>::zeros(2, 6, 2, 10);
    std::vector<std::string> names;
    nn::transformer_stack<double>::visit([&](const std::string& name, const auto&) { names.push_back(name); }, stack);
    REQUIRE(names.size() == 2 * 12 + 2);
    CHECK(names[0] == "layers.0.self_attn.in_proj_weight");
    CHECK(names[12] == "layers.1.self_attn.in_proj_weight");
    CHECK(names[23] == "layers.1.norm2.bias");
    CHECK(names[24] == "norm.weight");
    CHECK(names[25] == "norm.bias");
    stack.layers.clear();
    stack.last.gamma.setOnes();
    const M x = vectors::random_matrix(7, 6, 1);
    nn::transformer_stack_activation<double> kept;
    M y(7, 6);
    stack.forward(x, {begin, {}}, kept, y);
    CHECK(vectors::distance(y, normalised(stack.last, x)) < 1e-12);
}

TEST_CASE("transformer layer of duals: the tangent of the input is the derivative by it") {
    using D = nn::dual<double>;
    const auto plain = random_layer(nn::norm_place::after);
    auto layer = nn::transformer_layer<D>::zeros(6, 2, 10);
    std::vector<const double*> from;
    nn::transformer_layer<double>::visit([&](auto&&, const auto& p) { from.push_back(p.data()); }, plain);
    std::size_t k = 0;
    nn::transformer_layer<D>::visit(
        [&](auto&&, auto& p) {
            for (nn::index i = 0; i < p.size(); ++i) p.data()[i] = D(from[k][i]);
            ++k;
        },
        layer);
    const M x = vectors::random_matrix(7, 6, 1), c = vectors::random_matrix(7, 6, 2);
    nn::transformer_activation<double> kept;
    M y(7, 6), dx(7, 6);
    auto grad = plain;
    plain.forward(x, {begin, {}}, kept, y);
    plain.backward(x, {begin, {}}, kept, c, dx, grad);
    nn::matrix<D> xd = x.cast<D>(), yd(7, 6);
    xd(5, 2).tangent = 1;
    nn::transformer_activation<D> kept_d;
    layer.forward(xd, {begin, {}}, kept_d, yd);
    D sum(0);
    for (nn::index t = 0; t < 7; ++t)
        for (nn::index i = 0; i < 6; ++i) sum += D(c(t, i)) * yd(t, i);
    CHECK(sum.tangent == doctest::Approx(dx(5, 2)).epsilon(1e-11));
}

TEST_CASE("transformer layer: as many parameters as PyTorch's, by its names") {
    // spec of the authors' TransformerEncoderLayer: width 256, 8 heads, 256 hidden
    const auto layer = nn::transformer_layer<float>::zeros(256, 8, 256);
    std::size_t n = 0;
    std::vector<std::string> names;
    nn::transformer_layer<float>::visit(
        [&](const std::string& name, const auto& p) {
            names.push_back(name);
            n += static_cast<std::size_t>(p.size());
        },
        layer);
    CHECK(n == 395776); // the authors' TransformerModule has these, dead, once more
    CHECK(names.front() == "self_attn.in_proj_weight");
    CHECK(names.back() == "norm2.bias");
    CHECK(names.size() == 12);
}

TEST_CASE("embedding: words and places add up, and back") {
    augur::random_engine rng(3);
    auto words = nn::embedding<double>::zeros(5, 3), places = nn::embedding<double>::zeros(4, 3);
    nn::init(words, rng, 1);
    nn::init(places, rng, 1);
    const std::array<std::uint32_t, 4> ids{4, 0, 4, 2}, at{0, 1, 2, 3};
    const M c = vectors::random_matrix(4, 3, 2);
    M y = M::Zero(4, 3);
    words.add(ids, y);
    places.add(at, y);
    CHECK(y.row(2) == words.W.row(4) + places.W.row(2));
    auto grad = nn::embedding<double>::zeros(5, 3);
    nn::embedding<double>::backward(ids, c, grad);
    const auto loss = [&] {
        M out = M::Zero(4, 3);
        words.add(ids, out);
        return (c.array() * out.array()).sum();
    };
    CHECK(vectors::gradient_error(words, grad, loss) < 1e-8);
    auto wide = nn::embedding<double>::zeros(100, 100);
    nn::init(wide, rng); // normal: deviation 0.02
    const double n = static_cast<double>(wide.W.size());
    CHECK(std::sqrt(wide.W.array().square().sum() / n) == doctest::Approx(0.02).epsilon(0.03));
    CHECK((wide.W.array().abs() < 0.02).cast<double>().sum() / n == doctest::Approx(0.6827).epsilon(0.03));
}
