// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <augur/xgboost/task_normalised_model.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>

#include "picks.hpp"

namespace task_normalised_model_test {

using namespace augur;

namespace {

std::vector<task_normalised_trees> members(normalisation view, std::size_t count) {
    std::vector<task_normalised_trees> out;
    for (std::uint64_t m = 0; m < count; ++m) {
        task_normalised_samples samples(columns, view);
        for (std::uint64_t t = 0; t < 3; ++t) {
            const candidates k(200, static_cast<float>(16 * t), 10 * m + t);
            REQUIRE(samples.add(task_normaliser::fit(k.rows, columns, view), k.rows, k.labels));
        }
        auto trees = task_normalised_trees::train(samples, quick(m));
        REQUIRE(trees);
        out.push_back(*std::move(trees));
    }
    return out;
}
using offline = task_normalised_model<pick, task_of_kernel, row_of_pick>;
using online = task_normalised_model<pick, task_of_kernel, row_of_pick, tree_training::online>;
static_assert(cost_model<offline, pick, task_of_kernel> && trainable_cost_model<online, pick, task_of_kernel>);
// the tuner looks for the name: a model that is not retrained has no `update`, not even one of another shape
template <class M>
concept has_update = requires { &M::update; };
static_assert(!has_update<offline> && has_update<online>);
template <class Second>
concept second_model = std::constructible_from<offline, std::vector<task_normalised_trees>, row_of_pick, Second&>;
static_assert(second_model<likes_thirds> && !second_model<candidates>);

} // namespace

TEST_CASE("task_normalised_model: a score is the members' mean and the blend of the second model, step by step") {
    const candidates far(150, 1024, 77);
    const task_of_kernel task{"far", &far};
    for (const auto view : {normalisation::relative, normalisation::ranked, normalisation::absolute}) {
        const auto trees = members(view, 2);
        likes_thirds other;
        offline model(trees, {}, other, {0.5F, 2});
        const auto met = picks(0, 100), asked = picks(60, 150);
        REQUIRE(model.set_normaliser(task, met));
        std::vector<float> scores(asked.size());
        REQUIRE(model.score(task, asked, scores));

        const auto all = task_normaliser::fit(std::span(far.rows).first(100 * columns), columns, view);
        std::vector<float> expected(asked.size()), one(asked.size()), said;
        for (const auto& t : trees) {
            std::vector<float> rows(far.rows.begin() + 60 * columns, far.rows.end());
            REQUIRE(t.score(all, rows, one));
            for (std::size_t i = 0; i < one.size(); ++i) expected[i] += one[i] / 2;
        }
        for (const auto& p : asked) said.push_back(likes_thirds::of(p));
        for (std::size_t i = 0; i < said.size(); ++i)
            if (std::isfinite(said[i])) expected[i] += 0.5F * std::tanh((said[i] - 1) / 2); // the middle of what it says is 1
        CHECK(scores == expected);
    }
}

TEST_CASE("task_normalised_model: it picks a fast candidate of a kernel far from those that it learned from, whatever its neighbours") {
    const candidates far(150, 1024, 77), near(150, 0, 5);
    const task_of_kernel task{"far", &far}, other{"near", &near};
    offline model(members(normalisation::relative, 2), {});
    REQUIRE(model.set_normaliser(task, picks(0, 150)));
    REQUIRE(model.set_normaliser(other, picks(0, 150)));
    const auto all = picks(0, 150);
    std::vector<float> scores(150), one(1);
    REQUIRE(model.score(task, all, scores));
    const auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    CHECK(far.labels[best] >= 0.9F * *std::max_element(far.labels.begin(), far.labels.end()));
    for (std::size_t i = 0; i < 150; i += 13) {
        REQUIRE(model.score(task, std::span(all).subspan(i, 1), one));
        CHECK(one[0] == scores[i]);
    }
    REQUIRE(model.set_normaliser(task, picks(0, 20))); // in place of those before
    offline anew(members(normalisation::relative, 2), {});
    REQUIRE(anew.set_normaliser(task, picks(0, 20)));
    std::vector<float> again(150);
    REQUIRE(model.score(task, all, scores));
    REQUIRE(anew.score(task, all, again));
    CHECK(scores == again);
}

TEST_CASE("task_normalised_model: the example of its header") {
    using my_schedule = pick;
    using my_task = task_of_kernel;
    using my_row = row_of_pick;
    const candidates far(150, 1024, 77);
    const std::vector<task_of_kernel> tasks{{"far", &far}};
    const auto trees = members(normalisation::relative, 1);
    likes_thirds opinion;
    const auto samples_of = [](const task_of_kernel&) { return picks(0, 100); };
    const auto score_all = [&](std::span<float> scores) -> result<void> {
#include <snippets/xgboost/task_normalised_model.hpp.1.inc>
        return model.score(tasks[0], picks(0, 150), scores);
    };
    std::vector<float> scores(150);
    REQUIRE(score_all(scores));
    CHECK(scores[0] != scores[1]);
}

TEST_CASE("task_normalised_model: what cannot be scored") {
    const candidates far(50, 64, 3);
    const task_of_kernel task{"far", &far};
    likes_thirds other;
    offline model(members(normalisation::relative, 1), row_of_pick{40, 30}, other);
    std::vector<float> scores(50), few(3);
    const auto all = picks(0, 50);
    auto refused = model.score(task, all, scores);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::not_found);
    CHECK(refused.error().detail == "task_normalised_model: expected a task after set_normaliser, got far");
    refused = model.set_normaliser(task, picks(30, 50));
    REQUIRE(!refused);
    CHECK(refused.error().detail == "task_normalised_model: none of 20 candidates of far has features");
    REQUIRE(model.set_normaliser(task, all)); // the thirty that have
    REQUIRE(model.score(task, all, scores));
    for (std::size_t i = 0; i < scores.size(); ++i) CHECK(std::isfinite(scores[i]) == (i < 30));
    offline some(members(normalisation::relative, 1), row_of_pick{40, 30}), thirty(members(normalisation::relative, 1), {});
    REQUIRE(some.set_normaliser(task, all));
    REQUIRE(thirty.set_normaliser(task, picks(0, 30)));
    std::vector<float> a(30), b(30);
    REQUIRE(some.score(task, picks(0, 30), a));
    REQUIRE(thirty.score(task, picks(0, 30), b));
    CHECK(a == b);
    refused = model.score(task, all, few);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::shape_mismatch);
    CHECK(model.score(task, {}, {}));
}

} // namespace task_normalised_model_test
