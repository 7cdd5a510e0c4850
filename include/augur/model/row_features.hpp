// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_MODEL_ROW_FEATURES_HPP
#define AUGUR_MODEL_ROW_FEATURES_HPP

/// @file
/// What models of numbers, such as trees, ask of a description of schedules.

#include <concepts>
#include <cstddef>
#include <span>

#include <augur/core/error.hpp>

namespace augur::inline v0 {

/// Describes a schedule by a row of numbers.
///
/// Syntax      `f.columns() -> std::size_t`; `f(task, schedule, std::span<float> row) -> result<void>`, where the row has `columns()` places
/// Semantics   the same numbers for the same task and schedule, whatever else was asked; NaN stands for one that is missing
template <class F, class S, class Task>
concept row_features_of = requires(F& f, const Task& t, const S& s, std::span<float> row) {
    { f.columns() } -> std::convertible_to<std::size_t>;
    { f(t, s, row) } -> std::same_as<result<void>>;
};

} // namespace augur::inline v0

#endif
