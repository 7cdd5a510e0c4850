// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chameleon's search of `search_tables`: its agent and its clusters against slow twins, and the laws of a search strategy.
#include "../../examples/papers/search_tables/chameleon.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/search/random.hpp>
#include <augur/space/recorded_space.hpp>

#include "../search/landscapes.hpp"
#include "../search/threads.hpp"
#include "../space/toy.hpp"

namespace chameleon_test {

using augur::decision_vector;
using examples::actor_critic;
using examples::chameleon;
using examples::chameleon_options;
using examples::ppo_options;
using examples::ppo_steps;
using toy::scorer_of;

namespace {

static_assert(augur::search_strategy<chameleon, augur::autotvm_space>);
static_assert(augur::search_strategy<chameleon, augur::recorded_space>);
static_assert(augur::search_strategy<chameleon, toy::described_space>);

using row = std::vector<double>;

/// x W + b, entry by entry.
row affine(const actor_critic::layer& l, const row& x) {
    row y(static_cast<std::size_t>(l.W.cols()));
    for (std::size_t o = 0; o < y.size(); ++o) {
        y[o] = l.b[static_cast<Eigen::Index>(o)];
        for (std::size_t i = 0; i < x.size(); ++i) y[o] += x[i] * l.W(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(o));
    }
    return y;
}
row tanh_of(row x) {
    for (double& v : x) v = std::tanh(v);
    return x;
}

/// The probabilities of the actions of each knob.
std::vector<std::array<double, 3>> policy(const actor_critic& n, const row& state) {
    const row heads = tanh_of(affine(n.heads, tanh_of(affine(n.trunk[1], tanh_of(affine(n.trunk[0], state))))));
    std::vector<std::array<double, 3>> out;
    for (std::size_t k = 0; k < n.knobs.size(); ++k) {
        row x = tanh_of(affine(n.knobs[k].second,
                               row(heads.begin() + static_cast<std::ptrdiff_t>(3 * k), heads.begin() + static_cast<std::ptrdiff_t>(3 * k + 3))));
        for (double& v : x) v /= 0.1;
        const row z = affine(n.knobs[k].last, x);
        const double sum = std::exp(z[0]) + std::exp(z[1]) + std::exp(z[2]);
        out.push_back({std::exp(z[0]) / sum, std::exp(z[1]) / sum, std::exp(z[2]) / sum});
    }
    return out;
}

double loss_by_hand(const actor_critic& n, const ppo_steps& s, const ppo_options& o) {
    double sum = 0;
    for (Eigen::Index t = 0; t < s.states.rows(); ++t) {
        const row state(s.states.row(t).data(), s.states.row(t).data() + s.states.cols());
        const auto p = policy(n, state);
        for (std::size_t k = 0; k < p.size(); ++k) {
            if (state[k] < 0) continue;
            const auto column = static_cast<Eigen::Index>(k);
            const double ratio = p[k][static_cast<std::size_t>(s.actions(t, column))] / std::exp(s.before(t, column)), gain = s.gains(t, 0);
            sum -= std::min(ratio * gain, std::min(std::max(ratio, 1 - o.clip), 1 + o.clip) * gain);
            for (const double x : p[k]) sum += o.entropy_coefficient * x * std::log(x);
        }
        const double value = affine(n.value[3], tanh_of(affine(n.value[2], tanh_of(affine(n.value[1], tanh_of(affine(n.value[0], state)))))))[0];
        sum += o.value_coefficient * (s.returns(t, 0) - value) * (s.returns(t, 0) - value);
    }
    return sum / static_cast<double>(s.states.rows());
}

/// Few steps, some of them of points that lack a knob, after a policy that was another one.
ppo_steps some_steps(const actor_critic& n, Eigen::Index rows, augur::random_engine& rng) {
    const auto knobs = static_cast<Eigen::Index>(n.knobs.size());
    ppo_steps s;
    for (auto* m : {&s.states, &s.actions, &s.before}) m->resize(rows, knobs);
    for (auto* m : {&s.gains, &s.returns}) m->resize(rows, 1);
    for (Eigen::Index t = 0; t < rows; ++t) {
        for (Eigen::Index k = 0; k < knobs; ++k) s.states(t, k) = rng.below(5) == 0 ? -1 : rng.uniform();
        const auto p = policy(n, row(s.states.row(t).data(), s.states.row(t).data() + knobs));
        for (Eigen::Index k = 0; k < knobs; ++k) {
            s.actions(t, k) = static_cast<double>(rng.below(3));
            s.before(t, k) = std::log(p[static_cast<std::size_t>(k)][static_cast<std::size_t>(s.actions(t, k))]) + rng.uniform(-0.4, 0.4);
        }
        s.gains(t, 0) = rng.uniform(-2, 2);
        s.returns(t, 0) = rng.uniform(-1, 3);
    }
    return s;
}

/// The lowest loss of k clusters of the points: all ways to give each point a cluster.
double least_loss(const Eigen::MatrixXd& points, std::size_t k) {
    const auto n = static_cast<std::size_t>(points.cols());
    std::size_t ways = 1;
    for (std::size_t i = 0; i < n; ++i) ways *= k;
    double least = toy::never;
    for (std::size_t w = 0; w < ways; ++w) {
        double loss = 0;
        for (std::size_t c = 0; c < k; ++c) {
            Eigen::VectorXd sum = Eigen::VectorXd::Zero(points.rows());
            double count = 0, squares = 0;
            for (std::size_t i = 0, rest = w; i < n; ++i, rest /= k)
                if (rest % k == c)
                    sum += points.col(static_cast<Eigen::Index>(i)), ++count, squares += points.col(static_cast<Eigen::Index>(i)).squaredNorm();
            if (count > 0) loss += squares - sum.squaredNorm() / count;
        }
        least = std::min(least, loss);
    }
    return least;
}

Eigen::MatrixXd random_points(Eigen::Index n, std::uint64_t width, augur::random_engine& rng) {
    Eigen::MatrixXd out(2, n);
    for (Eigen::Index i = 0; i < out.size(); ++i) out.data()[i] = static_cast<double>(rng.below(width));
    return out;
}

std::size_t distinct(const Eigen::MatrixXd& points) {
    std::set<std::pair<double, double>> out;
    for (Eigen::Index i = 0; i < points.cols(); ++i) out.emplace(points(0, i), points(1, i));
    return out.size();
}

/// Enough for small spaces.
chameleon_options few() {
    chameleon_options o;
    o.walks = 32;
    o.steps = 50;
    return o;
}

/// One summit, and a rugged surface; lower is better.
double height_of(const decision_vector& p) {
    double sum = 1;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double d = static_cast<double>(p[i]) - static_cast<double>((5 + 3 * i) % 16);
        sum += d * d / 64;
    }
    return sum + 0.1 * static_cast<double>(augur::mix64(augur::hash_decisions(p)) % 1000) / 1000;
}

/// Proposes until the space is used up.
template <class Space, class Scorer>
void exhaust(const Space& space, Scorer scorer, std::size_t n, std::uint64_t seed) {
    chameleon search(few());
    std::set<decision_vector> seen;
    const std::size_t all = toy::all_leaves(space).size();
    augur::random_engine rng(seed);
    for (;;) {
        const auto points = search.propose(space, scorer, n, rng);
        REQUIRE(points);
        REQUIRE(points->size() == std::min(n, all - seen.size()));
        if (points->empty()) break;
        std::vector<augur::measured_decisions> back;
        for (const auto& p : *points) {
            REQUIRE(augur::trace_path(space, p));
            REQUIRE(seen.insert(p).second);
            back.push_back({p, 1.0});
        }
        search.observe(back);
    }
    CHECK(seen.size() == all);
}

} // namespace

