// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_CORPUS_HPP
#define AUGUR_TLM_CORPUS_HPP

/// @file
/// A corpus of tensor sentences: a data set (dataset/dataset.hpp) whose task keys are prompts and whose primitives are decisions.
///
/// So a prompt is stored once, a decision that was seen before is a number of three bytes, the file format and its reader are those of data sets, and
/// sentences that were measured are a corpus, too, with latencies.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/primitive_table.hpp>
#include <augur/record/measurement.hpp>
#include <augur/space/walk.hpp>
#include <augur/tlm/sentence.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// Latency, in seconds, of a sentence that was not measured: all such sentences of a kernel are equally good.
inline constexpr double unmeasured = 1;

/// Adds the sentence of a point.
///
/// Errors  illegal_schedule, as `trace_path`; those of `dataset_builder::add`
template <decision_tree P>
[[nodiscard]] result<void> add_sentence(dataset_builder& to, std::uint32_t source, std::string_view prompt, const P& space,
                                        std::span<const std::uint64_t> decisions, double seconds = unmeasured, outcome status = outcome::ok) {
    if (auto legal = trace_path(space, decisions); !legal) return legal.error();
    const auto t = to.task(prompt, {}, {});
    if (!t) return t.error();
    std::vector<primitive_id> ids;
    if (auto done = intern(to.primitives(), spoken_point<P>{&space, decisions}, ids); !done) return done;
    return to.add(*t, source, ids, seconds, status);
}

/// Samples sentences from a space (algorithm 1): each decision is drawn as `sample_path` does, and written.
///
/// Cost    of a sentence: a walk, and a look-up of each decision
/// Errors  illegal_schedule: the space has no option for a decision; those of `dataset_builder::add`
template <decision_tree P>
[[nodiscard]] result<void> sample_sentences(dataset_builder& to, std::uint32_t source, std::string_view prompt, const P& space, std::size_t n,
                                            random_engine rng) {
    const auto t = to.task(prompt, {}, {});
    if (!t) return t.error();
    std::vector<primitive_id> ids;
    for (std::size_t i = 0; i < n; ++i) {
        ids.clear();
        primitive_interner sink(to.primitives(), ids);
        sentence_walk<P> walk(space);
        for (std::size_t k = 0; const auto open = walk.next(); ++k) {
            if (open->options == 0)
                return error{errc::illegal_schedule,
                             "corpus: expected at least one option for decision " + std::to_string(k) + ", the space gave none"};
            const auto value = augur::detail::draw(*open, rng);
            walk.name(*open, sink);
            walk.value(value, sink);
            walk.choose(value);
        }
        if (auto done = sink.finish(); !done) return done;
        if (auto added = to.add(*t, source, ids, unmeasured, outcome::ok); !added) return added;
    }
    return {};
}

/// A kernel of a corpus.
template <decision_tree P>
struct corpus_kernel {
    std::string prompt;
    P space;
    std::string source; ///< where it comes from, for example a network
};

/// Samples a corpus: `make(i) -> result<corpus_kernel<P>>` gives kernel i, whose sentences are drawn from stream i of the seed. Equal sentences of a
/// kernel are kept once, so a small space gives fewer than asked for.
///
/// @param go_on  `go_on(kernels done)` -> bool; false: stop
/// Errors        those of `make` and of `dataset_builder`; interrupted
/// Threads       `make` is called from those of the executor; the result does not depend on their number
template <class Make, bulk_executor E, class GoOn>
[[nodiscard]] result<dataset> sample_corpus(std::size_t kernels, const Make& make, std::size_t sentences, std::uint64_t seed, E& threads,
                                            const GoOn& go_on) {
    constexpr std::size_t block = 64; // kernels whose sentences wait for each other
    const random_engine rng(seed);
    dataset_builder all;
    for (std::size_t from = 0; from < kernels; from += block) {
        const auto n = (std::min)(block, kernels - from);
        std::vector<dataset_builder> parts(n);
        std::vector<std::optional<error>> failed(n);
        threads.bulk(n, [&](std::size_t i) {
            auto kernel = make(from + i);
            if (!kernel) {
                failed[i] = kernel.error();
                return;
            }
            const auto source = parts[i].source(kernel->source);
            auto sampled = sample_sentences(parts[i], source, kernel->prompt, kernel->space, sentences, rng.stream(from + i));
            if (!sampled) failed[i] = sampled.error();
        });
        for (std::size_t i = 0; i < n; ++i) {
            if (failed[i]) return *failed[i];
            if (auto merged = all.merge(std::move(parts[i])); !merged) return merged.error();
        }
        if (!go_on(from + n) && from + n < kernels)
            return error{errc::interrupted, "corpus: stopped after " + std::to_string(from + n) + " of " + std::to_string(kernels) + " kernels"};
    }
    return std::move(all).finish();
}

