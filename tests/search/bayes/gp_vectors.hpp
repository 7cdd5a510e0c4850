// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_SEARCH_BAYES_GP_VECTORS_HPP
#define AUGUR_TESTS_SEARCH_BAYES_GP_VECTORS_HPP

/// @file
/// Reference values of a Gaussian process with 9 points of 3 dimensions, made with NumPy (gp_matern52_acquisitions.json), and random problems.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include <augur/core/json.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/gaussian_process.hpp>

namespace gp_vectors {

inline std::vector<double> read_numbers(augur::json_reader& in) {
    std::vector<double> out;
    in.begin_array();
    while (in.next_element()) in.read(out.emplace_back());
    return out;
}
inline Eigen::VectorXd vector_of(const std::vector<double>& v) {
    return Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
}

/// Rows of the file as columns.
inline Eigen::MatrixXd read_matrix(augur::json_reader& in) {
    std::vector<std::vector<double>> rows;
    in.begin_array();
    while (in.next_element()) rows.push_back(read_numbers(in));
    Eigen::MatrixXd out(static_cast<Eigen::Index>(rows.front().size()), static_cast<Eigen::Index>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) out.col(static_cast<Eigen::Index>(i)) = vector_of(rows[i]);
    return out;
}

struct reference {
    Eigen::MatrixXd x, candidates, covariance, normals; ///< points are columns
    Eigen::VectorXd y, lengthscales, gradient, mean, ei, ucb, deviation, hallucinated, qei_points;
    double signal = 0, noise = 0, constant = 0, negative_log_likelihood = 0, best = 0, qei = 0, qei_many = 0, qei_error = 0;

    [[nodiscard]] augur::gp_hyperparameters parameters() const { return {lengthscales, signal, noise, constant}; }
    [[nodiscard]] augur::gaussian_process process() const {
        auto made = augur::gaussian_process::create(x, y, parameters());
        REQUIRE(made);
        return *made;
    }
};

inline reference read() {
    std::ifstream file(AUGUR_TEST_DIR "/vectors/gp_matern52_acquisitions.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    reference out;
    augur::json_reader in(text);
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "X") out.x = read_matrix(in);
        else if (key == "Xs") out.candidates = read_matrix(in);
        else if (key == "cov") out.covariance = read_matrix(in);
        else if (key == "qei_z") out.normals = read_matrix(in);
        else if (key == "y") out.y = vector_of(read_numbers(in));
        else if (key == "lengthscales") out.lengthscales = vector_of(read_numbers(in));
        else if (key == "nll_grad_log_ell_logsf2_logsn2_mean_central_diff") out.gradient = vector_of(read_numbers(in));
        else if (key == "mu") out.mean = vector_of(read_numbers(in));
        else if (key == "ei") out.ei = vector_of(read_numbers(in));
        else if (key == "ucb_beta2") out.ucb = vector_of(read_numbers(in));
        else if (key == "sd") out.deviation = vector_of(read_numbers(in));
        else if (key == "sd_after_hallucinating_x0") out.hallucinated = vector_of(read_numbers(in));
        else if (key == "qei_points") out.qei_points = vector_of(read_numbers(in));
        else if (key == "signal_var") in.read(out.signal);
        else if (key == "noise_var") in.read(out.noise);
        else if (key == "mean") in.read(out.constant);
        else if (key == "nll") in.read(out.negative_log_likelihood);
        else if (key == "best_f") in.read(out.best);
        else if (key == "qei_16") in.read(out.qei);
        else if (key == "qei_4e6") in.read(out.qei_many);
        else if (key == "qei_4e6_stderr") in.read(out.qei_error);
        else in.skip();
    }
    if (!in.finish()) FAIL(in.error().detail);
    return out;
}

inline Eigen::MatrixXd uniform(Eigen::Index d, Eigen::Index n, augur::random_engine& rng) {
    Eigen::MatrixXd out(d, n);
    for (double& v : out.reshaped()) v = rng.uniform();
    return out;
}

inline double worst(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { return (a - b).cwiseAbs().maxCoeff(); }

} // namespace gp_vectors

#endif
