// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <augur/xgboost/view_trees.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/random_engine.hpp>

#include "candidates.hpp"

using namespace augur;

namespace {

view_trees trained(std::vector<normalisation> views, std::size_t members) {
    view_trees out(std::move(views));
    for (std::uint64_t m = 0; m < members; ++m) {
        view_samples samples(columns, out.views());
        for (std::uint64_t t = 0; t < 3; ++t) {
            const kernel k(200, static_cast<float>(16 * t), 10 * m + t);
            REQUIRE(samples.add(k.rows, k.labels));
        }
        CHECK(samples.size() == 600);
        REQUIRE(out.train(samples, quick(m)));
    }
    return out;
}

const std::vector<normalisation> three{normalisation::relative, normalisation::ranked, normalisation::absolute};
errc refusal(const result<void>& r) { return r ? errc{} : r.error().code; }

} // namespace

TEST_CASE("view trees: the example of their header") {
    const kernel far(150, 1024, 77);
    const auto& rows = far.rows;
    view_samples samples(columns, three);
    REQUIRE(samples.add(far.rows, far.labels));
    const auto options = [](std::uint64_t seed) { return quick(seed); };
    const std::vector<float> second_scores(150);
    const auto proposed = [&]() -> result<std::vector<std::uint32_t>> {
#include <snippets/xgboost/view_trees.hpp.1.inc>
        return first;
    };
    const auto first = proposed();
    REQUIRE(first);
    CHECK(first->size() == 5);
}

TEST_CASE("view trees: proposals are what members, means, opinions and turns make, step by step") {
    const auto trees = trained(three, 2);
    const kernel far(150, 1024, 77);
    std::vector<float> said(150);
    augur::random_engine draw(5);
    for (float& s : said) s = static_cast<float>(draw.below(9));
    for (const bool opinion : {false, true}) {
        std::vector<std::vector<float>> scores;
        for (std::size_t v = 0; v < three.size(); ++v) {
            const auto all = task_normaliser::fit(far.rows, columns, three[v]);
            std::vector<float> sum(150), one(150);
            for (const auto& member : trees.members()) {
                auto rows = far.rows;
                REQUIRE(member[v].score(all, rows, one));
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i] / 2;
            }
            if (opinion) bounded_blend().add(task_normaliser::fit(said, 1), said, sum);
            scores.push_back(sum);
        }
        const auto expected = take_turns(scores, equal_rows(far.rows, columns), 20);
        const auto got = trees.propose(far.rows, opinion ? std::span<const float>(said) : std::span<const float>(), 20);
        REQUIRE(got);
        CHECK(*got == expected);
    }
    const auto best = trees.propose(far.rows, {}, 1);
    REQUIRE(best);
    CHECK(far.labels[best->front()] >= 0.9F * *std::max_element(far.labels.begin(), far.labels.end())); // far from what was trained on
}

TEST_CASE("view trees: loaded members propose the same") {
    const auto trees = trained(three, 2);
    view_trees again;
    for (const auto& member : trees.members()) {
        std::vector<task_normalised_trees> loaded;
        for (std::size_t v = 0; v < three.size(); ++v) {
            auto one = task_normalised_trees::load(member[v].save(3), 3, three[v]);
            REQUIRE(one);
            loaded.push_back(*std::move(one));
        }
        REQUIRE(again.add(std::move(loaded)));
    }
    const kernel k(100, 8, 1);
    const auto a = trees.propose(k.rows, {}, 100), b = again.propose(k.rows, {}, 100);
    REQUIRE(a);
    REQUIRE(b);
    CHECK(*a == *b);
    CHECK(a->size() == 100);
}

TEST_CASE("view trees: what does not fit is refused") {
    view_trees none;
    const kernel k(20, 0, 1);
    const auto empty = none.propose(k.rows, {}, 5);
    REQUIRE(!empty);
    CHECK(empty.error().code == errc::not_found);
    CHECK(refusal(none.add({})) == errc::invalid_argument);
    view_samples one_view(columns, std::span(three).first(1)), samples(columns, three), turned(columns, std::vector{three[0], three[2], three[1]});
    CHECK(refusal(samples.add({}, {})) == errc::shape_mismatch);
    CHECK(refusal(samples.add(std::span(k.rows).first(4), std::span(k.labels).first(1))) == errc::shape_mismatch);
    CHECK(refusal(samples.add(k.rows, std::span(k.labels).first(1))) == errc::shape_mismatch);
    CHECK(samples.size() == 0);
    for (view_samples* s : {&one_view, &samples, &turned}) REQUIRE(s->add(k.rows, k.labels));
    CHECK(refusal(none.train(one_view, quick(1))) == errc::invalid_argument);
    CHECK(refusal(none.train(turned, quick(1))) == errc::invalid_argument);
    REQUIRE(none.train(samples, quick(1)));
    view_samples wide(columns + 1, three);
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
