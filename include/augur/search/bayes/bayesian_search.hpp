// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_BAYESIAN_SEARCH_HPP
#define AUGUR_SEARCH_BAYES_BAYESIAN_SEARCH_HPP

/// @file
/// Batch Bayesian optimisation of any described space.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/error.hpp>
#include <augur/core/executor.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/search/bayes/acquisition.hpp>
#include <augur/search/bayes/batch_posterior.hpp>
#include <augur/search/bayes/encoding.hpp>
#include <augur/search/bayes/fit.hpp>
#include <augur/search/bayes/gaussian_process.hpp>
#include <augur/search/concepts.hpp>
#include <augur/search/seen.hpp>
#include <augur/space/count.hpp>
#include <augur/space/describe.hpp>
#include <augur/space/mutate.hpp>
#include <augur/space/walk.hpp>

namespace augur::inline v0 {

/// What the next point of a batch is chosen by.
enum class acquisition : std::uint8_t {
    log_expected_improvement, ///< over the best label, given hallucinated labels of the batch so far
    upper_confidence_bound,   ///< GP-BUCB: mean + beta deviations, given hallucinated labels
    /// qEI: what the point adds to the expected improvement of the batch, by `samples` samples of the function. Where none improves, log EI over the
    /// mean of what the batch reaches decides.
    monte_carlo_improvement,
};

/// Parameters of a `bayesian_search`.
struct bayesian_options {
    acquisition by = acquisition::log_expected_improvement;
    std::size_t initial = 8; ///< points that are drawn uniformly before the first model, at least 1; 0 with a prior mean: the scores choose them
    std::size_t candidates = 10000; ///< points among which a proposal chooses; all of a space that has no more, and at most 16 times as many nodes
    double mutated = 0.5;           ///< share of the candidates that are mutants of the best measured points; the others are uniform samples
    std::size_t parents = 16;       ///< measured points that have mutants
    std::size_t max_points = 1000;  ///< of the model; of more measured points the best half and the most recent others, and as many recent failures
    std::size_t fit_points = 256;   ///< points from which hyper-parameters are fitted, chosen alike
    double beta = 2;                ///< of `upper_confidence_bound`, in standard deviations
    std::size_t samples = 128;      ///< of `monte_carlo_improvement`
    bool prior_mean = false;        ///< the scorer is the mean of the process
    double range = 1;               ///< of the labels, above 0: a point may be slower than the best one by a factor of e^range; infinity: as it is
    double least_chance = 0.01;     ///< a point counts as valid with at least this probability
    mutation_weights weights = mutation_weights::cpu();
    gp_fit_options fit{};
};

/// What the models of the last proposal were.
struct bayesian_report {
    std::size_t points = 0;       ///< measured points in the model of the latency; 0: the points were drawn, or the chance to be valid alone chose
    std::size_t failures = 0;     ///< failed points in the model of the chance to be valid
    std::size_t dimensions = 0;   ///< of the inputs
    std::size_t merged_words = 0; ///< see `encoded_points`
    std::size_t candidates = 0;   ///< distinct ones that were not seen
    std::size_t foreign = 0;      ///< observed points that are none of the space
    double jitter = 0;            ///< of the model of the latency
    double prior_slope = 0;       ///< of the labels by the scores of the prior mean; 0: it was not used
    gp_hyperparameters latency;   ///< of labels with mean 0 and variance 1
};

/// Proposes what a Gaussian process of the logarithm of the latency (`gaussian_process`) expects most of.
///
/// The inputs are the words of the options (`features_of_words`), the labels minus the logarithm of the latency, standardised. A label more than
/// `range` below the best one counts as `range` below: how slow a slow point is says little about the best ones, and in a space where most points are
/// slower by an order of magnitude the process would spend itself on them. Hyper-parameters are fitted anew for each proposal. A batch is chosen one
/// point after the other, each under hallucinated labels of those before (`batch_posterior`). Hallucination only shrinks deviations, so what a
/// candidate was worth before bounds what it is worth now, and only candidates on top are brought up to date: the choice of EI and GP-BUCB is that of
/// a full pass; for qEI it is so but for the noise of the samples.
///
/// Failed points (a latency that is no positive finite number) have no label. A second process, of 1 for a success and 0 for a failure, gives the
/// chance that a point is valid, cut to `least_chance` and 1, whose logarithm is added to that of the expected improvement, and to the bound (in
/// standard deviations). As long as fewer than two points succeeded the bound of this chance alone chooses.
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
/// Source   Snoek et al. 2012; Desautels et al. 2014; Ament et al. 2023; Hellsten et al. 2023 (BaCO, hidden constraints)
/// Cost     of a proposal: two walks and n^2 multiplications a candidate, for n points of the model; a factorisation; about a hundred likelihoods of
///          `fit_points`
/// Memory   8 n bytes a candidate; a hash of each point seen, and each observed point with its words
/// Threads  one thread per object; work is distributed over the executor. The result does not depend on the number of threads.
template <bulk_executor E = serial_executor>
class bayesian_search {
public:
    /// pre: options.candidates, parents, samples >= 1; initial >= 1 or prior_mean; max_points and fit_points >= 2; 0 <= mutated <= 1;
    /// 0 < least_chance <= 1; beta >= 0; range > 0
    explicit bayesian_search(bayesian_options options = {}) : options_(std::move(options)) { check(); }
    /// pre: `executor` outlives the strategy
    bayesian_search(bayesian_options options, E& executor) : options_(std::move(options)), executor_(executor) { check(); }

