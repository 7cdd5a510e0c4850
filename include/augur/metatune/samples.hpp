// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_METATUNE_SAMPLES_HPP
#define AUGUR_METATUNE_SAMPLES_HPP

/// @file
/// Measured candidates of a task, and the batches that MetaTune's training makes of them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/metatune/loop_rows.hpp>
#include <augur/metatune/loss.hpp>
#include <augur/metatune/network.hpp>
#include <augur/metatune/standardisation.hpp>
#include <augur/record/measurement.hpp>

namespace augur::inline v0 {
namespace metatune {

/// Measured candidates of one task.
struct task_samples {
    std::vector<loop_rows> candidates;
    std::vector<double> seconds; ///< latency of each; infinity: a failure

    /// Least latency; infinity without a valid candidate.
    [[nodiscard]] double least() const {
        return seconds.empty() ? std::numeric_limits<double>::infinity() : *std::min_element(seconds.begin(), seconds.end());
    }
    /// Errors: shape_mismatch, invalid_argument (a latency of 0 or less, a NaN; features that are not finite).
    [[nodiscard]] result<void> check(const config& c) const {
        if (candidates.size() != seconds.size())
            return error{errc::shape_mismatch, "metatune: expected a latency for each of " + std::to_string(candidates.size()) + " candidates, got " +
                                                   std::to_string(seconds.size())};
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (!(seconds[i] > 0))
                return error{errc::invalid_argument,
                             "metatune: expected a latency above 0, got " + std::to_string(seconds[i]) + " of candidate " + std::to_string(i)};
            if (auto fits = metatune::check(candidates[i], c); !fits)
                return error{fits.error().code, fits.error().detail + " (candidate " + std::to_string(i) + ")"};
        }
        return {};
    }
};

/// Fits the standardisation to the candidates of all tasks and applies it to them. Keep it with the weights (`trained_network::columns`): what the
/// network is to score later has to be in the same form.
/// Errors, after which the samples are unchanged: shape_mismatch, candidates with different numbers of columns
[[nodiscard]] inline result<standardisation> standardise(std::span<task_samples> tasks) {
    std::vector<const loop_rows*> from;
    for (const task_samples& task : tasks)
        for (const loop_rows& rows : task.candidates)
            if (rows.features.rows() > 0) from.push_back(&rows);
    for (const loop_rows* rows : from)
        if (rows->features.cols() != from.front()->features.cols())
            return error{errc::shape_mismatch, "metatune: expected " + std::to_string(from.front()->features.cols()) + " features a loop, got " +
                                                   std::to_string(rows->features.cols())};
    auto columns = standardisation::fit(from);
    for (task_samples& task : tasks)
        for (loop_rows& rows : task.candidates)
            if (auto applied = columns.apply(rows); !applied) return applied.error();
    return columns;
}

namespace detail {

/// Adds what a candidate teaches. The label is relative to `least`, the least latency of its task.
inline void add_target(targets& to, double least, double seconds) {
    to.valid.push_back(std::isfinite(seconds) ? 1 : 0);
    to.speed.push_back(speed_label(least, seconds));
}

/// Embeddings of candidates that have been checked, some at a time.   (N, 2M)
inline nn::matrix<float> embeddings_of(const network<float>& net, std::span<const loop_rows> candidates) {
    constexpr std::size_t most = 128;
    nn::matrix<float> all(static_cast<nn::index>(candidates.size()), net.config.embedding());
    candidate_graphs graphs(net.config);
    network_activation<float> kept;
    for (std::size_t first = 0; first < candidates.size(); first += most) {
        graphs.clear();
        for (const loop_rows& one : candidates.subspan(first, (std::min)(most, candidates.size() - first))) {
            [[maybe_unused]] const auto added = graphs.add(one);
            AUGUR_ASSERT(added, "metatune: a candidate that was not checked");
        }
        net.embed(graphs, kept, all.middleRows(static_cast<nn::index>(first), graphs.size()));
    }
    return all;
}

} // namespace detail

} // namespace metatune
} // namespace augur::inline v0

#endif
