// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/online.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/space/walk.hpp>

#include "../nn/same_parameters.hpp"
#include "../space/toy.hpp"

namespace tlm = augur::tlm;

namespace {

/// Points of two toy kernels with made-up latencies, and a small model.
struct measured_toys {
    std::vector<toy::described_space> spaces{{{36, 24}}, {{48, 24}}};
    std::vector<std::string> prompts{"toy 36 PPT", "toy 48 PPT"};
    struct point {
        std::size_t kernel;
        augur::decision_vector decisions;
        double seconds;
    };
    std::vector<point> points;
    tlm::language_model base;

    measured_toys() {
        augur::random_engine rng(7);
        augur::dataset_builder to;
        const auto source = to.source("toys");
        std::set<std::pair<std::size_t, augur::decision_vector>> seen;
        while (points.size() < 100) {
            const std::size_t k = points.size() % 2;
            const auto p = augur::sample_path(spaces[k], rng).values;
            if (seen.insert({k, p}).second) points.push_back({k, p, rng.uniform(1, 2)});
        }
        for (std::size_t k = 0; k < 2; ++k) REQUIRE(tlm::sample_sentences(to, source, prompts[k], spaces[k], 100, rng.stream(k)));
        auto words = *tlm::count_words(std::move(to).finish()).build();
        const tlm::gpt2_config config{static_cast<augur::nn::index>(words.size()), 32, 2, 32, 2, 64};
        base = {tlm::gpt2<float>::random_init(config, augur::random_engine(1)), std::move(words), tlm::sentence_form::compact};
    }
    [[nodiscard]] static tlm::online_options options() {
        tlm::online_options o;
        o.fit.epochs = 3;
        o.first_update = 32;
        o.best = 5;
        return o;
    }
    template <class Model>
    void tell(Model& to, std::size_t from, std::size_t until) const {
        for (; from < until; ++from)
            to.observe(prompts[points[from].kernel], spaces[points[from].kernel], points[from].decisions, points[from].seconds);
    }
};

} // namespace

