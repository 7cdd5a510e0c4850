// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_FORWARD_BACKWARD_HPP
#define AUGUR_TLP_TRAIN_FORWARD_BACKWARD_HPP

/// @file
/// Parallel forward and backward pass of a TLP model over a deduplicated batch.
///
/// The layers before attention or the LSTM depend on one row only, so they are computed once per distinct row of the batch. The layers after them are
/// computed in pieces of a fixed number of schedules, and gradients are summed in the order of the pieces. So results do not depend on the number of
/// threads. With an LSTM the schedules are sorted, and a state is computed once per distinct prefix of a piece.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/detail/shared_prefixes.hpp>
#include <augur/tlp/model.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// LSTM states after the n distinct prefixes of one length.
template <nn::scalar S>
struct lstm_states {
    nn::buffer<S> gates, c, h; ///< (n, 4D), (n, D), (n, D)
    nn::buffer<S> d_gates, d_c, d_h;
};

/// Activations of one piece. T is the number of rows of its schedules; with an LSTM, the number of its schedules.
template <nn::scalar S>
struct batch_piece {
    std::vector<nn::index> begin;
    std::vector<nn::buffer<S>> x; ///< (T, D) input of each attention layer except the first, which reads the encoded rows
    std::vector<nn::attention_activation<S>> attention;
    shared_prefixes prefixes;           ///< LSTM: prefix tree of the piece
    std::vector<lstm_states<S>> states; ///< LSTM: by prefix length; in inference two alternating entries
    nn::buffer<S> h_before, c_before;   ///< (n, D) states before a step
    nn::buffer<S> d_h_before, d_c_before;
    std::vector<nn::buffer<S>> z;                    ///< (T, D) output of attention or LSTM, then of each residual block
    std::vector<nn::buffer<S>> hidden;               ///< (T, D) hidden activation of each residual block
    std::vector<std::vector<nn::buffer<S>>> decoded; ///< (T, width) output of each layer of each decoder
    nn::buffer<S> d_a, d_b, d_z, scratch;            ///< gradients of activations

    /// Exchanges the buffers that are not read after a piece is done, so that the next piece reuses memory that is in the cache.
    void swap_scratch(batch_piece& other) {
        if (&other == this) return;
        std::swap(d_a, other.d_a);
        std::swap(d_b, other.d_b);
        std::swap(d_z, other.d_z);
        std::swap(scratch, other.scratch);
        for (std::size_t a = 0; a < (std::min)(attention.size(), other.attention.size()); ++a) {
            if (a == 0) std::swap(attention[a].qkv, other.attention[a].qkv); // backward copies it from the table again
            std::swap(attention[a].d_context, other.attention[a].d_context);
            std::swap(attention[a].d_qkv, other.attention[a].d_qkv);
            std::swap(attention[a].scratch, other.attention[a].scratch);
            std::swap(attention[a].lanes, other.attention[a].lanes);
        }
    }
};

/// Weights packed for the matrix products of one training step.
template <nn::scalar S>
struct packed_model {
    using layers = std::vector<nn::packed_weights<S>>;
    layers encoder, in_proj, out_proj, blocks; ///< with an LSTM in_proj[0] is the LSTM's input map
    std::vector<layers> decoders;
    std::vector<std::pair<const nn::linear<S>*, nn::packed_weights<S>*>> all;

    template <bulk_executor Executor>
    void pack(const model<S>& net, Executor& executor);
};

/// Gradients by the distinct rows of one part of a batch; the accumulators are small enough to stay in the cache.
template <nn::scalar S>
struct row_sums {
    std::vector<std::uint32_t> rows;      ///< (n) row ids of the batch
    std::vector<std::uint32_t> local;     ///< by row id: index in `rows`
    nn::buffer<S> d_encoded, d_projected; ///< (n, D), (n, 3D)

    /// Sets zero gradients for the rows `ids` of a batch with `distinct` rows.
    void begin(std::span<const std::uint32_t> ids, std::size_t distinct, nn::index width) {
        constexpr std::uint32_t none = ~0U;
        local.assign(distinct, none);
        rows.clear();
        for (const std::uint32_t id : ids) {
            if (local[id] != none) continue;
            local[id] = static_cast<std::uint32_t>(rows.size());
            rows.push_back(id);
        }
        const auto n = static_cast<nn::index>(rows.size());
        d_encoded.shape(n, width).setZero();
        d_projected.shape(n, 3 * width).setZero();
    }
};

} // namespace detail

/// Forward and backward pass, with its scratch memory. Threads: one object per calling thread; the executor's threads share it safely.
template <nn::scalar S>
class forward_backward {
public:
    /// Schedules per piece: few, so that the activations of a piece fit in the cache; many with an LSTM, whose weight matrix does not fit.
    static constexpr std::size_t score_piece = 16;
    static constexpr std::size_t train_piece = 8;
    static constexpr std::size_t most_gradients = 16; ///< maximum number of concurrent parts of the backward pass, each with its own gradient
    static constexpr std::size_t lstm_piece = 256;
    static constexpr nn::index row_piece = 64;

