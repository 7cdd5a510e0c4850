// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/residual.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace residual_test {

namespace {

using augur::score_meaning;

struct plan {
    int tile = 0, unroll = 0;
    void visit(auto& sink) const {
        sink.primitive("plan");
        sink.number(std::int64_t{tile});
        sink.number(std::int64_t{unroll});
    }
};
struct kernel {
    std::string_view name = "a";
    [[nodiscard]] std::string_view key() const { return name; }
};
using records_of = std::span<const augur::observation<plan, kernel>>;

/// Knows what tiles cost and nothing of unrolling; of tile -1 it knows nothing at all.
double by_tile(const plan& p) { return 1e-3 * (1 + p.tile); }
struct knows_tiles {
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;
    std::size_t asked = 0;
    augur::result<void> score(const kernel&, std::span<const plan> batch, std::span<float> scores) {
        if (batch.size() != scores.size()) return augur::error{augur::errc::shape_mismatch, "prior"};
        asked += batch.size();
        for (std::size_t i = 0; i < batch.size(); ++i)
            scores[i] = batch[i].tile < 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(-std::log(by_tile(batch[i])));
        return {};
    }
};
/// The mean -ln(seconds) of each unrolling; 0 of one that it has not seen.
struct learns_unrolling {
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;
    std::map<int, double> means;
    std::size_t records = 0, failures = 0;
    augur::result<void> score(const kernel&, std::span<const plan> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i)
            scores[i] = means.count(batch[i].unroll) != 0 ? static_cast<float>(means[batch[i].unroll]) : 0.0F;
        return {};
    }
    augur::result<void> update(records_of all) {
        std::map<int, std::array<double, 2>> sums;
        failures = 0;
        for (const auto& r : all) {
            if (!r.outcome->ok()) {
                ++failures;
                continue;
            }
            sums[r.schedule->unroll][0] -= std::log(r.outcome->latency());
            ++sums[r.schedule->unroll][1];
        }
        records = all.size();
        for (const auto& [unroll, s] : sums) means[unroll] = s[0] / s[1];
        return {};
    }
};
struct ranks {
    static constexpr score_meaning meaning = score_meaning::rank;
    static augur::result<void> score(const kernel&, std::span<const plan>, std::span<float>) { return {}; }
    static augur::result<void> update(records_of) { return {}; }
};

using hybrid = augur::residual_model<knows_tiles, learns_unrolling>;
static_assert(augur::trainable_cost_model<hybrid, plan, kernel>);
template <class Prior, class Learner>
concept combines = requires { typename augur::residual_model<Prior, Learner>; };
static_assert(combines<knows_tiles, learns_unrolling>);
static_assert(!combines<ranks, learns_unrolling> && !combines<knows_tiles, ranks>); // scores that only rank have no sum

/// All plans of 8 tiles and 3 unrollings, measured at `seconds(plan)`, several times each as a runner has it.
struct measured {
    kernel what;
    std::vector<plan> plans;
    std::vector<augur::measurement> outcomes;
    std::vector<augur::observation<plan, kernel>> records;

    template <class F>
    explicit measured(const F& seconds) {
        for (int tile = 0; tile < 8; ++tile)
            for (int unroll = 0; unroll < 3; ++unroll) plans.push_back({tile, unroll});
        for (const auto& p : plans) {
            auto& m = outcomes.emplace_back();
            m.status = augur::outcome::ok;
            for (const double noise : {1.25, 1.0, 0.9}) m.seconds.push_back(noise * seconds(p));
        }
        for (std::size_t i = 0; i < plans.size(); ++i) records.push_back({&what, &plans[i], &outcomes[i]});
    }
    measured(const measured&) = delete;
    measured& operator=(const measured&) = delete;
    [[nodiscard]] records_of first(std::size_t n) const { return records_of(records).first(n); }
};
template <class Model>
std::vector<float> scores_of(Model& model, const std::vector<plan>& plans) {
    std::vector<float> scores(plans.size());
    REQUIRE(model.score(kernel{}, std::span<const plan>(plans), std::span<float>(scores)));
    return scores;
}

} // namespace

