// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's network: PyTorch's numbers, gradients by central differences, what the graphs are made of, bad input.
#include <augur/metatune/loss.hpp>
#include <augur/metatune/network.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../nn/vectors.hpp"
#include "data.hpp"

namespace mt = augur::metatune;
namespace nn = augur::nn;

namespace {

mt::config tiny_config() {
    mt::config c;
    c.features = 6;
    c.convolutions = {5, 4};
    c.head = {6, 3};
    return c;
}

/// Candidates of 0 to 5 slots, one in three failed.
mt::graph_samples random_samples(const mt::config& c, int count, std::uint64_t seed) {
    augur::random_engine rng(seed);
    mt::graph_samples data{mt::candidate_graphs(c), {}};
    for (int i = 0; i < count; ++i) {
        REQUIRE(data.candidates.add(metatune_data::random_loops(i % 6, c.features, rng)));
        data.wanted.speed.push_back(static_cast<float>(rng.uniform()));
        data.wanted.valid.push_back(i % 3 == 1 ? 0 : 1);
    }
    data.wanted.speed_share = 0.75;
    data.wanted.valid_share = 0.5;
    return data;
}

nn::matrix<float> outputs_of(const mt::network<float>& net, const mt::candidate_graphs& candidates) {
    mt::network_activation<float> kept;
    nn::matrix<float> y(candidates.size(), net.config.outputs);
    net.forward(candidates, kept, y);
    return y;
}

} // namespace

TEST_CASE("metatune network: PyTorch's numbers on a super-graph, null nodes masked and not") {
    const auto j = vectors::load("metatune_forward_supergraph.json");
    auto c = tiny_config();
    c.outputs = 1;
    auto net = mt::network<double>::zeros(c);
    const char* const names[] = {"W0", "b0", "W1", "b1", "a", "c", "F0", "f0", "F1", "f1", "F2", "f2"};
    std::size_t at = 0;
    mt::network<double>::visit([&](const std::string&, auto& p) { p = vectors::to_matrix(j["params"][names[at++]], p.rows(), p.cols()); }, net);
    CHECK(at == 12);
    const auto x = vectors::to_matrix(j["X"], 33, 6), label = vectors::to_matrix(j["target"], 3, 1);
    CHECK(j["cases"].size() == 2);
    for (const auto& expected : j["cases"]) {
        c.masked = expected["readout"] != "all_nodes";
        CAPTURE(c.masked);
        mt::candidate_graphs candidates(c);
        for (nn::index g = 0; g < 3; ++g) {
            mt::loop_rows loops;
            loops.features = x.middleRows(11 * g + 6, 5).cast<float>();
            loops.present.assign(5, 0);
            for (const auto& slot : j["present_slots"][static_cast<std::size_t>(g)]) loops.present[slot.get<std::size_t>()] = 1;
            loops.parents.assign(5, mt::loop_rows::no_parent);
            REQUIRE(candidates.add(loops));
        }
        CHECK(candidates.graphs().nodes() == 33);
        // the numbers of the file are of doubles, candidates are of floats: 1e-7 each
        mt::network_activation<double> kept;
        nn::matrix<double> y(3, 1);
        net.forward(candidates, kept, y);
        CHECK(vectors::distance(kept.nodes[2].view(), vectors::to_matrix(expected["node_embedding"], 33, 4)) < 1e-6);
        CHECK(vectors::distance(kept.embedding.view(), vectors::to_matrix(expected["graph_embedding"], 3, 8)) < 1e-6);
        CHECK(vectors::distance(y, vectors::to_matrix(expected["out"], 3, 1)) < 1e-6);

        nn::matrix<double> dy = 2.0 / 3 * (y - label); // of the mean squared error
        auto gradient = mt::network<double>::zeros(c);
        net.backward(candidates, kept, dy, gradient);
        at = 0;
        mt::network<double>::visit(
            [&](const std::string& name, const auto& g) {
                CAPTURE(name);
                CHECK(vectors::distance(g, vectors::to_matrix(expected["grad"][names[at]], g.rows(), g.cols())) < 1e-6);
                ++at;
            },
            gradient);
    }
}

