// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/train/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/weights_file.hpp>

#include "../nn/same_parameters.hpp"
#include "../record/logs.hpp"
#include "../space/toy.hpp"

namespace tlm = augur::tlm;
namespace fs = std::filesystem;

namespace {

/// Toy kernels of several extents, whose tiles a model can learn from the prompt.
augur::dataset toy_corpus(std::size_t count = 40) {
    augur::dataset_builder to;
    for (const std::int64_t extent : {36, 48, 60, 24}) {
        toy::described_space space;
        space.extent = extent;
        const auto source = to.source("toys");
        REQUIRE(tlm::sample_sentences(to, source, "toy " + std::to_string(extent) + " PPT", space, count,
                                      augur::random_engine(static_cast<std::uint64_t>(extent))));
    }
    return std::move(to).finish();
}

struct setting {
    augur::dataset corpus = toy_corpus();
    tlm::vocabulary words = *tlm::count_words(corpus).build();
    tlm::corpus_tokens tokens{corpus, words};
    tlm::gpt2_config config{static_cast<augur::nn::index>(words.size()), 32, 2, 32, 2, 64};

    [[nodiscard]] tlm::gpt2<float> start() const { return tlm::gpt2<float>::random_init(config, augur::random_engine(1)); }
};

const auto always = [](const tlm::training_progress&) { return true; };
/// Stops a training after the step `last`, 0: never. `first` becomes the first step that is done, 0: none is.
auto stop_after(std::size_t last, std::size_t& first) {
    first = 0;
    return [last, &first](const tlm::training_progress& p) {
        if (first == 0) first = p.step;
        return p.step != last;
    };
}

// The C++ block of tlm/README.md, with kernels that are toys: compiled, not called.
[[maybe_unused]] augur::result<void> learn_toys(const std::string& folder) {
    const std::vector<std::int64_t> kernels{36, 48};
    const auto make_kernel = [&](std::size_t i) -> augur::result<tlm::corpus_kernel<toy::described_space>> {
        toy::described_space space;
        space.extent = kernels[i];
        return tlm::corpus_kernel<toy::described_space>{"toy " + std::to_string(kernels[i]) + " PPT", space, "toys"};
    };
#include <snippets/tlm/README.md.1.inc>
}

} // namespace

TEST_CASE("trainer: the loss of a toy language falls to its entropy, and the bits do not depend on the threads") {
    const setting s;
    tlm::training_options o;
    o.epochs = 30;
    o.learning_rate = 3e-3;
    double first = 0, last = 0;
    auto net = s.start();
    augur::serial_executor serial;
    REQUIRE(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, [&](const tlm::training_progress& p) {
        if (p.step == 1) first = p.loss;
        last = p.loss;
        CHECK(p.steps > 0);
        CHECK(p.step <= p.steps);
        return true;
    }));
    CHECK(first == doctest::Approx(std::log(static_cast<double>(s.words.size()))).epsilon(0.1)); // it knows nothing
    CHECK(last < 1.3);                                                                           // choices are uniform: no model tells them
    CHECK(last > 0.7);
    auto again = s.start();
    augur::thread_pool_executor three(3);
    REQUIRE(tlm::train(again, s.corpus, s.tokens, tlm::sentence_form::compact, o, three, always));
    CHECK(same_parameters(net, again));
}

TEST_CASE("trainer: more prompts in a batch than there are groups cost no memory and change nothing") {
    const setting s;
    augur::serial_executor serial;
    tlm::training_options o;
    o.prompts = s.corpus.size();
    auto net = s.start(), same = net;
    REQUIRE(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, always));
    o.prompts = std::size_t{1} << 40U; // models that no machine has memory for
    REQUIRE(tlm::train(same, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, always));
    CHECK(same_parameters(net, same));
}

