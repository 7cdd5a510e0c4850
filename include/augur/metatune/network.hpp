// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_NETWORK_HPP
#define AUGUR_METATUNE_NETWORK_HPP

/// @file
/// MetaTune's graph network (Ryu, Sung 2021, section 4): configuration, parameters, forward and backward over candidates packed into one batch.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/nn/kernels/graph.hpp>
#include <augur/nn/layers/graph_convolution.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/mlp.hpp>
#include <augur/nn/layers/weighted_sum_and_max.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace metatune {

/// What determines the shape of the network and of its graphs. The defaults are the sizes of the authors' training script; the paper has none.
struct config {
    nn::index features = 66;                     ///< F, numbers of a loop
    std::vector<nn::index> convolutions{64, 32}; ///< widths; the last one is M, an embedding has 2M numbers
    std::vector<nn::index> head{64, 32};         ///< widths of the hidden layers
    nn::index outputs = 2; ///< 1: the speed; 2: also the logit of the chance to be valid, so that failed candidates teach the model
    bool nested = false;   ///< edges also between a `for` node and that of the next outer loop; the paper has a star
    bool masked = true;    ///< the nodes of absent loops do not count in the read-out

    /// Validates: widths of 1 to 16384, at most 16 layers a stack, at least one convolution, 1 or 2 outputs. Errors: shape_mismatch.
    [[nodiscard]] result<void> check() const {
        const auto wrong = [](std::string what) { return error{errc::shape_mismatch, "metatune: expected " + std::move(what)}; };
        const auto sound = [](nn::index width) { return width >= 1 && width <= 16384; };
        if (!sound(features)) return wrong("1 to 16384 features, got " + std::to_string(features));
        if (outputs != 1 && outputs != 2) return wrong("1 or 2 outputs, got " + std::to_string(outputs));
        if (convolutions.empty() || convolutions.size() > 16 || head.size() > 16)
            return wrong("1 to 16 convolutions and at most 16 hidden layers, got " + std::to_string(convolutions.size()) + " and " +
                         std::to_string(head.size()));
        for (const auto* widths : {&convolutions, &head})
            for (const nn::index w : *widths)
                if (!sound(w)) return wrong("widths of 1 to 16384, got " + std::to_string(w));
        return {};
    }

    [[nodiscard]] nn::index embedding() const { return 2 * convolutions.back(); } ///< numbers of a candidate's embedding, 2M
    /// Widths of all layers of the head, from the embedding to the outputs.
    [[nodiscard]] std::vector<nn::index> head_widths() const {
        std::vector<nn::index> widths{embedding()};
        widths.insert(widths.end(), head.begin(), head.end());
        widths.push_back(outputs);
        return widths;
    }

    friend bool operator==(const config&, const config&) = default;
};

/// Checks that networks of this configuration can read a candidate.
/// Errors: shape_mismatch (another number of features, sizes that do not fit), invalid_argument (a loop before the one around it, a feature that is not
/// finite).
[[nodiscard]] inline result<void> check(const loop_rows& loops, const config& c) {
    const auto slots = static_cast<std::size_t>(loops.features.rows());
    const auto wrong = [](errc code, std::string what) { return error{code, "metatune: expected " + std::move(what)}; };
    if (slots > 0 && loops.features.cols() != c.features)
        return wrong(errc::shape_mismatch, std::to_string(c.features) + " features a loop, got " + std::to_string(loops.features.cols()));
    if (loops.present.size() != slots || loops.parents.size() != slots)
        return wrong(errc::shape_mismatch, "presence and parent of " + std::to_string(slots) + " loops, got " + std::to_string(loops.present.size()) +
                                               " and " + std::to_string(loops.parents.size()));
    for (std::size_t i = 0; i < slots; ++i)
        if (const std::uint32_t p = loops.parents[i]; p != loop_rows::no_parent && p >= i)
            return wrong(errc::invalid_argument, "the loop around loop " + std::to_string(i) + " before it, got " + std::to_string(p));
    if (!nn::kernels::all_finite(loops.features.data(), loops.features.size())) return wrong(errc::invalid_argument, "finite features");
    return {};
}

/// Graphs of candidates, packed. A candidate with S loops has 1 + 2S nodes: the root, the `for` nodes, the `iterval` nodes; edges are undirected,
/// with self loops and Kipf's normalisation.
///
/// Threads: const functions may be called concurrently.
class candidate_graphs {
public:
    /// pre: c.check()
    explicit candidate_graphs(const config& c) : config_(c) {}