    [[nodiscard]] const bayesian_options& options() const noexcept { return options_; }
    [[nodiscard]] const bayesian_report& report() const noexcept { return report_; }

    /// See `search_strategy`. Errors: those of the scorer, if it is the prior mean.
    template <described_space Space, point_scorer F>
    [[nodiscard]] result<std::vector<decision_vector>> propose(const Space& space, F& scorer, std::size_t n, random_engine& rng) {
        learn_words(space);
        std::vector<decision_vector> out;
        if (n == 0) return out;
        report_ = {};
        report_.foreign = observed_.size() - known_.size();
        if (known_.size() >= options_.initial) {
            if (auto chosen = choose(space, scorer, n, rng, out); !chosen) return chosen.error();
        }
        if (out.size() < n) draw_unseen(space, seen_, n - out.size(), rng, out);
        return out;
    }

    void observe(std::span<const measured_decisions> points) { observed_.insert(observed_.end(), points.begin(), points.end()); }

private:
    /// A Gaussian process of standardised labels.
    struct model {
        gaussian_process process;
        double shift, scale; ///< label = shift + scale * standardised
    };
    /// The points of a proposal.
    struct candidate_set {
        std::vector<decision_vector> points;
        std::vector<std::uint64_t> fingerprints;
        std::vector<word_features> words;
    };

    bayesian_options options_;
    detail::executor_ref<E> executor_;
    bayesian_report report_;
    seen_points seen_;   ///< proposed or observed
    bool large_ = false; ///< the space had too many points to list them
    std::vector<measured_decisions> observed_;
    std::size_t learned_ = 0;          ///< observed points that are in `seen_`, and in `known_` if they are points of the space
    std::vector<std::size_t> known_;   ///< indices of `observed_`
    std::vector<word_features> words_; ///< of `known_`

    void check() const {
        AUGUR_ASSERT((options_.initial >= 1 || options_.prior_mean) && options_.candidates >= 1 && options_.parents >= 1 && options_.samples >= 1 &&
                         options_.max_points >= 2 && options_.fit_points >= 2 && options_.mutated >= 0 && options_.mutated <= 1 &&
                         options_.range > 0 && options_.least_chance > 0 && options_.least_chance <= 1 && options_.beta >= 0,
                     "bayesian_search: options");
    }

    [[nodiscard]] double latency(std::size_t known) const { return observed_[known_[known]].latency; }
    [[nodiscard]] bool succeeded(std::size_t known) const { return latency(known) > 0 && std::isfinite(latency(known)); }

    template <class Space>
    void learn_words(const Space& space) {
        for (; learned_ < observed_.size(); ++learned_) {
            const auto& values = observed_[learned_].decisions;
            auto words = features_of_words(space, values);
            if (!words) continue; // of another space
            seen_.insert(fingerprint_decisions(space, values));
            known_.push_back(learned_);
            words_.push_back(*std::move(words));
        }
    }