    /// scores[n * outputs + k] <- score of schedule n by output k.   scores (N, outputs)
    ///
    /// pre: batch.order() is `kept` if the model has an LSTM
    /// @note allocates nothing after a batch of the same size; the score of a schedule does not depend on the batch (bit-identical for float)
    template <bulk_executor Executor>
    void forward(const model<S>& net, const deduplicated_batch& batch, Executor& executor, std::span<S> scores) {
        encode(net, batch, executor, false);
        const std::size_t size = net.lstm.empty() ? score_piece : lstm_piece;
        const std::size_t pieces = (batch.size() + size - 1) / size;
        const std::size_t workers = (std::min)(pieces, static_cast<std::size_t>(executor.concurrency()));
        if (pieces_.size() < workers) pieces_.resize(workers);
        std::atomic<std::size_t> next{0};
        executor.bulk(workers, [&](std::size_t w) {
            for (std::size_t p = next.fetch_add(1); p < pieces; p = next.fetch_add(1))
                run(net, batch, p * size, (std::min)(batch.size(), (p + 1) * size), pieces_[w], scores, false);
        });
    }

    /// `forward` that keeps the activations for `backward`.
    template <bulk_executor Executor>
    void forward_to_train(const model<S>& net, const deduplicated_batch& batch, Executor& executor, std::span<S> scores) {
        packed_.pack(net, executor);
        encode(net, batch, executor, true);
        const std::size_t size = net.lstm.empty() ? train_piece : lstm_piece;
        const std::size_t pieces = (batch.size() + size - 1) / size;
        if (pieces_.size() < pieces) pieces_.resize(pieces);
        for (auto& piece : pieces_) piece.attention.resize(net.attention.size());
        const std::size_t parts = (std::min)(pieces, most_gradients);
        executor.bulk(parts, [&](std::size_t g) {
            each_piece(g, parts, pieces,
                       [&](std::size_t p) { run(net, batch, p * size, (std::min)(batch.size(), (p + 1) * size), pieces_[p], scores, true); });
        });
    }

    /// grad <- dL/d(parameters), given dL/d(score) (N, outputs).   pre: the last call was forward_to_train with the same model and batch
    ///
    /// A score without a label has gradient 0 (`mtl_loss`); an output without labels in a piece is skipped for that piece.
    /// @param decoders_only  stops below the decoders: their gradients are the same bits, all others are 0
    template <bulk_executor Executor>
    void backward(const model<S>& net, const deduplicated_batch& batch, Executor& executor, std::span<const S> d_scores, model<S>& grad,
                  bool decoders_only = false);

private:
    template <bulk_executor Executor>
    void encode(const model<S>& net, const deduplicated_batch& batch, Executor& executor, bool keep);

    // process the schedules [first, last) of the batch; with an LSTM, of `sorted_`
    void run(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last, detail::batch_piece<S>& piece,
             std::span<S> scores, bool keep) const;
    void attend(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last, detail::batch_piece<S>& piece,
                bool keep) const;
    void run_lstm(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last, detail::batch_piece<S>& piece,
                  bool keep) const;
    void run_backward(const model<S>& net, const deduplicated_batch& batch, std::size_t first, std::size_t last, detail::batch_piece<S>& piece,
                      std::span<const S> d_scores, model<S>& grad, detail::row_sums<S>& sums, bool decoders_only) const;
    template <bulk_executor Executor>
    void encode_backward(const model<S>& net, const deduplicated_batch& batch, Executor& executor, std::size_t pieces, std::size_t parts);
    void attend_backward(const model<S>& net, const deduplicated_batch& batch, std::size_t first, detail::batch_piece<S>& piece, nn::buffer<S>* now,
                         nn::buffer<S>* next, model<S>& grad, detail::row_sums<S>& sums) const;
    void copy_projected(std::span<const std::uint32_t> ids, nn::buffer<S>& qkv) const;
    static void run_lstm_backward(const model<S>& net, detail::batch_piece<S>& piece, const nn::buffer<S>& d_last, model<S>& grad);
    static void load_previous_states(const detail::shared_prefixes::level& level, const detail::lstm_states<S>* from, nn::index width,
                                     detail::batch_piece<S>& piece);

    /// Calls f(p) for the pieces of part g in order; each piece takes over the scratch buffers of the one before.
    template <class F>
    void each_piece(std::size_t g, std::size_t parts, std::size_t pieces, const F& f) {
        const std::size_t first = pieces * g / parts, last = pieces * (g + 1) / parts;
        for (std::size_t p = first; p < last; ++p) {
            pieces_[p].swap_scratch(pieces_[p == first ? last - 1 : p - 1]);
            f(p);
        }
    }

    [[nodiscard]] std::size_t schedule(const model<S>& net, std::size_t n) const { return net.lstm.empty() ? n : sorted_[n]; }

    detail::packed_model<S> packed_;     ///< weights of the last `forward_to_train`
    nn::buffer<S> rows_;                 ///< (U, inputs) scaled features of the U distinct rows
    std::vector<nn::buffer<S>> encoded_; ///< (U, width) output of each encoder layer
    nn::buffer<S> projected_;            ///< (U, 3D) queries, keys, values, or (U, 4D) input part of the LSTM gates
    std::vector<std::uint32_t> sorted_;  ///< LSTM: schedules sorted by `shared_prefixes::sort`
    nn::buffer<S> d_encoded_, d_projected_;
    std::vector<nn::buffer<S>> d_layer_; ///< (U, width) gradient by the output of each encoder layer
    std::vector<detail::batch_piece<S>> pieces_;
    std::vector<model<S>> grads_; ///< one per part
    std::vector<detail::row_sums<S>> sums_;
};

} // namespace augur::inline v0::tlp

#include <augur/tlp/detail/forward_backward_impl.hpp>

#endif
