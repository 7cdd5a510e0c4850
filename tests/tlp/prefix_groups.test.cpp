// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlp/detail/prefix_groups.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <augur/core/random_engine.hpp>
#include <doctest/doctest.h>

namespace {

struct batch {
    std::vector<std::size_t> begin{0};
    std::vector<std::uint32_t> rows;
    std::vector<float> times;
    std::size_t distinct = 0;

    void add(const std::map<std::uint32_t, float>& bag) {
        for (const auto& [row, n] : bag) {
            rows.push_back(row);
            times.push_back(n);
            distinct = (std::max)(distinct, std::size_t{row} + 1);
        }
        begin.push_back(rows.size());
    }
};

/// Bags of three families: each has rows of its family (now and then one is missing, or there twice), and rows that few have.
batch families(std::size_t n, std::uint64_t seed) {
    batch b;
    augur::random_engine rng(seed);
    for (std::size_t i = 0; i < n; ++i) {
        const auto family = static_cast<std::uint32_t>(rng.below(3));
        std::map<std::uint32_t, float> bag;
        for (std::uint32_t r = 0; r < 12; ++r)
            if (rng.below(20) != 0) bag[r < 4 ? r : 12 * family + r] = rng.below(30) == 0 ? 2.0F : 1.0F;
        for (int r = 0; r < 5; ++r) bag[static_cast<std::uint32_t>(40 + rng.below(300))] = 1;
        b.add(bag);
    }
    return b;
}

using bag_of = std::map<std::uint32_t, float>;

bag_of sorted(const batch& b, std::span<const std::uint32_t> rows, std::span<const float> times, std::size_t c) {
    bag_of bag;
    for (std::size_t t = b.begin[c]; t < b.begin[c + 1]; ++t) bag[rows[t]] = times[t];
    return bag;
}

/// What the groups say must be so, whatever the choice of groups.
double check(const batch& b) {
    augur::tlp::detail::prefix_groups groups;
    groups.build(b.begin, b.rows, b.times, b.distinct);
    const std::size_t bags = b.begin.size() - 1;
    REQUIRE(groups.order().size() == bags);
    std::set<std::uint32_t> seen(groups.order().begin(), groups.order().end());
    CHECK(seen.size() == bags);
    std::size_t next = 0;
    double products = 0, plain = 0;
    for (const auto& g : groups.groups()) {
        CHECK(g.first == next);
        REQUIRE(g.last > g.first);
        CHECK(g.last - g.first <= augur::tlp::detail::prefix_groups::most);
        next = g.last;
        const std::size_t front = b.begin[groups.order()[g.first]];
        std::set<std::uint32_t> rows;
        for (std::uint32_t i = g.first; i < g.last; ++i) {
            const std::size_t c = groups.order()[i], n = b.begin[c + 1] - b.begin[c];
            REQUIRE(n >= g.shared);
            for (std::uint32_t s = 0; s < g.shared; ++s) {
                CHECK(groups.rows()[b.begin[c] + s] == groups.rows()[front + s]);
                CHECK(groups.times()[b.begin[c] + s] == groups.times()[front + s]);
            }
            CHECK(sorted(b, groups.rows(), groups.times(), c) == sorted(b, b.rows, b.times, c)); // the same bag in another order
            plain += static_cast<double>(n * n);
            products += static_cast<double>(n * (n - g.shared));
            for (const auto row : groups.rows().subspan(b.begin[c], n)) rows.insert(row);
        }
        products += static_cast<double>(g.shared * rows.size());
    }
    CHECK(next == bags);
    CHECK(groups.products() <= plain);
    if (plain > 0) CHECK(groups.products() >= 0.9 * products);
    return plain == 0 ? 1 : products / plain;
}

} // namespace

TEST_CASE("tlp frozen groups: every bag once, and what is said to be common is common") {
    CHECK(check(families(1000, 1)) < 0.7); // of 17 rows 4 to 12 are shared
    CHECK(check(families(9, 2)) <= 1);
    CHECK(check(families(1, 3)) == 1);
    batch none;
    check(none);
    batch odd; // empty bags, equal bags, bags without a row in common
    for (int i = 0; i < 20; ++i) odd.add({});
    for (int i = 0; i < 150; ++i) odd.add({{0, 1}, {1, 1}, {2, 3}, {3, 1}, {4, 1}});
    for (std::uint32_t i = 0; i < 50; ++i) odd.add({{5 + 2 * i, 1}, {6 + 2 * i, 1}});
    CHECK(check(odd) < 0.5);
}

TEST_CASE("tlp frozen groups: an object that has seen another batch gives the same groups") {
    const auto a = families(300, 4), b = families(200, 5);
    augur::tlp::detail::prefix_groups first, second;
    first.build(a.begin, a.rows, a.times, a.distinct);
    second.build(b.begin, b.rows, b.times, b.distinct);
    second.build(a.begin, a.rows, a.times, a.distinct);
    CHECK(std::equal(first.order().begin(), first.order().end(), second.order().begin(), second.order().end()));
    CHECK(std::equal(first.rows().begin(), first.rows().end(), second.rows().begin(), second.rows().end()));
    CHECK(first.groups().size() == second.groups().size());
    CHECK(first.products() == second.products());
}

TEST_CASE("tlp frozen groups: thin ones have few bags, in the same order, and groups that share stay whole") {
    auto b = families(200, 6);
    for (std::uint32_t i = 0; i < 70; ++i) b.add({{10000 + 2 * i, 1}, {10001 + 2 * i, 1}});
    augur::tlp::detail::prefix_groups whole, thin;
    whole.build(b.begin, b.rows, b.times, b.distinct);
    thin.build(b.begin, b.rows, b.times, b.distinct);
    thin.thin(10);
    CHECK(thin.groups().size() > whole.groups().size());
    std::uint32_t next = 0;
    std::size_t whole_at = 0;
    for (const auto& g : thin.groups()) {
        CHECK(g.first == next);
        next = g.last;
        while (whole.groups()[whole_at].last <= g.first) ++whole_at;
        const auto& of = whole.groups()[whole_at];
        CHECK(g.shared == of.shared);
        if (g.shared > 0) CHECK((g.first == of.first && g.last == of.last));
        if (g.shared == 0) CHECK(g.last - g.first <= 10 / 2 + 1); // a bag has two rows at least
    }
    CHECK(next == b.begin.size() - 1);
}
