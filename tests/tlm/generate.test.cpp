// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/generate/gpt2_session.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/gpt2.hpp>

namespace nn = augur::nn;
namespace tlm = augur::tlm;

namespace {

using token_list = std::vector<tlm::token>;

const tlm::gpt2_config tiny_model{30, 24, 3, 32, 4, 64};

tlm::gpt2<float> tiny_net() {
    auto out = tlm::gpt2<float>::random_init(tiny_model, augur::random_engine(5));
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

} // namespace

TEST_CASE("gpt2 session: logits are those of the whole sentence, whatever the steps, copies and neighbours") {
    const tlm::frozen_gpt2 model(tiny_net());
    const token_list prompt{2, 7, 11, 29, 4};
    auto session = model.open(prompt);
    REQUIRE(session);
    session->sequences(4);
    std::vector<token_list> sequences(4, prompt);
    augur::random_engine rng(1);
    for (int round = 0; round < 60; ++round) {
        std::vector<std::size_t> which;
        for (std::size_t i = 0; i < sequences.size(); ++i) {
            if (rng.below(3) == 0) which.push_back(i);
            for (auto n = rng.below(3); n > 0 && sequences[i].size() < 20; --n) { // one by one and in runs
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

TEST_CASE("gpt2 session: the bits of a sequence do not depend on the others") {
    const tlm::frozen_gpt2 model(tiny_net());
    const token_list prompt{2, 7, 11}, a{3, 4, 5}, b{6};
    auto alone = model.open(prompt), together = model.open(prompt);
    alone->sequences(1);
    alone->append(0, a);
    together->sequences(3);
    together->append(1, a);
    together->append(2, b);
    std::vector<float> x(30), y(90);
    REQUIRE(alone->logits(std::vector<std::size_t>{0}, x));
    REQUIRE(together->logits(std::vector<std::size_t>{0, 1, 2}, y));
    CHECK(std::equal(x.begin(), x.end(), y.begin() + 30));
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
