// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TRIGRAMS_HPP
#define AUGUR_EXAMPLES_TRIGRAMS_HPP

/// @file
/// A language model of one's own for the generator of TLM: how often a token followed the two before it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace examples {

class trigrams {
public:
    trigrams(std::size_t words, const augur::dataset& corpus, const augur::tlm::corpus_tokens& tokens, augur::tlm::sentence_form form)
        : words_(words) {
        for (std::size_t t = 0; t < corpus.tasks(); ++t)
            for (auto r = corpus.task(t).first; r < corpus.task(t).last; ++r) {
                std::vector<augur::tlm::token> all(tokens.prompt(t).begin(), tokens.prompt(t).end());
                std::vector<std::uint8_t> learned;
                tokens.append(r, form, all, learned);
                for (std::size_t i = 2; i < all.size(); ++i) ++counts_[{all[i - 2], all[i - 1]}][all[i]];
            }
    }
    [[nodiscard]] std::size_t words() const { return words_; }
    [[nodiscard]] augur::result<void> logits(std::span<const augur::tlm::token> tokens, std::span<float> out) const {
        std::fill(out.begin(), out.end(), std::log(0.1F));
        const auto seen = counts_.find({tokens[tokens.size() - 2], tokens.back()});
        if (seen != counts_.end())
            for (const auto& [t, n] : seen->second) out[t] = std::log(static_cast<float>(n) + 0.1F);
        return {};
    }

private:
    std::size_t words_;
    std::map<std::pair<augur::tlm::token, augur::tlm::token>, std::map<augur::tlm::token, int>> counts_;
};
static_assert(augur::tlm::next_token_model<trigrams>);

} // namespace examples

#endif
