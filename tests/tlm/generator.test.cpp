// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/generate/generator.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/loopnest/ir/operators.hpp>
#include <augur/loopnest/schedule/space.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/gpt2_session.hpp>
#include <augur/tlm/generate/unconstrained.hpp>
#include <augur/workload/kernel.hpp>

#include "../space/toy.hpp"

namespace tlm = augur::tlm;

namespace {

/// A model without state: logits by a hash of the tokens.
struct hashed {
    std::size_t n = 0;
    double sharpness = 2;
    [[nodiscard]] std::size_t words() const { return n; }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> all, std::span<float> out) const {
        std::uint64_t h = 1;
        for (const auto t : all) h = augur::mix64(h ^ t);
        augur::random_engine rng(h);
        for (auto& x : out) x = static_cast<float>(rng.uniform(-sharpness, sharpness));
        return {};
    }
};

struct constant {
    std::size_t n = 0;
    float value = 0;
    [[nodiscard]] std::size_t words() const { return n; }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token>, std::span<float> out) const {
        std::fill(out.begin(), out.end(), value);
        return {};
    }
};

template <class P>
tlm::vocabulary vocabulary_of(const P& space, tlm::number_form numbers = tlm::number_form::words) {
    augur::dataset_builder to;
    const auto source = to.source("x");
    REQUIRE(tlm::sample_sentences(to, source, "a kernel PPT", space, 500, augur::random_engine(1)));
    return *tlm::count_words(std::move(to).finish()).build(numbers);
}

/// All leaves, each with its probability by a model that looks at the tokens as the generator writes them: by brute force.
template <class P>
std::map<augur::decision_vector, double> leaves(const hashed& model, const P& space, const tlm::vocabulary& words, tlm::sentence_form form) {
    std::map<augur::decision_vector, double> out;
    struct open {
        std::unique_ptr<tlm::token_walk<P>> walk;
        std::vector<tlm::token> tokens;
        double p;
    };
    std::vector<open> pending;
    std::vector<tlm::token> start{tlm::vocabulary::begin};
    words.append_text("a kernel PPT", start);
    pending.push_back({std::make_unique<tlm::token_walk<P>>(space, words, form), start, 1});
    while (!pending.empty()) {
        auto at = std::move(pending.back());
        pending.pop_back();
        if (!at.walk->advance(at.tokens)) {
            out[at.walk->decisions()] += at.p;
            continue;
        }
        std::vector<float> logits(words.size());
        REQUIRE(model.logits(at.tokens, logits));
        double sum = 0;
        for (const auto t : at.walk->choices()) sum += std::exp(static_cast<double>(logits[t]));
        for (const auto t : std::vector(at.walk->choices().begin(), at.walk->choices().end())) {
            open next{std::make_unique<tlm::token_walk<P>>(*at.walk), at.tokens, at.p * std::exp(static_cast<double>(logits[t])) / sum};
            next.tokens.push_back(t);
            next.walk->choose(t);
            pending.push_back(std::move(next));
        }
    }
    return out;
}

} // namespace

TEST_CASE("generator: every point once, each legal, then none is left; all forms of sentences and numbers") {
    const toy::described_space described;
    const toy::space plain;
    const auto check = [](const auto& space, tlm::sentence_form form, tlm::number_form numbers) {
        const auto words = vocabulary_of(space, numbers);
        const hashed model{words.size()};
        const auto all = leaves(model, space, words, form);
        double total = 0;
        for (const auto& [point, p] : all) total += p;
        CHECK(total == doctest::Approx(1).epsilon(1e-9));
        auto g = tlm::generator<hashed, std::remove_cvref_t<decltype(space)>>::create(model, words, form, "a kernel PPT", space);
        REQUIRE(g);
        tlm::generation_options o;
        o.batch = 7;
        o.count = 10000;
        const auto points = g->generate(o);
        REQUIRE_MESSAGE(points, points.error().detail);
        std::set<augur::decision_vector> seen;
        for (const auto& point : *points) {
            CHECK(seen.insert(point.decisions).second);
            REQUIRE(all.contains(point.decisions));
            CHECK(augur::trace_path(space, point.decisions));
            CHECK(point.model_log_probability <= point.log_probability + 1e-9);
        }
        CHECK(seen.size() == all.size());
        CHECK(g->generate(o)->empty());
        CHECK(g->report().unsayable == 0);
    };
    for (const auto form : {tlm::sentence_form::full, tlm::sentence_form::compact})
        for (const auto numbers : {tlm::number_form::words, tlm::number_form::factors}) {
            check(described, form, numbers);
            check(plain, form, numbers);
        }
}

