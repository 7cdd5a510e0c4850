// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <augur/xgboost/task_normalised_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/record/measurement.hpp>

#include "picks.hpp"

namespace task_normalised_model_online_test {

using namespace augur;

namespace {

using learner = task_normalised_model<pick, task_of_kernel, row_of_pick, tree_training::online>;
using observed = observation<pick, task_of_kernel>;
static_assert(trainable_cost_model<learner, pick, task_of_kernel>);

/// Two kernels; `turned`: of the second number less was better, not more.
task_normalised_samples known(bool turned = false) {
    task_normalised_samples samples(columns);
    for (const std::uint64_t seed : {1U, 2U}) {
        candidates k(200, static_cast<float>(32 * seed), seed);
        if (turned)
            for (std::size_t i = 0; i < k.labels.size(); ++i) k.labels[i] -= (k.rows[i * columns + 1] - static_cast<float>(32 * seed)) / 8;
        REQUIRE(samples.add(k.all(), k.rows, k.labels));
    }
    return samples;
}
task_normalised_online_options quickly(std::uint32_t members = 1, std::uint32_t weight = 3) {
    task_normalised_online_options o;
    o.trees = quick();
    o.members = members;
    o.weight = weight;
    return o;
}

/// The candidates [0, n) of a kernel, measured: the label's inverse in seconds, a failure where it is 0.
struct measured {
    std::vector<pick> schedules;
    std::vector<measurement> outcomes;
    std::vector<observed> records;

