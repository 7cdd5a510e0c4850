// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_GPT2_SESSION_HPP
#define AUGUR_TLM_GENERATE_GPT2_SESSION_HPP

/// @file
/// GPT-2 for generation: packed weights, and a session that keeps keys and values, those of the prompt once for all sequences.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/nn/kernels/bf16.hpp>
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/exp.hpp>
#include <augur/nn/kernels/packed_linear.hpp>
#include <augur/nn/kernels/panel.hpp>
#include <augur/nn/layers/activation.hpp>
#include <augur/nn/layers/linear.hpp>
#include <augur/nn/sum.hpp>
#include <augur/nn/types.hpp>
#include <augur/tlm/gpt2.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

class gpt2_session;

/// Precision of the weights and of the rows that they are multiplied with, of keys and of values. Sums, layer norms, softmax, the sum of the layers and
/// the logits are float.
enum class precision : std::uint8_t {
    single, ///< float
    bf16    ///< bfloat16 (8-bit significand): faster with AMX, or with AVX512_BF16 on CPUs other than Intel's; on other CPUs `single` is used
};

/// Options of `frozen_gpt2`.
struct freeze_options {
    tlm::precision precision = tlm::precision::single;
    nn::kernels::isa level = nn::kernels::best_isa(); ///< for tests: a lower instruction set for the products with weights
    bool amx = true;                                  ///< for tests: false disables AMX
    bool portable_bf16 = false;                       ///< for tests: bf16 also without fast hardware support
};

/// A GPT-2 with packed weights. Its logits are those of `gpt2_pass`, up to rounding.
///
/// Cost     the memory of the parameters, and once more that of the packed weights, in bf16 half of it
/// Threads  const calls are thread-safe. With an executor its sessions spread their sequences over that, one session at a time; logits do not depend on
///          the number of threads
class frozen_gpt2 {
public:
    explicit frozen_gpt2(gpt2<float> net, const freeze_options& options = {}) : net_(std::move(net)), level_(options.level) {
        if (options.precision == tlm::precision::bf16) half_ = nn::kernels::fast_bf16_panels(options.level, options.amx, options.portable_bf16);
        layers_.reserve(net_.stack.layers.size());
        for (const auto& l : net_.stack.layers)
            layers_.push_back({packed(l.attention.in_proj), packed(l.attention.out_proj), packed(l.expand), packed(l.contract)});
        const auto& W = net_.tokens.W;
        logits_ = packed(W.cols(), W.rows(), {W.data(), 1, W.outerStride()}, nullptr);
    }
    /// pre: the executor outlives the sessions; no session is used within work of that executor
    template <bulk_executor E>
    frozen_gpt2(gpt2<float> net, E& threads, const freeze_options& options = {}) : frozen_gpt2(std::move(net), options) {
        threads_ = threads.concurrency();
        if (threads_ > 1) bulk_ = [&threads](std::size_t n, const std::function<void(std::size_t)>& f) { threads.bulk(n, f); };
    }
    [[nodiscard]] std::size_t words() const noexcept { return static_cast<std::size_t>(net_.tokens.W.rows()); }
    [[nodiscard]] std::size_t context() const noexcept { return static_cast<std::size_t>(net_.places.W.rows()); }
    [[nodiscard]] const gpt2<float>& net() const noexcept { return net_; }
    /// Precision in use: `single` if bf16 was requested but is not faster on this CPU.
    [[nodiscard]] tlm::precision precision() const noexcept { return half_ ? tlm::precision::bf16 : tlm::precision::single; }
    /// Errors: invalid_argument: no token, or one beyond the vocabulary; limit: longer than the context. The model must outlive the session.
    [[nodiscard]] result<gpt2_session> open(std::span<const token> prompt) const;

private:
    friend class gpt2_session;
    struct packed_layer {
        nn::kernels::packed_linear qkv, out, expand, contract;
    };
    gpt2<float> net_;
    nn::kernels::isa level_;
    std::optional<nn::kernels::panel_kernels<nn::kernels::bf16>> half_; ///< kernels in bf16, none in float
    std::vector<packed_layer> layers_;
    nn::kernels::packed_linear logits_;
    std::size_t threads_ = 1;
    std::function<void(std::size_t, const std::function<void(std::size_t)>&)> bulk_; ///< of the executor; empty: on the calling thread

    [[nodiscard]] nn::kernels::packed_linear packed(nn::index k, nn::index n, const nn::kernels::operand& W, const float* b) const {
        return {k, n, W, b, half_, level_};
    }
    [[nodiscard]] nn::kernels::packed_linear packed(const nn::linear<float>& l) const {
        return packed(l.W.rows(), l.W.cols(), {l.W.data(), l.W.outerStride(), 1}, l.b.data());
    }
};