TEST_CASE("ppo_loss: the loss by hand, and its gradient by central differences") {
    augur::random_engine rng(1);
    actor_critic networks(3, rng), gradient = networks;
    actor_critic::visit([&](auto&&, auto& p) { p.array() += 0.01; }, networks); // biases other than 0
    const ppo_options options;
    const ppo_steps steps = some_steps(networks, 12, rng);
    CHECK(examples::ppo_loss(networks, steps, options, gradient) == doctest::Approx(loss_by_hand(networks, steps, options)).epsilon(1e-12));
    double worst = 0;
    std::size_t parameters = 0;
    actor_critic moved = networks;
    actor_critic::visit(
        [&](auto&&, auto& p, const auto& g) {
            for (Eigen::Index i = 0; i < p.size(); ++i, ++parameters) {
                const double at = p.data()[i], h = 1e-6;
                p.data()[i] = at + h;
                const double above = loss_by_hand(moved, steps, options);
                p.data()[i] = at - h;
                const double below = loss_by_hand(moved, steps, options);
                p.data()[i] = at;
                worst = std::max(worst, std::abs((above - below) / (2 * h) - g.data()[i]));
            }
        },
        moved, gradient);
    CHECK(parameters == 80 + 420 + 189 + 3 * 24 + 80 + 420 + 420 + 21);
    CHECK(worst < 1e-7);
}