TEST_CASE("residual: without records it is the prior; a prior that is right stays as it is") {
    const measured truth(by_tile);
    knows_tiles prior;
    const auto expected = scores_of(prior, truth.plans);
    {
        using augur::residual_model;
        const learns_unrolling learner;
#include <snippets/model/residual.hpp.1.inc>
        CHECK(scores_of(model, truth.plans) == expected);
    }
    hybrid model({}, {}, 0);
    CHECK(scores_of(model, truth.plans) == expected);
    REQUIRE(model.update(truth.first(0)));
    CHECK(scores_of(model, truth.plans) == expected);
    REQUIRE(model.update(truth.first(24)));
    CHECK(model.learner().records == 24);
    for (const auto& [unroll, mean] : model.learner().means) CHECK(std::abs(mean) < 1e-5);
    const auto now = scores_of(model, truth.plans);
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(now[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("residual: what the prior gets wrong is learned from a few records and holds for all") {
    const auto seconds = [](const plan& p) { return by_tile(p) * (p.unroll == 0 ? 4.0 : p.unroll == 1 ? 1.0 : 0.5); };
    const measured truth(seconds);
    hybrid model({}, {}, 0);
    REQUIRE(model.update(truth.first(3))); // one tile, each unrolling once
    const auto now = scores_of(model, truth.plans);
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(now[i] == doctest::Approx(-std::log(seconds(truth.plans[i]))).epsilon(1e-5));
    // All at once or in parts: the same, and the prior is asked once for a record.
    hybrid parts({}, {}, 0), whole({}, {}, 0);
    for (const std::size_t n : {5U, 5U, 11U, 24U}) REQUIRE(parts.update(truth.first(n)));
    REQUIRE(whole.update(truth.first(24)));
    CHECK(parts.prior().asked == 24);
    CHECK(scores_of(parts, truth.plans) == scores_of(whole, truth.plans));
}

TEST_CASE("residual: the more records a task has, the more the learner is believed; of other tasks' records nothing") {
    const auto seconds = [](const plan& p) { return by_tile(p) * (p.unroll == 0 ? 4.0 : 1.0); };
    const measured truth(seconds);
    knows_tiles prior;
    hybrid model({}, {}, 6);
    const auto before = scores_of(prior, truth.plans);
    for (const std::size_t n : {3U, 6U, 24U}) {
        REQUIRE(model.update(truth.first(n)));
        const auto now = scores_of(model, truth.plans);
        const double share = static_cast<double>(n) / static_cast<double>(n + 6);
        for (std::size_t i = 0; i < now.size(); ++i)
            CHECK(now[i] - before[i] == doctest::Approx(truth.plans[i].unroll == 0 ? -share * std::log(4.0) : 0).epsilon(1e-4));
        kernel other;
        other.name = "b";
        std::vector<float> scores(truth.plans.size());
        REQUIRE(model.score(other, std::span<const plan>(truth.plans), std::span<float>(scores)));
        CHECK(scores == before);
    }
}

TEST_CASE("residual: what cannot be scored is last and teaches nothing; failures and errors are handed on") {
    measured truth(by_tile);
    hybrid model({}, {}, 0);
    truth.plans[4].tile = -1;
    truth.outcomes[5].status = augur::outcome::run_crash;
    truth.outcomes[5].seconds.clear();
    REQUIRE(model.update(truth.first(24)));
    CHECK(model.learner().records == 23);
    CHECK(model.learner().failures == 1);
    CHECK(scores_of(model, truth.plans)[4] == -std::numeric_limits<float>::infinity());
    std::vector<float> few(3);
    const auto refused = model.score(kernel{}, std::span<const plan>(truth.plans), std::span<float>(few));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == augur::errc::shape_mismatch);
}

} // namespace residual_test
