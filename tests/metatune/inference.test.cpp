// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's inference: what it computes is what the network's forward pass computes, whatever else is in the round.
#include <augur/metatune/inference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <augur/metatune/loop_graph.hpp>
#include <augur/metatune/super_graph.hpp>
#include <augur/space/autotvm_space.hpp>

#include "../search/threads.hpp"
#include "candidates.hpp"
#include "data.hpp"

namespace mt = augur::metatune;
namespace nn = augur::nn;

namespace {

/// Weights whose biases are not 0, so that roots and absent loops have something to say.
mt::network<float> with_biases(const mt::config& c, std::uint64_t seed) {
    augur::random_engine rng(seed);
    auto net = mt::network<float>::random_init(c, rng.stream(1));
    for (auto& layer : net.convolutions) nn::fill_uniform(layer.b, 0.3F, rng);
    return net;
}

/// Each candidate on its own through the whole network.
nn::matrix<float> plain_outputs(const mt::network<float>& net, const std::vector<mt::loop_rows>& candidates) {
    nn::matrix<float> all(static_cast<nn::index>(candidates.size()), net.config.outputs);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        mt::candidate_graphs one(net.config);
        REQUIRE(one.add(candidates[i]));
        mt::network_activation<float> kept;
        net.forward(one, kept, all.middleRows(static_cast<nn::index>(i), 1));
    }
    return all;
}
nn::matrix<float> outputs_in_one_round(mt::inference& round, const mt::network<float>& net, const std::vector<mt::loop_rows>& candidates) {
    round.begin(net);
    for (const auto& one : candidates) REQUIRE(round.add(one));
    return round.outputs();
}

/// The greatest difference, relative to numbers above 1.
float difference(const nn::matrix<float>& a, const nn::matrix<float>& b) {
    REQUIRE((a.rows() == b.rows() && a.cols() == b.cols()));
    return a.size() == 0 ? 0 : ((a - b).array().abs() / b.array().abs().max(1.0F)).maxCoeff();
}

/// Features of configurations drawn at random of a convolution of AutoTVM's template for CUDA.
std::vector<augur::iterator_features> drawn_configurations(std::size_t count, std::uint64_t seed) {
    augur::autotvm_convolution c;
    c.in_channels = 64;
    c.out_channels = 128;
    c.y.in = c.x.in = c.y.out = c.x.out = 28;
    c.y.k = c.x.k = 3;
    c.y.pad_before = c.x.pad_before = c.y.pad_behind = c.x.pad_behind = 1;
    const auto space = augur::autotvm_space::make({augur::autotvm_split_knob("tile_f", 128, 4), augur::autotvm_split_knob("tile_y", 28, 4),
                                                   augur::autotvm_split_knob("tile_x", 28, 4), augur::autotvm_split_knob("tile_rc", 64, 2),
                                                   augur::autotvm_split_knob("tile_ry", 3, 2), augur::autotvm_split_knob("tile_rx", 3, 2)});
    REQUIRE(space);
    augur::random_engine rng(seed);
    std::vector<augur::iterator_features> all;
    while (all.size() < count) {
        const auto config = space->realise(space->decisions_of(rng.below(space->size())));
        REQUIRE(config);
        const auto nest = augur::autotvm_nest::make(c, *config);
        REQUIRE(nest);
        auto features = augur::iterator_features_of(*nest);
        REQUIRE(features);
        all.push_back(*std::move(features));
    }
    return all;
}

} // namespace