TEST_CASE("generator: one sample has the model's distribution over legal points; the most likely is found by a wide beam") {
    const toy::described_space space;
    const auto words = vocabulary_of(space);
    const hashed model{words.size()};
    const auto all = leaves(model, space, words, tlm::sentence_form::compact);
    std::map<augur::decision_vector, int> count;
    constexpr int draws = 20000;
    tlm::generation_options o;
    o.count = 1;
    for (int i = 0; i < draws; ++i) {
        auto g = *tlm::generator<hashed, toy::described_space>::create(model, words, tlm::sentence_form::compact, "a kernel PPT", space);
        o.seed = static_cast<std::uint64_t>(i);
        const auto one = g.generate(o);
        REQUIRE(one);
        REQUIRE(one->size() == 1);
        ++count[one->front().decisions];
        CHECK(std::exp(one->front().log_probability) == doctest::Approx(all.at(one->front().decisions)).epsilon(1e-4));
    }
    double chi = 0;
    for (const auto& [point, p] : all) chi += std::pow(count[point] - p * draws, 2) / (p * draws);
    const auto n = static_cast<double>(all.size() - 1);
    CHECK(chi < n + 5 * std::sqrt(2 * n));

    o.sample = false;
    o.count = 100000;
    o.batch = 100000;
    auto g = *tlm::generator<hashed, toy::described_space>::create(model, words, tlm::sentence_form::compact, "a kernel PPT", space);
    const auto ranked = g.generate(o);
    REQUIRE(ranked);
    REQUIRE(ranked->size() == all.size());
    for (std::size_t i = 1; i < ranked->size(); ++i) CHECK((*ranked)[i - 1].log_probability >= (*ranked)[i].log_probability);
    CHECK(std::exp(ranked->front().log_probability) ==
          doctest::Approx(std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second)
              .epsilon(1e-4));
}

TEST_CASE("generator: pairs without replacement in one call are as likely as drawing again until they differ") {
    const toy::described_space space;
    const auto words = vocabulary_of(space);
    const hashed model{words.size(), 3};
    const auto all = leaves(model, space, words, tlm::sentence_form::compact);
    // how often a point is in a sample of two: p_i + sum over j of p_j p_i / (1 - p_j)
    std::map<augur::decision_vector, double> expected;
    for (const auto& [i, p] : all) {
        expected[i] += p;
        for (const auto& [j, q] : all)
            if (i != j) expected[i] += q * p / (1 - q);
    }
    std::map<augur::decision_vector, int> count;
    constexpr int draws = 20000;
    tlm::generation_options o;
    o.count = 2;
    for (int i = 0; i < draws; ++i) {
        auto g = *tlm::generator<hashed, toy::described_space>::create(model, words, tlm::sentence_form::compact, "a kernel PPT", space);
        o.seed = static_cast<std::uint64_t>(i);
        const auto two = g.generate(o);
        REQUIRE(two->size() == 2);
        for (const auto& point : *two) ++count[point.decisions];
    }
    double chi = 0;
    for (const auto& [point, p] : expected) chi += std::pow(count[point] - p * draws, 2) / (p * draws * (1 - (std::min)(p, 0.99)) + 1e-9);
    const auto n = static_cast<double>(all.size() - 1);
    CHECK(chi < n + 5 * std::sqrt(2 * n));
}

