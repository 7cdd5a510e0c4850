// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Round-robin selection by trees with several normalisations, of `tlp_tables`: against the steps done one by one, and against a slow selection.
#include <doctest/doctest.h>

#ifndef AUGUR_HAS_XGBOOST
TEST_CASE("round_robin_trees is not built: it needs XGBoost") {}
#else

#include "../../examples/papers/tlp_tables/round_robin_trees.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <augur/core/random_engine.hpp>

#include "../xgboost/candidates.hpp"

namespace round_robin_trees_test {

using namespace augur;
using examples::round_robin_samples;
using examples::round_robin_trees;
using examples::select_round_robin;

namespace {

round_robin_trees trained(std::vector<normalisation> methods, std::size_t members) {
    round_robin_trees out(std::move(methods));
    for (std::uint64_t m = 0; m < members; ++m) {
        round_robin_samples samples(columns, out.methods());
        for (std::uint64_t t = 0; t < 3; ++t) {
            const candidates k(200, static_cast<float>(16 * t), 10 * m + t);
            REQUIRE(samples.add(k.rows, k.labels));
        }
        CHECK(samples.size() == 600);
        REQUIRE(out.train(samples, quick(m)));
    }
    return out;
}

const std::vector<normalisation> three{normalisation::relative, normalisation::ranked, normalisation::absolute};
errc refusal(const result<void>& r) { return r ? errc{} : r.error().code; }

/// Few values, so that rows repeat.
std::vector<float> some_rows(std::size_t n, std::uint64_t seed) {
    augur::random_engine draw(seed);
    std::vector<float> rows(n * columns);
    for (float& x : rows) x = static_cast<float>(draw.below(3)) - 1;
    return rows;
}

} // namespace

TEST_CASE("round_robin_trees: proposals are the members' mean, the blend and the selection, step by step") {
    const auto trees = trained(three, 2);
    const candidates far(150, 1024, 77);
    std::vector<float> said(150);
    augur::random_engine draw(5);
    for (float& s : said) s = static_cast<float>(draw.below(9));
    for (const bool second : {false, true}) {
        std::vector<std::vector<float>> scores;
        for (std::size_t v = 0; v < three.size(); ++v) {
            const auto all = task_normaliser::fit(far.rows, columns, three[v]);
            std::vector<float> sum(150), one(150);
            for (const auto& member : trees.members()) {
                auto rows = far.rows;
                REQUIRE(member[v].score(all, rows, one));
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i] / 2;
            }
            if (second) bounded_blend().add(task_normaliser::fit(said, 1), said, sum);
            scores.push_back(sum);
        }
        const auto expected = select_round_robin(scores, equal_rows(far.rows, columns), 20);
        const auto got = trees.propose(far.rows, second ? std::span<const float>(said) : std::span<const float>(), 20);
        REQUIRE(got);
        CHECK(*got == expected);
    }
    const auto best = trees.propose(far.rows, {}, 1);
    REQUIRE(best);
    CHECK(far.labels[best->front()] >= 0.9F * *std::max_element(far.labels.begin(), far.labels.end())); // far from what was trained on
}

TEST_CASE("round_robin_trees: loaded members propose the same") {
    const auto trees = trained(three, 2);
    round_robin_trees again;
    for (const auto& member : trees.members()) {
        std::vector<task_normalised_trees> loaded;
        for (std::size_t v = 0; v < three.size(); ++v) {
            auto one = task_normalised_trees::load(member[v].save(3), 3, three[v]);
            REQUIRE(one);
            loaded.push_back(*std::move(one));
        }
        REQUIRE(again.add(std::move(loaded)));
    }
    const candidates k(100, 8, 1);
    const auto a = trees.propose(k.rows, {}, 100), b = again.propose(k.rows, {}, 100);
    REQUIRE(a);
    REQUIRE(b);
    CHECK(*a == *b);
    CHECK(a->size() == 100);
}