TEST_CASE("generalised_advantages: the sum of the discounted errors") {
    augur::random_engine rng(2);
    for (std::size_t n = 0; n < 12; ++n) {
        row rewards(n), values(n);
        for (auto* v : {&rewards, &values})
            for (double& x : *v) x = rng.uniform(-1, 1);
        const row got = examples::generalised_advantages(rewards, values, 0.9, 0.99);
        REQUIRE(got.size() == n);
        for (std::size_t t = 0; t < n; ++t) {
            double sum = 0;
            for (std::size_t l = t; l < n; ++l)
                sum += std::pow(0.9 * 0.99, static_cast<double>(l - t)) * (rewards[l] + (l + 1 < n ? 0.9 * values[l + 1] : 0) - values[l]);
            CHECK(got[t] == doctest::Approx(sum).epsilon(1e-12));
        }
    }
}

TEST_CASE("ppo_agent: does what is rewarded, and walks of one step leave the weights finite") {
    for (const double sign : {1.0, -1.0}) { // up is good for the first knob and down for the second, or the opposite
        augur::random_engine rng(3);
        examples::ppo_agent agent(2, {}, rng);
        std::vector<Eigen::Index> actions(2);
        const auto walk = [&](std::size_t steps) { // its mean reward, within -2 and 2
            const std::array<double, 2> state{0.5, 0.5};
            row rewards;
            double sum = 0;
            agent.begin();
            for (std::size_t t = 0; t < steps; ++t) {
                agent.act(state, actions, rng);
                rewards.push_back(sign * static_cast<double>(actions[0] - actions[1]));
                sum += rewards.back();
            }
            agent.learn(rewards, rng);
            return sum / static_cast<double>(steps);
        };
        for (int i = 0; i < 300; ++i) walk(30);
        double last = 0;
        for (int i = 0; i < 20; ++i) last += walk(30) / 20;
        CHECK(last > 0.8); // the entropy keeps it from 2
        for (int i = 0; i < 20; ++i) walk(1);
        bool finite = true;
        actor_critic::visit([&](auto&&, const auto& p) { finite = finite && p.allFinite(); }, agent.networks());
        CHECK(finite);
        for (int i = 0; i < 50; ++i) {
            agent.act(std::array<double, 2>{-1, 0.5}, actions, rng);
            CHECK(actions[0] == 1);
        }
    }
}