TEST_CASE("metatune inference: random candidates, shared and absent loops, masked or not, of any widths, as the forward pass") {
    mt::inference round; // one object for networks of many shapes
    augur::random_engine rng(1);
    for (int variant = 0; variant < 24; ++variant) {
        CAPTURE(variant);
        mt::config c;
        c.features = 1 + variant % 7;
        c.convolutions = variant % 3 == 0   ? std::vector<nn::index>{64, 32}
                         : variant % 3 == 1 ? std::vector<nn::index>{19, 35}
                                            : std::vector<nn::index>{3, 1};
        c.head = {16, 8};
        c.masked = variant % 2 == 0;
        c.outputs = 1 + variant / 2 % 2;
        c.nested = variant >= 20;                                              // these have no table
        if (variant >= 16) c.convolutions.resize(variant % 4 == 0 ? 1 : 3, 5); // nor do these
        const auto net = with_biases(c, static_cast<std::uint64_t>(variant));
        std::vector<mt::loop_rows> candidates;
        for (int i = 0; i < 300; ++i) {
            auto one = metatune_data::random_loops(i % 6, c.features, rng, 3);
            if (i >= 6 && i % 2 == 0) { // half of the loops of an earlier one; an absent loop may have features
                const auto& other = candidates[candidates.size() - 6];
                for (nn::index s = 0; s < one.features.rows(); s += 2) one.features.row(s) = other.features.row(s);
            }
            candidates.push_back(std::move(one));
        }
        CHECK(difference(outputs_in_one_round(round, net, candidates), plain_outputs(net, candidates)) < 1e-5F);
    }
}

TEST_CASE("metatune inference: networks that share their convolutions share loops, others do not, to the bit") {
    mt::config c;
    c.features = 5;
    c.convolutions = {32, 16};
    c.head = {16, 8};
    const auto first = with_biases(c, 1);
    auto other_head = first, other_gate = first, other_bias = first;
    other_head.head = with_biases(c, 2).head;
    other_gate.read_out.gate.b[0] += 0.5F;
    other_bias.convolutions[1].b[0] += 0.5F;
    augur::random_engine rng(4);
    std::vector<std::vector<mt::loop_rows>> rounds(3);
    for (auto& round : rounds)
        for (int i = 0; i < 200; ++i) round.push_back(metatune_data::random_loops(i % 6, c.features, rng, 3));
    mt::inference kept;
    const std::vector<const mt::network<float>*> nets{&first, &other_head, &first, &other_gate, &first, &other_bias, &other_head};
    for (std::size_t i = 0; i < nets.size(); ++i) {
        CAPTURE(i);
        mt::inference anew;
        const auto& candidates = rounds[i % rounds.size()];
        CHECK((outputs_in_one_round(kept, *nets[i], candidates).array() == outputs_in_one_round(anew, *nets[i], candidates).array()).all());
    }
}

TEST_CASE("metatune inference: configurations of AutoTVM's templates, in graphs of their own and in a super-graph, as the forward pass") {
    const auto structures = candidates::of_all_templates();
    REQUIRE(structures.size() == 7);
    mt::super_graph graph;
    for (const auto& one : structures) REQUIRE(graph.add(one.features, one.role));
    std::vector<mt::loop_rows> plain, placed;
    const auto take = [&](const augur::iterator_features& features, const std::string& role) {
        plain.push_back(mt::rows_of(features));
        auto rows = graph.place(features, role);
        REQUIRE(rows);
        placed.push_back(*std::move(rows));
    };
    for (const auto& one : structures) take(one.features, one.role);
    for (const auto& features : drawn_configurations(400, 7)) take(features, "conv2d_nchw.cuda");
    mt::inference round;
    for (const auto* candidates : {&plain, &placed})
        for (const bool masked : {true, false}) {
            CAPTURE(masked);
            mt::config c;
            c.features = candidates->front().features.cols();
            c.masked = masked;
            const auto net = with_biases(c, 5);
            const auto expected = plain_outputs(net, *candidates);
            CHECK(difference(outputs_in_one_round(round, net, *candidates), expected) < 1e-5F);
            CHECK((expected.col(0).maxCoeff() - expected.col(0).minCoeff()) > 1e-2F); // they are not all the same
        }
}

