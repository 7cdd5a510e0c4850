// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_BAYESIAN_SEARCH_HPP
#define AUGUR_SEARCH_BAYES_BAYESIAN_SEARCH_HPP

/// @file
/// Batch Bayesian optimisation of any described space.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/acquisition.hpp>
#include <augur/search/bayes/batch_posterior.hpp>
#include <augur/search/bayes/detail/candidates.hpp>
#include <augur/search/bayes/detail/choose_batch.hpp>
#include <augur/search/bayes/detail/observed_points.hpp>
#include <augur/search/bayes/detail/prior_mean.hpp>
#include <augur/search/bayes/detail/standardised_process.hpp>
#include <augur/search/bayes/encoding.hpp>
#include <augur/search/bayes/options.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// Proposes what a Gaussian process of the logarithm of the latency (`gaussian_process`) expects most of.
///
/// The inputs are the words of the options (`features_of_words`), the labels minus the logarithm of the latency, standardised. A label more than
/// `range` below the best one counts as `range` below: how slow a slow point is says little about the best ones, and in a space where most points are
/// slower by an order of magnitude the process would spend itself on them. Hyper-parameters are fitted anew for each proposal. A batch is chosen one
/// point after the other, each under hallucinated labels of those before (`batch_posterior`). Hallucination only lowers the acquisition value
/// of a candidate, so values are updated lazily, for the candidate on top only; for EI and GP-BUCB the batch equals that of a full update, for qEI up to
/// the noise of its samples. A share of the points (`local`) is chosen among those that differ from the fastest point in one decision.
///
/// Failed points (a latency that is no positive finite number) have no label. A second process is fitted to labels of 1 for a
/// success and 0 for a failure. Its mean, clamped to [`least_chance`, 1], is taken as the probability of success, and its logarithm is added to the log
/// EI or to the upper confidence bound (both of standardised labels). With fewer than two successes the candidates with the highest upper confidence
/// bound of that probability are chosen (with `initial` 0: by the scores, see below).
///
/// With `prior_mean` the scores of the scorer, a `cost_model` for example, are regressed on the labels of the measured points, and the process models
/// what is left, without a limit of range if the slope is positive. A slope against the labels counts as 0. A score that is not finite counts as the
/// mean of the others; a candidate with score -infinity, which cannot be realised, is left out as long as there are others. With `initial` 0 a scorer
/// that knows other tasks chooses the first points, too: until two points succeeded, points with high scores are proposed that are apart from each
/// other; if all scores are equal, points are drawn.
///
/// The state is what was proposed and observed, and the models depend on the observed points and their order alone, so a resumed search goes on as it
/// would have. A point that was measured twice is two observations. Equal labels have the default hyper-parameters.
///
/// Each proposal reads the words of all points anew: a description or a space that changes between two proposals counts as it is now, and observed
/// points that the space does not have are passed over as long as it does not have them; but a space that was too large to list once is sampled from
/// then on. A description that changes within a proposal makes the model worse, nothing else.
///
/// Source   Snoek et al. 2012; Desautels et al. 2014; Ament et al. 2023; Hellsten et al. 2023 (BaCO, hidden constraints)
/// Cost     of a proposal: two walks and n^2 multiplications a candidate, for n points of the model; a walk an observed point; a factorisation; about
///          a hundred likelihoods of `fit_points`
/// Memory   8 n bytes a candidate; a hash of each point seen, the expectation of each proposed one, and each observed point with its words
/// Threads  one thread per object; work is distributed over the executor. The result does not depend on the number of threads.
template <bulk_executor E = serial_executor>
class bayesian_search {
public:
    /// pre: options.candidates, parents, samples >= 1; initial >= 1 or prior_mean; max_points and fit_points >= 2; 0 <= mutated <= 1;
    /// 0 < least_chance <= 1; beta >= 0; range > 0; 0 <= local <= 1
    explicit bayesian_search(bayesian_options options = {}) : options_(std::move(options)) { check(); }
    /// pre: `executor` outlives the strategy
    bayesian_search(bayesian_options options, E& executor) : options_(std::move(options)), executor_(executor) { check(); }

    [[nodiscard]] const bayesian_options& options() const noexcept { return options_; }
    [[nodiscard]] const bayesian_report& report() const noexcept { return report_; }

