// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_WEIGHTS_FILE_HPP
#define AUGUR_TLM_WEIGHTS_FILE_HPP

/// @file
/// A language model as a folder that Hugging Face transformers read and write: `config.json`, `model.safetensors` and `tokenizer.json`.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/json.hpp>
#include <augur/core/json_writer.hpp>
#include <augur/core/printable.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/nn/safetensors.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/gpt2.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// A model and its language.
struct language_model {
    gpt2<float> net;
    vocabulary words;
    sentence_form form = sentence_form::compact;
};

/// The text of a `config.json` for a GPT-2.
[[nodiscard]] inline std::string config_json(const gpt2_config& c, sentence_form form) {
    std::string text;
    json_writer out(text);
    out.begin_object().key("model_type").value("gpt2").key("architectures").begin_array().value("GPT2LMHeadModel").end_array();
    out.key("vocab_size").value(c.words).key("n_positions").value(c.context).key("n_layer").value(c.layers).key("n_embd").value(c.width);
    out.key("n_head").value(c.heads).key("n_inner").value(c.hidden).key("activation_function").value("gelu_new");
    out.key("layer_norm_epsilon").value(1e-5).key("tie_word_embeddings").value(true);
    out.key("pad_token_id").value(vocabulary::padding).key("bos_token_id").value(vocabulary::begin).key("eos_token_id").value(vocabulary::end);
    out.key("augur_sentences").value(form == sentence_form::compact ? "compact" : "full").end_object();
    return text;
}

/// Reads a `config.json`; other members are passed over. Without `augur_sentences` the sentences are full; a hidden width that is missing is four widths.
/// Errors: parse, version_mismatch (no GPT-2, another activation or epsilon, word embeddings that are not tied, another scale of the attention),
/// invalid_argument (another size is missing), those of `gpt2_config::check`
[[nodiscard]] inline result<std::pair<gpt2_config, sentence_form>> read_config_json(std::string_view text) {
    gpt2_config c{0, 0, 0, 0, 0, 0};
    auto form = sentence_form::full;
    std::string type, activation = "gelu_new", sentences;
    double epsilon = 1e-5;
    bool tied = true, scaled = true, by_layer = false;
    json_reader in(text);
    const auto size = [&](nn::index& to) {
        std::int64_t n = 0;
        if (!in.read(n)) return false;
        to = static_cast<nn::index>(n);
        return true;
    };
    detail::read_members(in, [&](std::string_view key) {
        if (key == "model_type") return in.read(type);
        if (key == "activation_function") return in.read(activation);
        if (key == "layer_norm_epsilon") return in.read(epsilon);
        if (key == "tie_word_embeddings") return in.read(tied);
        if (key == "scale_attn_weights") return in.read(scaled);
        if (key == "scale_attn_by_inverse_layer_idx") return in.read(by_layer);
        if (key == "augur_sentences") return in.read(sentences);
        if (key == "vocab_size") return size(c.words);
        if (key == "n_positions") return size(c.context);
        if (key == "n_layer") return size(c.layers);
        if (key == "n_embd") return size(c.width);
        if (key == "n_head") return size(c.heads);
        if (key == "n_inner") return in.peek() == json_kind::null ? in.read_null() : size(c.hidden);
        return in.skip();
    });
    if (!in.finish()) return error{in.error().code, "config: " + in.error().detail};
    const auto other = [](std::string what) { return error{errc::version_mismatch, "config: " + std::move(what)}; };
    if (type != "gpt2") return other("expected the model_type gpt2, '" + printable(type) + "' came");
    if (activation != "gelu_new" && activation != "gelu_pytorch_tanh") return other("expected gelu_new, '" + printable(activation) + "' came");
    if (epsilon != 1e-5) return other("expected a layer_norm_epsilon of 1e-5, " + std::to_string(epsilon) + " came");
    if (!tied || !scaled || by_layer) return other("expected tied word embeddings and attention that is scaled by the width of a head alone");
    if (sentences == "compact") form = sentence_form::compact;
    else if (!sentences.empty() && sentences != "full") return other("expected full or compact sentences, '" + printable(sentences) + "' came");
    const std::pair<const char*, nn::index> sizes[] = {
        {"vocab_size", c.words}, {"n_positions", c.context}, {"n_layer", c.layers}, {"n_embd", c.width}, {"n_head", c.heads}};
    for (const auto& [name, n] : sizes)
        if (n == 0) return error{errc::invalid_argument, std::string("config: ") + name + " is missing, or 0"};
    if (c.hidden == 0 && c.width > 0 && c.width < (nn::index{1} << 24U)) c.hidden = 4 * c.width;
    if (auto fits = c.check(); !fits) return fits.error();
    return std::pair(c, form);
}

namespace detail {
inline constexpr std::string_view tokenizer_key = "augur_tokenizer"; ///< in the metadata of a weights file

[[nodiscard]] inline std::string tokenizer_hash(const vocabulary& words) { return std::to_string(fnv1a64(words.to_json())); }
} // namespace detail

/// The bytes of a weights file with the names of Hugging Face's GPT2LMHeadModel.
///
/// @param words  whose tokens the model knows: their hash becomes an entry of the metadata, which `load` compares; nullptr: no entry
[[nodiscard]] inline std::string to_safetensors(const gpt2<float>& net, const vocabulary* words = nullptr) {
    nn::safetensors_writer out;
    out.metadata("format", "pt");
    if (words != nullptr) out.metadata(detail::tokenizer_key, detail::tokenizer_hash(*words));
    gpt2<float>::visit(
        [&](const std::string& name, const auto& p) {
            const auto rows = static_cast<std::uint64_t>(p.rows()), cols = static_cast<std::uint64_t>(p.cols());
            const std::span values(p.data(), static_cast<std::size_t>(p.size()));
            if constexpr (std::remove_cvref_t<decltype(p)>::RowsAtCompileTime == 1) out.tensor("transformer." + name, std::array{cols}, values);
            else out.tensor("transformer." + name, std::array{rows, cols}, values);
        },
        net);
    return out.file();
}

