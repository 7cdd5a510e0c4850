// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_ROW_FEATURES_HPP
#define AUGUR_MODEL_ROW_FEATURES_HPP

/// @file
/// Concept of a feature extractor that describes a schedule by one row of numbers, for models such as boosted trees.

#include <concepts>
#include <cstddef>
#include <span>

#include <augur/core/error.hpp>

namespace augur::inline v0 {

/// Extracts a feature row of fixed length from a task and a schedule.
///
/// Syntax      `f.columns() -> std::size_t`; `f(task, schedule, std::span<float> row) -> result<void>`, where row.size() == columns()
/// Semantics   equal tasks and schedules give equal rows, independent of earlier calls; NaN marks a missing value
template <class F, class S, class Task>
concept row_features_of = requires(F& f, const Task& t, const S& s, std::span<float> row) {
    { f.columns() } -> std::convertible_to<std::size_t>;
    { f(t, s, row) } -> std::same_as<result<void>>;
};

} // namespace augur::inline v0

#endif
