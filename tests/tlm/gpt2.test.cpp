// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/tlm/gpt2.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <augur/core/random_engine.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/nn/train/optimiser.hpp>

#include "../nn/vectors.hpp"

namespace nn = augur::nn;
namespace tlm = augur::tlm;

namespace {

using token_list = std::vector<tlm::token>;

struct split_sentence {
    token_list prompt, rest;
};
const std::vector<split_sentence> sentences{{{2, 11, 7, 30, 8}, {9, 10, 39, 12, 13, 5, 3}}, {{2, 21, 7}, {17, 39, 39, 20, 8, 3}}};

const tlm::gpt2_config two_by_64{40, 16, 2, 64, 4, 256};

/// The weights of gpt2_vectors.py.
template <nn::scalar S>
tlm::gpt2<S> formula() {
    auto net = tlm::gpt2<S>::zeros(two_by_64);
    int k = 0;
    tlm::gpt2<S>::visit(
        [&](const std::string& name, auto& p) {
            const bool scale = name.ends_with("ln_1.weight") || name.ends_with("ln_2.weight") || name.ends_with("ln_f.weight");
            for (nn::index i = 0; i < p.size(); ++i) {
                const auto n = static_cast<double>(i);
                p.data()[i] = static_cast<S>((scale ? 1 : 0) + 0.1 * std::sin(0.7 * n + k) + 0.05 * std::sin(1.3 * n * (k + 1)));
            }
            ++k;
        },
        net);
    return net;
}

template <nn::scalar S>
void fill(tlm::gpt2_pass<S>& pass) {
    pass.begin();
    for (const auto& s : sentences) {
        pass.prompt(s.prompt);
        pass.sentence(s.rest, std::vector<std::uint8_t>(s.rest.size(), 1));
    }
}

/// The values of a tensor of the reference file.
std::vector<float> reference(const std::string& file, const augur::nn::safetensors_header& header, const std::string& name, std::size_t size) {
    const auto* entry = header.find(name);
    REQUIRE_MESSAGE(entry != nullptr, name);
    std::vector<float> out(size);
    REQUIRE(augur::nn::read_tensor(file, header, name, entry->shape, out));
    return out;
}

template <class P>
double distance(const P& p, const std::vector<float>& expected) {
    double off = 0, most = 1e-3;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        off = (std::max)(off, std::abs(static_cast<double>(p.data()[i]) - static_cast<double>(expected[i])));
        most = (std::max)(most, std::abs(static_cast<double>(expected[i])));
    }
    return off / most;
}

} // namespace

TEST_CASE("gpt2: logits, loss, gradients and three AdamW steps are PyTorch's") {
    const auto file = nn::load_bytes(AUGUR_TEST_DIR "/vectors/gpt2_2x64.safetensors");
    REQUIRE(file);
    const auto header = nn::parse_safetensors(*file);
    REQUIRE(header);
    auto net = formula<float>();
    tlm::gpt2_pass<float> pass;
    for (std::size_t i = 0; i < sentences.size(); ++i) { // whole sentences
        auto whole = sentences[i].prompt;
        whole.insert(whole.end(), sentences[i].rest.begin(), sentences[i].rest.end());
        pass.begin();
        pass.prompt(whole);
        pass.forward(net);
        nn::matrix<float> logits(pass.rows(), two_by_64.words);
        pass.logits(net, logits);
        CHECK(distance(logits, reference(*file, *header, "logits." + std::to_string(i), static_cast<std::size_t>(logits.size()))) < 1e-5);
    }
    auto grad = tlm::gpt2<float>::zeros(two_by_64);
    fill(pass);
    CHECK(pass.targets() == 13);
    pass.forward(net);
    pass.loss(net, 1.0 / 13, grad);
    pass.backward(net, grad);
    tlm::gpt2<float>::visit(
        [&](const std::string& name, const auto& g) {
            CHECK_MESSAGE(distance(g, reference(*file, *header, "gradient." + name, static_cast<std::size_t>(g.size()))) < 1e-5, name);
        },
        grad);

    // In double, as the bias of the keys has no gradient but rounding errors, which Adam makes large.
    const auto losses = reference(*file, *header, "losses", 4);
    auto trained = formula<double>();
    tlm::gpt2_pass<double> exact;
    nn::adam<tlm::gpt2<double>> adamw(trained, {.learning_rate = 1e-3, .weight_decay = 0});
    for (std::size_t step = 0; step < 4; ++step) {
        auto d = tlm::gpt2<double>::zeros(two_by_64);
        fill(exact);
        exact.forward(trained);
        CHECK(exact.loss(trained, 1.0 / 13, d) == doctest::Approx(static_cast<double>(losses[step])).epsilon(1e-6));
        exact.backward(trained, d);
        if (step < 3) adamw.step(trained, d);
    }
    tlm::gpt2<double>::visit(
        [&](const std::string& name, const auto& p) {
            CHECK_MESSAGE(distance(p, reference(*file, *header, "stepped." + name, static_cast<std::size_t>(p.size()))) < 1e-5, name);
        },
        trained);
}

