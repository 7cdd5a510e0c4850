// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/evolutionary.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include <augur/search/bound_scorer.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>

#include "../space/toy.hpp"
#include "threads.hpp"

namespace strategies_test {

using augur::decision_vector;
using augur::evolutionary;
using augur::evolutionary_options;
using augur::measured_decisions;

namespace {

constexpr float minus_inf = -std::numeric_limits<float>::infinity();

static_assert(augur::search_strategy<augur::random_search, toy::space>);
static_assert(augur::search_strategy<evolutionary<>, toy::space>);

// A landscape with one summit and a rugged surface; 0 at the best, larger is slower.
double height(std::span<const std::uint64_t> p, std::uint64_t seed = 0) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double d = static_cast<double>(p[i]) - static_cast<double>((5 + 3 * i) % 16);
        sum += d * d / 64;
    }
    return sum + 0.1 * static_cast<double>(augur::mix64(augur::hash_decisions(p) + seed) % 1000) / 1000;
}

template <class F>
auto scorer_of(F f) {
    return [f](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(f(points[i]));
        return {};
    };
}

evolutionary_options small() {
    evolutionary_options o;
    o.population = 256;
    return o;
}

template <class Strategy, class Space, class Scorer>
double best_after(Strategy& strategy, const Space& space, Scorer& scorer, std::size_t rounds, std::uint64_t seed) {
    double best = 1e9;
    for (std::size_t r = 0; r < rounds; ++r) {
        auto rng = augur::random_engine(seed).stream(r);
        auto points = strategy.propose(space, scorer, 8, rng);
        REQUIRE(points);
        std::vector<measured_decisions> back;
        for (auto& p : *points) {
            best = std::min(best, height(p));
            back.push_back({p, height(p)});
        }
        strategy.observe(back);
    }
    return best;
}

} // namespace

TEST_CASE("random_search: legal, distinct, and every leaf of a small space before it ends") {
    const toy::space s;
    augur::random_search search;
    augur::random_engine rng(1);
    auto score = scorer_of([](const decision_vector&) { return 0; });
    std::set<decision_vector> seen;
    std::size_t fewer = 0;
    for (int i = 0; i < 200; ++i) {
        auto points = search.propose(s, score, 10, rng);
        REQUIRE(points);
        for (const auto& p : *points) {
            REQUIRE(augur::trace_path(s, p));
            REQUIRE(seen.insert(p).second);
        }
        fewer += points->size() < 10 ? 1U : 0U;
    }
    std::size_t all = 0;
    augur::for_each_leaf(s, 100000, [&](std::span<const std::uint64_t>) { return ++all, true; });
    CHECK(seen.size() == all); // those that only enumeration finds, too
    CHECK(fewer > 0);
}

TEST_CASE("random_search: what was observed is not proposed") {
    const toy::grid s{2, 4};
    augur::random_search search;
    std::vector<measured_decisions> known;
    for (std::uint64_t a = 0; a < 4; ++a)
        for (std::uint64_t b = 0; b < 3; ++b) known.push_back({{a, b}, 1.0});
    search.observe(known);
    augur::random_engine rng(1);
    auto score = scorer_of([](const decision_vector&) { return 0; });
    auto points = search.propose(s, score, 16, rng);
    REQUIRE(points);
    CHECK(points->size() == 4);
    for (const auto& p : *points) CHECK(p[1] == 3);
}

TEST_CASE("initial_points: first, in order, once, and then what the strategy gives") {
    toy::space space{4, 2};
    augur::random_search all;
    augur::constant_scorer flat;
    auto rng = augur::random_engine(3);
    const auto every = all.propose(space, flat, 1000, rng); // the whole space
    REQUIRE(every);
    const std::vector<decision_vector> first{every->at(7), every->at(2), every->at(5)};
    augur::initial_points<augur::random_search> s(augur::random_search{}, first);
    static_assert(augur::search_strategy<decltype(s), toy::space>);
    std::vector<decision_vector> proposed;
    for (const std::size_t n : {std::size_t{2}, std::size_t{4}, std::size_t{1000}}) {
        auto points = s.propose(space, flat, n, rng);
        REQUIRE(points);
        CHECK(points->size() == (std::min)(n, every->size() - proposed.size()));
        proposed.insert(proposed.end(), points->begin(), points->end());
    }
    CHECK(std::equal(first.begin(), first.end(), proposed.begin()));
    CHECK(std::set<decision_vector>(proposed.begin(), proposed.end()) == std::set<decision_vector>(every->begin(), every->end()));
    CHECK(proposed.size() == every->size());
    const auto none = s.propose(space, flat, 3, rng);
    REQUIRE(none);
    CHECK(none->empty());
}

