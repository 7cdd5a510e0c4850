// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_PASS_HPP
#define AUGUR_MODEL_TLP_PASS_HPP

/// @file
/// TLP forward and backward over a batch, in parallel.
///
/// What a row becomes before attention depends on the row alone, so it is computed once for each distinct row of the batch. Everything behind is done
/// in pieces of a fixed number of schedules; the pieces' gradients are added in their order. So results do not depend on the number of threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/model/tlp.hpp>
#include <augur/model/tlp_bags.hpp>
#include <augur/nn/optimiser.hpp>

namespace augur::inline v0 {

namespace detail {

/// Activations of one piece: T rows of some schedules.
template <nn::scalar S>
struct tlp_piece {
    std::vector<nn::index> begin;
    nn::buffer<S> x; ///< (T, D) encoded rows
    nn::attention_activation<S> attention;
    std::vector<nn::buffer<S>> z;       ///< (T, D) behind attention, then behind each block
    std::vector<nn::buffer<S>> hidden;  ///< (T, D) inside each block
    std::vector<nn::buffer<S>> decoded; ///< (T, width) behind each decoder layer
    nn::buffer<S> d_a, d_b, scratch;    ///< gradients on their way back
    nn::buffer<S> d_x;                  ///< (T, D) by the encoded rows
};

} // namespace detail

/// Memory for forward and backward of one network shape. One object a thread that calls; the executor's threads share it safely.
template <nn::scalar S>
class tlp_pass {
public:
    /// Schedules a piece: small, so that a piece stays in the cache.
    static constexpr std::size_t score_piece = 16;
    static constexpr std::size_t train_piece = 32;
    static constexpr nn::index row_piece = 64;

    /// scores[n] <- score of schedule n.   scores (N)
    /// @note allocates nothing once it has seen a batch as large; a score is the same in every batch, to the last bit for float
    template <bulk_executor Executor>
    void forward(const tlp_network<S>& net, const tlp_bags& bags, Executor& executor, std::span<S> scores) {
        encode(net, bags, executor);
        const std::size_t pieces = (bags.size() + score_piece - 1) / score_piece;
        const std::size_t workers = (std::min)(pieces, static_cast<std::size_t>(executor.concurrency()));
        if (pieces_.size() < workers) pieces_.resize(workers);
        std::atomic<std::size_t> next{0};
        executor.bulk(workers, [&](std::size_t w) {
            for (std::size_t p = next.fetch_add(1); p < pieces; p = next.fetch_add(1))
                run(net, bags, p * score_piece, (std::min)(bags.size(), (p + 1) * score_piece), pieces_[w], scores);
        });
    }

    /// The same, keeping what `backward` needs.
    template <bulk_executor Executor>
    void forward_to_train(const tlp_network<S>& net, const tlp_bags& bags, Executor& executor, std::span<S> scores) {
        encode(net, bags, executor);
        const std::size_t pieces = (bags.size() + train_piece - 1) / train_piece;
        if (pieces_.size() < pieces) pieces_.resize(pieces);
        executor.bulk(pieces,
                      [&](std::size_t p) { run(net, bags, p * train_piece, (std::min)(bags.size(), (p + 1) * train_piece), pieces_[p], scores); });
    }

    /// grad <- dL/d(parameters), given dL/d(score) (N).   pre: forward_to_train with the same arguments came before
    template <bulk_executor Executor>
    void backward(const tlp_network<S>& net, const tlp_bags& bags, Executor& executor, std::span<const S> d_scores, tlp_network<S>& grad);

private:
    template <bulk_executor Executor>
    void encode(const tlp_network<S>& net, const tlp_bags& bags, Executor& executor);
    void run(const tlp_network<S>& net, const tlp_bags& bags, std::size_t first, std::size_t last, detail::tlp_piece<S>& piece, std::span<S> scores);
    void run_back(const tlp_network<S>& net, const tlp_bags& bags, std::size_t first, std::size_t last, detail::tlp_piece<S>& piece,
                  std::span<const S> d_scores, tlp_network<S>& grad);

    nn::buffer<S> rows_;                 ///< (U, E) scaled
    std::vector<nn::buffer<S>> encoded_; ///< (U, width) behind each encoder layer
    nn::buffer<S> qkv_;                  ///< (U, 3D)
    nn::buffer<S> d_encoded_, d_qkv_;    ///< (U, D), (U, 3D)
    std::vector<nn::buffer<S>> d_layer_; ///< (U, width) going back through the encoder
    std::vector<detail::tlp_piece<S>> pieces_;
    std::vector<tlp_network<S>> grads_; ///< one a piece
};

} // namespace augur::inline v0

#include <augur/model/tlp_pass_impl.hpp>

#endif
