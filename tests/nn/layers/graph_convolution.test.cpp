// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <augur/nn/layers/graph_convolution.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/nn/dual.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/linear.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;
using M = nn::matrix<double>;

namespace {

std::vector<nn::graph_edge> edges_of(const nlohmann::json& from) {
    std::vector<nn::graph_edge> edges;
    for (const auto& e : from) edges.push_back({e[0].get<std::uint32_t>(), e[1].get<std::uint32_t>()});
    return edges;
}

/// The normalised adjacency as a matrix, (target, source).
M dense_adjacency(const nn::graph_batch& graphs) {
    M a = M::Zero(graphs.nodes(), graphs.nodes());
    for (nn::index n = 0; n < graphs.nodes(); ++n) {
        const auto messages = graphs.messages_to(n);
        for (std::size_t m = 0; m < messages.sources.size(); ++m) a(n, messages.sources[m]) += messages.coefficients[m];
    }
    return a;
}

/// The definition of the norms, with matrices.
M dense_twin(nn::index nodes, const std::vector<nn::graph_edge>& edges, const nn::graph_options& options) {
    M a = M::Zero(nodes, nodes);
    for (const auto& e : edges) {
        a(e.target, e.source) += 1;
        if (options.undirected) a(e.source, e.target) += 1;
    }
    if (options.self_loops) a += M::Identity(nodes, nodes);
    const Eigen::VectorXd in = a.rowwise().sum().cwiseMax(1), sent = a.colwise().sum().transpose().cwiseMax(1);
    if (options.norm == nn::degree_norm::right) return in.cwiseInverse().asDiagonal() * a;
    if (options.norm == nn::degree_norm::both) return in.cwiseSqrt().cwiseInverse().asDiagonal() * a * sent.cwiseSqrt().cwiseInverse().asDiagonal();
    return a;
}

template <class S>
void check_kipf(double tolerance) {
    const auto j = vectors::load("gcn_kipf_7x5x4x3.json");
    nn::graph_batch graphs;
    graphs.add(7, edges_of(j["edges"]));
    CHECK(vectors::distance(dense_adjacency(graphs), vectors::to_matrix(j["A_hat"], 7, 7)) < 1e-15);
    auto first = nn::graph_convolution<S>::zeros(5, 4);
    auto second = nn::graph_convolution<S>::zeros(4, 3);
    first.W = vectors::to_matrix(j["W0"], 5, 4).cast<S>();
    first.b = vectors::to_matrix(j["b0"], 1, 4).cast<S>();
    second.W = vectors::to_matrix(j["W1"], 4, 3).cast<S>();
    second.b = vectors::to_matrix(j["b1"], 1, 3).cast<S>();
    const nn::matrix<S> x = vectors::to_matrix(j["X"], 7, 5).cast<S>();
    nn::matrix<S> h(7, 4), y(7, 3), scratch_h(7, 4), scratch_y(7, 3), dh(7, 4), dx(7, 5);
    first.forward(x, graphs, scratch_h, h);
    nn::relu<S>(h);
    second.forward(h, graphs, scratch_y, y);
    CHECK(vectors::distance(h, vectors::to_matrix(j["hidden"], 7, 4)) < tolerance);
    CHECK(vectors::distance(y, vectors::to_matrix(j["out"], 7, 3)) < tolerance);

    const M target = vectors::to_matrix(j["target"], 7, 3);
    const nn::matrix<S> by_mse = (2.0 / 21 * (y.template cast<double>() - target)).template cast<S>();
    const nn::matrix<S> by_dot = vectors::to_matrix(j["cotangent"], 7, 3).cast<S>();
    for (const auto& [name, dy] : {std::pair("grad_dot", by_dot), std::pair("grad_mse", by_mse)}) {
        auto grad_1 = nn::graph_convolution<S>::zeros(5, 4);
        auto grad_2 = nn::graph_convolution<S>::zeros(4, 3);
        second.backward(h, graphs, dy, scratch_y, dh, grad_2);
        nn::relu_backward<S>(h, dh);
        first.backward(x, graphs, dh, scratch_h, dx, grad_1);
        const auto& expected = j[name];
        CHECK(vectors::distance(dx, vectors::to_matrix(expected["X"], 7, 5)) < tolerance);
        CHECK(vectors::distance(grad_1.W, vectors::to_matrix(expected["W0"], 5, 4)) < tolerance);
        CHECK(vectors::distance(grad_1.b, vectors::to_matrix(expected["b0"], 1, 4)) < tolerance);
        CHECK(vectors::distance(grad_2.W, vectors::to_matrix(expected["W1"], 4, 3)) < tolerance);
        CHECK(vectors::distance(grad_2.b, vectors::to_matrix(expected["b1"], 1, 3)) < tolerance);
    }
}

} // namespace

TEST_CASE("graph convolution: PyTorch's numbers of two layers with Kipf's normalisation") {
    check_kipf<double>(1e-12);
    check_kipf<float>(1e-5);
}

