// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/space/walk.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <augur/space/check.hpp>
#include <augur/space/count.hpp>
#include <augur/space/mutate.hpp>

#include "toy.hpp"

namespace walk_test {

using augur::decision_kind;
using augur::decision_vector;

namespace {

// Every leaf with the chance that a uniform walk ends there; by recursion, without the library.
void leaves_of(const toy::space& s, decision_vector& now, double chance, bool all, std::map<decision_vector, double>& out) {
    const auto d = s.next(now);
    if (!d) {
        out[now] = chance;
        return;
    }
    for (std::uint64_t v = 0; v < d->options; ++v) {
        if (!all && !d->sampled && v != d->preferred) continue;
        now.push_back(v);
        leaves_of(s, now, d->sampled ? chance / static_cast<double>(d->options) : chance, all, out);
        now.pop_back();
    }
}

augur::mutation_weights everything() {
    augur::mutation_weights w;
    w.values.fill(1);
    return w;
}

struct with_cursor : toy::space { // the same tree, walked by a cursor
    struct walker {
        const toy::space* space;
        decision_vector at;
        std::optional<augur::decision> next() const { return space->next(at); }
        void choose(std::uint64_t v) { at.push_back(v); }
    };
    [[nodiscard]] walker cursor() const { return {this, {}}; }
};
struct broken_cursor : toy::space {
    struct walker {
        const toy::space* space;
        decision_vector at;
        std::optional<augur::decision> next() const { return space->next(at); }
        void choose(std::uint64_t) { at.push_back(0); }
    };
    [[nodiscard]] walker cursor() const { return {this, {}}; }
};
static_assert(augur::detail::offers_cursor<with_cursor> && !augur::detail::offers_cursor<toy::space>);

struct near_space : toy::grid { // neighbours differ by one
    [[nodiscard]] std::uint64_t neighbour(std::span<const std::uint64_t>, std::uint64_t v, augur::random_engine& rng) const {
        return rng.below(2) == 0 && v > 0 ? v - 1 : (v + 1 < width ? v + 1 : v - 1);
    }
};
struct far_neighbour : toy::grid {
    [[nodiscard]] std::uint64_t neighbour(std::span<const std::uint64_t>, std::uint64_t v, augur::random_engine&) const { return v + width; }
};
struct no_opinion : toy::grid {
    [[nodiscard]] std::uint64_t neighbour(std::span<const std::uint64_t>, std::uint64_t v, augur::random_engine&) const { return v; }
};
struct dead_end : toy::grid {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        auto d = toy::grid::next(p);
        if (d && p.size() == 3 && p[0] == width - 1) d->options = 0;
        return d;
    }
};
struct hidden_dead_end : toy::grid { // that random values hardly meet, but mutants do
    hidden_dead_end() { width = 1'000'000; }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        auto d = toy::grid::next(p);
        if (d && p.size() == 3 && p[0] == 7) d->options = 0;
        return d;
    }
    [[nodiscard]] std::uint64_t neighbour(std::span<const std::uint64_t>, std::uint64_t, augur::random_engine&) const { return 7; }
};
struct endless : toy::grid {
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t>) const { return augur::decision{}; }
};
struct lying_fingerprint : toy::grid {
    [[nodiscard]] std::uint64_t fingerprint(std::span<const std::uint64_t> d) const { return d[0]; }
};

} // namespace

TEST_CASE("sample_path: leaves come as often as the tree says") {
    const toy::space s;
    std::map<decision_vector, double> chance;
    decision_vector now;
    leaves_of(s, now, 1, false, chance);
    std::map<decision_vector, double> seen;
    augur::random_engine rng(11);
    const double n = 200000;
    for (int i = 0; i < 200000; ++i) seen[augur::sample_path(s, rng).values] += 1;
    double chi = 0;
    for (const auto& [leaf, p] : chance) chi += (seen[leaf] - n * p) * (seen[leaf] - n * p) / (n * p);
    CHECK(seen.size() == chance.size()); // and nothing else came
    const auto free = static_cast<double>(chance.size() - 1);
    CAPTURE(free);
    CHECK(chi < free + 3.3 * std::sqrt(2 * free)); // p about 0.001
}

TEST_CASE("sample_path: the cursor makes no difference") {
    const toy::space plain;
    const with_cursor fast;
    augur::random_engine a(4);
    augur::random_engine b(4);
    for (int i = 0; i < 200; ++i) {
        const auto x = augur::sample_path(plain, a);
        const auto y = augur::sample_path(fast, b);
        REQUIRE(x.values == y.values);
        REQUIRE(x.decisions == y.decisions);
    }
}

