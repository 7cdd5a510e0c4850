// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MetaTune's model from the layers: graph convolutions, read-out, fully connected layers; its gradient, and its meta-gradient.
#include <augur/nn/layers/graph_convolution.hpp>
#include <augur/nn/layers/mlp.hpp>
#include <augur/nn/layers/weighted_sum_and_max.hpp>

#include <augur/core/random_engine.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/train/maml.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "vectors.hpp"

namespace nn = augur::nn;
using M = nn::matrix<double>;

namespace {

template <nn::scalar S>
struct graph_network {
    std::vector<nn::graph_convolution<S>> convolutions; ///< each with ReLU
    nn::weighted_sum_and_max<S> read_out;
    nn::mlp<S> head;

    template <class F, class... N>
    static void visit(F&& f, N&... nets) {
        const std::size_t depth[] = {nets.convolutions.size()...};
        for (std::size_t l = 0; l < depth[0]; ++l) nn::graph_convolution<S>::visit(f, nets.convolutions[l]...);
        nn::weighted_sum_and_max<S>::visit(f, nets.read_out...);
        nn::mlp<S>::visit(f, nets.head...);
    }
};

struct labelled_graphs {
    nn::graph_batch graphs;
    M x;                               ///< (N, I)
    std::vector<std::uint8_t> present; ///< (N)
    M label;                           ///< (G, 1)
};

struct graph_network_loss {
    using batch = labelled_graphs;
    template <nn::scalar S>
    struct activation {
        std::vector<nn::buffer<S>> nodes; ///< (N, width) input of each convolution, and of the read-out
        nn::buffer<S> scratch, dy, dx;    ///< (N, width)
        nn::weighted_sum_and_max_activation<S> read_out;
        nn::buffer<S> graph, d_graph; ///< (G, 2M)
        nn::mlp_activation<S> head;
        nn::buffer<S> label, score, slope; ///< (G, 1)
    };

    std::vector<nn::index> convolutions, head; ///< widths

    template <nn::scalar S>
    [[nodiscard]] graph_network<S> zeros() const {
        graph_network<S> net{{}, nn::weighted_sum_and_max<S>::zeros(convolutions.back()), nn::mlp<S>::zeros(head)};
        for (std::size_t l = 0; l + 1 < convolutions.size(); ++l)
            net.convolutions.push_back(nn::graph_convolution<S>::zeros(convolutions[l], convolutions[l + 1]));
        return net;
    }

    template <nn::scalar S>
    S operator()(const graph_network<S>& net, const labelled_graphs& data, activation<S>& kept, graph_network<S>& gradient) const {
        const std::size_t depth = net.convolutions.size();
        const nn::index n = data.x.rows(), g = data.graphs.size();
        kept.nodes.resize(depth + 1);
        nn::map<S> x = kept.nodes[0].shape(n, data.x.cols());
        x = data.x.template cast<S>();
        for (std::size_t l = 0; l < depth; ++l) {
            nn::map<S> y = kept.nodes[l + 1].shape(n, convolutions[l + 1]), scratch = kept.scratch.shape(n, convolutions[l + 1]);
            net.convolutions[l].forward(kept.nodes[l].view(), data.graphs, scratch, y);
            nn::relu<S>(y);
        }
        nn::map<S> graph = kept.graph.shape(g, 2 * convolutions.back()), label = kept.label.shape(g, 1), score = kept.score.shape(g, 1),
                   slope = kept.slope.shape(g, 1);
        label = data.label.template cast<S>();
        net.read_out.forward(kept.nodes[depth].view(), data.graphs.begin(), data.present, kept.read_out, graph);
        net.head.forward(graph, kept.head, score);
        const auto list = [g](nn::map<S>& m) { return std::span<S>(m.data(), static_cast<std::size_t>(g)); };
        const S loss = nn::mse<S>(list(score), list(label), list(slope));

        nn::map<S> d_graph = kept.d_graph.shape(g, graph.cols()), dy = kept.dy.shape(n, convolutions.back());
        net.head.backward(graph, kept.head, slope, d_graph, gradient.head);
        net.read_out.backward(kept.nodes[depth].view(), kept.read_out, d_graph, dy, gradient.read_out);
        for (std::size_t l = depth; l-- > 0;) {
            nn::map<S> now = kept.dy.view(), scratch = kept.scratch.shape(n, convolutions[l + 1]), dx = kept.dx.shape(n, convolutions[l]);
            nn::relu_backward<S>(kept.nodes[l + 1].view(), now);
            net.convolutions[l].backward(kept.nodes[l].view(), data.graphs, now, scratch, dx, gradient.convolutions[l]);
            std::swap(kept.dy, kept.dx);
        }
        return loss;
    }
};

/// Graphs of 1 to 6 nodes, the last node of each isolated, one node in four masked.
labelled_graphs random_graphs(nn::index count, nn::index width, std::uint64_t seed) {
    augur::random_engine rng(seed);
    labelled_graphs data;
    for (nn::index g = 0; g < count; ++g) {
        const auto nodes = static_cast<nn::index>(1 + rng.below(6));
        std::vector<nn::graph_edge> edges;
        for (std::uint32_t i = 1; i + 1 < static_cast<std::uint32_t>(nodes); ++i) edges.push_back({static_cast<std::uint32_t>(rng.below(i)), i});
        data.graphs.add(nodes, edges);
        data.present.push_back(1);
        for (nn::index i = 1; i < nodes; ++i) data.present.push_back(rng.below(4) == 0 ? 0 : 1);
    }
    data.x = vectors::random_matrix(data.graphs.nodes(), width, seed + 1);
    data.label = vectors::random_matrix(count, 1, seed + 2);
    return data;
}

graph_network<double> random_network(const graph_network_loss& loss) {
    augur::random_engine rng(6);
    auto net = loss.zeros<double>();
    graph_network<double>::visit([&](std::string_view, auto& p) { nn::fill_uniform(p, 0.7, rng); }, net);
    return net;
}

} // namespace

