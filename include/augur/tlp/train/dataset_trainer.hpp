// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_DATASET_TRAINER_HPP
#define AUGUR_TLP_TRAIN_DATASET_TRAINER_HPP

/// @file
/// Trains and evaluates a TLP model on a data set: validation after each epoch, checkpoints, bit-identical results for any number of threads.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/hash.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/top_k.hpp>
#include <augur/nn/train/loss.hpp>
#include <augur/nn/train/optimiser.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/detail/ranking_groups.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/train/checkpoint.hpp>
#include <augur/tlp/train/forward_backward.hpp>
#include <augur/tlp/train/mtl_loss.hpp>
#include <augur/tlp/train/options.hpp>
#include <augur/tlp/train/samples.hpp>
#include <augur/tlp/weights_file.hpp>

namespace augur::inline v0::tlp {

/// Progress of a training, reported after every epoch.
struct training_progress {
    std::size_t epoch = 0, epochs = 0; ///< finished and planned epochs
    epoch_report last;                 ///< report of the last epoch
    double seconds = 0;                ///< elapsed time of this call
    double seconds_left = 0;           ///< estimated remaining time
};

/// Result of a training.
struct training_report {
    std::vector<epoch_report> history;
    std::size_t best = 0;         ///< epoch, from 0, of the returned weights: maximum of top-1 + top-5; the last epoch without validation
    std::size_t steps = 0;        ///< optimiser steps
    std::size_t refused = 0;      ///< training samples with a primitive that the vocabulary refuses
    std::size_t resumed_from = 0; ///< epochs in the checkpoint at the start
    bool stopped = false;         ///< stopped by `progress`
};

/// Returns scores (N, K) of N records by the K outputs; -infinity if the vocabulary refuses a primitive.
///
/// pre: `table` has all primitives of `data`, and as many columns as the model
template <bulk_executor Executor>
[[nodiscard]] std::vector<float> record_scores(const model<float>& net, const row_table& table, const dataset& data,
                                               std::span<const std::uint32_t> records, Executor& executor, forward_backward<float>& pass) {
    constexpr std::size_t block = 1024;
    const std::size_t outputs = net.decoders.size();
    std::vector<float> scores(records.size() * outputs);
    deduplicated_batch batch(table.schema().columns, net.config.order());
    for (std::size_t first = 0; first < records.size(); first += block) {
        const std::size_t n = (std::min)(block, records.size() - first);
        const auto part = std::span<float>(scores).subspan(first * outputs, n * outputs);
        std::vector<std::size_t> unknown;
        batch.clear();
        for (std::size_t i = 0; i < n; ++i) {
            if (batch.add(data.schedule(records[first + i]), table)) continue;
            batch.add(std::span<const float>());
            unknown.push_back(i);
        }
        pass.forward(net, batch, executor, part);
        for (const std::size_t i : unknown)
            std::fill_n(part.begin() + static_cast<std::ptrdiff_t>(i * outputs), outputs, -std::numeric_limits<float>::infinity());
    }
    return scores;
}

/// Top-k scores of one output on the samples that have a label for it; every task has weight 1.
template <bulk_executor Executor>
[[nodiscard]] top_k_score evaluate_top_k(const model<float>& net, const row_table& table, const dataset& data, const training_samples& samples,
                                         std::size_t output, Executor& executor, forward_backward<float>& pass,
                                         std::vector<std::size_t> ks = {1, 5}) {
    AUGUR_ASSERT(samples.outputs == net.decoders.size() && output < samples.outputs, "evaluate_top_k: outputs");
    top_k_score sum(std::move(ks));
    const auto all = record_scores(net, table, data, samples.records, executor, pass);
    std::vector<float> scores, labels;
    for (std::size_t i = 0; i < samples.size();) {
        const std::uint32_t group = samples.groups[i];
        scores.clear();
        labels.clear();
        for (; i < samples.size() && samples.groups[i] == group; ++i) {
            const std::size_t at = i * samples.outputs + output;
            if (samples.known[at] == 0) continue;
            scores.push_back(all[at]);
            labels.push_back(samples.labels[at]);
        }
        if (!labels.empty()) sum.add(std::span<const float>(scores), std::span<const float>(labels), samples.least[group * samples.outputs + output]);
    }
    return sum;
}

namespace detail {

/// Does any task have a valid record with a label of `output`?
inline bool can_evaluate(const training_samples& samples, std::size_t output) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double least = samples.least[samples.groups[i] * samples.outputs + output];
        if (samples.known[i * samples.outputs + output] != 0 && std::isfinite(least)) return true;
    }
    return false;
}

