// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/factorisation.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <augur/core/json.hpp>

namespace factorisation_test {

using augur::factorisation;
using lengths = std::vector<std::int64_t>;

namespace {

struct row {
    std::int64_t extent = 0;
    std::int64_t n_lengths = 0;
    std::int64_t max_innermost = 0;
    std::int64_t count = 0;
    std::vector<lengths> first;
    std::vector<lengths> last;
};

std::string slurp(const std::string& name) {
    std::ifstream in(std::string(AUGUR_TEST_DIR "/vectors/") + name);
    return {std::istreambuf_iterator<char>(in), {}};
}

void read_lists(augur::json_reader& in, std::vector<lengths>& out) {
    in.begin_array();
    while (in.next_element()) {
        auto& list = out.emplace_back();
        in.begin_array();
        while (in.next_element()) in.read(list.emplace_back());
    }
}

std::vector<row> read_rows(const std::string& text) {
    std::vector<row> rows;
    augur::json_reader in(text);
    std::string_view key;
    in.begin_object();
    while (in.next_member(key)) {
        if (key != "rows") {
            in.skip();
            continue;
        }
        in.begin_array();
        while (in.next_element()) {
            row& r = rows.emplace_back();
            in.begin_object();
            while (in.next_member(key)) {
                if (key == "extent") in.read(r.extent);
                else if (key == "n_lengths") in.read(r.n_lengths);
                else if (key == "max_innermost") in.read(r.max_innermost);
                else if (key == "count") in.read(r.count);
                else if (key == "first") read_lists(in, r.first);
                else if (key == "last") read_lists(in, r.last);
                else in.skip();
            }
        }
    }
    if (!in.finish()) FAIL(in.error().detail);
    return rows;
}

// All of them, by definition and not by counting.
void enumerate(std::int64_t rest, std::size_t left, std::int64_t limit, lengths& now, std::vector<lengths>& out) {
    if (left == 0) {
        if (now.back() <= limit) out.push_back(now);
        return;
    }
    for (std::int64_t d = 1; d <= rest; ++d) {
        if (rest % d != 0) continue;
        now.push_back(d);
        enumerate(rest / d, left - 1, limit, now, out);
        now.pop_back();
    }
}

} // namespace

TEST_CASE("factorisation: counts and order are Ansor's") {
    const auto text = slurp("ansor_factorisation_schemes.json");
    const auto rows = read_rows(text);
    REQUIRE(rows.size() == 57);
    for (const row& r : rows) {
        CAPTURE(r.extent);
        CAPTURE(r.n_lengths);
        const factorisation f(r.extent, static_cast<std::size_t>(r.n_lengths), r.max_innermost);
        REQUIRE(f.count() == static_cast<std::uint64_t>(r.count));
        for (std::size_t i = 0; i < r.first.size(); ++i) CHECK(f.lengths_of(i) == r.first[i]);
        for (std::size_t i = 0; i < r.last.size(); ++i) CHECK(f.lengths_of(f.count() - r.last.size() + i) == r.last[i]);
    }
}

TEST_CASE("factorisation: numbers and lengths are inverse, against plain enumeration") {
    for (const std::int64_t extent : {1, 2, 13, 36, 128, 210, 1024})
        for (const std::size_t k : {1U, 2U, 3U})
            for (const std::int64_t limit : {1, 7, 64, 5000}) {
                CAPTURE(extent);
                CAPTURE(k);
                CAPTURE(limit);
                std::vector<lengths> all;
                lengths now;
                enumerate(extent, k, limit, now, all);
                const factorisation f(extent, k, limit);
                REQUIRE(f.count() == all.size());
                for (std::size_t i = 0; i < all.size(); ++i) {
                    REQUIRE(f.lengths_of(i) == all[i]);
                    REQUIRE(f.index_of(all[i]) == i);
                }
            }
}

TEST_CASE("factorisation: lengths that are none of its own have no number") {
    const factorisation f(128, 3);
    CHECK(!f.index_of(lengths{1, 1}));
    CHECK(!f.index_of(lengths{3, 1, 1}));
    CHECK(!f.index_of(lengths{1, 1, 128})); // innermost too large
    CHECK(!f.index_of(lengths{64, 4, 1}));  // product does not divide
    CHECK(!f.index_of(lengths{0, 1, 1}));
    CHECK(!f.index_of(lengths{-1, 1, 1}));
}

TEST_CASE("factorisation: uniform is uniform") {
    const factorisation f(64, 2);
    augur::random_engine rng(3);
    std::vector<double> seen(f.count(), 0.0);
    const double each = 400;
    for (std::size_t i = 0; i < f.count() * 400; ++i) seen[f.uniform(rng)] += 1;
    double chi = 0;
    for (const double s : seen) chi += (s - each) * (s - each) / each;
    CHECK(f.count() == 28);
    CHECK(chi < 55.5); // chi-square with 27 degrees of freedom, p = 0.001
}

TEST_CASE("factorisation: a neighbour has one divisor moved, and neighbours reach everything") {
    for (const std::int64_t extent : {7, 64, 90, 1000}) {
        CAPTURE(extent);
        const factorisation f(extent, 2, 16);
        augur::random_engine rng(5);
        std::set<std::uint64_t> reached{f.count() - 1};
        std::vector<std::uint64_t> frontier{f.count() - 1};
        while (!frontier.empty()) {
            const auto at = frontier.back();
            frontier.pop_back();
            const auto before = f.lengths_of(at);
            for (int i = 0; i < 300; ++i) {
                const auto to = f.neighbour(at, rng);
                REQUIRE(to < f.count());
                const auto after = f.lengths_of(to);
                CHECK(after.back() <= 16);
                // Of the three levels, outermost included, at most two change, and their product stays.
                const lengths x{extent / (before[0] * before[1]), before[0], before[1]};
                const lengths y{extent / (after[0] * after[1]), after[0], after[1]};
                CHECK((x[0] == y[0]) + (x[1] == y[1]) + (x[2] == y[2]) >= 1);
                CHECK(y[0] * y[1] * y[2] == extent);
                if (reached.insert(to).second) frontier.push_back(to);
            }
        }
        CHECK(reached.size() == f.count());
    }
}

TEST_CASE("factorisation: an axis of one, and a large one") {
    augur::random_engine rng(1);
    const factorisation one(1, 3);
    CHECK(one.count() == 1);
    CHECK(one.neighbour(0, rng) == 0);
    const factorisation large(std::int64_t{735134400}, 3); // 1344 divisors
    for (int i = 0; i < 50; ++i) {
        const auto n = large.uniform(rng);
        const auto l = large.lengths_of(n);
        REQUIRE(735134400 % (l[0] * l[1] * l[2]) == 0);
        REQUIRE(large.index_of(l) == n);
    }
}

} // namespace factorisation_test
