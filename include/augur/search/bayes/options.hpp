// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_OPTIONS_HPP
#define AUGUR_SEARCH_BAYES_OPTIONS_HPP

/// @file
/// Parameters of a Bayesian search, and the report on its last proposal.

#include <cstddef>
#include <cstdint>

#include <augur/search/bayes/hyperparameters.hpp>
#include <augur/space/mutate.hpp>

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
    /// Points among which a proposal chooses: all unseen points of a space with at most so many, if listing them expands at most 16 times as many nodes;
    /// else mutants and uniform samples.
    std::size_t candidates = 10000;
    double mutated = 0.5;     ///< share of the candidates that are mutants of the best measured points; the others are uniform samples
    std::size_t parents = 16; ///< measured points that have mutants
    /// Measured points in the model of the latency. Of more, the fastest max_points / 2 and the most recent others. The same limit holds for the failed
    /// points in the model of failures: the most recent ones.
    std::size_t max_points = 1000;
    std::size_t fit_points = 256; ///< points from which hyper-parameters are fitted, chosen alike
    double beta = 2;              ///< of `upper_confidence_bound`, in standard deviations
    std::size_t samples = 128;    ///< of `monte_carlo_improvement`
    bool prior_mean = false;      ///< the scorer is the mean of the process
    /// Labels are -ln(seconds). A label more than `range` below the best one is raised to that limit, so a point slower than e^range times the best
    /// latency counts as just that slow. Above 0; infinity: no limit. Not applied where the prior mean has a positive slope.
    double range = 1;
    /// Share of the points that are chosen among those one decision away from the fastest measured point, as far as there are such. Between 0 and 1;
    /// docs/results/search.md compares 0, the default and 1.
    double local = 0.5;
    double least_chance = 0.01; ///< a point counts as valid with at least this probability
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

} // namespace augur::inline v0

#endif
