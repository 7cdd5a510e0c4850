// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_REPLAY_HPP
#define AUGUR_EXAMPLES_TOOLS_REPLAY_HPP

/// @file
/// Searches on recorded measurements, and what is shown of them.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/io/t4_results.hpp>
#include <augur/io/tuning_archive.hpp>
#include <augur/space/recorded_space.hpp>
#include <augur/tune/replay_runner.hpp>

/// The names of all searches that this build has.
std::vector<std::string> search_names();

/// Recorded points of one kernel on one device.
struct recording {
    augur::tuning_archive archive;
    augur::recorded_space space;
    std::string name;                                         ///< file, kernel and device
    augur::replay_runner runner;                              ///< has the records; a search takes a copy
    double optimum = std::numeric_limits<double>::infinity(); ///< the least latency, in seconds
    double seconds = 0;                                       ///< that measuring all points took
};

/// Errors: those of `recorded_space::build`; not_found (no point has a latency).
augur::result<recording> make_recording(const std::string& path, augur::tuning_archive archive);

struct search_options {
    std::size_t trials = 200, round = 16;
};

/// What a search had after each trial.
struct search_curve {
    std::vector<double> best;    ///< least latency so far, in seconds; infinity before the first success
    std::vector<double> seconds; ///< on the virtual clock
    std::optional<augur::error> failed;

    /// The optimum over the best latency after `trials` trials; of a search that ended before, its last one. 0 before the first success.
    [[nodiscard]] double share(double optimum, std::size_t trials) const;
    /// The first trial after which `share` is at least `wanted`; infinity: none.
    [[nodiscard]] double trials_to(double optimum, double wanted) const;
};

/// Runs one search by its name.
/// @param trials  takes the trials; null: nobody does
search_curve run_search(const recording& on, std::string_view name, const search_options& options, std::uint64_t seed, augur::t4_results* trials);

/// The curves of a recording: by search, then by seed.
struct replayed {
    const recording* on = nullptr;
    std::vector<std::vector<search_curve>> curves;
};

/// Median; infinity counts as the largest. pre: not empty
double median(std::vector<double> values);

/// A row for each search: medians over the seeds.
std::vector<std::vector<std::string>> table_of(const replayed& r, const std::vector<std::string>& names, std::size_t trials);

/// The tables and curves of all recordings, as one HTML page.
std::string page_of(const std::vector<replayed>& all, const std::vector<std::string>& names, std::size_t trials, std::size_t seeds);

#endif
