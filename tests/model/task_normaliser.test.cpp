// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/task_normaliser.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>

namespace task_normaliser_test {

using namespace augur;

namespace {

constexpr std::size_t columns = 3;

/// Few values, so that rows repeat.
std::vector<float> some_rows(std::size_t n, std::uint64_t seed) {
    augur::random_engine draw(seed);
    std::vector<float> rows(n * columns);
    for (float& x : rows) x = static_cast<float>(draw.below(3)) - 1;
    return rows;
}

} // namespace

TEST_CASE("task_normaliser: the lower median of each column") {
    for (std::size_t n = 1; n < 40; ++n) {
        const auto rows = some_rows(n, n);
        const auto all = task_normaliser::fit(rows, columns);
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

TEST_CASE("task_normaliser: what all candidates of a task have in common does not matter") {
    auto rows = some_rows(50, 1);
    auto moved = rows;
    for (std::size_t i = 0; i < rows.size(); ++i) moved[i] += static_cast<float>(64 * (i % columns)); // exact in float
    task_normaliser::fit(rows, columns).relate(rows);
    task_normaliser::fit(moved, columns).relate(moved);
    CHECK(rows == moved);
}

TEST_CASE("task_normaliser: equal rows, as each compared with each") {
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

TEST_CASE("task_normaliser: ranks, worked out by hand") {
    const auto all = task_normaliser::fit(std::vector<float>{2, 7, 5, 7, 1, 7, 2, 7}, 2, normalisation::ranked); // columns 2 5 1 2 and 7 7 7 7
    CHECK(all.columns() == 2);
    struct expected {
        float value, first, second;
    };
    for (const auto& e : {
             expected{-3, 0, 0},       // all have more
             expected{1, 0.125F, 0},   // half of one of four
             expected{1.5F, 0.25F, 0}, // one of four has less
             expected{2, 0.5F, 0},     // one has less, and half of two the same
             expected{3, 0.75F, 0},    //
             expected{5, 0.875F, 0},   //
             expected{7, 1, 0.5F},     // all have less; half of four the same
             expected{99, 1, 1},       // all have less
         }) {
        CAPTURE(e.value);
        std::vector<float> asked{e.value, e.value};
        all.relate(asked);
        CHECK(asked == std::vector<float>{e.first, e.second});
    }
    const auto one = task_normaliser::fit(std::vector<float>{4}, 1, normalisation::ranked);
    std::vector<float> asked{3, 4, 5};
    one.relate(asked);
    CHECK(asked == std::vector<float>{0, 0.5F, 1});
}

TEST_CASE("task_normaliser: the ranks of a value and of its opposite among opposites add up to 1") {
    auto rows = some_rows(64, 8), others = some_rows(20, 9); // a power of two: sums are exact
    others.insert(others.end(), {-9, 0.5F, 9});
    auto opposites = rows, opposed = others;
    for (float& x : opposites) x = -x;
    for (float& x : opposed) x = -x;
    task_normaliser::fit(rows, columns, normalisation::ranked).relate(others);
    task_normaliser::fit(opposites, columns, normalisation::ranked).relate(opposed);
    for (std::size_t i = 0; i < others.size(); ++i) {
        CHECK(others[i] >= 0);
        CHECK(others[i] <= 1);
        CHECK(others[i] + opposed[i] == 1);
    }
}

TEST_CASE("task_normaliser: the absolute normalisation changes nothing") {
    const auto rows = some_rows(60, 8);
    auto same = rows;
    task_normaliser::fit(rows, columns, normalisation::absolute).relate(same);
    CHECK(same == rows);
}

TEST_CASE("task_normaliser: each column has its own ranks, as counted") {
    const auto rows = some_rows(50, 3);
    auto asked = some_rows(20, 4);
    for (std::size_t i = 0; i < asked.size(); i += columns) asked[i] += 0.5F; // between the values of the first column
    auto related = asked;
    task_normaliser::fit(rows, columns, normalisation::ranked).relate(related);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        float less = 0, equal = 0;
        for (std::size_t k = i % columns; k < rows.size(); k += columns) {
            less += rows[k] < asked[i] ? 1.0F : 0.0F;
            equal += rows[k] == asked[i] ? 1.0F : 0.0F;
        }
        CHECK(related[i] == (less + 0.5F * equal) / 50);
    }
}

} // namespace task_normaliser_test
