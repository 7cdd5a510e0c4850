// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_GENERATOR_HPP
#define AUGUR_TLM_GENERATE_GENERATOR_HPP

/// @file
/// Generates points of a search space with a language model: every point is legal, and none comes twice.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
#include <augur/nn/kernels/elementwise.hpp>
#include <augur/nn/kernels/exp.hpp>
#include <augur/nn/sum.hpp>
#include <augur/space/concepts.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/generate/token_walk.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

struct generation_options {
    std::size_t count = 64; ///< points; fewer come if the space has no more
    bool sample = true;     ///< false: the most likely ones (beam search; greedy for one)
    double temperature = 1; ///< of the samples
    std::size_t top_k = 0;  ///< only the most likely so many tokens of a choice; 0: all
    double top_p = 1;       ///< only the most likely tokens with so much probability together
    std::size_t batch = 64; ///< sequences of the model at the same time
    std::uint64_t seed = 1;
};

/// A generated point.
struct generated_point {
    decision_vector decisions;
    double log_probability = 0;       ///< among legal points, with temperature and limits
    double model_log_probability = 0; ///< of its choices, by the model alone: that of anything else included
};

/// What generation did.
struct generation_report {
    struct by_kind {
        std::size_t choices = 0; ///< tokens that the model chose
        double masked = 0;       ///< sum over them of the probability that the model gave to what is not legal
    };
    std::size_t points = 0;
    std::size_t forced = 0;    ///< tokens without an alternative, which needed no logits
    std::size_t unsayable = 0; ///< legal choices with a word that the vocabulary does not have
    std::array<by_kind, decision_kinds> kinds{};

    [[nodiscard]] std::size_t choices() const noexcept {
        std::size_t n = 0;
        for (const auto& k : kinds) n += k.choices;
        return n;
    }
};

/// Writes points of one space. What it has written, or was told to leave out, it does not write again.
///
/// The legal tokens of each step mask the logits, so no point is thrown away. Points are drawn without replacement by stochastic beam search (Kool et al.
/// 2019): partial points compete by perturbed log-probabilities, and equal beginnings go through the model once. Points of an earlier call leave the
/// trie of tokens, whose other branches share their probability.
///
/// Cost     the model for each choice of each point, at most; sequences are copied where points part
/// Threads  one thread per generator; model, vocabulary and space must outlive it
template <next_token_model M, decision_tree P>
class generator {
public:
    /// Errors  those of the model for the prompt; shape_mismatch: the vocabulary has more tokens than the model
    [[nodiscard]] static result<generator> create(const M& model, const vocabulary& words, sentence_form form, std::string_view prompt,
                                                  const P& space) {
        if (words.size() > model.words())
            return error{errc::shape_mismatch, "generator: the vocabulary has " + std::to_string(words.size()) + " tokens, the model " +
                                                   std::to_string(static_cast<std::size_t>(model.words()))};
        std::vector<token> tokens{vocabulary::begin};
        words.append_text(prompt, tokens);
        auto session = open_session(model, tokens);
        if (!session) return session.error();
        return generator(model, words, form, space, *std::move(session));
    }

    /// Leaves out a point, for example one that was measured.   Errors: illegal_schedule, as `trace_path`
    [[nodiscard]] result<void> exclude(std::span<const std::uint64_t> decisions) {
        if (auto legal = trace_path(*space_, decisions); !legal) return legal.error();
        token_walk<P> walk(*space_, *words_, form_);
        std::vector<seen_points::step> path;
        std::vector<token> passed;
        std::uint64_t node = seen_points::root;
        while (walk.advance(passed)) {
            // where no other choice can be told, the walk has taken one that the point may not have
            if (!std::equal(walk.decisions().begin(), walk.decisions().end(), decisions.begin())) return {};
            const auto t = walk.towards(decisions[walk.decisions().size()]);
            if (!t) return {}; // it cannot be told, so it cannot come
            path.push_back({node, walk.choices().size(), *t});
            node = seen_points::below(node, *t);
            walk.choose(*t);
        }
        if (std::equal(decisions.begin(), decisions.end(), walk.decisions().begin(), walk.decisions().end())) seen_.insert(path);
        return {};
    }

    /// The points, the most likely first within a batch.
    /// Errors  invalid_argument: options beyond their domain; limit: logits that are no numbers, or no legal token has a probability; those of the model
    [[nodiscard]] result<std::vector<generated_point>> generate(const generation_options& options) {
        if (!(options.temperature > 0) || !(options.top_p > 0 && options.top_p <= 1) || options.batch == 0)
            return error{errc::invalid_argument, "generator: expected a temperature above 0, a top_p within 0 and 1 and a batch of at least 1"};
        random_engine rng(options.seed);
        std::vector<generated_point> out;
        while (out.size() < options.count && !seen_.all()) {
            auto more = run(options, (std::min)(options.batch, options.count - out.size()), rng);
            if (!more) return more.error();
            for (auto& point : *more) out.push_back(std::move(point));
        }
        report_.points += out.size();
        return out;
    }

