// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/generative_search.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/search/draft_verify.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/online.hpp>
#include <augur/tune/tuner.hpp>

#include "../space/toy.hpp"

namespace tlm = augur::tlm;

namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

/// Toy kernels that learn together, and a machine that likes large tiles.
struct kernels_that_learn {
    std::vector<toy::described_space> spaces;
    std::vector<std::string> prompts;
    tlm::language_model base;

    kernels_that_learn() {
        augur::dataset_builder to;
        const auto source = to.source("toys");
        for (const std::int64_t extent : {36, 48, 60}) {
            spaces.emplace_back().extent = extent;
            prompts.push_back("toy " + std::to_string(extent) + " PPT");
            REQUIRE(tlm::sample_sentences(to, source, prompts.back(), spaces.back(), 100, augur::random_engine(1)));
        }
        auto words = *tlm::count_words(std::move(to).finish()).build();
        const tlm::gpt2_config config{static_cast<augur::nn::index>(words.size()), 32, 2, 32, 2, 64};
        base = {tlm::gpt2<float>::random_init(config, augur::random_engine(1)), std::move(words), tlm::sentence_form::compact};
    }
    [[nodiscard]] double seconds(std::size_t k, std::span<const std::uint64_t> p) const {
        const auto tiles = spaces[k].tiles(spaces[k].budget);
        return (p[0] == 0 ? 1.0 : 3.0) / (1 + static_cast<double>(tiles[p[1]])) * (p.back() == 0 ? 0.5 : 1);
    }
    [[nodiscard]] static tlm::online_options options() {
        tlm::online_options o;
        o.fit.epochs = 20;
        o.fit.learning_rate = 3e-3;
        o.first_update = 24;
        o.best = 4;
        return o;
    }
};

using learner = tlm::online_model<augur::serial_executor>;
using learning_search = tlm::generative_search<learner, toy::described_space>;
static_assert(augur::search_strategy<learning_search, toy::described_space>);
static_assert(augur::search_strategy<tlm::generative_search<tlm::fixed_model<tlm::frozen_gpt2>, toy::described_space>, toy::described_space>);

augur::constant_scorer unranked;

std::set<augur::decision_vector> all_points(const toy::described_space& s) {
    std::set<augur::decision_vector> out;
    std::vector<augur::decision_vector> open{{}};
    while (!open.empty()) {
        const auto p = open.back();
        open.pop_back();
        if (const auto d = s.next(p)) {
            for (std::uint64_t v = 0; v < d->options; ++v) {
                open.push_back(p);
                open.back().push_back(v);
            }
        } else {
            out.insert(p);
        }
    }
    return out;
}

/// A model that is sure of one token behind the prompt, the sketch, and knows nothing else.
struct one_sketch {
    std::size_t n = 0, prompt = 0;
    tlm::token sketch = 0;
    [[nodiscard]] std::size_t words() const { return n; }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> tokens, std::span<float> out) const {
        std::fill(out.begin(), out.end(), 0.0F);
        if (tokens.size() == prompt) out[sketch] = 60;
        return {};
    }
};

struct toy_runner {
    const kernels_that_learn* all;
    std::size_t measured = 0;
    std::vector<augur::measurement> measure(const toy::task& t, std::span<const toy::schedule> batch) {
        std::vector<augur::measurement> out;
        for (const auto& s : batch) {
            const augur::decision_vector p(s.numbers.begin(), s.numbers.end());
            auto& m = out.emplace_back();
            m.status = augur::outcome::ok;
            m.seconds = {all->seconds(static_cast<std::size_t>(t.name.back() - '0'), p)};
            ++measured;
        }
        return out;
    }
};

// The C++ block of the header: compiled, not called.
[[maybe_unused]] void searches_of_kernels(augur::result<tlm::language_model> base, const augur::machine_identity& machine) {
    using space = toy::described_space;
    augur::thread_pool_executor threads(2);
    const std::vector<toy::task> tasks(2);
    const std::vector<space> spaces(2);
    const augur::tuning_options options;
#include <snippets/tlm/generative_search.hpp.1.inc>
    static_cast<void>(t);
}

} // namespace

