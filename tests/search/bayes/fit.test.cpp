// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/bayes/fit.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include <augur/search/bayes/acquisition.hpp>

#include "gp_vectors.hpp"

namespace fit_test {

using augur::gp_hyperparameters;
using augur::gp_likelihood;

namespace {
// Hyper-parameters moved along the k-th coordinate of the gradient.
gp_hyperparameters moved(gp_hyperparameters h, Eigen::Index k, double by) {
    const Eigen::Index d = h.lengthscales.size();
    if (k < d) h.lengthscales[k] *= std::exp(by);
    else if (k == d) h.signal_variance *= std::exp(by);
    else if (k == d + 1) h.noise_variance *= std::exp(by);
    else h.mean += by;
    return h;
}
} // namespace

TEST_CASE("gp_likelihood: value and gradient are the reference") {
    const auto r = gp_vectors::read();
    gp_likelihood likelihood(r.x, r.y);
    Eigen::VectorXd gradient;
    const auto value = likelihood(r.parameters(), &gradient);
    REQUIRE(value);
    CHECK(*value == doctest::Approx(-r.negative_log_likelihood).epsilon(1e-13));
    REQUIRE(gradient.size() == r.gradient.size());
    CHECK(gp_vectors::worst(gradient, -r.gradient) < 1e-7); // central differences
}

TEST_CASE("gp_likelihood: the gradient is that of central differences, also where the inverse is made of blocks") {
    augur::random_engine rng(5);
    const Eigen::Index d = 5;
    for (const Eigen::Index n : {1, 2, 63, 65, 200, 333}) {
        const Eigen::MatrixXd x = gp_vectors::uniform(d, n, rng);
        const Eigen::VectorXd y = (4 * x.row(0).array()).sin().transpose() + gp_vectors::uniform(n, 1, rng).array();
        const gp_hyperparameters h{(Eigen::VectorXd(d) << 0.3, 0.6, 1, 3, 20).finished(), 1.7, 0.05, 0.3};
        gp_likelihood likelihood(x, y);
        Eigen::VectorXd gradient;
        const auto value = likelihood(h, &gradient);
        REQUIRE(value);
        const auto process = augur::gaussian_process::create(x, y, h);
        REQUIRE(process);
        CHECK(*value == doctest::Approx(process->log_marginal_likelihood()).epsilon(1e-12));
        for (Eigen::Index k = 0; k < d + 3; ++k) {
            const double step = 1e-5, up = *likelihood(moved(h, k, step)), down = *likelihood(moved(h, k, -step));
            CHECK(gradient[k] == doctest::Approx((up - down) / (2 * step)).epsilon(1e-5).scale(1e-2));
        }
    }
}

TEST_CASE("fit_hyperparameters: a maximum, near the parameters that made the labels") {
    augur::random_engine rng(3);
    const Eigen::Index n = 240;
    const Eigen::MatrixXd x = gp_vectors::uniform(3, n, rng);
    const gp_hyperparameters truth{Eigen::Vector3d(0.25, 0.7, 50), 1, 0.01, 0};
    const Eigen::MatrixXd scaled = augur::detail::scaled_points(x, truth.lengthscales);
    Eigen::MatrixXd covariance = augur::detail::cross_covariance(scaled, scaled, truth.signal_variance);
    covariance.diagonal().array() += truth.noise_variance;
    const Eigen::VectorXd y = covariance.llt().matrixL() * augur::standard_normals(n, 1, rng).col(0);

    const auto fitted = augur::fit_hyperparameters(x, y, augur::gp_priors::none());
    REQUIRE(fitted);
    const auto& h = fitted->parameters;
    gp_likelihood likelihood(x, y);
    CHECK(*likelihood(h) >= *likelihood(truth));
    CHECK(h.lengthscales[0] == doctest::Approx(0.25).epsilon(0.35));
    CHECK(h.lengthscales[1] == doctest::Approx(0.7).epsilon(0.35));
    CHECK(h.lengthscales[2] > 5); // does not matter
    CHECK(h.noise_variance == doctest::Approx(0.01).epsilon(0.35));
    for (Eigen::Index k = 0; k < 6; ++k)
        for (const double by : {-0.05, 0.05}) CHECK(*likelihood(moved(h, k, by)) <= fitted->log_posterior + 1e-2);

    const auto again = augur::fit_hyperparameters(x, y, augur::gp_priors::none());
    REQUIRE(again);
    CHECK(again->parameters.lengthscales == h.lengthscales);
    // The prior draws the dimension that does not matter back.
    const auto with_prior = augur::fit_hyperparameters(x, y, augur::gp_priors::unit_cube(3));
    REQUIRE(with_prior);
    CHECK(with_prior->parameters.lengthscales[2] < h.lengthscales[2]);
}

TEST_CASE("fit_hyperparameters: noise without a function, equal labels, one point, equal points, NaN") {
    augur::random_engine rng(4);
    const Eigen::MatrixXd x = gp_vectors::uniform(2, 100, rng);
    const auto priors = augur::gp_priors::unit_cube(2);
    const auto noise = augur::fit_hyperparameters(x, augur::standard_normals(100, 1, rng).col(0), augur::gp_priors::none());
    REQUIRE(noise);
    // What is left of a signal is flat, or not there.
    const auto process = augur::gaussian_process::create(x, Eigen::VectorXd::Zero(100), noise->parameters);
    REQUIRE(process);
    CHECK(noise->parameters.noise_variance > 0.5);
    for (const Eigen::VectorXd& y : {Eigen::VectorXd(Eigen::VectorXd::Zero(100)), Eigen::VectorXd(Eigen::VectorXd::Constant(100, 1e6))}) {
        const auto flat = augur::fit_hyperparameters(x, y, priors);
        REQUIRE(flat);
        CHECK(flat->parameters.lengthscales.allFinite());
        CHECK(flat->parameters.noise_variance >= 1e-4 * 0.999);
    }
    CHECK(augur::fit_hyperparameters(x.leftCols(1), Eigen::VectorXd::Zero(1), priors));
    CHECK(augur::fit_hyperparameters(Eigen::MatrixXd::Constant(2, 50, 0.3), augur::standard_normals(50, 1, rng).col(0), priors));
    Eigen::VectorXd bad = Eigen::VectorXd::Zero(100);
    bad[3] = std::nan("");
    const auto refused = augur::fit_hyperparameters(x, bad, priors);
    REQUIRE(!refused);
    CHECK(refused.error().code == augur::errc::invalid_argument);
}

} // namespace fit_test
