// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_GENERATOR_HPP
#define AUGUR_TLM_GENERATE_GENERATOR_HPP

/// @file
/// Generates points of a search space with a language model: every point is legal, and none comes twice.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/generation.hpp>
#include <augur/tlm/generate/gumbel.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/generate/point_trie.hpp>
#include <augur/tlm/generate/token_probabilities.hpp>
#include <augur/tlm/generate/token_walk.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// Writes points of one space. What it has written, or was told to leave out, it does not write again.
///
/// The legal tokens of each step mask the logits. Points are drawn without replacement by stochastic beam search (Kool et al. 2019): partial points compete
/// by perturbed log-probabilities, and equal beginnings go through the model once. Points that came leave a trie of tokens with their probability
/// (`point_trie`), so each point comes with its probability divided by that of all that have not come, over all calls.
///
/// The probability that the trie stores for a prefix may be an upper bound: points may be excluded before the model has computed their probability and,
/// with `aligned` (grammar-aligned decoding, Park et al. 2024), tokens may not be legal. The excess is a dummy child, which competes as the others. If it
/// is drawn, that sentence is thrown away and the trie stores the true value, so the ratios of the points stay exact. A
/// sentence that does not fit into the context of the model is thrown away, too: there are no points behind its beginning.
///
/// Cost     the model for each choice of each point, at most; with `aligned` for each token of each sentence, also those thrown away; sequences are
///          copied where points part
/// Threads  one thread per generator; model, vocabulary and space must outlive it
template <next_token_model M, decision_tree P>
class generator {
public:
    /// Words of the prompt that the vocabulary does not have are no error: see `generation_report::unknown_words`.
    /// Errors  those of the model for the prompt; shape_mismatch: the vocabulary has more tokens than the model
    [[nodiscard]] static result<generator> create(const M& model, const vocabulary& words, sentence_form form, std::string_view prompt,
                                                  const P& space) {
        std::vector<std::string> unknown;
        const auto tokens = detail::prompt_tokens(words, static_cast<std::size_t>(model.words()), prompt, unknown);
        if (!tokens) return tokens.error();
        auto session = open_session(model, *tokens);
        if (!session) return session.error();
        return generator(model, words, form, space, *std::move(session), tokens->size(), std::move(unknown));
    }

    /// Leaves out a point, for example one that was measured.   Errors: illegal_schedule, as `trace_path` and `token_walk::failed`
    [[nodiscard]] result<void> exclude(std::span<const std::uint64_t> decisions) {
        if (auto legal = trace_path(*space_, decisions); !legal) return legal.error();
        std::erase_if(
            held_, [&](const generated_point& p) { return std::equal(p.decisions.begin(), p.decisions.end(), decisions.begin(), decisions.end()); });
        token_walk<P> walk(*space_, *words_, form_);
        std::vector<point_trie::step> path;
        std::vector<token> passed;
        for (;;) {
            const bool open = walk.advance(passed);
            if (walk.failed()) return *walk.failed();
            const auto& taken = walk.decisions();
            const auto differ = std::mismatch(taken.begin(), taken.end(), decisions.begin(), decisions.end());
            // where no choice has tokens, the walk has taken one that the point may not have
            if (differ.first != taken.end() && differ.second != decisions.end()) return {};
            if (!open && taken.size() == decisions.size()) break;
            if (!open || taken.size() >= decisions.size() || decisions[taken.size()] >= walk.options())
                return detail::options_changed((std::min)(taken.size(), decisions.size()));
            const auto t = walk.towards(decisions[taken.size()]);
            if (!t) return {}; // it has no tokens, so it is never written
            path.push_back({std::make_shared<token_choice>(token_choice{{walk.choices().begin(), walk.choices().end()}, {}}), *t});
            walk.choose(*t);
        }
        left_.spend(path);
        return {};
    }

