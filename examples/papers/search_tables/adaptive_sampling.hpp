// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_ADAPTIVE_SAMPLING_HPP
#define AUGUR_EXAMPLES_PAPERS_SEARCH_TABLES_ADAPTIVE_SAMPLING_HPP

/// @file
/// The clusters of Chameleon's adaptive sampling: k-means with as many clusters as still lower the loss.

#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <Eigen/Core>

#include <augur/core/config.hpp>
#include <augur/core/random_engine.hpp>

namespace examples {

/// Points in clusters.
struct clustering {
    Eigen::MatrixXd centroids;       ///< (d, k)
    std::vector<std::size_t> member; ///< (n) the cluster of each point, the one with the nearest centroid, of equal ones the first
    double loss = 0;                 ///< sum of the squared distances to the centroids
};

/// Lloyd's k-means from k of the points, drawn among those that differ; fewer clusters if fewer differ. A cluster that loses its points is moved to the
/// point farthest from its centroid, so none stays empty.
///
/// The published code rounds the centroids down in each iteration, and moves empty clusters to random points, which need not end.
///
/// @param points  (d, n)   pre: n, k >= 1
/// Cost   iterations * d * k * n
[[nodiscard]] inline clustering k_means(const Eigen::MatrixXd& points, std::size_t k, augur::random_engine& rng, std::size_t iterations = 100) {
    const Eigen::Index n = points.cols();
    AUGUR_ASSERT(n >= 1 && k >= 1, "k_means: no points or no clusters");
    std::vector<Eigen::Index> order(static_cast<std::size_t>(n)), first;
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    rng.shuffle(std::span<Eigen::Index>(order));
    for (std::size_t i = 0; i < order.size() && first.size() < k; ++i) {
        bool known = false;
        for (const Eigen::Index f : first) known = known || points.col(f) == points.col(order[i]);
        if (!known) first.push_back(order[i]);
    }
    clustering out{points(Eigen::all, first), std::vector<std::size_t>(static_cast<std::size_t>(n)), 0};
    const Eigen::Index clusters = out.centroids.cols();
    Eigen::VectorXd distances(n);
    for (std::size_t i = 0;; ++i) {
        bool moved = i == 0;
        for (Eigen::Index p = 0; p < n; ++p) {
            Eigen::Index nearest = 0;
            distances[p] = (out.centroids.colwise() - points.col(p)).colwise().squaredNorm().minCoeff(&nearest);
            std::size_t& member = out.member[static_cast<std::size_t>(p)];
            moved = moved || member != static_cast<std::size_t>(nearest);
            member = static_cast<std::size_t>(nearest);
        }
        if (!moved || i == iterations) break;
        Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(points.rows(), clusters);
        Eigen::VectorXd counts = Eigen::VectorXd::Zero(clusters);
        for (Eigen::Index p = 0; p < n; ++p) {
            const auto c = static_cast<Eigen::Index>(out.member[static_cast<std::size_t>(p)]);
            sums.col(c) += points.col(p);
            counts[c] += 1;
        }
        for (Eigen::Index c = 0; c < clusters; ++c)
            if (counts[c] > 0) out.centroids.col(c) = sums.col(c) / counts[c];
        if (counts.minCoeff() > 0) continue;
        for (Eigen::Index p = 0; p < n; ++p)
            distances[p] = (out.centroids.col(static_cast<Eigen::Index>(out.member[static_cast<std::size_t>(p)])) - points.col(p)).squaredNorm();
        for (Eigen::Index c = 0; c < clusters; ++c) {
            if (counts[c] > 0) continue;
            Eigen::Index farthest = 0;
            distances.maxCoeff(&farthest);
            out.centroids.col(c) = points.col(farthest);
            distances[farthest] = 0; // the next empty cluster takes another one
        }
    }
    out.loss = distances.sum();
    return out;
}

/// k-means with k = step, 2 step, .. at most `most`: up to the first k whose loss is not below the last one's by the factor `threshold`.
///
/// pre: 1 <= step <= most, threshold > 0
[[nodiscard]] inline clustering adaptive_clusters(const Eigen::MatrixXd& points, std::size_t step, std::size_t most, double threshold,
                                                  augur::random_engine& rng) {
    AUGUR_ASSERT(step >= 1 && step <= most, "adaptive_clusters: step");
    double last = std::numeric_limits<double>::infinity();
    for (std::size_t k = step;; k += step) {
        clustering out = k_means(points, k, rng);
        if (out.loss >= last / threshold || k + step > most) return out;
        last = out.loss;
    }
}

} // namespace examples

#endif
