// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <augur/xgboost/boosted_trees.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <augur/core/random_engine.hpp>

namespace boosted_trees_test {

using namespace augur;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// Rows of two useful columns and one that is noise, small integers as tile sizes are.
struct table {
    std::vector<float> x, y;
    std::vector<std::uint32_t> groups;

    template <class Law>
    table(std::size_t rows, std::uint64_t seed, const Law& law, std::size_t group = 50) {
        augur::random_engine rng(seed);
        for (std::size_t i = 0; i < rows; ++i) {
            const auto a = static_cast<float>(rng.below(8)), b = static_cast<float>(rng.below(8)), noise = static_cast<float>(rng.below(8));
            x.insert(x.end(), {a, b, noise});
            groups.push_back(static_cast<std::uint32_t>(i / group));
            y.push_back(law(a, b, groups.back()));
        }
    }
    [[nodiscard]] tree_samples samples() const { return {x, 3, y, groups}; }
};

/// Not a sum of functions of one column: a single split cannot do it.
float product(float a, float b, std::uint32_t) { return a < 4 ? b / 8 : 1 - b / 8; }

boosted_trees_options small() {
    boosted_trees_options o;
    o.rounds = 30;
    return o;
}

std::vector<float> predict(const boosted_trees& trees, const std::vector<float>& x) {
    std::vector<float> out(x.size() / trees.columns());
    REQUIRE(trees.predict(x, out));
    return out;
}

errc refusal(const result<boosted_trees>& r) {
    REQUIRE(!r);
    CHECK(!r.error().detail.empty());
    CHECK(r.error().detail.find("Stack trace") == std::string::npos);
    return r.error().code;
}

} // namespace

TEST_CASE("boosted trees: the first stump is the one that brute force finds") {
    // squared error, base 0.5, lambda 1: a leaf of n samples is worth sum(y - 0.5) / (n + 1), a split gains the sum of sum^2 / (n + 1)
    const table t(200, 5, [](float a, float b, std::uint32_t) { return (a > 4 ? 0.9F : 0.2F) + 0.01F * b; });
    auto o = small();
    o.rounds = 1;
    o.depth = 1;
    o.learning_rate = 1;
    o.bins = 0;
    const auto trees = boosted_trees::train(t.samples(), o);
    REQUIRE(trees);

    double best = -1, low = 0, high = 0, at = 0;
    std::size_t column = 0;
    for (std::size_t c = 0; c < 3; ++c)
        for (int cut = 1; cut < 8; ++cut) {
            double sum[2] = {0, 0}, n[2] = {0, 0};
            for (std::size_t i = 0; i < t.y.size(); ++i) {
                const std::size_t side = t.x[i * 3 + c] < static_cast<float>(cut) ? 0 : 1;
                sum[side] += static_cast<double>(t.y[i]) - 0.5;
                n[side] += 1;
            }
            const double gain = sum[0] * sum[0] / (n[0] + 1) + sum[1] * sum[1] / (n[1] + 1);
            if (gain <= best) continue;
            best = gain;
            column = c;
            at = cut;
            low = 0.5 + sum[0] / (n[0] + 1);
            high = 0.5 + sum[1] / (n[1] + 1);
        }
    CHECK(column == 0);
    const auto values = predict(*trees, t.x);
    for (std::size_t i = 0; i < values.size(); ++i)
        CHECK(values[i] == doctest::Approx(static_cast<double>(t.x[i * 3 + column]) < at ? low : high).epsilon(1e-5));
}

TEST_CASE("boosted trees learn a law and tell it of rows they have not seen") {
    const table train(1000, 1, product), test(500, 2, product);
    for (const std::uint32_t bins : {0U, 256U}) {
        auto o = small();
        o.rounds = 100;
        o.bins = bins;
        const auto trees = boosted_trees::train(train.samples(), o);
        REQUIRE(trees);
        const auto values = predict(*trees, test.x);
        double error = 0;
        for (std::size_t i = 0; i < values.size(); ++i) error = (std::max)(error, std::abs(static_cast<double>(values[i] - test.y[i])));
        CHECK(error < 0.02);
    }
}

TEST_CASE("boosted trees: a ranking objective sees the order within groups only") {
    // what a group adds to its labels is unlike what its rows say: squared error is led astray, pairs are not
    const auto law = [](float a, float b, std::uint32_t g) { return product(a, b, 0) / 100 + static_cast<float>((g * 7919) % 13); };
    const table train(2000, 3, law), test(500, 4, product);
    const auto agreement = [&](tree_objective objective) {
        auto o = small();
        o.rounds = 100;
        o.objective = objective;
        const auto trees = boosted_trees::train(train.samples(), o);
        REQUIRE(trees);
        const auto values = predict(*trees, test.x);
        double right = 0, pairs = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                if (test.y[i] == test.y[j]) continue;
                ++pairs;
                if ((values[i] > values[j]) == (test.y[i] > test.y[j])) ++right;
            }
        return right / pairs;
    };
    CHECK(agreement(tree_objective::rank_pairwise) > 0.97);
    CHECK(agreement(tree_objective::squared_error) < 0.9);
}

