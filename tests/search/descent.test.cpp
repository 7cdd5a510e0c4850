// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/descent.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <augur/search/annealing.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>

#include "../space/toy.hpp"
#include "landscapes.hpp"
#include "threads.hpp"

namespace descent_test {

using augur::coordinate_descent;
using augur::decision_vector;
using augur::measured_decisions;
using toy::scorer_of;

namespace {

static_assert(augur::search_strategy<coordinate_descent, augur::recorded_space>);
static_assert(augur::search_strategy<coordinate_descent, toy::described_space>);
static_assert(augur::search_strategy<augur::then_descend<augur::evolutionary<>>, augur::autotvm_space>);

const auto flat = [](std::span<const decision_vector>, std::span<float> scores) -> augur::result<void> {
    std::fill(scores.begin(), scores.end(), 0.0F);
    return {};
};

/// Random search whose first proposal is an error.
struct late : augur::random_search {
    bool failed = false;
    template <augur::decision_tree Space, augur::point_scorer F>
    [[nodiscard]] augur::result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, augur::random_engine& rng) {
        if (!std::exchange(failed, true)) return augur::error{augur::errc::io, "not yet"};
        return augur::random_search::propose(space, scorer, n, rng);
    }
};

std::set<decision_vector> set_of(const std::vector<decision_vector>& points) { return {points.begin(), points.end()}; }

} // namespace

TEST_CASE("coordinate_neighbours: numbers have the value on each side, names all others") {
    augur::autotvm_knob_space order{"order", augur::autotvm_knob_kind::other, {{std::string("ij")}, {std::string("ji")}, {std::string("tiled")}}};
    const auto space = *augur::autotvm_space::make({toy::number_knob("a", 5), order, toy::number_knob("b", 1), toy::number_knob("c", 2)});
    std::size_t count = 0;
    for (const auto& p : toy::all_leaves(space)) {
        std::set<decision_vector> expected;
        for (const auto& q : toy::all_leaves(space)) { // by definition
            std::size_t other = 0, near = 0;
            for (std::size_t i = 0; i < p.size(); ++i) {
                if (p[i] == q[i]) continue;
                ++other;
                near += i == 1 || p[i] + 1 == q[i] || q[i] + 1 == p[i] ? 1U : 0U;
            }
            if (other == 1 && near == 1) expected.insert(q);
        }
        const auto found = augur::coordinate_neighbours(space, p);
        REQUIRE(found);
        CHECK(set_of(*found) == expected);
        CHECK(found->size() == expected.size());
        ++count;
    }
    CHECK(count == 30);
    CHECK(!augur::coordinate_neighbours(space, decision_vector{0, 3, 0, 0}));
    CHECK(!augur::coordinate_neighbours(space, decision_vector{0, 2}));
}

TEST_CASE("coordinate_neighbours: of a split, the nearest factor that can go from one loop to another") {
    for (const std::int64_t extent : {1, 7, 56, 60, 64}) {
        CAPTURE(extent);
        const auto space = *augur::autotvm_space::make({augur::autotvm_split_knob("tile", extent, 3)});
        const auto lengths_of = [&](std::uint64_t value) { // outermost first
            const auto config = *space.realise(decision_vector{value});
            std::vector<std::int64_t> out{extent};
            for (std::size_t i = 1; i < 3; ++i) {
                out.push_back(std::get<std::int64_t>(config.knobs[0].values[i]));
                out[0] /= out[i];
            }
            return out;
        };
        std::map<std::vector<std::int64_t>, std::uint64_t> value_of;
        for (std::uint64_t v = 0; v < space.size(); ++v) value_of[lengths_of(v)] = v;
        for (std::uint64_t v = 0; v < space.size(); ++v) {
            std::set<decision_vector> expected;
            const auto lengths = lengths_of(v);
            for (std::size_t to = 0; to < 3; ++to)
                for (std::size_t from = 0; from < 3; ++from)
                    for (std::int64_t longer = lengths[to] + 1; from != to && longer <= extent; ++longer) {
                        if (lengths[from] * lengths[to] % longer != 0) continue;
                        auto moved = lengths;
                        moved[to] = longer;
                        moved[from] = lengths[from] * lengths[to] / longer;
                        expected.insert({value_of.at(moved)});
                        break;
                    }
            const auto found = augur::coordinate_neighbours(space, decision_vector{v});
            REQUIRE(found);
            CHECK(set_of(*found) == expected);
        }
    }
}

