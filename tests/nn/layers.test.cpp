// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/attention.hpp>
#include <augur/nn/dual.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/train/optimiser.hpp>

#include <array>
#include <string>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;
using M = nn::matrix<double>;

namespace {

/// Base64 of little-endian doubles.
std::vector<double> decode(const std::string& text) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    unsigned bits = 0;
    int have = 0;
    for (const char c : text) {
        if (c == '=') break;
        bits = (bits << 6U) | static_cast<unsigned>(digits.find(c));
        have += 6;
        if (have >= 8) {
            have -= 8;
            bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(have)) & 0xFFU));
        }
    }
    std::vector<double> out(bytes.size() / 8);
    std::memcpy(out.data(), bytes.data(), out.size() * 8);
    return out;
}

template <class S>
void check_mha(double tolerance) {
    const auto j = vectors::load("mha_d64_h8_b3_s5.json");
    const auto w = vectors::load("mha_d64_h8_b3_s5_weights.json");
    auto layer = nn::attention<S>::zeros(64, 8);
    layer.in_proj.W = Eigen::Map<const M>(decode(w["in_proj_weight"].get<std::string>()).data(), 192, 64).transpose().template cast<S>();
    layer.out_proj.W = Eigen::Map<const M>(decode(w["out_proj_weight"].get<std::string>()).data(), 64, 64).transpose().template cast<S>();
    layer.in_proj.b = vectors::to_matrix(j["in_proj_bias"], 1, 192).cast<S>();
    layer.out_proj.b = vectors::to_matrix(j["out_proj_bias"], 1, 64).cast<S>();
    const nn::matrix<S> x = vectors::to_matrix(j["x"], 15, 64).cast<S>();
    const nn::matrix<S> dy = vectors::to_matrix(j["cotangent"], 15, 64).cast<S>();
    const std::array<nn::index, 4> begin{0, 5, 10, 15};

    for (const auto& c : j["cases"]) {
        CAPTURE(c["name"].get<std::string>());
        std::vector<std::uint32_t> repeat;
        if (!c["key_padding_mask"].is_null())
            for (const auto& sequence : c["key_padding_mask"])
                for (const auto& masked : sequence) repeat.push_back((masked.is_boolean() ? masked.get<bool>() : masked.get<int>() != 0) ? 0 : 1);
        const nn::sequences which{begin, repeat};
        nn::attention_activation<S> kept;
        nn::matrix<S> y(15, 64), dx(15, 64);
        auto grad = nn::attention<S>::zeros(64, 8);
        layer.forward(x, which, kept, y);
        layer.backward(x, which, kept, dy, dx, grad);
        CHECK(vectors::distance(y, vectors::to_matrix(c["out"], 15, 64)) < tolerance);
        CHECK(vectors::distance(dx, vectors::to_matrix(c["grad_x"], 15, 64)) < tolerance);
        CHECK(vectors::distance(grad.in_proj.b, vectors::to_matrix(c["grad_in_proj_bias"], 1, 192)) < tolerance);
        CHECK(vectors::distance(grad.out_proj.b, vectors::to_matrix(c["grad_out_proj_bias"], 1, 64)) < tolerance);
        const auto rows = [&](const nlohmann::json& part, const nn::matrix<S>& got) {
            for (std::size_t r = 0; r < part["rows"].size(); ++r) {
                const auto at = part["rows"][r].get<nn::index>();
                CHECK(vectors::distance(got.col(at).transpose(), vectors::to_matrix(part["values"][r], 1, 64)) < tolerance);
            }
        };
        rows(c["grad_in_proj_weight"], grad.in_proj.W);
        rows(c["grad_out_proj_weight"], grad.out_proj.W);
    }
}

} // namespace

static_assert(nn::scalar<float> && nn::scalar<double> && nn::scalar<nn::dual<double>> && nn::scalar<nn::dual<nn::dual<float>>>);
static_assert(!nn::scalar<int*> && !nn::scalar<std::string>);

TEST_CASE("linear: backward agrees with central differences") {
    augur::random_engine rng(7);
    auto layer = nn::linear<double>::zeros(3, 2);
    nn::init(layer, rng);
    M x = vectors::random_matrix(4, 3, 1);
    const M c = vectors::random_matrix(4, 2, 2); // L = sum(c * y), hence dL/dy = c
    const auto loss = [&] {
        M y(4, 2);
        layer.forward(x, y);
        return (c.array() * y.array()).sum();
    };
    auto grad = nn::linear<double>::zeros(3, 2);
    M dx(4, 3);
    layer.backward(x, c, dx, grad);
    CHECK(vectors::gradient_error(layer, grad, loss) < 1e-8);
    CHECK(vectors::distance(dx, c * layer.W.transpose()) < 1e-14);
}

