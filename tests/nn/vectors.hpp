// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_NN_VECTORS_HPP
#define AUGUR_TESTS_NN_VECTORS_HPP

/// @file
/// What the network tests share: reference numbers, random matrices, and how far a result or a gradient is off.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/types.hpp>

namespace vectors {

using matrix = augur::nn::matrix<double>;
using row = augur::nn::row_vector<double>;

inline nlohmann::json load(const std::string& name) {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/" + name);
    return nlohmann::json::parse(file);
}

/// Any nesting of lists of numbers, in order.
inline void flatten(const nlohmann::json& from, std::vector<double>& to) {
    if (from.is_array())
        for (const auto& x : from) flatten(x, to);
    else to.push_back(from.get<double>());
}
inline matrix to_matrix(const nlohmann::json& from, augur::nn::index rows, augur::nn::index cols) {
    std::vector<double> flat;
    flatten(from, flat);
    return Eigen::Map<const matrix>(flat.data(), rows, cols);
}

inline matrix random_matrix(augur::nn::index rows, augur::nn::index cols, std::uint64_t seed) {
    augur::random_engine rng(seed);
    matrix m(rows, cols);
    augur::nn::fill_uniform(m, 1, rng);
    return m;
}

/// An input as if it were a parameter, for `gradient_error`.
struct input {
    matrix x;
    template <class F, class... L>
    static void visit(F&& f, L&... layers) {
        f("x", layers.x...);
    }
};

/// The largest difference, relative to the largest reference value (or 1e-3 if all are smaller).
template <class A, class B>
double distance(const A& got, const B& expected) {
    double worst = 0;
    double scale = 1e-3;
    for (augur::nn::index i = 0; i < expected.rows(); ++i)
        for (augur::nn::index j = 0; j < expected.cols(); ++j) {
            scale = (std::max)(scale, std::abs(static_cast<double>(expected(i, j))));
            worst = (std::max)(worst, std::abs(static_cast<double>(got(i, j)) - static_cast<double>(expected(i, j))));
        }
    return worst / scale;
}

/// Central differences of `loss` by each parameter of `model` against `gradient`; the largest difference relative to the largest derivative.
template <class M, class L>
double gradient_error(M& model, const M& gradient, const L& loss, double h = 1e-5) {
    double worst = 0;
    double scale = 1e-3;
    M::visit(
        [&](auto&&, auto& p, const auto& g) {
            const augur::nn::index stride = (std::max)(augur::nn::index{1}, p.size() / 50); // some of each
            for (augur::nn::index i = 0; i < p.size(); i += stride) {
                const double keep = p.data()[i];
                p.data()[i] = keep + h;
                const double up = loss();
                p.data()[i] = keep - h;
                const double down = loss();
                p.data()[i] = keep;
                const double slope = (up - down) / (2 * h);
                scale = (std::max)(scale, std::abs(slope));
                worst = (std::max)(worst, std::abs(slope - g.data()[i]));
            }
        },
        model, gradient);
    return worst / scale;
}

} // namespace vectors

#endif
