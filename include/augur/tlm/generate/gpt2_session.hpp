// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_GPT2_SESSION_HPP
#define AUGUR_TLM_GENERATE_GPT2_SESSION_HPP

/// @file
/// GPT-2 for generation: packed weights, and a session that keeps keys and values, those of the prompt once for all sequences.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/exp.hpp>
#include <augur/nn/kernels/gemm.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/sum.hpp>
#include <augur/nn/types.hpp>
#include <augur/tlm/gpt2.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

class gpt2_session;

/// A GPT-2 with packed weights. Its logits are those of `gpt2_pass`, up to rounding.
///
/// Cost     twice the memory of the parameters
/// Threads  const calls are thread-safe
class frozen_gpt2 {
public:
    explicit frozen_gpt2(gpt2<float> net) : net_(std::move(net)), layers_(net_.stack.layers.size()) {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const auto& l = net_.stack.layers[i];
            layers_[i].qkv.pack(l.attention.in_proj);
            layers_[i].out.pack(l.attention.out_proj);
            layers_[i].expand.pack(l.expand);
            layers_[i].contract.pack(l.contract);
        }
        const auto& W = net_.tokens.W;
        logits_.pack(W.cols(), W.rows(), {W.data(), 1, W.outerStride()});
    }
    [[nodiscard]] std::size_t words() const noexcept { return static_cast<std::size_t>(net_.tokens.W.rows()); }
    [[nodiscard]] std::size_t context() const noexcept { return static_cast<std::size_t>(net_.places.W.rows()); }
    [[nodiscard]] const gpt2<float>& net() const noexcept { return net_; }
    /// Errors: invalid_argument: no token, or one beyond the vocabulary; limit: longer than the context. The model must outlive the session.
    [[nodiscard]] result<gpt2_session> open(std::span<const token> prompt) const;

private:
    friend class gpt2_session;
    struct packed_layer {
        nn::packed_weights<float> qkv, out, expand, contract;
    };
    gpt2<float> net_;
    std::vector<packed_layer> layers_;
    nn::kernels::packed_operand logits_;
};

/// Sequences of a `frozen_gpt2` (`next_token_session`). What was appended goes through the model in one step when logits are asked for.
///
/// Cost     keys and values: 8 D bytes per layer and token, of each sequence and once of the prompt
class gpt2_session {
public:
    void sequences(std::size_t n) {
        held_.resize(n);
        for (auto& h : held_) {
            h.pending.clear();
            h.length = 0;
        }
    }
    void copy(std::size_t from, std::size_t to) {
        const auto& a = held_[from];
        auto& b = held_[to];
        b.pending = a.pending;
        b.last = a.last;
        b.length = 0; // what it holds is not kept
        reserve(b, a.length);
        b.length = a.length;
        for (std::size_t l = 0; l < model_->layers_.size() && a.length > 0; ++l) {
            for (index d = 0; d < width_; ++d) std::copy_n(a.keys[l].data() + d * a.capacity, a.length, b.keys[l].data() + d * b.capacity);
            std::copy_n(a.values[l].data(), a.length * width_, b.values[l].data());
        }
    }
    void append(std::size_t i, std::span<const token> tokens) { held_[i].pending.insert(held_[i].pending.end(), tokens.begin(), tokens.end()); }