namespace {

/// A small space: 42 points.
toy::described_space few_points() {
    toy::described_space space;
    space.extent = 6;
    space.budget = 4;
    return space;
}
template <class M>
tlm::generator<M, toy::described_space> generator_of(const M& model, const tlm::vocabulary& words, tlm::sentence_form form,
                                                     const toy::described_space& space) {
    return *tlm::generator<M, toy::described_space>::create(model, words, form, "a kernel PPT", space);
}

/// Whether points were drawn as often as expected: the statistic is below its mean and five deviations. Points that are expected less than five times
/// count as one.
bool drawn_as_expected(const std::map<augur::decision_vector, int>& drawn, const std::map<augur::decision_vector, double>& expected, int draws) {
    double statistic = 0, rare = 0;
    int all = 0, rare_drawn = 0, cells = 1;
    for (const auto& [point, p] : expected) {
        const auto at = drawn.find(point);
        const int n = at == drawn.end() ? 0 : at->second;
        all += n;
        if (p * draws < 5) {
            rare += p * draws;
            rare_drawn += n;
        } else {
            statistic += std::pow(n - p * draws, 2) / (p * draws);
            ++cells;
        }
    }
    statistic += std::pow(rare_drawn - rare, 2) / (std::max)(rare, 1.0);
    const auto freedom = static_cast<double>(cells - 1);
    return all == draws && statistic < freedom + 5 * std::sqrt(2 * freedom);
}

/// Of points that are drawn one after the other without replacement: the probabilities of the third.
std::map<augur::decision_vector, double> third_of(const std::map<augur::decision_vector, double>& p) {
    std::map<augur::decision_vector, double> out;
    for (const auto& [i, a] : p)
        for (const auto& [j, b] : p)
            for (const auto& [k, c] : p)
                if (i != j && i != k && j != k) out[k] += a * b / (1 - a) * c / (1 - a - b);
    return out;
}

} // namespace

TEST_CASE("generator: over all calls, a point comes with its probability divided by that of what has not come") {
    const auto space = few_points();
    const auto words = vocabulary_of(space);
    const hashed model{words.size(), 3};
    const auto form = tlm::sentence_form::compact;
    auto all = leaves(model, space, words, form);
    REQUIRE(all.size() == 42);
    constexpr int draws = 20000;
    tlm::generation_options o;
    SUBCASE("a call each") {
        std::map<augur::decision_vector, int> third;
        for (int i = 0; i < draws; ++i) {
            auto g = generator_of(model, words, form, space);
            double spent = 0;
            for (std::uint64_t call = 0; call < 3; ++call) {
                o.count = 1;
                o.seed = 3 * static_cast<std::uint64_t>(i) + call;
                const auto one = g.generate(o);
                REQUIRE(one->size() == 1);
                if (call == 2) ++third[one->front().decisions];
                spent += std::exp(one->front().log_probability);
                CHECK(std::exp(g.log_left()) == doctest::Approx(1 - spent).epsilon(1e-9));
            }
            CHECK(g.report().discarded == 0);
        }
        CHECK(drawn_as_expected(third, third_of(all), draws));
    }
    SUBCASE("a call of two, and one of one") {
        std::map<augur::decision_vector, int> third;
        for (int i = 0; i < draws; ++i) {
            auto g = generator_of(model, words, form, space);
            o.seed = 2 * static_cast<std::uint64_t>(i);
            o.count = 2;
            REQUIRE(g.generate(o)->size() == 2);
            ++o.seed;
            o.count = 1;
            ++third[g.generate(o)->front().decisions];
        }
        CHECK(drawn_as_expected(third, third_of(all), draws));
    }
    SUBCASE("points that were excluded, most of the probability; then the same behind a call") {
        std::vector<std::pair<double, augur::decision_vector>> likely;
        for (const auto& [point, p] : all) likely.emplace_back(p, point);
        std::sort(likely.rbegin(), likely.rend());
        likely.resize(12);
        std::map<augur::decision_vector, int> drawn, behind;
        auto rest = all;
        double left = 1;
        for (const auto& [p, point] : likely) {
            left -= p;
            rest.erase(point);
        }
        CHECK(left < 0.5);
        for (auto& [point, p] : rest) p /= left;
        std::map<augur::decision_vector, double> second;
        for (const auto& [i, a] : rest)
            for (const auto& [j, b] : rest)
                if (i != j) second[j] += a * b / (1 - a);
        for (int i = 0; i < draws; ++i) {
            auto g = generator_of(model, words, form, space);
            for (const auto& [p, point] : likely) REQUIRE(g.exclude(point));
            o.count = 1;
            o.seed = 2 * static_cast<std::uint64_t>(i);
            ++drawn[g.generate(o)->front().decisions];
            ++o.seed;
            ++behind[g.generate(o)->front().decisions];
        }
        CHECK(drawn_as_expected(drawn, rest, draws));
        CHECK(drawn_as_expected(behind, second, draws));
    }
    SUBCASE("another temperature, after points that came with the first") {
        o.count = 10;
        auto g = generator_of(model, words, form, space);
        REQUIRE(g.generate(o)->size() == 10);
        o.temperature = 0.5;
        o.count = 1000;
        CHECK(g.generate(o)->size() == 32);
        CHECK(g.log_left() == -std::numeric_limits<double>::infinity());
    }
    SUBCASE("a model that is nearly sure: what is left is tiny, and nothing is lost") {
        const hashed sure{words.size(), 200};
        auto g = generator_of(sure, words, form, space);
        std::set<augur::decision_vector> seen;
        o.count = 1;
        while (g.log_left() > -std::numeric_limits<double>::infinity()) {
            ++o.seed;
            const auto one = g.generate(o);
            REQUIRE(one->size() == 1);
            CHECK(seen.insert(one->front().decisions).second);
        }
        CHECK(seen.size() == 42);
    }
    SUBCASE("limits: points beyond them do not come") {
        o.top_k = 2;
        o.count = 1000;
        auto g = generator_of(model, words, form, space);
        const auto some = g.generate(o);
        CHECK(some->size() > 4);
        CHECK(some->size() <= 16);
        double sum = 0;
        for (const auto& point : *some) sum += std::exp(point.log_probability);
        CHECK(sum == doctest::Approx(1).epsilon(1e-9));
        o.top_k = 0;
        CHECK(g.generate(o)->size() == 42 - some->size());
    }
}