TEST_CASE("metatune inference: a candidate has the same bits alone, among others, in any order and on any thread") {
    const auto features = drawn_configurations(150, 3);
    std::vector<mt::loop_rows> candidates;
    for (const auto& f : features) candidates.push_back(mt::rows_of(f));
    for (const bool nested : {false, true}) {
        CAPTURE(nested);
        mt::config c;
        c.nested = nested;
        const auto net = with_biases(c, 2);
        mt::inference round;
        const auto together = outputs_in_one_round(round, net, candidates);
        auto reversed = candidates;
        std::reverse(reversed.begin(), reversed.end());
        CHECK(outputs_in_one_round(round, net, reversed).colwise().reverse().eval() == together);
        toy::threads threads{4};
        std::vector<nn::matrix<float>> parts(candidates.size());
        threads.bulk(candidates.size(), [&](std::size_t i) {
            mt::inference own;
            own.begin(net);
            if (own.add(candidates[i])) parts[i] = own.outputs();
        });
        for (std::size_t i = 0; i < parts.size(); ++i) CHECK(parts[i] == together.row(static_cast<nn::index>(i)));
    }
}

TEST_CASE("metatune inference: no candidates, candidates that are refused, and more distinct loops than are kept") {
    mt::config c;
    c.features = 2;
    c.convolutions = {3, 2};
    c.head = {4};
    const auto net = with_biases(c, 1);
    mt::inference round;
    round.begin(net);
    CHECK(round.outputs().rows() == 0);
    augur::random_engine rng(1);
    auto bad = metatune_data::random_loops(3, 2, rng, 100);
    const auto good = bad;
    bad.features(1, 1) = std::numeric_limits<float>::quiet_NaN();
    for (const bool nested : {false, true}) {
        c.nested = nested;
        const auto of_kind = with_biases(c, 1);
        round.begin(of_kind);
        const auto refused = round.add(bad);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == augur::errc::invalid_argument);
        const auto other = round.add(metatune_data::random_loops(3, 4, rng));
        REQUIRE_FALSE(other);
        CHECK(other.error().code == augur::errc::shape_mismatch);
        REQUIRE(round.add(good));
        CHECK(round.outputs().rows() == 1);
        CHECK(difference(round.outputs(), plain_outputs(of_kind, {good})) < 1e-5F);
    }

    std::vector<mt::loop_rows> many(70000, metatune_data::random_loops(1, 2, rng, 100));
    for (std::size_t i = 0; i < many.size(); ++i) many[i].features(0, 0) = static_cast<float>(i) / 65536;
    const auto all = outputs_in_one_round(round, net, many);
    REQUIRE(all.rows() == 70000);
    std::vector<mt::loop_rows> some;
    nn::matrix<float> of_some(700, 2);
    for (std::size_t i = 0; i < many.size(); i += 100) {
        of_some.row(static_cast<nn::index>(some.size())) = all.row(static_cast<nn::index>(i));
        some.push_back(many[i]);
    }
    CHECK(difference(of_some, plain_outputs(net, some)) < 1e-5F);
}

TEST_CASE("metatune inference: rows of another super-graph than that of the weights are refused") {
    const auto structures = candidates::of_all_templates();
    mt::super_graph of_weights, other;
    REQUIRE(of_weights.add(structures[0].features, structures[0].role));
    for (const auto& one : structures) REQUIRE(other.add(one.features, one.role));
    REQUIRE(other.columns() > of_weights.columns());
    mt::config c;
    c.features = static_cast<nn::index>(of_weights.columns());
    const auto net = with_biases(c, 1);
    mt::inference round;
    round.begin(net);
    const auto own = of_weights.place(structures[0].features, structures[0].role), wide = other.place(structures[0].features, structures[0].role);
    REQUIRE((own && wide));
    const auto refused = round.add(*wide);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == augur::errc::shape_mismatch);
    CHECK(refused.error().detail ==
          "metatune: expected " + std::to_string(of_weights.columns()) + " features a loop, got " + std::to_string(other.columns()));
    REQUIRE(round.add(*own));
    CHECK(round.outputs().rows() == 1);
    CHECK_FALSE(of_weights.place(structures[1].features, structures[1].role)); // more loops than slots
}
