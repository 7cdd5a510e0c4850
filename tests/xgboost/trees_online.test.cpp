// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <augur/xgboost/trees_online.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/model/residual.hpp>

namespace trees_online_test {

namespace {

using augur::score_meaning;

/// A made-up machine: the time is a product of what the tile, the lanes and the unrolling cost.
struct plan {
    int tile = 0, lanes = 0, unroll = 0;
    void visit(auto& sink) const {
        sink.primitive("plan");
        for (const int i : {tile, lanes, unroll}) sink.number(std::int64_t{i});
    }
};
struct sized_kernel {
    std::string name = "a";
    double size = 1;
    [[nodiscard]] std::string_view key() const { return name; }
};
double known_part(const sized_kernel& k, const plan& p) { return 1e-4 * k.size * (1 + std::abs(p.tile - 5)) * (8.0 / (1 + p.lanes)); }
double unknown_part(const plan& p) { return p.unroll > 4 && p.lanes > 3 ? 3.0 : p.tile > 7 ? 1.6 : 1.0; }
double truth(const sized_kernel& k, const plan& p) { return known_part(k, p) * unknown_part(p); }

/// tile, lanes, unroll, and five numbers that say nothing; a plan of unroll -1 has no row, one above 1000 a row
/// that trees do not take.
struct row_of_plan {
    static constexpr std::size_t columns() { return 8; }
    augur::result<void> operator()(const sized_kernel&, const plan& p, std::span<float> row) const {
        if (p.unroll < 0) return augur::error{augur::errc::invalid_argument, "no row"};
        augur::random_engine noise(static_cast<std::uint64_t>(p.tile * 1000 + p.lanes * 100 + p.unroll));
        const std::array own{p.tile, p.lanes, p.unroll};
        if (p.unroll > 1000) {
            std::fill(row.begin(), row.end(), std::numeric_limits<float>::infinity());
            return {};
        }
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = i < own.size() ? static_cast<float>(own[i]) : static_cast<float>(noise.uniform());
        return {};
    }
};
struct knows_a_part {
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;
    static augur::result<void> score(const sized_kernel& k, std::span<const plan> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = static_cast<float>(-std::log(known_part(k, batch[i])));
        return {};
    }
};
/// Knows a number that no row has. What it takes for fastest is four times as slow: only its own score can show that.
struct deceived {
    static constexpr score_meaning meaning = score_meaning::negative_log_latency;
    static double seconds(const plan& p) { return 1e-3 * (1 + (p.tile * 7 + p.lanes * 5 + p.unroll * 3) % 11); }
    static augur::result<void> score(const sized_kernel&, std::span<const plan> batch, std::span<float> scores) {
        for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = static_cast<float>(-std::log(seconds(batch[i])));
        return {};
    }
};
using online = augur::trees_online<plan, sized_kernel, row_of_plan>;
using hybrid = augur::residual_model<knows_a_part, online>;
static_assert(augur::trainable_cost_model<online, plan, sized_kernel> && augur::trainable_cost_model<hybrid, plan, sized_kernel>);
static_assert(!augur::row_features_of<int, plan, sized_kernel>);

struct drawn {
    sized_kernel what;
    std::vector<plan> plans;
    std::vector<augur::measurement> outcomes;
    std::vector<augur::observation<plan, sized_kernel>> records;