TEST_CASE("boosted trees: equal seeds, equal trees, whatever the threads") {
    const table t(1000, 1, product);
    for (const auto objective : {tree_objective::squared_error, tree_objective::rank_pairwise}) {
        auto o = small();
        o.objective = objective;
        o.row_share = 0.5;
        o.seed = 7;
        const auto a = boosted_trees::train(t.samples(), o), b = boosted_trees::train(t.samples(), o);
        o.threads = 3;
        const auto on_three = boosted_trees::train(t.samples(), o);
        o.seed = 8;
        const auto c = boosted_trees::train(t.samples(), o);
        REQUIRE((a && b && c && on_three));
        CHECK(a->save() == on_three->save());
        CHECK(a->save() == b->save());
        CHECK(a->save() != c->save());
    }
}

TEST_CASE("boosted trees: values do not depend on the batch nor on threads") {
    const table t(1000, 1, product);
    auto o = small();
    o.threads = 2;
    const auto trees = boosted_trees::train(t.samples(), o);
    REQUIRE(trees);
    const auto all = predict(*trees, t.x);
    for (std::size_t i = 0; i < 50; ++i) {
        float one = 0;
        REQUIRE(trees->predict(std::span<const float>(t.x).subspan(i * 3, 3), {&one, 1}));
        CHECK(one == all[i]);
    }
    std::vector<std::vector<float>> seen(4, std::vector<float>(all.size()));
    std::vector<std::thread> threads;
    for (auto& out : seen)
        threads.emplace_back([&, copy = *trees] {
            for (int k = 0; k < 50; ++k)
                if (!copy.predict(t.x, out)) out.clear();
        });
    for (auto& thread : threads) thread.join();
    for (const auto& out : seen) CHECK(out == all);
    CHECK(trees->predict({}, {}));
}

TEST_CASE("boosted trees: saved and loaded they say the same, and damage is found") {
    const table t(300, 1, product);
    auto o = small();
    o.rounds = 2;
    o.depth = 3;
    const auto trees = boosted_trees::train(t.samples(), o);
    REQUIRE(trees);
    const std::string bytes = trees->save(99);
    const auto again = boosted_trees::load(bytes, 99);
    REQUIRE(again);
    CHECK(again->save(99) == bytes);
    CHECK(predict(*again, t.x) == predict(*trees, t.x));
    CHECK(refusal(boosted_trees::load(bytes, 98)) == errc::version_mismatch);
    CHECK(refusal(boosted_trees::load("", 99)) == errc::version_mismatch);

    std::size_t accepted = 0;
    for (std::size_t n = 0; n < bytes.size(); ++n)
        if (boosted_trees::load(std::string_view(bytes).substr(0, n), 99)) ++accepted;
    std::string other = bytes;
    for (char& c : other) {
        c = static_cast<char>(c ^ 0x10);
        if (boosted_trees::load(other, 99)) ++accepted;
        c = static_cast<char>(c ^ 0x10);
    }
    if (boosted_trees::load(other + "x", 99)) ++accepted;
    CHECK(accepted == 0);
}

