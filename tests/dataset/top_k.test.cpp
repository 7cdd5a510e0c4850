// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/dataset/top_k.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <augur/core/random_engine.hpp>

namespace top_k_test {

using namespace augur;

TEST_CASE("top_k: the vector of the authors' formula") {
    std::ifstream file(std::string(AUGUR_TEST_DIR) + "/vectors/tlp_topk.json");
    const auto vector = nlohmann::json::parse(file);
    top_k_score as_authors({1, 2, 5, 10, 20}), exact({1, 2, 5, 10, 20});
    for (const auto& t : vector["tasks"]) {
        const auto preds = t["preds"].get<std::vector<double>>();
        const auto labels = t["labels"].get<std::vector<double>>();
        const std::vector<float> floats(labels.begin(), labels.end());
        as_authors.add(std::span<const double>(preds), std::span<const float>(floats), t["min_latency"].get<double>(), t["weight"].get<double>());
        exact.add(std::span<const double>(preds), std::span<const double>(labels), t["min_latency"].get<double>(), t["weight"].get<double>());
    }
    for (std::size_t i = 0; i < exact.ks().size(); ++i) {
        const double expected = vector["score"][std::to_string(exact.ks()[i])].get<double>();
        CHECK(std::abs(as_authors.score(i) - expected) < 1e-12);
        CHECK(std::abs(exact.score(i) - expected) < 1e-7);
    }
    CHECK(exact.score(2) == 1);
}

TEST_CASE("top_k: a whole sort, task by task, gives the same") {
    augur::random_engine draw(1);
    const std::vector<std::size_t> ks = {1, 3, 5, 100};
    top_k_score total(ks);
    std::vector<double> picked(ks.size());
    double best = 0;
    for (int t = 0; t < 200; ++t) {
        const std::size_t n = draw.below(30) + 1;
        std::vector<float> scores(n);
        std::vector<double> seconds(n), labels(n);
        for (std::size_t i = 0; i < n; ++i) {
            scores[i] = static_cast<float>(draw.below(8)); // ties
            if (draw.below(9) == 0) scores[i] = std::numeric_limits<float>::quiet_NaN();
            if (draw.below(9) == 0) scores[i] = -std::numeric_limits<float>::infinity();
            seconds[i] = draw.below(5) == 0 && i > 0 ? std::numeric_limits<double>::infinity() : draw.uniform(1e-4, 1e-2);
        }
        const double least = *std::min_element(seconds.begin(), seconds.end());
        for (std::size_t i = 0; i < n; ++i) labels[i] = std::isinf(seconds[i]) ? 0 : least / seconds[i];
        const double weight = static_cast<double>(draw.below(4));
        top_k_score one(ks);
        one.add(std::span<const float>(scores), std::span<const double>(labels), least, weight);
        total.add(one);
        // the twin: pick k times the highest that is left
        best += weight * least;
        for (std::size_t k = 0; k < ks.size(); ++k) {
            std::vector<bool> taken(n);
            double got = std::numeric_limits<double>::infinity();
            for (std::size_t round = 0; round < (std::min)(ks[k], n); ++round) {
                std::size_t at = n;
                for (std::size_t i = 0; i < n; ++i)
                    if (!taken[i] && (at == n || (std::isnan(scores[at]) && !std::isnan(scores[i])) || scores[i] > scores[at])) at = i;
                taken[at] = true;
                got = (std::min)(got, (std::min)(seconds[at], least * 1e5));
            }
            picked[k] += weight * got;
        }
    }
    CHECK(total.tasks() == 200);
    for (std::size_t k = 0; k < ks.size(); ++k) CHECK(std::abs(total.score(k) / (best / picked[k]) - 1) < 1e-12);
    CHECK(total.score(3) == doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE("top_k: a task without a valid record leaves both sums and is counted") {
    const std::vector<float> scores = {1, 2};
    const std::vector<double> good = {0.5, 1}, failed = {0, 0}, faithful = {1e-4, 1e-4};
    top_k_score score({1});
    CHECK(std::isnan(score.score(0)));
    score.add(std::span<const float>(scores), std::span<const double>(good), 1e-3);
    score.add(std::span<const float>(scores), std::span<const double>(failed), std::numeric_limits<double>::infinity());
    score.add(std::span<const float>(scores), std::span<const double>(faithful), 1e6);
    score.add(std::span<const float>(), std::span<const double>(), 1e-3);
    CHECK(score.tasks() == 1);
    CHECK(score.without_record() == 3);
    CHECK(score.score(0) == 1);
}

} // namespace top_k_test
