// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_EXECUTOR_HPP
#define AUGUR_EXAMPLES_SUPPORT_EXECUTOR_HPP

/// @file
/// The threads of the examples: oneTBB's where it was found, else those of the standard library.

#include <concepts>
#include <cstddef>
#ifdef AUGUR_EXAMPLES_TBB
#include <augur/tbb/executor.hpp>
#else
#include <augur/core/thread_pool.hpp>
#endif

namespace examples {

#ifdef AUGUR_EXAMPLES_TBB
using executor = augur::tbb_executor;
#else
using executor = augur::thread_pool_executor; // no piece of a `bulk` calls `bulk` again
#endif
[[nodiscard]] executor make_executor(std::integral auto threads) { return executor(static_cast<std::size_t>(threads)); }

} // namespace examples

#endif