TEST_CASE("round_robin_trees: what does not fit is refused") {
    round_robin_trees none;
    const candidates k(20, 0, 1);
    const auto empty = none.propose(k.rows, {}, 5);
    REQUIRE(!empty);
    CHECK(empty.error().code == errc::not_found);
    CHECK(refusal(none.add({})) == errc::invalid_argument);
    round_robin_samples one_method(columns, std::span(three).first(1)), samples(columns, three),
        turned(columns, std::vector{three[0], three[2], three[1]});
    CHECK(refusal(samples.add({}, {})) == errc::shape_mismatch);
    CHECK(refusal(samples.add(std::span(k.rows).first(4), std::span(k.labels).first(1))) == errc::shape_mismatch);
    CHECK(refusal(samples.add(k.rows, std::span(k.labels).first(1))) == errc::shape_mismatch);
    CHECK(samples.size() == 0);
    for (round_robin_samples* s : {&one_method, &samples, &turned}) REQUIRE(s->add(k.rows, k.labels));
    CHECK(refusal(none.train(one_method, quick(1))) == errc::invalid_argument);
    CHECK(refusal(none.train(turned, quick(1))) == errc::invalid_argument);
    REQUIRE(none.train(samples, quick(1)));
    round_robin_samples wide(columns + 1, three);
    REQUIRE(wide.add(std::vector<float>(40, 1.0F), std::vector<float>(10, 0.5F)));
    CHECK(refusal(none.train(wide, quick(1))) == errc::shape_mismatch);
    CHECK(none.members().size() == 1);
    for (const auto& [rows, said] : {std::pair{std::size_t{59}, std::size_t{0}}, std::pair{std::size_t{60}, std::size_t{19}}}) {
        const auto refused = none.propose(std::span(k.rows).first(rows), std::span(k.labels).first(said), 5);
        REQUIRE(!refused);
        CHECK(refused.error().code == errc::shape_mismatch);
    }
    const auto nothing = none.propose({}, {}, 5);
    REQUIRE(nothing);
    CHECK(nothing->empty());
}

TEST_CASE("select_round_robin: one model proposes each program once, then the repeats in their order") {
    const std::vector<std::uint32_t> first{0, 1, 0, 3, 1};
    const auto of = [&](std::vector<float> scores, std::size_t most = 9) {
        return select_round_robin(std::vector<std::vector<float>>{std::move(scores)}, first, most);
    };
    CHECK(of({5, 1, 7, 3, 2}) == std::vector<std::uint32_t>{2, 3, 4, 0, 1}); // the best of a program stands for it
    CHECK(of({1, 1, 1, 1, 1}) == std::vector<std::uint32_t>{0, 1, 3, 2, 4}); // of equals the first
    CHECK(of({-std::numeric_limits<float>::infinity(), 1, 2, 3, 4}) == std::vector<std::uint32_t>{4, 3, 2, 1, 0});
    CHECK(of({5, 1, 7, 3, 2}, 2) == std::vector<std::uint32_t>{2, 3});
    CHECK(select_round_robin(std::vector<std::vector<float>>(2), {}, 5).empty());
}

TEST_CASE("select_round_robin: models take turns, as by hand") {
    augur::random_engine draw(3);
    for (std::size_t n = 1; n < 30; ++n) {
        const auto rows = some_rows(n, n);
        const auto first = equal_rows(rows, columns);
        std::vector<std::vector<float>> scores(1 + n % 4, std::vector<float>(n));
        for (auto& one : scores)
            for (float& x : one) x = static_cast<float>(draw.below(8));
        std::vector<std::uint32_t> slow;
        std::vector<bool> used(n);
        for (const bool repeats : {false, true})
            for (std::size_t turn = 0, idle = 0; idle < scores.size(); turn = (turn + 1) % scores.size()) {
                std::size_t best = n;
                for (std::size_t i = 0; i < n; ++i) {
                    bool known = false;
                    for (const std::uint32_t u : slow) known = known || first[u] == first[i];
                    if (!used[i] && (repeats || !known) && (best == n || scores[turn][i] > scores[turn][best])) best = i;
                }
                idle = best == n ? idle + 1 : 0;
                if (best < n) used[best] = true, slow.push_back(static_cast<std::uint32_t>(best));
            }
        CHECK(select_round_robin(scores, first, n) == slow);
        const auto some = select_round_robin(scores, first, n / 2);
        CHECK(some == std::vector<std::uint32_t>(slow.begin(), slow.begin() + static_cast<std::ptrdiff_t>(n / 2)));
    }
}

} // namespace round_robin_trees_test

#endif
