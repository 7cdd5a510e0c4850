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
#include <augur/nn/kernels/lambda_rank.hpp>

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
    std::vector<double> score_, power_, gain_, discount_, gradient_, ideal_;
};

template <class S>
double lambda_rank::operator()(std::span<const S> score, std::span<const S> label, std::span<S> gradient) {
    AUGUR_ASSERT(score.size() == label.size() && score.size() == gradient.size(), "lambda_rank: shape");
    constexpr double eps = 1e-10;
    constexpr auto lanes = static_cast<std::size_t>(kernels::lambda_lanes);
    const std::size_t n = score.size(), padded = (n + lanes - 1) / lanes * lanes;
    order_.resize(n);
    for (auto* v : {&score_, &power_, &gain_, &gradient_}) v->assign(padded, 0.0);
    discount_.assign(padded, 1.0);
    for (std::size_t i = 0; i < n; ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b] || (score[a] == score[b] && a < b); });

    for (std::size_t r = 0; r < n; ++r) {
        const double y = (std::max)(0.0, static_cast<double>(label[order_[r]]));
        score_[r] = static_cast<double>(score[order_[r]]);
        gain_[r] = std::exp2(y) - 1;
        discount_[r] = 1 / std::log2(static_cast<double>(r) + 2);
    }
    ideal_.assign(gain_.begin(), gain_.begin() + static_cast<std::ptrdiff_t>(n));
    std::sort(ideal_.begin(), ideal_.end(), [](double a, double b) { return a > b; });
    double best = 0;
    for (std::size_t r = 0; r < n; ++r) best += ideal_[r] * discount_[r];
    best = (std::max)(best, eps);
    for (double& g : gain_) g /= best;

    const kernels::ranked_items items{score_.data(), power_.data(), gain_.data(), discount_.data()};
    double loss = 0;
    for (std::size_t a = 0; a + 1 < n; ++a) {
        // one exponential an item instead of one a pair, from a base that moves along lest it underflow
        if (a == 0 || power_[a] < 1e-20)
            for (std::size_t b = a; b < n; ++b) power_[b] = score_[a] - score_[b] < 600 ? std::exp(score_[b] - score_[a]) : 0.0;
        loss += kernels::lambda_pairs(items, static_cast<std::ptrdiff_t>(a), static_cast<std::ptrdiff_t>(padded), gradient_.data());
    }
    for (std::size_t r = 0; r < n; ++r) gradient[order_[r]] = static_cast<S>(gradient_[r]);
    return loss;
}

} // namespace nn
} // namespace augur::inline v0

#endif