TEST_CASE("generative search: it proposes every point of a space once, and none that was observed") {
    const kernels_that_learn all;
    const tlm::frozen_gpt2 model(all.base.net);
    tlm::fixed_model language(model, all.base.words, all.base.form);
    tlm::generative_search search(language, all.prompts[0], all.spaces[0]);
    auto left = all_points(all.spaces[0]);
    augur::random_engine rng(1);
    const std::size_t whole = left.size();
    REQUIRE(whole > 50);
    std::vector<augur::measured_decisions> others; // measured by somebody else, among them one that failed
    for (const auto& p : left)
        if (others.size() < 10) others.push_back({p, others.empty() ? infinity : 1.0});
    const std::size_t observed = others.size();
    for (std::size_t round = 0; !left.empty(); ++round) {
        if (round == 2) {
            std::erase_if(others, [&](const auto& o) { return !left.contains(o.decisions); });
            search.observe(others);
            for (const auto& o : others) left.erase(o.decisions);
        }
        const auto points = search.propose(all.spaces[0], unranked, 16, rng);
        REQUIRE(points);
        REQUIRE(!points->empty());
        for (const auto& p : *points) CHECK(left.erase(p) == 1);
    }
    CHECK(observed == 10);
    CHECK(search.propose(all.spaces[0], unranked, 16, rng)->empty());
}

TEST_CASE("generative search: points of another space are passed over") {
    const kernels_that_learn all;
    const tlm::frozen_gpt2 model(all.base.net);
    tlm::fixed_model language(model, all.base.words, all.base.form);
    tlm::generative_search search(language, all.prompts[0], all.spaces[0]);
    auto left = all_points(all.spaces[0]);
    augur::random_engine rng(1);
    for (std::size_t round = 0; !left.empty(); ++round) {
        if (round < 2) search.observe(std::vector<augur::measured_decisions>{{{9, 9, 9, 9}, 1.0}, {{0}, 1.0}, {{}, 1.0}});
        const auto points = search.propose(all.spaces[0], unranked, 16, rng);
        REQUIRE(points);
        REQUIRE(!points->empty());
        for (const auto& p : *points) CHECK(left.erase(p) == 1);
    }
}

TEST_CASE("generative search: the first point is the most likely one, the others are samples of the seed") {
    const kernels_that_learn all;
    const tlm::frozen_gpt2 model(all.base.net);
    tlm::fixed_model language(model, all.base.words, all.base.form);
    const auto propose = [&](std::uint64_t seed) {
        tlm::generative_search search(language, all.prompts[1], all.spaces[1]);
        augur::random_engine rng(seed);
        auto out = *search.propose(all.spaces[1], unranked, 3, rng);
        const auto more = *search.propose(all.spaces[1], unranked, 5, rng);
        out.insert(out.end(), more.begin(), more.end());
        return out;
    };
    const auto once = propose(1), again = propose(1), other = propose(2);
    auto g = *tlm::generator<tlm::frozen_gpt2, toy::described_space>::create(model, all.base.words, all.base.form, all.prompts[1], all.spaces[1]);
    tlm::generation_options greedy;
    greedy.count = 1;
    greedy.sample = false;
    CHECK(once.size() == 8);
    CHECK(once == again);
    CHECK(once != other);
    CHECK(once.front() == g.generate(greedy)->front().decisions);
    CHECK(other.front() == once.front());
}