TEST_CASE("coordinate_neighbours: legal points of a tree and of recorded points, and from one point all are reached") {
    const auto reach = [](const auto& space) {
        const auto leaves = toy::all_leaves(space);
        std::set<decision_vector> reached{leaves.front()};
        std::vector<decision_vector> open{leaves.front()};
        while (!open.empty()) {
            const auto p = open.back();
            open.pop_back();
            const auto near = augur::coordinate_neighbours(space, p);
            REQUIRE(near);
            for (const auto& q : *near) {
                REQUIRE(augur::trace_path(space, q));
                REQUIRE(q != p);
                if (reached.insert(q).second) open.push_back(q);
            }
        }
        CHECK(reached.size() == leaves.size());
    };
    reach(toy::described_space{});
    reach(*augur::recorded_space::build(toy::product_records()));
    reach(*augur::autotvm_space::make({augur::autotvm_split_knob("x", 24, 4), augur::autotvm_split_knob("y", 30, 2)}));
    augur::autotvm_split_options tails;
    tails.policy = augur::autotvm_split_policy::verbose;
    reach(*augur::autotvm_space::make({augur::autotvm_split_knob("x", 18, 3, tails)}));
}

TEST_CASE("coordinate_descent: the optimum of a convex separable latency, after few measurements") {
    const auto space = toy::number_grid(4, 12);
    const decision_vector optimum{7, 0, 11, 3};
    const auto latency = [&](const decision_vector& p) {
        double sum = 1;
        for (std::size_t i = 0; i < p.size(); ++i) {
            const double d = static_cast<double>(p[i]) - static_cast<double>(optimum[i]);
            sum += static_cast<double>(i + 1) * d * d;
        }
        return sum;
    };
    for (const std::size_t n : {std::size_t{1}, std::size_t{8}})
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            coordinate_descent search;
            std::vector<decision_vector> points;
            // From the first point it is 44 steps at most, each to the best of 8 neighbours at most.
            const auto all = toy::measure_rounds(search, space, flat, 360 / n, n, seed, latency, &points);
            const auto at = std::find(points.begin(), points.end(), optimum);
            REQUIRE(at != points.end());
            CHECK(all.size() == 360);
            std::uint64_t steps = 0;
            for (std::size_t i = 0; i < 4; ++i) {
                const auto a = static_cast<std::int64_t>(points[0][i]), b = static_cast<std::int64_t>(optimum[i]);
                steps += static_cast<std::uint64_t>(std::abs(a - b));
            }
            if (n == 1) CHECK(static_cast<std::uint64_t>(at - points.begin()) <= 1 + 8 * steps);
        }
}

TEST_CASE("coordinate_descent: the best observed neighbours first, in the order of the scores, without those that cannot be realised") {
    const auto space = toy::number_grid(3, 9);
    coordinate_descent search;
    search.observe(std::vector<measured_decisions>{{{1, 1, 1}, 3.0}, {{4, 4, 4}, 1.0}, {{7, 7, 7}, 2.0}, {{4, 4, 3}, 5.0}, {{0, 8, 8}, toy::never}});
    auto scorer = scorer_of([](const decision_vector& p) {
        if (p == decision_vector{4, 4, 5}) return -toy::never;
        if (p == decision_vector{4, 5, 4}) return std::nan("");
        return 100.0 * static_cast<double>(p[0]) + 10 * static_cast<double>(p[1]) + static_cast<double>(p[2]);
    });
    augur::random_engine rng(1);
    const auto points = search.propose(space, scorer, 6, rng);
    REQUIRE(points);
    CHECK(*points == std::vector<decision_vector>{{5, 4, 4}, {4, 3, 4}, {3, 4, 4}, {8, 7, 7}, {7, 8, 7}, {7, 7, 8}}); // then those of the second best
}