    /// Errors  limit: a sequence is longer than the context; invalid_argument: a token beyond the vocabulary
    [[nodiscard]] result<void> logits(std::span<const std::size_t> which, std::span<float> out) {
        const auto words = static_cast<index>(model_->words());
        AUGUR_ASSERT(out.size() == which.size() * model_->words(), "gpt2_session: shape");
        rows_.clear();
        for (const auto s : which) {
            auto& h = held_[s];
            if (static_cast<std::size_t>(prompt_ + h.length) + h.pending.size() > model_->context())
                return error{errc::limit, "gpt2: a sequence of " + std::to_string(static_cast<std::size_t>(prompt_ + h.length) + h.pending.size()) +
                                              " tokens, the context is " + std::to_string(model_->context())};
            for (const auto t : h.pending)
                if (t >= model_->words()) return error{errc::invalid_argument, "gpt2: token " + std::to_string(t) + " of " + std::to_string(words)};
            reserve(h, h.length + static_cast<index>(h.pending.size()));
            rows_.push_back(
                {s, static_cast<index>(rows_.empty() ? 0 : rows_.back().first + rows_.back().count), static_cast<index>(h.pending.size())});
        }
        const index t = rows_.empty() ? 0 : rows_.back().first + rows_.back().count;
        auto x = x_.shape(t, width_);
        for (const auto& r : rows_) {
            const auto& h = held_[r.sequence];
            for (index i = 0; i < r.count; ++i)
                x.row(r.first + i) = model_->net_.tokens.W.row(static_cast<index>(h.pending[static_cast<std::size_t>(i)])) +
                                     model_->net_.places.W.row(prompt_ + h.length + i);
        }
        if (t > 0) run(t);
        for (auto& r : rows_) {
            auto& h = held_[r.sequence];
            if (r.count > 0) {
                h.last.resize(static_cast<std::size_t>(width_));
                std::copy_n(x.data() + (r.first + r.count - 1) * width_, width_, h.last.data());
            } else if (h.length == 0) {
                h.last = before_.last;
            }
            h.length += r.count;
            h.pending.clear();
        }
        const auto n = static_cast<index>(which.size());
        auto top = normalised_.shape(n, width_);
        for (index i = 0; i < n; ++i) std::copy_n(held_[which[static_cast<std::size_t>(i)]].last.data(), width_, top.data() + i * width_);
        normal_.shape(n, width_);
        deviation_.shape(n, 1);
        model_->net_.stack.last.forward(top, normal_.view(), deviation_.view(), top);
        model_->logits_.gemm(n, {top.data(), width_, 1}, out.data(), words);
        return {};
    }

private:
    friend class frozen_gpt2;
    using index = nn::index;
    struct sequence {
        std::vector<token> pending;
        index length = 0;                             ///< tokens behind the prompt that are in the cache
        index capacity = 0;                           ///< tokens that the caches have room for
        std::vector<std::vector<float>> keys, values; ///< per layer: (D, capacity), as products read them, and (capacity, D)
        std::vector<float> last;                      ///< (D) output of the last layer for the last token
    };
    struct row_range {
        std::size_t sequence;
        index first, count;
    };
    const frozen_gpt2* model_;
    index width_, heads_, prompt_ = 0;                                     ///< tokens of the prompt
    sequence before_;                                                      ///< the prompt, without its caches
    std::vector<nn::kernels::packed_operand> prompt_keys_, prompt_values_; ///< per layer and head: (D / H, prompt), (prompt, D / H)
    std::vector<sequence> held_;
    std::vector<row_range> rows_;
    nn::buffer<float> x_, normalised_, normal_, deviation_, qkv_, context_, wide_, scores_;

    explicit gpt2_session(const frozen_gpt2& model)
        : model_(&model), width_(model.net_.tokens.W.cols()), heads_(model.net_.stack.layers.front().attention.heads) {}

    void reserve(sequence& s, index length) const {
        if (length <= s.capacity) return;
        const index capacity = (std::max)(length, s.capacity == 0 ? index{32} : 2 * s.capacity);
        s.keys.resize(model_->layers_.size());
        s.values.resize(model_->layers_.size());
        for (std::size_t l = 0; l < s.keys.size(); ++l) {
            std::vector<float> keys(static_cast<std::size_t>(width_ * capacity + nn::kernels::row_product_slack));
            for (index d = 0; d < width_ && s.length > 0; ++d) std::copy_n(s.keys[l].data() + d * s.capacity, s.length, keys.data() + d * capacity);
            const auto keys_size = keys.size();
            s.keys[l] = std::move(keys);
            s.values[l].resize(keys_size);
        }
        s.capacity = capacity;
    }

    /// x (T, D) through all layers; the keys and values of the rows go to the caches.
    void run(index t) {
        auto x = x_.view();
        auto normalised = normalised_.shape(t, width_), qkv = qkv_.shape(t, 3 * width_), context = context_.shape(t, width_);
        normal_.shape(t, width_);
        deviation_.shape(t, 1);
        for (std::size_t l = 0; l < model_->layers_.size(); ++l) {
            const auto& layer = model_->net_.stack.layers[l];
            const auto& packed = model_->layers_[l];
            layer.norm_1.forward(x, normal_.view(), deviation_.view(), normalised);
            layer.attention.in_proj.forward(normalised, qkv, &packed.qkv);
            attend(l, qkv, context);
            layer.attention.out_proj.forward(context, normalised, &packed.out);
            x += normalised;
            layer.norm_2.forward(x, normal_.view(), deviation_.view(), normalised);
            auto wide = wide_.shape(t, layer.expand.W.cols());
            layer.expand.forward(normalised, wide, &packed.expand);
            nn::activate<nn::gelu_tanh<float>, float>(wide, wide);
            layer.contract.forward(wide, normalised, &packed.contract);
            x += normalised;
        }
    }