namespace {

/// Gives legal tokens, those without an alternative too, a share that differs from place to place, and the rest to all tokens.
struct distracted {
    const toy::described_space* space;
    const tlm::vocabulary* vocabulary;
    tlm::sentence_form form;
    std::shared_ptr<std::map<std::vector<tlm::token>, std::vector<float>>> known =
        std::make_shared<std::map<std::vector<tlm::token>, std::vector<float>>>();

    [[nodiscard]] std::size_t words() const { return vocabulary->size(); }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> all, std::span<float> out) const {
        auto& row = (*known)[{all.begin(), all.end()}];
        if (row.empty()) {
            row.resize(words());
            std::vector<tlm::token> said{tlm::vocabulary::begin};
            vocabulary->append_text("a kernel PPT", said);
            tlm::token_walk<toy::described_space> walk(*space, *vocabulary, form);
            bool open = walk.advance(said);
            while (open && said.size() < all.size()) {
                walk.choose(all[said.size()]);
                said.push_back(all[said.size()]);
                open = walk.advance(said);
            }
            std::vector<tlm::token> legal;
            if (said.size() > all.size()) legal.push_back(said[all.size()]);
            else if (open) legal.assign(walk.choices().begin(), walk.choices().end());
            else legal.push_back(tlm::vocabulary::end);
            static_cast<void>(hashed{words(), 1}.logits(all, row));
            std::uint64_t h = 7;
            for (const auto t : all) h = augur::mix64(h ^ t);
            const auto likely = static_cast<float>(augur::random_engine(h).uniform(1, legal.size() == 1 ? 7 : 5));
            for (const auto t : legal) row[t] += likely;
        }
        std::copy(row.begin(), row.end(), out.begin());
        return {};
    }
};

/// The model's own probabilities of all points, their sentences written to the end, without a mask: by brute force.
std::map<augur::decision_vector, double> sentences_of(const distracted& model, double temperature) {
    std::map<augur::decision_vector, double> out;
    for (const auto& [point, ignored] : leaves(hashed{model.words()}, *model.space, *model.vocabulary, model.form)) {
        std::vector<tlm::token> prompt{tlm::vocabulary::begin}, rest;
        model.vocabulary->append_text("a kernel PPT", prompt);
        tlm::token_walk<toy::described_space> walk(*model.space, *model.vocabulary, model.form);
        while (walk.advance(rest)) {
            rest.push_back(*walk.towards(point[walk.decisions().size()]));
            walk.choose(rest.back());
        }
        rest.push_back(tlm::vocabulary::end);
        double p = 1;
        for (const auto t : rest) {
            std::vector<float> logits(model.words());
            REQUIRE(model.logits(prompt, logits));
            double sum = 0;
            for (const float x : logits) sum += std::exp(static_cast<double>(x) / temperature);
            p *= std::exp(static_cast<double>(logits[t]) / temperature) / sum;
            prompt.push_back(t);
        }
        out[point] = p;
    }
    return out;
}

} // namespace

