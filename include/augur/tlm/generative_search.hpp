// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATIVE_SEARCH_HPP
#define AUGUR_TLM_GENERATIVE_SEARCH_HPP

/// @file
/// A search strategy whose points a language model writes (Zhai et al. 2024, section 5).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/concepts.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generate/generator.hpp>
#include <augur/tlm/generate/next_token.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// A language model that does not learn, for `generative_search`. `online_model` is one that does.
///
/// pre: model and vocabulary outlive it
template <next_token_model M>
class fixed_model {
public:
    fixed_model(const M& model, const vocabulary& words, sentence_form form) : model_(&model), words_(&words), form_(form) {}
    [[nodiscard]] std::shared_ptr<const M> current() const { return {std::shared_ptr<const M>(), model_}; }
    template <decision_tree P>
    void observe(std::string_view, const P&, std::span<const std::uint64_t>, double) const noexcept {}
    [[nodiscard]] const vocabulary& words() const noexcept { return *words_; }
    [[nodiscard]] sentence_form form() const noexcept { return form_; }

private:
    const M* model_;
    const vocabulary* words_;
    sentence_form form_;
};

/// Options of `generative_search`.
struct generative_search_options {
    generation_options sampling{}; ///< `count` and `seed` are of each proposal; `sample` is true
    bool likely_first = true;      ///< the first point of all is the most likely one (greedy), not a sample
    double explored = 0.25;        ///< share of the other points that are drawn uniformly from the space, because the model may be confidently wrong
};

/// Proposes points that a language model writes for one kernel. The scorer is not asked: with one, `draft_then_verify` ranks what this search drafts.
///
/// ```cpp
/// augur::tlm::online_model language(*std::move(base), threads); // learns from what is measured
/// std::vector<augur::tlm::generative_search<decltype(language), space>> strategies;
/// for (std::size_t k = 0; k < tasks.size(); ++k) strategies.emplace_back(language, augur::tlm::prompt_text(tasks[k], machine), spaces[k]);
/// augur::tuner t(tasks, spaces, strategies, options);
/// ```
///
/// All points are legal and none comes twice, nor one that was observed. After the model has learned, generation begins anew with the points so far left
/// out. Observed points that the space does not have, because it has changed, wait until it has them, and so do points that an error kept back.
///
/// Cost     of a proposal: the model for each choice of each point, at most; a fine-tuning where one is due
/// Threads  one thread for all searches of a model; model and space must outlive them
/// @tparam Language  `fixed_model`, `online_model`, or what has their members
template <class Language, decision_tree P>
class generative_search {
public:
    /// pre: options.explored within 0 and 1
    generative_search(Language& language, std::string prompt, const P& space, generative_search_options options = {})
        : language_(&language), prompt_(std::move(prompt)), space_(&space), options_(options), greedy_(options.likely_first) {
        AUGUR_ASSERT(options.explored >= 0 && options.explored <= 1, "generative_search: options");
    }

    /// See `search_strategy`. Points that the vocabulary cannot tell are drawn when no other is left.   Errors: those of `generator`
    /// pre: the space is that of the search
    template <point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const P&, F&, std::size_t n, random_engine& rng) {
        std::vector<decision_vector> out, waiting;
        for (auto& point : held_) (out.size() < n && trace_path(*space_, point) ? out : waiting).push_back(std::move(point));
        held_ = std::move(waiting);
        if (out.size() == n) return out;
        if (auto filled = fill(n, rng, out); !filled) {
            held_.insert(held_.begin(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
            return filled.error();
        }
        return out;
    }

    void observe(std::span<const measured_decisions> points) {
        for (const auto& p : points) {
            language_->observe(prompt_, *space_, p.decisions, p.latency);
            if (seen_.insert(p.decisions).second) others_.push_back(p.decisions);
            else std::erase(held_, p.decisions);
        }
    }

    /// What generation did since the model has last learned.
    [[nodiscard]] generation_report report() const { return generator_ ? generator_->report() : generation_report{}; }

private:
    using model_type = std::remove_cvref_t<decltype(*std::declval<Language&>().current())>;

    Language* language_;
    std::string prompt_;
    const P* space_;
    generative_search_options options_;
    bool greedy_;                             ///< the next point is the most likely one
    std::shared_ptr<const model_type> model_; ///< of `generator_`
    std::optional<generator<model_type, P>> generator_;
    std::set<decision_vector> seen_;      ///< proposed or observed
    std::vector<decision_vector> others_; ///< drawn or observed, not yet known to the generator
    std::vector<decision_vector> held_;   ///< kept back by an error

    /// Appends points until there are `n`, fewer if the space has no more.
    result<void> fill(std::size_t n, random_engine& rng, std::vector<decision_vector>& out) {
        if (auto ready = refresh(); !ready) return ready;
        if (greedy_) {
            if (auto written = write(1, false, rng(), out); !written) return written;
            greedy_ = false;
        }
        const auto drawn = static_cast<std::size_t>(std::lround(options_.explored * static_cast<double>(n - out.size())));
        if (auto written = write(n - out.size() - drawn, true, rng(), out); !written) return written;
        draw(n, 16 * drawn, rng, out);
        if (out.size() == n) return {};
        if (auto told = exclude_others(); !told) return told; // what drawing did not find of a small space
        if (auto written = write(n - out.size(), true, rng(), out); !written) return written;
        draw(n, 256 * (n - out.size()), rng, out);
        return {};
    }

    /// Appends `count` points, fewer if the space has no more.
    result<void> write(std::size_t count, bool sample, std::uint64_t seed, std::vector<decision_vector>& out) {
        auto wanted = options_.sampling;
        wanted.count = count;
        wanted.sample = sample;
        wanted.seed = seed;
        auto written = generator_->generate(wanted);
        if (!written) return written.error();
        for (auto& point : *written) {
            seen_.insert(point.decisions);
            out.push_back(std::move(point.decisions));
        }
        return {};
    }

    /// Appends points of the space that were not seen, until there are `n`.
    void draw(std::size_t n, std::size_t tries, random_engine& rng, std::vector<decision_vector>& out) {
        for (; out.size() < n && tries > 0; --tries) {
            auto point = sample_path(*space_, rng).values;
            if (!trace_path(*space_, point) || !seen_.insert(point).second) continue; // a walk may meet a decision without options
            others_.push_back(point);
            out.push_back(std::move(point));
        }
    }

    result<void> exclude_others() {
        std::vector<decision_vector> waiting;
        result<void> outcome;
        for (auto& point : others_) {
            const bool told = outcome && trace_path(*space_, point) && (outcome = generator_->exclude(point));
            if (!told) waiting.push_back(std::move(point));
        }
        others_ = std::move(waiting);
        return outcome;
    }

    /// Makes a generator of the model as it is now, and tells it what is not to come again.
    result<void> refresh() {
        auto now = language_->current();
        if (generator_ && now == model_) return exclude_others();
        auto made = generator<model_type, P>::create(*now, language_->words(), language_->form(), prompt_, *space_);
        if (!made) return made.error();
        generator_.reset(); // before its model
        model_ = std::move(now);
        generator_.emplace(*std::move(made));
        others_.assign(seen_.begin(), seen_.end());
        return exclude_others();
    }
};

} // namespace augur::inline v0::tlm

#endif
