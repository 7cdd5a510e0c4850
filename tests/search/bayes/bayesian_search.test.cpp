// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/search/bayes/bayesian_search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/search/random.hpp>
#include <augur/space/count.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/replay_runner.hpp>
#include <augur/tune/tuner.hpp>

#include "../../space/toy.hpp"
#include "../landscapes.hpp"
#include "../threads.hpp"

namespace bayesian_search_test {

using augur::acquisition;
using augur::bayesian_options;
using augur::bayesian_search;
using augur::decision_vector;
using augur::measured_decisions;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr acquisition all_acquisitions[] = {acquisition::log_expected_improvement, acquisition::upper_confidence_bound,
                                            acquisition::monte_carlo_improvement};

/// Matrix product like tiles: three factorisations, an unroll depth and a variant, 10^8 points.
struct tiles {
    augur::factorisation axis{1024, 3};
    class cursor_type {
    public:
        explicit cursor_type(const tiles& of) : of_(&of) {}
        [[nodiscard]] std::optional<augur::decision> next() const {
            if (at_ == 5) return std::nullopt;
            return augur::decision{augur::decision_kind::tile_size, at_ < 3 ? of_->axis.count() : at_ == 3 ? 5U : 4U, 0, true};
        }
        void choose(std::uint64_t) { ++at_; }
        void describe(auto& sink) const {
            sink.primitive(at_ < 3 ? "tile" : at_ == 3 ? "unroll" : "variant");
            sink.number(at_);
        }
        [[nodiscard]] augur::decision_scale scale() const {
            using kind = augur::decision_scale::kind;
            if (at_ < 3) return {kind::factorisation, 1024, 3, 1024};
            return {at_ == 3 ? kind::ordinal : kind::categorical};
        }
        void words(std::uint64_t value, auto& sink) const {
            if (at_ >= 3) return sink.number(at_ == 3 ? std::int64_t{1} << (2 * value) : static_cast<std::int64_t>(value));
            std::int64_t lengths[3];
            of_->axis.lengths_of(value, lengths);
            for (const auto l : lengths) sink.number(l);
        }
        [[nodiscard]] std::optional<std::uint64_t> nearest(std::span<const augur::schedule_item>) const { return std::nullopt; }

    private:
        const tiles* of_;
        std::uint64_t at_ = 0;
    };
    [[nodiscard]] cursor_type cursor() const { return cursor_type(*this); }
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        cursor_type c(*this);
        for (const auto v : p) c.choose(v);
        return c.next();
    }
    /// Seconds: a bowl in the logarithms around a best tiling, dearer for three of the variants.
    [[nodiscard]] double latency(const decision_vector& p) const {
        double sum = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            std::int64_t lengths[3];
            axis.lengths_of(p[a], lengths);
            for (std::size_t i = 0; i < 3; ++i) {
                const double d = std::log2(static_cast<double>(lengths[i])) - static_cast<double>(1 + (a + 2 * i) % 4);
                sum += 0.03 * static_cast<double>(1 + a) * d * d;
            }
        }
        sum += 0.1 * std::abs(static_cast<double>(p[3]) - 3) + (p[4] == 2 ? 0 : 0.3);
        return 1e-3 * std::exp(sum);
    }
};

static_assert(augur::described_space<tiles>);
static_assert(augur::search_strategy<bayesian_search<>, tiles>);
static_assert(augur::search_strategy<bayesian_search<>, toy::described_space>);
static_assert(augur::search_strategy<bayesian_search<>, augur::recorded_space>);

bayesian_options small(acquisition by = acquisition::log_expected_improvement) {
    bayesian_options o;
    o.by = by;
    o.candidates = 400;
    o.initial = 8;
    o.samples = 64;
    return o;
}

augur::constant_scorer flat;

/// Proposes and observes; every proposal is checked against the law of a strategy.
template <class Strategy, class Space, class Latency, class Scorer>
std::vector<measured_decisions> run(Strategy& strategy, const Space& space, std::size_t rounds, std::size_t n, std::uint64_t seed, Latency latency,
                                    Scorer& scorer) {
    std::vector<measured_decisions> all;
    std::set<decision_vector> seen;
    for (std::size_t r = 0; r < rounds; ++r) {
        auto rng = augur::random_engine(seed).stream(r);
        const auto points = strategy.propose(space, scorer, n, rng);
        REQUIRE(points);
        REQUIRE(points->size() <= n);
        std::vector<measured_decisions> back;
        for (const auto& p : *points) {
            REQUIRE(augur::trace_path(space, p));
            REQUIRE(seen.insert(p).second);
            back.push_back({p, latency(p)});
        }
        strategy.observe(back);
        all.insert(all.end(), back.begin(), back.end());
    }
    return all;
}
template <class Strategy, class Space, class Latency>
std::vector<measured_decisions> run(Strategy& strategy, const Space& space, std::size_t rounds, std::size_t n, std::uint64_t seed, Latency latency) {
    return run(strategy, space, rounds, n, seed, latency, flat);
}

