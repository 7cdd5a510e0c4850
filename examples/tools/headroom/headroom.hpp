// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_TOOLS_HEADROOM_HPP
#define AUGUR_EXAMPLES_TOOLS_HEADROOM_HPP

/// @file
/// What is measured of the kernels of the head-room tables, the file that keeps it, and the tables made from it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/target/machine_identity.hpp>
#include <augur/workload/kernel.hpp>
#include <augur/workload/networks.hpp>

/// A search of a kernel: its name in tables, the model that guides it (`augur::session_models`, or `given_weights`), what drafts for the model (Crop or a
/// language model), its trials, whether it begins with the schedules of the known kernels of its class, what proposes (`augur::session_strategies`), and after
/// how many trials it descends.
struct guide {
    std::string_view name, model, draft;
    std::size_t trials;        ///< where the user does not say how many
    std::size_t transfers = 0; ///< schedules of known kernels that it begins with; they are in the population of an evolution, too
    std::string_view strategy{};
    std::size_t descend_after = 0;
    std::size_t language_trials = 0; ///< that the language model drafts; 0: all
    bool language_learns = true;     ///< from what the search measures
};
/// In place of a model: the weights that the user gives.
inline constexpr std::string_view given_weights = "weights";
/// In place of a strategy: schedules of known kernels alone, those with the largest share of unchanged decisions first.
inline constexpr std::string_view all_transfers = "transfers";
inline constexpr std::array guides{guide{"random", "none", "", 256},
                                   guide{"tlp", "tlp", "", 256},
                                   guide{"known", "nest", "", 64},
                                   guide{"crop", "crop", "", 64},
                                   guide{"crop+tlp", "tlp", "crop", 64},
                                   guide{"tlm", "none", "tlm", 64},
                                   guide{"tlm+known", "nest", "tlm", 64},
                                   guide{"trees", "trees", "", 64},
                                   guide{"hybrid", "hybrid", "", 64},
                                   guide{"tlm+trees", "trees", "tlm", 64},
                                   guide{"transfer", "none", "", 64, 3},
                                   guide{"transfer+known", "nest", "", 64, 3},
                                   guide{"transfer16+known", "nest", "", 64, 16},
                                   guide{"transfer+tlm+known", "nest", "tlm", 64, 3},
                                   guide{"sa+trees", "trees", "", 64, 0, "annealing"},
                                   guide{"descent", "none", "", 64, 0, "descent"},
                                   guide{"bo", "none", "", 64, 0, "bayes"},
                                   guide{"bo+known", "nest", "", 64, 0, "bayes"},
                                   guide{"known+descent", "nest", "", 64, 0, "", 32},
                                   guide{"tlm16+known", "nest", "tlm", 64, 0, "", 0, 16},
                                   guide{"transfer+tlm16+known", "nest", "tlm", 64, 3, "", 0, 16},
                                   guide{"tlm16+trees", "trees", "tlm", 64, 0, "", 0, 16},
                                   guide{"tlm-fixed", "none", "tlm", 64, 0, "", 0, 0, false},
                                   guide{"weights", given_weights, "", 64},
                                   guide{"bo+weights", given_weights, "", 64, 0, "bayes"},
                                   guide{"trees128", "trees", "", 128},
                                   guide{"crop+trees", "trees", "crop", 64},
                                   guide{"crop+trees128", "trees", "crop", 128},
                                   guide{"crop+known", "nest", "crop", 64},
                                   guide{"tlm+crop", "crop", "tlm", 64},
                                   guide{"tlm+weights", given_weights, "tlm", 64},
                                   guide{"transferred", "none", "", 64, 64, all_transfers},
                                   guide{"likely", "none", "tlm", 64, 0, "likely"},
                                   guide{"unmasked", "none", "tlm", 64, 0, "unmasked"},
                                   guide{"base", "none", "tlm", 64, 0, "base"},
                                   guide{"trigram", "none", "tlm", 64, 0, "trigram"}};
/// The names of all guides.
[[nodiscard]] std::string guide_names();
/// The index of a guide; `guides.size()`: there is none of that name.
[[nodiscard]] std::size_t find_guide(std::string_view name);

/// One search of a kernel. Times are in seconds.
struct guided_search {
    std::vector<double> latencies; ///< of the trials in order; infinity: failed
    double winner = 0;             ///< of its best schedule, timed again next to those of the searches of the same run; 0: no trial succeeded
    double seconds = 0;            ///< that the search took; 0: not known, for it was interrupted and resumed
    double choosing = 0;           ///< of these: learning and proposing; 0: not known
    std::size_t asked = 0;         ///< trials that were asked for; more than the latencies: nothing more was found. An older file does not say so

