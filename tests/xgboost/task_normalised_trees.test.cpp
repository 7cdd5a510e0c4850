// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <augur/xgboost/task_normalised_trees.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "candidates.hpp"

namespace task_normalised_trees_test {

using namespace augur;

namespace {

result<task_normalised_trees> trained(const boosted_trees_options& options = quick()) {
    task_normalised_samples samples(columns);
    for (std::uint64_t t = 0; t < 4; ++t) {
        const candidates k(300, static_cast<float>(16 * t), t);
        REQUIRE(samples.add(k.all(), k.rows, k.labels));
    }
    CHECK(samples.size() == 1200);
    return task_normalised_trees::train(samples, options);
}

std::vector<float> scores_of(const task_normalised_trees& trees, candidates k) {
    std::vector<float> out(k.labels.size());
    REQUIRE(trees.score(k.all(), k.rows, out));
    return out;
}

} // namespace

TEST_CASE("task_normalised_trees: a kernel far from those trained on is ranked, for absolute numbers it would be beyond all") {
    const auto trees = trained();
    REQUIRE(trees);
    const candidates far(300, 1024, 99);
    const auto scores = scores_of(*trees, far);
    std::size_t agree = 0, pairs = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (std::abs(far.labels[i] - far.labels[j]) > 0.1F) {
                ++pairs;
                agree += (far.labels[i] > far.labels[j]) == (scores[i] > scores[j]) ? 1 : 0;
            }
    CHECK(static_cast<double>(agree) > 0.95 * static_cast<double>(pairs));
    // the same candidates elsewhere have the same scores
    const candidates near(300, 16, 99);
    CHECK(scores_of(*trees, near) == scores);
    // a score does not depend on its neighbours in the batch, only on the reference
    std::vector<float> row(far.rows.begin() + 30, far.rows.begin() + 33), one(1);
    REQUIRE(trees->score(far.all(), row, one));
    CHECK(one[0] == scores[10]);
}

TEST_CASE("task_normalised_trees: the same seed gives the same trees on any number of threads") {
    auto two = quick();
    two.threads = 2;
    const auto a = trained(), b = trained(two);
    REQUIRE(a);
    REQUIRE(b);
    const candidates k(100, 5, 1);
    CHECK(scores_of(*a, k) == scores_of(*b, k));
    const auto again = task_normalised_trees::load(a->save(11), 11);
    REQUIRE(again);
    CHECK(scores_of(*again, k) == scores_of(*a, k));
    const auto other = task_normalised_trees::load(a->save(11), 12);
    REQUIRE(!other);
    CHECK(other.error().code == errc::version_mismatch);
}

TEST_CASE("task_normalised_trees: a program's label is the best of its measurements, cubed") {
    task_normalised_samples samples(columns);
    const std::vector<float> rows{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}, labels{0.5F, 0, 1, 0.25F};
    const auto all = task_normaliser::fit(rows, columns);
    REQUIRE(samples.add(all, rows, labels));
    REQUIRE(samples.add(all, rows, std::vector<float>(4, 0.5F))); // of another task: nothing to do with it
    REQUIRE(samples.add(all, rows, std::vector<float>(4, 0.0F))); // all failed: nothing to learn
    const auto view = samples.samples();
    CHECK(std::vector<float>(view.labels.begin(), view.labels.end()) ==
          std::vector<float>{1, 1.0F / 64, 1, 1.0F / 64, 0.125F, 0.125F, 0.125F, 0.125F});
    CHECK(std::vector<std::uint32_t>(view.groups.begin(), view.groups.end()) == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
    CHECK(std::vector<float>(view.x.begin(), view.x.begin() + 6) == std::vector<float>{0, 0, 0, 3, 3, 3});
}

TEST_CASE("task_normalised_trees: candidates added three times are those of three calls") {
    const candidates k(100, 5, 1), other(100, 9, 2), asked(100, 700, 3);
    task_normalised_samples at_once(columns), one_by_one(columns);
    REQUIRE(at_once.add(other.all(), other.rows, other.labels));
    REQUIRE(one_by_one.add(other.all(), other.rows, other.labels));
    REQUIRE(at_once.add(k.all(), k.rows, k.labels, 3));
    for (int n = 0; n < 3; ++n) REQUIRE(one_by_one.add(k.all(), k.rows, k.labels));
    const auto groups = at_once.samples().groups, expected = one_by_one.samples().groups;
    CHECK(std::equal(groups.begin(), groups.end(), expected.begin(), expected.end()));
    for (const auto objective : {tree_objective::squared_error, tree_objective::rank_pairwise}) {
        auto o = quick();
        o.objective = objective;
        const auto a = task_normalised_trees::train(at_once, o), b = task_normalised_trees::train(one_by_one, o);
        REQUIRE((a && b));
        CHECK(a->save(1) == b->save(1));
        CHECK(scores_of(*a, asked) == scores_of(*b, asked));
    }
}

TEST_CASE("task_normalised_trees: each normalisation learns the law, and is known again when it is loaded") {
    for (const auto method : {normalisation::ranked, normalisation::absolute}) {
        task_normalised_samples samples(columns, method);
        const candidates k(300, 0, 3), other(300, 0, 4);
        const auto shown = [&](const candidates& of) { return task_normaliser::fit(of.rows, columns, method); };
        REQUIRE(samples.add(shown(k), k.rows, k.labels));
        const auto trees = task_normalised_trees::train(samples, quick());
        REQUIRE(trees);
        std::vector<float> rows = other.rows, scores(other.labels.size()), again(scores);
        REQUIRE(trees->score(shown(other), rows, scores));
        const auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
        CHECK(other.labels[best] >= 0.9F * *std::max_element(other.labels.begin(), other.labels.end()));
        const auto loaded = task_normalised_trees::load(trees->save(11), 11, method);
        REQUIRE(loaded);
        rows = other.rows;
        REQUIRE(loaded->score(shown(other), rows, again));
        CHECK(again == scores);
        CHECK(!task_normalised_trees::load(trees->save(11), 11));
    }
}

TEST_CASE("task_normalised_trees: what does not fit is refused") {
    task_normalised_samples samples(columns);
    const std::vector<float> rows{1, 2, 3, 4, 5, 6};
    const auto all = task_normaliser::fit(rows, columns), narrow = task_normaliser::fit(rows, 2);
    const auto refusal = [](const result<void>& r) { return r ? errc{} : r.error().code; };
    CHECK(refusal(samples.add(all, rows, std::vector<float>(3))) == errc::shape_mismatch);
    CHECK(refusal(samples.add(narrow, rows, std::vector<float>(2))) == errc::shape_mismatch);
    for (const float bad : {-0.1F, 1.5F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
        CHECK(refusal(samples.add(all, rows, std::vector<float>{1, bad})) == errc::invalid_argument);
    CHECK(refusal(samples.add(task_normaliser::fit(rows, columns, normalisation::ranked), rows, std::vector<float>(2))) == errc::invalid_argument);
    CHECK(samples.size() == 0);
    CHECK(!task_normalised_trees::train(samples)); // nothing to learn from
    const auto trees = trained();
    REQUIRE(trees);
    std::vector<float> some = rows, scores(2), three(3);
    CHECK(refusal(trees->score(narrow, some, scores)) == errc::shape_mismatch);
    CHECK(refusal(trees->score(all, some, three)) == errc::shape_mismatch);
    CHECK(refusal(trees->score(task_normaliser::fit(rows, columns, normalisation::absolute), some, scores)) == errc::invalid_argument);
    CHECK(some == rows); // as they were
}

} // namespace task_normalised_trees_test
