// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What strategies do with spaces, scores and latencies that nobody wants.
#include <augur/search/annealing.hpp>
#include <augur/search/descent.hpp>
#include <augur/search/draft_verify.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>
#include <augur/search/surrogate_search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "../space/toy.hpp"
#include "landscapes.hpp"

namespace bad_input_test {

using augur::decision_vector;
using augur::measured_decisions;
using toy::exhaust;
using toy::scorer_of;

namespace {

augur::annealing_options few() {
    augur::annealing_options o;
    o.walkers = 16;
    o.iterations = 20;
    return o;
}
struct annealing : augur::simulated_annealing<> {
    annealing() : simulated_annealing(few()) {}
};
struct annealing_in_scores : augur::simulated_annealing<> {
    static augur::annealing_options options() {
        auto o = few();
        o.unit = augur::temperature_unit::score;
        return o;
    }
    annealing_in_scores() : simulated_annealing(options()) {}
};
struct descent : augur::coordinate_descent {};
struct restarting : augur::coordinate_descent {
    restarting() : coordinate_descent({.restart = true}) {}
};
struct polished : augur::then_descend<annealing> {
    polished() : then_descend(annealing(), 30) {}
};
#define STRATEGIES annealing, annealing_in_scores, descent, restarting, polished
struct evolving : augur::evolutionary<> { // crosses by words, so that it reads descriptions
    static augur::evolutionary_options options() {
        augur::evolutionary_options o;
        o.population = 64;
        o.generations = 2;
        o.crossover_probability = 0.5;
        o.crossover_by_words = true;
        return o;
    }
    evolving() : evolutionary(options()) {}
};
struct of_scores : augur::surrogate_search<augur::coordinate_descent> {
    of_scores() : surrogate_search(augur::coordinate_descent(), {2, 16}) {}
};

struct begun : augur::initial_points<annealing> { // a point of each space of `alternate_spaces`, and of none
    begun() : initial_points(annealing(), {{7, 7, 7}, {3, 0, 1}, {9, 9}, {6, 5}, {2, 2, 2, 2}, {50}}) {}
};
constexpr augur::constant_scorer nobody{};
template <std::size_t Pool>
struct drafting : augur::draft_then_verify<augur::random_search, const augur::constant_scorer> {
    drafting() : draft_then_verify(augur::random_search(), nobody, {.drafted = 8, .pool = Pool}) {}
};

const auto flat = [](const decision_vector&) { return 0.0; };
const auto constant = [](const decision_vector&) { return 1e-3; };
const auto failing = [](const decision_vector&) { return toy::never; };

} // namespace

TEST_CASE_TEMPLATE("bad input: a space smaller than the batch, or used up", T, STRATEGIES) {
    const auto value = [](const decision_vector& p) { return static_cast<double>(p[0]) - static_cast<double>(p.back()); };
    const auto rough = [](const decision_vector& p) { return 1 + static_cast<double>(augur::hash_decisions(p) % 100); };
    exhaust(T(), toy::number_grid(2, 3), 100, value, rough);
    exhaust(T(), toy::number_grid(3, 5), 8, value, rough);
    exhaust(T(), toy::described_space{}, 10, value, rough);
    exhaust(T(), *augur::autotvm_space::make({augur::autotvm_split_knob("x", 24, 3), toy::number_knob("y", 3)}), 7, value, rough);
}

TEST_CASE_TEMPLATE("bad input: decisions with one option, and no decision", T, STRATEGIES) {
    exhaust(T(), toy::number_grid(3, 1), 4, flat, constant);
    exhaust(T(), *augur::autotvm_space::make({toy::number_knob("a", 1), toy::number_knob("b", 4), toy::number_knob("c", 1)}), 3, flat, constant);
    exhaust(T(), *augur::autotvm_space::make({}), 3, flat, constant);
}

TEST_CASE_TEMPLATE("bad input: equal latencies, only failures, negative, zero and NaN latencies", T, STRATEGIES) {
    const auto space = toy::number_grid(3, 5);
    for (const auto& score : {+[](const decision_vector&) { return -3.0; }, +[](const decision_vector& p) { return static_cast<double>(p[1]); }}) {
        exhaust(T(), space, 8, score, constant);
        exhaust(T(), space, 8, score, failing);
        exhaust(T(), space, 8, score, [](const decision_vector&) { return std::nan(""); });
        exhaust(T(), space, 8, score, [](const decision_vector& p) { return static_cast<double>(p[0]) - 2; });
    }
}

TEST_CASE_TEMPLATE("bad input: NaN and infinite scores, more often than not", T, STRATEGIES) {
    const auto space = toy::number_grid(3, 6);
    const auto broken = [](const decision_vector& p) {
        constexpr double kinds[] = {-toy::never, toy::never, 0, 1};
        return p[0] % 5 == 4 ? std::nan("") : kinds[p[0] % 5] * (p[0] % 5 == 3 ? static_cast<double>(p[1]) : 1.0);
    };
    exhaust(T(), space, 9, broken, constant);
    exhaust(T(), space, 9, [](const decision_vector&) { return std::nan(""); }, constant);
    exhaust(T(), space, 9, [](const decision_vector&) { return -toy::never; }, constant);
    exhaust(T(), space, 9, [](const decision_vector& p) { return p[1] == 2 ? 3e38 : -3e38; }, constant);
}

TEST_CASE_TEMPLATE("bad input: what the scorer excludes comes only when nothing else is left", T, STRATEGIES, evolving) {
    const auto space = toy::number_grid(3, 6);
    for (const double mark : {-toy::never, std::nan("")}) {
        auto scorer = scorer_of([&](const decision_vector& p) { return p[0] < 3 ? mark : static_cast<double>(p[1] % 2); });
        T strategy;
        std::vector<decision_vector> points;
        toy::measure_rounds(strategy, space, scorer, 27, 8, 4, [](const decision_vector& p) { return 1 + static_cast<double>(p[2]); }, &points);
        REQUIRE(points.size() == 216);
        for (std::size_t i = 0; i < points.size(); ++i) CHECK((points[i][0] >= 3) == (i < 108));
    }
}

TEST_CASE_TEMPLATE("bad input: two points of five fail, and the best of the others is found", T, STRATEGIES) {
    const auto space = toy::number_grid(3, 10);
    const auto latency = [](const decision_vector& p) {
        if (augur::hash_decisions(p) % 5 < 2) return toy::never;
        double sum = 1;
        for (std::size_t i = 0; i < 3; ++i) sum += std::abs(static_cast<double>(p[i]) - 3 - 2 * static_cast<double>(i));
        return sum;
    };
    double best = toy::never;
    for (const auto& p : toy::all_leaves(space)) best = std::min(best, latency(p));
    auto model = scorer_of([&](const decision_vector& p) { return std::isfinite(latency(p)) ? -latency(p) : -50.0; });
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        T strategy;
        CHECK(toy::best_of(toy::measure_rounds(strategy, space, model, 20, 8, seed, latency)) == best);
    }
}