TEST_CASE("generator: aligned samples have the model's own distribution, given that a point is legal; masked ones have not") {
    const auto space = few_points();
    const auto words = vocabulary_of(space);
    constexpr int draws = 4000;
    for (const auto form : {tlm::sentence_form::full, tlm::sentence_form::compact})
        for (const double temperature : {1.0, 0.7}) {
            const distracted model{&space, &words, form};
            const auto own = sentences_of(model, temperature);
            double legal = 0;
            for (const auto& [point, p] : own) legal += p;
            CHECK(legal < 0.5);
            auto given = own;
            for (auto& [point, p] : given) p /= legal;
            tlm::generation_options o;
            o.temperature = temperature;
            std::map<augur::decision_vector, int> first, third, masked;
            for (int i = 0; i < draws; ++i) {
                auto g = generator_of(model, words, form, space);
                o.seed = static_cast<std::uint64_t>(i);
                o.count = 1;
                o.aligned = false;
                ++masked[g.generate(o)->front().decisions];
                CHECK(g.report().discarded == 0);
                auto h = generator_of(model, words, form, space);
                o.aligned = true;
                o.discards = 1000;
                o.count = i % 2 == 0 ? 1 : 2; // in calls of one and two, and of two and one
                const auto a = *h.generate(o);
                o.seed += draws;
                o.count = 3 - o.count;
                const auto b = *h.generate(o);
                REQUIRE(a.size() + b.size() == 3);
                ++first[a.front().decisions];
                ++third[b.back().decisions];
                for (const auto& point : a) CHECK(std::exp(point.log_probability) == doctest::Approx(own.at(point.decisions)).epsilon(1e-4));
            }
            CHECK(drawn_as_expected(first, given, draws));
            CHECK(drawn_as_expected(third, third_of(given), draws));
            CHECK_FALSE(drawn_as_expected(masked, given, draws));
            // all points in one call, then nothing is left; each token that is not legal was written once at most
            o.count = 1000;
            o.batch = 5;
            auto g = generator_of(model, words, form, space);
            const auto all = *g.generate(o);
            std::set<augur::decision_vector> seen;
            for (const auto& point : all) CHECK(seen.insert(point.decisions).second);
            CHECK(seen.size() == own.size());
            CHECK(g.log_left() == -std::numeric_limits<double>::infinity());
            CHECK(g.report().discarded > 0);
            CHECK(g.report().discarded < 1000);
        }
}

TEST_CASE("generator: aligned samples of a model that does not know the language end with fewer points") {
    const auto space = few_points();
    const auto words = vocabulary_of(space);
    const constant ignorant{words.size()};
    auto g = generator_of(ignorant, words, tlm::sentence_form::full, space);
    tlm::generation_options o;
    o.count = 10;
    o.aligned = true;
    o.discards = 1;
    o.batch = 1;
    CHECK(g.generate(o)->size() < 10);
    CHECK(g.report().discarded > 10);
}

namespace {

/// The same as `hashed`, with a context.
struct short_of_breath : hashed {
    std::size_t most = 0;
    [[nodiscard]] std::size_t context() const { return most; }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> all, std::span<float> out) const {
        if (all.size() > most) return augur::error{augur::errc::limit, "longer than the context"};
        return hashed::logits(all, out);
    }
};

} // namespace