TEST_CASE("trace_path: legal vectors only, and it says why") {
    const toy::space s;
    augur::random_engine rng(2);
    const auto path = augur::sample_path(s, rng);
    auto again = augur::trace_path(s, path.values);
    REQUIRE(again);
    CHECK(again->values == path.values);
    CHECK(again->decisions == path.decisions);
    auto refused = [&](decision_vector v) {
        auto r = augur::trace_path(s, v);
        REQUIRE(!r);
        CHECK(r.error().code == augur::errc::illegal_schedule);
        return r.error().detail;
    };
    CHECK(refused({0, 0, 0}) == "expected a value for decision 3, the vector ends there");
    CHECK(refused({0, 0, 0, 4}) == "expected a value below 4 for decision 3, 4 came");
    CHECK(refused({0, 0, 0, 0, 0}) == "the space is decided after 4 values, 5 came");
}

TEST_CASE("mutate_path: legal, another point, and every leaf is reached") {
    const toy::space s;
    std::map<decision_vector, double> all;
    decision_vector now;
    leaves_of(s, now, 1, true, all);
    std::set<decision_vector> reached;
    augur::random_engine rng(7);
    auto at = augur::sample_path(s, rng);
    for (int i = 0; i < 40000; ++i) {
        auto to = augur::mutate_path(s, at, everything(), rng);
        REQUIRE(all.count(to.values) == 1);
        REQUIRE(to.values != at.values);
        at = std::move(to);
        reached.insert(at.values);
    }
    CHECK(reached.size() == all.size());
}

TEST_CASE("mutate_path: moves one decision and keeps the later ones where they are legal") {
    const toy::grid s;
    augur::random_engine rng(9);
    for (int i = 0; i < 500; ++i) {
        const auto a = augur::sample_path(s, rng);
        const auto b = augur::mutate_path(s, a, augur::mutation_weights::cpu(), rng);
        std::size_t moved = 0;
        for (std::size_t k = 0; k < a.values.size(); ++k) moved += a.values[k] != b.values[k] ? 1U : 0U;
        REQUIRE(moved == 1);
    }
}

TEST_CASE("mutate_path: kinds come by weight, absent and fixed ones drop out") {
    struct space {
        std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
            constexpr decision_kind kinds[] = {decision_kind::sketch,   decision_kind::tile_size, decision_kind::tile_size,
                                               decision_kind::unroll,   decision_kind::tile_size, decision_kind::compute_location,
                                               decision_kind::parallel, decision_kind::vectorize};
            if (p.size() == std::size(kinds)) return std::nullopt;
            return augur::decision{kinds[p.size()], p.size() == 4 ? 1U : 5U, 0, true};
        }
    } const s;
    augur::random_engine rng(21);
    const auto a = augur::sample_path(s, rng);
    const int n = 100000;
    std::map<std::size_t, double> moved;
    for (int i = 0; i < n; ++i) {
        const auto b = augur::mutate_path(s, a, augur::mutation_weights::cpu(), rng);
        for (std::size_t k = 0; k < a.values.size(); ++k)
            if (a.values[k] != b.values[k]) moved[k] += 1.0 / n;
    }
    CHECK(moved[0] == 0);
    CHECK(moved[1] == doctest::Approx(.45).epsilon(.02));
    CHECK(moved[2] == doctest::Approx(.45).epsilon(.02));
    CHECK(moved[3] == doctest::Approx(.04).epsilon(.1));
    CHECK(moved[4] == 0);
    CHECK(moved[5] == doctest::Approx(.05).epsilon(.1));
    CHECK(moved[6] == doctest::Approx(.01).epsilon(.2));
    CHECK(moved[7] == 0);
    for (int i = 0; i < n; ++i) {
        const auto b = augur::mutate_path(s, a, augur::mutation_weights::gpu(), rng);
        REQUIRE(b.values[5] == a.values[5]);
    }
    // Kinds that Ansor has not move beside those that it has.
    struct mixed {
        std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
            if (p.size() == 2) return std::nullopt;
            return augur::decision{p.empty() ? decision_kind::tile_size : decision_kind::other, 5, 0, true};
        }
    } const both;
    const auto point = augur::sample_path(both, rng);
    for (const auto& weights : {augur::mutation_weights::cpu(), augur::mutation_weights::gpu()}) {
        double others = 0;
        for (int i = 0; i < n; ++i) others += augur::mutate_path(both, point, weights, rng).values[1] != point.values[1] ? 1.0 / n : 0;
        CHECK(others == doctest::Approx(.1).epsilon(.05));
    }
    // A kind of one's own alone: every decision may move.
    struct plain {
        std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
            return p.size() == 3 ? std::nullopt : std::optional(augur::decision{decision_kind::other, 4, 0, true});
        }
    } const unclassified;
    const auto c = augur::sample_path(unclassified, rng);
    std::set<std::size_t> places;
    for (int i = 0; i < 100; ++i) {
        const auto d = augur::mutate_path(unclassified, c, augur::mutation_weights::cpu(), rng);
        for (std::size_t k = 0; k < 3; ++k)
            if (c.values[k] != d.values[k]) places.insert(k);
    }
    CHECK(places.size() == 3);
}

