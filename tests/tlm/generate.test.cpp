// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/generate/gpt2_session.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/core/thread_pool.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/gpt2.hpp>

namespace nn = augur::nn;
namespace tlm = augur::tlm;

namespace {

using token_list = std::vector<tlm::token>;

const tlm::gpt2_config tiny_model{30, 24, 3, 32, 4, 64};

tlm::gpt2<float> noisy_net(const tlm::gpt2_config& c) {
    auto out = tlm::gpt2<float>::random_init(c, augur::random_engine(5));
    augur::random_engine rng(6);
    tlm::gpt2<float>::visit(
        [&](auto&&, auto& p) {
            auto noise = p;
            nn::fill_uniform(noise, 0.2, rng);
            p += noise;
        },
        out);
    return out;
}
tlm::gpt2<float> tiny_net() { return noisy_net(tiny_model); }

/// Logits behind the last token, by the pass that training uses.
std::vector<float> logits_of_pass(const tlm::gpt2<float>& m, const token_list& all) {
    tlm::gpt2_pass<float> pass;
    pass.begin();
    pass.prompt(all);
    pass.forward(m);
    nn::matrix<float> logits(pass.rows(), tiny_model.words);
    pass.logits(m, logits);
    return {logits.data() + (logits.rows() - 1) * tiny_model.words, logits.data() + logits.size()};
}

double logit_distance(std::span<const float> a, const std::vector<float>& b) {
    double worst = 0;
    for (std::size_t i = 0; i < b.size(); ++i) worst = (std::max)(worst, static_cast<double>(std::abs(a[i] - b[i])));
    return worst;
}

/// A width and a vocabulary that leave panels, pairs and blocks unfilled.
const tlm::gpt2_config odd_model{31, 48, 2, 36, 3, 52};

/// bf16 in portable C++, and what this processor has beside.
std::vector<tlm::freeze_options> all_bf16() {
    std::vector<tlm::freeze_options> all{{.precision = tlm::precision::bf16, .level = nn::kernels::isa::generic, .portable_bf16 = true}};
    if (nn::kernels::has_bf16()) all.push_back({.precision = tlm::precision::bf16, .amx = false, .portable_bf16 = true});
    if (nn::kernels::amx_ready()) all.push_back({.precision = tlm::precision::bf16});
    return all;
}

/// Logits (tokens, V) behind each token of a sentence, the first four of which are the prompt, told one by one.
std::vector<float> logits_one_by_one(const tlm::frozen_gpt2& model, const token_list& all) {
    auto session = *model.open(std::span(all).first(4));
    session.sequences(1);
    const std::vector<std::size_t> one{0};
    std::vector<float> out, logits(model.words());
    for (std::size_t i = 4; i < all.size(); ++i) {
        session.append(0, std::span(all).subspan(i, 1));
        REQUIRE(session.logits(one, logits));
        out.insert(out.end(), logits.begin(), logits.end());
    }
    return out;
}

token_list random_tokens(std::size_t n, std::uint64_t words, std::uint64_t seed) {
    augur::random_engine rng(seed);
    token_list out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<tlm::token>(rng.below(words)));
    return out;
}

} // namespace

TEST_CASE("gpt2 session: logits are those of the whole sentence, whatever the steps, copies and neighbours") {
    const tlm::frozen_gpt2 model(tiny_net());
    const token_list prompt{2, 29};
    auto session = model.open(prompt);
    REQUIRE(session);
    session->sequences(4);
    std::vector<token_list> sequences(4, prompt);
    augur::random_engine rng(1);
    for (int round = 0; round < 60; ++round) {
        std::vector<std::size_t> which;
        for (std::size_t i = 0; i < sequences.size(); ++i) {
            if (rng.below(3) == 0) which.push_back(i);
            for (auto n = rng.below(3); n > 0 && sequences[i].size() < 24; --n) { // one by one and in runs
                const token_list next{static_cast<tlm::token>(rng.below(30))};
                session->append(i, next);
                sequences[i].push_back(next[0]);
            }
        }
        if (rng.below(4) == 0) {
            const auto from = rng.below(4), to = (from + 1 + rng.below(3)) % 4;
            session->copy(from, to);
            sequences[to] = sequences[from];
        }
        if (round % 20 == 19) {
            session->sequences(4);
            sequences.assign(4, prompt);
        }
        std::vector<float> out(which.size() * 30);
        REQUIRE(session->logits(which, out));
        for (std::size_t k = 0; k < which.size(); ++k)
            CHECK(logit_distance(std::span(out).subspan(k * 30, 30), logits_of_pass(model.net(), sequences[which[k]])) < 2e-5);
    }
}

