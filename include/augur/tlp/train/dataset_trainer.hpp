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
#include <augur/record/replace_file.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/detail/training_loop.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/train/checkpoint.hpp>
#include <augur/tlp/train/evaluation.hpp>
#include <augur/tlp/train/forward_backward.hpp>
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
                                           (std::min)(o.fine.list, o.batch), // as `ranking_groups`
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

/// Errors: invalid_argument (options), shape_mismatch (samples or rows of another model).
inline result<void> check_training(const model<float>& net, const row_table& table, const dataset& data, const training_samples& train,
                                   const training_samples& validation, const training_options& options) {
    const std::size_t outputs = net.decoders.size();
    if (auto fits = options.check(outputs); !fits) return fits;
    if (train.outputs != outputs || (validation.size() > 0 && validation.outputs != outputs))
        return error{errc::shape_mismatch, "tlp training: the network has " + std::to_string(outputs) + " outputs, the samples " +
                                               std::to_string(train.outputs) + " and " + std::to_string(validation.outputs)};
    if (table.schema().columns != static_cast<std::size_t>(net.config.columns) || table.size() < data.primitives().size())
        return error{errc::shape_mismatch, "tlp training: rows of " + std::to_string(table.schema().columns) + " columns for " +
                                               std::to_string(table.size()) + " primitives, expected " + std::to_string(net.config.columns) +
                                               " for " + std::to_string(data.primitives().size())};
    return {};
}

/// Indices of the samples whose primitives the vocabulary all has.
[[nodiscard]] inline std::vector<std::uint32_t> usable_samples(const row_table& table, const dataset& data, const training_samples& samples) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto ids = data.schedule(samples.records[i]);
        const bool known = std::none_of(ids.begin(), ids.end(), [&](primitive_id id) { return table.row(id) == row_table::refused; });
        if (known) out.push_back(static_cast<std::uint32_t>(i));
    }
    return out;
}

/// One call of `train_on_dataset`: the training loop with validation and checkpoints. Keeps references to its arguments.
template <bulk_executor Executor>
class dataset_trainer {
public:
    /// pre: check_training of the same arguments
    dataset_trainer(model<float>& net, const row_table& table, const dataset& data, const training_samples& train, const training_samples& validation,
                    Executor& executor, const training_options& options)
        : net_(&net), table_(&table), data_(&data), train_(&train), validation_(&validation), executor_(&executor), options_(options),
          validated_(can_evaluate(validation, options.fine.target_head)), usable_(usable_samples(table, data, train)),
          loop_(net, train, usable_, options) {}

    /// Starts from the weights of the model, or resumes from the checkpoint if its file exists.
    /// Errors: not_found (no usable sample, no folder for the checkpoint), io, those of `load_checkpoint`.
    result<void> start() {
        report_.refused = train_->size() - usable_.size();
        if (loop_.groups().size() == 0)
            return error{errc::not_found, "tlp training: expected samples that teach something, none of " + std::to_string(train_->size()) +
                                              " does (" + std::to_string(report_.refused) + " have words that the schema '" + table_->schema().name +
                                              "' refuses)"};
        options_.epochs = loop_.epochs();
        state_.model = state_.best_model = *net_;
        if (options_.checkpoint.empty()) return {};

        state_.run = run_hash(*net_, *table_, *data_, *train_, *validation_, options_);
        std::error_code wrong;
        const bool exists = std::filesystem::exists(std::filesystem::status(options_.checkpoint, wrong));
        if (wrong && wrong != std::errc::no_such_file_or_directory)
            return error{errc::io, "'" + options_.checkpoint + "': cannot open the checkpoint: " + wrong.message()};
        if (exists) {
            auto from = load_checkpoint(options_.checkpoint, net_->config, state_.run);
            if (!from) return from.error();
            state_ = *std::move(from);
            loop_.optimiser().restore(state_.first, state_.second, state_.steps);
            report_.resumed_from = state_.epochs();
        }
        if (finished()) return {};
        // a checkpoint that cannot be written is an error before the first epoch, not after it
        if (auto writable = file_replacement::open(options_.checkpoint); !writable) return writable.error();
        return {};
    }

    /// Are all epochs done, or no validation score of the last `patience` epochs a new best?
    [[nodiscard]] bool finished() const {
        const std::size_t patience = options_.fine.patience;
        return state_.epochs() >= options_.epochs || (patience > 0 && validated_ && state_.epochs() > state_.best + patience);
    }