double best_of(const std::vector<measured_decisions>& points) {
    double best = infinity;
    for (const auto& p : points)
        if (p.latency > 0) best = (std::min)(best, p.latency); // false for NaN
    return best;
}
std::vector<decision_vector> decisions_of(const std::vector<measured_decisions>& points) {
    std::vector<decision_vector> out;
    for (const auto& p : points) out.push_back(p.decisions);
    return out;
}
std::size_t size_of(const toy::described_space& space) {
    std::size_t n = 0;
    augur::for_each_leaf(space, 100000, [&](std::span<const std::uint64_t>) { return ++n, true; });
    return n;
}

} // namespace

TEST_CASE("bayesian_search: beats random search in a space of 10^8 points, by every acquisition") {
    const tiles space;
    const auto latency = [&](const decision_vector& p) { return space.latency(p); };
    CHECK(std::pow(static_cast<double>(space.axis.count()), 3) * 20 > 1e8);
    for (const auto by : all_acquisitions) {
        double logs = 0;
        int wins = 0;
        const std::uint64_t seeds = 20;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            bayesian_search<> search(small(by));
            augur::random_search random;
            const double ours = best_of(run(search, space, 5, 8, seed, latency)), theirs = best_of(run(random, space, 5, 8, seed, latency));
            wins += ours < theirs ? 1 : 0;
            logs += std::log(ours / theirs);
        }
        CHECK(wins >= 16); // of a fair coin with a chance of 6e-3
        CHECK(std::exp(logs / static_cast<double>(seeds)) < 0.8);
        MESSAGE("wins " << wins << ", ratio " << std::exp(logs / static_cast<double>(seeds)));
    }
}

TEST_CASE("bayesian_search: beats random search on recorded points, whose options depend on the prefix") {
    std::vector<augur::configuration> records;
    for (std::int64_t x : {1, 2, 4, 8, 16, 32, 64, 128, 256})
        for (std::int64_t y : {1, 2, 4, 8, 16, 32})
            for (std::int64_t z : {0, 1, 2, 4, 8})
                for (const char* layout : {"row", "column", "tiled"})
                    if (x * y >= 16 && x * y <= 1024) records.push_back({{{"x", x}, {"y", y}, {"unroll", z}, {"layout", std::string(layout)}}});
    const auto space = augur::recorded_space::build(records);
    REQUIRE(space);
    const auto latency = [&](const decision_vector& p) {
        const auto c = space->realise(p);
        const auto number = [&](std::size_t i) { return static_cast<double>(*std::get_if<std::int64_t>(&c->parameters[i].value)); };
        const double x = std::log2(number(0)), y = std::log2(number(1));
        const std::string& layout = *std::get_if<std::string>(&c->parameters[3].value);
        return std::exp(0.2 * std::pow(x - 6, 2) + 0.3 * std::pow(y - 1, 2) + 0.1 * std::abs(number(2) - 4) + (layout == "tiled" ? 0 : 0.4));
    };
    double logs = 0;
    int wins = 0, losses = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        bayesian_search<> search(small());
        augur::random_search random;
        const double ours = best_of(run(search, *space, 5, 8, seed, latency)), theirs = best_of(run(random, *space, 5, 8, seed, latency));
        wins += ours < theirs ? 1 : 0;
        losses += ours > theirs ? 1 : 0;
        logs += std::log(ours / theirs);
    }
    MESSAGE("wins " << wins << ", losses " << losses << ", ratio " << std::exp(logs / 20));
    CHECK(wins >= 15);
    CHECK(losses <= 2);
    CHECK(std::exp(logs / 20) < 0.85);
}

TEST_CASE("bayesian_search: how slow a slow point is does not matter") {
    const tiles space;
    std::vector<decision_vector> proposed[3];
    for (const auto& [times, out] : {std::pair{3.0, &proposed[0]}, {300.0, &proposed[1]}, {1.2, &proposed[2]}}) {
        const auto latency = [&, slow = times](const decision_vector& p) { // a factor of e is 2.718
            const double l = space.latency(p);
            return p[3] % 2 == 1 ? slow * (1 + 0.1 / (1 + l)) : 1 - 0.1 / (1 + l);
        };
        bayesian_search<> search(small());
        *out = decisions_of(run(search, space, 4, 8, 3, latency));
    }
    CHECK(proposed[0] == proposed[1]);
    CHECK(proposed[0] != proposed[2]);
}

TEST_CASE("bayesian_search: the number of threads changes nothing") {
    const tiles space;
    const auto latency = [&](const decision_vector& p) { return p[3] == 4 ? infinity : space.latency(p); };
    for (const auto by : all_acquisitions) {
        bayesian_search<> one(small(by));
        const auto reference = decisions_of(run(one, space, 3, 10, 3, latency));
        for (const std::size_t n : {2U, 5U}) {
            toy::threads pool{n};
            bayesian_search<toy::threads> many(small(by), pool);
            CHECK(decisions_of(run(many, space, 3, 10, 3, latency)) == reference);
        }
    }
}