TEST_CASE("linear of duals: the tangent of a parameter is the derivative by it") {
    using D = nn::dual<double>;
    augur::random_engine rng(3);
    auto plain = nn::linear<double>::zeros(3, 2);
    nn::init(plain, rng);
    const M x = vectors::random_matrix(4, 3, 1);
    const M c = vectors::random_matrix(4, 2, 2);
    auto grad = nn::linear<double>::zeros(3, 2);
    plain.backward(x, c, grad);

    nn::linear<D> layer{plain.W.cast<D>(), plain.b.cast<D>()};
    const nn::matrix<D> xd = x.cast<D>();
    for (nn::index i = 0; i < 3; ++i)
        for (nn::index o = 0; o < 2; ++o) {
            layer.W(i, o).tangent = 1;
            nn::matrix<D> y(4, 2);
            layer.forward(xd, y);
            layer.W(i, o).tangent = 0;
            D loss(0);
            for (nn::index t = 0; t < 4; ++t)
                for (nn::index k = 0; k < 2; ++k) loss += D(c(t, k)) * y(t, k);
            CHECK(loss.tangent == doctest::Approx(grad.W(i, o)).epsilon(1e-12));
        }
    // backward on duals: the tangent of the gradient is a Hessian row, which is 0 for an affine map and a linear loss
    layer.W(0, 0).tangent = 1;
    auto hessian = nn::linear<D>::zeros(3, 2);
    layer.backward(xd, c.cast<D>(), hessian);
    CHECK(hessian.W(0, 0).value == doctest::Approx(grad.W(0, 0)));
    CHECK(hessian.W(0, 0).tangent == 0);
}

TEST_CASE("dual: functions and second order") {
    using D = nn::dual<double>;
    const D x(0.7, 1);
    CHECK((exp(x) * log(x)).tangent == doctest::Approx(std::exp(0.7) * std::log(0.7) + std::exp(0.7) / 0.7));
    CHECK(
        (sqrt(x) / tanh(x)).tangent ==
        doctest::Approx((0.5 / std::sqrt(0.7) * std::tanh(0.7) - std::sqrt(0.7) * (1 - std::pow(std::tanh(0.7), 2))) / std::pow(std::tanh(0.7), 2)));
    CHECK(abs(D(-2, 1)).tangent == -1);
    CHECK(log2(D(4, 1)).value == doctest::Approx(2));
    using DD = nn::dual<D>;
    const DD y(D(0.7, 1), D(1, 0)); // d^3... of y^3: value, first, first, second derivative
    CHECK((y * y * y).tangent.tangent == doctest::Approx(6 * 0.7));
}

TEST_CASE("residual block: backward agrees with central differences") {
    augur::random_engine rng(7);
    auto layer = nn::residual<double>::zeros(5);
    nn::init(layer, rng);
    const M x = vectors::random_matrix(4, 5, 1);
    const M c = vectors::random_matrix(4, 5, 2);
    M hidden(4, 5), y(4, 5), scratch(4, 5), dx(4, 5);
    const auto loss = [&] {
        layer.forward(x, hidden, y);
        return (c.array() * y.array()).sum();
    };
    loss();
    auto grad = nn::residual<double>::zeros(5);
    layer.backward(x, hidden, c, scratch, dx, grad);
    CHECK(vectors::gradient_error(layer, grad, loss) < 1e-8);
    vectors::input in{x};
    const auto by_input = [&] {
        layer.forward(in.x, hidden, y);
        return (c.array() * y.array()).sum();
    };
    CHECK(vectors::gradient_error(in, vectors::input{dx}, by_input) < 1e-8);
}

TEST_CASE("attention: PyTorch's numbers, plain and with a mask") {
    check_mha<double>(1e-12);
    check_mha<float>(1e-5);
}

TEST_CASE("attention: a repeated row counts as its copies") {
    augur::random_engine rng(11);
    auto layer = nn::attention<double>::zeros(6, 2);
    nn::init(layer, rng);
    M full = vectors::random_matrix(5, 6, 4);
    full.row(4) = full.row(3) = full.row(1);
    const std::array<nn::index, 2> five{0, 5};
    const std::array<nn::index, 2> three{0, 3};
    const std::array<std::uint32_t, 3> repeat{1, 3, 1};
    const M folded = full.topRows(3);
    const M c = vectors::random_matrix(3, 6, 5);
    M c_full(5, 6);
    c_full << c, c.row(1), c.row(1);
    M c_folded = c;
    c_folded.row(1) *= 3;
    nn::attention_activation<double> a, b;
    M y5(5, 6), y3(3, 6), dx5(5, 6), dx3(3, 6);
    auto g5 = nn::attention<double>::zeros(6, 2), g3 = g5;
    layer.forward(full, {five, {}}, a, y5);
    layer.forward(folded, {three, repeat}, b, y3);
    CHECK(vectors::distance(y5.topRows(3), y3) < 1e-14);
    layer.backward(full, {five, {}}, a, c_full, dx5, g5);
    layer.backward(folded, {three, repeat}, b, c_folded, dx3, g3);
    CHECK(vectors::distance(g5.in_proj.W, g3.in_proj.W) < 1e-13);
    CHECK(vectors::distance(dx5.row(1) * 3, dx3.row(1)) < 1e-13);
    const auto loss = [&] {
        M y(3, 6);
        layer.forward(folded, {three, repeat}, b, y);
        return (c_folded.array() * y.array()).sum();
    };
    CHECK(vectors::gradient_error(layer, g3, loss) < 1e-7);
}

