// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_MTL_LOSS_HPP
#define AUGUR_TLP_TRAIN_MTL_LOSS_HPP

/// @file
/// MTL-TLP's loss (Zhai et al. 2023, section 5.2): each output has its own labels, and may lack any of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/nn/types.hpp>

namespace augur::inline v0::tlp {

/// The weighted sum of the outputs' losses, each over the schedules that have a label for it.
///
/// Whether there is a label is told by a mask, not by a special value, and for every output, not only for the target's.
/// Owns scratch memory: allocates nothing once it has seen its largest batch. One object a thread.
template <nn::scalar S>
class mtl_loss {
public:
    /// @param scores    (N, K) of K outputs
    /// @param labels    (N, K); what stands where there is none is not read
    /// @param known     (N, K) 0: there is no label
    /// @param weights   (K) of the outputs' losses; empty: 1 each
    /// @param loss      `loss(scores, labels, gradient)` of one list, e.g. `nn::lambda_rank` or `nn::mse<S>`
    /// @param d_scores  (N, K) <- dL/d(score), 0 where there is no label; what `forward_backward::backward` takes
    /// @return          the sum; an output without any label adds nothing
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
    std::vector<S> score_, label_, gradient_; ///< of one output
};

} // namespace augur::inline v0::tlp

#endif