TEST_CASE("coordinate_descent: a difference within the margin is noise") {
    const auto space = toy::number_grid(1, 21);
    for (const double margin : {0.0, 0.01}) {
        coordinate_descent search({.margin = margin});
        search.observe(std::vector<measured_decisions>{{{10}, 1.0}});
        augur::random_engine rng(1);
        const auto first = search.propose(space, flat, 1, rng);
        REQUIRE(first);
        const std::uint64_t side = first->front()[0];
        REQUIRE((side == 9 || side == 11));
        search.observe(std::vector<measured_decisions>{{{side}, 0.995}});
        const auto second = search.propose(space, flat, 1, rng);
        REQUIRE(second);
        CHECK(second->front()[0] == (margin > 0 ? 20 - side : 2 * side - 10)); // the other side of the old base, or a step further
    }
}

TEST_CASE("coordinate_descent: behind a local optimum the next best point, or random ones") {
    const auto space = toy::number_grid(1, 1000);
    const std::vector<measured_decisions> valley{{{499}, 1.5}, {{500}, 1.0}, {{501}, 1.2}};
    coordinate_descent on, anew({.restart = true});
    on.observe(valley);
    anew.observe(valley);
    augur::random_engine rng(1);
    const auto next = on.propose(space, flat, 2, rng);
    REQUIRE(next);
    CHECK(*next == std::vector<decision_vector>{{502}, {498}});
    auto far = anew.propose(space, flat, 8, rng);
    REQUIRE(far);
    CHECK(far->size() == 8);
    for (const auto& p : *far) CHECK((p[0] < 498 || p[0] > 502)); // by chance: 4 %
    std::vector<measured_decisions> back;
    for (std::size_t i = 0; i < far->size(); ++i) back.push_back({(*far)[i], 10.0 + static_cast<double>(i)});
    anew.observe(back);
    const auto around = anew.propose(space, flat, 2, rng);
    REQUIRE(around);
    const auto base = far->front()[0]; // the best since, though it is worse than the first valley
    CHECK(set_of(*around) == std::set<decision_vector>{{base - 1}, {base + 1}});
}

TEST_CASE("coordinate_descent: begins at given points") {
    const auto space = toy::number_grid(2, 50);
    augur::initial_points search(coordinate_descent(), {{20, 20}}, true);
    augur::random_engine rng(1);
    const auto start = search.propose(space, flat, 1, rng);
    REQUIRE(start);
    CHECK(*start == std::vector<decision_vector>{{20, 20}});
    search.observe(std::vector<measured_decisions>{{{20, 20}, 1.0}});
    CHECK(set_of(*search.propose(space, flat, 4, rng)) == std::set<decision_vector>{{19, 20}, {21, 20}, {20, 19}, {20, 21}});
}

TEST_CASE("then_descend: the strategy first, then the neighbours of the best point, none twice") {
    const auto space = toy::number_grid(4, 12);
    const auto latency = [](const decision_vector& p) {
        double sum = 1;
        for (std::size_t i = 0; i < p.size(); ++i) sum += std::abs(static_cast<double>(p[i]) - 6) * static_cast<double>(i + 1);
        return sum;
    };
    augur::then_descend polished(augur::random_search(), 24);
    augur::random_search alone;
    std::vector<decision_vector> points, expected;
    toy::measure_rounds(polished, space, flat, 12, 8, 5, latency, &points);
    toy::measure_rounds(alone, space, flat, 3, 8, 5, latency, &expected);
    REQUIRE(points.size() == 96);
    CHECK(std::equal(expected.begin(), expected.end(), points.begin()));
    const auto base = *std::min_element(expected.begin(), expected.end(), [&](const auto& a, const auto& b) { return latency(a) < latency(b); });
    const auto near = *augur::coordinate_neighbours(space, base);
    std::size_t neighbours = 0;
    for (std::size_t i = 24; i < 32; ++i) neighbours += set_of(near).count(points[i]);
    CHECK(neighbours == std::min<std::size_t>(8, near.size()));
    CHECK(std::find(points.begin(), points.end(), decision_vector(4, 6)) != points.end());
}

TEST_CASE("then_descend: what the strategy proposed comes not again, observed or not") {
    const auto space = toy::number_grid(2, 4);
    augur::then_descend search(augur::random_search(), 8);
    augur::random_engine rng(1);
    const auto first = search.propose(space, flat, 8, rng);
    REQUIRE(first);
    search.observe(std::vector<measured_decisions>{{first->front(), 1.0}}); // the others were never measured
    const auto rest = search.propose(space, flat, 16, rng);
    REQUIRE(rest);
    CHECK(rest->size() == 8);
    auto all = set_of(*first);
    all.insert(rest->begin(), rest->end());
    CHECK(all.size() == 16);
}

