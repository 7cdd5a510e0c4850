// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/scorer.hpp>

#include <augur/tlp/vocabulary.hpp>
#include <augur/tlp/inference/frozen_model.hpp>
#include <augur/tlp/online.hpp>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <thread>

#include <doctest/doctest.h>

#include "../model/counted_memory.hpp"
#include "data.hpp"

using counted_memory::allocations;

using tlp_data::named_kernel, tlp_data::two_threads;

namespace {

/// An invented machine: latency falls with the vector length and with how near the inner tile is to 64.
double latency_of(const augur::step_list& s) {
    double tile = 1;
    for (std::size_t i = 0; i < 2; ++i) tile *= static_cast<double>(std::get<augur::split_step>(s.steps[i]).lengths[2]);
    return 1e-3 * (1 + std::abs(std::log2(tile / 64))) * (s.steps.size() == 8 ? 1 : 2.5);
}

struct measured {
    std::vector<augur::step_list> schedules;
    std::vector<augur::measurement> outcomes;
    std::vector<named_kernel> kernels{{"a"}, {"b"}};
    std::vector<augur::observation<augur::step_list, named_kernel>> records;

    explicit measured(std::size_t n) : schedules(tlp_data::random_schedules(n, 21)), outcomes(n) {
        for (std::size_t i = 0; i < n; ++i) {
            if (i % 13 != 5) outcomes[i].status = augur::outcome::ok;
            outcomes[i].seconds = {latency_of(schedules[i]) * (i % 2 == 0 ? 1 : 7)};
            records.push_back({&kernels[i % 2], &schedules[i], &outcomes[i]});
        }
    }
};

using online = augur::tlp::online_model<augur::step_list, named_kernel, augur::serial_executor>;
using online_2 = augur::tlp::online_model<augur::step_list, named_kernel, two_threads>;

template <class M>
std::vector<float> scores_of(M& model, const std::vector<augur::step_list>& batch) {
    std::vector<float> scores(batch.size(), -9);
    REQUIRE(model.score(named_kernel{"a"}, std::span<const augur::step_list>(batch), std::span<float>(scores)));
    return scores;
}

} // namespace

static_assert(augur::cost_model<augur::tlp::scorer<augur::serial_executor>, augur::step_list, named_kernel>);
static_assert(augur::trainable_cost_model<online, augur::step_list, named_kernel>);
static_assert(!augur::trainable_cost_model<augur::tlp::scorer<augur::serial_executor>, augur::step_list, named_kernel>);

TEST_CASE("tlp scorer: nothing is allocated after the first batch, and neighbours do not matter") {
    const auto model = augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(), augur::tlp::config::small(0), augur::random_engine(3));
    REQUIRE(model);
    augur::serial_executor serial;
    auto scorer = model->scorer(serial);
    const auto batch = tlp_data::random_schedules(200, 5);
    std::vector<float> scores(200), again(200), part(50);
    const named_kernel k{"a"};
    REQUIRE(scorer.score(k, std::span<const augur::step_list>(batch), std::span<float>(scores)));
    const std::size_t before = allocations;
    bool fine = true;
    for (int i = 0; i < 3; ++i) fine = fine && scorer.score(k, std::span<const augur::step_list>(batch), std::span<float>(again));
    fine = fine && scorer.score(k, std::span<const augur::step_list>(batch).subspan(30, 50), std::span<float>(part));
    CHECK(allocations == before);
    CHECK(fine);
    CHECK(again == scores);
    CHECK(std::equal(part.begin(), part.end(), scores.begin() + 30));
    two_threads threads;
    auto parallel = model->scorer(threads);
    CHECK(scores_of(parallel, batch) == scores);
}

TEST_CASE("tlp scorer: with an LSTM nothing is allocated after the first batch either") {
    auto config = augur::tlp::config::small(0);
    config.backbone = augur::tlp::backbone::lstm;
    const auto model = augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(), config, augur::random_engine(3));
    REQUIRE(model);
    augur::serial_executor serial;
    auto scorer = model->scorer(serial);
    const auto batch = tlp_data::random_schedules(600, 5); // three pieces
    std::vector<float> scores(600), again(600);
    const named_kernel k{"a"};
    REQUIRE(scorer.score(k, std::span<const augur::step_list>(batch), std::span<float>(scores)));
    const std::size_t before = allocations;
    const bool fine = static_cast<bool>(scorer.score(k, std::span<const augur::step_list>(batch), std::span<float>(again)));
    CHECK(allocations == before);
    CHECK(fine);
    CHECK(again == scores);
    two_threads threads;
    auto parallel = model->scorer(threads);
    CHECK(scores_of(parallel, batch) == scores);
}