TEST_CASE("generative search: a share of the points is drawn from the space, also where the model is sure of something else") {
    const kernels_that_learn all;
    const one_sketch model{all.base.words.size(), 4, *all.base.words.find("1")}; // [CLS] toy 36 PPT
    tlm::fixed_model language(model, all.base.words, all.base.form);
    const auto other_sketch = [&](double explored) {
        tlm::generative_search search(language, all.prompts[0], all.spaces[0], {.explored = explored});
        augur::random_engine rng(3);
        const auto points = *search.propose(all.spaces[0], unranked, 24, rng);
        CHECK(points.size() == 24);
        CHECK(std::set<augur::decision_vector>(points.begin(), points.end()).size() == 24);
        return std::count_if(points.begin(), points.end(), [](const auto& p) { return p[0] == 0; });
    };
    CHECK(other_sketch(0) == 0);
    const auto some = other_sketch(0.25), most = other_sketch(1);
    CHECK(some > 0);
    CHECK(some <= 6); // a quarter of the 23 behind the first
    CHECK(most > 6);  // half of the 23, about
}

TEST_CASE("generative search: what it has measured makes its points faster, also those of another kernel") {
    double first = 0, later = 0, other = 0, by_base = 0; // sums over searches by chance
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        const kernels_that_learn all;
        augur::serial_executor serial;
        learner language(all.base, serial, kernels_that_learn::options());
        const tlm::frozen_gpt2 untaught(all.base.net);
        tlm::fixed_model fixed(untaught, all.base.words, all.base.form);
        augur::random_engine rng(seed);
        const auto mean_of = [&](auto& search, std::size_t k) {
            double sum = 0;
            const auto points = *search.propose(all.spaces[k], unranked, 24, rng);
            std::vector<augur::measured_decisions> measured;
            for (const auto& p : points) {
                sum += all.seconds(k, p);
                measured.push_back({p, all.seconds(k, p)});
            }
            search.observe(measured);
            return sum / static_cast<double>(points.size());
        };
        learning_search one(language, all.prompts[0], all.spaces[0]), unmeasured(language, all.prompts[2], all.spaces[2]);
        tlm::generative_search without(fixed, all.prompts[2], all.spaces[2]);
        first += mean_of(one, 0);
        CHECK(language.fine_tunings() == 0);
        later += mean_of(one, 0);
        CHECK(language.fine_tunings() == 1);
        by_base += mean_of(without, 2);
        other += mean_of(unmeasured, 2); // of another kernel, which nobody has measured
    }
    CHECK(later < 0.8 * first);
    CHECK(other < 0.8 * by_base);
}

TEST_CASE("generative search: stopped anywhere and resumed, the tuner ends with the same trials") {
    const kernels_that_learn all;
    const std::vector<toy::task> tasks{{"toy0"}, {"toy1"}};
    const auto tune = [&](std::size_t stop_at, std::vector<augur::logged_trial<toy::schedule>> records, std::size_t& measured) {
        augur::serial_executor serial;
        learner language(all.base, serial, kernels_that_learn::options());
        std::vector<learning_search> searches;
        for (std::size_t k = 0; k < 2; ++k) searches.emplace_back(language, all.prompts[k], all.spaces[k]);
        augur::tuning_options o;
        o.trials = 40;
        o.round = o.batch = 8;
        augur::tuner t(std::span<const toy::task>(tasks), std::span<const toy::described_space>(all.spaces.data(), 2),
                       std::span<learning_search>(searches), o);
        t.resume(std::move(records));
        toy_runner runner{&all};
        augur::tuning_hooks<toy::schedule, toy::task> hooks;
        hooks.stop = [&] { return runner.measured >= stop_at; };
        REQUIRE(t.run(runner, hooks));
        measured = runner.measured;
        std::vector<augur::logged_trial<toy::schedule>> out;
        for (const auto& trial : t.trials()) out.push_back({augur::task_identity(tasks[trial.task]), trial.schedule, trial.outcome});
        return out;
    };
    std::size_t n = 0;
    const auto whole = tune(1000, {}, n);
    REQUIRE(n == 80);
    for (const std::size_t stop : {8U, 24U, 56U}) {
        const auto begun = tune(stop, {}, n);
        const auto resumed = tune(1000, begun, n);
        CHECK(n + begun.size() == 80);
        REQUIRE(resumed.size() == whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i) CHECK(resumed[i].schedule == whole[i].schedule);
    }
}

