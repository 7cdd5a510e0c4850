// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/draft_verify.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <augur/model/concepts.hpp>
#include <augur/search/bound_scorer.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/random.hpp>
#include <augur/space/count.hpp>

#include "../space/toy.hpp"
#include "threads.hpp"

namespace draft_verify_test {

using augur::decision_vector;

namespace {

/// Sums of the values; counts the points that it is asked for.
struct counting_scorer {
    double weight = 1; ///< 0: all scores are equal
    std::size_t asked = 0, most = 0;
    augur::result<void> operator()(std::span<const decision_vector> points, std::span<float> scores) {
        asked += points.size();
        most = std::max(most, points.size());
        for (std::size_t i = 0; i < points.size(); ++i) {
            double sum = 0;
            for (const auto v : points[i]) sum += static_cast<double>(v);
            scores[i] = static_cast<float>(weight * sum);
        }
        return {};
    }
};
using verified_search = augur::draft_then_verify<augur::random_search, counting_scorer>;
static_assert(augur::search_strategy<verified_search, toy::space>);

double sum_of(const decision_vector& p) {
    double sum = 0;
    for (const auto v : p) sum += static_cast<double>(v);
    return sum;
}

/// Points with equal sums keep their order.
std::vector<decision_vector> highest_first(const std::vector<decision_vector>& points) {
    std::multimap<double, decision_vector, std::greater<>> sorted; // inserts behind equal keys
    for (const auto& p : points) sorted.emplace(sum_of(p), p);
    std::vector<decision_vector> out;
    for (const auto& [sum, p] : sorted) out.push_back(p);
    return out;
}

struct numbers_model { // of schedules: the first number counts
    static constexpr auto meaning = augur::score_meaning::rank;
    augur::result<void> score(const toy::task&, std::span<const toy::schedule> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = static_cast<float>(batch[i].numbers[1]);
        return {};
    }
};

} // namespace

TEST_CASE("draft_then_verify: of the drafted points the verifier's best are proposed, and the draft's share is its best of the others") {
    const toy::grid grid;
    counting_scorer draft{-1}, verifier{1};
    verified_search search(augur::random_search(), draft, {.drafted = 8, .pool = 64, .draft_share = 0.25});
    augur::random_engine rng(1), twin_rng(1);
    const auto got = search.propose(grid, verifier, 16, rng);
    REQUIRE(got);
    REQUIRE(got->size() == 16);

    augur::random_search twin;
    auto all = *twin.propose(grid, draft, 128, twin_rng);
    all = highest_first(all);
    std::multiset<double> expected, sums;
    for (std::size_t i = 0; i < 12; ++i) expected.insert(sum_of(all[i]));
    for (std::size_t i = 0; i < 4; ++i) expected.insert(sum_of(all[127 - i]));
    for (const auto& p : *got) sums.insert(sum_of(p));
    CHECK(sums == expected);
    CHECK(verifier.asked == 128);
}

TEST_CASE("draft_then_verify: the draft scores a point once, the verifier the whole pool each time") {
    const toy::grid grid;
    counting_scorer draft{-1}, verifier{1};
    verified_search search(augur::random_search(), draft, {.drafted = 8, .pool = 64, .draft_share = 0.25}); // draws 32 points and scores none of them
    augur::random_engine rng(6);
    for (int round = 0; round < 3; ++round) REQUIRE(search.propose(grid, verifier, 4, rng)->size() == 4);
    CHECK(draft.asked == 3 * 32);
    CHECK(verifier.asked == 32 + (28 + 32) + (56 + 32));
    auto fails = [](std::span<const decision_vector>, std::span<float>) -> augur::result<void> { return augur::error{augur::errc::io, "no model"}; };
    REQUIRE(!search.propose(grid, fails, 4, rng));
    CHECK(draft.asked == 4 * 32);
    REQUIRE(search.propose(grid, verifier, 4, rng)->size() == 4);
    CHECK(draft.asked == 5 * 32);
    CHECK(verifier.asked == 32 + 60 + 88 + (64 + 32 + 32));
}

TEST_CASE("draft_then_verify: the draft's choice is the best of all that was drafted, also after the pool was sorted and the space has changed") {
    const toy::grid wide{2, 16}, narrow{2, 9};
    counting_scorer draft{-1}, verifier{1}; // opposite orders
    verified_search search(augur::random_search(), draft, {.drafted = 8, .pool = 1000, .draft_share = 1});
    augur::random_search twin;
    augur::random_engine rng(8), twin_rng(8);
    std::vector<decision_vector> pool;
    for (const auto* space : {&wide, &wide, &narrow, &wide, &narrow, &wide}) {
        const auto got = search.propose(*space, verifier, 2, rng);
        REQUIRE(got);
        const auto drawn = twin.propose(*space, draft, 16, twin_rng);
        pool.insert(pool.end(), drawn->begin(), drawn->end());
        std::multiset<double> sums, proposed; // of the points that the space has
        for (const auto& p : pool)
            if (augur::trace_path(*space, p)) sums.insert(sum_of(p));
        for (const auto& p : *got) {
            proposed.insert(sum_of(p));
            pool.erase(std::find(pool.begin(), pool.end(), p));
        }
        CHECK(proposed == std::multiset<double>(sums.begin(), std::next(sums.begin(), 2)));
    }
}

TEST_CASE("draft_then_verify: a verifier that ranks nothing leaves the choice to the draft") {
    const toy::grid grid;
    counting_scorer draft{1}, untrained{0};
    verified_search search(augur::random_search(), draft, {.drafted = 4, .pool = 64, .draft_share = 0});
    augur::random_engine rng(2), twin_rng(2);
    const auto got = search.propose(grid, untrained, 8, rng);
    REQUIRE(got);
    augur::random_search twin;
    auto all = *twin.propose(grid, draft, 32, twin_rng);
    all = highest_first(all);
    all.resize(8);
    CHECK(*got == all);
}

TEST_CASE("draft_then_verify: every point of a small space is proposed once, whatever the pool holds") {
    const toy::space space;
    std::size_t leaves = 0;
    augur::for_each_leaf(space, 100000, [&](auto) { return ++leaves, true; });
    for (const std::size_t pool : {std::size_t{0}, std::size_t{5}, std::size_t{100000}}) {
        counting_scorer draft{1}, verifier{-1};
        verified_search search(augur::random_search(), draft, {.drafted = 8, .pool = pool, .draft_share = 0.5});
        augur::random_engine rng(3);
        std::set<decision_vector> seen;
        for (;;) {
            const auto got = search.propose(space, verifier, 10, rng);
            REQUIRE(got);
            for (const auto& p : *got) CHECK(seen.insert(p).second);
            if (got->size() < 10) break;
        }
        CHECK(seen.size() == leaves);
        CHECK(verifier.most <= pool + 80 + 10);
    }
}

TEST_CASE("draft_then_verify: what was drafted waits, unscored, while the space does not have it") {
    const toy::grid wide{2, 16}, narrow{2, 2};
    for (const std::size_t pool : {std::size_t{0}, std::size_t{5}, std::size_t{1000}}) {
        counting_scorer draft{1};
        verified_search search(augur::random_search(), draft, {.drafted = 8, .pool = pool, .draft_share = 0.25});
        const toy::grid* now = nullptr;
        auto verifier = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
            for (std::size_t i = 0; i < points.size(); ++i) {
                CHECK(augur::trace_path(*now, points[i]));
                scores[i] = static_cast<float>(sum_of(points[i]));
            }
            return {};
        };
        augur::random_engine rng(7);
        std::set<decision_vector> seen;
        const auto take = [&](const toy::grid& space, std::size_t n) {
            now = &space;
            const auto got = search.propose(space, verifier, n, rng);
            REQUIRE(got);
            for (const auto& p : *got) {
                CHECK(augur::trace_path(space, p));
                CHECK(seen.insert(p).second);
            }
            return got->size();
        };
        CHECK(take(wide, 4) == 4); // the highest of 32 drafted points: none of the narrow space
        CHECK(take(narrow, 10) == 4);
        std::size_t rest = 0;
        while (const auto more = take(wide, 10)) rest += more;
        CHECK(rest == 16 * 16 - 8);
        CHECK(seen.size() == 16 * 16);
    }
}

