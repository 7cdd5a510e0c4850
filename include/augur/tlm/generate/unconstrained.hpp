// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_UNCONSTRAINED_HPP
#define AUGUR_TLM_GENERATE_UNCONSTRAINED_HPP

/// @file
/// Generation as the paper has it (Zhai et al. 2024, algorithm 2): the model writes whatever it likes, what is not legal is thrown away and written anew.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/generation.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/generate/token_probabilities.hpp>
#include <augur/tlm/generate/token_walk.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// What was written without a mask.
struct unconstrained_points {
    /// Distinct, in the order in which they were complete; both log-probabilities are those of the samples.
    std::vector<generated_point> points;
    std::size_t calls = 0;   ///< sentences begun
    std::size_t illegal = 0; ///< sentences with a token that the space does not have there, or longer than the context
    std::array<std::size_t, decision_kinds> illegal_choices{}; ///< of these: at a choice of a decision of this kind
    std::size_t illegal_forced = 0;                            ///< of these: in place of a token without an alternative, the end included
    std::size_t repeated = 0;                                  ///< legal sentences that had come before
    std::vector<std::string> unknown_words;                    ///< as `generation_report::unknown_words`

    /// Sentences begun for each legal one; the paper has 1.1 after fine-tuning (section 5.2).
    [[nodiscard]] double calls_a_legal_one() const noexcept {
        const auto legal = calls - illegal;
        return legal == 0 ? 0 : static_cast<double>(calls) / static_cast<double>(legal);
    }
};

/// Writes until `options.count` distinct points are there, at most `passes` times as many sentences as points are missing. A sentence ends at its first
/// illegal token, or where it is longer than the context of the model, if that says it (`model.context()`, as `frozen_gpt2`). Of the options `sample`,
/// `discards` and `aligned` do not count: a sentence is a sample among all tokens.
///
/// Errors  as those of `generator`, all errors of the model among them
template <next_token_model M, decision_tree P>
[[nodiscard]] result<unconstrained_points> generate_unconstrained(const M& model, const vocabulary& words, sentence_form form,
                                                                  std::string_view prompt, const P& space, const generation_options& options,
                                                                  std::size_t passes = 5) {
    if (auto fits = options.check(); !fits) return fits.error();
    unconstrained_points out;
    const auto tokens = detail::prompt_tokens(words, static_cast<std::size_t>(model.words()), prompt, out.unknown_words);
    if (!tokens) return tokens.error();
    auto session = open_session(model, *tokens);
    if (!session) return session.error();
    const auto size = static_cast<std::size_t>(model.words()), context = detail::context_of(model);
    struct sentence {
        std::unique_ptr<token_walk<P>> walk;
        std::vector<token> forced; ///< that must come, the next one last
        bool complete = false;     ///< nothing but [SEP] is left, after `forced`
        double log_probability = 0;
    };
    std::set<decision_vector> seen;
    random_engine rng(options.seed);
    std::vector<float> logits;
    std::vector<token> every(size);
    std::iota(every.begin(), every.end(), token{0});
    token_sampling among_all = options;
    among_all.aligned = true;
    token_probabilities probabilities;
    for (std::size_t pass = 0; pass < passes && out.points.size() < options.count; ++pass) {
        for (std::size_t missing = options.count - out.points.size(); missing > 0;) {
            const auto n = (std::min)(missing, options.batch);
            missing -= n;
            out.calls += n;
            session->sequences(n);
            std::vector<sentence> open(n);
            std::vector<std::size_t> active(n);
            const auto advance = [](sentence& s) -> result<void> {
                s.forced.clear();
                s.complete = !s.walk->advance(s.forced);
                std::reverse(s.forced.begin(), s.forced.end());
                if (s.walk->failed()) return *s.walk->failed();
                return {};
            };
            for (std::size_t i = 0; i < n; ++i) {
                open[i].walk = std::make_unique<token_walk<P>>(space, words, form);
                if (auto went = advance(open[i]); !went) return went.error();
                active[i] = i;
            }
            for (std::size_t length = tokens->size(); !active.empty(); ++length) { // all open sentences have the same length
                if (length > context) {
                    out.illegal += active.size();
                    break;
                }
                logits.assign(active.size() * size, std::numeric_limits<float>::quiet_NaN()); // so that one that is not written is an error
                if (auto told = session->logits(active, std::span<float>(logits)); !told) return told.error();
                std::vector<std::size_t> next;
                for (std::size_t k = 0; k < active.size(); ++k) {
                    auto& s = open[active[k]];
                    if (auto read = probabilities.read(std::span<const float>(logits).subspan(k * size, size)); !read) return read.error();
                    const auto log_p = probabilities.log_probabilities(every, among_all);
                    double left = rng.uniform();
                    token chosen = 0;
                    for (token t = 0; t < size && left >= 0; ++t) {
                        if (!(log_p[t] > -std::numeric_limits<double>::infinity())) continue;
                        chosen = t;
                        left -= std::exp(log_p[t]);
                    }
                    s.log_probability += log_p[chosen];
                    if (s.forced.empty() && s.complete) {
                        if (chosen != vocabulary::end) ++out.illegal, ++out.illegal_forced;
                        else if (auto legal = s.walk->check_point(); !legal) return legal.error();
                        else if (seen.insert(s.walk->decisions()).second)
                            out.points.push_back({s.walk->decisions(), s.log_probability, s.log_probability});
                        else ++out.repeated;
                        continue;
                    }
                    if (!s.forced.empty()) {
                        if (chosen != s.forced.back()) {
                            ++out.illegal;
                            ++out.illegal_forced;
                            continue;
                        }
                        s.forced.pop_back();
                    } else {
                        const auto legal = s.walk->choices();
                        if (std::find(legal.begin(), legal.end(), chosen) == legal.end()) {
                            ++out.illegal;
                            ++out.illegal_choices[static_cast<std::size_t>(s.walk->kind())];
                            continue;
                        }
                        s.walk->choose(chosen);
                        if (auto went = advance(s); !went) return went.error();
                    }
                    session->append(active[k], std::span(&chosen, 1));
                    next.push_back(active[k]);
                }
                active = std::move(next);
            }
        }
    }
    return out;
}

} // namespace augur::inline v0::tlm

#endif
