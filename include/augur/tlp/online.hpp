// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_ONLINE_HPP
#define AUGUR_TLP_ONLINE_HPP

/// @file
/// Online TLP cost model: trained from scratch or fine-tuned on the measurements of a running search.

#include <algorithm>
#include <cmath>
#include <concepts>
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
#include <augur/schedule/concepts.hpp>
#include <augur/tlp/detail/row_encoding.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/scorer.hpp>
#include <augur/tlp/train/online_trainer.hpp>

namespace augur::inline v0::tlp {

namespace detail {

/// Schedule sink: does any primitive have a kind of the vocabulary?
struct known_kind_sink {
    const tlp::schema& schema;
    bool any = false;

    void primitive(std::string_view kind) { any = any || row_encoding(schema).kind_index(kind) < schema.kinds.size(); }
    void number(std::integral auto) const noexcept {}
    void number(double) const noexcept {}
    void name(std::string_view) const noexcept {}
};

/// Is the kind of at least one primitive of `s` in the vocabulary?
template <schedule S>
[[nodiscard]] bool knows_any_kind(const tlp::schema& schema, const S& s) {
    known_kind_sink sink{schema};
    schedule_traits<S>::visit(s, sink);
    return sink.any;
}

} // namespace detail

/// Model, training and retraining schedule of `online_model`.
struct online_options {
    tlp::schema schema = tlp::schema::ansor();         ///< for Ansor's steps; `schema::learn` builds a schema for another language
    tlp::config config = tlp::config::small(0);        ///< with one output; `columns` is taken from the schema
    training_options fit = training_options::online(); ///< its seed draws the initial weights too; without checkpoint
    std::size_t first_update = 64;                     ///< number of records at the first training
    double growth = 2;                                 ///< retraining after first_update * growth^k records; at least 1.01

    /// Errors: invalid_argument, shape_mismatch, limit.
    [[nodiscard]] result<void> check() const {
        if (auto fits = schema.check(); !fits) return fits;
        if (auto fits = config.with_input(schema).check(); !fits) return fits;
        if (config.outputs != 1)
            return error{errc::invalid_argument, "tlp online: expected a config with 1 output, got " + std::to_string(config.outputs)};
        if (auto fits = fit.check(1); !fits) return fits;
        if (!fit.checkpoint.empty()) return error{errc::invalid_argument, "tlp online: expected no checkpoint, got '" + fit.checkpoint + "'"};
        if (growth >= least_retraining_growth && first_update > 0) return {};
        return error{errc::invalid_argument, "tlp online: expected a first update of 1 or more records and a growth of at least 1.01, got " +
                                                 std::to_string(first_update) + " and " + std::to_string(growth)};
    }
};

/// TLP model that is retrained after 64, 128, 256, ... records (geometric retraining schedule). Models `trainable_cost_model`.
///
/// Each training starts from the same initial weights, random or given, and uses exactly the first 64, 128, ... records of all tasks, ranked within
/// each task. So the model depends on the records and their order only, not on time, number of threads or number of `update` calls. A resumed run
/// gets the same model as an uninterrupted run.
///
/// Labels are the task's least latency / latency; 0 for a failure.
/// Threads: use an object from one thread at a time; it computes on the executor.
template <schedule S, task Task, bulk_executor Executor>
class online_model {
public:
    static constexpr score_meaning meaning = score_meaning::rank;

    /// Starts untrained: every score is 0 until the first training.   pre: options.check()
    online_model(Executor& executor, online_options options = {}) : executor_(&executor), options_(std::move(options)) {
        options_.config = options_.config.with_input(options_.schema);
        AUGUR_ASSERT(options_.check(), "tlp::online_model: options");
    }
    /// Starts from the weights of `start`, which replaces schema and config of the options: it scores from the beginning, and each training starts
    /// from these weights. If `start` has several outputs, only the first (the target head) is used.   pre: options.check()
    online_model(Executor& executor, trained_model start, online_options options = {}) : executor_(&executor), options_(std::move(options)) {
        start_ = start.model.decoders.size() > 1 ? start.model.only(0) : std::move(start.model);
        options_.schema = std::move(start.schema);
        options_.config = start_->config;
        AUGUR_ASSERT(options_.check(), "tlp::online_model: options");
        adopt(*start_);
    }
    online_model(const online_model&) = delete;
    online_model& operator=(const online_model&) = delete;