TEST_CASE("trainer: stopped at any step and resumed, it ends with the same bits; a checkpoint of another training is refused") {
    const setting s;
    const logs::folder tmp;
    const auto path = tmp / "checkpoint";
    tlm::training_options o;
    o.epochs = 2;
    augur::serial_executor serial;
    auto whole = s.start();
    REQUIRE(tlm::train(whole, s.corpus, s.tokens, tlm::sentence_form::full, o, serial, always));
    o.checkpoint = path;
    std::size_t reached = 0, first = 0;
    for (const std::size_t stop : {1U, 4U, 7U}) {
        auto net = s.start();
        const auto stopped = tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::full, o, serial, stop_after(stop, first));
        CHECK(stopped.error().code == augur::errc::interrupted);
        CHECK(first == reached + 1); // it went on from the checkpoint
        reached = stop;
    }
    auto net = s.start();
    REQUIRE(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::full, o, serial, stop_after(0, first)));
    CHECK(first == reached + 1);
    CHECK(same_parameters(net, whole));
    auto done = s.start(); // finished: nothing is left to do
    std::size_t more = 0;
    REQUIRE(tlm::train(done, s.corpus, s.tokens, tlm::sentence_form::full, o, serial, [&](const tlm::training_progress&) { return ++more != 0; }));
    CHECK(more == 0);
    CHECK(same_parameters(done, whole));
    const auto refused = [&](tlm::gpt2<float> start, const augur::dataset& corpus, const tlm::training_options& other) {
        const tlm::corpus_tokens tokens(corpus, s.words);
        const auto trained = tlm::train(start, corpus, tokens, tlm::sentence_form::full, other, serial, always);
        return !trained && trained.error().code == augur::errc::version_mismatch;
    };
    CHECK(!refused(s.start(), s.corpus, o));
    CHECK(refused(whole, s.corpus, o)); // it started from other weights
    CHECK(refused(s.start(), toy_corpus(39), o));
    auto other = o;
    other.seed = 2;
    CHECK(refused(s.start(), s.corpus, other));
    other = o;
    other.records.resize(s.corpus.size());
    std::iota(other.records.begin(), other.records.end(), std::uint32_t{0});
    CHECK(refused(s.start(), s.corpus, other));
    auto bytes = *augur::nn::load_bytes(path);
    bytes[bytes.size() - 3] ^= 1; // of a moment
    std::ofstream(path, std::ios::binary) << bytes;
    CHECK(refused(s.start(), s.corpus, o));
}

TEST_CASE("trainer: with dropout the loss falls, the bits depend neither on the threads nor on a stop, and each step drops anew") {
    const setting s;
    const logs::folder tmp;
    tlm::training_options o;
    o.dropout = 0.1;
    o.epochs = 10;
    o.learning_rate = 3e-3;
    augur::serial_executor serial;
    augur::thread_pool_executor three(3);
    double first = 0, last = 0;
    auto whole = s.start();
    REQUIRE(tlm::train(whole, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, [&](const tlm::training_progress& p) {
        if (p.step == 1) first = p.loss;
        return last = p.loss, true;
    }));
    CHECK(last < 0.6 * first);
    o.checkpoint = tmp / "checkpoint";
    auto net = s.start();
    std::size_t begun = 0;
    CHECK(!tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, stop_after(7, begun)));
    net = s.start();
    REQUIRE(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, three, stop_after(0, begun)));
    CHECK(begun == 8);
    CHECK(same_parameters(net, whole));
    o.dropout = 0.2;
    net = s.start();
    CHECK(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, always).error().code == augur::errc::version_mismatch);

    // one batch again and again, and nothing is learned: the losses differ by the masks alone
    o = {};
    o.epochs = 6;
    o.learning_rate = 0;
    o.records = {0, 1, 2};
    for (const double rate : {0.0, 0.1}) {
        o.dropout = rate;
        std::vector<double> losses, gaps;
        REQUIRE(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial,
                           [&](const tlm::training_progress& p) { return losses.push_back(p.loss), true; }));
        std::sort(losses.begin(), losses.end());
        for (std::size_t i = 1; i < losses.size(); ++i) gaps.push_back(losses[i] - losses[i - 1]);
        REQUIRE(gaps.size() == 5);
        if (rate > 0) CHECK(*std::min_element(gaps.begin(), gaps.end()) > 1e-5);
        else CHECK(*std::max_element(gaps.begin(), gaps.end()) < 1e-5); // the order of the sentences
    }

    // each group of a batch has masks of its own: two groups of one sentence, in one of the two orders
    o.epochs = 1;
    o.sentences = 1;
    o.records = {0, 1};
    double told = 0;
    REQUIRE(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial,
                       [&](const tlm::training_progress& p) { return told = p.loss, true; }));
    const augur::nn::dropout masks{0.1, augur::random_engine(o.seed).stream(~std::uint64_t{0}).stream(0)};
    std::vector<double> either;
    for (const std::size_t front : {0U, 1U}) {
        std::vector<tlm::gpt2_pass<float>> passes(2);
        std::size_t targets = 0;
        for (std::size_t p = 0; p < 2; ++p) {
            std::vector<tlm::token> ids;
            std::vector<std::uint8_t> learned;
            s.tokens.append((front + p) % 2, tlm::sentence_form::compact, ids, learned);
            passes[p].begin();
            passes[p].prompt(s.tokens.prompt(0));
            passes[p].sentence(ids, learned);
            passes[p].forward(net, masks.stream(p));
            targets += passes[p].targets();
        }
        auto ignored = tlm::gpt2<float>::zeros(s.config);
        const double share = 1 / static_cast<double>(targets);
        either.push_back(passes[0].loss(net, share, ignored) + passes[1].loss(net, share, ignored));
    }
    CHECK((told == either[0] || told == either[1]));
}

