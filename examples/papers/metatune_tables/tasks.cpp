// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metatune_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <augur/core/random_engine.hpp>
#include <augur/io/autotvm_archive.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/schedule/hash.hpp>
#include <augur/space/autotvm_convolution.hpp>
#include <augur/space/autotvm_nest.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/vocabulary.hpp>
#include <augur/workload/iterator_features.hpp>

namespace metatune_tables {

namespace {

using augur::result;

/// A task before its loops have places in the graph.
struct loose_task {
    table_task task;
    std::vector<augur::iterator_features> loops;
    std::vector<augur::autotvm_config> configs;
};

/// The configurations that ran, with the least of their latencies; at most `most` of them, drawn.
result<loose_task> sample(augur::autotvm_archive& from, const augur::autotvm_convolution& convolution, std::size_t most, std::uint64_t seed) {
    const auto& records = from.records.records;
    std::map<std::uint64_t, std::size_t> first; // record of a configuration
    std::vector<std::size_t> order;
    std::vector<double> least(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (!records[i].measured.ok()) continue;
        least[i] = records[i].measured.latency();
        const auto [at, fresh] = first.try_emplace(augur::hash_schedule(records[i].point), i);
        if (fresh) order.push_back(i);
        else least[at->second] = (std::min)(least[at->second], least[i]);
    }
    loose_task out;
    out.task.name = from.records.workload;
    if (order.empty()) return out;
    out.task.least = std::accumulate(order.begin(), order.end(), least[order[0]], [&](double a, std::size_t i) { return (std::min)(a, least[i]); });
    augur::random_engine rng(seed);
    rng.shuffle(std::span(order));
    order.resize((std::min)(order.size(), most));
    for (const std::size_t i : order) {
        const auto nest = augur::autotvm_nest::make(convolution, from.configs[i]);
        if (!nest) return nest.error();
        auto loops = augur::iterator_features_of(*nest);
        if (!loops) return loops.error();
        out.loops.push_back(*std::move(loops));
        out.configs.push_back(from.configs[i]);
        out.task.samples.seconds.push_back(least[i]);
    }
    return out;
}

/// The tasks of a log that are of the template, by key.
result<std::vector<std::pair<augur::autotvm_archive, augur::autotvm_convolution>>> read_log(const std::string& path, std::string_view form,
                                                                                            std::size_t& copied, examples::executor& threads) {
    auto files = augur::read_autotvm_archives(std::vector<std::string>{path}, threads);
    if (!files) return files.error();
    const augur::log_summary& said = files->front().report.summary;
    if (said.bad > 0 || said.torn)
        std::fprintf(stderr, "metatune_tables: %s: %zu bad lines are left out%s\n", path.c_str(), said.bad,
                     said.torn ? ", and the end of the log" : "");
    if (files->front().empty_tasks > 0)
        std::fprintf(stderr, "metatune_tables: %s: %zu tasks with %zu records are left out, as no record has a knob\n", path.c_str(),
                     files->front().empty_tasks, files->front().bad);
    std::vector<std::pair<augur::autotvm_archive, augur::autotvm_convolution>> out;
    for (augur::autotvm_archive& a : files->front().tasks) {
        const auto convolution = augur::parse_autotvm_convolution(a.records.workload);
        if (!convolution && convolution.error().code == augur::errc::not_found) continue; // another template
        if (!convolution) return convolution.error();
        if (augur::autotvm_template_names[static_cast<std::size_t>(convolution->form)] != form) continue;
        copied += examples::clean(a.records, a.configs).copied;
        out.emplace_back(std::move(a), *convolution);
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first.records.workload < b.first.records.workload; });
    return out;
}

/// TLP's rows of a configuration.
result<metatune::loop_rows> knob_rows(const augur::autotvm_config& config, const augur::tlp::schema& schema) {
    std::vector<float> values(schema.rows * schema.columns);
    const auto valid = augur::tlp::extract_features(config, schema, values);
    if (!valid) return valid.error();
    metatune::loop_rows out;
    out.features = Eigen::Map<const augur::nn::matrix<float>>(values.data(), static_cast<augur::nn::index>(schema.rows),
                                                              static_cast<augur::nn::index>(schema.columns));
    out.present.assign(schema.rows, 1);
    out.parents.assign(schema.rows, metatune::loop_rows::no_parent);
    return out;
}

} // namespace

