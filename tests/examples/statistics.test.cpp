// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Means with intervals and the correlation of ranks, against numbers worked out by hand.
#include <doctest/doctest.h>

#ifdef AUGUR_SEARCH_TABLES_PROGRAM // else there is no Eigen, and the shared sources are not built

#include <cmath>
#include <vector>

#include "statistics.hpp"

namespace statistics_test {

TEST_CASE("statistics: means and intervals") {
    // logarithms 0, 1, 2: mean 1, standard error 1 / sqrt(3), t of two degrees of freedom 4.303
    const std::vector<double> values{1, std::exp(1.0), std::exp(2.0)}, logarithms{0, 1, 2};
    const auto m = examples::geometric(values), a = examples::arithmetic(logarithms);
    CHECK(m.mean == doctest::Approx(std::exp(1.0)));
    CHECK(m.low == doctest::Approx(std::exp(1 - 4.303 / std::sqrt(3.0))));
    CHECK(m.high == doctest::Approx(std::exp(1 + 4.303 / std::sqrt(3.0))));
    CHECK(a.mean == doctest::Approx(1));
    CHECK(a.low == doctest::Approx(1 - 4.303 / std::sqrt(3.0)));
    CHECK(a.high == doctest::Approx(1 + 4.303 / std::sqrt(3.0)));
    std::vector<double> many; // 60 values, +- 1: standard error sqrt(60 / 59 / 60), t of 59 degrees 2.00100
    for (int i = 0; i < 60; ++i) many.push_back(i % 2 == 0 ? 1.0 : -1.0);
    CHECK(examples::arithmetic(many).high == doctest::Approx(2.00100 / std::sqrt(59.0)).epsilon(1e-4));
    CHECK(examples::geometric({}).count == 0);
    CHECK(examples::arithmetic(std::vector<double>{3}).low == 3);
}

TEST_CASE("statistics: Spearman's correlation, with ties") {
    CHECK(examples::spearman({1, 2, 3, 4}, {1, 10, 100, 1000}) == doctest::Approx(1));
    CHECK(examples::spearman({1, 2, 3, 4}, {9, 7, 5, 1}) == doctest::Approx(-1));
    // ranks 0, 1, 2, 3 and 0.5, 0.5, 2, 3: covariance 4.5, variances 5 and 4.5
    CHECK(examples::spearman({1, 2, 3, 4}, {5, 5, 6, 7}) == doctest::Approx(4.5 / std::sqrt(5 * 4.5)));
    CHECK(examples::spearman({1, 2, 3}, {4, 4, 4}) == 0);
}

} // namespace statistics_test

#endif