TEST_CASE("generator: points whose sentences the context does not hold do not come, the others have the ratios that they have without a context") {
    const auto space = few_points();
    const auto words = vocabulary_of(space);
    const auto form = tlm::sentence_form::compact;
    short_of_breath model;
    model.n = words.size();
    model.sharpness = 3;
    model.most = 6; // [CLS] a kernel PPT, and two choices in front of the last one
    auto held = leaves(model, space, words, form);
    std::erase_if(held, [&](const auto& leaf) {
        std::size_t choices = 0;
        for (std::size_t i = 0; i < leaf.first.size(); ++i) choices += space.next(std::span(leaf.first).first(i))->options > 1 ? 1 : 0;
        return choices > 3;
    });
    CHECK(held.size() > 5);
    CHECK(held.size() < 30);
    double sum = 0;
    for (const auto& [point, p] : held) sum += p;
    CHECK(sum < 0.7);
    for (auto& [point, p] : held) p /= sum;
    constexpr int draws = 20000;
    std::map<augur::decision_vector, int> first, third;
    tlm::generation_options o;
    o.discards = 1000;
    for (int i = 0; i < draws; ++i) {
        auto g = generator_of(model, words, form, space);
        o.seed = static_cast<std::uint64_t>(i);
        o.count = i % 2 == 0 ? 1 : 2; // in calls of one and two, and of two and one
        const auto a = *g.generate(o);
        o.seed += draws;
        o.count = 3 - o.count;
        const auto b = *g.generate(o);
        REQUIRE(a.size() + b.size() == 3);
        ++first[a.front().decisions];
        ++third[b.back().decisions];
    }
    CHECK(drawn_as_expected(first, held, draws));
    CHECK(drawn_as_expected(third, third_of(held), draws));
    o.count = 1000;
    auto g = generator_of(model, words, form, space);
    CHECK(g.generate(o)->size() == held.size());
    CHECK(g.log_left() == -std::numeric_limits<double>::infinity());
    CHECK(g.report().too_long > 0);
}

TEST_CASE("generator: points that the vocabulary cannot tell are excluded without harm") {
    toy::described_space space, strange;
    strange.extent = 35; // tiles of 5 and 7, of which a vocabulary of 36 has no words
    const auto words = vocabulary_of(space);
    const hashed model{words.size()};
    auto g = *tlm::generator<hashed, toy::described_space>::create(model, words, tlm::sentence_form::compact, "a kernel PPT", strange);
    std::vector<augur::decision_vector> pending{{}};
    std::size_t points = 0;
    while (!pending.empty()) {
        const auto p = pending.back();
        pending.pop_back();
        const auto open = strange.next(p);
        for (std::uint64_t v = 0; open && v < open->options; ++v) {
            pending.push_back(p);
            pending.back().push_back(v);
        }
        if (open) continue;
        REQUIRE(g.exclude(p));
        ++points;
    }
    CHECK(points > 20);
    CHECK(g.generate({})->empty()); // all that can be told are out
}

TEST_CASE("generator: what is excluded does not come; the same seed gives the same, whatever the batch of the session holds") {
    const toy::described_space space;
    const auto words = vocabulary_of(space);
    const hashed model{words.size()};
    const auto make = [&] {
        return *tlm::generator<hashed, toy::described_space>::create(model, words, tlm::sentence_form::full, "a kernel PPT", space);
    };
    tlm::generation_options o;
    o.count = 20;
    auto a = make(), b = make();
    const auto x = *a.generate(o), y = *b.generate(o);
    REQUIRE(x.size() == 20);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i].decisions == y[i].decisions);
    auto c = make();
    for (const auto& point : x) REQUIRE(c.exclude(point.decisions));
    REQUIRE(c.exclude(x[0].decisions)); // again
    CHECK(c.exclude(augur::decision_vector{9}).error().code == augur::errc::illegal_schedule);
    o.count = 10000;
    const auto rest = *c.generate(o);
    for (const auto& point : rest)
        for (const auto& gone : x) CHECK(point.decisions != gone.decisions);
    const auto all = leaves(model, space, words, tlm::sentence_form::full);
    CHECK(rest.size() + x.size() == all.size());
}

