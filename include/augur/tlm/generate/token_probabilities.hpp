// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLM_GENERATE_TOKEN_PROBABILITIES_HPP
#define AUGUR_TLM_GENERATE_TOKEN_PROBABILITIES_HPP

/// @file
/// Probabilities of the next token: a model's own, and those that samples are drawn by.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/nn/kernels/exp.hpp>
#include <augur/nn/types.hpp>
#include <augur/tlm/vocabulary.hpp>

namespace augur::inline v0::tlm {

/// How probabilities follow from logits.
struct token_sampling {
    double temperature = 1;
    std::size_t top_k = 0; ///< only the most likely so many tokens of a choice; 0: all
    double top_p = 1;      ///< only the most likely tokens with so much probability together
    /// False: a choice is among its legal tokens, so what the model gives to others is shared out token by token, and points behind a choice that has few
    /// legal tokens come too often. True: a choice is among all tokens, and legal points have the ratios that the model itself gives them.
    bool aligned = false;

    friend bool operator==(const token_sampling&, const token_sampling&) = default;
};

/// The probabilities of one row of logits, which must outlive their use.
///
/// Cost     one exponential a word; with limits on all tokens they are sorted
/// Threads  one thread
class token_probabilities {
public:
    /// Errors  limit: logits that are no numbers, +infinity, or all -infinity
    [[nodiscard]] result<void> read(std::span<const float> logits) {
        logits_ = logits;
        top_ = Eigen::Map<const nn::matrix<float>>(logits.data(), 1, static_cast<nn::index>(logits.size())).maxCoeff();
        sum_ = sum_at(1);
        if (!std::isfinite(sum_) || !std::isfinite(top_))
            return error{errc::limit, "generator: the model gave logits that are no numbers, or all -infinity"};
        log_sum_ = std::log(sum_);
        return {};
    }
    /// By the model alone.
    [[nodiscard]] double log_probability(token t) const { return static_cast<double>(logits_[t]) - static_cast<double>(top_) - log_sum_; }
    [[nodiscard]] double probability(std::span<const token> tokens) const {
        double sum = 0;
        for (const token t : tokens) sum += static_cast<double>(std::exp(logits_[t] - top_));
        return (std::min)(sum / sum_, 1.0);
    }
    /// Log-probabilities of the legal tokens of a choice; -infinity beyond the limits.
    [[nodiscard]] std::vector<double> log_probabilities(std::span<const token> tokens, const token_sampling& by) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        std::vector<double> out(tokens.size(), -infinity);
        float most = by.aligned ? top_ : -std::numeric_limits<float>::infinity();
        for (const token t : tokens) most = (std::max)(most, logits_[t]);
        if (!std::isfinite(most)) return out;
        const auto x = [&](token t) { return (static_cast<double>(logits_[t]) - static_cast<double>(most)) / by.temperature; };
        const bool limited = by.top_k > 0 || by.top_p < 1;
        double sum = 0;
        if (by.aligned && !limited) {
            sum = by.temperature == 1 ? sum_ : sum_at(1 / by.temperature);
        } else if (!limited) {
            for (const token t : tokens) sum += std::exp(x(t));
        } else {
            kept_.assign(tokens.begin(), tokens.end());
            if (by.aligned) {
                kept_.resize(logits_.size());
                std::iota(kept_.begin(), kept_.end(), token{0});
            }
            std::sort(kept_.begin(), kept_.end(), [&](token a, token b) { return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b; });
            if (by.top_k > 0) kept_.resize((std::min)(kept_.size(), by.top_k));
            double all = 0;
            for (const token t : kept_) all += std::exp(x(t));
            std::size_t n = 0;
            while (n == 0 || (n < kept_.size() && sum < by.top_p * all)) sum += std::exp(x(kept_[n++]));
            is_kept_.assign(logits_.size(), 0);
            for (std::size_t i = 0; i < n; ++i) is_kept_[kept_[i]] = 1;
        }
        const double log_sum = std::log(sum);
        for (std::size_t i = 0; i < tokens.size(); ++i)
            if (!limited || is_kept_[tokens[i]] != 0) out[i] = x(tokens[i]) - log_sum;
        return out;
    }

private:
    std::span<const float> logits_;
    float top_ = 0;
    double sum_ = 0, log_sum_ = 0; ///< of e^(logit - top)
    nn::row_vector<float> row_;    ///< aligned: the order in which it is summed depends on its length only
    std::vector<token> kept_;
    std::vector<std::uint8_t> is_kept_;

    /// Sum of e^(scale * (logit - top)).
    double sum_at(double scale) {
        row_.resize(static_cast<nn::index>(logits_.size()));
        float* const row = row_.data();
        const float top = top_, by = static_cast<float>(scale);
        for (std::size_t i = 0; i < logits_.size(); ++i) { // NaN stays
            const float below = (logits_[i] - top) * by;
            row[i] = below > 0 ? 0 : below;
        }
        nn::kernels::exp_nonpositive(row, row_.size());
        return static_cast<double>(row_.sum());
    }
};

} // namespace augur::inline v0::tlm

#endif