TEST_CASE("boosted trees: bad input is an error in words") {
    const table t(100, 1, product);
    const auto with = [&](auto change) {
        table copy = t;
        change(copy);
        return boosted_trees::train(copy.samples(), small());
    };
    CHECK(refusal(with([](table& c) { c.y.clear(); })) == errc::shape_mismatch);
    CHECK(refusal(with([](table& c) { c.x.pop_back(); })) == errc::shape_mismatch);
    CHECK(refusal(with([](table& c) { c.groups.pop_back(); })) == errc::shape_mismatch);
    CHECK(refusal(with([](table& c) { c.y[3] = nan_value; })) == errc::invalid_argument);
    CHECK(refusal(with([](table& c) { c.y[3] = std::numeric_limits<float>::infinity(); })) == errc::invalid_argument);
    CHECK(refusal(with([](table& c) { c.x[3] = std::numeric_limits<float>::infinity(); })) == errc::invalid_argument);
    CHECK(refusal(with([](table& c) { c.groups[3] = 9; })) == errc::invalid_argument);
    CHECK(refusal(boosted_trees::train({t.x, 0, t.y, {}}, small())) == errc::shape_mismatch);
    CHECK(refusal(boosted_trees::train({{}, 3, {}, {}}, small())) == errc::shape_mismatch);
    CHECK(with([](table& c) { c.x[3] = nan_value; })); // missing
    CHECK(with([](table& c) { c.groups.clear(); }));
    CHECK(with([](table& c) {
        for (float& v : c.x) v = 1e30F;
    }));

    const auto having = [&](auto change) {
        auto o = small();
        change(o);
        return boosted_trees::train(t.samples(), o);
    };
    CHECK(refusal(having([](auto& o) { o.rounds = 0; })) == errc::invalid_argument);
    CHECK(refusal(having([](auto& o) { o.depth = 31; })) == errc::invalid_argument);
    CHECK(refusal(having([](auto& o) { o.learning_rate = 0; })) == errc::invalid_argument);
    CHECK(refusal(having([](auto& o) { o.learning_rate = std::nan(""); })) == errc::invalid_argument);
    CHECK(refusal(having([](auto& o) { o.min_split_loss = -1; })) == errc::invalid_argument);
    CHECK(refusal(having([](auto& o) { o.row_share = 1.5; })) == errc::invalid_argument);
    CHECK(refusal(having([](auto& o) { o.bins = 1; })) == errc::invalid_argument);
    CHECK(refusal(having([](auto& o) { o.threads = 0; })) == errc::invalid_argument);
    CHECK(having([](auto& o) { o.weigh_by_label = true; }));

    const auto trees = boosted_trees::train(t.samples(), small());
    REQUIRE(trees);
    std::vector<float> out(3);
    CHECK(trees->predict(t.x, out).error().code == errc::shape_mismatch);
    const std::vector<float> odd{nan_value, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
    REQUIRE(trees->predict(odd, std::span(out).first(1)));
    CHECK(std::isfinite(out[0]));
}

TEST_CASE("boosted_trees: trees on a margin are those on the labels minus the margin") {
    const table t(400, 5, product);
    std::vector<float> margins, rest;
    for (std::size_t i = 0; i < t.y.size(); ++i) {
        margins.push_back(static_cast<float>(i % 7) * 0.125F); // exact differences
        rest.push_back(t.y[i] - margins.back());
    }
    auto o = small();
    for (const double start : {0.0, 0.5}) {
        o.start = start;
        const auto on_margin = boosted_trees::train({t.x, 3, t.y, {}, margins}, o), on_rest = boosted_trees::train({t.x, 3, rest, {}}, o);
        REQUIRE(on_margin);
        REQUIRE(on_rest);
        const auto a = predict(*on_margin, t.x), b = predict(*on_rest, t.x);
        for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
    }
    CHECK(refusal(boosted_trees::train({t.x, 3, t.y, {}, std::span(margins).first(3)}, o)) == errc::shape_mismatch);
    margins[2] = nan_value;
    CHECK(refusal(boosted_trees::train({t.x, 3, t.y, {}, margins}, o)) == errc::invalid_argument);
}

TEST_CASE("average_recall: a score that is no number is worse than any number") {
    augur::random_engine rng(5);
    for (int trial = 0; trial < 100; ++trial) {
        const std::size_t n = 1 + rng.below(80), top = 1 + rng.below(40);
        std::vector<float> scores, lowest, labels;
        for (std::size_t i = 0; i < n; ++i) {
            const bool missing = rng.below(3) == 0;
            const auto score = static_cast<float>(rng.below(9));
            labels.push_back(static_cast<float>(rng.below(9)));
            scores.push_back(missing ? nan_value : score == 0 ? -std::numeric_limits<float>::infinity() : score);
            lowest.push_back(missing ? -2.0F : score == 0 ? -1.0F : score);
        }
        CHECK(average_recall(scores, labels, top) == average_recall(lowest, labels, top));
    }
    CHECK(average_recall(std::vector<float>{nan_value, 1, nan_value}, std::vector<float>{3, 2, 1}, 2) == 0.5); // 1 0 2: none of 1, both of 2
}

TEST_CASE("boosted_trees: training stops when the recall has not risen for so many rounds") {
    const table t(200, 9, product);
    auto o = small();
    o.rounds = 400;
    o.stop_recall = 16;
    o.patience = 10;
    const auto stopped = boosted_trees::train(t.samples(), o);
    REQUIRE(stopped);
    // the same by hand: trees of 1, 2, 3, ... rounds, until ten in a row were not better
    o.stop_recall = 0;
    double best = -1;
    std::uint32_t best_rounds = 0;
    for (o.rounds = 1; o.rounds <= 400; ++o.rounds) {
        const auto trees = boosted_trees::train(t.samples(), o);
        REQUIRE(trees);
        const auto p = predict(*trees, t.x);
        if (const double recall = average_recall(p, t.y, 16); recall > best) {
            best = recall;
            best_rounds = o.rounds;
        } else if (o.rounds - best_rounds >= 10) {
            CHECK(p == predict(*stopped, t.x));
            break;
        }
    }
    CHECK(o.rounds < 200);
    o.stop_recall = 4;
    o.patience = 0;
    CHECK(refusal(boosted_trees::train(t.samples(), o)) == errc::invalid_argument);
}

} // namespace boosted_trees_test