TEST_CASE("mutate_path: the space's own neighbours are used") {
    const near_space s;
    augur::random_engine rng(8);
    for (int i = 0; i < 300; ++i) {
        const auto a = augur::sample_path(s, rng);
        const auto b = augur::mutate_path(s, a, augur::mutation_weights::cpu(), rng);
        for (std::size_t k = 0; k < a.values.size(); ++k) {
            const auto far = a.values[k] > b.values[k] ? a.values[k] - b.values[k] : b.values[k] - a.values[k];
            REQUIRE(far <= 1);
        }
    }
    const no_opinion n;
    const auto a = augur::sample_path(n, rng);
    CHECK(augur::mutate_path(n, a, augur::mutation_weights::cpu(), rng).values != a.values);
}

TEST_CASE("mutate_path: a single leaf stays itself") {
    const toy::grid one{4, 1};
    augur::random_engine rng(1);
    const auto a = augur::sample_path(one, rng);
    CHECK(augur::mutate_path(one, a, augur::mutation_weights::cpu(), rng).values == a.values);
}

TEST_CASE("mutate_path: a decision that comes or goes does not shift the others") {
    struct space { // decision 0 says whether an unroll decision stands before the tiles
        std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
            if (p.empty()) return augur::decision{decision_kind::sketch, 2, 0, true};
            const std::size_t tiles = p.size() - 1 - (p[0] == 1 && p.size() > 1 ? 1 : 0);
            if (p[0] == 1 && p.size() == 1) return augur::decision{decision_kind::unroll, 3, 0, true};
            if (tiles < 3) return augur::decision{decision_kind::tile_size, 100, 0, true};
            return std::nullopt;
        }
    } const s;
    augur::mutation_weights sketch_only;
    sketch_only[decision_kind::sketch] = 1;
    augur::random_engine rng(1);
    auto a = augur::trace_path(s, decision_vector{0, 17, 34, 68});
    REQUIRE(a);
    const auto b = augur::mutate_path(s, *a, sketch_only, rng);
    REQUIRE(b.values.size() == 5);
    CHECK(b.values[0] == 1);
    CHECK(decision_vector(b.values.begin() + 2, b.values.end()) == decision_vector{17, 34, 68});
}

TEST_CASE("cross_paths: values of the parents, legal") {
    const toy::grid g{8, 1000};
    augur::random_engine rng(6);
    const auto a = augur::sample_path(g, rng);
    const auto b = augur::sample_path(g, rng);
    double from_a = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto c = augur::cross_paths(g, a, b, rng);
        for (std::size_t k = 0; k < 8; ++k) {
            REQUIRE((c.values[k] == a.values[k] || c.values[k] == b.values[k]));
            from_a += c.values[k] == a.values[k] ? 1.0 / 8000 : 0;
        }
    }
    CHECK(from_a == doctest::Approx(.5).epsilon(.05));
    const toy::space s;
    for (int i = 0; i < 2000; ++i) {
        const auto c = augur::cross_paths(s, augur::sample_path(s, rng), augur::sample_path(s, rng), rng);
        REQUIRE(augur::trace_path(s, c.values));
    }
}

TEST_CASE("count_leaves: exact on small spaces, an honest estimate on large ones") {
    const toy::space s;
    std::map<decision_vector, double> all;
    decision_vector now;
    leaves_of(s, now, 1, true, all);
    augur::random_engine rng(5);
    const auto exact = augur::count_leaves(s, rng);
    CHECK(exact.exact);
    CHECK(exact.leaves == static_cast<double>(all.size()));
    CHECK(exact.standard_error == 0);
    // 95 % of the estimates lie within two standard errors.
    int inside = 0;
    for (int i = 0; i < 200; ++i) {
        const auto guess = augur::count_leaves(s, rng, 10, 500);
        REQUIRE(!guess.exact);
        inside += std::abs(guess.leaves - exact.leaves) < 2 * guess.standard_error ? 1 : 0;
    }
    CHECK(inside >= 178);
    const auto big = augur::count_leaves(toy::grid{12, 1000}, rng, 1000, 10);
    CHECK(big.leaves == doctest::Approx(1e36));
    CHECK(big.standard_error == doctest::Approx(0).scale(1e30));
}

