// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GPT2_HPP
#define AUGUR_TLM_GPT2_HPP

/// @file
/// GPT-2 (Radford et al. 2019): the causal language model of TLM (Zhai et al. 2024, section 5.1), of any depth and width, and its pass over sentences.

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
#include <augur/nn/kernels/exp.hpp>
#include <augur/nn/layers/dropout.hpp>
#include <augur/nn/layers/embedding.hpp>
#include <augur/nn/layers/init.hpp>
#include <augur/nn/layers/transformer.hpp>
#include <augur/nn/product.hpp>
#include <augur/nn/sum.hpp>
#include <augur/nn/types.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// Size of a GPT-2. The authors' model has 12 layers of width 768 with 12 heads; this default trains within an hour on two cores.
struct gpt2_config {
    nn::index words = 0;     ///< size of the vocabulary
    nn::index context = 512; ///< most tokens of a sentence, its prompt included
    nn::index layers = 4, width = 256, heads = 4, hidden = 1024;

    /// Errors: invalid_argument for a size below 1 or a width that the heads do not divide; limit for more than 2^31 parameters
    [[nodiscard]] result<void> check() const {
        const std::pair<const char*, nn::index> sizes[] = {{"words", words}, {"context", context}, {"layers", layers},
                                                           {"width", width}, {"heads", heads},     {"hidden", hidden}};
        for (const auto& [name, size] : sizes)
            if (size < 1 || size > nn::index{1} << 24U)
                return error{errc::invalid_argument, "gpt2: expected " + std::string(name) + " of 1 to 2^24, " + std::to_string(size) + " came"};
        if (width % heads != 0)
            return error{errc::invalid_argument, "gpt2: " + std::to_string(heads) + " heads do not divide a width of " + std::to_string(width)};
        if (parameters() > 2147483648.0) return error{errc::limit, "gpt2: more than 2^31 parameters"};
        return {};
    }
    /// A double, so that it cannot overflow.
    [[nodiscard]] double parameters() const {
        const auto of = [](nn::index n) { return static_cast<double>(n); };
        const double d = of(width), layer = 4 * d * d + 4 * d + 2 * d * of(hidden) + d + of(hidden) + 4 * d;
        return (of(words) + of(context)) * d + of(layers) * layer + 2 * d;
    }
    friend bool operator==(const gpt2_config&, const gpt2_config&) = default;
};

/// Parameters. A gradient is another `gpt2`. The output embedding is the input embedding (tied).
///
///     x = tokens[id] + places[t];  logits (T, V) = stack(x) tokens^T
template <nn::scalar S>
struct gpt2 {
    nn::embedding<S> tokens, places; ///< (V, D), (P, D)
    nn::transformer_stack<S> stack;  ///< GELU by tanh

    /// pre: c.check()
    [[nodiscard]] static gpt2 zeros(const gpt2_config& c) {
        return {nn::embedding<S>::zeros(c.words, c.width), nn::embedding<S>::zeros(c.context, c.width),
                nn::transformer_stack<S>::zeros(c.layers, c.width, c.heads, c.hidden)};
    }
    /// GPT-2's: weights normal with deviation 0.02, those that end a residual branch with 0.02 / sqrt(2 layers), biases 0.   pre: c.check()
    [[nodiscard]] static gpt2 random_init(const gpt2_config& c, random_engine rng) {
        gpt2 net = zeros(c);
        constexpr double deviation = 0.02;
        nn::init(net.tokens, rng, deviation);
        nn::init(net.places, rng, deviation);
        const double branch_end = deviation / std::sqrt(2 * static_cast<double>(c.layers));
        for (auto& l : net.stack.layers) {
            nn::fill_normal(l.attention.in_proj.W, deviation, rng);
            nn::fill_normal(l.attention.out_proj.W, branch_end, rng);
            nn::fill_normal(l.expand.W, deviation, rng);
            nn::fill_normal(l.contract.W, branch_end, rng);
            nn::init(l.norm_1, rng);
            nn::init(l.norm_2, rng);
        }
        nn::init(net.stack.last, rng);
        return net;
    }
    [[nodiscard]] gpt2_config config() const {
        return {tokens.W.rows(),
                places.W.rows(),
                static_cast<nn::index>(stack.layers.size()),
                tokens.W.cols(),
                stack.layers.front().attention.heads,
                stack.layers.front().expand.W.cols()};
    }

