// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_UNCONSTRAINED_HPP
#define AUGUR_TLM_GENERATE_UNCONSTRAINED_HPP

/// @file
/// Generation as the paper has it (Zhai et al. 2024, algorithm 2): the model writes whatever it likes, what is not legal is thrown away and written anew.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/generator.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/generate/token_walk.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// What was written without a mask.
struct unconstrained_points {
    /// Distinct, in the order in which they were complete; both log-probabilities are the model's at the temperature.
    std::vector<generated_point> points;
    std::size_t calls = 0;    ///< sentences begun
    std::size_t illegal = 0;  ///< sentences with a token that the space does not have there, or without an end
    std::size_t repeated = 0; ///< legal sentences that had come before

    /// Sentences begun for each legal one; the paper has 1.1 after fine-tuning (section 5.2).
    [[nodiscard]] double calls_a_legal_one() const noexcept {
        const auto legal = calls - illegal;
        return legal == 0 ? 0 : static_cast<double>(calls) / static_cast<double>(legal);
    }
};

/// Writes until `options.count` distinct points are there, at most `passes` times as many sentences as points are missing. A sentence ends at its first
/// illegal token. Of the options `count`, `temperature`, `batch` and `seed` count.
///
/// Errors  as those of `generator`
template <next_token_model M, decision_tree P>
[[nodiscard]] result<unconstrained_points> generate_unconstrained(const M& model, const vocabulary& words, sentence_form form,
                                                                  std::string_view prompt, const P& space, const generation_options& options,
                                                                  std::size_t passes = 5) {
    if (!(options.temperature > 0) || options.batch == 0)
        return error{errc::invalid_argument, "generator: expected a temperature above 0 and a batch of at least 1"};
    std::vector<token> tokens{vocabulary::begin};
    words.append_text(prompt, tokens);
    auto session = open_session(model, tokens);
    if (!session) return session.error();
    const std::size_t size = model.words();
    struct sentence {
        std::unique_ptr<token_walk<P>> walk;
        std::vector<token> forced; ///< that must come, the next one last
        bool complete = false;     ///< nothing but [SEP] is left, after `forced`
        double log_probability = 0;
    };
    unconstrained_points out;
    std::set<decision_vector> seen;
    random_engine rng(options.seed);
    std::vector<float> logits;
    std::vector<double> weights(size);
    for (std::size_t pass = 0; pass < passes && out.points.size() < options.count; ++pass) {
        for (std::size_t missing = options.count - out.points.size(); missing > 0;) {
            const auto n = (std::min)(missing, options.batch);
            missing -= n;
            out.calls += n;
            session->sequences(n);
            std::vector<sentence> open(n);
            std::vector<std::size_t> active(n);
            const auto advance = [](sentence& s) {
                s.forced.clear();
                s.complete = !s.walk->advance(s.forced);
                std::reverse(s.forced.begin(), s.forced.end());
            };
            for (std::size_t i = 0; i < n; ++i) {
                open[i].walk = std::make_unique<token_walk<P>>(space, words, form);
                advance(open[i]);
                active[i] = i;
            }
            while (!active.empty()) {
                logits.resize(active.size() * size);
                if (auto told = session->logits(active, std::span<float>(logits)); !told) {
                    if (told.error().code != errc::limit) return told.error();
                    out.illegal += active.size(); // longer than the context
                    break;
                }
                std::vector<std::size_t> next;
                for (std::size_t k = 0; k < active.size(); ++k) {
                    auto& s = open[active[k]];
                    const auto row = std::span<const float>(logits).subspan(k * size, size);
                    const float most = *std::max_element(row.begin(), row.end());
                    double sum = 0;
                    for (std::size_t t = 0; t < size; ++t) sum += weights[t] = std::exp(static_cast<double>(row[t] - most) / options.temperature);
                    if (!std::isfinite(sum)) return error{errc::limit, "generator: the model gave logits that are no numbers, or all -infinity"};
                    double left = rng.uniform() * sum;
                    token chosen = 0;
                    while (chosen + 1 < size && left >= weights[chosen]) left -= weights[chosen++];
                    s.log_probability += std::log(weights[chosen] / sum);
                    if (s.forced.empty() && s.complete) {
                        if (chosen != vocabulary::end) ++out.illegal;
                        else if (seen.insert(s.walk->decisions()).second)
                            out.points.push_back({s.walk->decisions(), s.log_probability, s.log_probability});
                        else ++out.repeated;
                        continue;
                    }
                    if (!s.forced.empty()) {
                        if (chosen != s.forced.back()) {
                            ++out.illegal;
                            continue;
                        }
                        s.forced.pop_back();
                    } else {
                        const auto legal = s.walk->choices();
                        if (std::find(legal.begin(), legal.end(), chosen) == legal.end()) {
                            ++out.illegal;
                            continue;
                        }
                        s.walk->choose(chosen);
                        advance(s);
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