TEST_CASE("generator: top-k, top-p, temperature") {
    const toy::described_space space;
    const auto words = vocabulary_of(space);
    const hashed model{words.size()};
    const auto first = [&](tlm::generation_options o) {
        auto g = *tlm::generator<hashed, toy::described_space>::create(model, words, tlm::sentence_form::compact, "a kernel PPT", space);
        return g.generate(o);
    };
    tlm::generation_options greedy;
    greedy.count = 1;
    greedy.sample = false;
    greedy.batch = 1;
    const auto likely = first(greedy)->front().decisions;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        tlm::generation_options o;
        o.count = 1;
        o.seed = seed;
        o.top_k = 1;
        CHECK(first(o)->front().decisions == likely);
        o.top_k = 0;
        o.top_p = 1e-9;
        CHECK(first(o)->front().decisions == likely);
        o.top_p = 1;
        o.temperature = 1e-3;
        CHECK(first(o)->front().decisions == likely);
    }
    tlm::generation_options bad;
    for (const double t : {0.0, 1e-40, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
        bad.temperature = t;
        CHECK(first(bad).error().code == augur::errc::invalid_argument);
    }
    bad.temperature = 1;
    bad.top_p = 0;
    CHECK(first(bad).error().code == augur::errc::invalid_argument);
}

TEST_CASE("generator: a model whose logits are no numbers, and one that gives nothing a probability") {
    const toy::described_space space;
    const auto words = vocabulary_of(space);
    for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
        const constant model{words.size(), value};
        auto g = *tlm::generator<constant, toy::described_space>::create(model, words, tlm::sentence_form::compact, "a kernel PPT", space);
        CHECK(g.generate({}).error().code == augur::errc::limit);
    }
    const constant small{3};
    CHECK(tlm::generator<constant, toy::described_space>::create(small, words, tlm::sentence_form::compact, "PPT", space).error().code ==
          augur::errc::shape_mismatch);
}

TEST_CASE("generator: masked probability by kind, and words that the vocabulary does not have") {
    const toy::described_space space;
    const auto words = vocabulary_of(space);
    const constant uniform{words.size()};
    auto g = *tlm::generator<constant, toy::described_space>::create(uniform, words, tlm::sentence_form::compact, "a kernel PPT", space);
    tlm::generation_options o;
    o.count = 1;
    REQUIRE(g.generate(o));
    const auto& sketch = g.report().kinds[static_cast<std::size_t>(augur::decision_kind::sketch)];
    CHECK(sketch.choices == 1);
    CHECK(sketch.masked == doctest::Approx(1 - 2.0 / static_cast<double>(words.size())));
    tlm::vocabulary_builder few; // no tile but 4 can be told, and no value of sketch
    few.add_text("a kernel sketch tile = : 4");
    const auto little = *few.build();
    const constant model{little.size()};
    auto h = *tlm::generator<constant, toy::described_space>::create(model, little, tlm::sentence_form::full, "a kernel PPT", space);
    o.count = 100;
    const auto points = h.generate(o);
    REQUIRE(points);
    CHECK(points->size() == 1);
    CHECK(points->front().decisions[1] == 3);
    CHECK(h.report().unsayable > 0);
}

TEST_CASE("generator: GPT-2 writes distinct legal points of real kernels, a sample as with the model that keeps no state") {
    for (const char* kernel : {"dense:m=16,n=32,k=8,bias", "conv2d:n=1,h=8,w=8,c=4,f=8,k=3,stride=1,pad=1,layout=nhwc,bias,relu"}) {
        const auto space = *augur::loopnest::ansor_space::create(
            std::make_shared<const augur::loopnest::compute_dag>(*augur::loopnest::build_dag(*augur::kernel::parse(kernel))), {});
        const auto words = vocabulary_of(space);
        const tlm::frozen_gpt2 model(
            tlm::gpt2<float>::random_init({static_cast<augur::nn::index>(words.size()), 256, 2, 32, 4, 64}, augur::random_engine(2)));
        auto g =
            tlm::generator<tlm::frozen_gpt2, augur::loopnest::ansor_space>::create(model, words, tlm::sentence_form::full, "a kernel PPT", space);
        REQUIRE(g);
        tlm::generation_options o;
        o.count = 50;
        o.batch = 20;
        const auto points = g->generate(o);
        REQUIRE_MESSAGE(points, points.error().detail);
        REQUIRE(points->size() == 50);
        std::set<augur::decision_vector> seen;
        for (const auto& point : *points) {
            CHECK(space.realise(point.decisions));
            CHECK(seen.insert(point.decisions).second);
        }
        // the log-probability of a point is that of its tokens, computed anew
        tlm::gpt2_pass<float> pass;
        for (std::size_t i = 0; i < 5; ++i) {
            tlm::token_walk<augur::loopnest::ansor_space> walk(space, words, tlm::sentence_form::full);
            std::vector<tlm::token> tokens{tlm::vocabulary::begin};
            words.append_text("a kernel PPT", tokens);
            double sum = 0;
            while (walk.advance(tokens)) {
                const auto t = walk.towards((*points)[i].decisions[walk.decisions().size()]);
                REQUIRE(t);
                pass.begin();
                pass.prompt(tokens);
                pass.forward(model.net());
                augur::nn::matrix<float> logits(pass.rows(), static_cast<augur::nn::index>(words.size()));
                pass.logits(model.net(), logits);
                const auto row = logits.row(logits.rows() - 1);
                sum += static_cast<double>(row(static_cast<augur::nn::index>(*t))) - std::log(row.cast<double>().array().exp().sum());
                tokens.push_back(*t);
                walk.choose(*t);
            }
            CHECK(sum == doctest::Approx((*points)[i].model_log_probability).epsilon(1e-4));
        }
    }
}

