// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/ensemble.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include <augur/core/executor.hpp>
#include <augur/tlp/inference/frozen_model.hpp>
#include <augur/tlp/scorer.hpp>
#include <doctest/doctest.h>

#include "../tlp/data.hpp"

namespace ensemble_test {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct kernel {
    [[nodiscard]] static std::string_view key() { return "k"; }
};

/// Knows its scores by heart; refuses batches longer than they are.
struct by_heart {
    static constexpr augur::score_meaning meaning = augur::score_meaning::throughput;
    std::vector<float> known;

    template <augur::schedule S, augur::task Task>
    augur::result<void> score(const Task&, std::span<const S> batch, std::span<float> scores) const {
        if (batch.size() > known.size()) return augur::error{augur::errc::limit, "too many"};
        for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = known[i];
        return {};
    }
};
static_assert(augur::cost_model<augur::ensemble<by_heart>, augur::step_list, kernel>);
static_assert(augur::ensemble<by_heart>::meaning == augur::score_meaning::throughput);

/// Scores by the number of records it has learned, times a factor; refuses them if that is 0.
struct counts_records {
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;
    std::size_t factor;
    float known = 0;

    augur::result<void> score(const kernel&, std::span<const augur::step_list>, std::span<float> scores) const {
        for (float& s : scores) s = known;
        return {};
    }
    augur::result<void> update(std::span<const augur::observation<augur::step_list, kernel>> records) {
        if (factor == 0) return augur::error{augur::errc::limit, "refused"};
        known = static_cast<float>(factor * records.size());
        return {};
    }
};
static_assert(augur::trainable_cost_model<augur::ensemble<counts_records>, augur::step_list, kernel>);
static_assert(!augur::trainable_cost_model<augur::ensemble<by_heart>, augur::step_list, kernel>);

} // namespace

TEST_CASE("ensemble: the mean, -infinity where any member has it, the members' errors") {
    augur::ensemble<by_heart> three({{{1, -infinity, 3, 4}}, {{2, 5, -infinity}}, {{6, -infinity, 0, 2}}});
    const std::vector<augur::step_list> schedules(4);
    std::vector<float> scores(3);
    REQUIRE(three.score(kernel{}, std::span(schedules).first(3), std::span<float>(scores)));
    CHECK(scores == std::vector<float>{3, -infinity, -infinity});
    scores.resize(4);
    const auto refused = three.score(kernel{}, std::span(schedules), std::span<float>(scores));
    REQUIRE(!refused);
    CHECK(refused.error().code == augur::errc::limit);
}

TEST_CASE("ensemble: the members are updated, each on its own, up to the first that refuses") {
    augur::ensemble<counts_records> two({{1}, {2}});
    const std::vector<augur::observation<augur::step_list, kernel>> records(3);
    REQUIRE(two.update(std::span(records)));
    const std::vector<augur::step_list> schedules(1);
    std::vector<float> scores(1);
    REQUIRE(two.score(kernel{}, std::span(schedules), std::span<float>(scores)));
    CHECK(scores[0] == 4.5F); // (3 + 6) / 2
    augur::ensemble<counts_records> refusing({{1}, {0}, {2}});
    const auto refused = refusing.update(std::span(records));
    REQUIRE(!refused);
    CHECK(refused.error().code == augur::errc::limit);
    REQUIRE(refusing.score(kernel{}, std::span(schedules), std::span<float>(scores)));
    CHECK(scores[0] == 1.0F); // 3 / 3: the last one was not updated
}

TEST_CASE("ensemble and the scorers of TLP take vectors, arrays and spans of schedules") {
    auto schedules = tlp_data::random_schedules(3, 7);
    const std::array<augur::step_list, 3> fixed{schedules[0], schedules[1], schedules[2]};
    augur::serial_executor serial;
    const auto model = *augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(), augur::tlp::config::small(0), augur::random_engine(1));
    const auto all_agree = [&](auto& scorer) {
        std::vector<float> expected(3);
        REQUIRE(scorer.score(kernel{}, std::span<const augur::step_list>(schedules), std::span<float>(expected)));
        const auto same = [&](const auto& range) {
            std::vector<float> scores(3);
            REQUIRE(scorer.score(kernel{}, range, scores));
            CHECK(scores == expected);
        };
        same(schedules);
        same(std::span(schedules)); // of schedules that are not const
        same(fixed);
    };
    auto scorer = model.scorer(serial);
    all_agree(scorer);
    const auto frozen = augur::tlp::freeze(model);
    REQUIRE(frozen);
    auto fast = frozen->scorer(serial);
    all_agree(fast);
    augur::ensemble<by_heart> two({{{1, 2, 3}}, {{3, 4, 5}}});
    all_agree(two);
}

TEST_CASE("ensemble: of TLP models, beside each of them") {
    const auto schedules = tlp_data::random_schedules(40, 7);
    augur::serial_executor serial;
    std::vector<augur::tlp::trained_model> models;
    for (std::uint64_t seed : {1U, 2U, 3U})
        models.push_back(
            *augur::tlp::trained_model::random_init(augur::tlp::schema::ansor(), augur::tlp::config::small(0), augur::random_engine(seed)));
    std::vector<augur::tlp::scorer<augur::serial_executor>> scorers;
    for (const auto& model : models) scorers.push_back(model.scorer(serial));
    std::vector<double> mean(schedules.size());
    std::vector<float> one(schedules.size()), all(schedules.size());
    for (auto& scorer : scorers) {
        REQUIRE(scorer.score(kernel{}, std::span(schedules), std::span<float>(one)));
        for (std::size_t i = 0; i < one.size(); ++i) mean[i] += static_cast<double>(one[i]) / 3;
    }
    augur::ensemble together(std::move(scorers));
    REQUIRE(together.score(kernel{}, std::span(schedules), std::span<float>(all)));
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(static_cast<double>(all[i]) == doctest::Approx(mean[i]).epsilon(1e-5));

    std::vector<augur::tlp::frozen_scorer<augur::serial_executor>> frozen; // in their inference form
    for (const auto& model : models) frozen.push_back(augur::tlp::freeze(model)->scorer(serial));
    augur::ensemble fast(std::move(frozen));
    for (int round = 0; round < 2; ++round) {
        REQUIRE(fast.score(kernel{}, std::span(schedules), std::span<float>(all)));
        for (std::size_t i = 0; i < all.size(); ++i) CHECK(static_cast<double>(all[i]) == doctest::Approx(mean[i]).epsilon(1e-4));
    }
}

} // namespace ensemble_test
