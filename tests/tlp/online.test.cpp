// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/online.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "data.hpp"

using tlp_data::named_kernel;

namespace {

using online = augur::tlp::online_model<augur::step_list, named_kernel, augur::serial_executor>;

/// The same five steps in any order. Fast where the first one comes before the second: only the order tells.
struct permuted {
    std::vector<augur::step_list> schedules;
    std::vector<augur::measurement> outcomes;
    std::vector<bool> fast;
    named_kernel what;
    std::vector<augur::observation<augur::step_list, named_kernel>> records;

    permuted(std::size_t n, std::uint64_t seed) : schedules(n), outcomes(n), fast(n) {
        augur::random_engine rng(seed);
        for (std::size_t i = 0; i < n; ++i) {
            std::vector<int> order{0, 1, 2, 3, 4};
            rng.shuffle(std::span<int>(order));
            for (const int k : order) schedules[i].steps.emplace_back(augur::annotate_step{k, k, augur::loop_annotation::unroll});
            fast[i] = std::find(order.begin(), order.end(), 0) < std::find(order.begin(), order.end(), 1);
            outcomes[i].status = augur::outcome::ok;
            outcomes[i].seconds = {fast[i] ? 1e-3 : 3e-3};
            records.push_back({&what, &schedules[i], &outcomes[i]});
        }
    }
    permuted(const permuted&) = delete;
    permuted& operator=(const permuted&) = delete;
};

augur::tlp::online_options without_places(augur::tlp::backbone backbone) {
    augur::tlp::online_options o;
    o.schema = augur::tlp::schema::ansor(16, 12, 0);
    o.config.backbone = backbone;
    o.fit.epochs = 20;
    o.fit.fine.least_steps = 100;
    return o;
}

std::vector<float> scores_of(online& model, const permuted& data) {
    std::vector<float> scores(data.schedules.size());
    REQUIRE(model.score(data.what, std::span<const augur::step_list>(data.schedules), std::span<float>(scores)));
    return scores;
}

/// Of the pairs of a fast and a slow one, the share in which the fast one scores higher.
double pairs_right(const std::vector<float>& scores, const permuted& data) {
    double right = 0, all = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
        for (std::size_t k = 0; k < scores.size(); ++k)
            if (data.fast[i] && !data.fast[k]) {
                all += 1;
                right += scores[i] > scores[k] ? 1 : 0;
            }
    return right / all;
}

template <class Model>
concept makes_scorer = requires(Model&& model, augur::serial_executor& serial) { std::forward<Model>(model).scorer(serial); };
template <class Model>
concept scorer_takes = std::constructible_from<augur::tlp::scorer<augur::serial_executor>, Model, augur::serial_executor&>;
using augur::tlp::trained_model;
static_assert(makes_scorer<trained_model&> && makes_scorer<const trained_model&> && scorer_takes<trained_model&> &&
              scorer_takes<const trained_model&>);
static_assert(!makes_scorer<trained_model> && !makes_scorer<const trained_model> && !scorer_takes<trained_model> &&
              !scorer_takes<const trained_model>); // the scorer would outlive a temporary

} // namespace

TEST_CASE("tlp online: an LSTM learns from the order of the steps, to which attention without places is blind") {
    const permuted seen(128, 1), unseen(100, 2);
    augur::serial_executor serial;
    online lstm(serial, without_places(augur::tlp::backbone::lstm));
    REQUIRE(lstm.update(std::span<const augur::observation<augur::step_list, named_kernel>>(seen.records)));
    CHECK(lstm.trainings() == 1); // at once with all 128
    CHECK(lstm.last_fit().last_loss < 0.5 * lstm.last_fit().first_loss);
    CHECK(pairs_right(scores_of(lstm, unseen), unseen) > 0.85); // measured: 0.91

    online attention(serial, without_places(augur::tlp::backbone::attention));
    REQUIRE(attention.update(std::span<const augur::observation<augur::step_list, named_kernel>>(seen.records)));
    const auto scores = scores_of(attention, unseen);
    const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
    CHECK(*high - *low <= 1e-4F * (std::max)(1.0F, std::abs(*high)));
}

TEST_CASE("tlp online: an LSTM goes on from weights, and so does the first output of several") {
    const permuted seen(64, 3), unseen(50, 4);
    augur::serial_executor serial;
    for (const auto backbone : {augur::tlp::backbone::lstm, augur::tlp::backbone::attention}) {
        auto options = without_places(backbone);
        options.config.outputs = 3;
        const auto start = augur::tlp::trained_model::random_init(options.schema, options.config, augur::random_engine(5));
        REQUIRE(start);
        online model(serial, *start, options);
        auto first = start->scorer(serial, 0);
        std::vector<float> expected(unseen.schedules.size());
        REQUIRE(first.score(unseen.what, std::span<const augur::step_list>(unseen.schedules), std::span<float>(expected)));
        CHECK(scores_of(model, unseen) == expected);
        REQUIRE(model.update(std::span<const augur::observation<augur::step_list, named_kernel>>(seen.records)));
        CHECK(model.trainings() == 1);
        CHECK(model.last_fit().steps > 0);
        REQUIRE(model.model() != nullptr);
        CHECK(model.model()->model.decoders.size() == 1);
        CHECK(scores_of(model, unseen) != expected);
    }
}

TEST_CASE("tlp online: lists and batches without limit are those of all records; a schema that knows nothing trains nothing") {
    const permuted data(64, 5);
    const auto bounded = [&](std::size_t most) {
        augur::serial_executor serial;
        auto o = without_places(augur::tlp::backbone::attention);
        o.fit.fine.list = o.fit.batch = most;
        o.fit.epochs = 2;
        o.fit.fine.least_steps = 4;
        online model(serial, o);
        REQUIRE(model.update(data.records));
        CHECK(model.trained_on() == 64);
        CHECK(model.last_fit().steps == 4);
        return scores_of(model, data);
    };
    CHECK(bounded(std::numeric_limits<std::size_t>::max()) == bounded(64));

    augur::serial_executor serial;
    auto o = without_places(augur::tlp::backbone::attention);
    o.schema.kinds.assign(1, "of somebody else");
    online model(serial, o);
    const auto nothing = model.update(data.records);
    REQUIRE(!nothing);
    CHECK(nothing.error().code == augur::errc::not_found);
    CHECK(model.trained_on() == 0);
    CHECK(model.trainings() == 0);
    CHECK(model.update(data.records)); // not tried again before the next mark
    o.growth = 1.001;
    CHECK(o.check().error().code == augur::errc::invalid_argument);
    o = {};
    o.fit.checkpoint = "a file";
    CHECK(o.check().error().code == augur::errc::invalid_argument);
    o = {};
    o.config.outputs = 3;
    CHECK(o.check().error().detail == "tlp online: expected a config with 1 output, got 3");
}
