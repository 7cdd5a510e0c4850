// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_LOSS_HPP
#define AUGUR_METATUNE_LOSS_HPP

/// @file
/// The loss of MetaTune's network and of its head alone, for gradients and meta-gradients.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/metatune/network.hpp>
#include <augur/nn/layers/mlp.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace metatune {

/// What the candidates of a batch teach.
struct targets {
    std::vector<float> speed;        ///< (G) least latency of the task / latency; not read for a failure
    std::vector<std::uint8_t> valid; ///< (G) 0: a failure, which has no speed
    double speed_share = 1;          ///< weight of the mean loss of the speed
    double valid_share = 1;          ///< weight of the mean loss of the chance to be valid

    void clear() {
        speed.clear();
        valid.clear();
    }
};

/// Memory of one evaluation of `loss_of`.
template <nn::scalar S>
struct loss_activation {
    std::vector<S> output, label, slope; ///< (G) or fewer, of one output
};

/// Smooth L1 of the speeds, mean over the valid candidates, plus binary cross-entropy of the chance to be valid, mean over all candidates;
/// dy <- its derivative.   y, dy (G, outputs). With one output, failures teach nothing.
template <nn::scalar S>
S loss_of(nn::in<S> y, const targets& wanted, loss_activation<S>& kept, nn::out<S> dy) {
    const auto count = static_cast<std::size_t>(y.rows());
    AUGUR_ASSERT(wanted.speed.size() == count && wanted.valid.size() == count && dy.rows() == y.rows(), "metatune::loss_of: shape");
    dy.setZero();
    const auto gather = [&](nn::index column, const auto& label_of, bool all) {
        kept.output.clear();
        kept.label.clear();
        for (std::size_t i = 0; i < count; ++i) {
            if (!all && wanted.valid[i] == 0) continue;
            kept.output.push_back(y(static_cast<nn::index>(i), column));
            kept.label.push_back(S(static_cast<double>(label_of(i))));
        }
        kept.slope.resize(kept.output.size());
    };
    const auto scatter = [&](nn::index column, double share, bool all) {
        std::size_t from = 0;
        for (std::size_t i = 0; i < count; ++i)
            if (all || wanted.valid[i] != 0) dy(static_cast<nn::index>(i), column) = S(share) * kept.slope[from++];
    };
    gather(0, [&](std::size_t i) { return wanted.speed[i]; }, false);
    S loss = S(wanted.speed_share) * nn::smooth_l1<S>(kept.output, kept.label, kept.slope);
    scatter(0, wanted.speed_share, false);
    if (y.cols() == 1) return loss;
    gather(1, [&](std::size_t i) { return wanted.valid[i] != 0 ? 1 : 0; }, true);
    loss += S(wanted.valid_share) * nn::binary_cross_entropy<S>(kept.output, kept.label, kept.slope);
    scatter(1, wanted.valid_share, true);
    return loss;
}

/// Candidates and what they teach the whole network.
struct graph_samples {
    candidate_graphs candidates;
    targets wanted;
};
/// Embeddings of candidates and what they teach the head.
struct embedded_samples {
    nn::matrix<float> embeddings; ///< (G, 2M)
    targets wanted;
};

/// Loss of the whole network. Models `nn::differentiable_loss`.
struct network_loss {
    using batch = graph_samples;
    template <nn::scalar S>
    struct activation {
        network_activation<S> net;
        loss_activation<S> loss;
        nn::buffer<S> y, dy; ///< (G, outputs)
    };

    metatune::config config;

    template <nn::scalar S>
    [[nodiscard]] network<S> zeros() const {
        return network<S>::zeros(config);
    }
    template <nn::scalar S>
    S operator()(const network<S>& net, const graph_samples& data, activation<S>& kept, network<S>& gradient) const {
        nn::map<S> y = kept.y.shape(data.candidates.size(), config.outputs), dy = kept.dy.shape(data.candidates.size(), config.outputs);
        net.forward(data.candidates, kept.net, y);
        const S loss = loss_of<S>(y, data.wanted, kept.loss, dy);
        net.backward(data.candidates, kept.net, dy, gradient);
        return loss;
    }
};

/// Loss of the head on embeddings, for convolutions that do not change. Models `nn::differentiable_loss`.
struct head_loss {
    using batch = embedded_samples;
    template <nn::scalar S>
    struct activation {
        nn::mlp_activation<S> head;
        loss_activation<S> loss;
        nn::buffer<S> x, y, dy; ///< (G, 2M), (G, outputs)
    };

    metatune::config config;

    template <nn::scalar S>
    [[nodiscard]] nn::mlp<S> zeros() const {
        return nn::mlp<S>::zeros(config.head_widths());
    }
    template <nn::scalar S>
    S operator()(const nn::mlp<S>& head, const embedded_samples& data, activation<S>& kept, nn::mlp<S>& gradient) const {
        const nn::index n = data.embeddings.rows();
        nn::map<S> x = kept.x.shape(n, data.embeddings.cols()), y = kept.y.shape(n, config.outputs), dy = kept.dy.shape(n, config.outputs);
        x = data.embeddings.template cast<S>();
        head.forward(x, kept.head, y);
        const S loss = loss_of<S>(y, data.wanted, kept.loss, dy);
        head.backward(x, kept.head, dy, gradient);
        return loss;
    }
};

} // namespace metatune
} // namespace augur::inline v0

#endif