namespace {

/// Knows the language: its logits allow what a walk allows, uniformly, but for a token that is wrong now and then.
struct well_read {
    const toy::described_space* space;
    const tlm::vocabulary* vocabulary;
    tlm::sentence_form form;
    double wrong; ///< probability of [UNK] at each token
    [[nodiscard]] std::size_t words() const { return vocabulary->size(); }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> all, std::span<float> out) const {
        std::vector<tlm::token> prompt{tlm::vocabulary::begin};
        vocabulary->append_text("a kernel PPT", prompt);
        tlm::token_walk<toy::described_space> walk(*space, *vocabulary, form);
        std::vector<tlm::token> said;
        bool open = walk.advance(said);
        const auto told = all.subspan(prompt.size());
        while (open && said.size() < told.size()) {
            walk.choose(told[said.size()]);
            said.push_back(told[said.size()]);
            open = walk.advance(said);
        }
        std::fill(out.begin(), out.end(), -std::numeric_limits<float>::infinity());
        const auto allow = [&](tlm::token t, double p) { out[t] = static_cast<float>(std::log(p)); };
        if (said.size() > told.size()) allow(said[told.size()], 1 - wrong);
        else if (!open) allow(tlm::vocabulary::end, 1 - wrong);
        else
            for (const auto t : walk.choices()) allow(t, (1 - wrong) / static_cast<double>(walk.choices().size()));
        if (wrong > 0) allow(tlm::vocabulary::unknown, wrong);
        return {};
    }
};

} // namespace

TEST_CASE("unconstrained: what is legal is kept once, what is not is counted and written anew") {
    const toy::described_space space;
    const auto words = vocabulary_of(space);
    tlm::generation_options o;
    o.count = 40;
    for (const auto form : {tlm::sentence_form::full, tlm::sentence_form::compact}) {
        const well_read perfect{&space, &words, form, 0};
        const auto good = tlm::generate_unconstrained(perfect, words, form, "a kernel PPT", space, o);
        REQUIRE_MESSAGE(good, good.error().detail);
        CHECK(good->illegal == 0);
        CHECK(good->points.size() == 40);
        CHECK(good->calls_a_legal_one() == 1);
        CHECK(good->points.size() + good->repeated == good->calls);
        for (const auto& point : good->points) CHECK(augur::trace_path(space, point.decisions));
        // a sentence of k tokens is right with probability 0.98^k
        const well_read careless{&space, &words, form, 0.02};
        const auto some = tlm::generate_unconstrained(careless, words, form, "a kernel PPT", space, o);
        REQUIRE(some);
        CHECK(some->illegal > 0);
        CHECK(some->points.size() > 30); // some come twice
        CHECK(some->calls_a_legal_one() > 1);
        CHECK(some->calls_a_legal_one() < 2);
    }
    const hashed ignorant{words.size(), 0.1};
    const auto none = tlm::generate_unconstrained(ignorant, words, tlm::sentence_form::full, "a kernel PPT", space, o);
    REQUIRE(none);
    CHECK(none->points.empty());
    CHECK(none->calls == 200); // five passes
    CHECK(none->calls_a_legal_one() == 0);
}
