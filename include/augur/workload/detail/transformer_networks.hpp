// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_WORKLOAD_DETAIL_TRANSFORMER_NETWORKS_HPP
#define AUGUR_WORKLOAD_DETAIL_TRANSFORMER_NETWORKS_HPP

/// @file
/// The graphs of transformers of width 768 with 12 heads of 64.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/workload/detail/network_builder.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/network_graph.hpp>

namespace augur::inline v0::detail {

/// Builds transformer layers on (tokens, width). The query, key and value projections are one matrix product, and the factor 1/8 of the attention scores is
/// folded into its weights.
class transformer_builder : public network_builder {
public:
    static constexpr std::int64_t width = 768, heads = 12, head = width / heads;

    /// @param past  tokens in a cache of keys and values, which are then inputs of the network
    explicit transformer_builder(std::int64_t tokens, std::int64_t past = 0) : tokens_(tokens), past_(past) {}

    std::size_t norm(std::string name, std::size_t x) {
        return call(std::move(name), kernel::make(kernel_kind::layer_norm, {{"m", tokens_}, {"n", width}}), {x});
    }
    std::size_t dense(std::string name, std::int64_t n, std::int64_t k, std::vector<fused_op> fused, std::vector<std::size_t> inputs) {
        return call(std::move(name), kernel::make(kernel_kind::dense, {{"m", tokens_}, {"n", n}, {"k", k}}, std::move(fused)), std::move(inputs));
    }

    /// Attention of `x` with the projection back to the width, to which `residual` is added.
    /// @param mask  what is added to the scores, of their shape; none: no mask
    std::size_t attention(const std::string& prefix, std::size_t x, std::size_t residual, std::vector<std::size_t> mask) {
        const auto context = past_ + tokens_;
        const auto qkv = dense(prefix + "qkv", 3 * width, width, {fused_op::bias}, {x});
        const auto part = [&](const char* name, std::int64_t number) { // (tokens, 3, heads, head) to (heads, tokens, head)
            return add(prefix + name, strided_copy{{heads, tokens_, head}, {head, 3 * width, 1}, number * width}, {qkv});
        };
        const auto cached = [&](const char* name, std::int64_t number) {
            const auto own = part(name, number);
            if (past_ == 0) return own;
            const auto before = input(prefix + "past_" + name, {heads, past_, head});
            return add(prefix + "all_" + name, concatenation{1}, {before, own});
        };
        const auto query = part("query", 0), key = cached("key", 1), value = cached("value", 2);
        std::vector<std::size_t> inputs{query, key};
        inputs.insert(inputs.end(), mask.begin(), mask.end());
        const auto scores = call(prefix + "scores",
                                 kernel::make(kernel_kind::batch_matmul, {{"b", heads}, {"m", tokens_}, {"n", context}, {"k", head}},
                                              mask.empty() ? std::vector<fused_op>{} : std::vector{fused_op::add}),
                                 std::move(inputs));
        const auto rows = add(prefix + "scores.rows", reshape{{heads * tokens_, context}}, {scores});
        const auto soft = call(prefix + "softmax", kernel::make(kernel_kind::softmax, {{"m", heads * tokens_}, {"n", context}}), {rows});
        const auto weights = add(prefix + "softmax.heads", reshape{{heads, tokens_, context}}, {soft});
        const auto mixed =
            call(prefix + "mix", kernel::make(kernel_kind::batch_matmul, {{"b", heads}, {"m", tokens_}, {"n", head}, {"k", context}, {"transb", 0}}),
                 {weights, value});
        const auto joined = add(prefix + "joined", strided_copy{{tokens_, heads, head}, {head, tokens_ * head, 1}, 0}, {mixed});
        const auto flat = add(prefix + "joined.flat", reshape{{tokens_, width}}, {joined});
        return dense(prefix + "out", width, width, {fused_op::bias, fused_op::add}, {flat, residual});
    }

    /// The two dense layers behind the attention; `residual` is added.
    std::size_t feed_forward(const std::string& prefix, std::size_t x, std::size_t residual) {
        const auto wide = dense(prefix + "up", 4 * width, width, {fused_op::bias, fused_op::gelu}, {x});
        return dense(prefix + "down", width, 4 * width, {fused_op::bias, fused_op::add}, {wide, residual});
    }

private:
    std::int64_t tokens_, past_;
};

/// Devlin et al., BERT-base: 12 layers and the pooler. There is no attention mask. The input is the sum of the embeddings, the outputs are the pooled first
/// token and the last layer.
inline result<network_graph> bert_base(std::string name, std::int64_t tokens) {
    transformer_builder b(tokens);
    constexpr auto width = transformer_builder::width;
    auto x = b.norm("embeddings.norm", b.input("embeddings", {tokens, width}));
    for (int layer = 0; layer < 12; ++layer) {
        const auto prefix = "layer." + std::to_string(layer) + ".";
        const auto attended = b.norm(prefix + "attention.norm", b.attention(prefix + "attention.", x, x, {}));
        x = b.norm(prefix + "norm", b.feed_forward(prefix, attended, attended));
    }
    const auto first = b.add("pooler.token", strided_copy{{1, width}, {width, 1}, 0}, {x});
    const auto pooled =
        b.call("pooler", kernel::make(kernel_kind::dense, {{"m", 1}, {"n", width}, {"k", width}}, {fused_op::bias, fused_op::tanh}), {first});
    return b.finish(std::move(name), {pooled, x});
}

/// Radford et al., GPT-2 (124 M): one of its 12 equal blocks, with `past` tokens in the cache of keys and values. Several tokens have a causal mask, an
/// input of the shape of the scores. GELU is the exact one, not the approximation by tanh.
inline result<network_graph> gpt2(std::string name, std::int64_t tokens, std::int64_t past) {
    transformer_builder b(tokens, past);
    const auto x = b.input("hidden", {tokens, transformer_builder::width});
    std::vector<std::size_t> mask;
    if (tokens > 1) mask.push_back(b.input("mask", {transformer_builder::heads, tokens, past + tokens}));
    const auto attended = b.attention("attention.", b.norm("norm1", x), x, mask);
    const auto out = b.feed_forward("", b.norm("norm2", attended), attended);
    return b.finish(std::move(name), {out});
}

} // namespace augur::inline v0::detail

#endif