result<device_tasks> read_device(const std::string& data, const log_pair& logs, const sample_sizes& sizes, model_input input,
                                 examples::executor& threads) {
    device_tasks out;
    out.device = logs.device;
    const auto path_of = [&](std::string_view network) {
        return data + "/autotvm/" + std::string(logs.device) + '.' + std::string(network) + ".jsonl.gz";
    };
    std::vector<loose_task> loose;
    std::size_t learned = 0;
    std::set<std::string> judged;
    auto learn = read_log(path_of(logs.learn), logs.form, out.copied, threads);
    if (!learn) return learn.error();
    auto test = read_log(path_of(logs.judge), logs.form, out.copied, threads);
    if (!test) return test.error();
    for (const auto& [archive, convolution] : *test) judged.insert(archive.records.workload);
    for (auto* log : {&*learn, &*test})
        for (auto& [archive, convolution] : *log) {
            if (log == &*learn && judged.contains(archive.records.workload)) {
                ++out.shared;
                continue;
            }
            const auto wanted = log == &*learn ? sizes.train : sizes.test;
            auto one = sample(archive, convolution, wanted, sizes.seed);
            if (!one) return augur::error{one.error().code, archive.records.workload + ": " + one.error().detail};
            if (one->loops.size() < (std::min)(sizes.train, wanted)) continue; // too few ran
            learned += log == &*learn ? 1 : 0;
            loose.push_back(*std::move(one));
        }
    if (learned < 4 || learned == loose.size())
        return augur::error{augur::errc::invalid_argument, out.device + ": expected four tasks to learn from and one to be judged by, got " +
                                                               std::to_string(learned) + " and " + std::to_string(loose.size() - learned)};
    metatune::super_graph graph;          // of the loops of all tasks: a structure, no measurement
    augur::tlp::vocabulary_builder words; // likewise
    for (const loose_task& t : loose) {
        for (const auto& loops : t.loops)
            if (input == model_input::super_graph)
                if (auto added = graph.add(loops, logs.form); !added) return added.error();
        for (const auto& config : t.configs) words.see(config);
    }
    const auto schema = words.schema();
    if (!schema) return schema.error();
    for (std::size_t i = 0; i < loose.size(); ++i) {
        for (std::size_t c = 0; c < loose[i].loops.size(); ++c) {
            const auto& loops = loose[i].loops[c];
            auto rows = input == model_input::super_graph ? graph.place(loops, logs.form)
                        : input == model_input::plain     ? augur::result<metatune::loop_rows>(metatune::rows_of(loops))
                                                          : knob_rows(loose[i].configs[c], *schema);
            if (!rows) return rows.error();
            out.features = static_cast<std::size_t>(rows->features.cols());
            loose[i].task.samples.candidates.push_back(*std::move(rows));
        }
        auto& to = i >= learned ? out.test : i % 4 == 3 ? out.held_out : out.train;
        to.push_back(std::move(loose[i].task));
    }
    if (input == model_input::primitives) { // TLP scales its input itself
        out.tlp = augur::tlp::config::small(0).with_input(*schema);
        return out;
    }
    std::vector<const metatune::loop_rows*> learned_from;
    for (const table_task& t : out.train)
        for (const auto& rows : t.samples.candidates) learned_from.push_back(&rows);
    const auto columns = metatune::standardisation::fit(learned_from);
    for (auto* list : {&out.train, &out.held_out, &out.test})
        for (table_task& t : *list)
            for (auto& rows : t.samples.candidates)
                if (auto applied = columns.apply(rows); !applied) return applied.error();
    return out;
}

device_tasks made_up_device(model_input input) {
    constexpr std::size_t loops = 3, columns = 4, candidates = 60;
    const std::size_t slots = input == model_input::super_graph ? loops + 1 : loops; // the last one is absent
    device_tasks out;
    out.device = "made up";
    out.features = columns;
    out.tlp = augur::tlp::config::small(columns);
    out.tlp.numbers = columns;
    for (std::size_t t = 0; t < 10; ++t) {
        augur::random_engine rng = augur::random_engine(7).stream(t);
        table_task task;
        task.name = "task " + std::to_string(t);
        const double slope = 0.3 + 0.4 * rng.uniform(); // what differs from task to task
        for (std::size_t i = 0; i < candidates; ++i) {
            metatune::loop_rows rows;
            rows.features = augur::nn::matrix<float>::Zero(static_cast<augur::nn::index>(slots), columns);
            rows.present = {1, 1, 1, 0};
            rows.parents = {metatune::loop_rows::no_parent, 0, 1, metatune::loop_rows::no_parent};
            rows.present.resize(slots);
            rows.parents.resize(slots);
            double log_seconds = -7;
            for (std::size_t l = 0; l < loops; ++l) {
                const double length = 2 * rng.uniform() - 1;
                const auto row = static_cast<augur::nn::index>(l);
                rows.features(row, 0) = static_cast<float>(length);
                rows.features(row, 1 + row) = 1;
                log_seconds += l == 0 ? slope * length : l == 1 ? -0.8 * length : 0;
            }
            task.samples.candidates.push_back(std::move(rows));
            task.samples.seconds.push_back(std::exp(log_seconds));
        }
        task.least = task.samples.least();
        (t < 6 ? out.train : t < 7 ? out.held_out : out.test).push_back(std::move(task));
    }
    return out;
}

} // namespace metatune_tables