/// Hash of everything that determines the result of a training: features, config, initial weights, samples and options.
inline std::uint64_t run_hash(const model<float>& net, const row_table& table, const dataset& data, const training_samples& train,
                              const training_samples& validation, const training_options& o) {
    const auto bytes = [](const auto& v) { return std::string_view(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(v[0])); };
    std::uint64_t hash = mix64(table.schema().hash());
    for (std::uint32_t row = 0; row < table.distinct(); ++row) hash = fnv1a64(bytes(table.values(row)), hash);
    hash = fnv1a64(config_json(net.config), hash);
    model<float>::visit(
        [&](std::string_view, const auto& p) {
            hash = fnv1a64({reinterpret_cast<const char*>(p.data()), static_cast<std::size_t>(p.size()) * sizeof(float)}, hash);
        },
        net);
    for (const training_samples* s : {&train, &validation}) {
        for (const std::uint32_t r : s->records) {
            const auto ids = data.schedule(r);
            hash = mix64(hash ^ ids.size());
            for (const primitive_id id : ids) hash = mix64(hash ^ table.row(id));
        }
        hash = fnv1a64(bytes(s->least), fnv1a64(bytes(s->known), fnv1a64(bytes(s->labels), fnv1a64(bytes(s->groups), hash))));
    }
    const std::vector<std::uint64_t> words{static_cast<std::uint64_t>(o.fine.loss),
                                           static_cast<std::uint64_t>(o.fine.by_task),
                                           o.fine.list,
                                           o.batch,
                                           o.fine.rate == learning_rate_decay::cosine ? o.epochs : 0, // without cosine decay a run may be extended
                                           static_cast<std::uint64_t>(o.fine.rate),
                                           o.fine.rate_every,
                                           static_cast<std::uint64_t>(o.fine.decoders_only),
                                           o.fine.target_head,
                                           o.fine.target_head_passes,
                                           o.seed};
    std::vector<double> numbers{o.learning_rate, o.fine.weight_decay, o.fine.clip, o.fine.rate_factor, o.fine.sharpness, o.fine.regret};
    numbers.insert(numbers.end(), o.fine.output_weights.begin(), o.fine.output_weights.end());
    return fnv1a64(bytes(numbers), fnv1a64(bytes(words), hash));
}

} // namespace detail