TEST_CASE("bayesian_search: a search that only observes what another one did goes on as that one") {
    const tiles space;
    const auto latency = [&](const decision_vector& p) { return p[3] == 4 ? infinity : space.latency(p); };
    bayesian_search<> whole(small()), resumed(small());
    const auto before = run(whole, space, 4, 8, 5, latency);
    for (const auto& p : before) resumed.observe(std::span(&p, 1));
    auto a = augur::random_engine(77), b = a;
    const auto next = whole.propose(space, flat, 8, a), same = resumed.propose(space, flat, 8, b);
    REQUIRE(next);
    REQUIRE(same);
    CHECK(*next == *same);
}

TEST_CASE("bayesian_search: the choice is that of a full pass, and of one point that of the highest acquisition") {
    // Greedy choice by hand from the public parts, over the whole space as candidates; the last `local` points among those one decision away from the
    // fastest known one.
    const toy::described_space space;
    std::vector<decision_vector> all;
    augur::for_each_leaf(space, 100000, [&](std::span<const std::uint64_t> p) { return all.emplace_back(p.begin(), p.end()), true; });
    augur::random_engine rng(1);
    std::vector<measured_decisions> known;
    for (std::size_t i = 0; i < all.size(); i += 9)
        known.push_back({all[i], 1 + 0.1 * static_cast<double>(all[i][1] * all[i][1]) + 0.3 * static_cast<double>(all[i][0])});
    const auto fastest = std::min_element(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.latency < b.latency; })->decisions;
    const auto is_near = [&](const decision_vector& p) {
        return p.size() == fastest.size() && std::inner_product(p.begin(), p.end(), fastest.begin(), 0, std::plus<>(), std::not_equal_to<>()) == 1;
    };
    for (const auto& [by, share] : {std::pair{acquisition::log_expected_improvement, 0.0},
                                    {acquisition::log_expected_improvement, 0.5},
                                    {acquisition::upper_confidence_bound, 0.0},
                                    {acquisition::upper_confidence_bound, 1.0}}) {
        bayesian_options o = small(by);
        o.range = infinity;
        o.local = share;
        bayesian_search<> search(o);
        search.observe(known);
        const auto chosen = search.propose(space, flat, 6, rng);
        REQUIRE(chosen);
        REQUIRE(chosen->size() == 6);
        CHECK(search.report().points == known.size());

        std::vector<decision_vector> left;
        for (const auto& p : all) {
            if (std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.decisions == p; })) left.push_back(p);
        }
        CHECK(search.report().candidates == left.size());
        std::vector<augur::word_features> words;
        for (const auto& k : known) words.push_back(*augur::features_of_words(space, k.decisions));
        for (const auto& p : left) words.push_back(*augur::features_of_words(space, p));
        const auto encoded = augur::encode(words);
        const auto n = static_cast<Eigen::Index>(known.size());
        Eigen::VectorXd y(n);
        for (Eigen::Index i = 0; i < n; ++i) y[i] = -std::log(known[static_cast<std::size_t>(i)].latency);
        const double shift = y.mean();
        y = (y.array() - shift).eval();
        const double scale = std::sqrt(y.squaredNorm() / static_cast<double>(n));
        y /= scale;
        // The measured points bring up all columns, in the same order.
        const auto fitted = augur::fit_hyperparameters(encoded.points.leftCols(n), y, augur::gp_priors::unit_cube(encoded.points.rows()));
        REQUIRE(fitted);
        auto process = augur::gaussian_process::create(encoded.points.leftCols(n), y, fitted->parameters);
        REQUIRE(process);
        const Eigen::MatrixXd inputs = encoded.points.rightCols(static_cast<Eigen::Index>(left.size()));
        // What the search expects of a point is the posterior mean; of what it did not propose it says nothing.
        const Eigen::VectorXd means = process->posterior(inputs).mean;
        for (std::size_t c = 0; c < left.size(); ++c) {
            if (std::find(chosen->begin(), chosen->end(), left[c]) == chosen->end()) CHECK(search.expected_latency(left[c]) == infinity);
            else
                CHECK(search.expected_latency(left[c]) ==
                      doctest::Approx(std::exp(-shift - scale * means[static_cast<Eigen::Index>(c)])).epsilon(1e-6));
        }
        const auto n_known = known.size();
        const auto local =
            static_cast<std::size_t>(share * static_cast<double>(n_known + 6)) - static_cast<std::size_t>(share * static_cast<double>(n_known));
        for (const auto& p : *chosen) {
            const auto place = static_cast<std::size_t>(std::find(chosen->begin(), chosen->end(), p) - chosen->begin());
            const auto untaken = [&](const decision_vector& q) {
                return std::find(chosen->begin(), chosen->end(), q) >= chosen->begin() + static_cast<std::ptrdiff_t>(place);
            };
            const bool nearby = place >= 6 - local && std::any_of(left.begin(), left.end(), [&](const auto& q) { return untaken(q) && is_near(q); });
            const auto posterior = process->posterior(inputs);
            double highest = -infinity, own = -infinity;
            Eigen::Index at = -1;
            for (std::size_t c = 0; c < left.size(); ++c) {
                const auto i = static_cast<Eigen::Index>(c);
                const double sd = std::sqrt(posterior.variance[i]);
                const double value = by == acquisition::upper_confidence_bound ? augur::upper_confidence_bound(posterior.mean[i], sd, o.beta)
                                                                               : augur::log_expected_improvement(posterior.mean[i], sd, y.maxCoeff());
                if (untaken(left[c]) && (!nearby || is_near(left[c]))) highest = (std::max)(highest, value);
                if (left[c] == p) own = value, at = i;
            }
            REQUIRE(at >= 0);
            CHECK(own >= highest - 1e-9);
            if (nearby) CHECK(is_near(p));
            REQUIRE(process->add(inputs.col(at), posterior.mean[at]));
        }
    }
}