TEST_CASE("metatune network: the gradient of the loss by central differences, absent loops, failures, one and two outputs") {
    for (int variant = 0; variant < 8; ++variant) {
        CAPTURE(variant);
        auto c = tiny_config();
        c.nested = (variant & 1) != 0;
        c.masked = (variant & 2) != 0;
        c.outputs = (variant & 4) != 0 ? 2 : 1;
        if (variant == 7) c.convolutions = {5, 4, 3};
        const mt::network_loss loss{c};
        auto net = mt::network<double>::random_init(c, augur::random_engine(static_cast<std::uint64_t>(30 + variant)));
        augur::random_engine rng(9); // biases away from 0: root and `for` nodes of absent loops would sit where ReLU bends
        for (auto& layer : net.convolutions) nn::fill_uniform(layer.b, 0.5, rng);
        const auto data = random_samples(c, 11, static_cast<std::uint64_t>(50 + variant));
        mt::network_loss::activation<double> kept;
        auto gradient = loss.zeros<double>(), unused = gradient;
        loss(net, data, kept, gradient);
        CHECK(vectors::gradient_error(net, gradient, [&] { return loss(net, data, kept, unused); }, 1e-6) < 1e-6);
    }
}

TEST_CASE("metatune network: the head alone has the loss and the gradient of the whole") {
    const auto c = tiny_config();
    const auto net = mt::network<double>::random_init(c, augur::random_engine(3));
    const auto data = random_samples(c, 9, 4);
    mt::network_loss::activation<double> kept;
    auto gradient = mt::network<double>::zeros(c);
    const double whole = mt::network_loss{c}(net, data, kept, gradient);

    const mt::embedded_samples embedded{kept.net.embedding.view().cast<float>(), data.wanted};
    mt::head_loss::activation<double> head_kept;
    auto head_gradient = nn::mlp<double>::zeros(c.head_widths());
    CHECK(mt::head_loss{c}(net.head, embedded, head_kept, head_gradient) == doctest::Approx(whole).epsilon(1e-6));
    nn::mlp<double>::visit([](auto&&, const auto& a, const auto& b) { CHECK(vectors::distance(a, b) < 1e-5); }, head_gradient, gradient.head);
}

TEST_CASE("metatune network: candidates do not see each other, absent loops count unless masked, nesting is an option") {
    auto c = tiny_config();
    c.head = {32, 16}; // wide enough not to be dead
    auto net = mt::network<float>::random_init(c, augur::random_engine(1));
    augur::random_engine rng(2);
    for (auto& layer : net.convolutions) nn::fill_uniform(layer.b, 0.5, rng); // without biases the nodes of absent loops are 0 and count for nothing
    std::vector<mt::loop_rows> loops;
    for (int i = 0; i < 6; ++i) loops.push_back(metatune_data::random_loops(5, 6, rng, 3));
    mt::candidate_graphs all(c);
    for (const auto& one : loops) REQUIRE(all.add(one));
    const auto together = outputs_of(net, all);
    for (std::size_t i = 0; i < loops.size(); ++i) {
        mt::candidate_graphs alone(c);
        REQUIRE(alone.add(loops[i]));
        CHECK(vectors::distance(outputs_of(net, alone), together.row(static_cast<nn::index>(i))) < 1e-5);
    }

    auto net_of = [&](const mt::config& changed) {
        mt::candidate_graphs candidates(changed);
        for (const auto& one : loops) REQUIRE(candidates.add(one));
        return outputs_of(net, candidates);
    };
    auto changed = c;
    changed.masked = false;
    CHECK(vectors::distance(net_of(changed), together) > 1e-3);
    changed = c;
    changed.nested = true;
    const auto nested = net_of(changed);
    CHECK(vectors::distance(nested, together) > 1e-3);
    for (auto& one : loops) one.parents.assign(5, mt::loop_rows::no_parent);
    CHECK(vectors::distance(net_of(changed), together) < 1e-6); // without parents there is nothing to nest

    all.clear();
    CHECK(all.size() == 0);
    CHECK(outputs_of(net, all).rows() == 0);
}

