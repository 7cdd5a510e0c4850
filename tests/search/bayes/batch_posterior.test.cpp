// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/bayes/batch_posterior.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include "../threads.hpp"
#include "gp_vectors.hpp"

namespace batch_posterior_test {

using augur::batch_posterior;

TEST_CASE("batch_posterior: hallucinated deviations are the reference") {
    const auto r = gp_vectors::read();
    const auto process = r.process();
    batch_posterior posterior(process, r.candidates, 2, r.noise, augur::serial_executor{});
    CHECK(posterior.size() == 5);
    for (std::size_t c = 0; c < 5; ++c) {
        CHECK(posterior.mean(c) == doctest::Approx(r.mean[static_cast<Eigen::Index>(c)]).epsilon(1e-12));
        CHECK(posterior.deviation(c) == doctest::Approx(r.deviation[static_cast<Eigen::Index>(c)]).epsilon(1e-12));
    }
    posterior.choose(0);
    for (std::size_t c = 0; c < 5; ++c) {
        CHECK(!posterior.current(c));
        posterior.follow(c);
        CHECK(posterior.current(c));
        CHECK(posterior.deviation(c) == doctest::Approx(r.hallucinated[static_cast<Eigen::Index>(c)]).epsilon(1e-11));
    }
}

TEST_CASE("batch_posterior: it follows, late or at once, a process to which the chosen points are added with their means") {
    augur::random_engine rng(7);
    const Eigen::MatrixXd x = gp_vectors::uniform(4, 60, rng), candidates = gp_vectors::uniform(4, 600, rng);
    const Eigen::VectorXd y = gp_vectors::uniform(60, 1, rng);
    auto process = augur::gaussian_process::create(x, y, {Eigen::Vector4d(0.5, 0.5, 1, 2), 1.3, 0.01, 0.2});
    REQUIRE(process);
    batch_posterior lazy(*process, candidates, 20, 0.01, augur::serial_executor{});
    toy::threads pool{3};
    batch_posterior eager(*process, candidates, 20, 0.01, pool);
    const Eigen::VectorXd before = process->posterior(candidates).variance;
    for (std::size_t k = 0; k < 20; ++k) {
        const std::size_t c = k * 29;
        lazy.choose(c);
        eager.choose(c);
        for (std::size_t i = 0; i < eager.size(); ++i) eager.follow(i);
        REQUIRE(process->add(candidates.col(static_cast<Eigen::Index>(c)), lazy.mean(c)));
    }
    const auto added = process->posterior(candidates);
    for (std::size_t i = 0; i < lazy.size(); ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        lazy.follow(i);
        CHECK(lazy.deviation(i) == eager.deviation(i));
        CHECK(std::abs(lazy.mean(i) - added.mean[at]) < 1e-9);
        CHECK(std::abs(lazy.deviation(i) * lazy.deviation(i) - added.variance[at]) < 1e-9);
        CHECK(lazy.deviation(i) * lazy.deviation(i) <= before[at] + 1e-12);
    }
}

TEST_CASE("batch_posterior: without noise its loadings are the joint covariance of the candidates") {
    const auto r = gp_vectors::read();
    const auto process = r.process();
    batch_posterior posterior(process, r.candidates, 5, 0, augur::serial_executor{});
    // In the order of choice the loadings are rows of the Cholesky factor of the covariance.
    Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(5, 5);
    for (std::size_t c = 0; c < 5; ++c) {
        posterior.follow(c);
        const auto k = static_cast<Eigen::Index>(c);
        factor.row(k).head(k) = posterior.loadings(c).transpose();
        factor(k, k) = posterior.deviation(c);
        posterior.choose(c);
    }
    CHECK(gp_vectors::worst(factor * factor.transpose(), r.covariance) < 1e-9);
}

} // namespace batch_posterior_test