    /// As `scorer::score`; all scores are 0 before the first training.
    result<void> score(const Task& task, std::span<const S> batch, std::span<float> scores) {
        if (scorer_) return scorer_->score(task, batch, scores);
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch,
                         "tlp: expected as many scores as schedules, got " + std::to_string(scores.size()) + " and " + std::to_string(batch.size())};
        std::fill(scores.begin(), scores.end(), 0.0F);
        return {};
    }

    /// Takes all records so far, oldest first, and retrains when the retraining schedule requires it.
    /// A record whose schedule the vocabulary refuses counts for the retraining schedule, but is not a training sample.
    /// Errors, after which the scores do not change: not_found (no primitive of any record is in the schema), limit (the training diverged).
    result<void> update(std::span<const observation<S, Task>> records) {
        const std::size_t count = last_retraining(records.size(), options_.first_update, options_.growth);
        if (count <= tried_) return {};
        tried_ = count;
        return train(records.first(count));
    }

    /// Number of records of the last training; 0 before the first training.
    [[nodiscard]] std::size_t trained_on() const { return trained_on_; }
    [[nodiscard]] std::size_t trainings() const { return trainings_; }
    /// Report of the last training.
    [[nodiscard]] const online_fit_report& last_fit() const { return report_; }
    /// Current model, e.g. to save it; null before the first training without start weights.
    [[nodiscard]] const trained_model* model() const { return model_ ? &*model_ : nullptr; }

private:
    void adopt(tlp::model<float> net) {
        model_.emplace(trained_model{options_.schema, std::move(net)});
        scorer_.emplace(*model_, *executor_);
    }

    result<void> train(std::span<const observation<S, Task>> records) {
        if (std::none_of(records.begin(), records.end(), [&](const auto& r) { return detail::knows_any_kind(options_.schema, *r.schedule); }))
            return error{errc::not_found, "tlp online: expected primitives that the schema '" + options_.schema.name + "' has, got none in " +
                                              std::to_string(records.size()) + " schedules; `tlp::schema::learn` makes a schema of your language"};
        deduplicated_batch data(options_.schema.columns, options_.config.order());
        std::vector<float> labels;
        std::vector<std::uint32_t> groups;
        std::vector<double> latency;
        std::vector<double> best;
        std::map<std::string, std::uint32_t, std::less<>> numbers; // keyed by task_identity, because task objects may move
        std::vector<float> rows(options_.schema.rows * options_.schema.columns);
        launch_follower follower;
        for (const auto& r : records) {
            const auto n = extract_features(*r.schedule, options_.schema, std::span<float>(rows), follower);
            if (!n) continue;
            const std::uint32_t group = numbers.try_emplace(task_identity(*r.task), static_cast<std::uint32_t>(best.size())).first->second;
            if (group == best.size()) best.push_back(std::numeric_limits<double>::infinity());
            data.add(std::span<const float>(rows).first(*n * options_.schema.columns));
            groups.push_back(group);
            latency.push_back(r.outcome->latency());
            best[group] = (std::min)(best[group], latency.back());
        }
        for (std::size_t i = 0; i < groups.size(); ++i) labels.push_back(speed_label(best[groups[i]], latency[i]));
        auto net = start_ ? *start_ : tlp::model<float>::random_init(options_.config, random_engine(options_.fit.seed).stream(0));
        report_ = fit_online(net, data, labels, groups, *executor_, options_.fit);
        ++trainings_;
        trained_on_ = records.size();
        if (const auto bad = net.not_finite(); !bad.empty())
            return error{errc::limit, "tlp online: expected finite parameters, '" + bad + "' is not after training on " +
                                          std::to_string(records.size()) + " records: lower the learning rate"};
        if (report_.steps > 0) adopt(std::move(net));
        return {};
    }

    Executor* executor_;
    online_options options_;
    std::optional<tlp::model<float>> start_;
    std::optional<trained_model> model_;
    std::optional<scorer<Executor>> scorer_;
    std::size_t tried_ = 0; ///< number of records at the last training, including failed trainings
    std::size_t trained_on_ = 0;
    std::size_t trainings_ = 0;
    online_fit_report report_;
};

} // namespace augur::inline v0::tlp

#endif