    /// Calls f(name, parameters...) with the names of a Hugging Face checkpoint. Weights have its (in, out) layout (Conv1D).
    template <class F, class... N>
    static void visit(F&& f, N&... nets) {
        f(std::string("wte.weight"), nets.tokens.W...);
        f(std::string("wpe.weight"), nets.places.W...);
        const std::size_t depth[] = {nets.stack.layers.size()...};
        for (std::size_t i = 0; i < depth[0]; ++i) {
            const std::string h = "h." + std::to_string(i) + ".";
            f(h + "ln_1.weight", nets.stack.layers[i].norm_1.gamma...);
            f(h + "ln_1.bias", nets.stack.layers[i].norm_1.beta...);
            f(h + "attn.c_attn.weight", nets.stack.layers[i].attention.in_proj.W...);
            f(h + "attn.c_attn.bias", nets.stack.layers[i].attention.in_proj.b...);
            f(h + "attn.c_proj.weight", nets.stack.layers[i].attention.out_proj.W...);
            f(h + "attn.c_proj.bias", nets.stack.layers[i].attention.out_proj.b...);
            f(h + "ln_2.weight", nets.stack.layers[i].norm_2.gamma...);
            f(h + "ln_2.bias", nets.stack.layers[i].norm_2.beta...);
            f(h + "mlp.c_fc.weight", nets.stack.layers[i].expand.W...);
            f(h + "mlp.c_fc.bias", nets.stack.layers[i].expand.b...);
            f(h + "mlp.c_proj.weight", nets.stack.layers[i].contract.W...);
            f(h + "mlp.c_proj.bias", nets.stack.layers[i].contract.b...);
        }
        f(std::string("ln_f.weight"), nets.stack.last.gamma...);
        f(std::string("ln_f.bias"), nets.stack.last.beta...);
    }
};

/// Some sentences on their way through the model and back. The sentences of one prompt share its rows.
///
/// begin; then for each group a `prompt` and its `sentence`s; forward; loss; backward. Reused, it stops allocating.
///
/// Threads  one thread per pass; the model is only read
template <nn::scalar S>
class gpt2_pass {
public:
    using index = nn::index;

    /// Forgets all sentences.
    void begin() {
        ids_.clear();
        places_.clear();
        begin_.assign(1, 0);
        prefix_.clear();
        targets_.clear();
        prompt_ = -1;
        prompt_row_ = -1;
        prompt_length_ = 0;
    }
    /// Begins a group: the sentences that follow stand behind these tokens, [CLS] first. Nothing is learned of the prompt itself.
    void prompt(std::span<const token> tokens) {
        prompt_length_ = static_cast<index>(tokens.size());
        prompt_ = tokens.empty() ? -1 : add_rows(tokens, 0, -1);
        prompt_row_ = begin_.back() - 1;
    }
    /// Adds the tokens behind the prompt; token i is learned if `learned[i]` is not 0, from all before it. Without a prompt nothing stands before the
    /// first token, so it is not learned.
    void sentence(std::span<const token> tokens, std::span<const std::uint8_t> learned) {
        AUGUR_ASSERT(tokens.size() == learned.size(), "gpt2_pass: shape");
        if (tokens.empty()) return;
        const index first = begin_.back();
        for (std::size_t i = 0; i < tokens.size(); ++i)
            if (learned[i] != 0 && (i > 0 || prompt_ >= 0)) targets_.push_back({i > 0 ? first + static_cast<index>(i) - 1 : prompt_row_, tokens[i]});
        add_rows(tokens.first(tokens.size() - 1), prompt_length_, prompt_); // the last token is told, and tells nothing
    }

    [[nodiscard]] index rows() const { return begin_.back(); }            ///< T
    [[nodiscard]] std::size_t targets() const { return targets_.size(); } ///< learned tokens

    /// In training dropout is where GPT-2 has it: on the sum of the embeddings (stream 0) and in the stack (stream 1). The rows of a prompt are
    /// computed once, so its sentences share what is dropped there.
    ///
    /// pre: tokens below the vocabulary, sentences with their prompts within the context
    void forward(const gpt2<S>& net, const nn::dropout& drop = {}) {
        drop_ = drop;
        const index t = rows(), d = net.tokens.W.cols();
        auto x = embedded_.shape(t, d);
        x.setZero();
        net.tokens.add(ids_, x);
        net.places.add(places_, x);
        drop.stream(0).apply(x);
        net.stack.forward(x, which(), kept_, top_.shape(t, d), drop.stream(1));
    }

