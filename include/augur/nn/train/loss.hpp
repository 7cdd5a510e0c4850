// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_NN_TRAIN_LOSS_HPP
#define AUGUR_NN_TRAIN_LOSS_HPP

/// @file
/// Losses with gradients: mean squared error, smooth L1, binary cross-entropy, LambdaRank as in TLP's training code, and expected regret.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/nn/kernels/lambda_rank.hpp>
#include <augur/nn/layers/activation.hpp>

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

/// mean(l(score - label)), l(d) = d^2 / 2 where |d| < 1, else |d| - 1/2 (torch's smooth_l1_loss); gradient <- its derivative.   All (N).
template <class S>
S smooth_l1(std::span<const S> score, std::span<const S> label, std::span<S> gradient) {
    AUGUR_ASSERT(score.size() == label.size() && score.size() == gradient.size(), "smooth_l1: shape");
    S loss(0);
    const S share = score.empty() ? S(0) : S(1) / S(static_cast<double>(score.size()));
    for (std::size_t i = 0; i < score.size(); ++i) {
        const S off = score[i] - label[i], slope = off < S(-1) ? S(-1) : off > S(1) ? S(1) : off;
        loss += slope * (off - S(0.5) * slope) * share;
        gradient[i] = slope * share;
    }
    return loss;
}

/// mean(-y ln(p) - (1 - y) ln(1 - p)), p = sigmoid(logit), y = label in [0, 1] (torch's binary_cross_entropy_with_logits);
/// gradient <- its derivative by each logit, (p - y) / N.   All (N).
template <class S>
S binary_cross_entropy(std::span<const S> logit, std::span<const S> label, std::span<S> gradient) {
    AUGUR_ASSERT(logit.size() == label.size() && logit.size() == gradient.size(), "binary_cross_entropy: shape");
    using std::abs, std::exp, std::log;
    S loss(0);
    const S share = logit.empty() ? S(0) : S(1) / S(static_cast<double>(logit.size()));
    for (std::size_t i = 0; i < logit.size(); ++i) {
        // ln(1 + e^x) - y x, without overflow for large |x|
        loss += ((logit[i] < S(0) ? S(0) : logit[i]) + log(S(1) + exp(-abs(logit[i]))) - label[i] * logit[i]) * share;
        gradient[i] = (sigmoid<S>(logit[i]) - label[i]) * share;
    }
    return loss;
}

/// Expected regret, in octaves (log2) of latency, of picking an item of a ranking group with probability softmax(score):  sum_i softmax(score)_i c_i,
/// c_i = min(log2(best label / label_i), most).   All (n); gradient <- its derivative by each score, softmax(score)_i (c_i - regret).
///
/// Ranking losses weight the best items; the expected regret penalises bad picks, with cost `most` for a failed item (label 0). The regret of a group
/// without a positive label is 0.
/// @note O(n), allocates nothing; computed in double for any S
template <class S>
double expected_regret(std::span<const S> score, std::span<const S> label, std::span<S> gradient, double most = 4) {
    AUGUR_ASSERT(score.size() == label.size() && score.size() == gradient.size(), "expected_regret: shape");
    double best = 0, high = -std::numeric_limits<double>::infinity(), sum = 0, regret = 0;
    for (const S y : label) best = (std::max)(best, static_cast<double>(y));
    for (const S s : score) high = (std::max)(high, static_cast<double>(s));
    const auto weight = [&](std::size_t i) { return std::exp(static_cast<double>(score[i]) - high); };
    const auto cost = [&](std::size_t i) {
        const double y = static_cast<double>(label[i]);
        return y > 0 ? (std::min)(std::log2(best / y), most) : most;
    };
    if (best > 0) {
        for (std::size_t i = 0; i < score.size(); ++i) {
            const double w = weight(i);
            sum += w;
            regret += w * cost(i);
        }
        regret /= sum;
    }
    for (std::size_t i = 0; i < score.size(); ++i) gradient[i] = best > 0 ? static_cast<S>(weight(i) / sum * (cost(i) - regret)) : S(0);
    return regret;
}

/// LambdaRank loss of one ranking group (Burges 2010; weights and the two clamps as in TLP's training code).
///
/// Rank r = 1..n by score, highest first, ties by index. With D_r = log2(1 + r) and G_i = (2^y_i - 1) / maxDCG, each pair with y_i > y_j adds
/// -log2(max(p^w, eps)), p = max(sigmoid(s_i - s_j), eps), w = |1/D_i - 1/D_j| |G_i - G_j|. The gradient treats w as constant. A pair with
/// s_j - s_i > 23 has gradient 0, because of the clamp: keep scores small.
///
/// Owns scratch memory: allocates nothing after its largest group. Threads: one object per thread.
class lambda_rank {
public:
    /// Returns the sum over pairs; gradient <- its derivative by each score.   All (n); higher labels are better, negative labels count as 0.
    /// @note O(n^2) pairs, O(n) memory. Computed in double for any S.
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
    if (std::any_of(score.begin(), score.end(), [](const S& s) { return !(s - s == S(0)); })) { // NaN or infinite: the trainer sees the loss
        std::fill(gradient.begin(), gradient.end(), S(0));
        return std::numeric_limits<double>::quiet_NaN();
    }
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
        // one exponential per item instead of one per pair; the base is renewed before the powers underflow
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
