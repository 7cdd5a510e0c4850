// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The readers of a tokenizer.json and of a config.json on inputs that libFuzzer makes; tests/io/fuzz.sh builds and runs it. The first byte chooses the reader,
// the rest is the text. What is read comes back the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "read_back.hpp"

namespace {

constexpr std::string_view seeds[] = { // each with the byte before it
    R"(T{"version": "1.0", "added_tokens": [{"id": 0, "content": "[PAD]", "special": true}], "normalizer": null, "pre_tokenizer": {"type": )"
    R"("WhitespaceSplit"}, "decoder": null, "model": {"type": "WordLevel", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, )"
    R"("[EOS]": 5, "[BOS]": 6, "SP": 7, "=": 8, "64": 9, "#-": 10, "#0": 11, "\u00e4\n": 12}, "unk_token": "[UNK]"}})",
    R"(C{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 4096, "n_positions": 512, "n_layer": 4, "n_embd": 256, "n_head": 4, )"
    R"("n_inner": null, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "tie_word_embeddings": true, "scale_attn_weights": true, )"
    R"("scale_attn_by_inverse_layer_idx": false, "task_specific_params": {"text-generation": {"do_sample": true}}, "augur_sentences": "compact"})"};

} // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    if (seed % 500 < 2 && seeds[seed % 2].size() <= most) size = seeds[seed % 2].copy(reinterpret_cast<char*>(data), most); // begins again
    return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string fault = data[0] % 2 == 0 ? read_back::tokenizer(text) : read_back::config(text);
    if (fault.empty()) return 0;
    std::fprintf(stderr, "%s\n", fault.c_str());
    std::abort();
}