    void attend(std::size_t l, nn::map<float> qkv, nn::map<float> context) {
        const index head = width_ / heads_;
        const float scale = 1 / std::sqrt(static_cast<float>(head));
        index longest = 0;
        for (const auto& r : rows_) {
            auto& s = held_[r.sequence];
            longest = (std::max)(longest, s.length + r.count);
            for (index i = 0; i < r.count; ++i) {
                const float* const row = qkv.data() + (r.first + i) * 3 * width_;
                float* const column = s.keys[l].data() + s.length + i;
                for (index d = 0; d < width_; ++d) column[d * s.capacity] = row[width_ + d];
                std::copy_n(row + 2 * width_, width_, s.values[l].data() + (s.length + i) * width_);
            }
        }
        const index t = qkv.rows();
        auto scores = scores_.shape(t, prompt_ + longest);
        for (index h = 0; h < heads_; ++h) {
            const auto of_prompt = l * static_cast<std::size_t>(heads_) + static_cast<std::size_t>(h);
            const nn::kernels::operand queries{qkv.data() + h * head, qkv.outerStride(), 1};
            if (prompt_ > 0) prompt_keys_[of_prompt].gemm(t, queries, scores.data(), scores.cols()); // of all sequences at once
            for (const auto& r : rows_) {
                const auto& s = held_[r.sequence];
                const float* const keys = s.keys.empty() ? nullptr : s.keys[l].data() + h * head * s.capacity;
                for (index i = 0; i < r.count; ++i) {
                    float* const row = scores.data() + (r.first + i) * scores.cols();
                    const index n = s.length + i + 1;
                    nn::kernels::row_product(qkv.row(r.first + i).data() + h * head, head, keys, s.capacity, n, row + prompt_, false);
                    softmax(row, prompt_ + n, scale);
                }
            }
            if (prompt_ > 0) prompt_values_[of_prompt].gemm(t, {scores.data(), scores.cols(), 1}, context.data() + h * head, context.outerStride());
            for (const auto& r : rows_) {
                const auto& s = held_[r.sequence];
                for (index i = 0; i < r.count; ++i)
                    nn::kernels::row_product(scores.data() + (r.first + i) * scores.cols() + prompt_, s.length + i + 1, s.values[l].data() + h * head,
                                             width_, head, context.data() + (r.first + i) * width_ + h * head, prompt_ > 0);
            }
        }
    }

    /// row[0, n) <- softmax of scale * row.
    static void softmax(float* row, index n, float scale) {
        nn::kernels::softmax_shift(scale, row, n);
        nn::kernels::exp_nonpositive(row, n);
        nn::kernels::scale(1 / nn::sum_of_four<float>(n, [&](index i) { return row[i]; }), row, n);
    }

    /// The only sequence becomes the prompt.
    void begin_behind() {
        before_ = std::move(held_[0]);
        held_.clear();
        prompt_ = before_.length;
        const index head = width_ / heads_;
        for (std::size_t l = 0; l < model_->layers_.size(); ++l)
            for (index h = 0; h < heads_; ++h) {
                prompt_keys_.emplace_back().pack(head, prompt_, {before_.keys[l].data() + h * head * before_.capacity, before_.capacity, 1});
                prompt_values_.emplace_back().pack(prompt_, head, {before_.values[l].data() + h * head, width_, 1});
            }
        before_.keys.clear();
        before_.values.clear();
    }
};

inline result<gpt2_session> frozen_gpt2::open(std::span<const token> prompt) const {
    if (prompt.empty()) return error{errc::invalid_argument, "gpt2: a prompt of no token"};
    gpt2_session s(*this);
    s.sequences(1); // the prompt is computed as a sequence, and then stands before all
    s.append(0, prompt);
    std::vector<float> ignored(words());
    const std::size_t first = 0;
    if (auto computed = s.logits(std::span(&first, 1), ignored); !computed) return computed.error();
    s.begin_behind();
    return s;
}

} // namespace augur::inline v0::tlm

#endif