TEST_CASE("in_turn: a proposal is filled by the second strategy when the first has no points left") {
    const auto space = toy::number_grid(2, 8);
    augur::in_turn search(augur::random_search(), 5, coordinate_descent());
    augur::random_search alone;
    augur::random_engine rng(1), same(1);
    search.observe(std::vector<measured_decisions>{{{4, 4}, 1.0}, {{0, 0}, 9.0}}); // two of the five
    const auto out = search.propose(space, flat, 6, rng);
    const auto first = alone.propose(space, flat, 3, same);
    REQUIRE(out);
    REQUIRE(first);
    REQUIRE(out->size() == 6);
    CHECK(std::equal(first->begin(), first->end(), out->begin()));
    const auto near = set_of(*augur::coordinate_neighbours(space, decision_vector{4, 4}));
    CHECK(std::all_of(out->begin() + 3, out->end(), [&](const auto& p) { return near.count(p) == 1; }));
    CHECK(set_of(*out).size() == 6);
}

TEST_CASE("in_turn: points that an error kept back are proposed where the space has them") {
    const auto wide = toy::number_grid(2, 8), narrow = toy::number_grid(2, 2);
    augur::in_turn search(augur::random_search(), 40, late());
    augur::random_engine rng(1);
    const auto failed = search.propose(wide, flat, 64, rng); // 40 points of the first one are kept back
    REQUIRE(!failed);
    CHECK(failed.error().detail == "not yet");
    const auto few = search.propose(narrow, flat, 64, rng);
    REQUIRE(few);
    CHECK(few->size() == 4);
    CHECK(set_of(*few) == set_of(toy::all_leaves(narrow)));
    const auto rest = search.propose(wide, flat, 64, rng);
    REQUIRE(rest);
    CHECK(rest->size() == 60);
    auto all = set_of(*few);
    all.insert(rest->begin(), rest->end());
    CHECK(all == set_of(toy::all_leaves(wide)));
}

TEST_CASE("descent: better than random search on recorded points, alone and behind other searches") {
    const auto records = toy::product_records();
    const auto space = *augur::recorded_space::build(records);
    std::map<std::string, std::size_t> wins;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const auto latency = [&](const decision_vector& p) { return toy::product_latency(*space.realise(p), seed); };
        const auto best = [&](auto search) { return toy::best_of(toy::measure_rounds(search, space, flat, 10, 8, seed, latency)); };
        const double random = best(augur::random_search());
        wins["alone"] += best(coordinate_descent()) < random ? 1U : 0U;
        wins["with restarts"] += best(coordinate_descent({.restart = true})) < random ? 1U : 0U;
        wins["behind random"] += best(augur::then_descend(augur::random_search(), 32)) < random ? 1U : 0U;
        wins["behind annealing"] += best(augur::then_descend(augur::simulated_annealing<>(), 32)) < random ? 1U : 0U;
    }
    for (const auto& won : wins) {
        CAPTURE(won.first);
        CHECK(won.second >= 20); // by chance 20 of 24: p < 0.001
    }
}

TEST_CASE("then_descend: around a search on an executor, the number of threads changes nothing") {
    const auto space = toy::number_grid(4, 12);
    auto scorer = scorer_of([](const decision_vector& p) { return static_cast<double>(p[0]) - static_cast<double>(p[1] * p[2]); });
    const auto latency = [](const decision_vector& p) { return 1 + static_cast<double>(augur::hash_decisions(p) % 100); };
    augur::annealing_options o;
    o.walkers = 16;
    o.iterations = 20;
    std::vector<std::vector<decision_vector>> found;
    for (const std::size_t n : {1U, 3U}) {
        toy::threads pool{n};
        augur::then_descend search(augur::simulated_annealing(o, pool), 16);
        toy::measure_rounds(search, space, scorer, 5, 8, 1, latency, &found.emplace_back());
    }
    CHECK(found[0] == found[1]);
    CHECK(found[0].size() == 40);
}

} // namespace descent_test