TEST_CASE("trainer: killed at any moment and resumed until it is done, it ends with the same bits") {
    const setting s;
    const logs::folder tmp;
    tlm::training_options o;
    o.epochs = 3;
    o.dropout = 0.1;
    augur::serial_executor serial;
    auto whole = s.start();
    const double before = augur::steady_seconds();
    REQUIRE(tlm::train(whole, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, always));
    const auto full_time = static_cast<std::uint64_t>(1e6 * (augur::steady_seconds() - before));
    o.checkpoint = tmp / "checkpoint";
    o.checkpoint_seconds = 0;
#ifdef AUGUR_TEST_SLOW
    constexpr int rounds = 60;
#else
    constexpr int rounds = 3;
#endif
    augur::random_engine rng(1);
    for (int round = 0; round < rounds; ++round) {
        int kills = 0, status = -1;
        for (std::uint64_t most = full_time / 4; status != 0; most += most / 4) { // longer and longer, so that it comes to an end
            const pid_t child = ::fork();
            REQUIRE(child >= 0);
            if (child == 0) {
                auto net = s.start();
                ::_exit(tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, always) ? 0 : 1);
            }
            ::usleep(static_cast<useconds_t>(rng.below(most)));
            ::kill(child, SIGKILL);
            REQUIRE(::waitpid(child, &status, 0) == child);
            REQUIRE((WIFSIGNALED(status) || status == 0)); // what a kill leaves is a checkpoint or none
            kills += WIFSIGNALED(status) ? 1 : 0;
        }
        CHECK(kills > 0);
        auto net = s.start();
        std::size_t more = 0;
        REQUIRE(
            tlm::train(net, s.corpus, s.tokens, tlm::sentence_form::compact, o, serial, [&](const tlm::training_progress&) { return ++more != 0; }));
        CHECK(more == 0);
        CHECK(same_parameters(net, whole));
        fs::remove(o.checkpoint);
    }
}

