// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <augur/xgboost/autotvm_trees.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <augur/record/measurement.hpp>

namespace autotvm_trees_test {

namespace {

using augur::average_recall;
using augur::errc;

/// The definition of AutoTVM's comment: for each n the share of the n chosen whose rank is at most n.
double recall_by_sets(const std::vector<float>& scores, const std::vector<float>& labels, std::size_t top) {
    const auto best = [](const std::vector<float>& by, std::size_t n) {
        std::vector<std::size_t> order(by.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t i = 1; i < order.size(); ++i) // by insertion, so that of equal ones the first stays first
            for (std::size_t k = i; k > 0 && by[order[k]] > by[order[k - 1]]; --k) std::swap(order[k], order[k - 1]);
        return std::set<std::size_t>(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n));
    };
    double sum = 0;
    for (std::size_t n = 1; n <= std::min(top, labels.size()); ++n) {
        const auto a = best(scores, n), b = best(labels, n);
        const auto both = std::count_if(a.begin(), a.end(), [&](std::size_t i) { return b.contains(i); });
        sum += static_cast<double>(both) / static_cast<double>(n);
    }
    return sum / static_cast<double>(top);
}

struct knobs {
    int tile = 0, lanes = 0;
    void visit(auto& sink) const {
        sink.primitive("knobs");
        sink.number(std::int64_t{tile});
        sink.number(std::int64_t{lanes});
    }
};
struct convolution {
    std::string name = "a";
    int best_tile = 5;
    [[nodiscard]] std::string_view key() const { return name; }
};
double seconds(const convolution& t, const knobs& k) { return 1e-4 * (1 + std::abs(k.tile - t.best_tile)) * (1 + 4.0 / (1 + k.lanes)); }
struct knob_row {
    static constexpr std::size_t columns() { return 2; }
    augur::result<void> operator()(const convolution&, const knobs& k, std::span<float> row) const {
        if (k.tile < 0) return augur::error{errc::invalid_argument, "no row"};
        row[0] = static_cast<float>(k.tile);
        row[1] = k.lanes > 1000 ? std::numeric_limits<float>::infinity() : static_cast<float>(k.lanes);
        return {};
    }
};
using model = augur::autotvm_trees<knobs, convolution, knob_row>;
static_assert(augur::trainable_cost_model<model, knobs, convolution>);

struct measured {
    std::vector<knobs> schedules;
    std::vector<augur::measurement> outcomes;
    std::vector<augur::observation<knobs, convolution>> records;

    measured(const convolution& t, std::size_t n, std::uint64_t seed, bool failing = false) {
        augur::random_engine rng(seed);
        for (std::size_t i = 0; i < n; ++i) {
            schedules.push_back({static_cast<int>(rng.below(16)), static_cast<int>(rng.below(16))});
            augur::measurement m;
            if (failing || i % 5 == 4) {
                m.status = augur::outcome::compile_error;
            } else {
                m.status = augur::outcome::ok;
                m.seconds = {seconds(t, schedules.back())};
            }
            outcomes.push_back(m);
        }
        for (std::size_t i = 0; i < n; ++i) records.push_back({&t, &schedules[i], &outcomes[i]});
    }
};

/// The share of pairs of different latency that the scores order rightly.
double right_pairs(model& m, const convolution& t) {
    std::vector<knobs> all;
    for (int a = 0; a < 16; ++a)
        for (int b = 0; b < 16; ++b) all.push_back({a, b});
    std::vector<float> scores(all.size());
    REQUIRE(m.score(t, all, scores));
    double right = 0, pairs = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < all.size(); ++j)
            if (seconds(t, all[i]) < seconds(t, all[j]) * 0.999) {
                ++pairs;
                right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
            }
    return right / pairs;
}

augur::autotvm_trees_options quick() {
    augur::autotvm_trees_options o;
    o.history_rows = 100;
    return o;
}

} // namespace

TEST_CASE("average_recall is the mean of the recalls of the best 1, 2, ... samples") {
    augur::random_engine rng(3);
    for (int trial = 0; trial < 200; ++trial) {
        const std::size_t n = 1 + rng.below(20), top = 1 + rng.below(24);
        std::vector<float> scores(n), labels(n);
        for (std::size_t i = 0; i < n; ++i) {
            scores[i] = static_cast<float>(rng.below(6)); // ties
            labels[i] = static_cast<float>(rng.below(6));
        }
        CHECK(average_recall(scores, labels, top) == doctest::Approx(recall_by_sets(scores, labels, top)).epsilon(1e-12));
        if (n >= top) CHECK(average_recall(labels, labels, top) == doctest::Approx(1));
    }
}

TEST_CASE("autotvm_trees: they rank the candidates of a task, with either loss, and are 0 before the first training") {
    const convolution t;
    const measured some(t, 96, 1);
    for (const auto loss : {augur::tree_objective::rank_pairwise, augur::tree_objective::squared_error}) {
        auto o = quick();
        o.trees.objective = loss;
        model m(knob_row{}, o);
        CHECK(right_pairs(m, t) == doctest::Approx(0.5));
        REQUIRE(m.update(some.records));
        CHECK(right_pairs(m, t) > 0.75); // a fifth of the labels are failures, wherever they fall
        const convolution other{"b", 11};
        CHECK(right_pairs(m, other) == doctest::Approx(0.5)); // each task has trees of its own
        std::array<knobs, 3> odd{knobs{-1, 0}, knobs{2, 2000}, knobs{2, 2}};
        std::array<float, 3> scores{};
        REQUIRE(m.score(t, odd, scores));
        CHECK(scores[0] == -std::numeric_limits<float>::infinity());
        CHECK(scores[1] == -std::numeric_limits<float>::infinity());
        CHECK(std::isfinite(scores[2]));
        CHECK(m.score(t, odd, std::span(scores).first(2)).error().code == errc::shape_mismatch);
    }
}

