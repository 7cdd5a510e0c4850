// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_CROP_PICKS_HPP
#define AUGUR_EXAMPLES_SUPPORT_CROP_PICKS_HPP

/// @file
/// What Crop chooses without a search, the row that other ways to choose are compared with.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/session/session.hpp>

namespace examples {

/// The schedules of a kernel that Crop predicts to be the fastest of 512 random ones, the best first. Empty: the session has no machine file, or this build
/// no Crop.
/// Errors  those of `find_machine` and of Crop
[[nodiscard]] augur::result<std::vector<augur::step_list>> crop_picks(const augur::session& session, std::size_t kernel, std::size_t count,
                                                                      std::uint64_t seed);

} // namespace examples

#endif
