// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A search of the scores: what it proposes are the best points that it asked the scorer for, none of them twice.
#include <augur/search/surrogate_search.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>

#include "landscapes.hpp"

using augur::decision_vector;

namespace {

/// A hill in a grid of 12 x 12; the corner cannot be realised.
float hill(const decision_vector& p) {
    const auto x = static_cast<float>(p[0]), y = static_cast<float>(p[1]);
    if (p[0] == 0 && p[1] == 0) return -std::numeric_limits<float>::infinity();
    return 1 - 0.01F * ((x - 7) * (x - 7) + (y - 4) * (y - 4));
}

using surrogate = augur::surrogate_search<augur::random_search>;
static_assert(augur::search_strategy<surrogate, augur::autotvm_space>);

/// Proposes the diagonal of a grid, and keeps what it hears.
struct listener {
    std::vector<double>* heard;

    template <augur::point_scorer F>
    augur::result<std::vector<decision_vector>> propose(const augur::autotvm_space&, F&, std::size_t n, augur::random_engine&) {
        std::vector<decision_vector> out;
        for (std::size_t i = 0; i < n; ++i) out.push_back({i, i});
        return out;
    }
    void observe(std::span<const augur::measured_decisions> points) {
        for (const auto& p : points) heard->push_back(p.latency);
    }
};

} // namespace

TEST_CASE("surrogate_search: proposes the best points that were scored, neither proposed nor measured before") {
    const auto space = toy::number_grid(2, 12);
    surrogate search(augur::random_search{}, {2, 20});
    augur::random_engine rng(1);
    std::set<decision_vector> used;
    for (int proposal = 0; proposal < 4; ++proposal) {
        std::vector<decision_vector> asked;
        auto scorer = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
            asked.insert(asked.end(), points.begin(), points.end());
            std::transform(points.begin(), points.end(), scores.begin(), hill);
            return {};
        };
        const auto proposed = search.propose(space, scorer, 5, rng);
        REQUIRE(proposed);
        REQUIRE(proposed->size() == 5);
        std::vector<float> left;
        for (const auto& p : std::set<decision_vector>(asked.begin(), asked.end()))
            if (!used.contains(p)) left.push_back(hill(p));
        CHECK(asked.size() == static_cast<std::size_t>(40 + 5 * proposal)); // and the measured ones
        std::sort(left.begin(), left.end(), std::greater<>());
        std::vector<augur::measured_decisions> told;
        for (std::size_t i = 0; i < 5; ++i) {
            CHECK(hill((*proposed)[i]) == left[i]);
            CHECK(used.insert((*proposed)[i]).second);
            told.push_back({(*proposed)[i], 1});
        }
        search.observe(told);
    }
}

TEST_CASE("surrogate_search: the strategy learns the scores of its own points; errors come back; nothing is asked for, or left") {
    const auto space = toy::number_grid(2, 12);
    auto scorer = toy::scorer_of(hill);
    double learned = 0, drawn = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        augur::random_engine a(seed), b(seed);
        augur::evolutionary_options o;
        o.population = 16;
        augur::surrogate_search<augur::evolutionary<>> by_evolution(augur::evolutionary<>(o), {4, 8});
        surrogate by_chance(augur::random_search{}, {4, 8});
        const auto x = by_evolution.propose(space, scorer, 4, a), y = by_chance.propose(space, scorer, 4, b);
        REQUIRE(x);
        REQUIRE(y);
        for (int i = 0; i < 4; ++i) {
            learned += static_cast<double>(hill((*x)[static_cast<std::size_t>(i)]));
            drawn += static_cast<double>(hill((*y)[static_cast<std::size_t>(i)]));
        }
    }
    CHECK(learned > drawn);

    augur::random_engine rng(1);
    surrogate search(augur::random_search{}, {1, 200});
    auto broken = [](std::span<const decision_vector> points, std::span<float>) -> augur::result<void> {
        if (points.empty()) return {};
        return augur::error{augur::errc::shape_mismatch, "no such task"};
    };
    const auto failed = search.propose(space, broken, 4, rng);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().detail == "no such task");
    CHECK(search.propose(space, scorer, 0, rng)->empty());
    surrogate all(augur::random_search{}, {1, 200});
    const auto every = all.propose(space, scorer, 200, rng);
    REQUIRE(every);
    CHECK(every->size() == 144);
    CHECK(every->back() == decision_vector{0, 0}); // the one that cannot be realised, last
    CHECK(all.propose(space, scorer, 1, rng)->empty());
}

TEST_CASE("surrogate_search: every proposal is full while the space has points, though none of them was measured yet") {
    const auto space = toy::number_grid(2, 12);
    auto scorer = toy::scorer_of(hill);
    surrogate search(augur::random_search{}, {1, 4});
    augur::random_engine rng(1);
    std::set<decision_vector> proposed;
    for (int i = 0; i < 36; ++i) {
        const auto next = search.propose(space, scorer, 4, rng);
        REQUIRE(next);
        CHECK(next->size() == 4);
        proposed.insert(next->begin(), next->end());
    }
    CHECK(proposed.size() == 144);
    CHECK(search.propose(space, scorer, 4, rng)->empty());
}

TEST_CASE("surrogate_search: scores of any size are told as positive latencies; one that is not finite is proposed last") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> scores{1e6F, -1e6F, infinity, std::numeric_limits<float>::quiet_NaN(), 2, -infinity};
    auto scorer = toy::scorer_of([&](const decision_vector& p) { return scores[p[0]]; });
    const auto space = toy::number_grid(2, 12);
    std::vector<double> heard;
    augur::surrogate_search<listener> search(listener{&heard}, {1, scores.size()});
    augur::random_engine rng(1);
    const auto best = search.propose(space, scorer, 3, rng);
    REQUIRE(best);
    CHECK(*best == std::vector<decision_vector>{{0, 0}, {4, 4}, {1, 1}});
    REQUIRE(heard.size() == scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
        CAPTURE(scores[i]);
        CHECK(heard[i] > 0);
        CHECK(std::isfinite(heard[i]) == std::isfinite(scores[i]));
    }
    CHECK(heard[0] < heard[4]);
    CHECK(heard[4] == doctest::Approx(std::exp(-2.0)));
    CHECK(heard[4] < heard[1]);
}

TEST_CASE("surrogate_search: what the scorer excludes is proposed when all else is used up") {
    const auto space = toy::number_grid(2, 12); // half of it is excluded
    surrogate search(augur::random_search{}, {1, 16});
    augur::random_engine rng(1);
    auto scorer = [](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = points[i][0] < 6 ? -std::numeric_limits<float>::infinity() : hill(points[i]);
        return {};
    };
    std::set<decision_vector> used;
    for (int proposal = 0; proposal < 9; ++proposal) {
        const auto got = search.propose(space, scorer, 16, rng);
        REQUIRE(got);
        REQUIRE(got->size() == 16);
        for (const auto& p : *got) {
            CHECK(used.insert(p).second);
            if (used.size() <= 64) CHECK(p[0] >= 6); // the last eight of 72 usable ones come with excluded ones
        }
    }
    CHECK(used.size() == 144);
}
