// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_OPTIONS_HPP
#define AUGUR_TLP_TRAIN_OPTIONS_HPP

/// @file
/// How TLP is trained, while a tuner runs and on a data set.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <augur/core/error.hpp>

namespace augur::inline v0::tlp {

enum class training_loss : std::uint8_t { lambda_rank, mse };

/// How the learning rate falls.
enum class learning_rate_decay : std::uint8_t {
    constant,
    step,  ///< times `rate_factor` every `rate_every` epochs
    cosine ///< along half a cosine to a hundredth, over all epochs
};

/// How TLP is fitted while a tuner runs (`fit_online`): to few records, of which there are more each time.
struct online_fit_options {
    std::size_t list = 64;         ///< most schedules of one task that are ranked together
    std::size_t batch = 128;       ///< schedules a step, of any number of tasks
    std::size_t epochs = 100;      ///< times that every schedule is seen ...
    std::size_t least_steps = 300; ///< ... more often where that makes fewer steps than this
    double learning_rate = 1e-3;   ///< at first; falls to a hundredth of it along a cosine
    double weight_decay = 1e-4;
    double clip = 0.5;

    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check() const {
        const auto fine = [](double x) { return x > 0 && std::isfinite(x); };
        if (list >= 2 && batch >= 1 && epochs >= 1 && fine(learning_rate) && clip > 0 && weight_decay >= 0 && std::isfinite(weight_decay)) return {};
        return error{errc::invalid_argument, "tlp fit: expected a list of 2 or more, a batch and epochs of 1 or more, a rate and clip above 0 and a "
                                             "weight decay of 0 or more, got " +
                                                 std::to_string(list) + ", " + std::to_string(batch) + ", " + std::to_string(epochs) + ", " +
                                                 std::to_string(learning_rate) + ", " + std::to_string(clip) + ", " + std::to_string(weight_decay)};
    }
};

/// How TLP is trained on a data set (`train_on_dataset`). The defaults rank the schedules of a task among themselves; `faithful` is the authors' code
/// (scripts/tlp_train.py).
struct training_options {
    std::size_t epochs = 12;
    std::size_t batch = 512; ///< schedules a step
    double learning_rate = 2e-3;
    std::uint64_t seed = 1;
    std::string checkpoint; ///< file, written after every epoch, from which an equal call goes on; empty: none

    /// What is seldom changed.
    struct fine_settings {
        training_loss loss = training_loss::lambda_rank;
        bool by_task = true;    ///< rank within a task, in lists of at most `list`; otherwise a batch is one list of whatever tasks
        std::size_t list = 128; ///< at least 2
        double sharpness = 4;   ///< lambda_rank: a label counts as label^sharpness, so that the best programs of a task stand apart
        double regret = 1;      ///< lambda_rank: weight of `nn::expected_regret`, by which a slow or failed pick costs what it costs
        double weight_decay = 1e-4;
        double clip = 0.5; ///< largest norm of the gradient
        learning_rate_decay rate = learning_rate_decay::cosine;
        std::size_t rate_every = 16;
        double rate_factor = 0.5;
        std::vector<double> output_weights; ///< of the outputs' losses; empty: 1 each
        bool decoders_only = false;         ///< fine-tuning of the head: all else stays as it is
        std::size_t target_head = 0;      ///< whose top-1 and top-5 decide
        std::size_t target_head_passes = 1;      ///< by_task, several outputs: how often an epoch draws the lists of the judged output, which may be few
        std::size_t patience = 0;           ///< stop after so many epochs without a better validation; 0: never
    } fine;

    /// All tasks in one list, labels as they are, a constant rate.
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
    /// Errors: invalid_argument.
    [[nodiscard]] result<void> check(std::size_t outputs) const {
        const auto wrong = [](const std::string& what) { return error{errc::invalid_argument, "tlp training: expected " + what}; };
        const auto above = [](double x) { return x > 0 && std::isfinite(x); };
        if (fine.list < 2 || batch < 2)
            return wrong("a list and a batch of at least 2, got " + std::to_string(fine.list) + " and " + std::to_string(batch));
        if (epochs < 1 || fine.rate_every < 1)
            return wrong("at least one epoch, in all and a step of the rate, got " + std::to_string(epochs) + " and " +
                         std::to_string(fine.rate_every));
        if (fine.target_head_passes < 1 || fine.target_head_passes > 1024)
            return wrong("1 to 1024 passes over the judged output's lists, got " + std::to_string(fine.target_head_passes));
        if (!above(learning_rate) || !(fine.clip > 0) || !above(fine.rate_factor) || !(fine.weight_decay >= 0) || std::isinf(fine.weight_decay))
            return wrong("a positive rate, clip and factor and a weight decay of at least 0, got " + std::to_string(learning_rate) + ", " +
                         std::to_string(fine.clip) + ", " + std::to_string(fine.rate_factor) + " and " + std::to_string(fine.weight_decay));
        if (!(fine.sharpness > 0) || !std::isfinite(fine.sharpness) || !(fine.regret >= 0) || !std::isfinite(fine.regret))
            return wrong("a positive sharpness and a regret of at least 0");
        if (!fine.output_weights.empty() && fine.output_weights.size() != outputs)
            return wrong("a weight for each of " + std::to_string(outputs) + " outputs, got " + std::to_string(fine.output_weights.size()));
        for (const double w : fine.output_weights)
            if (!(w >= 0) || !std::isfinite(w)) return wrong("weights of at least 0");
        if (fine.target_head >= outputs)
            return wrong("an output below " + std::to_string(outputs) + " to judge by, got " + std::to_string(fine.target_head));
        return {};
    }
};

} // namespace augur::inline v0::tlp

#endif
