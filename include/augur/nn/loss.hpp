// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_LOSS_HPP
#define AUGUR_NN_LOSS_HPP

/// @file
/// Losses: mean squared error, and LambdaRank as TLP uses it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <augur/core/config.hpp>

namespace augur::inline v0 {
namespace nn {

/// mean((score - label)^2); gradient <- its derivative.   All (N).
template <class S>
S mse(std::span<const S> score, std::span<const S> label, std::span<S> gradient) {
    AUGUR_ASSERT(score.size() == label.size() && score.size() == gradient.size(), "mse: shape");
    S loss(0);
    const S share = score.empty() ? S(0) : S(1) / S(static_cast<double>(score.size()));
    for (std::size_t i = 0; i < score.size(); ++i) {
        const S off = score[i] - label[i];
        loss += off * off * share;
        gradient[i] = S(2) * off * share;
    }
    return loss;
}

/// LambdaRank of one ranked list (Burges 2010; the weights and the two clamps are those of TLP's training code).
///
/// Rank r = 1..n by score, highest first, equal scores by index. With D_r = log2(1 + r) and G_i = (2^y_i - 1) / maxDCG, each pair with y_i > y_j
/// adds -log2(max(p^w, eps)), p = max(sigmoid(s_i - s_j), eps), w = |1/D_i - 1/D_j| |G_i - G_j|. The weights w are constants to the gradient.
/// A pair that is wrong by more than 23 has no gradient: keep scores small.
///
/// Owns scratch memory: allocates nothing once it has seen its longest list. One object a thread.
class lambda_rank {
public:
    /// The sum over pairs; gradient <- its derivative by each score.   All (n); labels at least 0, larger is better, those below 0 count as 0.
    /// @note O(n^2) pairs, O(n) memory. Computed in double whatever the scores are.
    template <class S>
    double operator()(std::span<const S> score, std::span<const S> label, std::span<S> gradient);

private:
    std::vector<std::size_t> order_;
    std::vector<double> score_, gain_, discount_, gradient_, ideal_;
};

template <class S>
double lambda_rank::operator()(std::span<const S> score, std::span<const S> label, std::span<S> gradient) {
    AUGUR_ASSERT(score.size() == label.size() && score.size() == gradient.size(), "lambda_rank: shape");
    constexpr double eps = 1e-10;
    constexpr double ln2 = 0.69314718055994530942;
    const std::size_t n = score.size();
    order_.resize(n);
    for (auto* v : {&score_, &gain_, &discount_, &gradient_, &ideal_}) v->resize(n);
    for (std::size_t i = 0; i < n; ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b] || (score[a] == score[b] && a < b); });

    for (std::size_t r = 0; r < n; ++r) {
        const double y = (std::max)(0.0, static_cast<double>(label[order_[r]]));
        score_[r] = static_cast<double>(score[order_[r]]);
        gain_[r] = std::exp2(y) - 1;
        discount_[r] = 1 / std::log2(static_cast<double>(r) + 2);
        gradient_[r] = 0;
    }
    ideal_ = gain_;
    std::sort(ideal_.begin(), ideal_.end(), [](double a, double b) { return a > b; });
    double best = 0;
    for (std::size_t r = 0; r < n; ++r) best += ideal_[r] * discount_[r];
    best = (std::max)(best, eps);
    for (double& g : gain_) g /= best;

    double loss = 0;
    for (std::size_t a = 0; a + 1 < n; ++a) {
        double own = 0;
        for (std::size_t b = a + 1; b < n; ++b) {
            const double gap = gain_[a] - gain_[b];
            if (gap == 0) continue;
            const double sign = gap > 0 ? 1 : -1; // the better of the two is a or b
            const double sigmoid = 1 / (1 + std::exp(-sign * (score_[a] - score_[b])));
            const double p = (std::max)(sigmoid, eps);
            const double w = (discount_[a] - discount_[b]) * std::abs(gap); // a stands higher: its discount is larger
            const double term = -w * std::log2(p);
            if (term > -std::log2(eps)) { // p^w < eps: clamped, no gradient
                loss -= std::log2(eps);
                continue;
            }
            loss += term;
            if (sigmoid < eps) continue;
            const double lambda = sign * w / ln2 * (1 - p);
            own -= lambda;
            gradient_[b] += lambda;
        }
        gradient_[a] += own;
    }
    for (std::size_t r = 0; r < n; ++r) gradient[order_[r]] = static_cast<S>(gradient_[r]);
    return loss;
}

} // namespace nn
} // namespace augur::inline v0

#endif