TEST_CASE("k_means: a local optimum, of many the one of all ways to divide the points") {
    augur::random_engine rng(4);
    for (int round = 0; round < 60; ++round) {
        const Eigen::MatrixXd points = random_points(3 + round % 5, 2 + static_cast<std::uint64_t>(round % 7), rng);
        const std::size_t k = 1 + static_cast<std::size_t>(round % 3), differ = distinct(points);
        const double least = least_loss(points, k);
        double best = toy::never;
        for (int start = 0; start < 40; ++start) {
            const auto found = examples::k_means(points, k, rng);
            REQUIRE(static_cast<std::size_t>(found.centroids.cols()) == std::min(k, differ));
            double loss = 0;
            std::vector<double> counts(k);
            Eigen::MatrixXd means = Eigen::MatrixXd::Zero(2, found.centroids.cols());
            for (Eigen::Index i = 0; i < points.cols(); ++i) {
                const std::size_t own = found.member[static_cast<std::size_t>(i)];
                const double distance = (points.col(i) - found.centroids.col(static_cast<Eigen::Index>(own))).squaredNorm();
                for (Eigen::Index c = 0; c < found.centroids.cols(); ++c)
                    CHECK(distance <= (points.col(i) - found.centroids.col(c)).squaredNorm() + 1e-12);
                loss += distance;
                counts[own] += 1;
                means.col(static_cast<Eigen::Index>(own)) += points.col(i);
            }
            for (Eigen::Index c = 0; c < means.cols(); ++c) {
                REQUIRE(counts[static_cast<std::size_t>(c)] > 0);
                CHECK((means.col(c) / counts[static_cast<std::size_t>(c)] - found.centroids.col(c)).norm() < 1e-12);
            }
            CHECK(found.loss == doctest::Approx(loss).epsilon(1e-12));
            CHECK(found.loss >= least - 1e-9);
            best = std::min(best, found.loss);
        }
        CHECK(best == doctest::Approx(least).epsilon(1e-9));
    }
}

TEST_CASE("k_means: no cluster stays empty") {
    augur::random_engine rng(6);
    for (int round = 0; round < 2000; ++round) {
        const auto found = examples::k_means(random_points(40, 12, rng), 14, rng);
        const std::set<std::size_t> used(found.member.begin(), found.member.end());
        REQUIRE(used.size() == 14);
    }
}

TEST_CASE("adaptive_clusters: more as long as the loss falls") {
    augur::random_engine rng(5);
    // nine points in each of twelve groups far apart: the loss falls to the ninth part from 4 to 12 clusters and no more after
    Eigen::MatrixXd groups(2, 108);
    for (Eigen::Index i = 0; i < groups.cols(); ++i)
        groups.col(i) << 1000.0 * static_cast<double>(i / 9 % 4) + static_cast<double>(i % 3),
            1000.0 * static_cast<double>(i / 36) + static_cast<double>(i % 9 / 3);
    for (int seed = 0; seed < 20; ++seed) {
        augur::random_engine twin = rng;
        const auto found = examples::adaptive_clusters(groups, 4, 40, 2.5, rng);
        double last = toy::never;
        std::size_t k = 0, clusters = 0;
        for (bool falls = true; falls && k < 40;) {
            const auto one = examples::k_means(groups, k += 4, twin);
            falls = one.loss * 2.5 < last;
            last = one.loss;
            clusters = static_cast<std::size_t>(one.centroids.cols());
        }
        CHECK(static_cast<std::size_t>(found.centroids.cols()) == clusters);
        CHECK(found.loss == last);
        CHECK(clusters > 4);
    }
    CHECK(examples::adaptive_clusters(random_points(64, 1000, rng), 8, 8, 2.5, rng).centroids.cols() == 8);
    CHECK(examples::adaptive_clusters(random_points(64, 1000, rng), 8, 64, 1e9, rng).centroids.cols() == 16);
    CHECK(examples::adaptive_clusters(Eigen::MatrixXd::Ones(2, 9), 8, 64, 2.5, rng).centroids.cols() == 1);
}