TEST_CASE("graph convolution: DGL's norms of a directed tree") {
    const auto j = vectors::load("gcn_directed_norms.json");
    auto layer = nn::graph_convolution<double>::zeros(5, 4);
    layer.W = vectors::to_matrix(j["W"], 5, 4);
    layer.b = vectors::to_matrix(j["b"], 1, 4);
    const M x = vectors::to_matrix(j["X"], 7, 5);
    const M dy = vectors::to_matrix(j["cotangent_col0_broadcast"], 7, 1).replicate(1, 4);
    CHECK(j["cases"].size() == 6);
    for (const auto& c : j["cases"]) {
        const auto name = c["norm"].get<std::string>();
        CAPTURE(name);
        const auto norm = name == "none" ? nn::degree_norm::none : name == "both" ? nn::degree_norm::both : nn::degree_norm::right;
        nn::graph_batch graphs({norm, false, c["self_loop"].get<bool>()});
        graphs.add(7, edges_of(j["edges"]));
        M y(7, 4), scratch(7, 4), dx(7, 5);
        layer.forward(x, graphs, scratch, y);
        CHECK(vectors::distance(y, vectors::to_matrix(c["out"], 7, 4)) < 1e-12);
        auto grad = nn::graph_convolution<double>::zeros(5, 4);
        layer.backward(x, graphs, dy, scratch, dx, grad);
        CHECK(vectors::distance(dx, vectors::to_matrix(c["grad_X"], 7, 5)) < 1e-12);
        CHECK(vectors::distance(grad.W, vectors::to_matrix(c["grad_W"], 5, 4)) < 1e-12);
        CHECK(vectors::distance(grad.b, vectors::to_matrix(c["grad_b"], 1, 4)) < 1e-12);
    }
}

TEST_CASE("graph convolution: random packed graphs, with isolated nodes and equal edges, against dense matrices and central differences") {
    augur::random_engine rng(5);
    for (const auto norm : {nn::degree_norm::none, nn::degree_norm::right, nn::degree_norm::both})
        for (const bool undirected : {false, true})
            for (const bool self_loops : {false, true}) {
                const nn::graph_options options{norm, undirected, self_loops};
                nn::graph_batch graphs(options);
                M a = M::Zero(16, 16);
                for (int round = 0; round < 2; ++round) { // the second round in the memory of the first
                    graphs.clear();
                    a.setZero();
                    for (const nn::index nodes : {6, 1, 0, 9}) { // one node, no node
                        std::vector<nn::graph_edge> edges;
                        for (nn::index e = 0; nodes > 1 && e < nodes; ++e) // the last node is isolated
                            edges.push_back({static_cast<std::uint32_t>(rng.below(static_cast<std::uint64_t>(nodes - 1))),
                                             static_cast<std::uint32_t>(rng.below(static_cast<std::uint64_t>(nodes - 1)))});
                        if (nodes > 1) edges.push_back(edges.front());
                        a.block(graphs.nodes(), graphs.nodes(), nodes, nodes) = dense_twin(nodes, edges, options);
                        graphs.add(nodes, edges);
                    }
                }
                CHECK(graphs.size() == 4);
                CHECK(std::vector<nn::index>(graphs.begin().begin(), graphs.begin().end()) == std::vector<nn::index>{0, 6, 7, 7, 16});
                CHECK(vectors::distance(dense_adjacency(graphs), a) < 1e-15);

                auto layer = nn::graph_convolution<double>::zeros(3, 4);
                nn::init(layer, rng);
                nn::fill_uniform(layer.b, 1, rng);
                vectors::input in{vectors::random_matrix(16, 3, 1)};
                const M c = vectors::random_matrix(16, 4, 2);
                M y(16, 4), scratch(16, 4), dx(16, 3);
                const auto loss = [&] {
                    layer.forward(in.x, graphs, scratch, y);
                    return (c.array() * y.array()).sum();
                };
                loss();
                CHECK(vectors::distance(y, M((a * in.x * layer.W).rowwise() + layer.b)) < 1e-14);
                auto grad = nn::graph_convolution<double>::zeros(3, 4), grad_only = grad;
                layer.backward(in.x, graphs, c, scratch, dx, grad);
                layer.backward(in.x, graphs, c, scratch, grad_only);
                CHECK(grad.W == grad_only.W);
                CHECK(vectors::gradient_error(layer, grad, loss) < 1e-8);
                CHECK(vectors::gradient_error(in, vectors::input{dx}, loss) < 1e-8);
            }
}

TEST_CASE("graph convolution: a graph has the same rows alone and in a batch") {
    augur::random_engine rng(9);
    auto layer = nn::graph_convolution<float>::zeros(8, 16);
    nn::init(layer, rng);
    const nn::matrix<float> x = vectors::random_matrix(11, 8, 3).cast<float>();
    const std::vector<nn::graph_edge> path{{0, 1}, {1, 2}, {2, 3}};
    nn::graph_batch one, three;
    one.add(4, path);
    three.add(5, std::vector<nn::graph_edge>{{0, 4}, {3, 1}});
    three.add(4, path);
    three.add(2, {});
    nn::matrix<float> alone(4, 16), together(11, 16), scratch_4(4, 16), scratch_11(11, 16);
    layer.forward(x.middleRows(5, 4), one, scratch_4, alone);
    layer.forward(x, three, scratch_11, together);
    CHECK(alone == together.middleRows(5, 4));
}
