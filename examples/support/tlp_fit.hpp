// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_TLP_FIT_HPP
#define AUGUR_EXAMPLES_SUPPORT_TLP_FIT_HPP

/// @file
/// A small TLP trained on records of any tuner, with the vocabulary of these records.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/train/dataset_trainer.hpp>
#include <augur/tlp/vocabulary.hpp>

#include "console.hpp"
#include "executor.hpp"

namespace examples {

struct fitted_tlp {
    augur::tlp::row_table table; ///< of all primitives of the data set; those that the records do not have are refused
    augur::tlp::model<float> net;
};

/// All records of some tasks.
[[nodiscard]] inline std::vector<std::uint32_t> records_of(const augur::dataset& data, std::span<const std::uint32_t> tasks) {
    std::vector<std::uint32_t> out;
    for (const auto t : tasks)
        for (auto r = data.task(t).first; r < data.task(t).last; ++r) out.push_back(static_cast<std::uint32_t>(r));
    return out;
}

/// Trains `config::small`.   Errors: those of the vocabulary and of `train_on_dataset`; interrupted
[[nodiscard]] inline augur::result<fitted_tlp> fit_tlp(const augur::dataset& data, std::span<const std::uint32_t> records, std::size_t epochs,
                                                       std::uint64_t seed, executor& threads) {
    augur::tlp::vocabulary_builder words;
    for (const auto r : records) words.see(data.visit(r));
    auto schema = words.schema();
    if (!schema) return schema.error();
    augur::tlp::row_table table(*schema, data.primitives());
    const augur::tlp::config config = augur::tlp::config::small(0).with_input(*schema);
    if (auto fits = config.check(); !fits) return fits.error();
    auto net = augur::tlp::model<float>::random_init(config, augur::random_engine(seed));
    augur::tlp::training_options options;
    options.epochs = epochs;
    options.seed = seed;
    const auto report = augur::tlp::train_on_dataset(net, table, data, augur::tlp::make_samples(data, records), {}, threads, options,
                                                     [](const augur::tlp::training_progress&) { return !stop_requested().load(); });
    if (!report) return report.error();
    if (report->stopped) return augur::error{augur::errc::interrupted, "stopped"};
    return fitted_tlp{std::move(table), std::move(net)};
}

} // namespace examples

#endif