    drawn(std::size_t n, std::uint64_t seed, sized_kernel k = {}) : what(std::move(k)), plans(n), outcomes(n) {
        augur::random_engine rng(seed);
        for (std::size_t i = 0; i < n; ++i) {
            plans[i] = {static_cast<int>(rng.below(10)), static_cast<int>(rng.below(8)), static_cast<int>(rng.below(10))};
            outcomes[i].status = augur::outcome::ok;
            outcomes[i].seconds = {truth(what, plans[i])};
            records.push_back({&what, &plans[i], &outcomes[i]});
        }
    }
    drawn(const drawn&) = delete;
    drawn& operator=(const drawn&) = delete;
    [[nodiscard]] std::span<const augur::observation<plan, sized_kernel>> first(std::size_t n) const { return std::span(records).first(n); }
};
template <class Model>
std::vector<float> scores_of(Model& model, const drawn& d) {
    std::vector<float> scores(d.plans.size());
    REQUIRE(model.score(d.what, std::span<const plan>(d.plans), std::span<float>(scores)));
    return scores;
}
/// Of all pairs that differ in time, the share that is ordered rightly.
double pairs_right(const std::vector<float>& scores, const drawn& d) {
    double right = 0, all = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
        for (std::size_t k = 0; k < scores.size(); ++k) {
            if (!(d.outcomes[i].seconds[0] < 0.999 * d.outcomes[k].seconds[0])) continue;
            ++all;
            right += scores[i] > scores[k] ? 1 : scores[i] == scores[k] ? 0.5 : 0;
        }
    return right / all;
}

} // namespace

TEST_CASE("trees online: nothing at first, then the law, and as seconds") {
    const drawn seen(256, 1), unseen(200, 2);
    online model{row_of_plan{}};
    for (const float s : scores_of(model, unseen)) CHECK(s == 0);
    double before = 0;
    for (const std::size_t n : {16U, 64U, 256U}) {
        REQUIRE(model.update(seen.first(n)));
        CHECK(model.trained_on() == n);
        const double now = pairs_right(scores_of(model, unseen), unseen);
        CAPTURE(n);
        CAPTURE(now);
        CHECK(now > before);
        before = now;
    }
    CHECK(before > 0.85); // measured: 0.89
    const auto scores = scores_of(model, unseen);
    double off = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) off += static_cast<double>(scores[i]) + std::log(unseen.outcomes[i].seconds[0]);
    CHECK(std::abs(off / 200) < 0.1); // -ln(seconds), not only an order
}

TEST_CASE("trees online: on a prior they learn what it does not know, sooner than without it, and leave it alone where it is right") {
    const drawn seen(64, 3), unseen(200, 4);
    hybrid model({}, online(row_of_plan{}));
    online alone{row_of_plan{}};
    knows_a_part prior;
    const auto first = scores_of(prior, unseen);
    CHECK(scores_of(model, unseen) == first);
    double best = pairs_right(first, unseen);
    for (const std::size_t n : {16U, 32U, 64U}) {
        REQUIRE(model.update(seen.first(n)));
        REQUIRE(alone.update(seen.first(n)));
        const double both = pairs_right(scores_of(model, unseen), unseen), own = pairs_right(scores_of(alone, unseen), unseen);
        CAPTURE(n);
        CAPTURE(both);
        CAPTURE(own);
        CHECK(both > own);
        if (n >= 32) CHECK(both > best);
    }

    drawn exact(64, 5);
    for (std::size_t i = 0; i < 64; ++i) exact.outcomes[i].seconds = {known_part(exact.what, exact.plans[i])};
    hybrid calm({}, online(row_of_plan{}));
    REQUIRE(calm.update(exact.first(64)));
    const auto now = scores_of(calm, unseen);
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(now[i] == doctest::Approx(first[i]).epsilon(1e-4));
}