TEST_CASE_TEMPLATE("bad input: what was observed is not proposed, points of another space are passed over", T, STRATEGIES, evolving,
                   augur::random_search) {
    const auto space = toy::number_grid(2, 4);
    T strategy;
    std::vector<measured_decisions> known{{{9, 9}, 1e-9}, {{1}, 1e-9}, {{0, 0, 0}, 1e-9}, {{}, 1e-9}};
    for (std::uint64_t a = 0; a < 4; ++a)
        for (std::uint64_t b = 0; b < 3; ++b) {
            known.push_back({{a, b}, 1 + static_cast<double>(a)});
            known.push_back({{a, b}, b == 0 ? std::nan("") : 2 - static_cast<double>(a) / 4}); // again, with another latency
        }
    strategy.observe(known);
    auto scorer = scorer_of(flat);
    augur::random_engine rng(1);
    std::set<decision_vector> points;
    for (int i = 0; i < 3; ++i) {
        const auto proposed = strategy.propose(space, scorer, 16, rng);
        REQUIRE(proposed);
        points.insert(proposed->begin(), proposed->end());
    }
    CHECK(points == std::set<decision_vector>{{0, 3}, {1, 3}, {2, 3}, {3, 3}});
}

TEST_CASE("bad input: of a point with two latencies the lower one counts, failures and NaN never") {
    const auto space = toy::number_grid(1, 1000);
    auto scorer = scorer_of(flat);
    augur::random_engine rng(1);
    const auto near = [&](std::vector<measured_decisions> observed, std::size_t n) {
        descent search;
        search.observe(observed);
        const auto points = search.propose(space, scorer, n, rng);
        REQUIRE(points);
        return std::set<decision_vector>(points->begin(), points->end());
    };
    CHECK(near({{{20}, 5.0}, {{80}, 2.0}, {{20}, 1.0}, {{20}, toy::never}, {{20}, 4.0}}, 2) == std::set<decision_vector>{{19}, {21}});
    const auto failed = near({{{500}, std::nan("")}, {{20}, 1.0}, {{700}, toy::never}, {{300}, -toy::never}}, 8);
    CHECK(failed.count({19}) + failed.count({21}) == 2);
    for (const std::uint64_t at : {299U, 301U, 499U, 501U, 699U, 701U}) CHECK(failed.count({at}) == 0); // by chance: 4 %
}

TEST_CASE_TEMPLATE("bad input: a space that changes between two calls", T, STRATEGIES, evolving, of_scores, begun, drafting<0>, drafting<20>,
                   drafting<2048>) {
    toy::alternate_spaces(T());
}

TEST_CASE_TEMPLATE("bad input: a description that changes between two calls", T, STRATEGIES, evolving, of_scores) {
    exhaust(
        T(), toy::fickle_space{.width = 6}, 16, [](const decision_vector& p) { return static_cast<double>(p[0]); },
        [](const decision_vector& p) { return 1 + static_cast<double>(p[1]); });
}

TEST_CASE_TEMPLATE("bad input: the scorer's error comes back, and no point is lost by it", T, STRATEGIES, evolving) {
    const auto space = toy::number_grid(2, 6);
    for (std::size_t good_calls = 0; good_calls < 12; ++good_calls) {
        T strategy;
        strategy.observe(std::vector<measured_decisions>{{{2, 2}, 1.0}});
        std::size_t calls = 0;
        auto breaks = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
            if (calls++ == good_calls) return augur::error{augur::errc::io, "no model"};
            for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(points[i][0]);
            return {};
        };
        augur::random_engine rng(good_calls);
        const auto points = strategy.propose(space, breaks, 36, rng);
        if (points) continue; // fewer calls
        CHECK(points.error().detail == "no model");
        const auto again = strategy.propose(space, breaks, 36, rng);
        REQUIRE(again);
        CHECK(again->size() == 35);
    }
    T strategy;
    auto scorer = scorer_of(flat);
    augur::random_engine rng(1);
    CHECK(strategy.propose(space, scorer, 0, rng)->empty());
}

} // namespace bad_input_test