TEST_CASE("draft_then_verify: NaN is the worst score, errors of both scorers are told, nothing asked is nothing given") {
    const toy::grid grid;
    counting_scorer draft;
    verified_search search(augur::random_search(), draft);
    augur::random_engine rng(4);
    auto nan = [](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i);
        return {};
    };
    CHECK(search.propose(grid, nan, 16, rng)->size() == 16);
    CHECK(search.propose(grid, draft, 0, rng)->empty());
    auto fails = [](std::span<const decision_vector>, std::span<float>) -> augur::result<void> { return augur::error{augur::errc::io, "no model"}; };
    const auto failed = search.propose(grid, fails, 4, rng);
    REQUIRE(!failed);
    CHECK(failed.error().detail == "no model");
}

TEST_CASE("draft_then_verify: around the evolutionary search, the same points for any number of threads") {
    const toy::grid grid;
    std::vector<std::vector<decision_vector>> found;
    for (const std::size_t threads : {std::size_t{1}, std::size_t{4}}) {
        toy::threads executor{threads};
        augur::evolutionary_options o;
        o.population = 128;
        counting_scorer draft{1}, verifier{-1};
        augur::draft_then_verify search(augur::evolutionary(o, executor), draft);
        augur::random_engine rng(5);
        found.emplace_back();
        for (int round = 0; round < 3; ++round) {
            const auto got = search.propose(grid, verifier, 8, rng);
            REQUIRE(got);
            found.back().insert(found.back().end(), got->begin(), got->end());
        }
    }
    CHECK(found[0] == found[1]);
    CHECK(found[0].size() == 24);
}