TEST_CASE("generative search: a model drafts, and a scorer proposes the best of its drafts") {
    const kernels_that_learn all;
    const tlm::frozen_gpt2 model(all.base.net);
    tlm::fixed_model language(model, all.base.words, all.base.form);
    using drafting = tlm::generative_search<tlm::fixed_model<tlm::frozen_gpt2>, toy::described_space>;
    augur::constant_scorer nobody;
    augur::draft_then_verify search(drafting(language, all.prompts[0], all.spaces[0]), nobody, {.drafted = 8, .pool = 2048, .draft_share = 0});
    auto verifier = [&](std::span<const augur::decision_vector> points, std::span<float> scores) -> augur::result<void> {
        for (std::size_t i = 0; i < points.size(); ++i) scores[i] = static_cast<float>(-all.seconds(0, points[i]));
        return {};
    };
    augur::random_engine rng(1);
    const auto chosen = *search.propose(all.spaces[0], verifier, 4, rng);
    drafting alone(language, all.prompts[0], all.spaces[0]); // the same drafts
    augur::random_engine same(1);
    auto drafts = *alone.propose(all.spaces[0], nobody, 32, same);
    std::sort(drafts.begin(), drafts.end(), [&](const auto& a, const auto& b) { return all.seconds(0, a) < all.seconds(0, b); });
    REQUIRE(chosen.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(all.seconds(0, chosen[i]) == all.seconds(0, drafts[i]));
}

namespace {

/// A model without an opinion that fails at a call, once.
struct fails_once {
    std::size_t n = 0;
    std::size_t* calls = nullptr;
    std::size_t at = 0;
    [[nodiscard]] std::size_t words() const { return n; }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> tokens, std::span<float> out) const {
        if (++*calls == at) return augur::error{augur::errc::io, "once"};
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>((31 * i + 7 * tokens.size()) % 5);
        return {};
    }
};

/// Three decisions, of four options but for the second, which has as many as it says when it is asked.
struct asked_space {
    std::shared_ptr<std::vector<std::uint64_t>> answers; ///< the next one last, which stays
    [[nodiscard]] std::optional<augur::decision> next(std::span<const std::uint64_t> p) const {
        if (p.size() == 3) return std::nullopt;
        if (p.size() != 1) return augur::decision{augur::decision_kind::other, 4};
        const auto n = answers->back();
        if (answers->size() > 1) answers->pop_back();
        return augur::decision{augur::decision_kind::other, n};
    }
};

} // namespace

TEST_CASE("generative search: an error of the model loses no point, and the most likely one still comes first") {
    const kernels_that_learn all;
    const auto& space = all.spaces[0];
    const auto run = [&](std::size_t at, std::size_t& calls) {
        calls = 0;
        const fails_once model{all.base.words.size(), &calls, at};
        tlm::fixed_model language(model, all.base.words, all.base.form);
        tlm::generative_search_options options;
        options.sampling.batch = 4;
        tlm::generative_search search(language, all.prompts[0], space, options);
        augur::random_engine rng(1);
        auto left = all_points(space);
        augur::decision_vector first;
        for (std::size_t errors = 0; !left.empty();) {
            const auto points = search.propose(space, unranked, 16, rng);
            if (!points) {
                CHECK(points.error().code == augur::errc::io);
                REQUIRE(++errors == 1);
                continue;
            }
            REQUIRE(!points->empty());
            if (first.empty()) first = points->front();
            for (const auto& p : *points) CHECK(left.erase(p) == 1);
        }
        return first;
    };
    std::size_t calls = 0, unused = 0;
    const auto likely = run(0, calls);
    REQUIRE(calls > 50);
    for (std::size_t at = 1; at <= calls; at += 3) {
        CAPTURE(at);
        CHECK(run(at, unused) == likely);
    }
}