TEST_CASE("initial_points: those that the space does not have wait until it has them") {
    const toy::grid wide{2, 4}, narrow{2, 2};
    augur::initial_points<augur::random_search> s(augur::random_search{}, {{3, 3}, {1, 0}, {0}, {2, 1}});
    augur::constant_scorer flat;
    augur::random_engine rng(5);
    std::set<decision_vector> seen;
    const auto take = [&](const toy::grid& space, std::size_t n) {
        const auto points = s.propose(space, flat, n, rng);
        REQUIRE(points);
        for (const auto& p : *points) {
            CHECK(augur::trace_path(space, p));
            CHECK(seen.insert(p).second);
        }
        return *points;
    };
    const auto few = take(narrow, 2);
    REQUIRE(few.size() == 2);
    CHECK(few[0] == decision_vector{1, 0});
    const auto more = take(wide, 3);
    REQUIRE(more.size() == 3);
    CHECK(more[0] == decision_vector{3, 3});
    CHECK(more[1] == decision_vector{2, 1});
    take(wide, 100);
    CHECK(seen.size() == 16);
}

TEST_CASE("initial_points: an error of the strategy loses no point") {
    struct pieces { // proposes four points, fails, and goes on; whether a given point is among them
        std::uint64_t at = 0;
        bool failed = false;
        augur::result<std::vector<decision_vector>> propose(const toy::grid&, augur::constant_scorer&, std::size_t n, augur::random_engine&) {
            if (at == 4 && !failed) {
                failed = true;
                return augur::error{augur::errc::io, "no model"};
            }
            std::vector<decision_vector> out;
            for (; out.size() < n && at < 16 && (failed || at < 4); ++at) out.push_back({at / 4, at % 4});
            return out;
        }
        void observe(std::span<const measured_decisions>) {}
    };
    const toy::grid space{2, 4};
    augur::initial_points<pieces> s(pieces{}, {{3, 3}, {0, 2}});
    augur::constant_scorer flat;
    augur::random_engine rng(5);
    CHECK(s.propose(space, flat, 10, rng).error().detail == "no model");
    const auto again = s.propose(space, flat, 3, rng), rest = s.propose(space, flat, 100, rng);
    REQUIRE(again);
    REQUIRE(rest);
    CHECK(*again == std::vector<decision_vector>{{3, 3}, {0, 2}, {0, 0}});
    CHECK(rest->front() == decision_vector{0, 1});
    std::set<decision_vector> all(again->begin(), again->end());
    for (const auto& p : *rest) CHECK(all.insert(p).second);
    CHECK(all.size() == 16);
}

TEST_CASE("initial_points: the strategy observes the other points") {
    struct recorder : augur::random_search {
        std::vector<decision_vector>* seen;
        void observe(std::span<const measured_decisions> points) {
            for (const auto& p : points) seen->push_back(p.decisions);
        }
    };
    std::vector<decision_vector> seen;
    recorder inner;
    inner.seen = &seen;
    augur::initial_points<recorder> s(inner, {{1, 0}, {0, 0, 0}});
    s.observe(std::vector<measured_decisions>{{{0, 0, 0}, 1.0}, {{1, 1}, 2.0}, {{1, 0}, 3.0}});
    CHECK(seen == std::vector<decision_vector>{{1, 1}});
    augur::initial_points<recorder> telling(inner, {{1, 0}, {0, 0, 0}}, true);
    telling.observe(std::vector<measured_decisions>{{{0, 0, 0}, 1.0}, {{1, 0}, 3.0}});
    CHECK(seen == std::vector<decision_vector>{{1, 1}, {0, 0, 0}, {1, 0}});
}