TEST_CASE("nearest_option: a point of another space becomes the one that adapt_point gives") {
    const auto records = toy::product_records();
    const auto from = *augur::recorded_space::build(records), to = *augur::recorded_space::build(std::span(records).subspan(150, 200));
    std::size_t same = 0, changed = 0;
    for (const decision_vector& values : toy::all_leaves(from)) {
        auto value = values.begin();
        const auto point = examples::choose_all(from, [&](const auto&, const auto&, std::uint64_t) { return *value++; });
        CHECK(examples::values_of(point) == values);
        const auto moved = examples::choose_all(to, [&](const augur::decision& d, const auto& cursor, std::uint64_t slot) {
            return examples::nearest_option(cursor, d.options, *examples::choice_of(point, slot));
        });
        const auto expected = augur::adapt_point(to, *augur::describe_point(from, values));
        if (expected.unnamed > 0) continue; // a text that the other space does not have there
        CHECK(examples::values_of(moved) == expected.path.values);
        ++(expected.changed > 0 ? changed : same);
    }
    CHECK(same > 0);
    CHECK(changed > 0);
}

TEST_CASE("chameleon: legal, distinct, and all points of a space before it ends") {
    const auto records = toy::product_records();
    const auto some = *augur::recorded_space::build(std::span(records).first(300));
    std::uint64_t seed = 0;
    const std::vector<std::function<double(const decision_vector&)>> scores{
        [](const decision_vector& p) { return 1 / height_of(p); },
        [](const decision_vector&) { return -3.5; },
        [](const decision_vector& p) { return -1e6 * height_of(p); },
        [](const decision_vector&) { return -toy::never; },
        [](const decision_vector&) { return std::nan(""); },
        [](const decision_vector& p) {
            return p[1] == 1 ? std::nan("") : p[1] == 2 ? -toy::never : p[1] == 3 ? toy::never : static_cast<double>(p[0]);
        }};
    for (const auto& score : scores)
        for (const std::size_t n : {7U, 100U}) {
            exhaust(toy::described_space{}, scorer_of(score), n, ++seed);
            exhaust(toy::number_grid(4, 4), scorer_of(score), n, ++seed);
            exhaust(some, scorer_of(score), n, ++seed);
        }
    exhaust(toy::number_grid(1, 1), scorer_of(scores[0]), 2, 1);
    exhaust(toy::number_grid(1, 9), scorer_of(scores[0]), 2, 1);
}

TEST_CASE("chameleon: what was observed is not proposed, and what cannot be realised comes last") {
    const auto space = toy::number_grid(2, 8);
    auto score = scorer_of([](const decision_vector& p) { return p[0] == p[1] ? -toy::never : static_cast<double>(p[0] + p[1]); });
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        chameleon search(few());
        std::vector<augur::measured_decisions> known{{{1, 2, 3}, 1.0}}; // and a point of another space
        for (std::uint64_t a = 0; a < 8; ++a)
            for (std::uint64_t b = 0; b < 4; ++b) known.push_back({{a, b}, 1.0});
        search.observe(known);
        augur::random_engine rng(seed);
        const auto points = search.propose(space, score, 28, rng);
        REQUIRE(points);
        CHECK(points->size() == 28);
        for (const auto& p : *points) CHECK((p[1] >= 4 && p[0] != p[1]));
        CHECK(search.propose(space, score, 28, rng)->size() == 4);
    }
}

TEST_CASE("chameleon: with equal scores it is random search") {
    const auto space = toy::number_grid(3, 4);
    auto flat = scorer_of([](const decision_vector&) { return -3.5; });
    std::vector<double> times(64, 0.0);
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        chameleon search(few());
        augur::random_engine rng(seed);
        const auto points = search.propose(space, flat, 4, rng);
        REQUIRE(points);
        REQUIRE(points->size() == 4);
        for (const auto& p : *points) times[p[0] + 4 * p[1] + 16 * p[2]] += 1;
    }
    double chi = 0;
    for (const double t : times) chi += (t - 125) * (t - 125) / 125;
    CHECK(chi < 103.4); // 63 degrees of freedom, p = 0.001
}

