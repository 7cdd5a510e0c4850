// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_INFERENCE_HPP
#define AUGUR_METATUNE_INFERENCE_HPP

/// @file
/// Outputs of the network for the many candidates of a round of a search.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/metatune/detail/star_table.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/network.hpp>
#include <augur/nn/layers/mlp.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0 {
namespace metatune {

/// Outputs of candidates one after the other, up to rounding those of `network::forward`.
///
/// Where the graphs are stars and the network has two convolutions, loops that candidates share are computed once (detail/star_table.hpp), and what is
/// left for each candidate are sums over its loops, one product for its root and the head. Networks with the same convolutions and gate share these loops,
/// as those of all tasks do that were adapted with frozen convolutions. Other networks do all the work for each candidate.
///
/// The outputs of a candidate do not depend on the others, to the bit.
/// Memory: the table of up to 2^16 distinct loops is kept, 100 MB for convolutions 128 wide
/// Threads: one object per thread
class inference {
public:
    /// Begins with no candidate.   pre: net outlives its use here; it does not change before `outputs`
    void begin(const network<float>& net) {
        if (net_ == nullptr || config_ != net.config) {
            config_ = net.config;
            star_.reset();
            if (detail::star_table::covers(config_)) star_.emplace(config_);
            graphs_.emplace(config_);
        }
        net_ = &net;
        outputs_.clear();
        graphs_->clear();
        if (star_) star_->begin(net);
    }

    /// Appends a candidate. Errors, after which nothing is appended: those of `check`.   pre: `begin`
    [[nodiscard]] result<void> add(const loop_rows& loops) {
        AUGUR_ASSERT(net_ != nullptr, "metatune::inference: begin");
        if (star_) {
            if (auto fits = check(loops, config_); !fits) return fits;
            star_->add(loops);
        } else if (auto added = graphs_->add(loops); !added) {
            return added;
        }
        if (waiting() == (star_ ? listed : packed)) flush();
        return {};
    }

    /// Outputs of the candidates since `begin`, in the order of `add`.   (G, outputs), valid until the next call.   pre: `begin`
    [[nodiscard]] Eigen::Map<const nn::matrix<float>> outputs() {
        AUGUR_ASSERT(net_ != nullptr, "metatune::inference: begin");
        flush();
        return {outputs_.data(), static_cast<nn::index>(outputs_.size()) / config_.outputs, config_.outputs};
    }

private:
    static constexpr nn::index packed = 32, listed = 128; ///< candidates that wait: their activations are in the second-level cache
    static constexpr std::size_t most_loops = 1U << 16U;  ///< limits the memory

    [[nodiscard]] nn::index waiting() const { return star_ ? static_cast<nn::index>(star_->size()) : graphs_->size(); }
    /// Computes the candidates that are waiting.
    void flush() {
        if (waiting() == 0) return;
        const std::size_t before = outputs_.size();
        outputs_.resize(before + static_cast<std::size_t>(waiting() * config_.outputs));
        nn::map<float> y(outputs_.data() + before, waiting(), config_.outputs);
        if (!star_) {
            net_->forward(*graphs_, kept_, y);
            graphs_->clear();
            return;
        }
        nn::map<float> embedding = kept_.embedding.shape(waiting(), config_.embedding());
        star_->embed(*net_, embedding);
        net_->head.forward(embedding, kept_.head, y);
        if (star_->distinct() > most_loops) star_->restart(*net_);
        else star_->clear_candidates();
    }

    const network<float>* net_ = nullptr;
    config config_;
    std::optional<detail::star_table> star_; ///< instead of graphs_
    std::optional<candidate_graphs> graphs_;
    network_activation<float> kept_;
    std::vector<float> outputs_;
};

} // namespace metatune
} // namespace augur::inline v0

#endif