    measured(const task_of_kernel& t, std::uint32_t n) : schedules(picks(0, n)), outcomes(n) {
        for (std::uint32_t i = 0; i < n; ++i) {
            const float label = t.all->labels[i];
            if (label > 0) {
                outcomes[i].status = outcome::ok;
                outcomes[i].seconds = {1.0 / static_cast<double>(label)};
            } else outcomes[i].status = outcome::run_crash;
            records.push_back({&t, &schedules[i], &outcomes[i]});
        }
    }
};

std::vector<float> scores_of(auto& model, const task_of_kernel& t, std::uint32_t n) {
    std::vector<float> scores(n);
    REQUIRE(model.score(t, picks(0, n), scores));
    return scores;
}
/// Trees on samples, as a model that was told them.
std::vector<float> scores_of_trees(const task_normalised_samples& samples, const task_normalised_online_options& o, const task_of_kernel& t,
                                   std::uint32_t met, std::uint32_t n) {
    std::vector<task_normalised_trees> trees;
    for (std::uint32_t m = 0; m < o.members; ++m) trees.push_back(*task_normalised_trees::train(samples, quick(o.trees.seed + m)));
    task_normalised_model<pick, task_of_kernel, row_of_pick> model(std::move(trees), {});
    REQUIRE(model.set_normaliser(t, picks(0, met)));
    return scores_of(model, t, n);
}

} // namespace

TEST_CASE("task_normalised_model, online: the example of its header") {
    using my_schedule = pick;
    using my_task = task_of_kernel;
    using my_row = row_of_pick;
    const candidates far(150, 1024, 77);
    const std::vector<task_of_kernel> tasks{{"far", &far}};
    const auto samples_of_other_tasks = known();
    const auto samples_of = [](const task_of_kernel&) { return picks(0, 100); };
    const auto score_all = [&](std::span<float> scores) -> result<void> {
#include <snippets/xgboost/task_normalised_model.hpp.2.inc>
        return model->score(tasks[0], picks(0, 150), scores);
    };
    std::vector<float> scores(150);
    REQUIRE(score_all(scores));
    CHECK(scores[0] != scores[1]);
}

TEST_CASE("task_normalised_model, online: trees on what was known, then on that and the records as often as they weigh") {
    const candidates far(150, 1024, 77), near(100, 0, 5);
    const task_of_kernel first{"far", &far}, second{"near", &near};
    const auto options = quickly(2, 3);
    auto model = learner::create(known(), {}, options);
    REQUIRE(model);
    REQUIRE(model->set_normaliser(first, picks(0, 120)));
    REQUIRE(model->set_normaliser(second, picks(0, 100)));
    CHECK(scores_of(*model, first, 150) == scores_of_trees(known(), options, first, 120, 150));

    const measured a(first, 40), b(second, 25);
    auto all = a.records;
    all.insert(all.end(), b.records.begin(), b.records.end());
    REQUIRE(model->update(all));
    auto samples = known(); // by key: "far" before "near"
    const auto add = [&](const candidates& k, std::uint32_t met, std::uint32_t n) {
        const auto of = task_normaliser::fit(std::span(k.rows).first(met * columns), columns);
        const std::vector<float> rows(k.rows.begin(), k.rows.begin() + static_cast<std::ptrdiff_t>(n * columns));
        std::vector<float> labels(k.labels.begin(), k.labels.begin() + n);
        const float best = *std::max_element(labels.begin(), labels.end());
        for (float& l : labels) l = l > 0 ? static_cast<float>((1.0 / static_cast<double>(best)) / (1.0 / static_cast<double>(l))) : 0.0F;
        for (int i = 0; i < 3; ++i) REQUIRE(samples.add(of, rows, labels));
    };
    add(far, 120, 40);
    add(near, 100, 25);
    CHECK(scores_of(*model, first, 150) == scores_of_trees(samples, options, first, 120, 150));

    SUBCASE("in several calls it is the same") {
        auto slowly = learner::create(known(), {}, options);
        REQUIRE(slowly->set_normaliser(first, picks(0, 120)));
        REQUIRE(slowly->set_normaliser(second, picks(0, 100)));
        for (const std::size_t n : {7U, 40U, 40U, 65U}) REQUIRE(slowly->update(std::span(all).first(n)));
        CHECK(scores_of(*slowly, first, 150) == scores_of(*model, first, 150));
    }
    SUBCASE("without records it is as it was") {
        REQUIRE(model->update({}));
        CHECK(scores_of(*model, first, 150) == scores_of_trees(known(), options, first, 120, 150));
    }
}

TEST_CASE("task_normalised_model, online: the correction of a second model is that of the offline model, also after an update") {
    const candidates far(150, 1024, 77);
    const task_of_kernel task{"far", &far};
    likes_thirds second;
    const auto options = quickly(2, 3);
    const bounded_blend blend{0.5F, 2};
    auto model = learner::create(known(), {}, second, options, blend), plain = learner::create(known(), {}, options);
    REQUIRE(model);
    REQUIRE(plain);
    for (auto* m : {&*model, &*plain}) REQUIRE(m->set_normaliser(task, picks(0, 120)));
    std::vector<float> second_scores;
    for (const auto& p : picks(0, 120)) second_scores.push_back(likes_thirds::of(p));
    const auto median = task_normaliser::fit(second_scores, 1);
    const auto blended = [&] {
        auto scores = scores_of(*plain, task, 120);
        blend.add(median, second_scores, scores);
        return scores;
    };
    const auto before = scores_of(*model, task, 120);
    CHECK(before == blended());
    const measured all(task, 40);
    REQUIRE(model->update(all.records));
    REQUIRE(plain->update(all.records));
    CHECK(scores_of(*model, task, 120) == blended());
    CHECK(scores_of(*model, task, 120) != before);
}

TEST_CASE("task_normalised_model, online: where what was known is wrong of a kernel, a search finds out") {
    const candidates far(400, 1024, 77);
    const task_of_kernel task{"far", &far};
    const measured all(task, 400);
    auto model = learner::create(known(true), {}, quickly());
    REQUIRE(model);
    REQUIRE(model->set_normaliser(task, all.schedules));
    std::vector<observed> tried;
    std::vector<bool> seen(400);
    std::vector<float> best;
    for (int round = 0; round < 10; ++round) {
        const auto scores = scores_of(*model, task, 400);
        for (int n = 0; n < 16; ++n) {
            std::size_t at = 400;
            for (std::size_t i = 0; i < 400; ++i)
                if (!seen[i] && (at == 400 || scores[i] > scores[at])) at = i;
            seen[at] = true;
            tried.push_back(all.records[at]);
            best.push_back(std::max(best.empty() ? 0.0F : best.back(), far.labels[at]));
        }
        REQUIRE(model->update(tried));
    }
    CHECK(best[15] < 0.6F); // the first round believes what it was told
    CHECK(best.back() > 0.9F);
}

TEST_CASE("task_normalised_model, online: rows that cannot be made, failures, and what is refused") {
    const candidates far(60, 64, 3);
    const task_of_kernel task{"far", &far}, stranger{"other", &far};
    auto some = learner::create(known(), row_of_pick{40, 30}, quickly()), thirty = learner::create(known(), {}, quickly());
    REQUIRE(some->set_normaliser(task, picks(0, 60)));
    REQUIRE(thirty->set_normaliser(task, picks(0, 30)));
    REQUIRE(some->update(measured(task, 60).records));
    REQUIRE(thirty->update(measured(task, 30).records));
    CHECK(scores_of(*some, task, 30) == scores_of(*thirty, task, 30));

    measured failed(task, 20);
    for (auto& m : failed.outcomes) {
        m.status = outcome::run_crash;
        m.seconds.clear();
    }
    REQUIRE(thirty->update(failed.records));
    auto untaught = learner::create(known(), {}, quickly());
    REQUIRE(untaught->set_normaliser(task, picks(0, 30)));
    CHECK(scores_of(*thirty, task, 30) == scores_of(*untaught, task, 30));

    measured broken(task, 30), gone(task, 30); // a latency of 0 or NaN is none
    for (std::size_t i = 0; i < 30; i += 3) {
        broken.outcomes[i].status = outcome::ok;
        broken.outcomes[i].seconds = {i % 2 == 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN()};
        gone.outcomes[i].status = outcome::run_crash;
    }
    REQUIRE(some->update(broken.records));
    REQUIRE(thirty->update(gone.records));
    CHECK(scores_of(*some, task, 30) == scores_of(*thirty, task, 30));

    auto refused = some->update(measured(stranger, 61 - 1).records);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::not_found);
    auto none = learner::create(task_normalised_samples(columns), {}, quickly());
    CHECK(none.error().code == errc::shape_mismatch);
    none = learner::create(task_normalised_samples(columns + 1), {}, quickly());
    CHECK(none.error().detail == "task_normalised_model: expected samples of 3 columns, got 4");
    for (const auto& [members, weight] : {std::pair{0U, 1U}, {1U, 0U}}) {
        none = learner::create(known(), {}, quickly(members, weight));
        REQUIRE(!none);
        CHECK(none.error().code == errc::invalid_argument);
    }
}

} // namespace task_normalised_model_online_test