/// Trains a model on samples, in place, and keeps the weights of the best epoch.
///
/// Equal arguments give bit-identical weights with every executor, also for an interrupted run: with `options.checkpoint` it resumes after the last
/// finished epoch.
///
/// @param table       rows of all primitives of `data` under the model's schema
/// @param train       samples with as many outputs as the model
/// @param validation  evaluated after each epoch; may be empty
/// @param progress    `progress(training_progress) -> bool`; false stops after this epoch
/// Errors: invalid_argument, shape_mismatch, not_found (no usable sample), limit (the loss or a weight is not finite), io; those of
/// `load_checkpoint`, among them version_mismatch if the file is of another run
template <bulk_executor Executor, class Progress>
result<training_report> train_on_dataset(model<float>& net, const row_table& table, const dataset& data, const training_samples& train,
                                         const training_samples& validation, Executor& executor, const training_options& options,
                                         Progress&& progress) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    const std::size_t outputs = net.decoders.size();
    if (auto fits = options.check(outputs); !fits) return fits.error();
    if (train.outputs != outputs || (validation.size() > 0 && validation.outputs != outputs))
        return error{errc::shape_mismatch, "tlp training: the network has " + std::to_string(outputs) + " outputs, the samples " +
                                               std::to_string(train.outputs) + " and " + std::to_string(validation.outputs)};
    if (table.schema().columns != static_cast<std::size_t>(net.config.columns) || table.size() < data.primitives().size())
        return error{errc::shape_mismatch, "tlp training: rows of " + std::to_string(table.schema().columns) + " columns for " +
                                               std::to_string(table.size()) + " primitives, expected " + std::to_string(net.config.columns) +
                                               " for " + std::to_string(data.primitives().size())};
    training_report report;
    std::vector<std::uint32_t> usable;
    for (std::size_t i = 0; i < train.size(); ++i) {
        const auto ids = data.schedule(train.records[i]);
        const bool known = std::none_of(ids.begin(), ids.end(), [&](primitive_id id) { return table.row(id) == row_table::refused; });
        if (known) usable.push_back(static_cast<std::uint32_t>(i));
    }
    report.refused = train.size() - usable.size();
    detail::ranking_groups groups(train, usable, options);
    if (groups.size() == 0)
        return error{errc::not_found, "tlp training: expected samples that teach something, none of " + std::to_string(train.size()) + " does (" +
                                          std::to_string(report.refused) + " have words that the schema '" + table.schema().name + "' refuses)"};

    checkpoint at;
    at.run = options.checkpoint.empty() ? 0 : detail::run_hash(net, table, data, train, validation, options);
    nn::adam<model<float>> adam(net, {.learning_rate = options.learning_rate, .weight_decay = options.fine.weight_decay});
    bool resume = false;
    if (!options.checkpoint.empty()) {
        std::error_code wrong;
        resume = std::filesystem::exists(std::filesystem::status(options.checkpoint, wrong));
        if (wrong && wrong != std::errc::no_such_file_or_directory)
            return error{errc::io, "'" + options.checkpoint + "': cannot open the checkpoint: " + wrong.message()};
    }
    if (resume) {
        auto from = load_checkpoint(options.checkpoint, net.config, at.run);
        if (!from) return from.error();
        at = *std::move(from);
        adam.restore(at.first, at.second, at.steps);
        report.resumed_from = at.epochs();
    } else {
        at.network = at.best_network = net;
    }

    model<float>& current = at.network;
    auto grad = model<float>::zeros(net.config);
    forward_backward<float> pass;
    nn::lambda_rank rank;
    mtl_loss<float> loss;
    deduplicated_batch batch(table.schema().columns, net.config.order());
    std::vector<float> scores, d_scores, labels, sharp, d_regret;
    std::vector<std::uint8_t> known;
    std::vector<std::size_t> ends;
    const auto is_decoder = [](std::string_view name) { return name.starts_with("decoder.") || name.starts_with("mtl_heads."); };
    const auto validation_score = [&](std::size_t epoch) { return at.history[epoch].top_1 + at.history[epoch].top_5; };
    const auto group_loss = [&](std::span<const float> s, std::span<const float> y, std::span<float> d) {
        if (options.fine.loss == training_loss::mse) return static_cast<double>(nn::mse(s, y, d));
        sharp.assign(y.begin(), y.end());
        if (options.fine.sharpness != 1)
            for (float& x : sharp) x = static_cast<float>(std::pow(x, options.fine.sharpness));
        double value = rank(s, std::span<const float>(sharp), d);
        if (options.fine.regret > 0) {
            d_regret.resize(d.size());
            const double weight = options.fine.regret * static_cast<double>(s.size()); // `rank` is a sum over the group as well
            value += weight * nn::expected_regret(s, y, std::span<float>(d_regret));
            for (std::size_t i = 0; i < d.size(); ++i) d[i] += static_cast<float>(weight) * d_regret[i];
        }
        return value;
    };

    const bool validated = detail::can_evaluate(validation, options.fine.target_head);
    while (at.epochs() < options.epochs && !(options.fine.patience > 0 && validated && at.epochs() > at.best + options.fine.patience)) {
        const std::size_t epoch = at.epochs();
        const auto drawn = groups.draw(random_engine(options.seed).stream(epoch));
        double sum = 0;
        for (std::size_t next = 0; next < drawn.size();) {
            const double done =
                (static_cast<double>(epoch) + static_cast<double>(next) / static_cast<double>(drawn.size())) / static_cast<double>(options.epochs);
            batch.clear();
            labels.clear();
            known.clear();
            ends.clear();
            while (next < drawn.size() && (ends.empty() || batch.size() + drawn[next].size() <= options.batch)) {
                for (const std::uint32_t i : drawn[next]) {
                    if (!batch.add(data.schedule(train.records[i]), table)) continue; // does not happen: `usable` has no refused sample
                    for (std::size_t k = i * outputs; k < (i + 1) * outputs; ++k) {
                        labels.push_back(train.labels[k]);
                        known.push_back(train.known[k]);
                    }
                }
                ends.push_back(batch.size());
                ++next;
            }
            scores.resize(labels.size());
            d_scores.resize(labels.size());
            pass.forward_to_train(current, batch, executor, scores);
            std::size_t begin = 0;
            for (const std::size_t end : ends) {
                const std::size_t first = begin * outputs, n = (end - begin) * outputs;
                const auto d = std::span<float>(d_scores).subspan(first, n);
                const double value =
                    loss(std::span<const float>(scores).subspan(first, n), std::span<const float>(labels).subspan(first, n),
                         std::span<const std::uint8_t>(known).subspan(first, n), options.fine.output_weights, outputs, group_loss, d);
                // mean over a ranking group and over the groups of the step: a task's weight grows linearly with its number of records
                const double share = groups.ranked() ? 1 / static_cast<double>(end - begin) : 1;
                sum += value * share;
                if (groups.ranked())
                    for (float& x : d) x *= static_cast<float>(share / static_cast<double>(ends.size()));
                begin = end;
            }
            pass.backward(current, batch, executor, std::span<const float>(d_scores), grad);
            if (options.fine.decoders_only)
                model<float>::visit(
                    [&](std::string_view name, auto& g) {
                        if (!is_decoder(name)) g.setZero();
                    },
                    grad);
            nn::clip_norm(grad, options.fine.clip);
            double& rate = adam.settings().learning_rate;
            rate = options.learning_rate;
            if (options.fine.rate == learning_rate_decay::step)
                rate *= std::pow(options.fine.rate_factor, static_cast<double>(epoch / options.fine.rate_every));
            if (options.fine.rate == learning_rate_decay::cosine) rate *= 0.01 + 0.99 * 0.5 * (1 + std::cos(3.14159265358979323846 * done));
            adam.step(current, grad, [&](std::string_view name) { return !options.fine.decoders_only || is_decoder(name); });
        }
        const auto bad = current.not_finite();
        if (!std::isfinite(sum) || !bad.empty())
            return error{errc::limit, "tlp training: expected finite numbers, " + (bad.empty() ? "the loss" : "'" + bad + "'") + " of epoch " +
                                          std::to_string(epoch + 1) + " is not: lower the learning rate"};

        epoch_report last{groups.ranked() ? sum / static_cast<double>(drawn.size()) : sum, 0, 0};
        if (validated) {
            const auto top_k = evaluate_top_k(current, table, data, validation, options.fine.target_head, executor, pass);
            last = {last.loss, top_k.score(0), top_k.score(1)};
        }
        at.history.push_back(last);
        at.steps = adam.steps();
        if (!validated || epoch == 0 || validation_score(epoch) > validation_score(at.best)) {
            at.best = epoch;
            at.best_network = current;
        }
        if (!options.checkpoint.empty()) {
            at.first = adam.first();
            at.second = adam.second();
            if (auto saved = save_checkpoint(at, options.checkpoint); !saved) return saved.error();
        }
        const double seconds = std::chrono::duration<double>(clock::now() - start).count();
        const auto epochs_done = static_cast<double>(at.epochs() - report.resumed_from);
        const double left = seconds / epochs_done * static_cast<double>(options.epochs - at.epochs());
        const training_progress told{at.epochs(), options.epochs, last, seconds, left};
        if (!progress(told)) {
            report.stopped = at.epochs() < options.epochs;
            break;
        }
    }
    net = at.best_network;
    report.history = std::move(at.history);
    report.best = at.best;
    report.steps = at.steps;
    return report;
}

/// `train_on_dataset` without progress reports.
template <bulk_executor Executor>
result<training_report> train_on_dataset(model<float>& net, const row_table& table, const dataset& data, const training_samples& train,
                                         const training_samples& validation, Executor& executor, const training_options& options = {}) {
    return train_on_dataset(net, table, data, train, validation, executor, options, [](const training_progress&) { return true; });
}

} // namespace augur::inline v0::tlp

#endif