TEST_CASE("bayesian_search: a batch by qEI is worth more than the points that are best alone") {
    const toy::described_space space;
    std::vector<decision_vector> all;
    augur::for_each_leaf(space, 100000, [&](std::span<const std::uint64_t> p) { return all.emplace_back(p.begin(), p.end()), true; });
    std::vector<measured_decisions> known;
    for (std::size_t i = 0; i < all.size(); i += 13)
        known.push_back({all[i], 1 + 0.1 * static_cast<double>(all[i][1] * all[i][1]) + 0.3 * static_cast<double>(all[i][0])});
    bayesian_options o = small(acquisition::monte_carlo_improvement);
    o.range = infinity;
    o.samples = 2000;
    bayesian_search<> search(o);
    search.observe(known);
    augur::random_engine rng(1);
    const auto chosen = search.propose(space, flat, 4, rng);
    REQUIRE(chosen);
    REQUIRE(chosen->size() == 4);

    std::vector<augur::word_features> words;
    for (const auto& k : known) words.push_back(*augur::features_of_words(space, k.decisions));
    std::vector<decision_vector> left = *chosen;
    for (const auto& p : all)
        if (std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.decisions == p; }) &&
            std::find(chosen->begin(), chosen->end(), p) == chosen->end())
            left.push_back(p);
    for (const auto& p : left) words.push_back(*augur::features_of_words(space, p));
    const auto encoded = augur::encode(words);
    const auto n = static_cast<Eigen::Index>(known.size());
    Eigen::VectorXd y(n);
    for (Eigen::Index i = 0; i < n; ++i) y[i] = -std::log(known[static_cast<std::size_t>(i)].latency);
    y = (y.array() - y.mean()).eval();
    y /= std::sqrt(y.squaredNorm() / static_cast<double>(n));
    const auto process = augur::gaussian_process::create(encoded.points.leftCols(n), y, search.report().latency);
    REQUIRE(process);
    const Eigen::MatrixXd inputs = encoded.points.rightCols(static_cast<Eigen::Index>(left.size())); // the chosen ones first
    const auto posterior = process->posterior(inputs);
    std::vector<std::pair<double, Eigen::Index>> alone;
    for (Eigen::Index i = 0; i < inputs.cols(); ++i)
        alone.emplace_back(augur::expected_improvement(posterior.mean[i], std::sqrt(posterior.variance[i]), y.maxCoeff()), i);
    std::sort(alone.rbegin(), alone.rend());
    const Eigen::MatrixXd normals = augur::standard_normals(4, 100000, rng); // others than the search had
    const auto worth = [&](const std::vector<Eigen::Index>& batch) {
        const auto value =
            augur::monte_carlo_expected_improvement(posterior.mean(batch), process->covariance(inputs(Eigen::all, batch)), y.maxCoeff(), normals);
        REQUIRE(value);
        return *value;
    };
    const double ours = worth({0, 1, 2, 3}), best_alone = worth({alone[0].second, alone[1].second, alone[2].second, alone[3].second});
    CHECK(ours > 1.1 * best_alone);
    double best_random = 0;
    for (int i = 0; i < 200; ++i) {
        std::vector<Eigen::Index> batch;
        while (batch.size() < 4) batch.push_back(alone[static_cast<std::size_t>(rng.below(40))].second);
        best_random = (std::max)(best_random, worth(batch));
    }
    MESSAGE("qEI " << ours << ", best alone " << best_alone << ", best of 200 drawn from the best 40 " << best_random);
    CHECK(ours > best_random);
}