TEST_CASE("trees online: a prior that is wrong where it is sure is corrected, for the trees see what it says") {
    drawn seen(64, 12), unseen(200, 13);
    for (auto* d : {&seen, &unseen})
        for (std::size_t i = 0; i < d->plans.size(); ++i) {
            const double s = deceived::seconds(d->plans[i]);
            d->outcomes[i].seconds = {s < 4.5e-3 ? 4 * s : s}; // 1 to 4 ms are 4 to 16
        }
    auto how = augur::few_sample_trees();
    how.column_share = 1; // of so few columns
    augur::residual_model<deceived, online> model({}, online(row_of_plan{}, how));
    deceived prior;
    const double before = pairs_right(scores_of(prior, unseen), unseen);
    REQUIRE(model.update(seen.first(64)));
    const double after = pairs_right(scores_of(model, unseen), unseen);
    CAPTURE(before);
    CAPTURE(after);
    CHECK(before < 0.75);
    CHECK(after > 0.9);
    std::vector<float> scores(200), few(3);
    CHECK_FALSE(model.learner().score(unseen.what, std::span<const plan>(unseen.plans), std::span<float>(scores), std::span<const float>(few)));
    CHECK_FALSE(model.learner().update(seen.first(64), std::span<const float>(few)));
}

TEST_CASE("trees online: the same seed gives the same scores on any number of threads; another seed does not") {
    const drawn seen(100, 6), unseen(100, 7);
    auto how = augur::few_sample_trees();
    std::vector<std::vector<float>> all;
    for (const auto& [seed, threads] : {std::pair{1U, 1U}, {1U, 2U}, {1U, 4U}, {2U, 1U}}) {
        how.seed = seed;
        how.threads = threads;
        online model(row_of_plan{}, how);
        REQUIRE(model.update(seen.first(50)));
        REQUIRE(model.update(seen.first(100)));
        all.push_back(scores_of(model, unseen));
    }
    CHECK(all[1] == all[0]);
    CHECK(all[2] == all[0]);
    CHECK(all[3] != all[0]);
}

TEST_CASE("trees online: tasks of another size, failures, schedules without a row, spans of another length") {
    const drawn small(100, 8), large(100, 9, {"b", 1000});
    std::vector<augur::observation<plan, sized_kernel>> both(small.records);
    both.insert(both.end(), large.records.begin(), large.records.end());
    online model{row_of_plan{}};
    REQUIRE(model.update(std::span<const augur::observation<plan, sized_kernel>>(both)));
    for (const auto* d : {&small, &large}) { // each at its own scale
        const auto scores = scores_of(model, *d);
        double off = 0;
        for (std::size_t i = 0; i < scores.size(); ++i) off += static_cast<double>(scores[i]) + std::log(d->outcomes[i].seconds[0]);
        CHECK(std::abs(off / 100) < 0.05);
    }

    drawn failing(100, 10); // all of many lanes fail, which are the fast ones
    for (std::size_t i = 0; i < 100; ++i)
        if (failing.plans[i].lanes > 3) failing.outcomes[i] = {};
    REQUIRE(model.update(failing.first(100)));
    const auto scores = scores_of(model, failing);
    double failed = 0, fine = 0, failures = 0;
    for (std::size_t i = 0; i < 100; ++i) {
        (failing.outcomes[i].ok() ? fine : failed) += static_cast<double>(scores[i]);
        failures += failing.outcomes[i].ok() ? 0 : 1;
    }
    CHECK(failed / failures < fine / (100 - failures));
    for (auto& m : failing.outcomes) m = {};
    CHECK(model.update(failing.first(100))); // nothing to learn from: it stays as it is
    CHECK(scores_of(model, failing) == scores);

    drawn odd(5, 11);
    odd.plans[2].unroll = 2000;
    CHECK(scores_of(model, odd)[2] == -std::numeric_limits<float>::infinity());
    REQUIRE(model.update(odd.first(5))); // the others are learned from
    CHECK(model.trained_on() == 4);
    odd.plans[2].unroll = -1;
    CHECK(scores_of(model, odd)[2] == -std::numeric_limits<float>::infinity());
    CHECK(std::isfinite(scores_of(model, odd)[3]));
    REQUIRE(model.update(odd.first(5)));
    CHECK(model.trained_on() == 4);
    std::vector<float> few(2);
    const auto refused = model.score(odd.what, std::span<const plan>(odd.plans), std::span<float>(few));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == augur::errc::shape_mismatch);
}

} // namespace trees_online_test