TEST_CASE("gpt2 session: the bits of a sequence do not depend on the others, nor on the steps, nor on the number of threads") {
    auto settings = all_bf16();
    settings.push_back({});
    for (const auto& options : settings) {
        const tlm::frozen_gpt2 model(noisy_net(odd_model), options);
        CHECK(model.precision() == options.precision);
        const token_list prompt{2, 7, 11}, a = random_tokens(20, 31, 1);
        auto alone = model.open(prompt), together = model.open(prompt);
        alone->sequences(1);
        together->sequences(80); // more than attention takes at once
        std::vector<float> x(31), y(80 * 31);
        for (const auto t : a) {
            alone->append(0, token_list{t});
            REQUIRE(alone->logits(std::vector<std::size_t>{0}, x));
        }
        std::vector<std::size_t> which(80);
        for (std::size_t i = 0; i < 80; ++i) {
            which[i] = i;
            together->append(i, i == 77 ? a : random_tokens(i % 3, 31, i));
        }
        REQUIRE(together->logits(which, y));
        CHECK(std::equal(x.begin(), x.end(), y.begin() + 77 * 31));
        for (const std::size_t n : {1U, 2U, 3U}) {
            augur::thread_pool_executor threads(n);
            const tlm::frozen_gpt2 parallel(noisy_net(odd_model), threads, options);
            auto session = parallel.open(prompt);
            session->sequences(80);
            for (std::size_t i = 0; i < 80; ++i) session->append(i, i == 77 ? a : random_tokens(i % 3, 31, i));
            std::vector<float> z(80 * 31);
            REQUIRE(session->logits(which, z));
            CHECK(z == y);
        }
        together->copy(77, 3);
        REQUIRE(together->logits(std::vector<std::size_t>{3}, x));
        CHECK(std::equal(x.begin(), x.end(), y.begin() + 77 * 31));
    }
}

TEST_CASE("gpt2 session: bf16 is near float, and its kernels are near each other") {
    const auto all = random_tokens(48, 31, 2);
    const auto want = logits_one_by_one(tlm::frozen_gpt2(noisy_net(odd_model)), all);
    double largest = 0;
    for (const float x : want) largest = (std::max)(largest, static_cast<double>(std::abs(x)));
    // Both factors of a product are rounded, each by 2^-9 of it at most, one way or the other: errors of the products in a row add up as their squares.
    const double products = 6 * static_cast<double>(odd_model.layers) + 1, rounding = std::sqrt(products) * largest / 256;
    std::vector<float> portable;
    for (const auto& options : all_bf16()) {
        const auto got = logits_one_by_one(tlm::frozen_gpt2(noisy_net(odd_model), options), all);
        CHECK(logit_distance(got, want) < rounding);
        CHECK(logit_distance(got, want) > rounding / 100);
        if (portable.empty()) portable = got;
        CHECK(logit_distance(got, portable) < rounding / 4); // sums in another order: now and then a number is rounded to its other neighbour
    }
}

TEST_CASE("gpt2 session: bf16 is used where it is faster") {
    const tlm::frozen_gpt2 model(noisy_net(odd_model), {.precision = tlm::precision::bf16});
    CHECK((model.precision() == tlm::precision::bf16) == (nn::kernels::has_fast_bf16() || nn::kernels::amx_ready()));
    CHECK(tlm::frozen_gpt2(noisy_net(odd_model)).precision() == tlm::precision::single);
    CHECK(tlm::frozen_gpt2(noisy_net(odd_model), {.precision = tlm::precision::bf16, .level = nn::kernels::isa::generic}).precision() ==
          tlm::precision::single);
}

