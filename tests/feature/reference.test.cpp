// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/feature/reference.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random.hpp>

using namespace augur;

namespace {

constexpr std::size_t columns = 3;

/// Few values, so that rows repeat.
std::vector<float> some_rows(std::size_t n, std::uint64_t seed) {
    augur::random draw(seed);
    std::vector<float> rows(n * columns);
    for (float& x : rows) x = static_cast<float>(draw.below(3)) - 1;
    return rows;
}

} // namespace

TEST_CASE("reference: the lower median of each column") {
    for (std::size_t n = 1; n < 40; ++n) {
        const auto rows = some_rows(n, n);
        const auto all = feature_reference::of(rows, columns);
        REQUIRE(all.middle().size() == columns);
        for (std::size_t c = 0; c < columns; ++c) {
            std::vector<float> column;
            for (std::size_t i = 0; i < n; ++i) column.push_back(rows[i * columns + c]);
            std::sort(column.begin(), column.end());
            CHECK(all.middle()[c] == column[(n - 1) / 2]);
        }
        auto related = rows;
        all.relate(related);
        for (std::size_t i = 0; i < rows.size(); ++i) CHECK(related[i] == rows[i] - all.middle()[i % columns]);
    }
}

TEST_CASE("reference: what all candidates of a task have in common does not matter") {
    auto rows = some_rows(50, 1);
    auto moved = rows;
    for (std::size_t i = 0; i < rows.size(); ++i) moved[i] += static_cast<float>(64 * (i % columns)); // exact in float
    feature_reference::of(rows, columns).relate(rows);
    feature_reference::of(moved, columns).relate(moved);
    CHECK(rows == moved);
}

TEST_CASE("reference: equal rows, as each compared with each") {
    for (const std::size_t n : {0UL, 1UL, 2UL, 7UL, 100UL}) {
        auto rows = some_rows(n, n + 5);
        if (n > 2) rows[0] = 0.0F, rows[columns] = -0.0F, rows[1] = rows[columns + 1], rows[2] = rows[columns + 2]; // equal, not the same bits
        const auto first = equal_rows(rows, columns);
        REQUIRE(first.size() == n);
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t j = 0;
            while (!std::equal(&rows[j * columns], &rows[j * columns] + columns, &rows[i * columns])) ++j;
            CHECK(first[i] == j);
        }
    }
}

TEST_CASE("reference: a program comes once, then the repeats in their order") {
    const std::vector<float> rows{1, 1, 1, 2, 2, 2, 1, 1, 1, 3, 3, 3, 2, 2, 2};
    std::vector<float> scores{5, 1, 7, 3, 2};
    once_each(rows, columns, scores);
    std::vector<std::size_t> order{0, 1, 2, 3, 4};
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    CHECK(order == std::vector<std::size_t>{2, 3, 4, 0, 1}); // the best of a program stands for it
    std::vector<float> alike{1, 1, 1, 1, 1};
    once_each(rows, columns, alike);
    CHECK(alike == std::vector<float>{1, 1, -1, 1, -1}); // of equals the first
    std::vector<float> refused{-std::numeric_limits<float>::infinity(), 1, 2, 3, 4};
    once_each(rows, columns, refused);
    CHECK(refused[0] == -std::numeric_limits<float>::infinity());
    CHECK(refused[4] > refused[3]);
    CHECK(refused[3] > refused[2]);
    CHECK(refused[2] > refused[1]);
    std::vector<float> none;
    once_each({}, columns, none);
}
