// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/builder.hpp>
#include <augur/tlm/corpus.hpp>
#include <augur/tlm/generative_search.hpp>
#include <augur/tlm/gpt2.hpp>
#include <augur/tlm/online.hpp>
#include <augur/tlm/train/trainer.hpp>

#include "console.hpp"

namespace {

namespace tlm = augur::tlm;
using augur::result;

/// The sentences of the fastest known points of the template of task `t`.
result<augur::dataset> measured_sentences(const device_records& on, std::size_t t, std::size_t best) {
    augur::dataset_builder to;
    const auto source = to.source("known");
    for (const auto& [task, record] : fastest_known(on, t, best)) {
        const auto& from = on.tasks[task];
        const auto point = from.space.decide(from.archive.records[record].point);
        if (!point) return point.error();
        if (auto added = tlm::add_sentence(to, source, prompt_of(on, task), from.space, *point, from.archive.records[record].measured.latency());
            !added)
            return added.error();
    }
    return std::move(to).finish();
}

/// A training of a template, of which task `t` is replayed.
result<std::shared_ptr<const tlm::language_model>> train(const device_records& on, std::size_t t, const language_plan& plan, std::uint64_t seed) {
    std::vector<std::size_t> learned;
    for (const auto& [task, record] : history(on, t))
        if (learned.empty() || learned.back() != task) learned.push_back(task);
    augur::serial_executor serial; // the trainings are parallel
    const auto kernel = [&](std::size_t i) -> result<tlm::corpus_kernel<augur::recorded_space>> {
        return tlm::corpus_kernel<augur::recorded_space>{prompt_of(on, learned[i]), on.tasks[learned[i]].space, on.device};
    };
    const auto corpus =
        tlm::sample_corpus(learned.size(), kernel, plan.sentences, seed, serial, [](std::size_t) { return !examples::stop_requested(); });
    if (!corpus) return corpus.error();
    auto counted = tlm::count_words(*corpus);
    counted.add_text(prompt_of(on, t)); // a structure, no measurement
    const auto words = counted.build();
    if (!words) return words.error();
    tlm::gpt2_config config;
    config.words = static_cast<std::ptrdiff_t>(words->size());
    config.layers = 2;
    config.width = 128;
    config.hidden = 512;
    auto net = tlm::gpt2<float>::random_init(config, augur::random_engine(seed));
    const auto progress = [](const tlm::training_progress&) { return !examples::stop_requested(); };
    tlm::training_options options;
    options.epochs = plan.epochs;
    options.seed = seed;
    const tlm::corpus_tokens tokens(*corpus, *words);
    if (auto done = tlm::train(net, *corpus, tokens, tlm::sentence_form::compact, options, serial, progress); !done) return done.error();
    const auto known = measured_sentences(on, t, plan.best);
    if (!known) return known.error();
    options = tlm::fine_tuning();
    options.epochs = plan.fine_epochs;
    options.seed = seed;
    const tlm::corpus_tokens known_tokens(*known, *words);
    if (auto done = tlm::train(net, *known, known_tokens, tlm::sentence_form::compact, options, serial, progress); !done) return done.error();
    if (examples::stop_requested()) return augur::error{augur::errc::interrupted, on.device + ": stopped before the language model was trained"};
    return std::make_shared<const tlm::language_model>(tlm::language_model{std::move(net), *words, tlm::sentence_form::compact});
}

/// A search and the model that learns while it runs.
struct owning_search {
    using online = tlm::online_model<augur::serial_executor>;

    owning_search(const device_records& on, std::size_t t, const tlm::language_model& base, std::uint64_t seed)
        : model(std::make_unique<online>(base, serial(), learning(seed))), search(*model, prompt_of(on, t), on.tasks[t].space) {}

    result<std::vector<augur::decision_vector>> propose(const augur::recorded_space& space, auto& scorer, std::size_t n, augur::random_engine& rng) {
        return search.propose(space, scorer, n, rng);
    }
    void observe(std::span<const augur::measured_decisions> points) { search.observe(points); }

    std::unique_ptr<online> model;
    tlm::generative_search<online, augur::recorded_space> search;

private:
    static augur::serial_executor& serial() {
        static augur::serial_executor one; // has no state
        return one;
    }
    static tlm::online_options learning(std::uint64_t seed) {
        tlm::online_options o;
        o.first_update = 16;
        o.fit.seed = seed;
        return o;
    }
};

} // namespace

std::string prompt_of(const device_records& on, std::size_t t) { return numbers_of(on.tasks[t].archive.workload); }

std::vector<std::pair<std::size_t, std::size_t>> fastest_known(const device_records& on, std::size_t t, std::size_t best) {
    std::map<std::size_t, std::vector<std::pair<double, std::size_t>>> by_task; // latency and record
    for (const auto& [task, record] : history(on, t))
        if (const double latency = on.tasks[task].archive.records[record].measured.latency(); std::isfinite(latency))
            by_task[task].emplace_back(latency, record);
    for (auto& [task, records] : by_task) std::sort(records.begin(), records.end());
    std::vector<std::pair<std::size_t, std::size_t>> out;
    for (std::size_t rank = 0; rank < best; ++rank)
        for (const auto& [task, records] : by_task)
            if (rank < records.size()) out.emplace_back(task, records[rank].second);
    return out;
}

result<void> learn_languages(std::span<device_records> devices, const language_plan& plan, std::size_t trainings, examples::executor& threads) {
    struct job {
        const device_records* on;
        std::size_t task;
        std::uint64_t seed;
        std::shared_ptr<const tlm::language_model>* to;
    };
    std::vector<job> jobs;
    for (device_records& device : devices)
        for (std::size_t t = 0; t < device.replayed; ++t) {
            if (history(device, t).empty() || device.languages.contains(form_of(device, t))) continue;
            auto& models = device.languages[std::string(form_of(device, t))];
            models.resize(trainings);
            for (std::size_t n = 0; n < trainings; ++n) jobs.push_back({&device, t, n + 1, &models[n]});
        }
    std::vector<result<void>> done(jobs.size());
    threads.bulk(jobs.size(), [&](std::size_t i) {
        auto model = train(*jobs[i].on, jobs[i].task, plan, jobs[i].seed);
        if (model) *jobs[i].to = *std::move(model);
        else done[i] = model.error();
    });
    for (auto& d : done)
        if (!d) return std::move(d);
    return {};
}

examples::recorded_strategy language_search(const device_records& on, std::size_t t, std::uint64_t seed) {
    const auto& models = on.languages.find(form_of(on, t))->second;
    return examples::recorded_strategy(owning_search(on, t, *models[(seed - 1) % models.size()], seed));
}
