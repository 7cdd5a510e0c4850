// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/annealing.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/search/random.hpp>

#include "../space/toy.hpp"
#include "landscapes.hpp"
#include "threads.hpp"

namespace annealing_test {

using augur::annealing_options;
using augur::decision_vector;
using augur::simulated_annealing;
using toy::scorer_of;

namespace {

static_assert(augur::search_strategy<simulated_annealing<>, toy::space>);
static_assert(augur::search_strategy<simulated_annealing<toy::threads>, augur::recorded_space>);

// Rugged, not separable: the summit is found by enumeration only.
double height_of(const decision_vector& p) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double d = static_cast<double>(p[i]) - static_cast<double>((3 + 4 * i) % 10);
        const double next = static_cast<double>(p[(i + 1) % p.size()]) - static_cast<double>((3 + 4 * (i + 1)) % 10);
        sum += d * d + 0.5 * d * next;
    }
    return sum / 16 + 0.5 * static_cast<double>(augur::hash_decisions(p) % 1000) / 1000;
}

annealing_options few() {
    annealing_options o;
    o.walkers = 32;
    o.iterations = 60;
    return o;
}

} // namespace

TEST_CASE("simulated_annealing: acceptance and temperature are AutoTVM's") {
    std::ifstream file(AUGUR_TEST_DIR "/vectors/sa_acceptance.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    augur::json_reader in(text);
    std::string_view key;
    std::size_t cases = 0;
    std::vector<double> temperatures;
    in.begin_object();
    while (in.next_member(key)) {
        if (key == "cases") {
            in.begin_array();
            while (in.next_element()) {
                double before = 0, after = 0, t = 0, probability = 0;
                in.begin_object();
                while (in.next_member(key)) in.read(key == "old" ? before : key == "new" ? after : key == "t" ? t : probability);
                CHECK(augur::acceptance_probability(before, after, t) == doctest::Approx(probability).epsilon(1e-12));
                ++cases;
            }
        } else if (key == "temperatures") {
            in.begin_array();
            while (in.next_element()) in.read(temperatures.emplace_back());
        } else {
            in.skip();
        }
    }
    if (!in.finish()) FAIL(in.error().detail);
    CHECK(cases == 16);
    REQUIRE(temperatures.size() == 11); // every 50th of 500
    for (std::size_t i = 0; i < temperatures.size(); ++i)
        CHECK(augur::annealing_temperature(50 * i, 500, 1, 0) == doctest::Approx(temperatures[i]).epsilon(1e-12));
    constexpr double inf = toy::never;
    CHECK(augur::acceptance_probability(-inf, -inf, 0.5) == 1); // out of what cannot be realised by any step
    CHECK(augur::acceptance_probability(-inf, 1, 0) == 1);
    CHECK(augur::acceptance_probability(1, -inf, 1) == 0);
}

TEST_CASE("simulated_annealing: with an exact scorer it finds the best of a million points, with scores of any sign and scale") {
    const toy::grid s{6, 10};
    double best = toy::never;
    decision_vector summit, p(6, 0);
    for (std::uint64_t i = 0; i < 1000000; ++i) {
        std::uint64_t rest = i;
        for (auto& v : p) v = rest % 10, rest /= 10;
        if (const double h = height_of(p); h < best) best = h, summit = p;
    }
    std::size_t found = 0, found_negative = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        auto positive = scorer_of([](const decision_vector& q) { return 1 / (1 + height_of(q)); });
        auto negative = scorer_of([](const decision_vector& q) { return -1e6 - 1e3 * height_of(q); });
        simulated_annealing<> a, b;
        augur::random_engine rng(seed), same(seed);
        const auto x = a.propose(s, positive, 64, rng), y = b.propose(s, negative, 64, same);
        REQUIRE(x);
        REQUIRE(y);
        found += x->front() == summit ? 1U : 0U;
        found_negative += y->front() == summit ? 1U : 0U;
    }
    CHECK(found >= 9);
    CHECK(found_negative >= 9);
}

TEST_CASE("simulated_annealing: scores times a constant plus another one give the same points, unless the temperature is in scores") {
    const toy::grid s;
    // Integers, so that both scales are exact in float.
    const auto score = [](const decision_vector& p) {
        return -static_cast<double>(augur::hash_decisions(p) % 16 + 4 * p[0] + 2 * p[1] + p[2] * p[3]);
    };
    for (const auto unit : {augur::temperature_unit::spread, augur::temperature_unit::score}) {
        std::vector<std::vector<decision_vector>> found;
        for (const double factor : {1.0, 64.0}) {
            auto o = few();
            o.unit = unit;
            simulated_annealing<> search(o);
            auto scorer = scorer_of([&](const decision_vector& p) { return factor * score(p) - (factor - 1) * 32; });
            augur::random_engine rng(2);
            found.push_back(*search.propose(s, scorer, 16, rng));
        }
        CHECK((found[0] == found[1]) == (unit == augur::temperature_unit::spread));
    }
}

TEST_CASE("simulated_annealing: one call of the scorer an iteration, no point twice, and an end when nothing new is found") {
    const toy::grid s;
    std::vector<std::size_t> calls;
    std::set<decision_vector> asked;
    auto counting = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        calls.push_back(points.size());
        for (std::size_t i = 0; i < points.size(); ++i) {
            CHECK(asked.insert(points[i]).second);
            scores[i] = static_cast<float>(points[i][0]); // 16 values, so many points are the best
        }
        return {};
    };
    auto o = few();
    simulated_annealing<> search(o);
    augur::random_engine rng(1);
    REQUIRE(search.propose(s, counting, 64, rng));
    CHECK(calls.size() <= o.iterations + 1);
    CHECK(*std::max_element(calls.begin(), calls.end()) <= o.walkers);
    calls.clear();
    asked.clear();
    o.patience = 5;
    o.iterations = 100000;
    simulated_annealing<> impatient(o);
    REQUIRE(impatient.propose(s, counting, 4, rng));
    CHECK(calls.size() < 100);
}