TEST_CASE("draft_then_verify: the example of the header") {
    using schedule = toy::schedule;
    using space = toy::space;
    using crop_model = numbers_model;
    using task = toy::task;
    const space where;
    const task what;
    crop_model crop;
#include <snippets/search/draft_verify.hpp.1.inc>
    augur::random_engine rng(6);
    augur::constant_scorer untrained;
    const auto got = search.propose(where, untrained, 4, rng);
    REQUIRE(got);
    CHECK(got->size() == 4);
}

TEST_CASE("draft_then_verify: what was observed is not proposed, and what the verifier excludes comes last, also in the draft's share") {
    const toy::grid grid{2, 8};
    counting_scorer draft{1};
    augur::draft_then_verify search(augur::random_search(), draft, {.drafted = 8, .pool = 64, .draft_share = 0.5});
    std::set<decision_vector> gone;
    const auto verifier = [](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) // the draft likes high sums, of which half are excluded
            scores[i] = points[i][0] >= 4 ? -std::numeric_limits<float>::infinity() : static_cast<float>(points[i][1]);
        return {};
    };
    augur::random_engine rng(3);
    std::size_t proposed = 0;
    while (proposed < 64) {
        const auto got = search.propose(grid, verifier, 8, rng); // the first drafts all 64 points
        REQUIRE(got);
        if (got->empty()) break;
        for (const auto& p : *got) {
            CHECK(gone.insert(p).second);
            if (proposed < 24) CHECK(p[0] < 4); // 32 usable points, of which 8 are observed below
        }
        proposed += got->size();
        if (proposed == 8) { // as the records of another run
            std::vector<augur::measured_decisions> others;
            for (std::uint64_t a = 0, seen = 0; a < 4 && seen < 8; ++a)
                for (std::uint64_t b = 0; b < 8 && seen < 8; ++b)
                    if (gone.insert({a, b}).second) others.push_back({{a, b}, 1}), ++seen;
            search.observe(others);
        }
    }
    CHECK(proposed == 56);
    CHECK(gone.size() == 64);
}

} // namespace draft_verify_test