/// Sequences of a `frozen_gpt2` (`next_token_session`). What was appended goes through the model in one step when logits are asked for.
///
/// Cost     keys and values: 8 D bytes per layer and token, in bf16 4 D, of each sequence and once of the prompt
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
        b.length = a.length;
        reserve(b, a.length);
        copy(a.single, b.single, a.length);
        copy(a.half, b.half, a.length);
    }
    void append(std::size_t i, std::span<const token> tokens) { held_[i].pending.insert(held_[i].pending.end(), tokens.begin(), tokens.end()); }

    /// Errors  limit: a sequence is longer than the context; invalid_argument: a token beyond the vocabulary
    [[nodiscard]] result<void> logits(std::span<const std::size_t> which, std::span<float> out) {
        const auto words = model_->words();
        AUGUR_ASSERT(out.size() == which.size() * words, "gpt2_session: shape");
        std::size_t work = 0; // rows to compute, and one a sequence for its logits
        for (const auto s : which) {
            auto& h = held_[s];
            const index length = prompt_ + h.length + static_cast<index>(h.pending.size());
            if (static_cast<std::size_t>(length) > model_->context())
                return error{errc::limit,
                             "gpt2: a sequence of " + std::to_string(length) + " tokens, the context is " + std::to_string(model_->context())};
            for (const auto t : h.pending)
                if (t >= words) return error{errc::invalid_argument, "gpt2: token " + std::to_string(t) + " of " + std::to_string(words)};
            reserve(h, length - prompt_);
            work += h.pending.size() + 1;
        }
        constexpr std::size_t least_work = 16; // of a thread: about what pays for reading all weights once more
        const auto parts = std::clamp<std::size_t>(work / least_work, 1, model_->threads_);
        parts_.resize((std::max)(parts_.size(), parts));
        if (parts == 1) {
            compute(parts_[0], which, out);
            return {};
        }
        std::vector<std::size_t> begins{0};
        for (std::size_t i = 0, done = 0; i < which.size(); ++i) {
            if (done * parts >= begins.size() * work) begins.push_back(i);
            done += held_[which[i]].pending.size() + 1;
        }
        begins.push_back(which.size());
        model_->bulk_(begins.size() - 1, [&](std::size_t p) {
            const auto first = begins[p], count = begins[p + 1] - first;
            compute(parts_[p], which.subspan(first, count), out.subspan(first * words, count * words));
        });
        return {};
    }

