// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_GENERATION_HPP
#define AUGUR_TLM_GENERATE_GENERATION_HPP

/// @file
/// What is to be generated, and what was.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/generate/token_probabilities.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// Options of `generator::generate`.
struct generation_options : token_sampling {
    std::size_t count = 64; ///< points; fewer come if the space has no more with a probability
    bool sample = true;     ///< false: the most likely ones (beam search; greedy for one)
    std::size_t batch = 64; ///< sequences of the model at the same time
    /// Fewer points come if so many sentences for each of them are thrown away; without `aligned` only those count that are longer than the context.
    std::size_t discards = 8;
    std::uint64_t seed = 1;

    /// Errors: invalid_argument
    [[nodiscard]] result<void> check() const {
        if (temperature >= 1e-6 && temperature <= 1e6 && top_p > 0 && top_p <= 1 && batch > 0) return {}; // beyond, the logits of floats overflow
        return error{errc::invalid_argument, "generator: expected a temperature of 1e-6 to 1e6, a top_p above 0 up to 1 and a batch of at least 1"};
    }
};

/// A generated point.
struct generated_point {
    decision_vector decisions;
    double log_probability = 0;       ///< of its choices as they are sampled, before any point is taken out; of all its tokens if they are aligned
    double model_log_probability = 0; ///< of the same tokens by the model alone
};

/// What generation did.
struct generation_report {
    struct by_kind {
        std::size_t choices = 0; ///< tokens that the model chose
        double masked = 0;       ///< sum over them of the probability that the model gave to what is not legal
    };
    std::size_t points = 0;
    std::size_t forced = 0;    ///< tokens without an alternative; they need no logits unless samples are aligned
    std::size_t discarded = 0; ///< sentences thrown away: with a token that is not legal (if aligned), excluded points, or too long
    std::size_t too_long = 0;  ///< of these: longer than the context of the model
    std::size_t unsayable = 0; ///< legal choices with a word that the vocabulary does not have, of all points (`token_walk`)
    std::array<by_kind, decision_kinds> kinds{};
    std::vector<std::string> unknown_words; ///< of the prompt, each once: the vocabulary does not have them, and the model reads [UNK] in their place

    [[nodiscard]] std::size_t choices() const noexcept {
        std::size_t n = 0;
        for (const auto& k : kinds) n += k.choices;
        return n;
    }
};

namespace detail {

/// [CLS] and the tokens of a prompt; its unknown words become `unknown`, each once.
/// Errors  shape_mismatch: the vocabulary has more tokens than the model
[[nodiscard]] inline result<std::vector<token>> prompt_tokens(const vocabulary& words, std::size_t words_of_model, std::string_view prompt,
                                                              std::vector<std::string>& unknown) {
    if (words.size() > words_of_model)
        return error{errc::shape_mismatch,
                     "generator: the vocabulary has " + std::to_string(words.size()) + " tokens, the model " + std::to_string(words_of_model)};
    std::vector<token> out{vocabulary::begin};
    unknown.clear();
    words.append_text(prompt, out, [&](std::string_view word) { unknown.emplace_back(word); });
    std::sort(unknown.begin(), unknown.end());
    unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
    return out;
}

} // namespace detail

} // namespace augur::inline v0::tlm

#endif