TEST_CASE("metatune network: a candidate without loops and one whose loops are all absent are their root") {
    auto c = tiny_config();
    c.head = {32, 16};
    for (const bool masked : {true, false}) {
        c.masked = masked;
        auto net = mt::network<float>::random_init(c, augur::random_engine(1));
        augur::random_engine rng(2);
        for (auto& layer : net.convolutions) nn::fill_uniform(layer.b, 0.5, rng);
        auto absent = metatune_data::random_loops(4, 6, rng);
        absent.features.setZero();
        absent.present.assign(4, 0);
        mt::candidate_graphs candidates(c);
        REQUIRE(candidates.add({}));
        REQUIRE(candidates.add(absent));
        CHECK(candidates.graphs().nodes() == 10);
        const auto y = outputs_of(net, candidates);
        CHECK(y.allFinite());
        // the root of the first has only itself: relu(relu(b1) W2 + b2) is the maximum, its gate times it the sum
        const nn::row_vector<float> h = (net.convolutions[0].b.cwiseMax(0.0F) * net.convolutions[1].W + net.convolutions[1].b).cwiseMax(0.0F);
        mt::network_activation<float> kept;
        nn::matrix<float> embedding(2, c.embedding());
        net.embed(candidates, kept, embedding);
        const float gate = 1 / (1 + std::exp(-((h * net.read_out.gate.W)(0, 0) + net.read_out.gate.b[0])));
        CHECK(vectors::distance(embedding.row(0).rightCols(4), h) < 1e-6);
        CHECK(vectors::distance(embedding.row(0).leftCols(4), gate * h) < 1e-6);
        CHECK((embedding.row(1) - embedding.row(0)).cwiseAbs().maxCoeff() > 1e-3F); // the root sees that there are four
    }
}

TEST_CASE("metatune network: what is no candidate and no config is refused") {
    const auto c = tiny_config();
    augur::random_engine rng(2);
    const auto good = metatune_data::random_loops(4, 6, rng, 100);
    mt::candidate_graphs candidates(c);
    REQUIRE(candidates.add(good));
    const auto refused = [&](auto&& spoil) {
        auto bad = good;
        spoil(bad);
        const auto done = candidates.add(bad);
        REQUIRE_FALSE(done);
        CHECK(candidates.size() == 1);
        CHECK(candidates.features().rows() == 9);
        CHECK(candidates.present().size() == 9);
        return done.error().code;
    };
    CHECK(refused([](mt::loop_rows& l) { l.features.resize(4, 5); }) == augur::errc::shape_mismatch);
    CHECK(mt::check(metatune_data::random_loops(4, 5, rng), c).error().detail == "metatune: expected 6 features a loop, got 5");
    CHECK(refused([](mt::loop_rows& l) { l.present.pop_back(); }) == augur::errc::shape_mismatch);
    CHECK(refused([](mt::loop_rows& l) { l.parents.push_back(0); }) == augur::errc::shape_mismatch);
    CHECK(refused([](mt::loop_rows& l) { l.parents[2] = 4; }) == augur::errc::invalid_argument);
    CHECK(refused([](mt::loop_rows& l) { l.parents[2] = 2; }) == augur::errc::invalid_argument); // a loop around itself
    CHECK(refused([](mt::loop_rows& l) { l.features(1, 1) = std::numeric_limits<float>::quiet_NaN(); }) == augur::errc::invalid_argument);
    CHECK(refused([](mt::loop_rows& l) { l.features(3, 5) = std::numeric_limits<float>::infinity(); }) == augur::errc::invalid_argument);

    CHECK(mt::config().check());
    const auto wrong = [](auto&& spoil) {
        mt::config bad;
        spoil(bad);
        CHECK_FALSE(bad.check());
    };
    wrong([](mt::config& b) { b.features = 0; });
    wrong([](mt::config& b) { b.convolutions.clear(); });
    wrong([](mt::config& b) { b.convolutions[1] = 16385; });
    wrong([](mt::config& b) { b.head.assign(17, 8); });
    wrong([](mt::config& b) { b.head[0] = 0; });
    wrong([](mt::config& b) { b.outputs = 3; });
}

TEST_CASE("metatune network: the score is the speed plus the logarithm of the chance") {
    const auto score = [](float speed, float logit) { return mt::score_of(std::vector<float>{speed, logit}); };
    CHECK(mt::score_of(std::vector<float>{0.25F}) == 0.25F);
    CHECK(score(0.5F, 0) == doctest::Approx(0.5 + std::log(0.5)));
    CHECK(score(0.5F, 2) == doctest::Approx(0.5 - std::log(1 + std::exp(-2.0))));
    CHECK(score(0.5F, -200) == doctest::Approx(0.5 - 200));
    CHECK(score(0.5F, 200) == 0.5F);
}