TEST_CASE("trainer: the first loss is the mean cross entropy of what is learned, values alone or everything as the authors do") {
    augur::dataset_builder to;
    const toy::described_space space;
    const auto source = to.source("one");
    REQUIRE(tlm::add_sentence(to, source, "toy PPT", space, augur::decision_vector{0, 3, 4, 2}));
    const auto corpus = std::move(to).finish();
    const auto words = *tlm::count_words(corpus).build();
    const tlm::corpus_tokens tokens(corpus, words);
    const auto start = tlm::gpt2<float>::random_init({static_cast<augur::nn::index>(words.size()), 40, 2, 16, 2, 32}, augur::random_engine(4));
    std::vector<tlm::token> all(tokens.prompt(0).begin(), tokens.prompt(0).end());
    std::vector<std::uint8_t> learned(all.size(), 0);
    tokens.append(0, tlm::sentence_form::full, all, learned);
    for (const bool everything : {false, true}) {
        if (everything) {
            all.resize(40, tlm::vocabulary::padding);
            learned.assign(40, 1);
        }
        tlm::gpt2_pass<float> pass;
        pass.begin();
        pass.prompt(all); // nothing is learned: logits of each place
        pass.forward(start);
        augur::nn::matrix<float> logits(pass.rows(), static_cast<augur::nn::index>(words.size()));
        pass.logits(start, logits);
        double sum = 0, n = 0;
        for (std::size_t i = 1; i < all.size(); ++i) {
            if (learned[i] == 0) continue;
            const auto row = logits.row(static_cast<augur::nn::index>(i) - 1).cast<double>();
            sum += std::log(row.array().exp().sum()) - row(static_cast<augur::nn::index>(all[i]));
            n += 1;
        }
        tlm::training_options o;
        o.epochs = 1;
        o.learn_all = everything;
        auto net = start;
        augur::serial_executor serial;
        double told = 0;
        REQUIRE(tlm::train(net, corpus, tokens, tlm::sentence_form::full, o, serial,
                           [&](const tlm::training_progress& p) { return told = p.loss, true; }));
        CHECK(told == doctest::Approx(sum / n).epsilon(1e-5));
    }
}

TEST_CASE("trainer: a sentence of weight 2 has the loss and the gradient of that sentence twice") {
    augur::dataset_builder to;
    const toy::described_space space;
    const auto source = to.source("x");
    const auto add = [&](const char* prompt, const augur::decision_vector& point, double seconds) {
        REQUIRE(tlm::add_sentence(to, source, prompt, space, point, seconds));
    };
    add("toy 36 PPT", {0, 3, 4, 2}, 2e-3); // half the weight of the next one
    add("toy 36 PPT", {1, 2, 0, 1}, 1e-3);
    add("toy 48 PPT", {0, 1, 1, 0}, 5e-3); // the only one of its kernel
    const auto corpus = std::move(to).finish();
    const auto words = *tlm::count_words(corpus).build();
    const tlm::corpus_tokens tokens(corpus, words);
    const auto start = tlm::gpt2<float>::random_init({static_cast<augur::nn::index>(words.size()), 32, 2, 16, 2, 32}, augur::random_engine(4));
    const logs::folder tmp;
    const auto path = tmp / "checkpoint";
    augur::serial_executor serial;
    for (const auto form : {tlm::sentence_form::full, tlm::sentence_form::compact}) {
        tlm::gpt2_pass<float> pass;
        const auto append = [&](std::size_t record, int times) {
            std::vector<tlm::token> ids;
            std::vector<std::uint8_t> learned;
            tokens.append(record, form, ids, learned);
            while (times-- > 0) pass.sentence(ids, learned);
        };
        pass.begin();
        pass.prompt(tokens.prompt(0));
        append(0, 1);
        append(1, 2);
        pass.prompt(tokens.prompt(1));
        append(2, 2);
        pass.forward(start);
        auto expected = tlm::gpt2<float>::zeros(start.config());
        const double loss = pass.loss(start, 1 / static_cast<double>(pass.targets()), expected);
        pass.backward(start, expected);

        tlm::training_options o;
        o.epochs = 1;
        o.weighted = true;
        o.clip = 1e9;
        o.learning_rate = 0;
        o.checkpoint = path;
        double told = 0;
        auto net = start;
        REQUIRE(tlm::train(net, corpus, tokens, form, o, serial, [&](const tlm::training_progress& p) {
            CHECK(p.steps == 1);
            return told = p.loss, true;
        }));
        CHECK(told == doctest::Approx(loss).epsilon(1e-5));
        augur::nn::adam<tlm::gpt2<float>> adam(net); // its first moment is a tenth of the gradient
        const auto reached = tlm::detail::checkpoint_file::load(path, tlm::detail::training_hash(start, corpus, form, o), net, adam);
        REQUIRE(reached);
        REQUIRE(*reached == 1);
        tlm::gpt2<float>::visit(
            [](const std::string& name, const auto& moment, const auto& gradient) {
                CAPTURE(name);
                CHECK((10.0F * moment - gradient).norm() <= 1e-4F * gradient.norm() + 1e-7F);
            },
            adam.first(), expected);
        o.weighted = false;
        CHECK(tlm::train(net, corpus, tokens, form, o, serial, always).error().code == augur::errc::version_mismatch);
        fs::remove(path);
    }
}