TEST_CASE("gpt2: central differences; the sentences of one prompt are as if each stood alone") {
    const tlm::gpt2_config small{9, 12, 2, 6, 2, 10};
    auto net = tlm::gpt2<double>::random_init(small, augur::random_engine(3));
    augur::random_engine rng(4);
    tlm::gpt2<double>::visit(
        [&](auto&&, auto& p) {
            auto noise = p;
            nn::fill_uniform(noise, 0.3, rng);
            p += noise;
        },
        net);
    const token_list prompt{2, 5, 6}, a{7, 8, 1, 3}, b{7, 3}, c{4};
    const std::vector<std::uint8_t> all_a{1, 0, 1, 1}, all_b{1, 1}, all_c{1};
    tlm::gpt2_pass<double> pass;
    auto grad = tlm::gpt2<double>::zeros(small), apart = grad, ignored = grad;
    const auto shared_loss = [&](tlm::gpt2<double>& to, const nn::dropout& drop = {}) {
        pass.begin();
        pass.prompt(prompt);
        pass.sentence(a, all_a);
        pass.sentence(b, all_b);
        pass.prompt(b);
        pass.sentence(c, all_c);
        pass.forward(net, drop);
        return pass.loss(net, 0.25, to);
    };
    const double loss = shared_loss(grad);
    CHECK(pass.targets() == 6);
    CHECK(pass.rows() == 3 + 3 + 1 + 2 + 0);
    pass.backward(net, grad);
    CHECK(vectors::gradient_error(net, grad, [&] { return shared_loss(ignored); }) < 1e-6);
    double sum = 0;
    const auto alone = [&](const token_list& front, const token_list& rest, const std::vector<std::uint8_t>& learned) {
        token_list whole = front;
        whole.insert(whole.end(), rest.begin(), rest.end());
        std::vector<std::uint8_t> which(front.size(), 0);
        which.insert(which.end(), learned.begin(), learned.end());
        pass.begin();
        pass.sentence(whole, which); // as one sentence without a prompt
        pass.forward(net);
        sum += pass.loss(net, 0.25, apart);
        pass.backward(net, apart);
    };
    alone(prompt, a, all_a);
    alone(prompt, b, all_b);
    alone(b, c, all_c);
    CHECK(sum == doctest::Approx(loss).epsilon(1e-12));
    tlm::gpt2<double>::visit([](const std::string& name, const auto& x, const auto& y) { CHECK_MESSAGE(vectors::distance(x, y) < 1e-11, name); },
                             grad, apart);

    for (const std::uint64_t seed : {1U, 2U}) {
        const nn::dropout drop{0.3, augur::random_engine(seed)};
        auto dropped = tlm::gpt2<double>::zeros(small);
        const double other = shared_loss(dropped, drop);
        CHECK(std::abs(other - loss) > 1e-3);
        pass.backward(net, dropped);
        CHECK(vectors::gradient_error(net, dropped, [&] { return shared_loss(ignored, drop); }) < 1e-6);
    }
    CHECK(shared_loss(ignored, {0, augur::random_engine(1)}) == loss);
}

TEST_CASE("gpt2: of a network whose layers add nothing, dropout takes elements of the embeddings") {
    auto net = formula<double>();
    for (auto& l : net.stack.layers) {
        l.attention.out_proj = nn::linear<double>::zeros(64, 64);
        l.contract = nn::linear<double>::zeros(256, 64);
    }
    const token_list tokens{2, 11, 7, 30};
    const nn::dropout drop{0.25, augur::random_engine(6)};
    tlm::gpt2_pass<double> pass;
    pass.begin();
    pass.prompt(tokens);
    pass.forward(net, drop);
    nn::matrix<double> logits(4, two_by_64.words), x(4, 64), y(4, 64), deviation(4, 1), normal(4, 64);
    pass.logits(net, logits);
    for (nn::index t = 0; t < 4; ++t) x.row(t) = net.tokens.W.row(static_cast<nn::index>(tokens[static_cast<std::size_t>(t)])) + net.places.W.row(t);
    drop.stream(0).apply(nn::map<double>(x.data(), 4, 64));
    CHECK((x.array() == 0).count() > 30);
    net.stack.last.forward(x, normal, deviation, y);
    CHECK(vectors::distance(logits, nn::matrix<double>(y * net.tokens.W.transpose())) < 1e-12);
}

TEST_CASE("gpt2: number of parameters, and sizes that are none") {
    const tlm::gpt2_config small{10000, 544, 12, 768, 12, 3072};
    CHECK(small.check());
    CHECK(small.parameters() == 85056000 + 768 * (10000 + 544)); // of the authors' model
    const auto net = tlm::gpt2<float>::zeros(two_by_64);
    CHECK(static_cast<double>(nn::parameter_count(net)) == two_by_64.parameters());
    CHECK(net.config() == two_by_64);
    for (auto bad : {tlm::gpt2_config{0}, tlm::gpt2_config{10, 0}, tlm::gpt2_config{10, 16, 2, 65, 4, 10}, tlm::gpt2_config{10, 16, 2, 64, -1, 10}})
        CHECK(bad.check().error().code == augur::errc::invalid_argument);
    CHECK(tlm::gpt2_config{1 << 24, 16, 64, 4096, 4, 16384}.check().error().code == augur::errc::limit);
}