TEST_CASE("for_each_leaf: every leaf once, in order") {
    const toy::space s;
    std::map<decision_vector, double> all;
    decision_vector now;
    leaves_of(s, now, 1, true, all);
    std::vector<decision_vector> seen;
    CHECK(augur::for_each_leaf(s, 100000, [&](std::span<const std::uint64_t> v) {
        seen.emplace_back(v.begin(), v.end());
        return true;
    }));
    REQUIRE(seen.size() == all.size());
    std::size_t i = 0;
    for (const auto& [leaf, chance] : all) CHECK(seen[i++] == leaf);
    CHECK(!augur::for_each_leaf(s, 100000, [](std::span<const std::uint64_t>) { return false; }));
}

TEST_CASE("a decision without options: walks end there, their points are refused, and no leaf is behind it") {
    dead_end s; // 3 x 3 x 3 x 3; nothing behind the last value of the first decision
    s.levels = 4;
    s.width = 3;
    augur::random_engine rng(12);
    const auto expected_size = [](const augur::decision_path& path) { return path.values[0] == 2 ? std::size_t{3} : std::size_t{4}; };
    std::size_t ended = 0;
    for (int i = 0; i < 300; ++i) {
        const auto path = augur::sample_path(s, rng);
        REQUIRE(path.values.size() == expected_size(path));
        REQUIRE(path.decisions.size() == path.values.size());
        const auto traced = augur::trace_path(s, path.values);
        REQUIRE(traced.has_value() == (path.values[0] != 2));
        if (!traced) {
            ++ended;
            CHECK(traced.error().code == augur::errc::illegal_schedule);
            CHECK(traced.error().detail == "expected at least one option for decision 3, the space gave none");
            continue;
        }
        const auto mutant = augur::mutate_path(s, path, everything(), rng);
        REQUIRE(mutant.values.size() == expected_size(mutant));
        const auto crossed = augur::cross_paths(s, path, mutant, rng);
        REQUIRE(crossed.values.size() == expected_size(crossed));
    }
    CHECK(ended > 50);
    CHECK(ended < 150);
    std::size_t leaves = 0;
    CHECK(augur::for_each_leaf(s, 100000, [&](std::span<const std::uint64_t> values) {
        CHECK(values.size() == 4);
        return ++leaves, true;
    }));
    CHECK(leaves == 2 * 27);
    CHECK(augur::count_leaves(s, rng).leaves == 2 * 27);
    const auto guess = augur::count_leaves(s, rng, 10, 20000);
    REQUIRE(!guess.exact);
    CHECK(std::abs(guess.leaves - 2 * 27) < 4 * guess.standard_error);
}

TEST_CASE("hash_decisions: tells order, length and value") {
    std::set<std::uint64_t> hashes;
    for (std::uint64_t a = 0; a < 40; ++a)
        for (std::uint64_t b = 0; b < 40; ++b) {
            hashes.insert(augur::hash_decisions(decision_vector{a, b}));
            hashes.insert(augur::hash_decisions(decision_vector{a, b, 0}));
        }
    CHECK(hashes.size() == 3200);
    static_assert(augur::hash_decisions({}) != 0);
}

TEST_CASE("check_space: passes what is sound, names what is not") {
    augur::random_engine rng(1);
    CHECK(augur::testing::check_space<toy::schedule>(toy::space{}, rng));
    CHECK(augur::testing::check_space<toy::schedule>(with_cursor{}, rng));
    CHECK(augur::testing::check_space<toy::schedule>(near_space{}, rng));
    CHECK(augur::testing::check_space<toy::schedule>(no_opinion{}, rng));
    auto says = [&](const auto& space, const char* what) {
        auto r = augur::testing::check_space<toy::schedule>(space, rng, 200, 100);
        REQUIRE(!r);
        CAPTURE(r.error().detail);
        CHECK(r.error().detail.find(what) != std::string::npos);
    };
    says(broken_cursor{}, "the cursor and next gave different decisions");
    says(far_neighbour{}, "neighbour gave a value outside");
    says(dead_end{}, "without options");
    says(hidden_dead_end{}, "expected at least one option for decision 3, the space gave none");
    says(endless{}, "no end after 100 decisions");
    says(lying_fingerprint{}, "the same fingerprint as");
}

} // namespace walk_test
