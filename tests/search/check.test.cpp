// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/check.hpp>

#include <doctest/doctest.h>

#include <string>

#include <augur/search/annealing.hpp>
#include <augur/search/evolutionary.hpp>
#include <augur/search/in_turn.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/random.hpp>

#include "../space/toy.hpp"

namespace check_strategy_test {

namespace {

using points = std::vector<augur::decision_vector>;

/// Lists the leaves in order; `fault` says how it breaks the contract.
struct faulty {
    enum kind { none, again, too_many, illegal, early, clock } fault = none;
    std::size_t at = 0, calls = 0;
    static inline std::size_t instances = 0;
    std::size_t instance = instances++;

    template <class Space, class F>
    augur::result<points> propose(const Space& space, F&, std::size_t n, augur::random_engine&) {
        points leaves, out;
        augur::for_each_leaf(space, 1'000'000,
                             [&](std::span<const std::uint64_t> leaf) { return leaves.emplace_back(leaf.begin(), leaf.end()), true; });
        if (fault == early && calls == 2) return out;
        if (fault == clock && calls == 1) at += instance % 2;
        if (fault == too_many) ++n;
        for (; out.size() < n && at < leaves.size(); ++at) out.push_back(leaves[at]);
        if (fault == again && calls == 1) out.front() = leaves[0];
        if (fault == illegal && calls == 1) out.front().back() = 1'000'000;
        ++calls;
        return out;
    }
    void observe(std::span<const augur::measured_decisions>) {}
};

std::string said(faulty::kind fault) {
    faulty::instances = 0;
    const auto checked = augur::testing::check_strategy([&] { return faulty{fault}; }, toy::grid{2, 6}, 1);
    return checked ? "" : checked.error().detail;
}

} // namespace

TEST_CASE("check_strategy: the strategies of the library keep the contract") {
    const auto all = [](const auto& space) {
        CHECK(augur::testing::check_strategy([] { return augur::random_search(); }, space, 1));
        augur::evolutionary_options few;
        few.population = 32, few.generations = 2;
        CHECK(augur::testing::check_strategy([&] { return augur::evolutionary<>(few); }, space, 2));
        augur::annealing_options short_walks;
        short_walks.walkers = 16, short_walks.iterations = 20;
        CHECK(augur::testing::check_strategy([&] { return augur::simulated_annealing<>(short_walks); }, space, 3));
        CHECK(augur::testing::check_strategy([&] { return augur::in_turn(augur::random_search(), 20, augur::evolutionary<>(few)); }, space, 4));
    };
    all(toy::space{});
    all(toy::grid{2, 7});
    all(toy::grid{8, 16}); // 2^32 points: it need not be used up
}

TEST_CASE("check_strategy: each breach is named") {
    CHECK(said(faulty::none).empty());
    CHECK(said(faulty::again).find("proposed twice, in proposal 2") != std::string::npos);
    CHECK(said(faulty::too_many).find("at most 8 points, got 9") != std::string::npos);
    CHECK(said(faulty::illegal).find("in proposal 2") != std::string::npos);
    CHECK(said(faulty::early).find("expected all 36 points of the space in the end, got 16") != std::string::npos);
    CHECK(said(faulty::clock).find("equal strategies, they differ, in proposal 2") != std::string::npos);
}

} // namespace check_strategy_test
