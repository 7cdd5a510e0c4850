// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/bayes/encoding.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <augur/space/count.hpp>
#include <augur/space/recorded_space.hpp>

#include "../../space/toy.hpp"

namespace encoding_test {

using augur::decision_vector;
using augur::encode;
using augur::word_features;

namespace {
template <class Space>
std::vector<word_features> features_of(const Space& space, const std::vector<decision_vector>& points) {
    std::vector<word_features> out;
    for (const auto& p : points) {
        const auto words = augur::features_of_words(space, p);
        REQUIRE(words);
        out.push_back(*words);
    }
    return out;
}
} // namespace

TEST_CASE("encoding: factors by logarithm, numbers by rank, words as dimensions, what a sketch does not have is 0 beside a mask") {
    const toy::described_space space;
    // sketch 0: tile, second tile, unroll; sketch 1: tile, location, parallel. Tiles of 36: 1 2 3 4 6 9 12 18.
    const std::vector<decision_vector> points{{0, 0, 0, 0}, {0, 3, 2, 3}, {0, 4, 1, 1}, {1, 5, 2, 0}, {1, 7, 1, 2}};
    const auto encoded = encode(features_of(space, points));
    // the sketch's words, all "it is there" columns and the second word say the same: one dimension; then tile, second, unroll, location, parallel
    REQUIRE(encoded.points.rows() == 6);
    CHECK(encoded.columns.size() == 6);
    CHECK(encoded.constant == 2); // sketch and tile are always there
    CHECK(encoded.repeated == 5);
    CHECK(encoded.merged_words == 0);
    Eigen::MatrixXd expected(6, 5);
    const auto share = [](double length) { return std::log(length) / std::log(36.0); };
    expected << 1, 1, 1, 0, 0,                             // sketch 0
        share(1), share(4), share(6), share(9), share(18), // tile
        share(1), share(3), share(2), 0, 0,                // second
        0, 1, 0.5, 0, 0,                                   // unroll 0, 3, 1: ranks
        0, 0, 0, 1, 0,                                     // location 2, 1
        0, 0, 0, 0, 1;                                     // parallel 0, 2
    CHECK((encoded.points - expected).cwiseAbs().maxCoeff() < 1e-15);
}

TEST_CASE("encoding: within the unit cube, and as many different vectors as points") {
    const toy::described_space space;
    std::vector<decision_vector> all;
    augur::for_each_leaf(space, 100000, [&](std::span<const std::uint64_t> p) { return all.emplace_back(p.begin(), p.end()), true; });
    const auto encoded = encode(features_of(space, all));
    CHECK(encoded.points.minCoeff() == 0);
    CHECK(encoded.points.maxCoeff() == 1);
    std::set<std::vector<double>> different;
    for (Eigen::Index i = 0; i < encoded.points.cols(); ++i) different.emplace(encoded.points.col(i).begin(), encoded.points.col(i).end());
    CHECK(different.size() == all.size());
}

TEST_CASE("encoding: options of one value are left out, numbers count by rank over all prefixes, many words share a dimension") {
    std::vector<augur::configuration> records;
    for (std::int64_t i = 0; i < 60; ++i)
        records.push_back({{{"block", std::int64_t{1} << (i % 6)},
                            {"fixed", std::int64_t{7}},
                            {"variant", "v" + std::to_string(i)},
                            {"scale", 0.5 * static_cast<double>(i % 3)}}});
    const auto space = augur::recorded_space::build(records);
    REQUIRE(space);
    std::vector<decision_vector> points;
    for (const auto& r : records) points.push_back(*space->decide(r));
    const auto encoded = encode(features_of(*space, points), 10);
    CHECK(encoded.merged_words == 50);
    CHECK(encoded.points.rows() == 1 + 11 + 1);
    for (std::size_t i = 0; i < points.size(); ++i) {
        const auto column = encoded.points.col(static_cast<Eigen::Index>(i));
        CHECK(column[0] == doctest::Approx(static_cast<double>(i % 6) / 5)); // whatever the number of options after the prefix is
        CHECK(column.segment(1, 11).sum() + column[12] >= 1 - 1e-12);
    }
}

TEST_CASE("encoding: nothing differs, no point, values that are no point of the space") {
    const toy::described_space space;
    CHECK(encode(features_of(space, {{0, 0, 0, 0}, {0, 0, 0, 0}})).points.rows() == 0);
    CHECK(encode({}).points.size() == 0);
    for (const decision_vector& wrong : {decision_vector{}, {0, 0, 0}, {0, 0, 0, 0, 0}, {2, 0, 0, 0}, {0, 99, 0, 0}})
        CHECK(!augur::features_of_words(space, wrong));
}

} // namespace encoding_test