TEST_CASE("evolutionary: legal, distinct, exhausts a small space, and ends gracefully") {
    const toy::space s;
    for (const auto& score :
         {+[](const decision_vector& p) { return static_cast<double>(p[1]); }, +[](const decision_vector&) { return 0.0; },
          +[](const decision_vector& p) { return -5.0 - static_cast<double>(p[1]); },
          +[](const decision_vector&) { return static_cast<double>(minus_inf); }, +[](const decision_vector&) { return std::nan(""); },
          +[](const decision_vector& p) { return p[1] == 1   ? std::nan("")
                                                 : p[2] == 0 ? -INFINITY
                                                             : static_cast<double>(p[3]); }}) {
        evolutionary<> search(small());
        auto scorer = scorer_of(score);
        std::set<decision_vector> seen;
        augur::random_engine rng(1);
        std::size_t last = 16;
        for (int i = 0; i < 30; ++i) {
            auto points = search.propose(s, scorer, 16, rng);
            REQUIRE(points);
            last = points->size();
            std::vector<measured_decisions> back;
            for (const auto& p : *points) {
                REQUIRE(augur::trace_path(s, p));
                REQUIRE(seen.insert(p).second);
                back.push_back({p, height(p)});
            }
            search.observe(back);
        }
        std::size_t all = 0;
        augur::for_each_leaf(s, 100000, [&](std::span<const std::uint64_t>) { return ++all, true; });
        CHECK(seen.size() == all);
        CHECK(last == 0);
    }
}

TEST_CASE("evolutionary: finds better points than random search, with an exact and with a rank-only, all-negative scorer") {
    const toy::grid s;
    auto exact = scorer_of([](const decision_vector& p) { return 1 / (0.1 + height(p)); });
    auto negative = scorer_of([](const decision_vector& p) { return -1000 - 5 * height(p); });
    double random_sum = 0;
    double exact_sum = 0;
    double negative_sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        augur::random_search r;
        evolutionary<> e(small());
        evolutionary<> n(small());
        const double a = best_after(r, s, exact, 4, seed);
        const double b = best_after(e, s, exact, 4, seed);
        const double c = best_after(n, s, negative, 4, seed);
        CHECK(b < a);
        CHECK(c < a);
        random_sum += a;
        exact_sum += b;
        negative_sum += c;
    }
    CHECK(exact_sum < 0.3 * random_sum);
    // Only the order counts: the same proposals up to how the two scorers round ties in float.
    CHECK(negative_sum == doctest::Approx(exact_sum).epsilon(0.05));
}

TEST_CASE("evolutionary: with equal scores it is random search") {
    // Each leaf of a grid of 64 is proposed with the same frequency.
    const toy::grid s{3, 4};
    auto flat = scorer_of([](const decision_vector&) { return -3.5; });
    std::map<decision_vector, double> seen;
    const double runs = 2000;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        auto o = small();
        o.population = 64;
        evolutionary<> e(o);
        augur::random_engine rng(seed);
        auto points = e.propose(s, flat, 4, rng);
        REQUIRE(points);
        REQUIRE(points->size() == 4);
        for (const auto& p : *points) seen[p] += 1;
    }
    const double each = runs * 4 / 64;
    double chi = 0;
    for (const auto& [p, n] : seen) chi += (n - each) * (n - each) / each;
    CHECK(seen.size() == 64);
    CHECK(chi < 103.4); // 63 degrees of freedom, p = 0.001
}

TEST_CASE("evolutionary: the number of threads changes nothing") {
    const toy::grid s;
    auto score = scorer_of([](const decision_vector& p) { return -height(p); });
    auto run = [&](auto& strategy) {
        std::vector<decision_vector> all;
        for (std::uint64_t r = 0; r < 4; ++r) {
            auto rng = augur::random_engine(9).stream(r);
            auto points = strategy.propose(s, score, 12, rng);
            REQUIRE(points);
            std::vector<measured_decisions> back;
            for (const auto& p : *points) back.push_back({p, height(p)});
            strategy.observe(back);
            all.insert(all.end(), points->begin(), points->end());
        }
        return all;
    };
    auto o = small();
    o.crossover_probability = 0.1;
    evolutionary<> one(o);
    const auto reference = run(one);
    CHECK(reference.size() == 48);
    for (const std::size_t n : {1U, 2U, 5U}) {
        toy::threads pool{n};
        evolutionary<toy::threads> many(o, pool);
        CHECK(run(many) == reference);
    }
}