/// Reads the parameters from the bytes of a weights file, with or without `transformer.` before their names. The tied output embedding and the masks of
/// old checkpoints are passed over.
/// Errors: those of `parse_safetensors` and `read_tensor`; shape_mismatch: the file is too small for the config, or has a tensor that no GPT-2 of the
/// config has
[[nodiscard]] inline result<gpt2<float>> gpt2_from_safetensors(std::string_view file, const gpt2_config& c,
                                                               const nn::safetensors_limits& limits = {}) {
    const auto header = nn::parse_safetensors(file, limits);
    if (!header) return header.error();
    const auto passed_over = [](std::string_view name) {
        return name == "lm_head.weight" || name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
    };
    for (const auto& t : header->tensors)
        if (t.type != "F32" && !passed_over(t.name))
            return error{errc::version_mismatch, "gpt2 weights: expected type F32, tensor '" + printable(t.name) + "' has " + std::string(t.type)};
    if (c.parameters() > static_cast<double>(file.size()) / 4)
        return error{errc::shape_mismatch, "gpt2 weights: the config needs more parameters than the file has bytes for"};
    const std::string prefix = header->find("transformer.wte.weight") != nullptr ? "transformer." : "";
    auto net = gpt2<float>::zeros(c);
    result<void> outcome;
    std::size_t read = 0;
    gpt2<float>::visit(
        [&](const std::string& name, auto& p) {
            if (!outcome) return;
            ++read;
            const auto rows = static_cast<std::uint64_t>(p.rows()), cols = static_cast<std::uint64_t>(p.cols());
            const std::span values(p.data(), static_cast<std::size_t>(p.size()));
            if constexpr (std::remove_cvref_t<decltype(p)>::RowsAtCompileTime == 1)
                outcome = nn::read_tensor(file, *header, prefix + name, std::array{cols}, values);
            else outcome = nn::read_tensor(file, *header, prefix + name, std::array{rows, cols}, values);
        },
        net);
    if (!outcome) return outcome.error();
    read +=
        static_cast<std::size_t>(std::count_if(header->tensors.begin(), header->tensors.end(), [&](const auto& t) { return passed_over(t.name); }));
    if (read != header->tensors.size())
        return error{errc::shape_mismatch, "gpt2 weights: " + std::to_string(header->tensors.size() - read) + " tensors that a model of " +
                                               std::to_string(c.layers) + " layers does not have"};
    return net;
}

/// Writes the three files; each is replaced atomically, the weights last. The weights have a hash of the tokenizer, so that `load` refuses the weights of
/// another save beside it.
/// Errors: io, not_found (the folder); invalid_argument: a parameter is not finite
[[nodiscard]] inline result<void> save(const language_model& m, const std::string& folder) {
    std::string bad;
    gpt2<float>::visit(
        [&](const std::string& name, const auto& p) {
            if (bad.empty() && !p.allFinite()) bad = name;
        },
        m.net);
    if (!bad.empty()) return error{errc::invalid_argument, folder + ": expected finite parameters, '" + bad + "' has a NaN or an infinity"};
    const std::pair<const char*, std::string> files[] = {{"/tokenizer.json", m.words.to_json()},
                                                         {"/config.json", config_json(m.net.config(), m.form)},
                                                         {"/model.safetensors", to_safetensors(m.net, &m.words)}};
    for (const auto& [name, text] : files)
        if (auto written = replace_file(folder + name, text); !written) return written;
    return {};
}

/// Reads the three files.
/// Errors: those of the files, each with its path; shape_mismatch: more tokens than the model has; version_mismatch: the weights have a hash of another
/// tokenizer
[[nodiscard]] inline result<language_model> load(const std::string& folder, const nn::safetensors_limits& limits = {}) {
    const auto in_file = [&](const char* name, const error& e) { return error{e.code, folder + name + ": " + e.detail}; };
    constexpr std::size_t most = std::size_t{1} << 28U;
    const auto config_text = read_whole_file(folder + "/config.json", most);
    if (!config_text) return config_text.error();
    const auto config = read_config_json(*config_text);
    if (!config) return in_file("/config.json", config.error());
    const auto tokenizer = read_whole_file(folder + "/tokenizer.json", most);
    if (!tokenizer) return tokenizer.error();
    auto words = vocabulary::from_json(*tokenizer);
    if (!words) return in_file("/tokenizer.json", words.error());
    if (words->size() > static_cast<std::size_t>(config->first.words))
        return error{errc::shape_mismatch,
                     folder + ": the tokenizer has " + std::to_string(words->size()) + " tokens, the model " + std::to_string(config->first.words)};
    const auto bytes = nn::load_bytes(folder + "/model.safetensors", limits);
    if (!bytes) return bytes.error();
    auto net = gpt2_from_safetensors(*bytes, config->first, limits);
    if (!net) return in_file("/model.safetensors", net.error());
    const auto header = nn::parse_safetensors(*bytes, limits);
    if (!header) return in_file("/model.safetensors", header.error());
    if (const auto* hash = header->find_metadata(detail::tokenizer_key); hash != nullptr && *hash != detail::tokenizer_hash(*words))
        return error{errc::version_mismatch, folder + ": the weights were saved with another tokenizer"};
    return language_model{*std::move(net), *std::move(words), config->second};
}

} // namespace augur::inline v0::tlm

#endif
