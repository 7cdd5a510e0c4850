// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_ADAPTATION_HPP
#define AUGUR_EXAMPLES_SUPPORT_ADAPTATION_HPP

/// @file
/// How well MetaTune's network predicts a task after some of its candidates have been measured.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/metatune/fine_tuning.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/samples.hpp>

namespace examples {

/// Errors of the predictions on candidates that were not measured. The unit of the speeds is that of the best candidate of the task.
struct adaptation_scores {
    double mse = 0;
    double mse_fast = 0; ///< of the fastest quarter: MetaTune's MSE(D)
    double spearman = 0;
};

/// `points` candidates that are measured, and all others.   pre: points <= candidates
std::pair<augur::metatune::task_samples, augur::metatune::task_samples> draw_points(const augur::metatune::task_samples& all, std::size_t points,
                                                                                    std::uint64_t seed);

/// Speeds that a network predicts, in the unit that it was fine-tuned in.   pre: the candidates have been checked
std::vector<double> predict_speeds(const augur::metatune::network<float>& net, const augur::metatune::task_samples& samples);

/// @param speeds  predicted, in the unit of the best of `measured`: 1
/// @param unit    the speed of that best one, in the unit of the best of the task; 1 where nothing was measured
adaptation_scores judge_speeds(std::vector<double> speeds, double unit, const augur::metatune::task_samples& query, double least);

/// Fine-tunes a copy of the network on the points that draw number `seed` measures, and judges its predictions of the others.
/// @param least  latency of the best candidate of the task, which need not be among the samples
/// Errors: those of `fine_tune`
augur::result<adaptation_scores> adapt_and_judge(augur::metatune::network<float> net, const augur::metatune::task_samples& all, double least,
                                                 std::size_t points, std::uint64_t seed, const augur::metatune::fine_tuning_options& options);

} // namespace examples

#endif