TEST_CASE("evolutionary: how many of a proposal are random") {
    const toy::grid s{6, 100};
    // The score knows only the first value; a random point has a low one nearly always.
    auto score = scorer_of([](const decision_vector& p) { return p[0]; });
    auto explored = [&](std::size_t n, bool truncate, double eps = 0.05) {
        auto o = small();
        o.truncate_eps = truncate;
        o.eps_greedy = eps;
        evolutionary<> e(o);
        augur::random_engine rng(3);
        auto points = e.propose(s, score, n, rng);
        REQUIRE(points);
        REQUIRE(points->size() == n);
        return n - static_cast<std::size_t>(std::count_if(points->begin(), points->end(), [](const auto& p) { return p[0] > 97; }));
    };
    CHECK(explored(64, true) == 3);
    CHECK(explored(64, false) == 3);
    CHECK(explored(10, true) == 0);
    CHECK(explored(10, false) == 1);
    CHECK(explored(4, false) == 0);
    CHECK(explored(10, false, 0) == 0);
}

TEST_CASE("evolutionary: Ansor's roulette, as an option, gives negative scores no child and survives when all are negative") {
    const toy::grid s;
    auto o = small();
    o.selection = augur::parent_selection::proportional;
    o.generations = 1;
    std::vector<std::vector<decision_vector>> scored; // the samples, then their children
    auto seven = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        scored.emplace_back(points.begin(), points.end());
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = points[i][0] == 7 ? 1.0F : -1.0F;
        return {};
    };
    evolutionary<> chosen(o);
    augur::random_engine rng(1);
    REQUIRE(chosen.propose(s, seven, 16, rng));
    REQUIRE(scored.size() == 2);
    std::vector<decision_vector> parents;
    for (const auto& p : scored[0])
        if (p[0] == 7) parents.push_back(p);
    CHECK(parents.size() > 5);
    CHECK(parents.size() < scored[0].size() / 4);
    CHECK(scored[1].size() > 100);
    for (const auto& child : scored[1])
        CHECK(std::any_of(parents.begin(), parents.end(), [&](const auto& parent) {
            return std::inner_product(parent.begin(), parent.end(), child.begin(), 0, std::plus<>(), std::not_equal_to<>()) <= 1;
        }));

    auto negative = scorer_of([](const decision_vector& p) { return -height(p); });
    o = small();
    o.selection = augur::parent_selection::proportional;
    evolutionary<> e(o);
    auto points = e.propose(s, negative, 16, rng);
    REQUIRE(points);
    CHECK(points->size() == 16);
}

TEST_CASE("evolutionary: the scorer's error comes back") {
    const toy::grid s;
    auto broken = [](std::span<const decision_vector>, std::span<float>) -> augur::result<void> {
        return augur::error{augur::errc::shape_mismatch, "no such task"};
    };
    evolutionary<> e(small());
    augur::random_engine rng(1);
    auto points = e.propose(s, broken, 4, rng);
    REQUIRE(!points);
    CHECK(points.error().detail == "no such task");
}

TEST_CASE("evolutionary: good measured points are parents, points of another space are passed over") {
    const toy::grid s{6, 1000};
    auto o = small();
    o.generations = 1;
    o.eps_greedy = 0;
    evolutionary<> e(o);
    const decision_vector summit{500, 500, 500, 500, 500, 500};
    std::vector<measured_decisions> known{{summit, 1e-3}, {{1, 2}, 1e-4}, {{0, 0, 0, 0, 0, 0}, std::numeric_limits<double>::infinity()}};
    e.observe(known);
    auto near = scorer_of([&](const decision_vector& p) {
        double same = 0;
        for (std::size_t i = 0; i < 6; ++i) same += p[i] == summit[i] ? 1 : 0;
        return same;
    });
    augur::random_engine rng(1);
    auto points = e.propose(s, near, 1, rng);
    REQUIRE(points);
    std::size_t same = 0;
    for (std::size_t i = 0; i < 6; ++i) same += points->front()[i] == summit[i] ? 1U : 0U;
    CHECK(same == 5); // a mutant of the summit, and not the summit itself
}

