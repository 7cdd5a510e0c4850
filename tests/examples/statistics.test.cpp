// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Means with intervals, the correlation of ranks and marks of convergence, against numbers worked out by hand.
#include <doctest/doctest.h>

#ifdef AUGUR_SEARCH_TABLES_PROGRAM // else there is no Eigen, and the shared sources are not built

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
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

TEST_CASE("statistics: a median with failures, which are infinite and the largest") {
    constexpr double failed = std::numeric_limits<double>::infinity();
    CHECK(examples::median({1, failed, 2}) == 2);
    CHECK(examples::median({failed, 1, failed}) == failed);
    CHECK(examples::median({1, 2, failed, failed}) == failed);
    CHECK(examples::median({4, 1, 2, failed}) == 3);
}

TEST_CASE("statistics: Spearman's correlation, with ties") {
    CHECK(examples::spearman({1, 2, 3, 4}, {1, 10, 100, 1000}) == doctest::Approx(1));
    CHECK(examples::spearman({1, 2, 3, 4}, {9, 7, 5, 1}) == doctest::Approx(-1));
    // ranks 0, 1, 2, 3 and 0.5, 0.5, 2, 3: covariance 4.5, variances 5 and 4.5
    CHECK(examples::spearman({1, 2, 3, 4}, {5, 5, 6, 7}) == doctest::Approx(4.5 / std::sqrt(5 * 4.5)));
    CHECK(examples::spearman({1, 2, 3}, {4, 4, 4}) == 0);
}

TEST_CASE("statistics: the total latency falls with the trials of each kernel") {
    constexpr double none = std::numeric_limits<double>::infinity();
    const std::vector<double> begun{10, 20, none};
    // least latencies: 10 8 8 5, 20 20 15 15 and none none 4 4
    const std::vector<std::vector<double>> trials{{8, 9, 5}, {none, 15}, {none, 4, 6}};
    CHECK(examples::total_latencies(begun, trials, 16) == std::vector<double>{none, none, 27, 24});
    CHECK(examples::total_latencies(begun, trials, 2) == std::vector<double>{none, none, 27});
    // the third kernel never works, or not within the first trial
    CHECK(examples::total_latencies(begun, std::vector<std::vector<double>>{{8, 9, 5}, {none, 15}, {none}}, 16) ==
          std::vector<double>{30, 28, 23, 20});
    CHECK(examples::total_latencies(begun, trials, 1) == std::vector<double>{30, 28});
    CHECK(examples::total_latencies({}, {}, 16) == std::vector<double>{0});
}

TEST_CASE("statistics: trials beyond a number say nothing of convergence, and a kernel that ended before keeps its best") {
    // The first kernel has no third trial, so the second one has five. Least latencies: 10 8 7 7 7 7 and 20 19 19 18 18 17.
    const std::vector<double> begun{10, 20};
    const std::vector<std::vector<double>> trials{{8, 7}, {19, 25, 18, 30, 17}};
    const auto all = examples::total_latencies(begun, trials, 5), three = examples::total_latencies(begun, trials, 3);
    CHECK(all == std::vector<double>{30, 27, 26, 25, 25, 24});
    CHECK(three == std::vector<double>{30, 27, 26, 25});
    // gains of two steps: 4 of 30, 2 of 27, 1 of 26 (3.8 %), 1 of 25
    CHECK(examples::converged_at(all, 2, 0.05) == std::size_t{4});
    CHECK(examples::converged_at(three, 2, 0.05) == std::nullopt);
}

TEST_CASE("statistics: converged where the last steps gain less than a share") {
    constexpr double none = std::numeric_limits<double>::infinity();
    // gains of three steps from place 3 on: 20 %, 16 %, 12 %, 0.9 of 80 (1.1 %), 0.4 of 79.5 (0.5 %), 0.25 %, 0.13 %, 0.13 %, 0.05 of 79 (0.06 %)
    const std::vector<double> totals{100, 95, 90, 80, 79.5, 79.2, 79.1, 79.1, 79, 79, 79, 78.95};
    CHECK(examples::converged_at(totals, 3, 0.01) == std::size_t{7});
    CHECK(examples::converged_at(totals, 3, 0.001) == std::size_t{11});
    CHECK(examples::converged_at(totals, 3, 0.0001) == std::nullopt);
    CHECK(examples::converged_at(totals, 12, 1) == std::nullopt); // too short
    const std::vector<double> flat{none, none, 5, 5}, zero{0, 0};
    CHECK(examples::converged_at(flat, 1, 0.01) == std::size_t{3}); // not while a kernel has no latency
    CHECK(examples::converged_at(zero, 1, 0.01) == std::nullopt);
    CHECK(examples::converged_at({}, 0, 0.01) == std::nullopt);
}

} // namespace statistics_test

#endif