    /// Appends a candidate. Errors, after which nothing is appended: those of `check`.
    /// @note O(S F); allocates nothing after `clear` of as large a batch
    [[nodiscard]] result<void> add(const loop_rows& loops) {
        if (auto fits = check(loops, config_); !fits) return fits;
        const auto slots = loops.present.size();
        const auto n = static_cast<std::uint32_t>(slots);
        edges_.clear();
        for (std::uint32_t i = 0; i < n; ++i) edges_.push_back({0, 1 + i});
        for (std::uint32_t i = 0; i < n; ++i) edges_.push_back({1 + i, 1 + n + i});
        for (std::uint32_t i = 0; config_.nested && i < n; ++i)
            if (loops.parents[i] != loop_rows::no_parent) edges_.push_back({1 + loops.parents[i], 1 + i});
        graphs_.add(1 + 2 * loops.features.rows(), edges_);
        rows_.resize(rows_.size() + (1 + slots) * static_cast<std::size_t>(config_.features)); // root and `for` nodes have no features
        rows_.insert(rows_.end(), loops.features.data(), loops.features.data() + loops.features.size());
        if (!config_.masked) return {};
        present_.push_back(1);
        for (int kind = 0; kind < 2; ++kind) present_.insert(present_.end(), loops.present.begin(), loops.present.end());
        return {};
    }
    /// Removes all candidates and keeps the memory.
    void clear() {
        graphs_.clear();
        rows_.clear();
        present_.clear();
    }

    [[nodiscard]] nn::index size() const { return graphs_.size(); } ///< number of candidates, G
    [[nodiscard]] const nn::graph_batch& graphs() const { return graphs_; }
    /// (N, F) features of the nodes.
    [[nodiscard]] Eigen::Map<const nn::matrix<float>> features() const { return {rows_.data(), graphs_.nodes(), config_.features}; }
    /// (N) 0: the node does not count in the read-out; empty: all count.
    [[nodiscard]] std::span<const std::uint8_t> present() const { return present_; }

private:
    config config_;
    nn::graph_batch graphs_;
    std::vector<float> rows_;
    std::vector<std::uint8_t> present_;
    std::vector<nn::graph_edge> edges_; ///< scratch of `add`
};

/// Activations that `network::forward` stores for `network::backward`, and scratch memory of both.
template <nn::scalar S>
struct network_activation {
    std::vector<nn::buffer<S>> nodes; ///< (N, width) input of each convolution, and of the read-out; the first one is not used for float
    nn::buffer<S> scratch, d[2];      ///< (N, width)
    nn::weighted_sum_and_max_activation<S> read_out;
    nn::buffer<S> embedding, d_embedding; ///< (G, 2M)
    nn::mlp_activation<S> head;
};

/// Parameters of the network. Gradients and Adam's moments have the same type.
///
///     nodes (N, F) -> convolutions, each with ReLU -> (N, M) -> weighted sum and maximum -> (G, 2M) -> head with ReLU -> (G, outputs)
///
/// A value, as every layer. Threads: const functions may be called concurrently with distinct activations.
template <nn::scalar S>
struct network {
    metatune::config config;
    std::vector<nn::graph_convolution<S>> convolutions;
    nn::weighted_sum_and_max<S> read_out;
    nn::mlp<S> head;

    /// pre: config.check()
    static network zeros(const metatune::config& config) {
        AUGUR_ASSERT(config.check(), "metatune::network: config");
        network net{config, {}, nn::weighted_sum_and_max<S>::zeros(config.convolutions.back()), nn::mlp<S>::zeros(config.head_widths())};
        nn::index in = config.features;
        for (const nn::index w : config.convolutions) net.convolutions.push_back(nn::graph_convolution<S>::zeros(std::exchange(in, w), w));
        return net;
    }
    /// Initialises the parameters with the defaults of DGL and torch.   pre: config.check()
    static network random_init(const metatune::config& config, random_engine rng) {
        network net = zeros(config);
        for (auto& layer : net.convolutions) nn::init(layer, rng);
        nn::init(net.read_out, rng);
        nn::init(net.head, rng);
        return net;
    }