TEST_CASE("generative search: points that an error kept back and that somebody else has measured meanwhile do not come") {
    const kernels_that_learn all;
    const auto& space = all.spaces[0];
    std::size_t calls = 0;
    const fails_once model{all.base.words.size(), &calls, 30};
    tlm::fixed_model language(model, all.base.words, all.base.form);
    tlm::generative_search_options options;
    options.sampling.batch = 4;
    tlm::generative_search search(language, all.prompts[0], space, options);
    augur::random_engine rng(1);
    REQUIRE(!search.propose(space, unranked, 16, rng));
    std::vector<augur::measured_decisions> others;
    for (const auto& p : all_points(space))
        if (others.size() < 20) others.push_back({p, 1.0});
    search.observe(others);
    auto left = all_points(space);
    for (const auto& o : others) left.erase(o.decisions);
    while (!left.empty()) {
        const auto points = search.propose(space, unranked, 16, rng);
        REQUIRE(points);
        REQUIRE(!points->empty());
        for (const auto& p : *points) CHECK(left.erase(p) == 1);
    }
    CHECK(search.propose(space, unranked, 16, rng)->empty());
}

TEST_CASE("generative search: sentences longer than the context of the model are no error; their points are drawn") {
    kernels_that_learn all;
    auto config = all.base.net.config();
    config.context = 6; // [CLS] toy 36 PPT, and two choices in front of the last one
    const tlm::frozen_gpt2 model(tlm::gpt2<float>::random_init(config, augur::random_engine(1)));
    tlm::fixed_model language(model, all.base.words, all.base.form);
    tlm::generative_search search(language, all.prompts[0], all.spaces[0]);
    auto left = all_points(all.spaces[0]);
    augur::random_engine rng(1);
    for (;;) {
        const auto points = search.propose(all.spaces[0], unranked, 16, rng);
        REQUIRE_MESSAGE(points, points.error().detail);
        if (points->empty()) break;
        for (const auto& p : *points) CHECK(left.erase(p) == 1);
    }
    CHECK(search.report().points > 0);
    CHECK(search.report().too_long > 0);
    std::size_t long_ones = 0, drawn = 0;
    for (const auto& p : all_points(all.spaces[0])) {
        std::size_t choices = 0;
        bool preferred = true; // a sample of the space has this value where it samples nothing
        for (std::size_t i = 0; i < p.size(); ++i) {
            const auto open = *all.spaces[0].next(std::span(p).first(i));
            choices += open.options > 1 ? 1 : 0;
            preferred = preferred && (open.sampled || p[i] == open.preferred);
        }
        CHECK(left.contains(p) == (choices > 3 && !preferred));
        long_ones += choices > 3 ? 1 : 0;
        drawn += choices > 3 && preferred ? 1 : 0;
    }
    CHECK(drawn > 10);
    CHECK(long_ones < all_points(all.spaces[0]).size());
}

TEST_CASE("generative search: points that wait for their space still wait after an error") {
    tlm::vocabulary_builder counted;
    counted.add_text("toy PPT 0 1 2 3 4 5 6 7");
    const auto words = *counted.build();
    std::size_t calls = 0;
    const fails_once model{words.size(), &calls, 0};
    tlm::fixed_model language(model, words, tlm::sentence_form::compact);
    // decision 1: asked for each observed point, then when the second is excluded, and once more
    const asked_space space{std::make_shared<std::vector<std::uint64_t>>(std::vector<std::uint64_t>{8, 2, 4, 4, 4})};
    tlm::generative_search search(language, "toy PPT", space, {.explored = 0});
    const augur::decision_vector waits{0, 5, 0}, fails{1, 3, 0};
    search.observe(std::vector<augur::measured_decisions>{{waits, 1.0}, {fails, 1.0}});
    augur::random_engine rng(1);
    REQUIRE(!search.propose(space, unranked, 16, rng));
    REQUIRE(*space.answers == std::vector<std::uint64_t>{8});
    std::set<augur::decision_vector> seen;
    for (;;) {
        const auto points = search.propose(space, unranked, 16, rng);
        REQUIRE(points);
        if (points->empty()) break;
        for (const auto& p : *points) CHECK(seen.insert(p).second);
    }
    CHECK(seen.size() == 4 * 8 * 4 - 2);
    CHECK(!seen.contains(waits));
    CHECK(!seen.contains(fails));
}