TEST_CASE("chameleon: a step moves each knob by one option at most, and walks end") {
    const auto space = toy::number_grid(6, 50);
    std::vector<std::vector<decision_vector>> calls;
    auto counting = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        calls.emplace_back(points.begin(), points.end());
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(1 / height_of(points[i]));
        return {};
    };
    const auto asked = [&](chameleon_options o) {
        calls.clear();
        chameleon search(o);
        augur::random_engine rng(1);
        REQUIRE(search.propose(space, counting, 8, rng));
        REQUIRE(calls.size() > 2);
        calls.resize(calls.size() - 2); // those of the sampling
        CHECK(calls[0].size() == o.walks);
        std::size_t steps = 0;
        for (std::size_t c = 1; c < calls.size(); ++c) {
            CHECK(calls[c].size() <= o.steps);
            steps += calls[c].size();
            for (std::size_t i = 0; i < calls[c].size(); ++i) {
                bool reached = false;
                for (std::size_t from = 0; from <= c && !reached; ++from)
                    for (std::size_t j = 0; j < (from == c ? i : calls[from].size()) && !reached; ++j) {
                        reached = true;
                        for (std::size_t k = 0; k < 6; ++k) {
                            const auto a = calls[from][j][k], b = calls[c][i][k];
                            reached = reached && (a > b ? a - b : b - a) <= 1;
                        }
                    }
                CHECK(reached);
            }
        }
        return steps;
    };
    chameleon_options o;
    o.walks = 8;
    o.steps = 60;
    const std::size_t usual = asked(o);
    CHECK(usual > o.walks);
    CHECK(usual < o.walks * o.steps);
    o.settled = 0;
    CHECK(asked(o) <= o.walks); // one step each
    o.settled = 2;              // never; a few points are passed twice
    CHECK(asked(o) > o.walks * o.steps / 2);
}

TEST_CASE("chameleon: a plan is proposed to its end before the agent walks again") {
    const auto space = toy::number_grid(5, 20);
    std::size_t calls = 0;
    auto counting = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        ++calls;
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(1 / height_of(points[i]));
        return {};
    };
    chameleon search(few());
    augur::random_engine rng(1);
    REQUIRE(search.propose(space, counting, 1, rng));
    const std::size_t first = calls;
    for (int i = 0; i < 7; ++i) REQUIRE(search.propose(space, counting, 1, rng));
    CHECK(calls == first);
    for (int i = 0; i < 57; ++i) REQUIRE(search.propose(space, counting, 1, rng)); // more than a plan can have
    CHECK(calls >= 2 * few().walks);
}

TEST_CASE("chameleon: the other knobs of a cluster are those of its members") {
    // Two summits, each with a value of the small knobs: a cluster is of one of them.
    const auto space =
        *augur::autotvm_space::make({toy::number_knob("a", 4), toy::number_knob("b", 60), toy::number_knob("c", 4), toy::number_knob("d", 60)});
    auto two = scorer_of([](const decision_vector& p) {
        const auto off = [&](std::uint64_t corner, std::uint64_t small) {
            double sum = 0;
            for (const std::size_t k : {1U, 3U}) sum += std::abs(static_cast<double>(p[k]) - static_cast<double>(corner));
            return sum + (p[0] == small && p[2] == small ? 0 : 200);
        };
        return 1 - std::min(off(10, 0), off(50, 3)) / 1000;
    });
    std::size_t low = 0, high = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        chameleon_options o;
        o.steps = 100;
        o.eps_greedy = 0;
        chameleon search(o);
        augur::random_engine rng(seed);
        const auto points = search.propose(space, two, 8, rng);
        REQUIRE(points);
        for (const auto& p : *points) {
            const bool lower = p[1] + p[3] < 60;
            CHECK(p[0] == (lower ? 0 : 3));
            CHECK(p[2] == (lower ? 0 : 3));
            ++(lower ? low : high);
        }
    }
    CHECK(low > 0);
    CHECK(high > 0);
}

