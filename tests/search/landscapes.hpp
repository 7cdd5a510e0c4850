// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_SEARCH_LANDSCAPES_HPP
#define AUGUR_TESTS_SEARCH_LANDSCAPES_HPP

/// @file
/// Described spaces with latencies, and what tests of strategies do with them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/schedule/configuration.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/autotvm_space.hpp>
#include <augur/space/count.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/space/walk.hpp>

namespace toy {

inline constexpr double never = std::numeric_limits<double>::infinity();

template <class F>
auto scorer_of(F f) {
    return [f](std::span<const augur::decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(f(points[i]));
        return {};
    };
}

template <class Space>
std::vector<augur::decision_vector> all_leaves(const Space& space) {
    std::vector<augur::decision_vector> out;
    augur::for_each_leaf(space, 10000000, [&](std::span<const std::uint64_t> p) { return out.emplace_back(p.begin(), p.end()), true; });
    return out;
}

inline augur::autotvm_knob_space number_knob(std::string name, std::int64_t count) {
    augur::autotvm_knob_space knob{std::move(name), augur::autotvm_knob_kind::other, {}};
    for (std::int64_t i = 0; i < count; ++i) knob.options.push_back({i});
    return knob;
}

/// A described grid: `levels` numbers of `width` values.
inline augur::autotvm_space number_grid(std::size_t levels, std::int64_t width) {
    std::vector<augur::autotvm_knob_space> knobs;
    for (std::size_t i = 0; i < levels; ++i) knobs.push_back(number_knob(std::string(1, static_cast<char>('a' + i)), width));
    return *augur::autotvm_space::make(std::move(knobs));
}

/// The recorded points of a matrix product on a GPU, as tuners of such kernels leave them: the threads of a block are limited, and so is what a
/// thread does.
inline std::vector<augur::configuration> product_records() {
    std::vector<augur::configuration> out;
    for (const std::int64_t x : {1, 2, 4, 8, 16, 32, 64})
        for (const std::int64_t y : {1, 2, 4, 8, 16, 32, 64})
            for (const std::int64_t work : {1, 2, 4, 8, 16})
                for (const std::int64_t step : {1, 2, 3, 4, 5, 6, 7, 8})
                    for (const char* memory : {"global", "shared", "texture"})
                        if (x * y >= 16 && x * y <= 1024 && work * step <= 64)
                            out.push_back({{{"x", x}, {"y", y}, {"work", work}, {"step", step}, {"memory", std::string(memory)}}});
    return out;
}

/// Seconds of such a point, never twice the same: rugged, and one point in nine fails.
inline double product_latency(const augur::configuration& c, std::uint64_t seed = 0) {
    const auto number = [&](std::size_t i) { return std::log2(static_cast<double>(std::get<std::int64_t>(c.parameters[i].value))); };
    std::uint64_t noise = seed;
    for (const auto& p : c.parameters)
        for (const char letter : augur::to_string(p.value)) noise = augur::mix64(noise ^ static_cast<std::uint64_t>(letter));
    if (noise % 9 == 0) return never;
    const std::string& memory = std::get<std::string>(c.parameters[4].value);
    double sum = 1 + std::abs(number(0) - 5) + std::abs(number(1) - 3) + 0.5 * std::abs(number(2) + number(3) - 3);
    sum += memory == "shared" ? 0 : memory == "texture" ? 0.4 : 1;
    return 1e-3 * (sum + 0.3 * static_cast<double>(noise % 1000) / 1000);
}

/// Measures `rounds` proposals of `n` points with `latency`, checks that they are legal and new, and returns all latencies in order.
template <class Strategy, class Space, class Scorer, class Latency>
std::vector<double> measure_rounds(Strategy& strategy, const Space& space, Scorer& scorer, std::size_t rounds, std::size_t n, std::uint64_t seed,
                                   const Latency& latency, std::vector<augur::decision_vector>* points_out = nullptr) {
    std::vector<double> out;
    std::set<augur::decision_vector> seen;
    for (std::size_t r = 0; r < rounds; ++r) {
        auto rng = augur::random_engine(seed).stream(r);
        const auto points = strategy.propose(space, scorer, n, rng);
        REQUIRE(points);
        REQUIRE(points->size() <= n);
        std::vector<augur::measured_decisions> back;
        for (const auto& p : *points) {
            REQUIRE(augur::trace_path(space, p));
            REQUIRE(seen.insert(p).second);
            back.push_back({p, latency(p)});
            out.push_back(back.back().latency);
            if (points_out != nullptr) points_out->push_back(p);
        }
        strategy.observe(back);
    }
    return out;
}

inline double best_of(const std::vector<double>& latencies) {
    double best = never;
    for (const double x : latencies) best = x < best ? x : best;
    return best;
}

} // namespace toy

#endif