TEST_CASE("graph network: PyTorch's numbers of MetaTune's model on a super-graph, null nodes masked and not") {
    const auto j = vectors::load("metatune_forward_supergraph.json");
    const graph_network_loss loss{{6, 5, 4}, {8, 6, 3, 1}};
    auto net = loss.zeros<double>();
    const char* const names[] = {"W0", "b0", "W1", "b1", "a", "c", "F0", "f0", "F1", "f1", "F2", "f2"};
    std::size_t at = 0;
    graph_network<double>::visit([&](std::string_view, auto& p) { p = vectors::to_matrix(j["params"][names[at++]], p.rows(), p.cols()); }, net);
    labelled_graphs data;
    std::vector<nn::graph_edge> edges;
    for (const auto& e : j["edges"]) edges.push_back({e[0].get<std::uint32_t>(), e[1].get<std::uint32_t>()});
    for (int g = 0; g < 3; ++g) data.graphs.add(11, edges);
    data.x = vectors::to_matrix(j["X"], 33, 6);
    data.label = vectors::to_matrix(j["target"], 3, 1);
    CHECK(j["cases"].size() == 2);
    for (const auto& c : j["cases"]) {
        CAPTURE(c["readout"].get<std::string>());
        data.present.clear();
        if (c["readout"] != "all_nodes")
            for (const auto& graph : j["mask"])
                for (const auto& node : graph) data.present.push_back(node.get<std::uint8_t>());
        graph_network_loss::activation<double> kept;
        auto gradient = loss.zeros<double>();
        CHECK(loss(net, data, kept, gradient) == doctest::Approx(c["loss_mse"].get<double>()).epsilon(1e-12));
        CHECK(vectors::distance(kept.nodes[2].view(), vectors::to_matrix(c["node_embedding"], 33, 4)) < 1e-12);
        CHECK(vectors::distance(kept.graph.view(), vectors::to_matrix(c["graph_embedding"], 3, 8)) < 1e-12);
        CHECK(vectors::distance(kept.score.view(), vectors::to_matrix(c["out"], 3, 1)) < 1e-12);
        at = 0;
        graph_network<double>::visit(
            [&](std::string_view, const auto& g) {
                CAPTURE(names[at]);
                CHECK(vectors::distance(g, vectors::to_matrix(c["grad"][names[at]], g.rows(), g.cols())) < 1e-12);
                ++at;
            },
            gradient);
    }
}

TEST_CASE("graph network: gradient and Hessian product by central differences on random graphs") {
    const graph_network_loss loss{{3, 5, 4}, {8, 5, 1}};
    auto net = random_network(loss);
    const auto data = random_graphs(7, 3, 40);
    graph_network_loss::activation<double> kept;
    auto gradient = loss.zeros<double>(), unused = gradient;
    loss(net, data, kept, gradient);
    CHECK(vectors::gradient_error(net, gradient, [&] { return loss(net, data, kept, unused); }) < 1e-7);

    using D = nn::dual<double>; // a product with the Hessian against differences of the gradient along the same direction
    auto along = loss.zeros<D>(), product = along;
    const auto direction = random_network(loss);
    const auto shifted = [&](double h) {
        auto to = net, g = loss.zeros<double>();
        graph_network<double>::visit([&](std::string_view, auto& p, const auto& d) { p += h * d; }, to, direction);
        loss(to, data, kept, g);
        return g;
    };
    graph_network<double>::visit(
        [](std::string_view, const auto& p, const auto& d, auto& both) {
            for (nn::index i = 0; i < p.size(); ++i) both.data()[i] = {p.data()[i], d.data()[i]};
        },
        net, direction, along);
    graph_network_loss::activation<D> dual_kept;
    loss(along, data, dual_kept, product);
    const auto up = shifted(1e-5), down = shifted(-1e-5);
    graph_network<double>::visit(
        [](std::string_view name, const auto& a, const auto& b, const auto& got) {
            CAPTURE(std::string(name));
            const M slope = (a - b) / 2e-5, tangent = got.unaryExpr([](const D& x) { return x.tangent; });
            CHECK(vectors::distance(tangent, slope) < 1e-6);
        },
        up, down, product);
}

TEST_CASE("graph network: the meta-gradient agrees with central differences, in float with that in double") {
    const graph_network_loss loss{{3, 5, 4}, {8, 5, 1}};
    auto theta = random_network(loss);
    std::vector<nn::meta_task<labelled_graphs>> tasks;
    for (std::uint64_t t = 0; t < 3; ++t) tasks.push_back({random_graphs(5, 3, 60 + 10 * t), random_graphs(4, 3, 65 + 10 * t)});
    augur::serial_executor serial;
    nn::maml<double, graph_network_loss> meta(loss, {0.05, 2});
    auto gradient = loss.zeros<double>(), unused = gradient;
    meta.gradient(theta, tasks, serial, gradient);
    CHECK(vectors::gradient_error(theta, gradient, [&] { return meta.gradient(theta, tasks, serial, unused); }) < 1e-6);

    auto narrow = loss.zeros<float>(), by_float = narrow;
    graph_network<double>::visit([](std::string_view, const auto& p, auto& to) { to = p.template cast<float>(); }, theta, narrow);
    nn::maml<float, graph_network_loss> in_float(loss, {0.05, 2});
    in_float.gradient(narrow, tasks, serial, by_float);
    graph_network<double>::visit([](std::string_view, const auto& a, const auto& b) { CHECK(vectors::distance(a, b) < 1e-4); }, by_float, gradient);
}