private:
    friend class frozen_gpt2;
    using index = nn::index;
    using bf16 = nn::kernels::bf16;
    static constexpr index block = nn::kernels::column_block;
    static constexpr index rows_at_once = 64; ///< in attention; their scores for a few hundred keys stay in the second cache
    template <class T>
    struct cache {
        std::vector<T> keys;   ///< (blocks, D, 16)
        std::vector<T> values; ///< (blocks, H, 16, D / H)
    };
    struct sequence {
        std::vector<token> pending;
        index length = 0;                 ///< tokens behind the prompt that are in the cache
        std::vector<cache<float>> single; ///< of each layer; exactly one of single and half is used
        std::vector<cache<bf16>> half;
        std::vector<float> last; ///< (D) output of the last layer for the last token
        template <class T>
        [[nodiscard]] auto& caches() {
            if constexpr (std::is_same_v<T, float>) return single;
            else return half;
        }
    };
    struct row_at {
        std::size_t sequence;
        index at; ///< its position behind the prompt
    };
    /// What a thread needs for its sequences.
    struct part {
        std::vector<row_at> rows;
        nn::buffer<float> x, normalised, normal, deviation, qkv, context, wide, scores;
        nn::kernels::packed_linear::scratch scratch;
    };
    const frozen_gpt2* model_;
    index width_, heads_, prompt_ = 0;                                    ///< tokens of the prompt
    sequence before_;                                                     ///< the prompt, without its caches
    std::vector<nn::kernels::packed_linear> prompt_keys_, prompt_values_; ///< per layer and head: (D / H, prompt), (prompt, D / H)
    std::vector<sequence> held_;
    std::vector<part> parts_;

    explicit gpt2_session(const frozen_gpt2& model)
        : model_(&model), width_(model.net_.tokens.W.cols()), heads_(model.net_.stack.layers.front().attention.heads) {}

    /// Room for `length` tokens in the caches.
    void reserve(sequence& s, index length) const {
        if (model_->half_) reserve(s.half, length);
        else reserve(s.single, length);
    }
    template <class T>
    void reserve(std::vector<cache<T>>& caches, index length) const {
        const auto size = static_cast<std::size_t>(nn::kernels::whole_blocks(length, block) * width_);
        caches.resize(model_->layers_.size());
        for (auto& c : caches) {
            if (c.keys.size() >= size) continue;
            c.keys.resize(size);
            c.values.resize(size + nn::kernels::row_product_slack);
        }
    }

    template <class T>
    void copy(const std::vector<cache<T>>& from, std::vector<cache<T>>& to, index length) const {
        if (length == 0) return;
        for (std::size_t l = 0; l < from.size(); ++l) {
            std::copy_n(from[l].keys.data(), nn::kernels::whole_blocks(length, block) * width_, to[l].keys.data());
            std::copy_n(from[l].values.data(), nn::kernels::whole_blocks(length, block) * width_, to[l].values.data());
        }
    }

    /// Takes some sequences to the logits behind their last tokens. out (which, words)
    void compute(part& p, std::span<const std::size_t> which, std::span<float> out) {
        p.rows.clear();
        for (const auto s : which) {
            const auto& h = held_[s];
            for (index i = 0; i < static_cast<index>(h.pending.size()); ++i) p.rows.push_back({s, h.length + i});
        }
        auto x = p.x.shape(static_cast<index>(p.rows.size()), width_);
        for (std::size_t i = 0; i < p.rows.size(); ++i) {
            const auto& h = held_[p.rows[i].sequence];
            x.row(static_cast<index>(i)) =
                model_->net_.tokens.W.row(static_cast<index>(h.pending[static_cast<std::size_t>(p.rows[i].at - h.length)])) +
                model_->net_.places.W.row(prompt_ + p.rows[i].at);
        }
        if (!p.rows.empty()) run(p);
        const float* row = x.data();
        for (const auto s : which) {
            auto& h = held_[s];
            const auto count = static_cast<index>(h.pending.size());
            row += count * width_;
            if (count > 0) h.last.assign(row - width_, row);
            else if (h.length == 0) h.last = before_.last;
            h.length += count;
            h.pending.clear();
        }
        const auto n = static_cast<index>(which.size());
        auto top = p.normalised.shape(n, width_);
        for (index i = 0; i < n; ++i) std::copy_n(held_[which[static_cast<std::size_t>(i)]].last.data(), width_, top.data() + i * width_);
        p.normal.shape(n, width_);
        p.deviation.shape(n, 1);
        model_->net_.stack.last.forward(top, p.normal.view(), p.deviation.view(), top);
        model_->logits_.forward(n, top.data(), width_, out.data(), static_cast<index>(model_->words()), p.scratch);
    }

    /// x (T, D) through all layers; the keys and values of the rows go to the caches.
    void run(part& p) {
        auto x = p.x.view();
        const index t = x.rows();
        auto normalised = p.normalised.shape(t, width_), qkv = p.qkv.shape(t, 3 * width_), context = p.context.shape(t, width_);
        p.normal.shape(t, width_);
        p.deviation.shape(t, 1);
        for (std::size_t l = 0; l < model_->layers_.size(); ++l) {
            const auto& layer = model_->net_.stack.layers[l];
            const auto& packed = model_->layers_[l];
            layer.norm_1.forward(x, p.normal.view(), p.deviation.view(), normalised);
            forward(p, packed.qkv, normalised, qkv);
            attend(p, l, qkv, context);
            forward(p, packed.out, context, normalised);
            x += normalised;
            layer.norm_2.forward(x, p.normal.view(), p.deviation.view(), normalised);
            auto wide = p.wide.shape(t, layer.expand.W.cols());
            forward(p, packed.expand, normalised, wide);
            nn::activate<nn::gelu_tanh<float>, float>(wide, wide);
            forward(p, packed.contract, wide, normalised);
            x += normalised;
        }
    }
    static void forward(part& p, const nn::kernels::packed_linear& map, nn::map<float> x, nn::map<float> y) {
        map.forward(x.rows(), x.data(), x.cols(), y.data(), y.cols(), p.scratch);
    }
    /// x (D) in T; valid until the next call.
    template <class T>
    const T* as(part& p, const float* x) const {
        if constexpr (std::is_same_v<T, float>) {
            return x;
        } else {
            bf16* const to = p.scratch.rows.reserve(static_cast<std::size_t>(width_));
            nn::kernels::to_bf16(x, to, width_);
            return to;
        }
    }

    /// context (T, D) <- attention of the queries to the prompt, to the tokens of their sequences and to themselves, whose keys and values go to the
    /// caches. qkv (T, 3 D)
    void attend(part& p, std::size_t l, nn::map<float> qkv, nn::map<float> context) {
        for (index first = 0; first < qkv.rows(); first += rows_at_once) {
            const auto count = (std::min)(rows_at_once, qkv.rows() - first);
            const auto rows = std::span<const row_at>(p.rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
            const float* const from = qkv.data() + first * qkv.cols();
            float* const to = context.data() + first * width_;
            if (model_->half_) attend<bf16>(p, l, rows, from, to);
            else attend<float>(p, l, rows, from, to);
        }
    }
    template <class T>
    void attend(part& p, std::size_t l, std::span<const row_at> rows, const float* qkv, float* context) {
        const index head = width_ / heads_, t = static_cast<index>(rows.size());
        const float scale = 1 / std::sqrt(static_cast<float>(head));
        index longest = 0;
        for (const auto& r : rows) longest = (std::max)(longest, r.at + 1);
        const index keys_row = prompt_ + nn::kernels::whole_blocks(longest, block);
        float* const scores = p.scores.shape(heads_ * t, keys_row).data(); // (H, T, keys)
        const auto of_prompt = [&](index h) { return l * static_cast<std::size_t>(heads_) + static_cast<std::size_t>(h); };
        for (index h = 0; h < heads_ && prompt_ > 0; ++h)
            prompt_keys_[of_prompt(h)].forward(t, qkv + h * head, 3 * width_, scores + h * t * keys_row, keys_row, p.scratch);
        // the caches are larger than the processor's: their blocks are read one after the other, for all heads
        for (index i = 0; i < t; ++i) {
            const auto& r = rows[static_cast<std::size_t>(i)];
            const float* const query = qkv + i * 3 * width_;
            T* keys = held_[r.sequence].template caches<T>()[l].keys.data();
            const T* const own = as<T>(p, query + width_);
            for (index d = 0; d < width_; ++d) keys[(r.at / block * width_ + d) * block + r.at % block] = own[d];
            for (index at = 0; at <= r.at; at += block)
                for (index h = 0; h < heads_; ++h, keys += head * block)
                    nn::kernels::column_block_product(query + h * head, head, keys, scores + (h * t + i) * keys_row + prompt_ + at);
            for (index h = 0; h < heads_; ++h) softmax(scores + (h * t + i) * keys_row, prompt_ + r.at + 1, scale);
        }
        for (index h = 0; h < heads_ && prompt_ > 0; ++h)
            prompt_values_[of_prompt(h)].forward(t, scores + h * t * keys_row, keys_row, context + h * head, width_, p.scratch);
        for (index i = 0; i < t; ++i) {
            const auto& r = rows[static_cast<std::size_t>(i)];
            T* values = held_[r.sequence].template caches<T>()[l].values.data();
            const T* const own = as<T>(p, qkv + i * 3 * width_ + 2 * width_);
            for (index h = 0; h < heads_; ++h)
                std::copy_n(own + h * head, head, values + ((r.at / block * heads_ + h) * block + r.at % block) * head);
            for (index at = 0; at <= r.at; at += block)
                for (index h = 0; h < heads_; ++h, values += head * block)
                    nn::kernels::row_product(scores + (h * t + i) * keys_row + prompt_ + at, (std::min)(block, r.at + 1 - at), values, head, head,
                                             context + i * width_ + h * head, prompt_ + at > 0);
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
        if (model_->half_) pack_prompt(before_.half);
        else pack_prompt(before_.single);
        before_.half.clear();
        before_.single.clear();
    }
    template <class T>
    void pack_prompt(const std::vector<cache<T>>& caches) {
        const index head = width_ / heads_;
        nn::matrix<float> keys(width_, prompt_), values(prompt_, width_);
        for (const auto& c : caches) {
            for (index t = 0; t < prompt_; ++t)
                for (index d = 0; d < width_; ++d) {
                    keys(d, t) = nn::kernels::to_float(c.keys[static_cast<std::size_t>((t / block * width_ + d) * block + t % block)]);
                    values(t, d) = nn::kernels::to_float(
                        c.values[static_cast<std::size_t>(((t / block * heads_ + d / head) * block + t % block) * head + d % head)]);
                }
            for (index h = 0; h < heads_; ++h) {
                prompt_keys_.push_back(model_->packed(head, prompt_, {keys.data() + h * head * prompt_, prompt_, 1}, nullptr));
                prompt_values_.push_back(model_->packed(prompt_, head, {values.data() + h * head, width_, 1}, nullptr));
            }
        }
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