TEST_CASE("bayesian_search: a space that is used up, smaller than the batch, or of one point") {
    const toy::described_space space{{12, 6}};
    const std::size_t all = size_of(space);
    for (const auto by : all_acquisitions) {
        bayesian_search<> search(small(by));
        const auto points = run(search, space, all / 7 + 8, 7, 1, [](const decision_vector& p) { return 1.0 + static_cast<double>(p[1]); });
        CHECK(points.size() == all);
        auto rng = augur::random_engine(1);
        CHECK(search.propose(space, flat, 7, rng)->empty());
        bayesian_search<> at_once(small(by));
        CHECK(run(at_once, space, 1, 10000, 1, [](const decision_vector&) { return 1.0; }).size() == all);
        bayesian_search<> two(small(by)); // initial points, then more than are left
        run(two, space, 1, 10, 1, [](const decision_vector& p) { return 1.0 + static_cast<double>(p[1]); });
        CHECK(two.propose(space, flat, 10000, rng)->size() == all - 10);
    }
    const std::vector<augur::configuration> record{{{{"only", std::int64_t{1}}}}};
    const auto one = augur::recorded_space::build(record);
    REQUIRE(one);
    bayesian_options o = small();
    o.initial = 1;
    bayesian_search<> search(o);
    CHECK(run(search, *one, 3, 4, 1, [](const decision_vector&) { return 1.0; }).size() == 1);
    auto rng = augur::random_engine(1);
    CHECK(search.propose(*one, flat, 0, rng)->empty());
}

TEST_CASE("bayesian_search: walks that meet a decision without options are no points") {
    struct half_space : toy::described_space { // behind its second sketch
        static std::optional<augur::decision> cut(std::optional<augur::decision> d, bool dead) {
            if (d && dead) d->options = 0;
            return d;
        }
        [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
            return cut(toy::described_space::next(p), p.size() == 1 && p[0] == 1);
        }
        struct cursor_type : toy::described_space::cursor_type {
            using toy::described_space::cursor_type::cursor_type;
            std::vector<std::uint64_t> chosen;
            [[nodiscard]] std::optional<augur::decision> next() const {
                return cut(toy::described_space::cursor_type::next(), chosen.size() == 1 && chosen[0] == 1);
            }
            void choose(std::uint64_t value) {
                chosen.push_back(value);
                toy::described_space::cursor_type::choose(value);
            }
        };
        [[nodiscard]] cursor_type cursor() const { return cursor_type(*this); }
    };
    static_assert(augur::described_space<half_space>);
    const half_space space;
    std::size_t all = 0;
    augur::for_each_leaf(static_cast<const toy::space&>(space), 100'000, [&](std::span<const std::uint64_t> p) { return all += 1 - p[0], true; });
    REQUIRE(all > 20);
    bayesian_options o = small();
    o.initial = 4;
    bayesian_search<> search(o);
    std::set<decision_vector> points;
    for (std::size_t r = 0; r < all; ++r) {
        auto rng = augur::random_engine(1).stream(r);
        const auto proposed = search.propose(space, flat, 4, rng);
        REQUIRE(proposed);
        std::vector<measured_decisions> back;
        for (const auto& p : *proposed) {
            if (augur::trace_path(space, p)) CHECK(points.insert(p).second);
            back.push_back({p, p.size() < 2 ? infinity : 1.0 + static_cast<double>(p[1])}); // drawn: a walk that ended early fails
        }
        search.observe(back);
    }
    CHECK(points.size() == all);
}

TEST_CASE("bayesian_search: equal latencies, only failures, NaN, 0 and negative latencies, one success") {
    const tiles space;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto by : all_acquisitions)
        for (const double latency : {1.0, infinity, nan, 0.0, -1.0}) {
            bayesian_search<> search(small(by));
            const auto points = run(search, space, 4, 8, 2, [&](const decision_vector&) { return latency; });
            CHECK(points.size() == 32);
            CHECK(search.report().points == (latency == 1 ? 24U : 0U));
            CHECK(search.report().failures == (latency == 1 ? 0U : 24U));
        }
    bayesian_search<> search(small());
    std::size_t calls = 0;
    CHECK(run(search, space, 4, 8, 2, [&](const decision_vector&) { return ++calls == 3 ? 1.0 : infinity; }).size() == 32);
    CHECK(search.report().failures == 23);
}

TEST_CASE("bayesian_search: one point twice with two timings, once with a failure, and points of another space") {
    const tiles space;
    bayesian_search<> search(small());
    std::vector<measured_decisions> known;
    augur::random_engine rng(4);
    for (int i = 0; i < 20; ++i) {
        const auto p = augur::sample_path(space, rng).values;
        known.push_back({p, space.latency(p)});
        known.push_back({p, 1.1 * space.latency(p)});
        if (i % 5 == 0) known.push_back({p, infinity});
    }
    known.push_back({{1, 2, 3}, 1e-9});
    known.push_back({{0, 0, 0, 0, 99}, 1e-9});
    search.observe(known);
    const auto points = search.propose(space, flat, 8, rng);
    REQUIRE(points);
    CHECK(points->size() == 8);
    for (const auto& p : *points) CHECK(std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.decisions == p; }));
    CHECK(search.report().points == 40);
    CHECK(search.report().failures == 4);
    CHECK(search.report().foreign == 2);
}

