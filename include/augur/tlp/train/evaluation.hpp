// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TLP_TRAIN_EVALUATION_HPP
#define AUGUR_TLP_TRAIN_EVALUATION_HPP

/// @file
/// Scores of a model on a data set: of its records, and the top-k score of samples.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <augur/core/config.hpp>
#include <augur/core/executor.hpp>
#include <augur/dataset/dataset.hpp>
#include <augur/dataset/top_k.hpp>
#include <augur/tlp/batch.hpp>
#include <augur/tlp/model.hpp>
#include <augur/tlp/row_table.hpp>
#include <augur/tlp/train/forward_backward.hpp>
#include <augur/tlp/train/samples.hpp>

namespace augur::inline v0::tlp {

/// Returns scores (N, K) of N records by the K outputs; -infinity if the vocabulary refuses a primitive.
///
/// pre: `table` has all primitives of `data`, and as many columns as the model
template <bulk_executor Executor>
[[nodiscard]] std::vector<float> record_scores(const model<float>& net, const row_table& table, const dataset& data,
                                               std::span<const std::uint32_t> records, Executor& executor, forward_backward<float>& pass) {
    constexpr std::size_t block = 1024;
    const std::size_t outputs = net.decoders.size();
    std::vector<float> scores(records.size() * outputs);
    deduplicated_batch batch(table.schema().columns, net.config.order());
    for (std::size_t first = 0; first < records.size(); first += block) {
        const std::size_t n = (std::min)(block, records.size() - first);
        const auto part = std::span<float>(scores).subspan(first * outputs, n * outputs);
        std::vector<std::size_t> unknown;
        batch.clear();
        for (std::size_t i = 0; i < n; ++i) {
            if (batch.add(data.schedule(records[first + i]), table)) continue;
            batch.add(std::span<const float>());
            unknown.push_back(i);
        }
        pass.forward(net, batch, executor, part);
        for (const std::size_t i : unknown)
            std::fill_n(part.begin() + static_cast<std::ptrdiff_t>(i * outputs), outputs, -std::numeric_limits<float>::infinity());
    }
    return scores;
}

/// Top-k scores of one output on the samples that have a label for it; every task has weight 1.
template <bulk_executor Executor>
[[nodiscard]] top_k_score evaluate_top_k(const model<float>& net, const row_table& table, const dataset& data, const training_samples& samples,
                                         std::size_t output, Executor& executor, forward_backward<float>& pass,
                                         std::vector<std::size_t> ks = {1, 5}) {
    AUGUR_ASSERT(samples.outputs == net.decoders.size() && output < samples.outputs, "evaluate_top_k: outputs");
    top_k_score sum(std::move(ks));
    const auto all = record_scores(net, table, data, samples.records, executor, pass);
    std::vector<float> scores, labels;
    for (std::size_t i = 0; i < samples.size();) {
        const std::uint32_t group = samples.groups[i];
        scores.clear();
        labels.clear();
        for (; i < samples.size() && samples.groups[i] == group; ++i) {
            const std::size_t at = i * samples.outputs + output;
            if (samples.known[at] == 0) continue;
            scores.push_back(all[at]);
            labels.push_back(samples.labels[at]);
        }
        if (!labels.empty()) sum.add(std::span<const float>(scores), std::span<const float>(labels), samples.least[group * samples.outputs + output]);
    }
    return sum;
}

} // namespace augur::inline v0::tlp

#endif