    /// y <- embeddings of the candidates, the input of the head.   y (G, 2M)
    void embed(const candidate_graphs& candidates, network_activation<S>& kept, nn::out<S> y) const {
        const auto features = candidates.features();
        kept.nodes.resize(convolutions.size() + 1);
        if constexpr (!std::same_as<S, float>) kept.nodes[0].shape(features.rows(), features.cols()) = features.template cast<S>();
        for (std::size_t l = 0; l < convolutions.size(); ++l) {
            const nn::index width = convolutions[l].W.cols();
            nn::map<S> to = kept.nodes[l + 1].shape(features.rows(), width);
            convolutions[l].forward(input(candidates, kept, l), candidates.graphs(), kept.scratch.shape(features.rows(), width), to);
            nn::relu<S>(to);
        }
        read_out.forward(kept.nodes.back().view(), candidates.graphs().begin(), candidates.present(), kept.read_out, y);
    }
    /// y <- outputs: the speed, in column 1 the logit of the chance to be valid.   y (G, outputs)
    void forward(const candidate_graphs& candidates, network_activation<S>& kept, nn::out<S> y) const {
        nn::map<S> embedding = kept.embedding.shape(candidates.size(), config.embedding());
        embed(candidates, kept, embedding);
        head.forward(embedding, kept.head, y);
    }
    /// Given dL/dy (G, outputs): grad += dL/d(parameters).   pre: `kept` from forward of the same candidates
    void backward(const candidate_graphs& candidates, network_activation<S>& kept, nn::in<S> dy, network& grad) const {
        const nn::index n = candidates.graphs().nodes();
        nn::map<S> d_embedding = kept.d_embedding.shape(candidates.size(), config.embedding());
        head.backward(kept.embedding.view(), kept.head, dy, d_embedding, grad.head);
        std::size_t at = convolutions.size() % 2;
        read_out.backward(kept.nodes.back().view(), kept.read_out, d_embedding, kept.d[at].shape(n, config.convolutions.back()), grad.read_out);
        for (std::size_t l = convolutions.size(); l-- > 0; at = 1 - at) {
            nn::map<S> d = kept.d[at].view(), scratch = kept.scratch.shape(n, convolutions[l].W.cols());
            nn::relu_backward<S>(kept.nodes[l + 1].view(), d);
            if (l == 0) convolutions[l].backward(input(candidates, kept, l), candidates.graphs(), d, scratch, grad.convolutions[l]);
            else
                convolutions[l].backward(input(candidates, kept, l), candidates.graphs(), d, scratch,
                                         kept.d[1 - at].shape(n, convolutions[l].W.rows()), grad.convolutions[l]);
        }
    }

    /// Calls f(name, parameters...) for each parameter of networks of equal config; names are dgl-lifesci's and torch's.
    template <class F, class... N>
    static void visit(F&& f, N&... nets) {
        const auto below = [&f](std::string prefix) {
            return [&f, prefix = std::move(prefix)](std::string_view name, auto&... p) { f(prefix + std::string(name), p...); };
        };
        const std::size_t depth[] = {nets.convolutions.size()...};
        for (std::size_t l = 0; l < depth[0]; ++l)
            nn::graph_convolution<S>::visit(below("gnn.gnn_layers." + std::to_string(l) + ".graph_conv."), nets.convolutions[l]...);
        nn::weighted_sum_and_max<S>::visit(below("readout."), nets.read_out...);
        nn::mlp<S>::visit(below("predict."), nets.head...);
    }

    /// Name of the first parameter with a NaN or an infinity; empty if all are finite.
    [[nodiscard]] std::string not_finite() const {
        std::string bad;
        visit(
            [&](const std::string& name, const auto& p) {
                if (bad.empty() && !p.allFinite()) bad = name;
            },
            *this);
        return bad;
    }

private:
    static Eigen::Ref<const nn::matrix<S>> input(const candidate_graphs& candidates, const network_activation<S>& kept, std::size_t layer) {
        if constexpr (std::same_as<S, float>)
            if (layer == 0) return candidates.features();
        return kept.nodes[layer].view();
    }
};

/// The score of a candidate: its speed plus the logarithm of its chance to be valid. For speed and chance near 1 that is to first order the expected
/// speed, their product, if a failure has the speed 0.
/// @param outputs  (1 or 2) a row of the network's outputs
[[nodiscard]] inline float score_of(std::span<const float> outputs) {
    if (outputs.size() == 1) return outputs[0];
    const float z = outputs[1];
    return outputs[0] + (std::min)(z, 0.0F) - std::log1p(std::exp(-std::abs(z))); // ln(sigmoid(z))
}

} // namespace metatune
} // namespace augur::inline v0

#endif