namespace {
struct odd_only : toy::grid { // half of it cannot be realised
    [[nodiscard]] augur::result<toy::schedule> realise(std::span<const std::uint64_t> p) const {
        if (p[0] % 2 == 0) return augur::error{augur::errc::illegal_schedule, "even"};
        return toy::grid::realise(p);
    }
};
struct sum_model {
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    augur::result<void> score(const toy::task&, std::span<const toy::schedule> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            float sum = 0;
            for (const auto n : batch[i].numbers) sum += static_cast<float>(n);
            scores[i] = batch[i].numbers[1] == 7 ? std::nanf("") : sum;
        }
        return {};
    }
};
} // namespace

TEST_CASE("evolutionary: given points join the population, each is proposed once, those of another space are passed over") {
    toy::grid grid;
    const decision_vector far(grid.levels, 15), other(grid.levels + 1, 15), wrong(grid.levels, 16);
    // A point that the samples do not have, and no score leads to: only who is given it finds it.
    auto needle = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = points[i] == far ? 1.0F : 0.0F;
        return {};
    };
    augur::evolutionary_options options;
    options.population = 64;
    for (const bool given : {false, true}) {
        augur::evolutionary<> search(options);
        if (given) search.begin_with({other, far, wrong});
        augur::random_engine rng(1);
        std::size_t found = 0;
        for (int round = 0; round < 3; ++round) {
            const auto got = search.propose(grid, needle, 4, rng);
            REQUIRE(got);
            CHECK(got->size() == 4);
            if (given && round == 0) CHECK(got->front() == far);
            found += static_cast<std::size_t>(std::count(got->begin(), got->end(), far));
        }
        CHECK(found == (given ? 1 : 0));
    }
}

TEST_CASE("evolutionary: points of another space and points that were measured twice take no place of the best measured ones") {
    const toy::grid space{6, 16};
    augur::evolutionary_options o;
    o.population = 10, o.measured_ratio = 0.3, o.generations = 0, o.min_population = 1; // three measured points join
    augur::evolutionary<> search(o);
    std::vector<augur::measured_decisions> measured;
    for (int i = 0; i < 5; ++i) measured.push_back({{1, 2, 3}, 1e-3}); // too short: of another space
    const decision_vector best(6, 7), second(6, 8), third(6, 9), fourth(6, 10);
    for (int i = 0; i < 4; ++i) measured.push_back({best, 2e-3});
    measured.push_back({second, 3e-3});
    measured.push_back({third, 4e-3});
    measured.push_back({fourth, 5e-3});
    search.observe(measured);
    std::set<decision_vector> asked;
    auto scorer = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        asked.insert(points.begin(), points.end());
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(points[i][0]);
        return {};
    };
    augur::random_engine rng(1);
    REQUIRE(search.propose(space, scorer, 4, rng));
    CHECK(asked.count(best) == 1);
    CHECK(asked.count(second) == 1);
    CHECK(asked.count(third) == 1);
    CHECK(asked.count(fourth) == 0);
}

TEST_CASE("bound_scorer: realises, scores in order, -infinity for what has no schedule or no number") {
    const odd_only space;
    const toy::task task;
    sum_model model;
    augur::bound_scorer<toy::schedule, odd_only, sum_model, toy::task> one(space, task, model);
    toy::threads pool{3};
    augur::bound_scorer<toy::schedule, odd_only, sum_model, toy::task, toy::threads> many(space, task, model, pool);
    static_assert(augur::point_scorer<decltype(one)>);
    augur::random_engine rng(1);
    std::vector<decision_vector> points;
    for (int i = 0; i < 200; ++i) points.push_back(augur::sample_path(space, rng).values);
    std::vector<float> a(points.size());
    std::vector<float> b(points.size());
    REQUIRE(one(points, a));
    REQUIRE(many(points, b));
    CHECK(a == b);
    for (std::size_t i = 0; i < points.size(); ++i) {
        float sum = 0;
        for (const auto v : points[i]) sum += static_cast<float>(v);
        CHECK(a[i] == (points[i][0] % 2 == 0 || points[i][1] == 7 ? minus_inf : sum));
    }
    evolutionary<> e(small());
    auto proposed = e.propose(space, one, 20, rng);
    REQUIRE(proposed);
    CHECK(proposed->size() == 20);
    for (const auto& p : *proposed) CHECK(p[0] % 2 == 1);
}

} // namespace strategies_test