TEST_CASE("bayesian_search: words and points count as the space has them now, whatever it was before") {
    const auto wide = toy::number_grid(2, 8), narrow = toy::number_grid(2, 4);
    std::vector<measured_decisions> known;
    for (std::uint64_t a = 0; a < 8; a += 2)
        for (std::uint64_t b = 0; b < 8; b += 2)
            known.push_back({{a, b}, 1 + 0.3 * std::abs(static_cast<double>(a) - 5) + 0.1 * static_cast<double>(b)});
    augur::random_engine rng(1);
    bayesian_search<> search(small());
    search.observe(known);
    REQUIRE(search.propose(narrow, flat, 2, rng));
    CHECK(search.report().foreign == 12);
    REQUIRE(search.propose(wide, flat, 2, rng));
    CHECK(search.report().foreign == 0);
    CHECK(search.report().points == 16);

    // The same tree in other words: the proposal is that of a search that has never heard of the first ones.
    std::vector<augur::autotvm_knob_space> knobs{toy::number_knob("a", 8), toy::number_knob("c", 8)};
    std::reverse(knobs[0].options.begin(), knobs[0].options.end());
    const auto renamed = augur::autotvm_space::make(std::move(knobs));
    REQUIRE(renamed);
    bayesian_search<> changed(small()), fresh(small());
    changed.observe(known);
    fresh.observe(known);
    auto x = augur::random_engine(7), y = x;
    REQUIRE(changed.propose(wide, flat, 0, x));
    const auto after = changed.propose(*renamed, flat, 4, x), alone = fresh.propose(*renamed, flat, 4, y);
    REQUIRE(after);
    REQUIRE(alone);
    CHECK(*after == *alone);
}

TEST_CASE("bayesian_search: a description that changes from call to call, and a space that changes between two calls") {
    for (const auto by : all_acquisitions)
        for (const bool drawn : {false, true}) {
            bayesian_options o = small(by);
            o.candidates = drawn ? 40 : 400; // of 64 points
            o.prior_mean = drawn;
            o.fit_points = 16;
            o.fit.iterations = 4;
            toy::exhaust(
                bayesian_search<>(o), toy::fickle_space{.width = 4}, 8, [](const decision_vector& p) { return static_cast<double>(p[0]); },
                [](const decision_vector& p) { return p[2] == 3 ? infinity : 1 + static_cast<double>(p[1]); });
            toy::alternate_spaces(bayesian_search<>(o));
        }
}

TEST_CASE("bayesian_search: learns which points fail, where 40 % do") {
    const tiles space;
    // Hidden: a tile that is too large in all, two of five unroll depths.
    const auto fails = [](const decision_vector& p) { return p[3] <= 1; };
    const auto latency = [&](const decision_vector& p) { return fails(p) ? infinity : space.latency(p); };
    double failed = 0, total = 0, logs = 0;
    int wins = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        bayesian_search<> search(small());
        augur::random_search random;
        const auto points = run(search, space, 5, 8, seed, latency);
        for (std::size_t i = 16; i < points.size(); ++i) {
            failed += fails(points[i].decisions) ? 1 : 0;
            ++total;
        }
        const double ours = best_of(points), theirs = best_of(run(random, space, 5, 8, seed, latency));
        wins += ours < theirs ? 1 : 0;
        logs += std::log(ours / theirs);
    }
    MESSAGE("failed " << failed / total << ", wins " << wins << ", ratio " << std::exp(logs / 20));
    CHECK(failed / total < 0.2);
    CHECK(wins >= 17);
}

TEST_CASE(
    "bayesian_search: a prior mean that knows helps, one that is wrong, equal or NaN does not matter, -infinity is left out, an error comes back") {
    const tiles space;
    const auto latency = [&](const decision_vector& p) { return space.latency(p); };
    bayesian_options o = small();
    o.prior_mean = true;
    const auto scored = [&](auto f) {
        return [f](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
            for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(f(points[i]));
            return {};
        };
    };
    auto knows = scored([&](const decision_vector& p) { return 3 - 0.5 * std::log(space.latency(p)); });
    auto wrong = scored([&](const decision_vector& p) { return std::log(space.latency(p)); });
    auto nothing = scored([&](const decision_vector&) { return std::numeric_limits<double>::quiet_NaN(); });
    auto half = scored([&](const decision_vector& p) { return p[4] < 2 ? -infinity : p[3] == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0; });
    auto none = scored([&](const decision_vector&) { return -infinity; });
    double with = 0, without = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        bayesian_search<> a(o), b(small());
        with += std::log(best_of(run(a, space, 2, 8, seed, latency, knows)));
        without += std::log(best_of(run(b, space, 2, 8, seed, latency)));
        CHECK(a.report().prior_slope == doctest::Approx(2).epsilon(1e-3));
    }
    CHECK(with < without - 20 * 0.2);
    // What says nothing leaves the search as it is without.
    bayesian_search<> plain(small());
    const auto reference = decisions_of(run(plain, space, 4, 8, 1, latency));
    for (int k = 0; k < 3; ++k) {
        bayesian_search<> search(o);
        const auto points = k == 0   ? run(search, space, 4, 8, 1, latency, wrong)
                            : k == 1 ? run(search, space, 4, 8, 1, latency, nothing)
                                     : run(search, space, 4, 8, 1, latency, none);
        CHECK(decisions_of(points) == reference);
        CHECK(search.report().prior_slope == 0);
    }
    bayesian_search<> search(o);
    const auto points = run(search, space, 3, 8, 1, latency, half);
    for (std::size_t i = 8; i < points.size(); ++i) CHECK(points[i].decisions[4] >= 2);
    auto broken = [](std::span<const decision_vector>, std::span<float>) -> augur::result<void> {
        return augur::error{augur::errc::shape_mismatch, "no such task"};
    };
    auto rng = augur::random_engine(1);
    const auto failed = search.propose(space, broken, 4, rng);
    REQUIRE(!failed);
    CHECK(failed.error().detail == "no such task");
}

