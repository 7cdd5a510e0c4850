// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlm_offline.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/nn/types.hpp>
#include <augur/tlm/generate/generation.hpp>
#include <augur/tlm/generate/unconstrained.hpp>

#include "console.hpp"

namespace tlm_offline {

namespace {

using augur::error;
using augur::result;

/// Of the words of the corpus, and those of the judged sentences if they are wanted.   Errors: those of `vocabulary_builder::build`
result<tlm::vocabulary> vocabulary_of(const wishes& w, const augur::dataset& corpus, const std::vector<judged_task>& tested) {
    auto counted = tlm::count_words(corpus);
    if (w.vocabulary == "all") // words alone, not what is fast: without them a sketch that no lesson has could not be told, nor could a new class
        for (const auto& task : tested) {
            counted.add_text(task.prompt);
            for (const auto& word : task.words) counted.add(word);
        }
    return counted.build(w.numbers == "factors" ? tlm::number_form::factors : tlm::number_form::words);
}

/// Tokens of the longest sentence of the corpus, its prompt included.
std::size_t longest_of(const augur::dataset& corpus, const tlm::corpus_tokens& tokens) {
    std::size_t longest = 0;
    std::vector<tlm::token> ids;
    std::vector<std::uint8_t> learned;
    for (std::size_t t = 0; t < corpus.tasks(); ++t)
        for (auto r = corpus.task(t).first; r < corpus.task(t).last; ++r) {
            ids.clear();
            learned.clear();
            tokens.append(static_cast<std::size_t>(r), form, ids, learned);
            longest = (std::max)(longest, tokens.prompt(t).size() + ids.size());
        }
    return longest;
}

double sum_of(const std::vector<std::size_t>& all) { return static_cast<double>(std::accumulate(all.begin(), all.end(), std::size_t{0})); }

} // namespace

result<model_result> train_and_judge(const wishes& w, const material& m, std::size_t count, const std::string& checkpoint,
                                     examples::executor& threads) {
    const auto corpus = corpus_of(m, count, threads);
    if (!corpus) return corpus.error();
    const auto words = vocabulary_of(w, *corpus, m.tested);
    if (!words) return words.error();
    const tlm::corpus_tokens tokens(*corpus, *words);
    const std::size_t n = m.tested.size();
    std::vector<std::vector<tlm::token>> prompts(n);
    std::vector<std::vector<told_point>> told(n);
    std::vector<std::optional<error>> failed(n);
    const auto fail = [&](std::size_t t, const error& why) { failed[t] = error{why.code, m.tested[t].name + ": " + why.detail}; };
    threads.bulk(n, [&](std::size_t t) {
        prompts[t].push_back(tlm::vocabulary::begin);
        words->append_text(m.tested[t].prompt, prompts[t]);
        for (const auto& point : m.tested[t].points) {
            if (examples::stop_requested()) return;
            auto one = tell(m.tested[t].space, point, *words);
            if (!one) return fail(t, one.error());
            told[t].push_back(*std::move(one));
        }
    });
    if (examples::stop_requested()) return stopped();
    std::size_t longest = longest_of(*corpus, tokens), untold = 0; // looked at here, for a training takes long
    for (std::size_t t = 0; t < n; ++t) {
        if (failed[t]) return *failed[t];
        for (const auto& p : told[t]) {
            longest = (std::max)(longest, prompts[t].size() + p.tokens.size());
            untold += p.tokens.empty() ? 1 : 0;
        }
    }
    auto config = w.config;
    config.words = static_cast<augur::nn::index>(words->size());
    if (auto fits = config.check(); !fits) return fits.error();
    if (longest > static_cast<std::size_t>(config.context))
        return error{augur::errc::limit, "expected sentences of at most " + std::to_string(config.context) +
                                             " tokens with their prompts, the longest has " + std::to_string(longest) +
                                             "; --context N sets the limit"};

    auto net = tlm::gpt2<float>::random_init(config, augur::random_engine(w.seed));
    auto options = w.training;
    options.seed = w.seed;
    options.checkpoint = checkpoint;
    examples::progress_line line;
    const auto trained = tlm::train(net, *corpus, tokens, form, options, threads, [&](const tlm::training_progress& p) {
        if (p.step % 100 == 0 || p.step == p.steps)
            line.show(p.step, p.steps,
                      examples::text_of("%zu sentences: epoch %.2f  loss %.4f  %.0f tokens a second  %.0f s left", count, p.epoch, p.loss,
                                        p.tokens_per_second, p.seconds_left),
                      true);
        return !examples::stop_requested();
    });
    line.clear();
    if (!trained) return trained.error();

    line.show(0, 1, examples::text_of("%zu sentences: judging", count), true);
    const tlm::frozen_gpt2 model(std::move(net)); // each task is one thread's work
    std::vector<both_scores> scores(n);
    std::vector<std::size_t> begun(n), legal(n);
    threads.bulk(n, [&](std::size_t t) {
        if (examples::stop_requested()) return;
        auto scored = log_probabilities(model, prompts[t], told[t]);
        if (!scored) return fail(t, scored.error());
        scores[t] = *std::move(scored);
        tlm::generation_options sampling;
        sampling.count = w.samples;
        sampling.seed = augur::mix64(w.seed ^ augur::mix64(t));
        constexpr std::size_t passes = 1; // what is not legal is not written anew
        const auto written = tlm::generate_unconstrained(model, *words, form, m.tested[t].prompt, m.tested[t].space, sampling, passes);
        if (!written) return fail(t, written.error());
        begun[t] = written->calls;
        legal[t] = written->calls - written->illegal;
    });
    line.clear();
    if (examples::stop_requested()) return stopped();
    std::array<judgement, 2> by;
    for (std::size_t t = 0; t < n; ++t) {
        if (failed[t]) return *failed[t];
        for (std::size_t i = 0; i < by.size(); ++i) by[i].add(m.tested[t], scores[t][i]);
    }
    model_result out;
    out.model = {static_cast<double>(corpus->size()), static_cast<double>(corpus->tasks()),           static_cast<double>(words->size()),
                 config.parameters() / 1e6,           sum_of(legal) / (std::max)(sum_of(begun), 1.0), static_cast<double>(untold)};
    for (std::size_t i = 0; i < by.size(); ++i) out.by[i] = by[i].numbers();
    return out;
}

} // namespace tlm_offline
