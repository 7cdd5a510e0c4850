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

} // namespace augur::inline v0

#endif
