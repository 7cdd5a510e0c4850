// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/model/bounded_blend.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>

namespace bounded_blend_test {

using namespace augur;

namespace {

constexpr float none = -std::numeric_limits<float>::infinity();

std::vector<float> some(std::size_t n, std::uint64_t seed) {
    augur::random_engine draw(seed);
    std::vector<float> out(n);
    for (float& x : out) x = static_cast<float>(draw.below(64)) / 4 - 8; // exact, and so are their differences
    return out;
}

std::vector<float> both(const bounded_blend& how, const std::vector<float>& said, std::vector<float> scores) {
    how.add(task_normaliser::fit(said, 1), said, scores);
    return scores;
}

} // namespace

TEST_CASE("bounded_blend: the formula, in double") {
    const auto said = some(33, 1), first = some(33, 2);
    const double middle = task_normaliser::fit(said, 1).middle().front();
    const auto got = both({0.5F, 2}, said, first);
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(double(got[i]) == doctest::Approx(double(first[i]) + 0.5 * std::tanh((double(said[i]) - middle) / 2)).epsilon(1e-6));
}

TEST_CASE("bounded_blend: what it says of all candidates alike does not matter") {
    const auto said = some(40, 3), first = some(40, 4);
    auto moved = said;
    for (float& x : moved) x += 1024;
    CHECK(both({}, said, first) == both({}, moved, first));
}

TEST_CASE("bounded_blend: it orders what the first thinks equal, and lifts nothing over what is better by twice its weight") {
    const std::vector<float> said{9, -9, 1e30F, -1e30F, 0};
    const auto equal = both({}, said, {1, 1, 1, 1, 1});
    CHECK(equal[2] >= equal[0]);
    CHECK(equal[0] > equal[4]);
    CHECK(equal[4] > equal[1]);
    CHECK(equal[1] >= equal[3]);
    const auto apart = both({0.2F, 4}, said, {0, 1, 0, 1, 0});
    CHECK(apart[3] > apart[2]);
    CHECK(apart[1] > apart[0]);
}

TEST_CASE("bounded_blend: who cannot score has none") {
    CHECK(both({}, {none, 1, 2}, {5, none, 6})[0] == 5);
    CHECK(both({}, {none, 1, 2}, {5, none, 6})[1] == none);
    const std::vector<float> first{1, 2, 3};
    CHECK(both({}, {none, none, 7}, first) == first);
    std::vector<float> nothing;
    bounded_blend().add(task_normaliser::fit(first, 1), {}, nothing);
    CHECK(nothing.empty());
}

} // namespace bounded_blend_test
