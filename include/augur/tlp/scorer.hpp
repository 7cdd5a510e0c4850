// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_SCORER_HPP
#define AUGUR_TLP_SCORER_HPP

/// @file
/// Trained TLP model (schema and parameters) and the scorer that makes it a `cost_model`.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/model/concepts.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/forward_backward.hpp>

namespace augur::inline v0::tlp {

template <bulk_executor Executor>
class scorer;

/// Schema and parameters of a trained model. Share it as const; a `scorer` computes the scores.
struct trained_model {
    tlp::schema schema;
    tlp::model<float> model;

    /// Untrained model with random parameters; `config.with_input(schema)` sets the input columns. Errors: those of `schema::check` and `config::check`.
    static result<trained_model> random_init(tlp::schema schema, tlp::config config, random_engine rng) {
        if (auto fits = schema.check(); !fits) return fits.error();
        config = config.with_input(schema);
        if (auto fits = config.check(); !fits) return fits.error();
        return trained_model{std::move(schema), tlp::model<float>::random_init(config, rng)};
    }

    /// Single-output model, e.g. the target head of an MTL model.   pre: output < model.config.outputs
    [[nodiscard]] trained_model only(std::size_t output) const { return {schema, model.only(output)}; }

    /// Empty batch with the columns and the row order that this model needs.
    [[nodiscard]] deduplicated_batch batch() const { return deduplicated_batch(schema.columns, model.config.order()); }

    /// Creates a scorer for one output. This model and the executor must outlive it; use one scorer per thread. With many outputs a scorer of a model
    /// kept from `only(output)` is faster.
    template <bulk_executor Executor>
    [[nodiscard]] tlp::scorer<Executor> scorer(Executor& executor, std::size_t output = 0) const& {
        return tlp::scorer<Executor>(*this, executor, output);
    }
    template <bulk_executor Executor>
    tlp::scorer<Executor> scorer(Executor& executor, std::size_t output = 0) const&& = delete; // the scorer would keep a temporary
};

/// Scores schedules with a TLP model. Models `cost_model` for every schedule and task.
template <bulk_executor Executor>
class scorer {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// @param trained  must outlive this object
    /// pre: output < trained.model.config.outputs
    scorer(const trained_model& trained, Executor& executor, std::size_t output = 0)
        : trained_(&trained), executor_(&executor), output_(output), batch_(trained.batch()) {
        AUGUR_ASSERT(output < trained.model.decoders.size(), "tlp::scorer: no such output");
    }
    scorer(const trained_model&& trained, Executor& executor, std::size_t output = 0) = delete; // it would keep a temporary

    /// scores[i] <- score of batch[i], higher is better; -infinity if the vocabulary refuses a word or the score is NaN.
    ///
    /// A score does not depend on the other schedules of the batch or on the number of threads. After a batch of the same size and number of distinct
    /// rows it allocates only for the executor and for the message about an unknown word.
    /// Errors: shape_mismatch if the spans differ in length.
    template <class Range, task Task>
    result<void> score(const Task&, const Range& schedules, std::span<float> scores) {
        const auto batch = schedule_span(schedules);
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch,
                         "tlp: expected as many scores as schedules, got " + std::to_string(scores.size()) + " and " + std::to_string(batch.size())};
        const tlp::schema& schema = trained_->schema;
        rows_.resize(schema.rows * schema.columns);
        unknown_.clear();
        batch_.clear();
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto n = extract_features(batch[i], schema, rows_, follower_);
            if (!n) unknown_.push_back(i);
            batch_.add(std::span<const float>(rows_).first(n ? *n * schema.columns : 0));
        }
        if (const std::size_t outputs = trained_->model.decoders.size(); outputs == 1) {
            pass_.forward(trained_->model, batch_, *executor_, scores);
        } else {
            all_.resize(batch.size() * outputs);
            pass_.forward(trained_->model, batch_, *executor_, all_);
            for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = all_[i * outputs + output_];
        }
        for (const std::size_t i : unknown_) scores[i] = -std::numeric_limits<float>::infinity();
        for (float& s : scores)
            if (std::isnan(s)) s = -std::numeric_limits<float>::infinity();
        return {};
    }

private:
    const trained_model* trained_;
    Executor* executor_;
    std::size_t output_;
    deduplicated_batch batch_;
    forward_backward<float> pass_;
    std::vector<float> rows_, all_; ///< (L, E) features of one schedule; (N, outputs) scores
    std::vector<std::size_t> unknown_;
    launch_follower follower_;
};

} // namespace augur::inline v0::tlp

#endif
