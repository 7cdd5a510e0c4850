// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/activation.hpp>

#include <augur/nn/dual.hpp>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;

namespace {
/// A user's number without a tanh or erfc of its own.
struct plain {
    double v = 0;
    plain() = default;
    plain(int x) : v(x) {}
    plain(double x) : v(x) {}
    friend plain operator+(plain a, plain b) { return a.v + b.v; }
    friend plain operator-(plain a, plain b) { return a.v - b.v; }
    friend plain operator*(plain a, plain b) { return a.v * b.v; }
    friend plain operator/(plain a, plain b) { return a.v / b.v; }
    friend plain operator-(plain a) { return -a.v; }
    plain& operator+=(plain b) { return *this = *this + b; }
    plain& operator-=(plain b) { return *this = *this - b; }
    plain& operator*=(plain b) { return *this = *this * b; }
    plain& operator/=(plain b) { return *this = *this / b; }
    friend auto operator<=>(const plain&, const plain&) = default;
    [[maybe_unused]] friend plain exp(plain a) { return std::exp(a.v); }
    [[maybe_unused]] friend plain log(plain a) { return std::log(a.v); }
    [[maybe_unused]] friend plain sqrt(plain a) { return std::sqrt(a.v); }
    [[maybe_unused]] friend plain abs(plain a) { return std::abs(a.v); }
};
static_assert(nn::scalar<plain>);

/// Absolute below 1: torch's own numbers have cancelled digits for negative x.
template <class F, class S>
void check_gelu(const nlohmann::json& x, const nlohmann::json& expected, double tolerance) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        const S at = static_cast<S>(x[i].get<double>());
        CAPTURE(x[i].get<double>());
        CHECK(std::abs(static_cast<double>(F::value(at)) - expected["out"][i].get<double>()) <=
              tolerance * (std::max)(1.0, std::abs(x[i].get<double>())));
        CHECK(std::abs(static_cast<double>(F::derivative(at)) - expected["derivative"][i].get<double>()) <= tolerance);
    }
}
} // namespace

TEST_CASE("gelu: PyTorch's numbers, exact and by tanh, with derivatives") {
    const auto j = vectors::load("gelu.json");
    check_gelu<nn::gelu_tanh<double>, double>(j["x"], j["gelu_tanh"], 1e-12);
    check_gelu<nn::gelu_exact<double>, double>(j["x"], j["gelu_erf"], 1e-12);
    check_gelu<nn::gelu_tanh<float>, float>(j["x"], j["gelu_tanh"], 1e-5);
    check_gelu<nn::gelu_exact<float>, float>(j["x"], j["gelu_erf"], 1e-5);
}

TEST_CASE("activations: the derivative is the tangent of the value") {
    using D = nn::dual<double>;
    for (const double x : {-5.0, -1.3, -1e-3, 0.2, 2.5, 7.0}) {
        CHECK(nn::gelu_tanh<D>::value(D(x, 1)).tangent == doctest::Approx(nn::gelu_tanh<double>::derivative(x)).epsilon(1e-12));
        CHECK(nn::gelu_exact<D>::value(D(x, 1)).tangent == doctest::Approx(nn::gelu_exact<double>::derivative(x)).epsilon(1e-12));
        CHECK(nn::rectifier<D>::value(D(x, 1)).tangent == nn::rectifier<double>::derivative(x));
    }
}

TEST_CASE("rectifier: NaN stays NaN, in vectors too") {
    nn::matrix<float> x(2, 21), y(2, 21);
    x.setConstant(-1);
    x(0, 3) = x(1, 20) = std::nanf("");
    nn::activate<nn::rectifier<float>, float>(x, y);
    nn::matrix<double> z = x.cast<double>();
    nn::activate<nn::rectifier<double>, double>(z, z);
    for (nn::index i = 0; i < x.size(); ++i) {
        CHECK(std::isnan(y.data()[i]) == std::isnan(x.data()[i]));
        CHECK(std::isnan(z.data()[i]) == std::isnan(x.data()[i]));
        if (!std::isnan(x.data()[i])) CHECK((y.data()[i] == 0 && z.data()[i] == 0));
    }
}

TEST_CASE("sigmoid and tanh: far out, and for a number without its own tanh") {
    CHECK(nn::sigmoid(-800.0) == 0);
    CHECK(nn::sigmoid(800.0) == 1);
    CHECK(nn::sigmoid(-30.0) == doctest::Approx(std::exp(-30.0)).epsilon(1e-12));
    for (const double x : {-40.0, -1.0, 0.0, 0.3, 25.0}) CHECK(nn::hyperbolic_tangent(plain(x)).v == doctest::Approx(std::tanh(x)).epsilon(1e-13));
    CHECK(nn::hyperbolic_tangent(nn::dual<double>(0.4, 1)).tangent == doctest::Approx(1 - std::tanh(0.4) * std::tanh(0.4)));
}

TEST_CASE("activate: element by element, and back in place") {
    const vectors::matrix x = (vectors::matrix(2, 2) << -1, 0, 0.5, 2).finished();
    vectors::matrix y(2, 2), d = vectors::matrix::Ones(2, 2);
    nn::activate<nn::gelu_tanh<double>, double>(x, y);
    nn::activate_backward<nn::gelu_tanh<double>, double>(x, d);
    CHECK(y(1, 0) == nn::gelu_tanh<double>::value(0.5));
    CHECK(d(1, 1) == nn::gelu_tanh<double>::derivative(2));
}

TEST_CASE("gelu in vectors: as the definition in double, for lengths that do not fill a vector; a NaN stays one") {
    std::vector<float> x;
    for (int i = -300; i <= 300; ++i) x.push_back(static_cast<float>(i) / 20);
    for (const float far : {-100.0F, -30.0F, 30.0F, 100.0F, 1e-20F, 0.0F}) x.push_back(far);
    for (const std::size_t n : {x.size(), std::size_t{1}, std::size_t{7}, std::size_t{33}}) {
        const auto rows = static_cast<nn::index>(n);
        const nn::matrix<float> in = Eigen::Map<const nn::matrix<float>>(x.data() + x.size() - n, 1, rows);
        nn::matrix<float> y(1, rows), dy = nn::matrix<float>::Constant(1, rows, 2);
        nn::activate<nn::gelu_tanh<float>, float>(in, y);
        nn::activate_backward<nn::gelu_tanh<float>, float>(in, dy);
        for (nn::index i = 0; i < rows; ++i) {
            const double at = static_cast<double>(in(0, i));
            CHECK(std::abs(static_cast<double>(y(0, i)) - nn::gelu_tanh<double>::value(at)) < 1e-6 * (1 + std::abs(at)));
            CHECK(std::abs(static_cast<double>(dy(0, i)) - 2 * nn::gelu_tanh<double>::derivative(at)) < 4e-6);
        }
    }
    nn::matrix<float> bad = nn::matrix<float>::Constant(1, 20, std::nanf(""));
    nn::activate<nn::gelu_tanh<float>, float>(bad, bad);
    for (nn::index i = 0; i < 20; ++i) CHECK(std::isnan(bad(0, i)));
}
