// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_TABLES_RECIPE_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_TABLES_RECIPE_HPP

/// @file
/// How a model of the tables is made and trained.

#include <cstddef>
#include <string>
#include <string_view>

#include <augur/core/number.hpp>
#include <augur/tlp/features.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/dataset/dataset.hpp>

#include "console.hpp"

namespace examples {

/// A model before it is trained, and how it will be.
struct recipe {
    augur::tlp::schema schema;
    augur::tlp::config config; ///< its columns follow the schema, its outputs the heads
    augur::tlp::training_options options;
    augur::label_rule failures = augur::label_rule::zero;
    bool split_by_record = false; ///< validation of the tasks that are trained on, as the authors do
    bool last_epoch = false;      ///< is kept, whatever the validation says: a share of few labels is no measure of an epoch
};

/// "default" or "faithful": the one place that says what they are.
[[nodiscard]] inline recipe recipe_of(std::string_view base, bool gpu, std::size_t outputs = 1) {
    recipe r;
    if (base == "faithful") {
        r.schema = gpu ? augur::tlp::schema::authors_gpu() : augur::tlp::schema::authors_cpu();
        r.config = augur::tlp::config::authors(0);
        r.options = augur::tlp::training_options::faithful();
        r.failures = augur::label_rule::faithful;
        r.split_by_record = true;
    } else {
        constexpr std::size_t rows = 64, numbers = 12, places = 0;
        r.schema = gpu ? augur::tlp::schema::ansor_gpu(rows, numbers, places) : augur::tlp::schema::ansor(rows, numbers, places);
        r.config = augur::tlp::config::medium(0);
        r.options.fine.target_head_passes = outputs > 1 ? 4 : 1; // a target's few labels count for more
        // with more passes the tasks that are like those trained on gain, the others lose
        r.options.epochs = 2;
    }
    return r;
}

/// Everything in the options that decides the outcome; the seed stands elsewhere. An option more in the struct is refused by the compiler here, so
/// that no cell is taken for one that was computed without it.
[[nodiscard]] inline std::string options_text(const augur::tlp::training_options& options) {
    const auto& [epochs, batch, learning_rate, seed, checkpoint, fine] = options;
    const auto& [loss, by_task, list, sharpness, regret, weight_decay, clip, rate, rate_every, rate_factor, output_weights, decoders_only,
                 target_head, target_head_passes, patience, least_steps] = fine;
    static_cast<void>(seed), static_cast<void>(checkpoint);
    std::string text = text_of("loss %d by_task %d list %zu batch %zu epochs %zu rate %d", static_cast<int>(loss), by_task ? 1 : 0, list, batch,
                               epochs, static_cast<int>(rate));
    text += text_of(" every %zu decoders %d patience %zu judged %zu", rate_every, decoders_only ? 1 : 0, patience, target_head);
    if (target_head_passes != 1) text += text_of(" passes %zu", target_head_passes); // cells from before there were passes stay known
    if (least_steps != 0) text += text_of(" least_steps %zu", least_steps);
    for (const double x : {sharpness, regret, learning_rate, weight_decay, clip, rate_factor}) augur::append_number(text += ' ', x);
    for (const double x : output_weights) augur::append_number(text += " weight ", x);
    return text;
}

} // namespace examples

#endif