TEST_CASE("online model: it is the base, fine-tuned on the fastest of the first 32, 64, ... points, however they came") {
    const measured_toys toys;
    augur::serial_executor serial;
    tlm::online_model one(toys.base, serial, measured_toys::options());
    toys.tell(one, 0, 31);
    CHECK(same_parameters(one.current()->net(), toys.base.net));
    toys.tell(one, 31, 100);
    const auto at_once = one.current();
    CHECK(one.fine_tunings() == 1);

    augur::thread_pool_executor three(3);
    tlm::online_model rounds(toys.base, three, measured_toys::options());
    for (std::size_t i = 0; i < 100; i += 10) {
        toys.tell(rounds, i, i + 10);
        static_cast<void>(rounds.current());
    }
    CHECK(rounds.fine_tunings() == 2);
    CHECK(same_parameters(rounds.current()->net(), at_once->net()));

    augur::dataset_builder to; // by hand: of the first 64 the five fastest of each kernel
    const auto source = to.source("x");
    for (std::size_t k = 0; k < 2; ++k) {
        std::vector<measured_toys::point> of;
        for (std::size_t i = 0; i < 64; ++i)
            if (toys.points[i].kernel == k) of.push_back(toys.points[i]);
        std::sort(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
        for (std::size_t i = 0; i < 5; ++i) REQUIRE(tlm::add_sentence(to, source, toys.prompts[k], toys.spaces[k], of[i].decisions, of[i].seconds));
    }
    const auto corpus = std::move(to).finish();
    auto net = toys.base.net;
    REQUIRE(tlm::train(net, corpus, tlm::corpus_tokens(corpus, toys.base.words), toys.base.form, measured_toys::options().fit, serial,
                       [](const auto&) { return true; }));
    CHECK(same_parameters(net, at_once->net()));

    auto weighing = measured_toys::options();
    weighing.fit.weighted = true;
    tlm::online_model weighted(toys.base, serial, weighing);
    toys.tell(weighted, 0, 100);
    net = toys.base.net;
    REQUIRE(
        tlm::train(net, corpus, tlm::corpus_tokens(corpus, toys.base.words), toys.base.form, weighing.fit, serial, [](const auto&) { return true; }));
    CHECK(same_parameters(net, weighted.current()->net()));
    CHECK_FALSE(same_parameters(net, at_once->net()));
}

TEST_CASE("online model: a point counts once, kernels may have one prompt, and what is longer than the context is left out") {
    const measured_toys toys;
    augur::serial_executor serial;
    auto options = measured_toys::options();
    options.first_update = 8;
    tlm::online_model one(toys.base, serial, options);
    for (int i = 0; i < 20; ++i) toys.tell(one, 0, 3);
    CHECK(one.observed() == 3);
    CHECK(same_parameters(one.current()->net(), toys.base.net));

    tlm::online_model equal_prompts(toys.base, serial, options); // the spaces differ, and so may what is legal
    for (std::size_t i = 0; i < 16; ++i) equal_prompts.observe("toy PPT", toys.spaces[i % 2], toys.points[i].decisions, toys.points[i].seconds);
    static_cast<void>(equal_prompts.current());
    CHECK(equal_prompts.fine_tunings() == 1);
    CHECK(!equal_prompts.failed());

    auto short_context = toys.base;
    const tlm::gpt2_config config{static_cast<augur::nn::index>(short_context.words.size()), 6, 1, 8, 2, 8};
    short_context.net = tlm::gpt2<float>::random_init(config, augur::random_engine(1));
    tlm::online_model too_short(short_context, serial, options);
    toys.tell(too_short, 0, 8);
    static_cast<void>(too_short.current());
    REQUIRE(too_short.failed());
    CHECK(too_short.failed()->code == augur::errc::limit);
    CHECK(too_short.left_out() > 0);
}

TEST_CASE("online model: sentences from before are learned at once, and in each fine-tuning") {
    const measured_toys toys;
    augur::dataset_builder to;
    const auto source = to.source("x");
    REQUIRE(tlm::sample_sentences(to, source, "toy 36 PPT", toys.spaces[0], 20, augur::random_engine(3)));
    const auto before = std::move(to).finish();
    augur::serial_executor serial;
    tlm::online_model one(toys.base, serial, measured_toys::options());
    REQUIRE(one.demonstrate(before));
    CHECK(one.fine_tunings() == 1);
    auto net = toys.base.net;
    REQUIRE(tlm::train(net, before, tlm::corpus_tokens(before, toys.base.words), toys.base.form, measured_toys::options().fit, serial,
                       [](const auto&) { return true; }));
    CHECK(same_parameters(net, one.current()->net()));
    CHECK(one.unknown().empty());
    augur::dataset_builder strange;
    REQUIRE(tlm::sample_sentences(strange, strange.source("x"), "toy 37 PPT", toys.spaces[0], 5, augur::random_engine(3)));
    tlm::online_model other(toys.base, serial, measured_toys::options());
    REQUIRE(other.demonstrate(std::move(strange).finish()));
    REQUIRE(other.unknown().size() == 1);
    CHECK(other.unknown().front() == "37");
    tlm::online_model without(toys.base, serial, measured_toys::options());
    toys.tell(one, 0, 32);
    toys.tell(without, 0, 32);
    CHECK(!same_parameters(one.current()->net(), without.current()->net()));
    REQUIRE(without.demonstrate(before)); // what was measured is still known
    CHECK(same_parameters(one.current()->net(), without.current()->net()));
}

TEST_CASE("online model: failed points teach nothing, a stopped or refused fine-tuning leaves the model, zero means never") {
    measured_toys toys;
    augur::serial_executor serial;
    auto options = measured_toys::options();
    const auto end = toys.points;
    for (auto& p : toys.points) p.seconds = std::numeric_limits<double>::infinity();
    tlm::online_model none(toys.base, serial, options);
    toys.tell(none, 0, 64);
    CHECK(same_parameters(none.current()->net(), toys.base.net));
    CHECK(none.fine_tunings() == 0);
    CHECK(!none.failed());

    toys.points = end;
    tlm::online_model sound(toys.base, serial, options), spoilt(toys.base, serial, options); // no time, and a point that the space does not have
    toys.tell(sound, 1, 32);
    sound.observe(toys.prompts[toys.points[0].kernel], toys.spaces[toys.points[0].kernel], toys.points[0].decisions,
                  std::numeric_limits<double>::infinity());
    toys.points[0].seconds = 0;
    toys.tell(spoilt, 1, 32);
    toys.tell(spoilt, 0, 1);
    CHECK(same_parameters(spoilt.current()->net(), sound.current()->net()));
    CHECK(spoilt.fine_tunings() == 1);
    tlm::online_model foreign(toys.base, serial, options);
    const augur::decision_vector nowhere{9, 9, 9, 9};
    foreign.observe(toys.prompts[0], toys.spaces[0], nowhere, 1e-9);
    toys.points = end;
    toys.tell(foreign, 0, 31);
    static_cast<void>(foreign.current());
    CHECK(!foreign.failed());
    CHECK(foreign.fine_tunings() == 1);

    options.progress = [](const tlm::training_progress& p) { return p.step < 2; };
    tlm::online_model stopped(toys.base, serial, options);
    toys.tell(stopped, 0, 64);
    CHECK(same_parameters(stopped.current()->net(), toys.base.net));
    REQUIRE(stopped.failed());
    CHECK(stopped.failed()->code == augur::errc::interrupted);

    options = measured_toys::options();
    options.first_update = 0;
    tlm::online_model never(toys.base, serial, options);
    toys.tell(never, 0, 100);
    CHECK(same_parameters(never.current()->net(), toys.base.net));

    options = measured_toys::options();
    for (std::size_t i = 0; i < toys.points.size(); ++i)
        toys.points[i].seconds = i < 4 ? 1.2 - 0.1 * static_cast<double>(i / 2) : 1.8; // two a kernel
    tlm::online_model few(toys.base, serial, options);
    toys.tell(few, 0, 32);
    augur::dataset_builder to;
    const auto source = to.source("x");
    for (const std::size_t i : {2U, 0U, 3U, 1U})
        REQUIRE(tlm::add_sentence(to, source, toys.prompts[i % 2], toys.spaces[i % 2], toys.points[i].decisions, toys.points[i].seconds));
    const auto corpus = std::move(to).finish();
    auto net = toys.base.net;
    REQUIRE(
        tlm::train(net, corpus, tlm::corpus_tokens(corpus, toys.base.words), toys.base.form, options.fit, serial, [](const auto&) { return true; }));
    CHECK(same_parameters(few.current()->net(), net)); // 1.8 is more than one and a half times 1.1
    options.within = 0.5;
    CHECK(options.check().error().code == augur::errc::invalid_argument);

    options = measured_toys::options();
    options.growth = 1;
    CHECK(options.check().error().code == augur::errc::invalid_argument);
    options = measured_toys::options();
    options.fit.checkpoint = "x";
    CHECK(options.check().error().code == augur::errc::invalid_argument);
    options = measured_toys::options();
    options.best = 0;
    CHECK(options.check().error().code == augur::errc::invalid_argument);
}
