// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_SESSION_HPP
#define AUGUR_EXAMPLES_SUPPORT_SESSION_HPP

/// @file
/// The tuning session of the examples, compiled once in session.cpp, and its callbacks on a terminal.

#include <cstddef>
#include <cstdint>
#include <string>

#include <augur/workload/networks.hpp>

#include "console.hpp"
#include "flags.hpp"
#include "session_extern.hpp"

namespace examples {

/// Progress to a line of the terminal, notes to stderr, and Ctrl-C as the end.
/// pre: the line outlives the hooks
[[nodiscard]] augur::session_hooks hooks_on(progress_line& line);

/// The flags that name what is tuned: networks, by a flag of the given name, and single kernels.   pre: `work` outlives the flags
void add_work_flags(flag_set& flags, const char* network_flag, augur::network& work);

/// The flags that say how it is run: threads, seed, ISA level, compiler.   pre: `s` outlives the flags
void add_run_flags(flag_set& flags, augur::session_options& s);

/// Distinct kernels of all networks: first some of each family (convolutions, depthwise, products, norms, pooling) in turns, then any. The kernels of
/// a smaller count are the first ones of a larger count.
[[nodiscard]] augur::network draw_kernels(std::size_t count, std::uint64_t seed);

} // namespace examples

#endif
