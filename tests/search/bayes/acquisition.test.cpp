// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/bayes/acquisition.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <augur/search/bayes/gaussian_process.hpp>

#include "gp_vectors.hpp"

namespace acquisition_test {

namespace {
// log(phi(z) + z Phi(z)) by the integral of (x + z) phi(x) above -z in long double: x = t + u, the factor phi(t) in front.
long double log_improvement_by_quadrature(long double z) {
    const long double t = -z, width = t > 1 ? 60 / t : 60;
    const int pieces = 400000;
    const long double step = width / pieces;
    long double sum = 0; // Simpson's rule
    for (int i = 0; i <= pieces; ++i) {
        const long double u = step * i, weight = i == 0 || i == pieces ? 1 : i % 2 == 1 ? 4 : 2;
        sum += weight * u * std::exp(-t * u - u * u / 2);
    }
    return -t * t / 2 - 0.918938533204672741780329736L + std::log(sum * step / 3);
}
} // namespace

TEST_CASE("acquisition: EI, log EI and the bound are the reference") {
    const auto r = gp_vectors::read();
    for (Eigen::Index i = 0; i < r.mean.size(); ++i) {
        CHECK(augur::expected_improvement(r.mean[i], r.deviation[i], r.best) == doctest::Approx(r.ei[i]).epsilon(1e-12));
        CHECK(augur::log_expected_improvement(r.mean[i], r.deviation[i], r.best) == doctest::Approx(std::log(r.ei[i])).epsilon(1e-12));
        CHECK(augur::upper_confidence_bound(r.mean[i], r.deviation[i], 2) == doctest::Approx(r.ucb[i]).epsilon(1e-13));
    }
}

TEST_CASE("acquisition: log EI is the integral, where EI is a number and where it is 0") {
    for (const double z : {4.0, 1.0, 0.0, -1.0, -2.0, -2.999, -3.0, -3.001, -5.0, -8.0, -20.0, -37.0, -39.0, -100.0}) {
        const auto expected = static_cast<double>(log_improvement_by_quadrature(z));
        CHECK(augur::log_expected_improvement(z, 1, 0) == doctest::Approx(expected).epsilon(1e-12).scale(1e-3));
        CHECK(augur::log_expected_improvement(5 + 3 * z, 3, 5) == doctest::Approx(std::log(3) + expected).epsilon(1e-12).scale(1e-3));
    }
    CHECK(augur::expected_improvement(-40, 1, 0) == 0);
    // Far away: -z^2/2 - log sqrt(2 pi) - 2 log |z|, but for 3/z^2.
    for (const double z : {-1e3, -1e5, -1e8, -1e100}) {
        const double expected = -0.5 * z * z - 0.918938533204672742 - 2 * std::log(-z);
        CHECK(augur::log_expected_improvement(z, 1, 0) == doctest::Approx(expected).epsilon(1e-11));
    }
    // It ascends with the mean, across the place where the formula changes.
    double last = -std::numeric_limits<double>::infinity();
    for (double z = -45; z < 5; z += 1e-3) {
        const double now = augur::log_expected_improvement(z, 1, 0);
        CHECK(now > last);
        last = now;
    }
}

TEST_CASE("acquisition: without deviation") {
    CHECK(augur::expected_improvement(2, 0, 1) == 1);
    CHECK(augur::expected_improvement(1, 0, 2) == 0);
    CHECK(augur::log_expected_improvement(2, 0, 1) == 0);
    CHECK(augur::log_expected_improvement(1, 0, 2) == -std::numeric_limits<double>::infinity());
}

TEST_CASE("acquisition: standard normal numbers have mean 0, variance 1, and the kurtosis of the normal distribution") {
    augur::random_engine rng(1);
    const Eigen::ArrayXXd z = augur::standard_normals(1000, 400, rng).array();
    CHECK(std::abs(z.mean()) < 5 / std::sqrt(4e5));
    CHECK(std::abs(z.square().mean() - 1) < 5 * std::sqrt(2 / 4e5));
    CHECK(std::abs(z.square().square().mean() - 3) < 5 * std::sqrt(96 / 4e5));
}

TEST_CASE("acquisition: qEI by the given samples, and by many") {
    const auto r = gp_vectors::read();
    const auto process = r.process();
    Eigen::MatrixXd points(3, 3);
    for (Eigen::Index i = 0; i < 3; ++i) points.col(i) = r.candidates.col(static_cast<Eigen::Index>(r.qei_points[i]));
    const Eigen::VectorXd mean = process.mean(points);
    const Eigen::MatrixXd covariance = process.covariance(points);
    const auto few = augur::monte_carlo_expected_improvement(mean, covariance, r.best, r.normals);
    REQUIRE(few);
    CHECK(*few == doctest::Approx(r.qei).epsilon(1e-12));
    augur::random_engine rng(2);
    const auto many = augur::monte_carlo_expected_improvement(mean, covariance, r.best, augur::standard_normals(3, 400000, rng));
    REQUIRE(many);
    CHECK(std::abs(*many - r.qei_many) < 5 * r.qei_error * std::sqrt(10.0 + 1)); // ten times fewer samples
    // Of one point it is EI.
    const auto one =
        augur::monte_carlo_expected_improvement(mean.head(1), covariance.topLeftCorner(1, 1), r.best - 1, augur::standard_normals(1, 1000000, rng));
    REQUIRE(one);
    CHECK(*one == doctest::Approx(augur::expected_improvement(mean[0], std::sqrt(covariance(0, 0)), r.best - 1)).epsilon(0.01));
    // Of one point twice, too: a singular covariance.
    const auto twice = augur::monte_carlo_expected_improvement(Eigen::Vector2d::Constant(mean[0]), Eigen::Matrix2d::Constant(covariance(0, 0)),
                                                               r.best - 1, augur::standard_normals(2, 1000000, rng));
    REQUIRE(twice);
    CHECK(*twice == doctest::Approx(*one).epsilon(0.01));
}

TEST_CASE("acquisition: what qEI refuses") {
    const Eigen::MatrixXd z = Eigen::MatrixXd::Zero(2, 4);
    const auto shape = augur::monte_carlo_expected_improvement(Eigen::Vector3d::Zero(), Eigen::Matrix3d::Identity(), 0, z);
    REQUIRE(!shape);
    CHECK(shape.error().code == augur::errc::shape_mismatch);
    const auto indefinite = augur::monte_carlo_expected_improvement(Eigen::Vector2d::Zero(), (Eigen::Matrix2d() << 1, 2, 2, 1).finished(), 0, z);
    REQUIRE(!indefinite);
    CHECK(indefinite.error().code == augur::errc::invalid_argument);
}

} // namespace acquisition_test
