// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/transfer/source_cover.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

using namespace augur;
using transfer::cover_sources;

namespace {

double covered(const std::vector<float>& shares, const std::vector<double>& weights, std::span<const std::size_t> chosen) {
    const auto candidates = shares.size() / weights.size();
    double sum = 0;
    for (std::size_t s = 0; s < weights.size(); ++s) {
        double best = 0;
        for (const auto c : chosen) best = (std::max)(best, static_cast<double>(shares[s * candidates + c]));
        sum += weights[s] * best;
    }
    return sum;
}

} // namespace

TEST_CASE("cover_sources: one is the best on average, three are near the best three, by trying all") {
    random_engine rng(5);
    for (int round = 0; round < 50; ++round) {
        const std::size_t sources = 1 + rng.below(6), candidates = 3 + rng.below(9);
        std::vector<float> shares(sources * candidates);
        std::vector<double> weights(sources);
        for (auto& s : shares) s = static_cast<float>(rng.below(1000)) / 1000;
        for (auto& w : weights) w = static_cast<double>(rng.below(1000)) / 1000;
        double best_1 = 0, best_3 = 0;
        for (std::size_t a = 0; a < candidates; ++a) {
            best_1 = (std::max)(best_1, covered(shares, weights, std::vector<std::size_t>{a}));
            for (std::size_t b = 0; b < a; ++b)
                for (std::size_t c = 0; c < b; ++c) best_3 = (std::max)(best_3, covered(shares, weights, std::vector<std::size_t>{a, b, c}));
        }
        const auto one = cover_sources(shares, weights, 1), three = cover_sources(shares, weights, 3);
        REQUIRE(one.size() == 1);
        REQUIRE(three.size() == 3);
        CHECK(three[0] == one[0]);
        CHECK(covered(shares, weights, one) == doctest::Approx(best_1));
        CHECK(covered(shares, weights, three) >= (1 - 1 / 2.718281828) * best_3 - 1e-9);
        CHECK(covered(shares, weights, three) <= best_3 + 1e-9);
        auto all = cover_sources(shares, weights, 100); // no candidate twice
        CHECK(all.size() == candidates);
        std::sort(all.begin(), all.end());
        CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    }
}

TEST_CASE("cover_sources: a second choice is for the source that the first leaves out") {
    const std::vector<float> shares{1.0F, 0.99F, 0.2F, 0.3F, 0.31F, 0.9F}; // two sources, three candidates
    const std::vector<double> weights{1, 0.5};
    CHECK(cover_sources(shares, weights, 2) == std::vector<std::size_t>{0, 2});
    // where nothing is left to add, of a single source after its best one: the next best
    CHECK(cover_sources(std::vector<float>{0.2F, 0.5F, 1.0F, 0.9F, 0.0F}, std::vector<double>{0.7}, 4) == std::vector<std::size_t>{2, 3, 1, 0});
    CHECK(cover_sources({}, {}, 3).empty());
    CHECK(cover_sources(shares, weights, 0).empty());
}