    /// The points, batch by batch. Without `sample` the most likely comes first within a batch. With it they stand by their perturbed log-probability, which
    /// is random: sort by `log_probability` for the most likely. Points that were written before an error come first in the next call; those that the space
    /// does not have any more, because it has changed, wait until it has them.
    /// Errors  invalid_argument: options beyond their domain; limit: logits that are no numbers or were not written, or no legal token has a probability;
    ///         illegal_schedule, as `token_walk::failed`, or the space no longer has a point; those of the model
    [[nodiscard]] result<std::vector<generated_point>> generate(const generation_options& options) {
        if (auto fits = options.check(); !fits) return fits.error();
        if (options != sampled_by_) left_.forget_probabilities();
        sampled_by_ = options;
        random_engine rng(options.seed);
        std::vector<generated_point> out, waiting;
        for (auto& p : held_) (out.size() < options.count && trace_path(*space_, p.decisions) ? out : waiting).push_back(std::move(p));
        held_ = std::move(waiting);
        const std::size_t before = report_.discarded, too_long = report_.too_long;
        for (std::size_t discarded = 0; out.size() < options.count && left_.log_left(point_trie::root) > -infinity;) {
            if ((options.aligned ? discarded : report_.too_long - too_long) > options.discards * options.count) break;
            // once sentences are thrown away more are begun than are missing; the last ones are left then
            const auto n = discarded > 0 ? options.batch : (std::min)(options.batch, options.count - out.size());
            if (auto drawn = run(options, n, rng, out); !drawn) {
                held_.insert(held_.begin(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
                return drawn.error();
            }
            discarded = report_.discarded - before;
        }
        report_.points += out.size();
        return out;
    }

    /// Log of the probability of all points that have not come, as they were sampled last; an upper bound if points were excluded or samples are aligned.
    [[nodiscard]] double log_left() const { return left_.log_left(point_trie::root); }

    [[nodiscard]] const generation_report& report() const noexcept { return report_; }

private:
    using session_type = std::remove_cvref_t<decltype(*open_session(std::declval<const M&>(), std::declval<std::span<const token>>()))>;
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double rounding = 1e-12; ///< of a sum of probabilities

    /// A point, the beginning of one, or a sentence to be thrown away.
    struct beam {
        std::unique_ptr<token_walk<P>> walk; ///< none: thrown away
        std::vector<point_trie::step> path;
        point_trie::node node = point_trie::root;
        std::shared_ptr<const token_choice> choice; ///< the open one
        std::vector<token> forced;                  ///< aligned: tokens without an alternative that the model is to tell, the next one last
        double log_left = 0;                        ///< share of its probability that is left, as the choice before knew it
        double log_forced = 0;                      ///< log-probability of such tokens since the last choice
        double log_probability = 0, model_log_probability = 0;
        double score = 0; ///< perturbed log-probability, or that itself
        std::size_t slot = 0;
        std::size_t length = 0; ///< tokens that the model was told, those of the prompt included
        bool ends = false;      ///< no choice comes any more
        bool complete = false;
        bool too_long = false;
    };
    struct child {
        static constexpr std::size_t same = static_cast<std::size_t>(-1), thrown_away = same - 1;
        std::size_t parent, choice; ///< choice: of the legal tokens, or one of the above
        double log_left, log_probability, model_log_probability, score;
    };

    const M* model_;
    const vocabulary* words_;
    sentence_form form_;
    const P* space_;
    session_type session_;
    std::size_t prompt_; ///< its tokens
    point_trie left_;
    token_sampling sampled_by_;
    generation_report report_;
    token_probabilities row_;
    std::vector<generated_point> held_; ///< written before an error, for the next call

    generator(const M& model, const vocabulary& words, sentence_form form, const P& space, session_type session, std::size_t prompt,
              std::vector<std::string> unknown)
        : model_(&model), words_(&words), form_(form), space_(&space), session_(std::move(session)), prompt_(prompt) {
        report_.unknown_words = std::move(unknown);
    }

    void append(beam& b, std::span<const token> tokens) {
        session_.append(b.slot, tokens);
        b.length += tokens.size();
    }

    /// Goes to the next choice of a beam.
    result<void> advance(beam& b) {
        std::vector<token> passed;
        b.ends = !b.walk->advance(passed);
        if (b.walk->failed()) return *b.walk->failed();
        report_.forced += passed.size();
        if (sampled_by_.aligned) {
            if (b.ends) passed.push_back(vocabulary::end);
            b.forced.assign(passed.rbegin(), passed.rend());
        } else if (b.ends) {
            b.complete = true;
        } else {
            append(b, passed);
        }
        return {};
    }

    /// Whether the next token is no choice; the end of a sentence is the last choice, of one token.
    static bool is_forced(const beam& b) { return b.forced.size() > (b.ends ? 1 : 0); }
    void tell_forced(beam& b) {
        const token t = b.forced.back();
        b.log_forced += row_.log_probabilities(std::span(&t, 1), sampled_by_).front();
        b.model_log_probability += row_.log_probability(t);
        b.forced.pop_back();
        append(b, std::span(&t, 1));
    }

    /// Appends the children of a beam: its legal tokens with a probability that is left, and a sentence to be thrown away for what is not.
    result<void> grow(bool sample, std::size_t parent, beam& b, random_engine& rng, std::vector<child>& children) {
        const auto legal = b.ends ? std::span<const token>(b.forced) : b.walk->choices();
        if (!b.ends) {
            auto& kind = report_.kinds[static_cast<std::size_t>(b.walk->kind())];
            ++kind.choices;
            kind.masked += 1 - row_.probability(legal);
        }
        auto choice = std::make_shared<token_choice>(token_choice{{legal.begin(), legal.end()}, row_.log_probabilities(legal, sampled_by_)});
        auto& log_p = choice->log_probabilities;
        if (!sampled_by_.aligned && *std::max_element(log_p.begin(), log_p.end()) == -infinity)
            return error{errc::limit, "generator: the model gives no legal token a probability"};
        std::vector<double> left;
        for (std::size_t c = 0; c < legal.size(); ++c) {
            log_p[c] += b.log_forced;
            const double below = left_.log_left(left_.below(b.node, legal[c]));
            if (!(log_p[c] + below > -infinity)) continue;
            left.push_back(log_p[c] + below);
            children.push_back({parent, c, below, b.log_probability + log_p[c], b.model_log_probability + row_.log_probability(legal[c]), 0});
        }
        b.choice = std::move(choice);
        const double all = log_sum_exp(left);
        const bool excess = !left_.is_known(b.node) && all < b.log_left - rounding; // more than there is
        if (left.empty() || (sample && excess)) {
            children.push_back({parent, child::thrown_away, 0, 0, 0, 0});
            left.push_back(b.log_left + (left.empty() ? 0 : log_one_minus_exp(all - b.log_left)));
        }
        const auto mine = std::span(children).last(left.size());
        for (double& x : left) x += b.log_probability;
        if (sample) perturb_below(b.score, left, rng);
        for (std::size_t i = 0; i < mine.size(); ++i)
            mine[i].score = sample ? left[i] : mine[i].choice == child::thrown_away ? -infinity : mine[i].log_probability;
        return {};
    }

    /// The beams become the chosen children, in the order of scores. The first child of a beam takes its walk and its sequence, the others take copies.
    result<void> follow(std::vector<beam>& beams, const std::vector<child>& children, const std::vector<std::size_t>& chosen,
                        std::vector<std::size_t>& free_slots) {
        std::vector<std::vector<std::size_t>> of(beams.size());
        std::vector<beam> next;
        next.reserve(chosen.size());
        for (const auto c : chosen) {
            if (children[c].choice != child::thrown_away) {
                of[children[c].parent].push_back(c);
                continue;
            }
            const auto& from = beams[children[c].parent];
            auto& b = next.emplace_back();
            b.path = from.path;
            b.path.push_back({from.choice, 0});
            b.score = children[c].score;
            b.complete = true;
        }
        for (std::size_t i = 0; i < beams.size(); ++i)
            if (of[i].empty() && !beams[i].complete) free_slots.push_back(beams[i].slot);
        for (std::size_t i = 0; i < beams.size(); ++i) {
            if (of[i].empty()) continue;
            if (children[of[i][0]].choice == child::same) {
                next.push_back(std::move(beams[i]));
                continue;
            }
            for (std::size_t k = of[i].size(); k-- > 0;) { // the first one last, for it takes the parent's
                const auto& c = children[of[i][k]];
                auto& b = next.emplace_back();
                if (k > 0) {
                    b.walk = std::make_unique<token_walk<P>>(*beams[i].walk);
                    b.path = beams[i].path;
                    b.slot = free_slots.back();
                    free_slots.pop_back();
                    session_.copy(beams[i].slot, b.slot);
                } else {
                    b.walk = std::move(beams[i].walk);
                    b.path = std::move(beams[i].path);
                    b.slot = beams[i].slot;
                }
                b.length = beams[i].length;
                const token t = beams[i].choice->tokens[c.choice];
                b.path.push_back({beams[i].choice, t});
                b.node = left_.below(beams[i].node, t);
                b.log_left = c.log_left;
                b.log_probability = c.log_probability;
                b.model_log_probability = c.model_log_probability;
                b.score = c.score;
                if (beams[i].ends) {
                    b.complete = true;
                } else {
                    b.walk->choose(t);
                    append(b, std::span(&t, 1));
                    if (auto went = advance(b); !went) return went;
                }
                if (b.complete) free_slots.push_back(b.slot);
            }
        }
        beams = std::move(next);
        std::sort(beams.begin(), beams.end(), [](const beam& x, const beam& y) {
            if (x.score != y.score) return x.score > y.score;
            return std::lexicographical_compare(x.path.begin(), x.path.end(), y.path.begin(), y.path.end(),
                                                [](const auto& a, const auto& b) { return a.taken < b.taken; });
        });
        return {};
    }

    /// Draws n sentences, and takes of their points as many as are missing.
    result<void> run(const generation_options& options, std::size_t n, random_engine& rng, std::vector<generated_point>& out) {
        session_.sequences(n);
        std::vector<std::size_t> free_slots;
        for (std::size_t i = n; i-- > 1;) free_slots.push_back(i);
        std::vector<beam> beams(1);
        beams[0].walk = std::make_unique<token_walk<P>>(*space_, *words_, form_);
        beams[0].log_left = left_.log_left(point_trie::root);
        beams[0].length = prompt_;
        if (auto went = advance(beams[0]); !went) return went;
        std::vector<float> logits;
        const std::size_t context = detail::context_of(*model_);
        for (;;) {
            std::vector<std::size_t> open, slots;
            std::vector<child> children;
            for (std::size_t i = 0; i < beams.size(); ++i) {
                if (auto& b = beams[i]; !b.complete && b.length > context) {
                    b.walk.reset();
                    b.complete = b.too_long = true;
                    free_slots.push_back(b.slot);
                }
                if (beams[i].complete) {
                    children.push_back({i, child::same, 0, 0, 0, beams[i].score});
                } else {
                    open.push_back(i);
                    slots.push_back(beams[i].slot);
                }
            }
            if (open.empty()) break;
            const std::size_t words = model_->words();
            logits.assign(slots.size() * words, std::numeric_limits<float>::quiet_NaN()); // so that one that is not written is an error
            if (auto told = session_.logits(slots, std::span<float>(logits)); !told) return told.error();
            for (std::size_t k = 0; k < open.size(); ++k) {
                auto& b = beams[open[k]];
                if (auto read = row_.read(std::span<const float>(logits).subspan(k * words, words)); !read) return read.error();
                if (is_forced(b)) {
                    tell_forced(b);
                    children.push_back({open[k], child::same, 0, 0, 0, b.score});
                } else if (auto grown = grow(options.sample, open[k], b, rng, children); !grown) {
                    return grown.error();
                }
            }
            std::vector<std::size_t> order(children.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                return children[a].score != children[b].score ? children[a].score > children[b].score : a < b;
            });
            order.resize((std::min)(order.size(), n));
            if (auto followed = follow(beams, children, order, free_slots); !followed) return followed;
        }
        for (auto& b : beams) {
            if (!b.walk) {
                ++report_.discarded;
                if (b.too_long) {
                    ++report_.too_long;
                    left_.spend(b.path);
                } else {
                    left_.learn(b.path);
                }
            } else if (out.size() < options.count) {
                if (auto legal = b.walk->check_point(); !legal) return legal;
                report_.unsayable += b.walk->unsayable();
                left_.spend(b.path);
                out.push_back({b.walk->decisions(), b.log_probability, b.model_log_probability});
            }
        }
        return {};
    }
};

} // namespace augur::inline v0::tlm

#endif