    /// Trains one epoch, evaluates it and writes the checkpoint.
    /// Errors: limit (the loss or a weight is not finite), those of `save_checkpoint`.
    result<void> train_epoch() {
        const std::size_t epoch = state_.epochs();
        const auto drawn = loop_.groups().draw(random_engine(options_.seed).stream(epoch));
        const auto append = [&](deduplicated_batch& batch, std::uint32_t record) {
            [[maybe_unused]] const bool added = batch.add(data_->schedule(record), *table_);
            AUGUR_ASSERT(added, "dataset_trainer: a sample that is not usable");
        };
        const auto done = [&](std::size_t first) {
            return (static_cast<double>(epoch) + static_cast<double>(first) / static_cast<double>(drawn.size())) /
                   static_cast<double>(options_.epochs);
        };
        const double loss = loop_.train_epoch(state_.model, drawn, epoch, append, done, *executor_);
        const auto bad = state_.model.not_finite();
        if (!std::isfinite(loss) || !bad.empty())
            return error{errc::limit, "tlp training: expected finite numbers, " + (bad.empty() ? "the loss" : "'" + bad + "'") + " of epoch " +
                                          std::to_string(epoch + 1) + " is not: lower the learning rate"};
        evaluate(loss);
        return save();
    }

    /// @param seconds  elapsed time since `start`
    [[nodiscard]] training_progress progress(double seconds) const {
        const auto epochs_done = static_cast<double>(state_.epochs() - report_.resumed_from);
        const double left = seconds / epochs_done * static_cast<double>(options_.epochs - state_.epochs());
        return {state_.epochs(), options_.epochs, state_.history.back(), seconds, left};
    }

    /// Moves the weights of the best finished epoch to the model, or the first weights if there is none, and returns the report.
    /// @param stopped  by the user
    training_report finish(bool stopped) && {
        *net_ = std::move(state_.best_model);
        report_.stopped = stopped && state_.epochs() < options_.epochs;
        report_.history = std::move(state_.history);
        report_.best = state_.best;
        report_.steps = state_.steps;
        return std::move(report_);
    }

private:
    /// Appends the report of an epoch and keeps its weights if its top-1 + top-5 is the best so far.
    void evaluate(double loss) {
        epoch_report now{loss, 0, 0};
        if (validated_) {
            const auto top_k = evaluate_top_k(state_.model, *table_, *data_, *validation_, options_.fine.target_head, *executor_, loop_.pass());
            now = {loss, top_k.score(0), top_k.score(1)};
        }
        const auto score = [](const epoch_report& e) { return e.top_1 + e.top_5; };
        const bool best = !validated_ || state_.history.empty() || score(now) > score(state_.history[state_.best]);
        state_.history.push_back(now);
        if (!best) return;
        state_.best = state_.epochs() - 1;
        state_.best_model = state_.model;
    }

    result<void> save() {
        state_.steps = loop_.optimiser().steps();
        if (options_.checkpoint.empty()) return {};
        state_.first = loop_.optimiser().first();
        state_.second = loop_.optimiser().second();
        return save_checkpoint(state_, options_.checkpoint);
    }

    model<float>* net_;
    const row_table* table_;
    const dataset* data_;
    const training_samples *train_, *validation_;
    Executor* executor_;
    training_options options_; ///< `epochs` is the planned number
    bool validated_;
    std::vector<std::uint32_t> usable_;
    training_loop loop_;
    checkpoint state_;
    training_report report_;
};

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
/// Errors: invalid_argument, shape_mismatch, not_found (no usable sample, no folder for the checkpoint), limit (the loss or a weight is not finite),
/// io; those of `load_checkpoint`, among them version_mismatch if the file is of another run. After an error in an epoch the model has the weights of
/// the best finished epoch, or is unchanged if there is none; after any other error it is unchanged.
template <bulk_executor Executor, class Progress>
result<training_report> train_on_dataset(model<float>& net, const row_table& table, const dataset& data, const training_samples& train,
                                         const training_samples& validation, Executor& executor, const training_options& options,
                                         Progress&& progress) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    if (auto fits = detail::check_training(net, table, data, train, validation, options); !fits) return fits.error();
    detail::dataset_trainer<Executor> trainer(net, table, data, train, validation, executor, options);
    if (auto started = trainer.start(); !started) return started.error();
    bool stopped = false;
    while (!stopped && !trainer.finished()) {
        if (auto trained = trainer.train_epoch(); !trained) {
            std::move(trainer).finish(false); // a late error does not cost the epochs before it
            return trained.error();
        }
        stopped = !progress(trainer.progress(std::chrono::duration<double>(clock::now() - begin).count()));
    }
    return std::move(trainer).finish(stopped);
}

/// `train_on_dataset` without progress reports.
template <bulk_executor Executor>
result<training_report> train_on_dataset(model<float>& net, const row_table& table, const dataset& data, const training_samples& train,
                                         const training_samples& validation, Executor& executor, const training_options& options = {}) {
    return train_on_dataset(net, table, data, train, validation, executor, options, [](const training_progress&) { return true; });
}

} // namespace augur::inline v0::tlp

#endif
