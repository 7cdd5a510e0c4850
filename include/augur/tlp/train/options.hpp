// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_OPTIONS_HPP
#define AUGUR_TLP_TRAIN_OPTIONS_HPP

/// @file
/// Training options of TLP, for training on a data set and on the records of a running search.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/core/error.hpp>

namespace augur::inline v0::tlp {

enum class training_loss : std::uint8_t { lambda_rank, mse };

/// Learning-rate schedule.
enum class learning_rate_decay : std::uint8_t {
    constant,
    step,  ///< multiplied by `rate_factor` every `rate_every` epochs
    cosine ///< half a cosine over all epochs, down to 1 % of the initial rate
};

/// Options of a training. The defaults are for `train_on_dataset` and rank schedules within their task; `faithful` reproduces the authors' code
/// (scripts/tlp_train.py); `online` is for `fit_online`.
struct training_options {
    std::size_t epochs = 12;
    std::size_t batch = 512; ///< most schedules per step
    double learning_rate = 2e-3;
    std::uint64_t seed = 1;
    std::string checkpoint; ///< file of `train_on_dataset`, written after every epoch; a call with equal arguments resumes from it; empty: none

    /// Options that are rarely changed.
    struct fine_settings {
        training_loss loss = training_loss::lambda_rank;
        bool by_task = true;    ///< ranking groups hold schedules of one task; false: each batch is one group of any tasks
        std::size_t list = 128; ///< maximum size of a ranking group; at least 2; more than `batch` counts as `batch`
        double sharpness = 4;   ///< lambda_rank: uses label^sharpness, which separates the best programs of a task
        double regret = 1;      ///< lambda_rank: weight of `nn::expected_regret`, which penalises slow or failed picks
        double weight_decay = 1e-4;
        double clip = 0.5;                                      ///< maximum norm of the gradient
        learning_rate_decay rate = learning_rate_decay::cosine; ///< how `learning_rate` falls
        std::size_t rate_every = 16;                            ///< epochs per step of learning_rate_decay::step
        double rate_factor = 0.5;                               ///< factor of learning_rate_decay::step
        std::vector<double> output_weights;                     ///< weights of the outputs' losses; empty: 1 each
        bool decoders_only = false;                             ///< fine-tuning: trains the decoders only
        std::size_t target_head = 0;                            ///< output whose validation top-1 and top-5 select the best epoch
        std::size_t target_head_passes = 1; ///< by_task, several outputs: passes per epoch over the ranking groups of the target head
        std::size_t patience = 0;           ///< stop after this many epochs without a better validation score; 0: never
        std::size_t least_steps = 0;        ///< minimum number of steps; adds epochs if necessary
    } fine;

    /// The authors' setup: one ranking group per batch across all tasks, labels not sharpened, no regret term, constant learning rate.
    static training_options faithful() {
        training_options o;
        o.epochs = 50;
        o.batch = 1024;
        o.learning_rate = 7e-4;
        o.fine.by_task = false;
        o.fine.sharpness = 1;
        o.fine.regret = 0;
        o.fine.weight_decay = 1e-6;
        o.fine.rate = learning_rate_decay::constant;
        return o;
    }
    /// For the few hundred records of a running search: labels not sharpened, no regret term, at least 300 steps even with few records.
    static training_options online() {
        training_options o;
        o.epochs = 100;
        o.batch = 128;
        o.learning_rate = 1e-3;
        o.fine.list = 64;
        o.fine.sharpness = 1;
        o.fine.regret = 0;
        o.fine.least_steps = 300;
        return o;
    }
    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check(std::size_t outputs) const {
        const auto wrong = [](const std::string& message) { return error{errc::invalid_argument, "tlp training: expected " + message}; };
        const auto above = [](double x) { return x > 0 && std::isfinite(x); };
        if (fine.list < 2 || batch < 2)
            return wrong("a list and a batch of at least 2, got " + std::to_string(fine.list) + " and " + std::to_string(batch));
        if (epochs < 1 || fine.rate_every < 1)
            return wrong("epochs and rate_every of at least 1, got " + std::to_string(epochs) + " and " + std::to_string(fine.rate_every));
        if (fine.target_head_passes < 1 || fine.target_head_passes > 1024)
            return wrong("1 to 1024 passes over the ranking groups of the target head, got " + std::to_string(fine.target_head_passes));
        if (!above(learning_rate) || !(fine.clip > 0) || !above(fine.rate_factor) || !(fine.weight_decay >= 0) || std::isinf(fine.weight_decay))
            return wrong("a positive rate, clip and factor and a weight decay of at least 0, got " + std::to_string(learning_rate) + ", " +
                         std::to_string(fine.clip) + ", " + std::to_string(fine.rate_factor) + " and " + std::to_string(fine.weight_decay));
        if (!(fine.sharpness > 0) || !std::isfinite(fine.sharpness) || !(fine.regret >= 0) || !std::isfinite(fine.regret))
            return wrong("a positive sharpness and a regret of at least 0, got " + std::to_string(fine.sharpness) + " and " +
                         std::to_string(fine.regret));
        if (!fine.output_weights.empty() && fine.output_weights.size() != outputs)
            return wrong("a weight for each of " + std::to_string(outputs) + " outputs, got " + std::to_string(fine.output_weights.size()));
        for (const double w : fine.output_weights)
            if (!(w >= 0) || !std::isfinite(w)) return wrong("finite output weights of at least 0, got " + std::to_string(w));
        if (fine.target_head >= outputs) return wrong("a target head below " + std::to_string(outputs) + ", got " + std::to_string(fine.target_head));
        return {};
    }
};

} // namespace augur::inline v0::tlp

#endif
