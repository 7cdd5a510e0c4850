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
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/schedule/concepts.hpp>
#include <augur/schedule/configuration.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/autotvm_space.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/count.hpp>
#include <augur/space/describe.hpp>
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

/// Three decisions: everything that it says of them changes from call to call, but what is legal does not.
struct fickle_space {
    std::uint64_t width = 8; ///< options of a decision
    mutable std::uint64_t calls = 0;
    struct cursor_type {
        const fickle_space* of;
        std::size_t at = 0;
        [[nodiscard]] std::optional<augur::decision> next() const { return of->next(augur::decision_vector(at)); }
        void choose(std::uint64_t) { ++at; }
        void describe(auto& sink) const { sink.number(static_cast<std::int64_t>(++of->calls % 5)); }
        [[nodiscard]] augur::decision_scale scale() const { return {static_cast<augur::decision_scale::kind>(++of->calls % 3), 64, 1, 64}; }
        void words(std::uint64_t value, auto& sink) const {
            if (++of->calls % 3 == 0) sink.name("none");
            else sink.number(static_cast<std::int64_t>((value + of->calls) % 7));
        }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item>) const {
            if (++of->calls % 4 == 0) return std::nullopt;
            return of->calls % of->width;
        }
    };
    [[nodiscard]] cursor_type cursor() const { return {this}; }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        if (p.size() == 3) return std::nullopt;
        return augur::decision{augur::decision_kind::other, width, 0, true};
    }
};
static_assert(augur::described_space<fickle_space>);

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

/// Proposes until nothing comes; all leaves of the space must have come then, each once.
template <class Strategy, class Space, class Score, class Latency>
void exhaust(Strategy strategy, const Space& space, std::size_t n, Score score, const Latency& latency) {
    auto scorer = toy::scorer_of(score);
    const auto leaves = toy::all_leaves(space);
    std::vector<augur::decision_vector> points;
    toy::measure_rounds(strategy, space, scorer, leaves.size() / n + 1, n, 3, latency, &points);
    CHECK(std::set<augur::decision_vector>(points.begin(), points.end()) == std::set<augur::decision_vector>(leaves.begin(), leaves.end()));
    augur::random_engine rng(1);
    const auto more = strategy.propose(space, scorer, n, rng);
    REQUIRE(more);
    CHECK(more->empty());
}

/// Proposes in spaces of other sizes and options by turns, twice in each: every proposal must be full, and its points legal and new.
template <class Strategy>
void alternate_spaces(Strategy strategy) {
    auto scorer = toy::scorer_of([](const augur::decision_vector& p) { return p.empty() ? 0.0 : -static_cast<double>(p[0]); });
    const std::vector<augur::autotvm_space> spaces{number_grid(3, 8), number_grid(3, 4), number_grid(2, 8), number_grid(4, 3),
                                                   *augur::autotvm_space::make({augur::autotvm_split_knob("a", 64, 4)})};
    std::set<augur::decision_vector> seen;
    for (std::uint64_t r = 0; r < 30; ++r) {
        const auto& space = spaces[r / 2 % spaces.size()];
        augur::random_engine rng(r);
        const auto points = strategy.propose(space, scorer, 5, rng);
        REQUIRE(points);
        CHECK(points->size() == 5);
        std::vector<augur::measured_decisions> back;
        for (const auto& p : *points) {
            REQUIRE(augur::trace_path(space, p));
            REQUIRE(seen.insert(p).second);
            back.push_back({p, 1 + static_cast<double>(p[0])});
        }
        strategy.observe(back);
    }
}

inline double best_of(const std::vector<double>& latencies) {
    double best = never;
    for (const double x : latencies) best = x < best ? x : best;
    return best;
}

} // namespace toy

#endif