TEST_CASE("autotvm_trees: the trees of other tasks rank at once, and their weight halves every 64 samples") {
    const convolution near{"near", 5}, far{"far", 6}, target{"target", 5};
    const measured one(near, 80, 1), two(far, 80, 2);
    auto history = one.records;
    history.insert(history.end(), two.records.begin(), two.records.end());
    model m(knob_row{}, quick());
    CHECK(m.history_weight(0) == 0); // nothing is known
    auto o = quick();
    o.history_rows = history.size() + 1;
    model too_few(knob_row{}, o);
    CHECK(*too_few.learn_history(history) == false);
    CHECK(right_pairs(too_few, target) == doctest::Approx(0.5));
    REQUIRE(*m.learn_history(history));
    CHECK(right_pairs(m, target) > 0.8);
    CHECK(m.history_weight(0) == 1);
    CHECK(m.history_weight(64) == doctest::Approx(0.5));
    CHECK(m.history_weight(276) > 0.05);
    CHECK(m.history_weight(277) == 0);

    // a few records of the target: with the history the order is better than without
    const measured few(target, 12, 7);
    model alone(knob_row{}, quick());
    REQUIRE(alone.update(few.records));
    REQUIRE(m.update(few.records));
    CHECK(right_pairs(m, target) > right_pairs(alone, target));

    // another history: the trees that corrected the first one are gone
    std::vector<float> one_score(few.schedules.size()), new_score(one_score.size());
    model replaced(knob_row{}, quick()), new_one(knob_row{}, quick());
    REQUIRE(*replaced.learn_history(history));
    REQUIRE(replaced.update(few.records));
    const measured other(far, 120, 9);
    for (model* of : {&replaced, &new_one}) REQUIRE(*of->learn_history(other.records));
    REQUIRE(replaced.score(target, few.schedules, one_score));
    REQUIRE(new_one.score(target, few.schedules, new_score));
    CHECK(one_score == new_score);
    CHECK(std::set(new_score.begin(), new_score.end()).size() > 1); // it is not the score of a model without a history

    // enough records: the history is out, bit for bit
    const measured many(target, 300, 8);
    REQUIRE(m.update(many.records));
    model fresh(knob_row{}, quick());
    REQUIRE(fresh.update(many.records));
    std::vector<float> a(many.schedules.size()), b(a.size());
    REQUIRE(m.score(target, many.schedules, a));
    REQUIRE(fresh.score(target, many.schedules, b));
    CHECK(a == b);
}

TEST_CASE("autotvm_trees: equal latencies teach no order") {
    const convolution t, other{"b", 11};
    measured some(t, 40, 1);
    for (auto& m : some.outcomes) {
        m.status = augur::outcome::ok;
        m.seconds = {1e-3};
    }
    for (const auto loss : {augur::tree_objective::rank_pairwise, augur::tree_objective::squared_error}) {
        auto o = quick();
        o.trees.objective = loss;
        o.history_rows = 40;
        model m(knob_row{}, o);
        REQUIRE(m.update(some.records));
        CHECK(right_pairs(m, t) == doctest::Approx(0.5)); // NaN would be less
        REQUIRE(*m.learn_history(some.records));
        CHECK(right_pairs(m, other) == doctest::Approx(0.5));
        REQUIRE(m.update(some.records));
        CHECK(right_pairs(m, t) == doctest::Approx(0.5));
    }
}

TEST_CASE("autotvm_trees: a point that was measured twice is two samples, whatever the timings") {
    const convolution t;
    const measured once(t, 96, 1), again(t, 96, 1), failed(t, 96, 1, true); // equal points
    for (const auto loss : {augur::tree_objective::rank_pairwise, augur::tree_objective::squared_error}) {
        auto o = quick();
        o.trees.objective = loss;
        model m(knob_row{}, o);
        std::vector<float> before(once.schedules.size()), after(before.size());
        REQUIRE(m.update(once.records));
        REQUIRE(m.score(t, once.schedules, before));
        auto twice = once.records;
        std::vector<augur::measurement> slower = again.outcomes;
        for (std::size_t i = 0; i < slower.size(); ++i) {
            for (double& s : slower[i].seconds) s *= 1 + 0.1 * static_cast<double>(i % 3);
            twice.push_back({&t, &again.schedules[i], &slower[i]});
        }
        REQUIRE(m.update(twice));
        REQUIRE(m.score(t, once.schedules, after));
        CHECK(before != after);
        CHECK(right_pairs(m, t) > 0.7);
        // Every point failed the second time: that says the same of all of them, so the order stays.
        auto doubtful = once.records;
        doubtful.insert(doubtful.end(), failed.records.begin(), failed.records.end());
        model doubting(knob_row{}, o);
        REQUIRE(doubting.update(doubtful));
        CHECK(right_pairs(doubting, t) > 0.6);
    }
}

TEST_CASE("autotvm_trees: tasks without a success have no trees") {
    const convolution t;
    const measured failed(t, 40, 1, true);
    model m(knob_row{}, quick());
    REQUIRE(m.update(failed.records));
    CHECK(right_pairs(m, t) == doctest::Approx(0.5));
    CHECK(*m.learn_history(failed.records) == false);
    REQUIRE(m.update({}));
}

} // namespace autotvm_trees_test
