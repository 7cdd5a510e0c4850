// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_TLP_SCORER_HPP
#define AUGUR_MODEL_TLP_SCORER_HPP

/// @file
/// A trained TLP as a cost model.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/feature/tlp.hpp>
#include <augur/model/concepts.hpp>
#include <augur/model/tlp.hpp>
#include <augur/model/tlp_bags.hpp>
#include <augur/model/tlp_pass.hpp>

namespace augur::inline v0 {

template <bulk_executor Executor>
class tlp_scorer;

/// Schema and parameters. Shared and const while it is used; a scorer does the work.
struct tlp_model {
    tlp_schema schema;
    tlp_network<float> network;

    /// An untrained model. Errors: schema or config that do not fit together; the config is taken `of` the schema.
    static result<tlp_model> random_init(tlp_schema schema, tlp_config config, random rng) {
        if (auto fits = schema.check(); !fits) return fits.why();
        config = config.of(schema);
        if (auto fits = config.check(); !fits) return fits.why();
        return tlp_model{std::move(schema), tlp_network<float>::random_init(config, rng)};
    }

    /// The model of one output alone, e.g. an MTL model for its target.   pre: output < network.config.outputs
    [[nodiscard]] tlp_model only(std::size_t output) const { return {schema, network.only(output)}; }

    /// Bags, or sequences if the network sees the order.
    [[nodiscard]] tlp_bags batch() const { return tlp_bags(schema.columns, network.config.order()); }

    /// A cost model on this one, on one of its outputs. Both this and the executor must outlive it; make one a thread. `only` is faster where there
    /// are many outputs.
    template <bulk_executor Executor>
    [[nodiscard]] tlp_scorer<Executor> scorer(Executor& executor, std::size_t output = 0) const {
        return tlp_scorer<Executor>(*this, executor, output);
    }
};

/// Scores schedules with a TLP model. Models `cost_model` for every schedule and task.
template <bulk_executor Executor>
class tlp_scorer {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// pre: output < model.network.config.outputs
    tlp_scorer(const tlp_model& model, Executor& executor, std::size_t output = 0)
        : model_(&model), executor_(&executor), output_(output), bags_(model.batch()) {
        AUGUR_ASSERT(output < model.network.decoders.size(), "tlp_scorer: no such output");
    }

    /// scores[i] <- the model's score of batch[i]; -infinity where the vocabulary does not know a word, or where the score is no number.
    ///
    /// A score is the same whatever else is in the batch and however many threads compute it. Allocates nothing once it has seen a batch as large
    /// with as many distinct rows, apart from what the executor itself does, the message for a schedule with an unknown word, and thread rows.
    /// Errors: shape_mismatch when the spans differ in length.
    template <schedule S, task Task>
    result<void> score(const Task&, std::span<const S> batch, std::span<float> scores) {
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch,
                         "tlp: " + std::to_string(batch.size()) + " schedules, but room for " + std::to_string(scores.size()) + " scores"};
        const tlp_schema& schema = model_->schema;
        rows_.resize(schema.rows * schema.columns);
        unknown_.clear();
        bags_.clear();
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto n = tlp_features(batch[i], schema, rows_);
            if (!n) unknown_.push_back(i);
            bags_.add(std::span<const float>(rows_).first(n ? *n * schema.columns : 0));
        }
        if (const std::size_t outputs = model_->network.decoders.size(); outputs == 1) {
            pass_.forward(model_->network, bags_, *executor_, scores);
        } else {
            all_.resize(batch.size() * outputs);
            pass_.forward(model_->network, bags_, *executor_, all_);
            for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = all_[i * outputs + output_];
        }
        for (const std::size_t i : unknown_) scores[i] = -std::numeric_limits<float>::infinity();
        for (float& s : scores)
            if (std::isnan(s)) s = -std::numeric_limits<float>::infinity();
        return {};
    }

private:
    const tlp_model* model_;
    Executor* executor_;
    std::size_t output_;
    tlp_bags bags_;
    tlp_pass<float> pass_;
    std::vector<float> rows_, all_; ///< of one schedule; (N, outputs)
    std::vector<std::size_t> unknown_;
};

} // namespace augur::inline v0

#endif
