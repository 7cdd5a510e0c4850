// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_SEARCH_BAYES_HYPERPARAMETERS_HPP
#define AUGUR_SEARCH_BAYES_HYPERPARAMETERS_HPP

/// @file
/// Hyper-parameters of a Gaussian process, and how they are fitted.

#include <cstddef>

#include <Eigen/Core>

namespace augur::inline v0 {

/// What a Gaussian process assumes of a function, in units of its inputs and labels.
struct gp_hyperparameters {
    Eigen::VectorXd lengthscales; ///< (d) distance in each dimension over which the function changes; positive
    double signal_variance = 1;   ///< of the function around its mean; positive
    double noise_variance = 1e-2; ///< of a label around the function; not negative
    double mean = 0;              ///< of the function
};

/// How hyper-parameters are fitted.
struct gp_fit_options {
    std::size_t iterations = 40; ///< of the quasi-Newton method, from each start
    double tolerance = 1e-5;     ///< relative improvement at which it ends
    double least_noise = 1e-4;   ///< noise variance
    double bound = 1e3;          ///< lengthscales and the signal variance stay within 1/bound and bound
};

} // namespace augur::inline v0

#endif