    /// logits (T, V) <- of the token behind each row.
    void logits(const gpt2<S>& net, nn::out<S> to) const { nn::multiply_transposed<S>(top_.view(), net.tokens.W, to); }

    /// Sum over the learned tokens of share times the cross entropy, in nats. Adds the derivative of the embedding to `grad`, and keeps that of the
    /// layers for `backward`.
    double loss(const gpt2<S>& net, double share, gpt2<S>& grad) {
        const index n = static_cast<index>(targets_.size()), d = net.tokens.W.cols(), v = net.tokens.W.rows();
        auto d_top = d_top_.shape(rows(), d);
        d_top.setZero();
        if (n == 0) return 0;
        auto picked = picked_.shape(n, d), d_picked = d_picked_.shape(n, d), scores = scores_.shape(n, v);
        for (index i = 0; i < n; ++i) picked.row(i) = top_.view().row(targets_[static_cast<std::size_t>(i)].row);
        nn::multiply_transposed<S>(picked, net.tokens.W, scores); // (n,D)(D,V)
        double sum = 0;
        for (index i = 0; i < n; ++i)
            sum += cross_entropy(scores.data() + i * v, v, static_cast<index>(targets_[static_cast<std::size_t>(i)].id), share);
        nn::multiply<S>(scores, net.tokens.W, d_picked);            // (n,V)(V,D)
        nn::multiply_outer<S>(scores, picked, grad.tokens.W, true); // (V,n)(n,D)
        for (index i = 0; i < n; ++i) d_top.row(targets_[static_cast<std::size_t>(i)].row) += d_picked.row(i);
        return share * sum;
    }

    /// grad += dL/d(parameters); after `loss`.
    void backward(const gpt2<S>& net, gpt2<S>& grad) {
        auto dx = d_top_.view();
        net.stack.backward(embedded_.view(), which(), kept_, dx, dx, grad.stack);
        drop_.stream(0).apply(dx);
        nn::embedding<S>::backward(ids_, dx, grad.tokens);
        nn::embedding<S>::backward(places_, dx, grad.places);
    }

private:
    struct target {
        index row; ///< whose output tells it
        token id;
    };
    std::vector<token> ids_, places_; ///< (T) token and position of each row
    std::vector<index> begin_{0}, prefix_;
    std::vector<target> targets_;
    index prompt_ = -1, prompt_row_ = -1, prompt_length_ = 0;
    nn::transformer_stack_activation<S> kept_;
    nn::buffer<S> embedded_, top_, d_top_; ///< (T, D)
    nn::buffer<S> picked_, d_picked_, scores_;
    nn::dropout drop_; ///< of the forward pass

    [[nodiscard]] nn::sequences which() const { return {begin_, {}, true, prefix_}; }

    index add_rows(std::span<const token> tokens, index place, index prefix) {
        ids_.insert(ids_.end(), tokens.begin(), tokens.end());
        for (std::size_t i = 0; i < tokens.size(); ++i) places_.push_back(static_cast<token>(place + static_cast<index>(i)));
        begin_.push_back(begin_.back() + static_cast<index>(tokens.size()));
        prefix_.push_back(prefix);
        return static_cast<index>(prefix_.size()) - 1;
    }

    /// Cross entropy of a row of scores; the row becomes share times its derivative.
    static double cross_entropy(S* row, index n, index id, double share) {
        using std::exp;
        S most = row[0];
        for (index i = 1; i < n; ++i) most = row[i] > most ? row[i] : most;
        const S told = row[id] - most;
        for (index i = 0; i < n; ++i) row[i] -= most;
        if constexpr (std::same_as<S, float>) {
            nn::kernels::exp_nonpositive(row, n);
        } else {
            for (index i = 0; i < n; ++i) row[i] = exp(row[i]);
        }
        const S all = nn::sum_of_four<S>(n, [&](index i) { return row[i]; });
        const S scale = S(share) / all;
        for (index i = 0; i < n; ++i) row[i] *= scale;
        row[id] -= S(share);
        return std::log(static_cast<double>(all)) - static_cast<double>(told);
    }
};

} // namespace augur::inline v0::tlm

#endif