TEST_CASE("trainer: with weights the bits depend neither on the threads nor on a stop, and weights that are equal change nothing but rounding") {
    augur::dataset_builder to;
    augur::random_engine rng(5);
    for (const std::int64_t extent : {36, 48, 60}) {
        toy::described_space space;
        space.extent = extent;
        const auto source = to.source("x");
        for (int i = 0; i < 9; ++i)
            REQUIRE(tlm::add_sentence(to, source, "toy " + std::to_string(extent) + " PPT", space, augur::sample_path(space, rng).values,
                                      rng.uniform(1, 4)));
    }
    const auto corpus = std::move(to).finish();
    const auto words = *tlm::count_words(corpus).build();
    const tlm::corpus_tokens tokens(corpus, words);
    const auto start = tlm::gpt2<float>::random_init({static_cast<augur::nn::index>(words.size()), 32, 2, 16, 2, 32}, augur::random_engine(4));
    const logs::folder tmp;
    augur::serial_executor serial;
    augur::thread_pool_executor three(3);
    tlm::training_options o;
    o.weighted = true;
    o.prompts = 3;
    o.sentences = 2; // batches of six
    auto whole = start;
    std::size_t steps = 0;
    REQUIRE(tlm::train(whole, corpus, tokens, tlm::sentence_form::compact, o, serial,
                       [&](const tlm::training_progress& p) { return steps = p.steps, true; }));
    CHECK(steps == o.epochs * ((corpus.size() + 5) / 6));
    o.checkpoint = tmp / "checkpoint";
    auto net = start;
    std::size_t first = 0;
    CHECK(!tlm::train(net, corpus, tokens, tlm::sentence_form::compact, o, serial, stop_after(4, first)));
    net = start;
    REQUIRE(tlm::train(net, corpus, tokens, tlm::sentence_form::compact, o, three, stop_after(0, first)));
    CHECK(first == 5);
    CHECK(same_parameters(net, whole));

    const auto equal_latencies = toy_corpus(4); // one batch, with and without weights
    const tlm::corpus_tokens their_tokens(equal_latencies, words);
    double told[2] = {};
    for (const bool weighted : {false, true}) {
        o = {};
        o.epochs = 1;
        o.weighted = weighted;
        net = start;
        REQUIRE(tlm::train(net, equal_latencies, their_tokens, tlm::sentence_form::compact, o, serial,
                           [&](const tlm::training_progress& p) { return told[weighted ? 1 : 0] = p.loss, true; }));
    }
    CHECK(told[0] == doctest::Approx(told[1]).epsilon(1e-5));
}

