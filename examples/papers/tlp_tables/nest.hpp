// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_TABLES_NEST_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_TABLES_NEST_HPP

/// @file
/// What logged schedules do, not only what they say: their steps replayed on the compute DAG of their task, and the features of the loop nest.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/random_engine.hpp>

#include "tables.hpp"

namespace examples {

/// Reads the compute DAGs of the tasks of `set` (task_dags.hpp). Error: io, parse; no such file is none.
[[nodiscard]] augur::result<void> read_dags(const std::string& path, table_data& set);

/// Features of records of one task, a row each (N, nest_feature_count). Errors: not_found (the task has no DAG); illegal_schedule (a record that does
/// not fit its DAG, with the record's number).
[[nodiscard]] augur::result<std::vector<float>> features_of(const table_data& set, std::span<const std::uint32_t> records);

/// For each record of one task the highest of `labels` among the records whose loop nest is the same; nothing where the task has no DAG or a record
/// does not fit it.
[[nodiscard]] std::optional<std::vector<double>> best_of_programs(const table_data& set, std::span<const std::uint32_t> records,
                                                                  std::span<const double> labels);

/// scores[i] <- of a record of one task by the median of the valid records whose loop nest is the same, higher is better; among these, by chance.
/// Programs of fewer than three valid records go last, for one measurement alone may be luck; where there are no others, the record's own latency
/// counts. Errors: those of `features_of`.
[[nodiscard]] augur::result<void> score_programs(const table_data& set, std::span<const std::uint32_t> records, augur::random_engine& rng,
                                                 std::span<float> scores);

} // namespace examples

#endif
