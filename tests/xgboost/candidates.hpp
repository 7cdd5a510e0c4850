// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_XGBOOST_CANDIDATES_HPP
#define AUGUR_TESTS_XGBOOST_CANDIDATES_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/xgboost/task_normalised_trees.hpp>

constexpr std::size_t columns = 3;

/// Candidates of a kernel whose numbers all lie about `at`: the less of the first and the more of the second, the faster.
struct candidates {
    std::vector<float> rows, labels;

    candidates(std::size_t n, float at, std::uint64_t seed) {
        augur::random_engine rng(seed);
        for (std::size_t i = 0; i < n; ++i) {
            const auto a = static_cast<float>(rng.below(9)) - 4, b = static_cast<float>(rng.below(9)) - 4, noise = static_cast<float>(rng.below(9));
            rows.insert(rows.end(), {at + a, at + b, at + noise});
            labels.push_back((8 - a + b) / 16);
        }
    }
    [[nodiscard]] augur::task_normaliser all() const { return augur::task_normaliser::fit(rows, columns); }
};

inline augur::boosted_trees_options quick(std::uint64_t seed = 7) {
    auto o = augur::task_normalised_trees::defaults();
    o.rounds = 60;
    o.column_share = 1;
    o.seed = seed;
    return o;
}

#endif