    [[nodiscard]] const generation_report& report() const noexcept { return report_; }

private:
    using session_type = std::remove_cvref_t<decltype(*open_session(std::declval<const M&>(), std::declval<std::span<const token>>()))>;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    /// A point, or the beginning of one.
    struct beam {
        std::unique_ptr<token_walk<P>> walk;
        std::vector<seen_points::step> path;
        std::uint64_t node = seen_points::root;
        double log_probability = 0, model_log_probability = 0;
        double score = 0; ///< perturbed log-probability, or that itself
        std::size_t slot = 0;
        bool complete = false;
    };
    struct child {
        std::size_t parent, choice;
        double log_probability, model_log_probability, score;
    };

    const M* model_;
    const vocabulary* words_;
    sentence_form form_;
    const P* space_;
    session_type session_;
    seen_points seen_;
    generation_report report_;
    std::vector<float> row_;

    generator(const M& model, const vocabulary& words, sentence_form form, const P& space, session_type session)
        : model_(&model), words_(&words), form_(form), space_(&space), session_(std::move(session)) {}

    /// Goes to the next choice of a beam.
    void advance(beam& b) {
        std::vector<token> passed;
        b.complete = !b.walk->advance(passed);
        report_.forced += passed.size();
        if (!b.complete) session_.append(b.slot, passed);
    }

    /// Appends the children of a beam: its legal tokens that lead to points which are not seen.
    result<void> grow(const generation_options& options, std::size_t parent, const beam& b, std::span<const float> logits, random_engine& rng,
                      std::vector<child>& children) {
        const auto legal = b.walk->choices();
        row_.assign(logits.begin(), logits.end());
        const auto words = static_cast<std::ptrdiff_t>(row_.size());
        float most[4] = {row_[0], row_[0], row_[0], row_[0]}; // four chains, which hide the latency
        for (std::ptrdiff_t i = 0; i < words; ++i) {
            float& m = most[i % 4];
            m = row_[static_cast<std::size_t>(i)] > m ? row_[static_cast<std::size_t>(i)] : m;
        }
        const float top = (std::max)((std::max)(most[0], most[1]), (std::max)(most[2], most[3]));
        nn::kernels::softmax_shift(1, row_.data(), words);
        nn::kernels::exp_nonpositive(row_.data(), words);
        const auto all = static_cast<double>(nn::sum_of_four<float>(words, [&](std::ptrdiff_t i) { return row_[static_cast<std::size_t>(i)]; }));
        if (!std::isfinite(all) || !std::isfinite(top))
            return error{errc::limit, "generator: the model gave logits that are no numbers, or all -infinity"};
        double kept = 0;
        for (const token t : legal) kept += static_cast<double>(row_[t]);
        auto& kind = report_.kinds[static_cast<std::size_t>(b.walk->kind())];
        ++kind.choices;
        kind.masked += 1 - kept / all;

        struct option {
            std::size_t choice;
            double log_weight;
        };
        std::vector<option> able;
        double best = -infinity;
        for (std::size_t c = 0; c < legal.size(); ++c) {
            const double x = (static_cast<double>(logits[legal[c]]) - static_cast<double>(top)) / options.temperature;
            if (seen_.is_spent(b.node, legal[c]) || !(x > -infinity)) continue;
            able.push_back({c, x});
            best = (std::max)(best, x);
        }
        if (able.empty()) return error{errc::limit, "generator: the model gives no legal token a probability"};
        if (options.top_k > 0 || options.top_p < 1) {
            std::sort(able.begin(), able.end(), [](const option& x, const option& y) {
                return x.log_weight != y.log_weight ? x.log_weight > y.log_weight : x.choice < y.choice;
            });
            if (options.top_k > 0) able.resize((std::min)(able.size(), options.top_k));
            double sum = 0, reached = 0;
            for (const auto& o : able) sum += std::exp(o.log_weight - best);
            std::size_t n = 0;
            while (n < able.size() && reached < options.top_p * sum) reached += std::exp(able[n++].log_weight - best);
            able.resize((std::max)(n, std::size_t{1}));
        }
        double sum = 0;
        for (const auto& o : able) sum += std::exp(o.log_weight - best);
        const double log_sum = best + std::log(sum), log_all = std::log(all);
        const auto from = children.size();
        double highest = -infinity;
        for (const auto& o : able) {
            const double p = b.log_probability + o.log_weight - log_sum;
            const double by_model = static_cast<double>(logits[legal[o.choice]]) - static_cast<double>(top) - log_all;
            double score = p;
            if (options.sample) score -= std::log(-std::log((std::max)(rng.uniform(), 1e-300)));
            highest = (std::max)(highest, score);
            children.push_back({parent, o.choice, p, b.model_log_probability + by_model, score});
        }
        if (!options.sample) return {};
        for (auto i = from; i < children.size(); ++i) { // so that the highest is the parent's: equation 10 and appendix B.3 of Kool et al.
            const double v = b.score - children[i].score + log_of_rest(children[i].score - highest);
            children[i].score = b.score - (std::max)(v, 0.0) - std::log1p(std::exp(-std::abs(v)));
        }
        return {};
    }

