// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_TABLES_PRETRAIN_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_TABLES_PRETRAIN_HPP

/// @file
/// Trains a transformer on rows: first without labels, then to rank.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/tlp/train/samples.hpp>

#include "tables.hpp"
#include "transformer.hpp"

namespace examples {

struct pretrain_options {
    unlabelled how = unlabelled::next_row;
    augur::nn::index layers = 4, width = 256, heads = 8; ///< the authors: GPT 12, 512, 8; BERT 6, 768, 12
    std::size_t epochs_before = 10, epochs = 10;         ///< without labels, with them
    std::size_t list = 64;                               ///< schedules a step: of one task when they are ranked
    double sharpness = 1, regret = 0;                    ///< of the ranking loss, as in `augur::tlp::training_options`
    double learning_rate = 3e-4;                         ///< at first; falls along half a cosine in each of the two parts
    double clip = 0.5;
    std::uint64_t seed = 1;
    std::string checkpoint; ///< file, written after every epoch, from which an equal call goes on
    std::uint64_t run = 0;  ///< hash of all that decides the outcome: another one's checkpoint is not used
};

struct pretrain_progress {
    bool before = false; ///< still without labels
    std::size_t epoch = 0, epochs = 0;
    double loss = 0, top_1 = 0, top_5 = 0, seconds_left = 0; ///< top-k of the validation samples
};

struct pretrained {
    row_transformer<float> model; ///< of the best epoch by top-1 + top-5
    std::size_t best = 0;         ///< from 0
};

/// @param input      how rows become numbers
/// @param unlabelled_records  schedules of the first part; what they took is not looked at
/// @param progress   false: stop after this epoch
/// Errors: interrupted (by `progress`), not_found (nothing to learn from), limit (the loss is no number any more), io.
[[nodiscard]] augur::result<pretrained> pretrain_and_rank(const augur::dataset& data, const augur::tlp::row_table& table,
                                                          const augur::tlp::config& input, std::span<const std::uint32_t> unlabelled_records,
                                                          const augur::tlp::training_samples& train, const augur::tlp::training_samples& validation,
                                                          executor& threads, const pretrain_options& options,
                                                          const std::function<bool(const pretrain_progress&)>& progress);

/// scores (N), the same for any executor; -infinity where the vocabulary does not know a primitive.
[[nodiscard]] std::vector<float> pretrained_scores(const row_transformer<float>& net, const augur::dataset& data, const augur::tlp::row_table& table,
                                                   const augur::tlp::config& input, unlabelled how, std::span<const std::uint32_t> records,
                                                   executor& threads);

} // namespace examples

#endif