TEST_CASE("tlp scorer: one output of several is the model of that output") {
    auto config = augur::tlp::config::small(0);
    config.outputs = 3;
    const auto model = augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(), config, augur::random_engine(3));
    REQUIRE(model);
    augur::serial_executor serial;
    const auto batch = tlp_data::random_schedules(50, 5);
    std::vector<std::vector<float>> all;
    for (std::size_t k = 0; k < 3; ++k) {
        auto scorer = model->scorer(serial, k);
        const auto alone = model->only(k);
        auto scorer_alone = alone.scorer(serial);
        all.push_back(scores_of(scorer, batch));
        CHECK(all.back() == scores_of(scorer_alone, batch));
    }
    CHECK(all[0] != all[1]);
}

TEST_CASE("tlp scorer: a schedule that cannot be scored is -infinity, not a failure of the batch") {
    auto model = augur::tlp::trained_model::random_init(augur::tlp::schema::authors_cpu(), augur::tlp::config::small(0), augur::random_engine(3));
    REQUIRE(model);
    augur::serial_executor serial;
    auto scorer = model->scorer(serial);
    auto batch = tlp_data::random_schedules(3, 5);
    batch[1].steps.emplace_back(augur::storage_align_step{0, 0, 8, 0});
    const auto scores = scores_of(scorer, batch);
    CHECK(std::isfinite(scores[0]));
    CHECK(scores[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isfinite(scores[2]));
    std::vector<float> short_of(2);
    const auto refused = scorer.score(named_kernel{"a"}, std::span<const augur::step_list>(batch), std::span<float>(short_of));
    CHECK(refused.error().code == augur::errc::shape_mismatch);
    for (float* const weight : {&model->model.decoders.front().back().b(0), &model->model.encoder.front().b(0)}) { // the last layer, the first
        const float was = std::exchange(*weight, std::numeric_limits<float>::quiet_NaN());
        for (const float s : scores_of(scorer, batch)) CHECK(s == -std::numeric_limits<float>::infinity());
        *weight = was;
    }
}

TEST_CASE("tlp online: learns to rank, at its marks only, the same on one and two threads and after a restart") {
    const measured data(150);
    const std::span<const augur::observation<augur::step_list, named_kernel>> records(data.records);
    const auto unseen = tlp_data::random_schedules(300, 77);
    augur::tlp::online_options options;
    options.fit.epochs = 20;
    options.fit.fine.least_steps = 120;
    augur::serial_executor serial;
    two_threads threads;
    online model(serial, options);
    CHECK(scores_of(model, unseen) == std::vector<float>(300, 0.0F)); // no knowledge
    REQUIRE(model.update(records.first(63)));
    CHECK(model.trainings() == 0);
    REQUIRE(model.update(records.first(70)));
    CHECK(model.trained_on() == 64);
    REQUIRE(model.update(records.first(127)));
    CHECK(model.trainings() == 1);
    REQUIRE(model.update(records));
    CHECK((model.trainings() == 2 && model.trained_on() == 128));
    CHECK(model.last_fit().last_loss < model.last_fit().first_loss);
    const auto scores = scores_of(model, unseen);

    online_2 resumed(threads, options); // all records at once, on two threads
    REQUIRE(resumed.update(records));
    CHECK(scores_of(resumed, unseen) == scores);

    std::vector<std::size_t> order(300);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
    double top = 0, all = 0;
    for (std::size_t i = 0; i < 300; ++i) (i < 30 ? top : all) += latency_of(unseen[order[i]]);
    CHECK(top / 30 < 0.6 * all / 270); // measured: 0.45

    online warm(serial, *model.model(), options); // from weights: knows before it has seen anything
    CHECK(scores_of(warm, unseen) == scores);
}

TEST_CASE("tlp online: records that teach nothing leave no knowledge") {
    measured data(64);
    for (auto& m : data.outcomes) m.status = augur::outcome::run_crash;
    augur::serial_executor serial;
    online model(serial);
    REQUIRE(model.update(std::span<const augur::observation<augur::step_list, named_kernel>>(data.records)));
    CHECK(model.model() == nullptr);
    CHECK(scores_of(model, data.schedules) == std::vector<float>(64, 0.0F));
}

namespace {
struct untaught { // a language that Ansor's schema has no word of
    std::int64_t tile = 1;
    double share = 0.5;
    void visit(auto& k) const {
        k.primitive("tile");
        k.number(tile);
        k.number(share);
    }
};
} // namespace

TEST_CASE("tlp features: a number that no float holds is told as that, not as an unknown word") {
    auto schema = augur::tlp::schema::ansor();
    schema.kinds[0] = "tile";
    std::vector<float> rows(schema.rows * schema.columns);
    const auto told = [&](double share) {
        const auto done = augur::tlp::extract_features(untaught{1, share}, schema, std::span<float>(rows));
        REQUIRE(!done);
        CHECK(done.error().code == augur::errc::invalid_argument);
        return done.error().detail;
    };
    CHECK(augur::tlp::extract_features(untaught{}, schema, std::span<float>(rows)));
    CHECK(told(std::numeric_limits<double>::quiet_NaN()) == "step 0: expected a number that is finite in float, got NaN");
    CHECK(told(-std::numeric_limits<double>::infinity()) == "step 0: expected a number that is finite in float, got an infinity");
    CHECK(told(1e300) == "step 0: expected a number that is finite in float, got 1e+300");
}

TEST_CASE("tlp online: a schema without a word of the language, and a training that diverges, are told; the scores stay") {
    augur::serial_executor serial;
    std::vector<untaught> schedules(64);
    measured data(64);
    std::vector<augur::observation<untaught, named_kernel>> records;
    for (std::size_t i = 0; i < 64; ++i) {
        schedules[i].tile = static_cast<std::int64_t>(i);
        records.push_back({&data.kernels[0], &schedules[i], &data.outcomes[i]});
    }
    augur::tlp::online_model<untaught, named_kernel, augur::serial_executor> deaf(serial);
    const auto unknown = deaf.update(std::span<const augur::observation<untaught, named_kernel>>(records));
    REQUIRE(!unknown);
    CHECK(unknown.error().code == augur::errc::not_found);
    CHECK(unknown.error().detail ==
          "tlp online: expected primitives that the schema 'ansor' has, got none in 64 schedules; `tlp::schema::learn` makes a "
          "schema of your language");
    augur::tlp::online_options options;
    options.schema = *augur::tlp::schema::learn(std::span<const untaught>(schedules), {});
    augur::tlp::online_model<untaught, named_kernel, augur::serial_executor> hears(serial, options);
    CHECK(hears.update(std::span<const augur::observation<untaught, named_kernel>>(records)));
    CHECK(hears.model() != nullptr);

    // a number that no float holds: such a schedule teaches nothing and has no score, the others are learned from
    for (const double strange : {1e39, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        schedules[5].share = strange;
        augur::tlp::online_model<untaught, named_kernel, augur::serial_executor> learns(serial, options);
        REQUIRE(learns.update(std::span<const augur::observation<untaught, named_kernel>>(records)));
        REQUIRE(learns.model() != nullptr);
        const auto frozen = augur::tlp::freeze(*learns.model());
        REQUIRE(frozen);
        auto fast = frozen->scorer(serial);
        std::vector<float> slow_scores(64), scores(64);
        REQUIRE(learns.score(data.kernels[0], std::span<const untaught>(schedules), std::span<float>(slow_scores)));
        REQUIRE(fast.score(data.kernels[0], std::span<const untaught>(schedules), std::span<float>(scores)));
        for (std::size_t i = 0; i < 64; ++i) {
            CHECK(std::isfinite(slow_scores[i]) == (i != 5));
            CHECK(std::isfinite(scores[i]) == (i != 5));
        }
    }

    augur::tlp::online_options wild;
    wild.fit.learning_rate = 1e30;
    wild.growth = std::numeric_limits<double>::infinity(); // trains once
    online model(serial, wild);
    const auto diverged = model.update(std::span<const augur::observation<augur::step_list, named_kernel>>(data.records));
    REQUIRE(!diverged);
    CHECK(diverged.error().code == augur::errc::limit);
    CHECK(model.model() == nullptr);
    CHECK(scores_of(model, data.schedules) == std::vector<float>(64, 0.0F));
    CHECK(model.update(std::span<const augur::observation<augur::step_list, named_kernel>>(data.records))); // the same records are not tried again
}
