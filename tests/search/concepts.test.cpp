// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/concepts.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace concepts_test {

namespace {

struct line { // one decision with ten options
    [[nodiscard]] static std::optional<augur::decision> next(std::span<const std::uint64_t> prefix) {
        if (!prefix.empty()) return {};
        return augur::decision{augur::decision_kind::other, 10, 0, true};
    }
};

struct archetype { // exactly the contract: in order, none twice, until the space is empty
    archetype() = default;
    archetype(const archetype&) = delete;
    augur::result<std::vector<augur::decision_vector>> propose(const line& space, augur::point_scorer auto& scorer, std::size_t n,
                                                               augur::random_engine&) {
        std::vector<augur::decision_vector> out;
        const auto first = space.next({});
        while (out.size() < n && at < first->options) out.push_back({at++});
        std::vector<float> scores(out.size());
        if (auto done = scorer(std::span<const augur::decision_vector>(out), std::span<float>(scores)); !done) return done.error();
        return out;
    }
    void observe(std::span<const augur::measured_decisions> points) { seen += points.size(); }
    std::uint64_t at = 0;
    std::size_t seen = 0;
};
struct deaf {
    static augur::result<std::vector<augur::decision_vector>> propose(const line&, auto&, std::size_t, augur::random_engine&);
};
struct loose { // proposes without saying when it failed
    static std::vector<augur::decision_vector> propose(const line&, auto&, std::size_t, augur::random_engine&);
    static void observe(std::span<const augur::measured_decisions>);
};
struct quiet_scorer {
    void operator()(std::span<const augur::decision_vector>, std::span<float>) const;
};

template <class Space, augur::search_strategy<Space> T>
std::size_t drain(T& strategy, const Space& space, augur::random_engine rng) {
    auto scorer = [](std::span<const augur::decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(points[i][0]);
        return {};
    };
    static_assert(augur::point_scorer<decltype(scorer)>);
    std::size_t trials = 0;
    for (;;) {
        auto points = strategy.propose(space, scorer, 4, rng);
        if (!points || (*points).empty()) return trials;
        trials += (*points).size();
        std::vector<augur::measured_decisions> measured;
        for (auto& p : *points) measured.push_back({std::move(p), 1.0});
        strategy.observe(measured);
    }
}

} // namespace

static_assert(augur::search_strategy<archetype, line> && !augur::search_strategy<archetype, int>);
static_assert(!augur::search_strategy<deaf, line> && !augur::search_strategy<loose, line>);
static_assert(!augur::point_scorer<quiet_scorer> && !augur::point_scorer<int>);

TEST_CASE("search_strategy: proposes until the space is empty and hears of every trial") {
    archetype strategy;
    CHECK(drain(strategy, line{}, augur::random_engine(1)) == 10);
    CHECK(strategy.seen == 10);
}

} // namespace concepts_test