TEST_CASE("attention: float, by head or with heads side by side, is as double") {
    for (const nn::index heads : {2, 4, 6, 12}) // 2 by head
        for (const bool folded : {false, true}) {
            const nn::index width = heads * 5, rows = 61;
            const std::array<nn::index, 6> begin{0, 1, 4, 4, 10, rows}; // one of 51 rows: products that pack
            std::vector<std::uint32_t> repeat;
            for (std::uint32_t i = 0; folded && i < rows; ++i) repeat.push_back(1 + i % 3);
            augur::random_engine rng(3);
            auto layer = nn::attention<double>::zeros(width, heads);
            nn::init(layer, rng);
            auto single = nn::attention<float>::zeros(width, heads);
            single.in_proj = {layer.in_proj.W.cast<float>(), layer.in_proj.b.cast<float>()};
            single.out_proj = {layer.out_proj.W.cast<float>(), layer.out_proj.b.cast<float>()};
            const M x = 3 * vectors::random_matrix(rows, width, 1), dy = vectors::random_matrix(rows, width, 2);
            const nn::matrix<float> xf = x.cast<float>(), dyf = dy.cast<float>();
            nn::attention_activation<double> a;
            nn::attention_activation<float> b;
            M y(rows, width), dx(rows, width);
            nn::matrix<float> yf(rows, width), dxf(rows, width);
            auto grad = nn::attention<double>::zeros(width, heads);
            auto grad_f = nn::attention<float>::zeros(width, heads);
            layer.forward(x, {begin, repeat}, a, y);
            layer.backward(x, {begin, repeat}, a, dy, dx, grad);
            single.forward(xf, {begin, repeat}, b, yf);
            single.backward(xf, {begin, repeat}, b, dyf, dxf, grad_f);
            CAPTURE(heads);
            CAPTURE(folded);
            CHECK(vectors::distance(yf, y) < 1e-5);
            CHECK(vectors::distance(dxf, dx) < 1e-5);
            CHECK(vectors::distance(grad_f.in_proj.W, grad.in_proj.W) < 1e-4);
            CHECK(vectors::distance(grad_f.in_proj.b, grad.in_proj.b) < 1e-4);
        }
}

TEST_CASE("linear and residual block: packed weights give the same bits") {
    augur::random_engine rng(5);
    auto layer = nn::linear<float>::zeros(70, 50);
    auto block = nn::residual<float>::zeros(50);
    nn::init(layer, rng);
    nn::init(block, rng);
    nn::packed_weights<float> of_layer, of_block;
    of_layer.pack(layer);
    of_block.pack(block.inner);
    using F = nn::matrix<float>;
    const F x = vectors::random_matrix(60, 70, 1).cast<float>(), dy = vectors::random_matrix(60, 50, 2).cast<float>();
    const auto run = [&](const nn::packed_weights<float>* for_layer, const nn::packed_weights<float>* for_block) {
        F z(60, 50), hidden(60, 50), y(60, 50), scratch(60, 50), dz(60, 50), dx(60, 70);
        auto grad = nn::linear<float>::zeros(70, 50);
        auto grad_block = nn::residual<float>::zeros(50);
        layer.forward(x, z, for_layer);
        block.forward(z, hidden, y, for_block);
        block.backward(z, hidden, dy, scratch, dz, grad_block, for_block);
        layer.backward(x, dz, dx, grad, for_layer);
        return std::array<F, 4>{y, dx, grad.W, grad_block.inner.W};
    };
    const auto plain = run(nullptr, nullptr), packed = run(&of_layer, &of_block);
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(plain[i] == packed[i]);
}

TEST_CASE("relu: zero has no slope") {
    M x(1, 3);
    x << -1, 0, 2;
    nn::relu<double>(x);
    M dy = M::Ones(1, 3);
    nn::relu_backward<double>(x, dy);
    CHECK(x == (M(1, 3) << 0, 0, 2).finished());
    CHECK(dy == (M(1, 3) << 0, 0, 1).finished());
}

TEST_CASE("clip_norm and Adam") {
    auto layer = nn::linear<double>::zeros(1, 1);
    layer.W(0, 0) = 1;
    auto grad = layer;
    grad.W(0, 0) = 3;
    grad.b(0) = 4;
    CHECK(nn::clip_norm(grad, 0.5) == doctest::Approx(5));
    CHECK(grad.W(0, 0) == doctest::Approx(0.3).epsilon(1e-6));
    nn::adam<nn::linear<double>> optimiser(layer);
    optimiser.step(layer, grad); // the first step is learning_rate * sign, as the two moments agree
    CHECK(layer.W(0, 0) == doctest::Approx(1 - 7e-4).epsilon(1e-7));
    CHECK(nn::parameter_count(layer) == 2);
}