TEST_CASE("gpt2 session: a trained model in bf16 chooses what it chooses in float") {
    // Behind each token come three others, in half, three and two tenths of the cases; sometimes any.
    augur::random_engine rng(8);
    const auto table = random_tokens(31 * 10, 31, 9);
    const auto sentence = [&] {
        auto s = random_tokens(40, 31, rng());
        for (std::size_t i = 1; i < s.size(); ++i) {
            const auto tenth = rng.below(10);
            if (rng.below(16) > 0) s[i] = table[s[i - 1] * 10U + (tenth < 5 ? 0U : tenth < 8 ? 1U : 2U)];
        }
        return s;
    };
    auto net = tlm::gpt2<float>::random_init(odd_model, augur::random_engine(1));
    auto grad = tlm::gpt2<float>::zeros(odd_model);
    nn::adam<tlm::gpt2<float>> adam(net, {.learning_rate = 3e-3, .weight_decay = 0});
    tlm::gpt2_pass<float> pass;
    double loss = 0;
    for (int step = 0; step < 80; ++step) { // it learns no more behind them
        pass.begin();
        for (int i = 0; i < 8; ++i) pass.sentence(sentence(), std::vector<std::uint8_t>(40, 1));
        pass.forward(net);
        nn::set_zero(grad);
        loss = pass.loss(net, 1.0 / static_cast<double>(pass.targets()), grad);
        pass.backward(net, grad);
        adam.step(net, grad);
    }
    CHECK(loss < 1.8); // a guess: 3.4
    for (const auto& options : all_bf16()) {
        std::size_t decisions = 0, same = 0;
        const tlm::frozen_gpt2 single(net), half(net, options);
        for (int i = 0; i < 20; ++i) {
            const auto s = sentence();
            const auto x = logits_one_by_one(single, s), y = logits_one_by_one(half, s);
            for (auto a = x.begin(), b = y.begin(); a != x.end(); a += 31, b += 31, ++decisions)
                same += std::max_element(a, a + 31) - a == std::max_element(b, b + 31) - b ? 1 : 0;
        }
        CHECK(static_cast<double>(same) >= 0.98 * static_cast<double>(decisions));
    }
}

TEST_CASE("gpt2 session: too long, no prompt, a token beyond the vocabulary") {
    const tlm::frozen_gpt2 model(tiny_net());
    CHECK(model.open(token_list{}).error().code == augur::errc::invalid_argument);
    CHECK(model.open(token_list{30}).error().code == augur::errc::invalid_argument);
    CHECK(model.open(token_list(25, 1)).error().code == augur::errc::limit);
    auto session = model.open(token_list(20, 1));
    REQUIRE(session);
    session->sequences(1);
    session->append(0, token_list(4, 2));
    std::vector<float> out(30);
    CHECK(session->logits(std::vector<std::size_t>{0}, out));
    session->append(0, token_list{3});
    CHECK(session->logits(std::vector<std::size_t>{0}, out).error().code == augur::errc::limit);
}

namespace {

/// The least that a model without state is: it likes the token after the last one.
struct archetype {
    [[nodiscard]] std::size_t words() const { return 10; }
    [[nodiscard]] augur::result<void> logits(std::span<const tlm::token> all, std::span<float> out) const {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = all.size() == 3 && i == all.back() + 1 ? 1 : 0;
        return {};
    }
};
static_assert(tlm::next_token_model<archetype>);
static_assert(tlm::next_token_model<tlm::frozen_gpt2>);
static_assert(tlm::next_token_session<tlm::gpt2_session>);
struct no_model {
    [[nodiscard]] std::size_t words() const { return 10; }
    void open(std::span<const tlm::token>) const {}
};
static_assert(!tlm::next_token_model<no_model>);
static_assert(!tlm::next_token_model<int>);

} // namespace

TEST_CASE("next token model: one without state gets a session that keeps the tokens") {
    const archetype model;
    auto session = tlm::open_session(model, token_list{4, 5});
    REQUIRE(session);
    session->sequences(2);
    session->append(1, token_list{6});
    session->copy(1, 0);
    session->append(1, token_list{7});
    std::vector<float> out(20);
    REQUIRE(session->logits(std::vector<std::size_t>{1, 0}, out));
    CHECK(out == std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
}