TEST_CASE("trainer: what cannot be learned is an error") {
    const setting s;
    augur::serial_executor serial;
    tlm::training_options o;
    auto net = s.start();
    const auto code = [&](tlm::gpt2<float> m, const augur::dataset& corpus, const tlm::corpus_tokens& tokens) {
        const auto trained = tlm::train(m, corpus, tokens, tlm::sentence_form::full, o, serial, always);
        return trained ? augur::errc{} : trained.error().code;
    };
    CHECK(code(net, augur::dataset(), tlm::corpus_tokens(augur::dataset(), s.words)) == augur::errc::not_found);
    auto small = s.config;
    small.words = 10;
    CHECK(code(tlm::gpt2<float>::zeros(small), s.corpus, s.tokens) == augur::errc::shape_mismatch);
    auto brief = s.config;
    brief.context = 8;
    CHECK(code(tlm::gpt2<float>::zeros(brief), s.corpus, s.tokens) == augur::errc::limit);
    for (const double rate : {-0.1, 1.0, std::nan("")}) {
        o.dropout = rate;
        CHECK(code(net, s.corpus, s.tokens) == augur::errc::invalid_argument);
    }
    o.dropout = 0;
    const auto refused = [&](auto change) {
        const auto sound = o;
        change(o);
        const bool so = code(net, s.corpus, s.tokens) == augur::errc::invalid_argument;
        o = sound;
        return so;
    };
    CHECK(refused([](auto& c) { c.epochs = 0; }));
    for (const double x : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) CHECK(refused([&](auto& c) { c.learning_rate = x; }));
    for (const double x : {-1.0, 0.0, std::nan("")}) CHECK(refused([&](auto& c) { c.clip = x; }));
    for (const double x : {-0.1, 1.1, std::nan("")}) CHECK(refused([&](auto& c) { c.warm_up = x; }));
    o.learning_rate = 1e38; // it diverges
    o.warm_up = 0;
    o.epochs = 1;
    o.decays = false;
    o.prompts = s.corpus.size();
    CHECK(code(net, s.corpus, s.tokens) == augur::errc::limit);
}

TEST_CASE("weights file: a model comes back from its folder, and files that do not fit are told") {
    const setting s;
    const logs::folder tmp;
    const auto folder = tmp / "model";
    const tlm::language_model m{s.start(), s.words, tlm::sentence_form::full};
    CHECK(tlm::save(m, folder).error().code == augur::errc::not_found);
    fs::create_directory(folder);
    REQUIRE(tlm::save(m, folder));
    const auto back = tlm::load(folder);
    REQUIRE_MESSAGE(back, back.error().detail);
    CHECK(same_parameters(back->net, m.net));
    CHECK((back->words == m.words));
    CHECK(back->form == m.form);

    auto bytes = tlm::to_safetensors(m.net);
    auto other = s.config;
    other.layers = 3;
    CHECK(tlm::gpt2_from_safetensors(bytes, other).error().code != augur::errc{});
    other = s.config;
    other.layers = 1;
    CHECK(tlm::gpt2_from_safetensors(bytes, other).error().code == augur::errc::shape_mismatch);
    other = s.config;
    other.hidden = 32;
    CHECK(tlm::gpt2_from_safetensors(bytes, other).error().code == augur::errc::shape_mismatch);
    const auto config = [](const std::string& text) {
        const auto read = tlm::read_config_json(text);
        return read ? augur::errc{} : read.error().code;
    };
    CHECK(config(
              R"({"model_type": "gpt2", "vocab_size": 40, "n_positions": 16, "n_layer": 2, "n_embd": 64, "n_head": 4, "n_inner": null, "x": [1]})") ==
          augur::errc{});
    CHECK(config(R"({"model_type": "bert", "vocab_size": 40})") == augur::errc::version_mismatch);
    CHECK(config(R"({"model_type": "gpt2", "vocab_size": -1})") == augur::errc::invalid_argument);
    CHECK(config(R"({"model_type": "gpt2", "vocab_size": 40, "activation_function": "relu"})") == augur::errc::version_mismatch);
    for (const char* other_function :
         {R"("tie_word_embeddings": false)", R"("scale_attn_weights": false)", R"("scale_attn_by_inverse_layer_idx": true)"})
        CHECK(config(R"({"model_type": "gpt2", "vocab_size": 40, "n_positions": 16, "n_layer": 2, "n_embd": 64, "n_head": 4, )" +
                     std::string(other_function) + "}") == augur::errc::version_mismatch);
    CHECK(config("{") == augur::errc::parse);
    auto bad = m;
    bad.net.stack.last.gamma[3] = std::nanf("");
    CHECK(tlm::save(bad, folder).error().detail.find("'ln_f.weight'") != std::string::npos);
    std::ofstream(folder + "/tokenizer.json") << tlm::vocabulary::create(std::vector<std::string>(1000, "x")).error().detail;
    CHECK(tlm::load(folder).error().detail.find("/tokenizer.json: ") != std::string::npos);
}
