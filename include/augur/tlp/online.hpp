// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_ONLINE_HPP
#define AUGUR_TLP_ONLINE_HPP

/// @file
/// TLP that learns while the search runs.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/core/retraining_schedule.hpp>
#include <augur/model/concepts.hpp>
#include <augur/record/measurement.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/scorer.hpp>
#include <augur/tlp/train/online_trainer.hpp>

namespace augur::inline v0::tlp {

/// What an online TLP is made of and when it learns.
struct online_options {
    tlp::schema schema = tlp::schema::ansor();  ///< of Ansor's words; for a language of your own `schema::learn` makes one
    tlp::config config = tlp::config::small(0); ///< its columns are taken from the schema
    online_fit_options fit;
    std::uint64_t seed = 1;
    std::size_t first_update = 64; ///< records before the first training
    double growth = 2;             ///< it is trained again at first_update * growth^k records; at least 1.01

    /// Errors: invalid_argument, shape_mismatch, limit.
    [[nodiscard]] result<void> check() const {
        if (auto fits = schema.check(); !fits) return fits;
        if (auto fits = config.of(schema).check(); !fits) return fits;
        if (auto fits = fit.check(); !fits) return fits;
        if (growth >= least_retraining_growth && first_update > 0) return {};
        return error{errc::invalid_argument, "tlp online: expected a first update of 1 or more records and a growth of at least 1.01, got " +
                                                 std::to_string(first_update) + " and " + std::to_string(growth)};
    }
};

/// A TLP that starts without knowledge, or from given weights, and is trained anew after 64, 128, 256, ... records. Models `trainable_cost_model`.
///
/// Each training starts from the same beginning and sees exactly the first 64, 128, ... records, of all tasks together, ranked within each task.
/// So the model depends on the records and their order only: not on the clock, nor on the threads, nor on how often `update` was called, and a
/// resumed run has the model that an unbroken one would have.
///
/// Labels are the task's best latency / latency; a failure is 0.
/// Threads: one thread an object; it runs its work on the executor.
template <schedule S, task Task, bulk_executor Executor>
class online_model {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Without knowledge: every score is 0 until the first training.   pre: the options check
    online_model(Executor& executor, online_options options = {}) : executor_(&executor), options_(std::move(options)) {
        options_.config = options_.config.of(options_.schema);
        AUGUR_ASSERT(options_.check(), "tlp_online: options");
    }
    /// From weights, e.g. of an earlier run or of another network: scores from the first record on, each training starts from them. Of a model with
    /// several outputs the first, its target's, is taken alone.   pre: the options check
    online_model(Executor& executor, trained_model start, online_options options = {}) : executor_(&executor), options_(std::move(options)) {
        start_ = start.network.decoders.size() > 1 ? start.network.only(0) : std::move(start.network);
        options_.schema = std::move(start.schema);
        options_.config = start_->config;
        AUGUR_ASSERT(options_.check(), "tlp_online: options");
        adopt(*start_);
    }
    online_model(const online_model&) = delete;
    online_model& operator=(const online_model&) = delete;

    /// As `scorer::score`; 0 for all while there is no knowledge.
    result<void> score(const Task& task, std::span<const S> batch, std::span<float> scores) {
        if (scorer_) return scorer_->score(task, batch, scores);
        if (batch.size() != scores.size()) return error{errc::shape_mismatch, "tlp: as many scores as schedules are needed"};
        std::fill(scores.begin(), scores.end(), 0.0F);
        return {};
    }

    /// Takes all records so far, oldest first, and trains when their number has reached the next mark.
    /// A record whose schedule the vocabulary does not know counts, but teaches nothing.
    /// Errors, after which it scores as before: not_found, the schema knows no primitive of any record; limit, the training diverged.
    result<void> update(std::span<const observation<S, Task>> records) {
        const std::size_t mark = last_retraining(records.size(), options_.first_update, options_.growth);
        if (mark <= tried_) return {};
        tried_ = mark;
        return train(records.first(mark));
    }

    /// Records that the last training saw; 0: there was none.
    [[nodiscard]] std::size_t trained_on() const { return trained_on_; }
    [[nodiscard]] std::size_t trainings() const { return trainings_; }
    /// Of the last training.
    [[nodiscard]] const online_fit_report& last_fit() const { return report_; }
    /// The present model, e.g. to be saved; nothing while there is no knowledge.
    [[nodiscard]] const trained_model* model() const { return model_ ? &*model_ : nullptr; }

private:
    void adopt(tlp::model<float> network) {
        model_.emplace(trained_model{options_.schema, std::move(network)});
        scorer_.emplace(*model_, *executor_);
    }

    result<void> train(std::span<const observation<S, Task>> records) {
        if (std::none_of(records.begin(), records.end(), [&](const auto& r) { return detail::knows_all_words(options_.schema, *r.schedule); }))
            return error{errc::not_found, "tlp online: expected primitives that the schema '" + options_.schema.name + "' has, got none in " +
                                              std::to_string(records.size()) + " schedules; `tlp_schema::learn` makes a schema of your language"};
        deduplicated_batch data(options_.schema.columns, options_.config.order());
        std::vector<float> labels;
        std::vector<std::uint32_t> groups;
        std::vector<double> latency;
        std::vector<double> best;
        std::map<std::string, std::uint32_t, std::less<>> numbers; // by key: the task objects may move
        std::vector<float> rows(options_.schema.rows * options_.schema.columns);
        for (const auto& r : records) {
            const auto n = extract_features(*r.schedule, options_.schema, std::span<float>(rows));
            if (!n) continue;
            const std::uint32_t group = numbers.try_emplace(task_identity(*r.task), static_cast<std::uint32_t>(best.size())).first->second;
            if (group == best.size()) best.push_back(std::numeric_limits<double>::infinity());
            data.add(std::span<const float>(rows).first(*n * options_.schema.columns));
            groups.push_back(group);
            latency.push_back(r.outcome->latency());
            best[group] = (std::min)(best[group], latency.back());
        }
        for (std::size_t i = 0; i < groups.size(); ++i) labels.push_back(speed_label(best[groups[i]], latency[i]));
        const random_engine rng(options_.seed);
        auto network = start_ ? *start_ : tlp::model<float>::random_init(options_.config, rng.stream(0));
        report_ = fit_online(network, data, labels, groups, rng.stream(1), *executor_, options_.fit);
        ++trainings_;
        trained_on_ = records.size();
        if (const auto bad = network.not_finite(); !bad.empty())
            return error{errc::limit, "tlp online: expected finite parameters, '" + bad + "' is not after training on " +
                                          std::to_string(records.size()) + " records: lower the learning rate"};
        if (report_.steps > 0) adopt(std::move(network));
        return {};
    }

    Executor* executor_;
    online_options options_;
    std::optional<tlp::model<float>> start_;
    std::optional<trained_model> model_;
    std::optional<tlp::scorer<Executor>> scorer_;
    std::size_t tried_ = 0; ///< the mark of the last training, also of one that ended before it began
    std::size_t trained_on_ = 0;
    std::size_t trainings_ = 0;
    online_fit_report report_;
};

} // namespace augur::inline v0::tlp

#endif
