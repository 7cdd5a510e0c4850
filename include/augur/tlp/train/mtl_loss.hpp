// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_MTL_LOSS_HPP
#define AUGUR_TLP_TRAIN_MTL_LOSS_HPP

/// @file
/// Multi-task loss of MTL-TLP (Zhai et al. 2023, section 5.2): weighted sum of one loss per platform, with missing labels masked.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0::tlp {

/// Weighted sum of the outputs' losses; the loss of an output is computed over the schedules with a label for that output.
///
/// A mask marks the missing labels of every output; no label value is reserved.
/// Owns scratch memory: allocates nothing after its largest batch. Threads: one object per thread.
template <nn::scalar S>
class mtl_loss {
public:
    /// @param scores    (N, K) of K outputs
    /// @param labels    (N, K); a missing label is not read
    /// @param known     (N, K) 0 for a missing label
    /// @param weights   (K) weights of the outputs' losses; empty: 1 each
    /// @param loss      `loss(scores, labels, gradient)` of one ranking group, e.g. `nn::lambda_rank` or `nn::mse<S>`
    /// @param d_scores  (N, K) <- dL/d(score), 0 for a missing label; the argument of `forward_backward::backward`
    /// @return          the sum; an output without labels adds 0
    template <class Loss>
    double operator()(std::span<const S> scores, std::span<const S> labels, std::span<const std::uint8_t> known, std::span<const double> weights,
                      std::size_t outputs, Loss&& loss, std::span<S> d_scores) {
        AUGUR_ASSERT(outputs > 0 && scores.size() % outputs == 0 && labels.size() == scores.size() && known.size() == scores.size() &&
                         d_scores.size() == scores.size() && (weights.empty() || weights.size() == outputs),
                     "mtl_loss: shape");
        double sum = 0;
        for (std::size_t k = 0; k < outputs; ++k) {
            score_.clear();
            label_.clear();
            for (std::size_t i = k; i < scores.size(); i += outputs) {
                d_scores[i] = S(0);
                if (known[i] == 0) continue;
                score_.push_back(scores[i]);
                label_.push_back(labels[i]);
            }
            if (score_.empty()) continue;
            gradient_.resize(score_.size());
            const double weight = weights.empty() ? 1.0 : weights[k];
            sum += weight * static_cast<double>(loss(std::span<const S>(score_), std::span<const S>(label_), std::span<S>(gradient_)));
            std::size_t next = 0;
            for (std::size_t i = k; i < scores.size(); i += outputs)
                if (known[i] != 0) d_scores[i] = S(weight) * gradient_[next++];
        }
        return sum;
    }

private:
    std::vector<S> score_, label_, gradient_; ///< of one output, without missing labels
};

} // namespace augur::inline v0::tlp

#endif