/// Counts the words of a corpus: each prompt once, each sentence's decisions as often as they occur.
[[nodiscard]] inline vocabulary_builder count_words(const dataset& corpus) {
    vocabulary_builder out;
    for (std::size_t t = 0; t < corpus.tasks(); ++t) out.add_text(corpus.task(t).key);
    std::vector<std::uint64_t> times(corpus.primitives().size());
    for (std::size_t r = 0; r < corpus.size(); ++r)
        for (const auto id : corpus.schedule(r)) ++times[id];
    for (primitive_id id = 0; id < times.size(); ++id) {
        word_sink sink([&](std::string_view word) { out.add(word, times[id]); });
        corpus.primitives().visit(id, sink);
    }
    return out;
}

/// What of a decision is written.
enum class sentence_form : std::uint8_t {
    full,   ///< name, marker and value
    compact ///< the value, and only where there is a choice: the space tells the rest
};

/// The tokens of decisions: those of a name and marker, and behind them those of the value, on which a model is trained.
struct decision_tokens {
    std::span<const token> name, value;
    bool forced = false; ///< the space has one option
};

/// The tokens of a corpus. The corpus and the vocabulary must outlive it.
///
/// Cost     four bytes a token of each distinct decision and prompt
/// Threads  const calls are thread-safe
class corpus_tokens {
public:
    corpus_tokens(const dataset& corpus, const vocabulary& words) : corpus_(&corpus) {
        for (primitive_id id = 0; id < corpus.primitives().size(); ++id) {
            place p;
            p.begin = p.value = tokens_.size();
            word_sink sink([&](std::string_view word) {
                if (!words.append(word, tokens_)) note(word);
                if (p.value == p.begin && (word == choice_marker || word == forced_marker)) {
                    p.value = tokens_.size();
                    p.forced = word == forced_marker;
                }
            });
            corpus.primitives().visit(id, sink);
            decisions_.push_back(p);
        }
        for (std::size_t t = 0; t < corpus.tasks(); ++t) {
            prompts_.push_back(tokens_.size());
            tokens_.push_back(vocabulary::begin);
            words.append_text(corpus.task(t).key, tokens_, [&](std::string_view word) { note(word); });
        }
        prompts_.push_back(tokens_.size());
        decisions_.push_back({prompts_.front(), 0, false});
    }

    /// [CLS] and the prompt of a task.
    [[nodiscard]] std::span<const token> prompt(std::size_t task) const {
        return std::span(tokens_).subspan(prompts_[task], prompts_[task + 1] - prompts_[task]);
    }
    [[nodiscard]] decision_tokens decision(primitive_id id) const {
        const auto& p = decisions_[id];
        const std::span<const token> all(tokens_);
        return {all.subspan(p.begin, p.value - p.begin), all.subspan(p.value, decisions_[id + 1].begin - p.value), p.forced};
    }

    /// Appends the decisions of a record and [SEP] to `tokens`, and to `learned` 1 for each token that a model learns, else 0. Learned are [SEP] and the
    /// values of decisions with more than one option. Tokens that had no entry in `learned` get 0.
    void append(std::size_t record, sentence_form form, std::vector<token>& tokens, std::vector<std::uint8_t>& learned) const {
        for (const auto id : corpus_->schedule(record)) {
            const auto d = decision(id);
            if (form == sentence_form::full) tokens.insert(tokens.end(), d.name.begin(), d.name.end());
            learned.resize(tokens.size(), 0);
            if (form == sentence_form::full || !d.forced) tokens.insert(tokens.end(), d.value.begin(), d.value.end());
            learned.resize(tokens.size(), d.forced ? 0 : 1);
        }
        tokens.push_back(vocabulary::end);
        learned.push_back(1);
    }

    /// The words that the vocabulary does not know.
    [[nodiscard]] const std::set<std::string, std::less<>>& unknown() const noexcept { return unknown_; }

private:
    struct place {
        std::size_t begin = 0, value = 0; ///< in `tokens_`
        bool forced = false;
    };
    const dataset* corpus_;
    std::vector<token> tokens_;
    std::vector<place> decisions_;
    std::vector<std::size_t> prompts_;
    std::set<std::string, std::less<>> unknown_;

    void note(std::string_view word) {
        if (!unknown_.contains(word)) unknown_.emplace(word);
    }
};

} // namespace augur::inline v0::tlm

#endif
