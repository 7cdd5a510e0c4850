// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_CROP_COST_MODEL_HPP
#define AUGUR_CROP_COST_MODEL_HPP

/// @file
/// Crop as a cost model of a schedule search: scores schedules by predicted latency, without training data. The user supplies a function from a
/// schedule to its program features.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/crop/predictor.hpp>
#include <augur/model/concepts.hpp>

namespace augur::inline v0::crop {

/// A function that extracts the program features of a schedule.
///
/// Syntax      `f(task, schedule) -> result<program_features>`
/// Semantics   deterministic: equal features for equal tasks and schedules, in any order of calls
template <class F, class S, class Task>
concept feature_extractor = requires(F& f, const Task& t, const S& s) {
    { f(t, s) } -> std::same_as<result<program_features>>;
};

/// Scores schedules by the latency that Crop predicts for their programs. It needs no training and no access to the target machine.
///
/// ```cpp
/// crop::model model(machine, 2, [&](const my_task& t, const my_schedule& s) { return features_of(t, s); });
/// auto scored = model.score(task, schedules, scores); // -ln(seconds); -infinity without features, reason in last_failure()
/// ```
///
/// Cost       of a score: `features_of` and a prediction, 0.5 ms for a tiled matrix product. With `features_of_nest` both take about 1 ms if it
///            follows 2^14 accesses, 7 to 31 ms with its default of 2^20 (`nest_options::accesses`). `evolutionary<>` scores up to 2048 x 5 points a
///            proposal with its default options: pass an executor here, a population of about 256 there, and follow fewer accesses (docs/nests.md).
/// Threads    one thread per model; with an executor of several workers, `features_of` is called concurrently. Equal scores for any number of workers.
template <class F, bulk_executor E = serial_executor>
class model {
public:
    static constexpr auto meaning = score_meaning::negative_log_latency;

    /// @param threads  threads that run the parallel functions of a program
    /// pre: check_machine(m), threads >= 1
    model(machine m, int threads, F features_of, crop::options o = {.breakdown = false}) : threads_(threads), features_of_(std::move(features_of)) {
        predictors_.emplace_back(std::move(m), o);
    }
    /// With a predictor for each worker of the executor.
    /// pre: `executor` outlives the model
    model(machine m, int threads, F features_of, E& executor, crop::options o = {.breakdown = false})
        : threads_(threads), features_of_(std::move(features_of)), executor_(executor) {
        for (std::size_t i = 0; i < executor_.concurrency(); ++i) predictors_.emplace_back(m, o);
    }

    /// scores[i] = -ln(predicted seconds of batch[i]), or -infinity when there are no features or no finite prediction.
    /// @note errors: shape_mismatch, spans of different length
    template <class Range, task Task>
        requires feature_extractor<F, range_schedule_t<Range>, Task>
    [[nodiscard]] result<void> score(const Task& t, const Range& schedules, std::span<float> scores) {
        const auto batch = schedule_span(schedules);
        if (batch.size() != scores.size())
            return error{errc::shape_mismatch,
                         "crop: expected " + std::to_string(batch.size()) + " scores for as many schedules, got " + std::to_string(scores.size())};
        struct failure {
            std::size_t at = 0;
            std::optional<error> why;
        };
        std::vector<failure> failures(predictors_.size());
        executor_.bulk(predictors_.size(), [&](std::size_t worker) {
            for (std::size_t i = worker; i < batch.size(); i += predictors_.size()) {
                const auto score = score_of(predictors_[worker], t, batch[i]);
                scores[i] = score ? *score : -std::numeric_limits<float>::infinity();
                if (!score) failures[worker] = {i, score.error()};
            }
        });
        failure_.reset();
        std::size_t last = 0;
        for (auto& f : failures) {
            if (!f.why || (failure_ && f.at < last)) continue;
            last = f.at;
            failure_ = std::move(f.why);
        }
        return {};
    }

    /// The error of the last schedule in the last batch without a score; nullopt when all have one.
    [[nodiscard]] const std::optional<error>& last_failure() const noexcept { return failure_; }
    [[nodiscard]] crop::predictor& predictor() noexcept { return predictors_.front(); }

private:
    template <class Task, class S>
    result<float> score_of(crop::predictor& predictor, const Task& t, const S& schedule) {
        const auto features = features_of_(t, schedule);
        if (!features) return features.error();
        const auto p = predictor.predict(*features, threads_);
        if (!p) return p.error();
        if (!(p->seconds > 0) || !std::isfinite(p->seconds))
            return error{errc::limit, "crop: expected a finite time above 0 s, got " + std::to_string(p->seconds) + " s"};
        return static_cast<float>(-std::log(p->seconds));
    }

    int threads_;
    F features_of_;
    augur::detail::executor_ref<E> executor_;
    std::vector<crop::predictor> predictors_; ///< of each worker
    std::optional<error> failure_;
};

} // namespace augur::inline v0::crop

#endif
