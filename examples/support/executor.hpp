// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_EXECUTOR_HPP
#define AUGUR_EXAMPLES_SUPPORT_EXECUTOR_HPP

/// @file
/// The threads of the examples: oneTBB's where it was found, else the calling one.

#include <concepts>
#ifdef AUGUR_EXAMPLES_TBB
#include <augur/tbb/executor.hpp>
#else
#include <augur/core/executor.hpp>
#endif

namespace examples {

#ifdef AUGUR_EXAMPLES_TBB
using executor = augur::tbb_executor;
[[nodiscard]] executor make_executor(std::integral auto threads) { return executor(static_cast<std::size_t>(threads)); }
#else
using executor = augur::serial_executor;
[[nodiscard]] executor make_executor(std::integral auto) { return {}; }
#endif

} // namespace examples

#endif
