// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_RECORDED_HPP
#define AUGUR_EXAMPLES_SUPPORT_RECORDED_HPP

/// @file
/// Searches on recorded measurements. Strategies and models are erased, so that the tuner is compiled once for all of them.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/io/t4_results.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/model/concepts.hpp>
#include <augur/search/concepts.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/options.hpp>
#include <augur/tune/replay_runner.hpp>

namespace examples {

/// Recorded points of one kernel on one device.
struct recording {
    augur::tuning_archive archive;
    augur::recorded_space space;
    std::string name;                                         ///< for tables
    augur::replay_runner runner;                              ///< has the records; a search takes a copy
    double optimum = std::numeric_limits<double>::infinity(); ///< the least latency, in seconds
    double seconds = 0;                                       ///< that measuring all points took
};

/// Errors: those of `recorded_space::build`; not_found (no point has a latency).
augur::result<recording> make_recording(std::string name, augur::tuning_archive archive);

/// A trial, and what the model expected of it.
struct expected_trial {
    double seconds = 0; ///< measured; infinity: a failure
    double speed = 0;   ///< that was predicted, in units of the best trial that the model had learned from
    double least = 0;   ///< latency of that one
};

/// What a search had after each trial.
struct search_curve {
    std::vector<double> best;             ///< least latency so far, in seconds; infinity before the first success
    std::vector<double> seconds;          ///< on the virtual clock
    double proposing = 0;                 ///< seconds of this machine that strategy and model took
    std::vector<expected_trial> expected; ///< those behind the first success that the model learned from; none if it predicts no speeds
    std::optional<augur::error> failed;

    /// The optimum over the best latency after `trials` trials; of a search that ended before, its last one. 0 before the first success.
    [[nodiscard]] double share(double optimum, std::size_t trials) const;
    /// The first trial after which `share` is at least `wanted`; infinity: none.
    [[nodiscard]] double trials_to(double optimum, double wanted) const;
};

using point_scores = std::function<augur::result<void>(std::span<const augur::decision_vector>, std::span<float>)>;

/// Any strategy for recorded spaces.
class recorded_strategy {
public:
    template <augur::search_strategy<augur::recorded_space> S>
    explicit recorded_strategy(S strategy) {
        auto own = std::make_shared<S>(std::move(strategy));
        propose_ = [own](const augur::recorded_space& space, point_scores& scorer, std::size_t n, augur::random_engine& rng) {
            return own->propose(space, scorer, n, rng);
        };
        observe_ = [own](std::span<const augur::measured_decisions> points) { own->observe(points); };
    }
    augur::result<std::vector<augur::decision_vector>> propose(const augur::recorded_space& space, augur::point_scorer auto& scorer, std::size_t n,
                                                               augur::random_engine& rng) {
        point_scores scores = std::ref(scorer);
        return propose_(space, scores, n, rng);
    }
    void observe(std::span<const augur::measured_decisions> points) { observe_(points); }

private:
    std::function<augur::result<std::vector<augur::decision_vector>>(const augur::recorded_space&, point_scores&, std::size_t, augur::random_engine&)>
        propose_;
    std::function<void(std::span<const augur::measured_decisions>)> observe_;
};

/// Any model for recorded configurations; by default one that scores everything 0. A copy shares the model.
class recorded_model {
public:
    using records = std::span<const augur::observation<augur::configuration, augur::tuning_archive>>;
    static constexpr augur::score_meaning meaning = augur::score_meaning::rank;

    recorded_model() = default;
    template <class M>
        requires augur::trainable_cost_model<M, augur::configuration, augur::tuning_archive>
    explicit recorded_model(M model) {
        auto own = std::make_shared<M>(std::move(model));
        score_ = [own](const augur::tuning_archive& t, std::span<const augur::configuration> batch, std::span<float> scores) {
            return own->score(t, batch, scores);
        };
        update_ = [own](records r) { return own->update(r); };
        if constexpr (requires(const augur::tuning_archive& t, std::span<const augur::configuration> batch, std::span<float> to) {
                          own->speeds(t, batch, to);
                      })
            speeds_ = [own](const augur::tuning_archive& t, std::span<const augur::configuration> batch, std::span<float> to) {
                return own->speeds(t, batch, to);
            };
    }
    /// One whose scores are speeds in units of the best record that it has learned from.
    [[nodiscard]] recorded_model predicting_by_scores() const {
        recorded_model out = *this;
        out.speeds_ = score_;
        return out;
    }
    /// One that scores a candidate with its speed.   pre: predicts()
    [[nodiscard]] recorded_model scoring_by_speeds() const {
        recorded_model out = *this;
        out.score_ = speeds_;
        return out;
    }
    /// Are there speeds?
    [[nodiscard]] bool predicts() const { return static_cast<bool>(speeds_); }
    augur::result<void> score(const augur::tuning_archive& t, std::span<const augur::configuration> batch, std::span<float> scores) {
        if (score_) return score_(t, batch, scores);
        std::fill(scores.begin(), scores.end(), 0.0F);
        return {};
    }
    /// to[i] <- the speed that is expected of batch[i], in units of the best record that the model has learned from, 0 being a failure.
    /// pre: predicts()
    augur::result<void> speeds(const augur::tuning_archive& t, std::span<const augur::configuration> batch, std::span<float> to) {
        return speeds_(t, batch, to);
    }
    augur::result<void> update(records r) {
        learned_ = r.size();
        return update_ ? update_(r) : augur::result<void>();
    }
    /// Records that it has learned from.
    [[nodiscard]] std::size_t learned() const { return learned_; }

private:
    using numbers = std::function<augur::result<void>(const augur::tuning_archive&, std::span<const augur::configuration>, std::span<float>)>;

    numbers score_, speeds_;
    std::function<augur::result<void>(records)> update_;
    std::size_t learned_ = 0;
};

/// Runs a search.
/// @param trials  takes the trials; null: nobody does
search_curve run_recorded(const recording& on, recorded_strategy strategy, recorded_model model, const augur::tuning_options& options,
                          augur::t4_results* trials = nullptr);

/// Rows with one column per parameter: a number is itself, a text its rank among the texts of the parameter.
struct parameter_columns {
    std::vector<std::map<std::string, float>> texts;

    /// All records of `a` have the parameters of the first one.
    explicit parameter_columns(const augur::tuning_archive& a);
    /// Adds the texts of a configuration, e.g. of another task.
    void add(const augur::configuration& c);
    [[nodiscard]] std::size_t columns() const { return texts.size(); }
    augur::result<void> operator()(const augur::tuning_archive&, const augur::configuration& c, std::span<float> row) const;
};

} // namespace examples

#endif