    /// Of ascending indices of known points those for a model: all, or the best half and the most recent others; ascending.
    [[nodiscard]] std::vector<std::size_t> select(std::vector<std::size_t> points, std::size_t most) const {
        if (points.size() <= most) return points;
        const auto half = static_cast<std::ptrdiff_t>(most / 2);
        std::sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) { return before(a, b); });
        std::sort(points.begin() + half, points.end(), std::greater<>());
        points.resize(most);
        std::sort(points.begin(), points.end());
        return points;
    }
    /// Minus the latency; -infinity: it failed.
    [[nodiscard]] double worth(std::size_t known) const { return succeeded(known) ? -latency(known) : -std::numeric_limits<double>::infinity(); }

    /// Is one known point faster than another, or as fast and earlier?
    [[nodiscard]] bool before(std::size_t a, std::size_t b) const { return worth(a) != worth(b) ? worth(a) > worth(b) : a < b; }

    /// Distinct points that were not seen: all of a small space, else mutants and samples in the order in which they were drawn.
    template <class Space>
    [[nodiscard]] candidate_set draw(const Space& space, std::vector<std::size_t> best, random_engine& rng) {
        std::vector<decision_path> parents;
        std::sort(best.begin(), best.end(), [&](std::size_t a, std::size_t b) { return before(a, b); });
        for (const std::size_t i : best) {
            if (parents.size() == options_.parents) break;
            if (auto path = trace_path(space, observed_[known_[i]].decisions)) parents.push_back(*std::move(path));
        }
        std::vector<decision_vector> points;
        const bool all = !large_ && for_each_leaf(space, 16 * options_.candidates, [&](std::span<const std::uint64_t> values) {
            points.emplace_back(values.begin(), values.end());
            return points.size() <= options_.candidates;
        });
        large_ = !all;
        const auto mutants = parents.empty() ? std::size_t{0} : static_cast<std::size_t>(options_.mutated * static_cast<double>(options_.candidates));
        if (!all) points.assign(options_.candidates, {});
        std::vector<std::uint64_t> fingerprints(points.size());
        const random_engine batch(rng());
        executor_.bulk(points.size(), [&](std::size_t i) {
            random_engine own = batch.stream(i);
            if (!all && i < mutants) {
                decision_path path = mutate_path(space, parents[i % parents.size()], options_.weights, own);
                while (own.below(2) == 1) path = mutate_path(space, path, options_.weights, own);
                points[i] = std::move(path.values);
            } else if (!all) {
                points[i] = sample_path(space, own).values;
            }
            fingerprints[i] = fingerprint_decisions(space, points[i]);
        });
        candidate_set out;
        seen_points drawn;
        for (std::size_t i = 0; i < points.size(); ++i)
            if (!seen_.contains(fingerprints[i]) && drawn.insert(fingerprints[i])) {
                out.points.push_back(std::move(points[i]));
                out.fingerprints.push_back(fingerprints[i]);
            }
        out.words.resize(out.points.size());
        executor_.bulk(out.points.size(), [&](std::size_t i) {
            auto words = features_of_words(space, out.points[i]);
            AUGUR_ASSERT(words, "bayesian_search: a walk is a point of its space");
            out.words[i] = *std::move(words);
        });
        return out;
    }

    /// Hyper-parameters of standardised labels in `d` dimensions that nothing is known of.
    [[nodiscard]] static gp_hyperparameters unfitted(Eigen::Index d) {
        return {Eigen::VectorXd::Constant(d, 0.5 * std::sqrt(static_cast<double>(d))), 1, 1e-2, 0};
    }

    /// Fits a model; nullopt: no jitter mends its kernel matrix.
    ///
    /// @param points  (d, n)    @param fitted  the columns from which hyper-parameters are fitted
    [[nodiscard]] std::optional<model> fit(const Eigen::MatrixXd& points, const Eigen::VectorXd& labels,
                                           const std::vector<Eigen::Index>& fitted) const {
        const double shift = labels.mean(), deviation = std::sqrt((labels.array() - shift).square().mean());
        const bool constant = !(deviation > 1e-12 * (1 + std::abs(shift)));
        const double scale = constant ? 1 : deviation;
        const Eigen::VectorXd standardised = (labels.array() - shift) / scale;
        const Eigen::Index d = points.rows();
        gp_hyperparameters h = unfitted(d);
        if (!constant) {
            const auto found = fit_hyperparameters(points(Eigen::all, fitted), standardised(fitted), gp_priors::unit_cube(d), options_.fit);
            if (found) h = found->parameters;
        }
        auto process = gaussian_process::create(points, standardised, std::move(h));
        if (!process) return std::nullopt;
        return model{*std::move(process), shift, scale};
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
        std::vector<std::size_t> successes, failures;
        for (std::size_t i = 0; i < known_.size(); ++i) (succeeded(i) ? successes : failures).push_back(i);
        candidate_set candidates = draw(space, successes, rng);
        successes = select(std::move(successes), options_.max_points);
        if (failures.size() > options_.max_points)
            failures.erase(failures.begin(), failures.end() - static_cast<std::ptrdiff_t>(options_.max_points));

        std::vector<double> known_prior(successes.size(), 0), prior(candidates.points.size(), 0);
        if (options_.prior_mean)
            if (auto ok = score(scorer, successes, candidates, known_prior, prior); !ok) return ok;
        report_.candidates = candidates.points.size();
        report_.failures = failures.size();
        if (candidates.points.empty()) return {};

        // One encoding of all points, so that a dimension in which only candidates differ counts as unknown, not as irrelevant.
        std::vector<std::size_t> measured(successes.size() + failures.size());
        std::merge(successes.begin(), successes.end(), failures.begin(), failures.end(), measured.begin());
        std::vector<word_features> words;
        for (const std::size_t i : measured) words.push_back(words_[i]);
        std::move(candidates.words.begin(), candidates.words.end(), std::back_inserter(words));
        encoded_points encoded = encode(words);
        report_.dimensions = encoded.columns.size();
        report_.merged_words = encoded.merged_words;
        if (encoded.columns.empty()) return {}; // one candidate, or points without words
        const Eigen::MatrixXd inputs = encoded.points.rightCols(static_cast<Eigen::Index>(candidates.points.size()));
        const Eigen::MatrixXd known = encoded.points.leftCols(static_cast<Eigen::Index>(measured.size()));

        const std::size_t batch = (std::min)(n, candidates.points.size());
        std::optional<model> valid;
        const bool by_latency = successes.size() >= 2;
        if (!by_latency && options_.initial == 0) {
            take_by_scores(prior, candidates, inputs, batch, out);
            return {};
        }
        if (!by_latency || !failures.empty()) {
            Eigen::VectorXd labels(known.cols());
            for (std::size_t i = 0; i < measured.size(); ++i) labels[static_cast<Eigen::Index>(i)] = succeeded(measured[i]) ? 1 : 0;
            valid = fit(known, labels, places(measured, select_recent(measured)));
            if (!valid && !by_latency) return {};
        }
        if (!by_latency) {
            batch_posterior posterior(valid->process, inputs, batch, valid->process.hyperparameters().noise_variance, executor_);
            const auto bound = [&](std::size_t c) { return upper_confidence_bound(posterior.mean(c), posterior.deviation(c), options_.beta); };
            take(posterior, candidates, batch, bound, [](std::size_t) {}, out);
            return {};
        }
        const Eigen::VectorXd log_chance = valid ? chance(*valid, inputs) : Eigen::VectorXd::Zero(inputs.cols());

        Eigen::VectorXd labels(static_cast<Eigen::Index>(successes.size()));
        for (std::size_t i = 0; i < successes.size(); ++i) labels[static_cast<Eigen::Index>(i)] = -std::log(latency(successes[i]));
        report_.prior_slope = options_.prior_mean ? slope(labels, known_prior) : 0;
        Eigen::VectorXd left = report_.prior_slope > 0 ? labels : labels.cwiseMax(labels.maxCoeff() - options_.range);
        for (std::size_t i = 0; i < successes.size(); ++i) left[static_cast<Eigen::Index>(i)] -= report_.prior_slope * known_prior[i];
        const auto of_latency = places(measured, successes);
        const auto m = fit(known(Eigen::all, of_latency), left, places(successes, select(successes, options_.fit_points)));
        if (!m) return {};
        report_.points = successes.size();
        report_.jitter = m->process.jitter();
        report_.latency = m->process.hyperparameters();

        const double noise = options_.by == acquisition::monte_carlo_improvement ? 0 : m->process.hyperparameters().noise_variance;
        batch_posterior posterior(m->process, inputs, batch, noise, executor_);
        const double best = (labels.maxCoeff() - m->shift) / m->scale;
        const auto mean = [&](std::size_t c) { return posterior.mean(c) + report_.prior_slope * prior[c] / m->scale; };
        const auto log_valid = [&](std::size_t c) { return log_chance[static_cast<Eigen::Index>(c)]; };
        if (options_.by == acquisition::upper_confidence_bound) {
            const auto bound = [&](std::size_t c) { return upper_confidence_bound(mean(c), posterior.deviation(c), options_.beta) + log_valid(c); };
            take(posterior, candidates, batch, bound, [](std::size_t) {}, out);
        } else if (options_.by == acquisition::log_expected_improvement) {
            const auto improvement = [&](std::size_t c) { return log_expected_improvement(mean(c), posterior.deviation(c), best) + log_valid(c); };
            take(posterior, candidates, batch, improvement, [](std::size_t) {}, out);
        } else {
            const auto samples = static_cast<Eigen::Index>(options_.samples);
            const Eigen::MatrixXd normals = standard_normals(samples, static_cast<Eigen::Index>(batch), rng);
            Eigen::ArrayXd reached = Eigen::ArrayXd::Constant(samples, best);
            const auto sampled = [&](std::size_t c) -> Eigen::ArrayXd {
                const auto k = static_cast<Eigen::Index>(posterior.chosen());
                if (k == normals.cols()) return reached; // the batch is complete
                return (normals.leftCols(k) * posterior.loadings(c)).array() + mean(c) + posterior.deviation(c) * normals.col(k).array();
            };
            const auto improvement = [&](std::size_t c) {
                const double gain = (sampled(c) - reached).max(0.0).mean();
                return (gain > 0 ? std::log(gain) : log_expected_improvement(mean(c), posterior.deviation(c), reached.mean())) + log_valid(c);
            };
            take(posterior, candidates, batch, improvement, [&](std::size_t c) { reached = reached.max(sampled(c)); }, out);
        }
        return {};
    }

    /// Moves n candidates to `out` by their scores alone: in units of their deviation these are taken to have a correlation of 0.8 with the labels, and
    /// a process without points models the rest, so that a batch does not rely on one opinion. None if all scores are equal.
    void take_by_scores(const std::vector<double>& scores, candidate_set& candidates, const Eigen::MatrixXd& inputs, std::size_t n,
                        std::vector<decision_vector>& out) {
        constexpr double correlation = 0.8, beta = 1; // chosen on recorded spaces, as bayesian_options::range
        const Eigen::Map<const Eigen::ArrayXd> x(scores.data(), inputs.cols());
        const double shift = x.mean(), deviation = std::sqrt((x - shift).square().mean());
        if (!(deviation > 1e-12 * (1 + std::abs(shift)))) return;
        gp_hyperparameters h = unfitted(inputs.rows());
        h.signal_variance = 1 - correlation * correlation;
        const auto prior = gaussian_process::create(Eigen::MatrixXd(inputs.rows(), 0), Eigen::VectorXd(0), h);
        AUGUR_ASSERT(prior, "bayesian_search: a process without points");
        batch_posterior posterior(*prior, inputs, n, h.noise_variance, executor_);
        const auto bound = [&](std::size_t c) {
            return upper_confidence_bound(correlation * (scores[c] - shift) / deviation, posterior.deviation(c), beta);
        };
        take(posterior, candidates, n, bound, [](std::size_t) {}, out);
    }

    /// The most recent points, as many as hyper-parameters are fitted from.
    [[nodiscard]] std::vector<std::size_t> select_recent(const std::vector<std::size_t>& points) const {
        const auto n = static_cast<std::ptrdiff_t>((std::min)(points.size(), options_.fit_points));
        return {points.end() - n, points.end()};
    }

    /// Moves n candidates to `out`, each time the one whose `value` is highest, of equal ones the first. `chosen(c)` sees each before it is
    /// hallucinated.   pre: n <= posterior.size()
    template <class Value, class Chosen>
    void take(batch_posterior& posterior, candidate_set& candidates, std::size_t n, const Value& value, const Chosen& chosen,
              std::vector<decision_vector>& out) {
        struct bid {
            double value;
            std::size_t candidate;
            bool operator<(const bid& other) const { return value != other.value ? value < other.value : candidate > other.candidate; }
        };
        std::priority_queue<bid> bids;
        const auto offer = [&](std::size_t c) {
            const double v = value(c);
            bids.push({std::isnan(v) ? -std::numeric_limits<double>::infinity() : v, c});
        };
        for (std::size_t c = 0; c < posterior.size(); ++c) offer(c);
        while (posterior.chosen() < n) {
            const std::size_t c = bids.top().candidate;
            bids.pop();
            if (!posterior.current(c)) {
                posterior.follow(c);
                offer(c);
                continue;
            }
            chosen(c);
            posterior.choose(c);
            seen_.insert(candidates.fingerprints[c]);
            out.push_back(std::move(candidates.points[c]));
        }
    }

    /// The logarithm of the chance that each point is valid.
    [[nodiscard]] Eigen::VectorXd chance(const model& valid, const Eigen::MatrixXd& points) const {
        Eigen::VectorXd out(points.cols());
        constexpr Eigen::Index chunk = 256;
        executor_.bulk(static_cast<std::size_t>((points.cols() + chunk - 1) / chunk), [&](std::size_t i) {
            const Eigen::Index begin = static_cast<Eigen::Index>(i) * chunk, size = (std::min)(chunk, points.cols() - begin);
            out.segment(begin, size) = valid.process.mean(points.middleCols(begin, size));
        });
        return (valid.shift + valid.scale * out.array()).max(options_.least_chance).min(1.0).log();
    }

    /// Asks the scorer for the known points and the candidates, and removes candidates that cannot be realised. A score that is not finite becomes
    /// the mean of those of the known points.
    template <class F>
    result<void> score(F& scorer, const std::vector<std::size_t>& successes, candidate_set& candidates, std::vector<double>& known_prior,
                       std::vector<double>& prior) const {
        std::vector<decision_vector> points;
        for (const std::size_t i : successes) points.push_back(observed_[known_[i]].decisions);
        points.insert(points.end(), candidates.points.begin(), candidates.points.end());
        std::vector<float> scores(points.size(), 0.0F);
        if (auto ok = scorer(std::span<const decision_vector>(points), std::span<float>(scores)); !ok) return ok;
        double sum = 0;
        std::size_t finite = 0;
        for (std::size_t i = 0; i < successes.size(); ++i)
            if (std::isfinite(scores[i])) sum += static_cast<double>(scores[i]), ++finite;
        const double neutral = finite > 0 ? sum / static_cast<double>(finite) : 0;
        const auto value = [&](float s) { return std::isfinite(s) ? static_cast<double>(s) : neutral; };
        std::transform(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(successes.size()), known_prior.begin(), value);
        const auto of_candidates = std::span<const float>(scores).subspan(successes.size());
        std::transform(of_candidates.begin(), of_candidates.end(), prior.begin(), value);
        const auto unusable = [](float s) { return s == -std::numeric_limits<float>::infinity(); };
        if (std::all_of(of_candidates.begin(), of_candidates.end(), unusable)) return {};
        std::size_t kept = 0;
        for (std::size_t i = 0; i < of_candidates.size(); ++i) {
            if (unusable(of_candidates[i])) continue;
            if (kept != i) {
                candidates.points[kept] = std::move(candidates.points[i]);
                candidates.fingerprints[kept] = candidates.fingerprints[i];
                candidates.words[kept] = std::move(candidates.words[i]);
                prior[kept] = prior[i];
            }
            ++kept;
        }
        candidates.points.resize(kept);
        candidates.fingerprints.resize(kept);
        candidates.words.resize(kept);
        prior.resize(kept);
        return {};
    }

    /// The slope of the least squares of labels by scores; 0 where it is negative, or the scores are equal.
    [[nodiscard]] static double slope(const Eigen::VectorXd& labels, const std::vector<double>& scores) {
        const Eigen::Map<const Eigen::VectorXd> x(scores.data(), labels.size());
        const Eigen::ArrayXd dx = x.array() - x.mean(), dy = labels.array() - labels.mean();
        const double squares = dx.square().sum();
        const double out = squares > 0 ? (dx * dy).sum() / squares : 0;
        return std::isfinite(out) ? (std::max)(out, 0.0) : 0;
    }
};

} // namespace augur::inline v0

#endif
