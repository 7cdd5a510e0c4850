// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_REPLAY_HPP
#define AUGUR_EXAMPLES_TOOLS_REPLAY_HPP

/// @file
/// Searches on recorded measurements, and what is shown of them.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "recorded.hpp"
#include "statistics.hpp"

/// The names of all searches that this build has.
std::vector<std::string> search_names();

using examples::median;
using examples::recording;
using examples::search_curve;

/// Runs one search by its name.
/// @param trials  takes the trials; null: nobody does
search_curve run_search(const recording& on, std::string_view name, const augur::tuning_options& options, augur::t4_results* trials);

/// The curves of a recording: by search, then by seed.
struct replayed {
    const recording* on = nullptr;
    std::vector<std::vector<search_curve>> curves;
};

/// A row for each search: medians over the seeds.
std::vector<std::vector<std::string>> table_of(const replayed& r, const std::vector<std::string>& names, std::size_t trials);

/// The tables and curves of all recordings, as one HTML page.
std::string page_of(const std::vector<replayed>& all, const std::vector<std::string>& names, std::size_t trials, std::size_t seeds);

#endif