TEST_CASE("bayesian_search: without initial points the scores choose the first batch, apart from each other; equal scores choose none") {
    const auto space = toy::number_grid(2, 24);
    bayesian_options o = small();
    o.initial = 0;
    o.prior_mean = true;
    // two hills, the second 2 % lower: the 8 highest points are all of the first one
    const auto height = [](const decision_vector& p, double x, double y) {
        const double dx = static_cast<double>(p[0]) - x, dy = static_cast<double>(p[1]) - y;
        return std::exp(-0.02 * (dx * dx + dy * dy));
    };
    auto hills = toy::scorer_of([&](const decision_vector& p) { return (std::max)(height(p, 5, 5), 0.98 * height(p, 19, 17)); });
    auto equal = toy::scorer_of([](const decision_vector&) { return 0.3; });
    augur::random_engine rng(1);
    bayesian_search<> search(o);
    const auto first = search.propose(space, hills, 8, rng);
    REQUIRE(first);
    REQUIRE(first->size() == 8);
    int of_second = 0;
    for (const auto& p : *first) {
        CHECK((std::max)(height(p, 5, 5), height(p, 19, 17)) > 0.6);
        of_second += p[0] > 12 ? 1 : 0;
    }
    CHECK(of_second >= 2);
    CHECK(of_second <= 6);
    CHECK(std::set<decision_vector>(first->begin(), first->end()).size() == 8);
    // as long as all failed, the scores choose on
    std::vector<augur::measured_decisions> told;
    for (const decision_vector& p : *first) told.push_back({p, infinity});
    search.observe(told);
    const auto second = search.propose(space, hills, 8, rng);
    REQUIRE(second);
    for (const auto& p : *second) {
        CHECK((std::max)(height(p, 5, 5), height(p, 19, 17)) > 0.6);
        CHECK(std::find(first->begin(), first->end(), p) == first->end());
    }
    bayesian_search<> drawn(o);
    const auto uniform = drawn.propose(space, equal, 200, rng);
    REQUIRE(uniform);
    CHECK(uniform->size() == 200);
    double low = 0;
    for (const auto& p : *uniform) low += p[0] < 12 ? 1 : 0;
    CHECK(low / 200 == doctest::Approx(0.5).epsilon(0.3));
}

TEST_CASE("bayesian_search: before any success a score that is not finite is the mean of the candidates', not the highest") {
    const auto space = toy::number_grid(2, 10);
    bayesian_options o = small();
    o.initial = 0;
    o.prior_mean = true;
    auto scorer = toy::scorer_of([](const decision_vector& p) {
        if (p[0] == 4 && p[1] == 4) return std::numeric_limits<double>::infinity();
        if (p[0] == 5) return std::numeric_limits<double>::quiet_NaN();
        return -5.0 - 0.1 * static_cast<double>(p[0] + p[1]);
    });
    augur::random_engine rng(1);
    bayesian_search<> search(o);
    const auto first = search.propose(space, scorer, 4, rng);
    REQUIRE(first);
    REQUIRE(first->size() == 4);
    for (const auto& p : *first) {
        CHECK(p[0] != 5);
        CHECK(p[0] + p[1] < 8); // the mean is at 9; 0 would be above all
    }
}

TEST_CASE("bayesian_search: of many points the model has the best half and the most recent others") {
    const tiles space;
    bayesian_options o = small();
    o.max_points = 30;
    o.fit_points = 16;
    bayesian_search<> search(o);
    CHECK(run(search, space, 8, 10, 1, [&](const decision_vector& p) { return p[3] == 0 ? infinity : space.latency(p); }).size() == 80);
    CHECK(search.report().points == 30);
    CHECK(search.report().failures <= 30);
}