TEST_CASE("chameleon: an error of the scorer is returned, and nothing counts as proposed") {
    const auto space = toy::number_grid(2, 6);
    std::size_t good = 0; // calls before one fails
    auto scorer = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
        if (good == 0) return augur::error{augur::errc::io, "no model"};
        --good;
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(points[i][0]);
        return {};
    };
    chameleon search(few());
    augur::random_engine rng(1);
    for (const std::size_t calls : {0U, 1U, 3U}) { // of the samples, of the first walk, of a later one
        good = calls;
        const auto refused = search.propose(space, scorer, 8, rng);
        REQUIRE(!refused);
        CHECK(refused.error().code == augur::errc::io);
    }
    good = 1000;
    CHECK(search.propose(space, scorer, 36, rng)->size() == 36);
}

TEST_CASE("chameleon: an agent that learns walks to better points") {
    const auto space = toy::number_grid(8, 16);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        std::array<double, 2> mean{}; // of the scores of the sixth plan
        for (const bool learns : {false, true}) {
            chameleon_options o;
            o.walks = 64;
            if (!learns) o.agent.learning_rate = 0;
            chameleon search(o);
            double sum = 0, count = 0;
            auto scorer = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
                for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(1 / height_of(points[i]));
                for (const float s : scores) sum += static_cast<double>(s), ++count;
                return {};
            };
            augur::random_engine rng(seed);
            for (int plan = 0; plan < 6; ++plan) {
                sum = count = 0;
                REQUIRE(search.propose(space, scorer, 64, rng)); // walks, as no plan has so many points left
            }
            mean[learns ? 1 : 0] = sum / count;
        }
        CHECK(mean[1] > 1.2 * mean[0]);
    }
}

TEST_CASE("chameleon: better than random search, on a grid and on recorded points") {
    const auto grid = toy::number_grid(8, 16);
    const auto records = toy::product_records();
    const auto recorded = *augur::recorded_space::build(records);
    std::size_t on_grid = 0, on_records = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto wins = [&](const auto& space, auto scorer, const auto& latency) {
            augur::random_search random;
            chameleon_options o;
            o.walks = 64;
            chameleon search(o);
            return toy::best_of(toy::measure_rounds(search, space, scorer, 4, 8, seed, latency)) <
                           toy::best_of(toy::measure_rounds(random, space, scorer, 4, 8, seed, latency))
                       ? 1U
                       : 0U;
        };
        on_grid += wins(grid, scorer_of([](const decision_vector& p) { return 1 / height_of(p); }), height_of);
        const auto latency = [&](const decision_vector& p) { return toy::product_latency(*recorded.realise(p), seed); };
        on_records += wins(recorded, scorer_of([&](const decision_vector& p) { return 1e-3 / latency(p); }), latency);
    }
    CHECK(on_grid >= 17); // by chance: p < 0.0013
    CHECK(on_records >= 17);
}

TEST_CASE("chameleon: equal seeds give equal proposals, whatever the threads of the scorer") {
    const auto space = toy::number_grid(4, 16);
    const auto run = [&](std::uint64_t seed, std::size_t count) {
        auto scorer = [&](std::span<const decision_vector> points, std::span<float> scores) -> augur::result<void> {
            const auto one = [&](std::size_t i) { scores[i] = static_cast<float>(1 / height_of(points[i])); };
            if (count > 0) toy::threads{count}.bulk(points.size(), one);
            else
                for (std::size_t i = 0; i < points.size(); ++i) one(i);
            return {};
        };
        chameleon search(few());
        std::vector<decision_vector> points;
        toy::measure_rounds(search, space, scorer, 4, 12, seed, height_of, &points);
        return points;
    };
    const auto reference = run(9, 0);
    CHECK(reference.size() == 48);
    for (const std::size_t threads : {0U, 1U, 3U}) CHECK(run(9, threads) == reference);
    CHECK(run(10, 0) != reference);
}

} // namespace chameleon_test