TEST_CASE("simulated_annealing: the largest patience is no end") {
    const auto space = toy::number_grid(4, 8);
    const auto calls = [&](std::size_t patience) {
        augur::annealing_options o;
        o.walkers = 8;
        o.iterations = 60;
        o.patience = patience;
        augur::simulated_annealing search(o);
        std::size_t n = 0;
        auto scorer = [&](std::span<const augur::decision_vector> points, std::span<float> scores) -> augur::result<void> {
            ++n;
            for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(points[i][0]);
            return {};
        };
        augur::random_engine rng(1);
        REQUIRE(search.propose(space, scorer, 4, rng));
        return n;
    };
    CHECK(calls(std::numeric_limits<std::size_t>::max()) == calls(1000));
}

TEST_CASE("simulated_annealing: with equal scores it is random search") {
    const toy::grid s{3, 4};
    auto flat = scorer_of([](const decision_vector&) { return -3.5; });
    std::vector<double> times(64, 0.0);
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        simulated_annealing<> search(few());
        augur::random_engine rng(seed);
        const auto points = search.propose(s, flat, 4, rng);
        REQUIRE(points);
        REQUIRE(points->size() == 4);
        for (const auto& p : *points) times[p[0] + 4 * p[1] + 16 * p[2]] += 1;
    }
    double chi = 0;
    for (const double t : times) chi += (t - 125) * (t - 125) / 125;
    CHECK(chi < 103.4); // 63 degrees of freedom, p = 0.001
}

TEST_CASE("simulated_annealing: a part of a proposal is random") {
    const toy::grid s{6, 100};
    auto first_value = scorer_of([](const decision_vector& p) { return p[0]; });
    for (const double share : {0.0, 0.05, 0.5, 1.0}) {
        annealing_options o;
        o.eps_greedy = share;
        simulated_annealing<> search(o);
        augur::random_engine rng(3);
        const auto points = search.propose(s, first_value, 64, rng);
        REQUIRE(points);
        REQUIRE(points->size() == 64);
        const auto high = std::count_if(points->begin(), points->end(), [](const auto& p) { return p[0] > 97; });
        CHECK(std::abs(static_cast<double>(high) - 64 * (1 - share)) <= (share > 0 ? 4 : 0)); // a random point may be a good one
    }
}

TEST_CASE("simulated_annealing: walkers go on where they were, those that the space has lost begin anew") {
    for (const bool persistent : {false, true}) {
        std::set<decision_vector> asked;
        auto scorer = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
            for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(points[i][0]);
            asked.insert(points.begin(), points.end());
            return {};
        };
        auto o = few();
        o.iterations = 0; // so the walkers are the samples
        o.eps_greedy = 0;
        o.persistent = persistent;
        simulated_annealing<> search(o);
        augur::random_engine rng(1);
        REQUIRE(search.propose(toy::grid{6, 16}, scorer, 4, rng));
        const auto before = std::exchange(asked, {});
        REQUIRE(before.size() == o.walkers);
        REQUIRE(search.propose(toy::grid{6, 12}, scorer, 4, rng));
        const auto legal = static_cast<std::size_t>(std::count_if(
            before.begin(), before.end(), [](const auto& p) { return std::all_of(p.begin(), p.end(), [](std::uint64_t v) { return v < 12; }); }));
        CHECK(asked.size() == o.walkers + (persistent ? legal : 0));
        CHECK(legal > 0);
    }
}

TEST_CASE("simulated_annealing: better than random search, on a grid and on recorded points") {
    const toy::grid grid;
    const auto records = toy::product_records();
    const auto recorded = *augur::recorded_space::build(records);
    std::size_t on_grid = 0, on_records = 0;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        auto exact = scorer_of([](const decision_vector& p) { return -height_of(p); });
        augur::random_search r;
        simulated_annealing<> a(few());
        on_grid += toy::best_of(toy::measure_rounds(a, grid, exact, 4, 8, seed, height_of)) <
                           toy::best_of(toy::measure_rounds(r, grid, exact, 4, 8, seed, height_of))
                       ? 1U
                       : 0U;
        const auto latency = [&](const decision_vector& p) { return toy::product_latency(*recorded.realise(p), seed); };
        auto model = scorer_of([&](const decision_vector& p) { // knows what is rugged as little as what fails
            const double x = toy::product_latency(*recorded.realise(p), seed + 1000);
            return x < toy::never ? -x : -5e-3;
        });
        augur::random_search r2;
        simulated_annealing<> a2(few());
        on_records += toy::best_of(toy::measure_rounds(a2, recorded, model, 4, 8, seed, latency)) <
                              toy::best_of(toy::measure_rounds(r2, recorded, model, 4, 8, seed, latency))
                          ? 1U
                          : 0U;
    }
    CHECK(on_grid == 24);
    CHECK(on_records >= 22); // by chance: p < 2e-5
}

TEST_CASE("simulated_annealing: the number of threads changes nothing") {
    const toy::grid s;
    auto score = scorer_of([](const decision_vector& p) { return -height_of(p); });
    const auto run = [&](auto search) {
        std::vector<decision_vector> points;
        toy::measure_rounds(search, s, score, 4, 12, 9, height_of, &points);
        return points;
    };
    const auto reference = run(simulated_annealing<>(few()));
    CHECK(reference.size() == 48);
    for (const std::size_t n : {1U, 2U, 5U}) {
        toy::threads pool{n};
        CHECK(run(simulated_annealing<toy::threads>(few(), pool)) == reference);
    }
}

} // namespace annealing_test