    /// Whether more trials than these would be measured if `trials` were asked for.
    [[nodiscard]] bool lacks(std::size_t trials) const { return latencies.empty() || (std::max)(latencies.size(), asked) < trials; }
};

/// All that is measured of one kernel, on one machine. Times are in seconds.
struct kernel_record {
    std::string kernel;  ///< `augur::kernel::text`
    std::string label;   ///< `augur::kernel_label`
    std::string network; ///< the test network that it is drawn from
    augur::machine_identity machine;
    double limit = 0;                                  ///< the least that the roofline allows; 0: not measured
    std::string bound;                                 ///< what gives the limit: fma, read, or a function
    double untuned = 0;                                ///< timed again with the winners of the last run; 0: it failed
    std::array<guided_search, guides.size()> searches; ///< by guide; without latencies: not measured
    /// Crop's best 16 (older files: 4) of 512 random schedules, measured, in its order; infinity: failed; empty: no machine was given.
    std::vector<double> picks;
    double best_elsewhere = std::numeric_limits<double>::infinity(); ///< the best that another run of the same kernel found; not in the file

    /// The least latency of any trial, pick, or the untuned schedule, also of other runs.
    [[nodiscard]] double best() const;
};

/// One line of JSON.
[[nodiscard]] std::string to_line(const kernel_record& r);
/// Reads what `to_line` has written, a record a line.
/// Errors: io; parse, with the line
[[nodiscard]] augur::result<std::vector<kernel_record>> read_records(const std::string& path);

/// A kernel and the test network that it is of.
using test_kernel = std::pair<std::string, augur::kernel>;
/// The 48 kernels, 16 of each test network, drawn by a seed. Those of a smaller count are the first of each network.
[[nodiscard]] std::vector<test_kernel> test_kernels(std::size_t of_each, std::uint64_t seed);
/// The kernels of some networks, each once, with the first network that has it.   Errors: those of `find_network`
[[nodiscard]] augur::result<std::vector<test_kernel>> network_kernels(std::span<const std::string> names);
/// The half of the kernels of some records for which random search does worst, and `easy` of the others, evenly spaced over the records.
/// Errors: invalid_argument, fewer than two records, or one without a random search that succeeded; parse, text that is no kernel
[[nodiscard]] augur::result<std::vector<test_kernel>> hard_kernels(std::span<const kernel_record> records, std::size_t easy = 0);
/// Kernels of other networks, without any workload of the test networks.
[[nodiscard]] augur::network other_kernels(std::size_t count, std::uint64_t seed);

/// The share of the best latency, `best` / the least of the first `trials` latencies; of a search that ended before, of all; 0 before the first success.
[[nodiscard]] double share_after(std::span<const double> latencies, double best, std::size_t trials);
/// The mean of that share over all subsets of `trials` latencies: what a random search has on average.
[[nodiscard]] double expected_share_after(std::span<const double> latencies, double best, std::size_t trials);

/// A table with a title; the first row is its head.
struct titled_table {
    std::string title;
    std::vector<std::vector<std::string>> rows;
};
/// What tables are made of beside the records.
struct table_options {
    std::vector<std::string> hard; ///< `kernel_record::kernel` of the hard kernels; empty: the half where random search does worst
    std::size_t own =
        std::numeric_limits<std::size_t>::max(); ///< so many records are listed one by one; the others are runs of the same kernels with other seeds
    std::size_t over = guides.size();            ///< the guide that the others are compared with; `guides.size()`: the first that all records have
    std::vector<std::string> networks;           ///< whose latencies are told where all their kernels have records; of `find_network`
};
/// Shares by guide and number of trials over the kernels, latencies of networks, then the kernels one by one. Of several records of a kernel the
/// geometric mean counts.
[[nodiscard]] std::vector<titled_table> tables_of(std::span<const kernel_record> records, const table_options& options = {});
[[nodiscard]] std::string markdown_of(std::span<const titled_table> tables);
/// The median share over trials, a curve a guide, for the hard and the easy kernels, or for all where nothing tells them apart: one SVG image.
[[nodiscard]] std::string chart_of(std::span<const kernel_record> records, const table_options& options = {});

#endif