    /// log(1 - e^x) for x <= 0.
    static double log_of_rest(double x) { return x > -0.6931471805599453 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); }

    /// The beams become the chosen children. The first child of a beam takes its walk and its sequence, the others take copies.
    void follow(std::vector<beam>& beams, const std::vector<child>& children, const std::vector<std::size_t>& chosen,
                std::vector<std::size_t>& free_slots) {
        std::vector<std::vector<std::size_t>> of(beams.size());
        for (const auto c : chosen) of[children[c].parent].push_back(c);
        for (std::size_t i = 0; i < beams.size(); ++i)
            if (of[i].empty() && !beams[i].complete) free_slots.push_back(beams[i].slot);
        std::vector<beam> next;
        next.reserve(chosen.size());
        for (std::size_t i = 0; i < beams.size(); ++i) {
            if (of[i].empty()) continue;
            if (beams[i].complete) {
                next.push_back(std::move(beams[i]));
                continue;
            }
            for (std::size_t k = of[i].size(); k-- > 0;) { // the first one last, for it takes the parent's
                beam b;
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
                const auto& c = children[of[i][k]];
                const token t = b.walk->choices()[c.choice];
                b.path.push_back({beams[i].node, b.walk->choices().size(), t});
                b.node = seen_points::below(beams[i].node, t);
                b.log_probability = c.log_probability;
                b.model_log_probability = c.model_log_probability;
                b.score = c.score;
                b.walk->choose(t);
                session_.append(b.slot, std::span(&t, 1));
                advance(b);
                if (b.complete) free_slots.push_back(b.slot);
                next.push_back(std::move(b));
            }
        }
        beams = std::move(next);
        // the order of scores, so that it does not depend on who took whose walk
        std::sort(beams.begin(), beams.end(), [](const beam& x, const beam& y) {
            return x.score != y.score ? x.score > y.score
                                      : std::lexicographical_compare(x.walk->decisions().begin(), x.walk->decisions().end(),
                                                                     y.walk->decisions().begin(), y.walk->decisions().end());
        });
    }

    result<std::vector<generated_point>> run(const generation_options& options, std::size_t n, random_engine& rng) {
        session_.sequences(n);
        std::vector<std::size_t> free_slots;
        for (std::size_t i = n; i-- > 1;) free_slots.push_back(i);
        std::vector<beam> beams(1);
        beams[0].walk = std::make_unique<token_walk<P>>(*space_, *words_, form_);
        advance(beams[0]);
        std::vector<float> logits;
        for (;;) {
            std::vector<std::size_t> open, slots;
            for (std::size_t i = 0; i < beams.size(); ++i) {
                if (beams[i].complete) continue;
                open.push_back(i);
                slots.push_back(beams[i].slot);
            }
            if (open.empty()) break;
            const std::size_t words = model_->words();
            logits.resize(slots.size() * words);
            if (auto told = session_.logits(slots, std::span<float>(logits)); !told) return told.error();
            std::vector<child> children;
            for (std::size_t i = 0; i < beams.size(); ++i)
                if (beams[i].complete) children.push_back({i, 0, 0, 0, beams[i].score});
            for (std::size_t k = 0; k < open.size(); ++k)
                if (auto grown = grow(options, open[k], beams[open[k]], std::span<const float>(logits).subspan(k * words, words), rng, children);
                    !grown)
                    return grown.error();
            std::vector<std::size_t> order(children.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                return children[a].score != children[b].score ? children[a].score > children[b].score : a < b;
            });
            order.resize((std::min)(order.size(), n));
            follow(beams, children, order, free_slots);
        }
        std::vector<generated_point> out;
        for (auto& b : beams) {
            report_.unsayable += b.walk->unsayable();
            if (seen_.insert(b.path)) out.push_back({b.walk->decisions(), b.log_probability, b.model_log_probability});
        }
        return out;
    }
};

} // namespace augur::inline v0::tlm

#endif