TEST_CASE("bayesian_search: in the tuner, stopped anywhere and resumed, it ends with the same trials, though the runner gives NaN and failures") {
    std::vector<augur::configuration> points;
    for (std::int64_t x = 0; x < 16; ++x)
        for (std::int64_t y = 0; y < 12; ++y) points.push_back({{{"x", x}, {"y", y}, {"layout", std::string(x % 3 == 0 ? "row" : "column")}}});
    const auto space = augur::recorded_space::build(points);
    REQUIRE(space);
    struct recorded_runner {
        std::size_t measured = 0;
        std::vector<augur::measurement> measure(const toy::task&, std::span<const augur::configuration> batch) {
            std::vector<augur::measurement> out(batch.size());
            for (std::size_t i = 0; i < batch.size(); ++i, ++measured) {
                const auto x = std::get<std::int64_t>(batch[i].parameters[0].value), y = std::get<std::int64_t>(batch[i].parameters[1].value);
                out[i].status = y == 3 ? augur::outcome::run_crash : augur::outcome::ok;
                if (out[i].ok())
                    out[i].seconds = {x == 5 ? std::numeric_limits<double>::quiet_NaN()
                                             : 1e-3 * static_cast<double>(1 + (x - 9) * (x - 9) + (y - 7) * (y - 7))};
            }
            return out;
        }
    };
    const std::vector<toy::task> tasks{{"recorded"}};
    const auto tune = [&](std::size_t stop_at, std::vector<augur::logged_trial<augur::configuration>> records, std::size_t& measured) {
        std::vector<bayesian_search<>> searches(1, bayesian_search<>(small()));
        augur::tuning_options o;
        o.trials = 48;
        o.round = o.batch = 8;
        augur::tuner t(std::span<const toy::task>(tasks), std::span<const augur::recorded_space>(&*space, 1), std::span<bayesian_search<>>(searches),
                       o);
        t.resume(std::move(records));
        recorded_runner runner;
        augur::tuning_hooks<augur::configuration, toy::task> hooks;
        hooks.stop = [&] { return runner.measured >= stop_at; };
        REQUIRE(t.run(runner, hooks));
        measured = runner.measured;
        std::vector<augur::logged_trial<augur::configuration>> out;
        for (const auto& trial : t.trials()) out.push_back({augur::task_identity(tasks[trial.task]), trial.schedule, trial.outcome});
        return out;
    };
    std::size_t n = 0;
    const auto whole = tune(1000, {}, n);
    REQUIRE(n == 48);
    double best = infinity;
    for (const auto& trial : whole)
        if (trial.outcome.ok()) best = (std::min)(best, trial.outcome.latency());
    CHECK(best <= 2e-3); // within a step of the best of 192 points
    for (const std::size_t stop : {8U, 24U, 40U}) {
        const auto begun = tune(stop, {}, n);
        const auto resumed = tune(1000, begun, n);
        CHECK(n + begun.size() == 48);
        REQUIRE(resumed.size() == whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i) CHECK(resumed[i].schedule == whole[i].schedule);
    }
}

TEST_CASE(
    "bayesian_search: without a cost model, the progress of a tuner has what the search expects of the best candidate that is not measured yet") {
    std::vector<augur::configuration> points;
    for (std::int64_t x = 0; x < 16; ++x)
        for (std::int64_t y = 0; y < 12; ++y) points.push_back({{{"x", x}, {"y", y}}});
    const auto space = augur::recorded_space::build(points);
    REQUIRE(space);
    const std::vector<toy::task> tasks{{"recorded"}};
    std::vector<bayesian_search<>> searches(1, bayesian_search<>(small()));
    augur::tuning_options o;
    o.trials = 32;
    o.round = o.batch = 8;
    augur::tuner t(std::span<const toy::task>(tasks), std::span<const augur::recorded_space>(&*space, 1), std::span<bayesian_search<>>(searches), o);
    augur::function_runner runner([](const toy::task&, const augur::configuration& c) {
        const auto x = std::get<std::int64_t>(c.parameters[0].value), y = std::get<std::int64_t>(c.parameters[1].value);
        augur::measurement m;
        m.status = augur::outcome::ok;
        m.seconds = {1e-3 * static_cast<double>(1 + (x - 9) * (x - 9) + (y - 7) * (y - 7))};
        return m;
    });
    std::vector<double> expected;
    REQUIRE(t.run(runner, {.progress = [&](const augur::tuning_progress& p) { expected.push_back(p.expected_latency); }}));
    REQUIRE(expected.size() == 32);
    for (std::size_t i = 0; i < 32; ++i) {
        double best = infinity;
        for (std::size_t k = i + 1; k < (i / 8 + 1) * 8; ++k)
            best = (std::min)(best, searches[0].expected_latency(*space->decide(t.trials()[k].schedule)));
        CHECK(expected[i] == best);
        CHECK(std::isfinite(best) == (i >= 8 && i % 8 != 7)); // the first round is drawn
    }
}

} // namespace bayesian_search_test