    /// See `search_strategy`. Errors: those of the scorer, if it is the prior mean.
    template <described_space Space, point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        observed_.read_words(space, seen_);
        std::vector<decision_vector> out;
        if (n == 0) return out;
        report_ = {};
        report_.foreign = observed_.foreign();
        if (observed_.size() >= options_.initial) {
            if (auto chosen = choose(space, scorer, n, rng, out); !chosen) return chosen.error();
        }
        if (out.size() < n) draw_unseen(space, seen_, n - out.size(), rng, out);
        return out;
    }

    void observe(std::span<const measured_decisions> points) { observed_.add(points); }

    /// The seconds that a proposed point takes according to the model that chose it: e to minus the posterior mean, prior mean included, so a median.
    /// Infinity: the search did not propose the point, or had no model of the latency. Slow points are underestimated, for labels have a `range`.
    [[nodiscard]] double expected_latency(std::span<const std::uint64_t> point) const {
        const auto at = expected_.find(hash_decisions(point));
        return at == expected_.end() ? std::numeric_limits<double>::infinity() : at->second;
    }

private:
    bayesian_options options_;
    detail::executor_ref<E> executor_;
    bayesian_report report_;
    detail::observed_points observed_;
    seen_points seen_;                                   ///< proposed or observed
    bool large_ = false;                                 ///< the space had too many points to list them
    std::unordered_map<std::uint64_t, double> expected_; ///< seconds, by the hash of a proposed point; no result depends on its order

    /// The points of a proposal, all in one encoding.
    struct encoded_proposal {
        std::vector<std::size_t> successes, failures; ///< observed points of the models, ascending
        std::vector<std::size_t> measured;            ///< both, ascending
        std::vector<double> known_prior;              ///< of the successes
        std::vector<double> prior;                    ///< (m) of the candidates
        Eigen::MatrixXd known;                        ///< (d, measured)
        Eigen::MatrixXd inputs;                       ///< (d, m) the candidates
        std::vector<std::size_t> near;                ///< candidates one decision away from the fastest point
        std::size_t batch = 0;                        ///< how many are chosen
        std::size_t local = 0;                        ///< of them, among `near`
    };

    void check() const {
        AUGUR_ASSERT((options_.initial >= 1 || options_.prior_mean) && options_.candidates >= 1 && options_.parents >= 1 && options_.samples >= 1 &&
                         options_.max_points >= 2 && options_.fit_points >= 2 && options_.mutated >= 0 && options_.mutated <= 1 &&
                         options_.range > 0 && options_.local >= 0 && options_.local <= 1 && options_.least_chance > 0 &&
                         options_.least_chance <= 1 && options_.beta >= 0,
                     "bayesian_search: options");
    }

    /// Where `some` are in `all`; both ascend.
    [[nodiscard]] static std::vector<Eigen::Index> places(const std::vector<std::size_t>& all, const std::vector<std::size_t>& some) {
        std::vector<Eigen::Index> out;
        for (const std::size_t s : some) out.push_back(std::lower_bound(all.begin(), all.end(), s) - all.begin());
        return out;
    }

    /// Appends up to n chosen points.
    template <class Space, class F>
    result<void> choose(const Space& space, F& scorer, std::size_t n, random_engine& rng, std::vector<decision_vector>& out) {
        encoded_proposal p;
        for (std::size_t i = 0; i < observed_.size(); ++i) (observed_.succeeded(i) ? p.successes : p.failures).push_back(i);
        auto candidates = detail::draw_candidates(space, observed_, p.successes, seen_, options_, large_, rng, executor_);
        p.successes = observed_.select(std::move(p.successes), options_.max_points);
        p.failures = detail::most_recent(p.failures, options_.max_points);

        p.known_prior.assign(p.successes.size(), 0);
        p.prior.assign(candidates.points.size(), 0);
        if (options_.prior_mean)
            if (auto ok = detail::ask_prior(scorer, observed_, p.successes, candidates, p.known_prior, p.prior); !ok) return ok;
        report_.candidates = candidates.points.size();
        report_.failures = p.failures.size();
        if (candidates.points.empty()) return {};

        // One encoding of all points, so that a dimension in which only candidates differ counts as unknown, not as irrelevant.
        p.measured.resize(p.successes.size() + p.failures.size());
        std::merge(p.successes.begin(), p.successes.end(), p.failures.begin(), p.failures.end(), p.measured.begin());
        std::vector<word_features> words;
        for (const std::size_t i : p.measured) words.push_back(observed_.words(i));
        std::move(candidates.words.begin(), candidates.words.end(), std::back_inserter(words));
        const encoded_points encoded = encode(words);
        report_.dimensions = encoded.columns.size();
        report_.merged_words = encoded.merged_words;
        if (encoded.columns.empty()) return {}; // one candidate, or points without words
        p.inputs = encoded.points.rightCols(static_cast<Eigen::Index>(candidates.points.size()));
        p.known = encoded.points.leftCols(static_cast<Eigen::Index>(p.measured.size()));
        p.batch = (std::min)(n, candidates.points.size());
        const auto share = [&](std::size_t points) { return static_cast<std::size_t>(options_.local * static_cast<double>(points)); };
        p.local = share(observed_.size() + p.batch) - share(observed_.size()); // so that small batches have their share in turn
        const auto fastest =
            std::min_element(p.successes.begin(), p.successes.end(), [&](std::size_t a, std::size_t b) { return observed_.before(a, b); });
        if (p.local > 0 && fastest != p.successes.end()) p.near = detail::one_decision_away(observed_.decisions(*fastest), candidates.points);

        std::vector<double> expected;
        const auto chosen = choose_encoded(p, rng, expected);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            decision_vector& point = candidates.points[chosen[i]];
            seen_.insert(candidates.fingerprints[chosen[i]]);
            if (i < expected.size()) expected_.insert_or_assign(hash_decisions(point), expected[i]);
            out.push_back(std::move(point));
        }
        return {};
    }

    /// The candidates that are proposed, by what there is to choose by: the latency of at least two successes, else the chance to be valid, or the scores.
    ///
    /// @param expected  gets the expected latency of each of them, seconds, if there is a model of it
    [[nodiscard]] std::vector<std::size_t> choose_encoded(const encoded_proposal& p, random_engine& rng, std::vector<double>& expected) {
        const bool by_latency = p.successes.size() >= 2;
        if (!by_latency && options_.initial == 0) return detail::choose_by_scores(p.prior, p.inputs, p.batch, executor_);
        std::optional<detail::standardised_process> valid;
        if (!by_latency || !p.failures.empty()) {
            Eigen::VectorXd labels(p.known.cols());
            for (std::size_t i = 0; i < p.measured.size(); ++i) labels[static_cast<Eigen::Index>(i)] = observed_.succeeded(p.measured[i]) ? 1 : 0;
            const auto fitted = places(p.measured, detail::most_recent(p.measured, options_.fit_points));
            valid = detail::standardised_process::fit(p.known, labels, fitted, options_.fit);
        }
        if (by_latency)
            return choose_by_latency(
                p, valid ? valid->log_chance(p.inputs, options_.least_chance, executor_) : Eigen::VectorXd::Zero(p.inputs.cols()), rng, expected);
        if (!valid) return {};
        batch_posterior posterior(valid->process, p.inputs, p.batch, valid->process.hyperparameters().noise_variance, executor_);
        return detail::choose_batch(posterior, p.batch,
                                    [&](std::size_t c) { return upper_confidence_bound(posterior.mean(c), posterior.deviation(c), options_.beta); });
    }

    /// @param log_chance  (m) of the candidates, to be valid      @param expected  as above
    [[nodiscard]] std::vector<std::size_t> choose_by_latency(const encoded_proposal& p, const Eigen::VectorXd& log_chance, random_engine& rng,
                                                             std::vector<double>& expected) {
        Eigen::VectorXd labels(static_cast<Eigen::Index>(p.successes.size()));
        for (std::size_t i = 0; i < p.successes.size(); ++i) labels[static_cast<Eigen::Index>(i)] = -std::log(observed_.latency(p.successes[i]));
        report_.prior_slope = options_.prior_mean ? detail::prior_slope(labels, p.known_prior) : 0;
        Eigen::VectorXd left = report_.prior_slope > 0 ? labels : labels.cwiseMax(labels.maxCoeff() - options_.range);
        for (std::size_t i = 0; i < p.successes.size(); ++i) left[static_cast<Eigen::Index>(i)] -= report_.prior_slope * p.known_prior[i];
        const auto of_latency = places(p.measured, p.successes);
        const auto fitted = places(p.successes, observed_.select(p.successes, options_.fit_points));
        const auto m = detail::standardised_process::fit(p.known(Eigen::all, of_latency), left, fitted, options_.fit);
        if (!m) return {};
        report_.points = p.successes.size();
        report_.jitter = m->process.jitter();
        report_.latency = m->process.hyperparameters();

        const double noise = options_.by == acquisition::monte_carlo_improvement ? 0 : m->process.hyperparameters().noise_variance;
        batch_posterior posterior(m->process, p.inputs, p.batch, noise, executor_);
        const double best = (labels.maxCoeff() - m->shift) / m->scale;
        const auto mean = [&](std::size_t c) { return posterior.mean(c) + report_.prior_slope * p.prior[c] / m->scale; };
        const auto log_valid = [&](std::size_t c) { return log_chance[static_cast<Eigen::Index>(c)]; };
        auto chosen = detail::choose_by_acquisition(posterior, p.batch, options_, best, mean, log_valid, p.near, p.local, rng);
        for (const std::size_t c : chosen) expected.push_back(std::exp(-(m->shift + m->scale * mean(c))));
        return chosen;
    }
};

} // namespace augur::inline v0

#endif
