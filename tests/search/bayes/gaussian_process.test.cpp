// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/bayes/gaussian_process.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "gp_vectors.hpp"

namespace gaussian_process_test {

using augur::gaussian_process;
using gp_vectors::worst;

TEST_CASE("gaussian_process: likelihood, mean and covariance are the reference") {
    const auto r = gp_vectors::read();
    const auto process = r.process();
    CHECK(process.jitter() == 0);
    CHECK(process.log_marginal_likelihood() == doctest::Approx(-r.negative_log_likelihood).epsilon(1e-13));
    const auto posterior = process.posterior(r.candidates);
    CHECK(worst(posterior.mean, r.mean) < 1e-13);
    CHECK(worst(process.mean(r.candidates), r.mean) < 1e-13);
    CHECK(worst(posterior.variance.cwiseSqrt(), r.deviation) < 1e-13);
    CHECK(worst(process.covariance(r.candidates), r.covariance) < 1e-13);
}

TEST_CASE("gaussian_process: a hallucinated point is GP-BUCB's, with one row") {
    const auto r = gp_vectors::read();
    auto process = r.process();
    REQUIRE(process.add(r.candidates.col(0), r.mean[0]));
    const auto posterior = process.posterior(r.candidates);
    CHECK(worst(posterior.mean, r.mean) < 1e-13);
    CHECK(worst(posterior.variance.cwiseSqrt(), r.hallucinated) < 1e-12);
}

TEST_CASE("gaussian_process: added points and other labels are a new factorisation") {
    augur::random_engine rng(1);
    const Eigen::MatrixXd x = gp_vectors::uniform(4, 90, rng), at = gp_vectors::uniform(4, 30, rng);
    const Eigen::VectorXd y = gp_vectors::uniform(90, 1, rng), other = gp_vectors::uniform(90, 1, rng);
    const augur::gp_hyperparameters h{Eigen::Vector4d(0.3, 0.8, 2, 5), 0.7, 1e-3, 0.4};
    auto grown = gaussian_process::create(x.leftCols(10), y.head(10), h);
    REQUIRE(grown);
    for (Eigen::Index i = 10; i < 90; ++i) REQUIRE(grown->add(x.col(i), y[i]));
    const auto compare = [&](const Eigen::VectorXd& labels) {
        const auto fresh = gaussian_process::create(x, labels, h);
        REQUIRE(fresh);
        CHECK(grown->size() == 90);
        CHECK(grown->log_marginal_likelihood() == doctest::Approx(fresh->log_marginal_likelihood()).epsilon(1e-11));
        CHECK(worst(grown->mean(at), fresh->mean(at)) < 1e-10);
        CHECK(worst(grown->posterior(at).variance, fresh->posterior(at).variance) < 1e-12);
    };
    compare(y);
    grown->relabel(other);
    compare(other);
}

TEST_CASE("gaussian_process: one point twice is two observations of it") {
    // With noise s, two labels of a point are their mean with noise s/2.
    const Eigen::MatrixXd twice = Eigen::RowVector3d(0.2, 0.2, 0.9), once = Eigen::RowVector2d(0.2, 0.9), at = Eigen::RowVectorXd::LinSpaced(9, 0, 1);
    const auto both = gaussian_process::create(twice, Eigen::Vector3d(1, 3, 0), {Eigen::VectorXd::Constant(1, 0.5), 1, 0.1, 0});
    REQUIRE(both);
    CHECK(both->jitter() == 0);
    // The same through the formula for a noise that differs: K + diag(0.05, 0.1).
    const double c = 1 + std::sqrt(5) * 1.4 + 5 * 1.4 * 1.4 / 3, k = c * std::exp(-std::sqrt(5) * 1.4);
    Eigen::Matrix2d kernel;
    kernel << 1.05, k, k, 1.1;
    const Eigen::Vector2d weights = kernel.inverse() * Eigen::Vector2d(2, 0);
    for (Eigen::Index i = 0; i < at.cols(); ++i) {
        Eigen::Vector2d cross;
        for (Eigen::Index j = 0; j < 2; ++j) {
            const double s = std::sqrt(5) * std::abs(at(0, i) - once(0, j)) / 0.5;
            cross[j] = (1 + s + s * s / 3) * std::exp(-s);
        }
        const auto posterior = both->posterior(at.col(i));
        CHECK(posterior.mean[0] == doctest::Approx(cross.dot(weights)).epsilon(1e-10));
        CHECK(posterior.variance[0] == doctest::Approx(1 - cross.dot(kernel.inverse() * cross)).epsilon(1e-10));
    }
}

TEST_CASE("gaussian_process: a singular matrix gets a jitter, which is told") {
    const Eigen::MatrixXd same = Eigen::MatrixXd::Constant(2, 20, 0.5);
    const augur::gp_hyperparameters exact{Eigen::Vector2d(1, 1), 2, 0, 0};
    const auto process = gaussian_process::create(same, Eigen::VectorXd::Constant(20, 1), exact);
    REQUIRE(process);
    CHECK(process->jitter() >= 2e-10);
    CHECK(process->jitter() <= 2e-6);
    const auto posterior = process->posterior(same.col(0));
    CHECK(posterior.mean[0] == doctest::Approx(1).epsilon(1e-5));
    CHECK(posterior.variance[0] < 1e-5);

    // A row that makes it singular: factorised anew, with a jitter.
    auto grown = gaussian_process::create(same.leftCols(1), Eigen::VectorXd::Constant(1, 1), exact);
    REQUIRE(grown);
    CHECK(grown->jitter() == 0);
    REQUIRE(grown->add(same.col(0), 1));
    CHECK(grown->jitter() > 0);
    CHECK(grown->size() == 2);
    CHECK(grown->mean(same.col(0))[0] == doctest::Approx(1).epsilon(1e-5));
}

TEST_CASE("gaussian_process: what is refused") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Eigen::MatrixXd x = Eigen::MatrixXd::Random(2, 3);
    const Eigen::VectorXd y = Eigen::VectorXd::Random(3);
    const augur::gp_hyperparameters good{Eigen::Vector2d(1, 1), 1, 0.1, 0};
    const auto code = [](const auto& r) {
        REQUIRE(!r);
        return r.error().code;
    };
    CHECK(code(gaussian_process::create(x, y.head(2), good)) == augur::errc::shape_mismatch);
    CHECK(code(gaussian_process::create(x.topRows(1), y, good)) == augur::errc::shape_mismatch);
    CHECK(code(gaussian_process::create(x, Eigen::Vector3d(1, nan, 2), good)) == augur::errc::invalid_argument);
    for (const double bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
        CHECK(code(gaussian_process::create(x, y, {Eigen::Vector2d(1, bad), 1, 0.1, 0})) == augur::errc::invalid_argument);
        CHECK(code(gaussian_process::create(x, y, {Eigen::Vector2d(1, 1), bad, 0.1, 0})) == augur::errc::invalid_argument);
    }
    CHECK(code(gaussian_process::create(x, y, {Eigen::Vector2d(1, 1), 1, -0.1, 0})) == augur::errc::invalid_argument);
    CHECK(code(gaussian_process::create(x, y, {Eigen::Vector2d(1, 1), 1, 0.1, nan})) == augur::errc::invalid_argument);
    auto process = gaussian_process::create(x, y, good);
    REQUIRE(process);
    CHECK(code(process->add(Eigen::Vector3d(1, 1, 1), 1)) == augur::errc::shape_mismatch);
    CHECK(code(process->add(Eigen::Vector2d(1, nan), 1)) == augur::errc::invalid_argument);
    CHECK(code(process->add(Eigen::Vector2d(1, 1), nan)) == augur::errc::invalid_argument);
    CHECK(process->size() == 3);
}

TEST_CASE("gaussian process: without points the posterior is the prior, and a point that is added counts as one that was there") {
    Eigen::MatrixXd asked(2, 3);
    asked << 0.1, 0.7, 2, -1, 0.3, 0.5;
    const augur::gp_hyperparameters h{Eigen::Vector2d(0.5, 2), 1.7, 0.01, 0.4};
    auto prior = gaussian_process::create(Eigen::MatrixXd(2, 0), Eigen::VectorXd(0), h);
    REQUIRE(prior);
    const auto before = prior->posterior(asked);
    CHECK((before.mean.array() == 0.4).all());
    CHECK((before.variance.array() == 1.7).all());
    CHECK(prior->log_marginal_likelihood() == 0);
    REQUIRE(prior->add(Eigen::Vector2d(0.2, 0.2), 3));
    const auto one = gaussian_process::create(Eigen::Vector2d(0.2, 0.2), Eigen::VectorXd::Constant(1, 3), h);
    REQUIRE(one);
    CHECK((prior->posterior(asked).mean - one->posterior(asked).mean).norm() < 1e-12);
    CHECK((prior->posterior(asked).variance - one->posterior(asked).variance).norm() < 1e-12);
}

} // namespace gaussian_process_test
