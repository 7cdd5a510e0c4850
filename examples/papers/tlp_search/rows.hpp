// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_PAPERS_TLP_SEARCH_ROWS_HPP
#define AUGUR_EXAMPLES_PAPERS_TLP_SEARCH_ROWS_HPP

/// @file
/// The searches of section 6.3 of the TLP paper (Zhai et al. 2023): which there are (`search_rows`), how one is run (`run_search`), what its model
/// begins with (`train_weights`), what came of it (`read_search`), how that is shown (`search_table`, `search_html`).
///
/// Everything lies in a work folder, and what is shown is read from there: a killed program goes on where it was.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>

#include "console.hpp"
#include "session.hpp"

namespace examples {

/// What chooses the candidates.
enum class search_guide : std::uint8_t {
    none,     ///< chance
    trees,    ///< boosted trees that learn from what is measured
    learned,  ///< a TLP that was trained before and stays as it is
    learning, ///< a TLP that learns from what is measured
    advised,  ///< boosted trees on the loop nest that were trained before, with such a TLP's second opinion (decision 18); both stay as they are
    advised_learning ///< such trees, grown anew with what is measured, and such a TLP, which stays as it is
};

/// A way to search.
struct search_row {
    std::string_view id, name;
    search_guide guide;
    std::string_view weights; ///< that the model begins with, `train_weights`; empty: none
    std::string_view paper;   ///< its speed-up of the search time until Ansor's result of 2000 candidates, CPU / GPU
};
inline constexpr search_row search_rows[] = {
    {"random", "random", search_guide::none, "", ""},
    {"trees", "boosted trees online", search_guide::trees, "", "1 / 1 (Ansor)"},
    {"online", "TLP online", search_guide::learning, "", ""},
    {"offline", "TLP offline", search_guide::learned, "tlp", "16.7 / 16.0"},
    {"both", "TLP offline, then online", search_guide::learning, "tlp", ""},
    {"advised", "nest trees and TLP offline", search_guide::advised, "tlp", ""},
    {"nest", "nest trees then online, TLP offline", search_guide::advised_learning, "tlp", ""},
    {"mtl", "MTL-TLP", search_guide::learned, "mtl", "10.0 / 15.8"},
};

/// What is searched, and what the offline models learn from.
struct search_plan {
    augur::session_options options; ///< kernels, candidates, compiler; its seed is the first
    std::string folder;             ///< logs, times, weights
    std::size_t seeds = 3;          ///< searches a row
    augur::network teacher;         ///< kernels of the training records; none of them is searched
    std::size_t collect = 500;      ///< records a kernel of the teacher
    std::string data;               ///< has ansor-x86-24core/, the other platform; empty: there is none
    std::size_t labels = 500;       ///< records a task that MTL-TLP sees of this machine
    std::size_t other = 128;        ///< ... and of the other platform
    std::size_t effort = 400;       ///< thousands of schedules that a training sees in all
    bool small = false;             ///< networks of a quarter of the width
};

/// One search as the work folder has it.
struct search_trace {
    std::uint64_t seed = 0;
    bool whole = false;          ///< not interrupted
    std::vector<double> seconds; ///< a candidate: when its record was there, since the search began
    std::vector<double> network; ///< seconds of the network with the best schedules so far; infinity until each kernel has one
    double total_seconds = 0;    ///< of the search
    double measuring = 0;        ///< of them: compiling and running candidates; the rest is model and search
    augur::search_report result; ///< the best schedule of each kernel
    [[nodiscard]] double last() const { return network.empty() ? std::numeric_limits<double>::infinity() : network.back(); }
};

/// All searches of a row; none: why not.
struct search_outcome {
    const search_row* row = nullptr;
    std::vector<search_trace> traces;
    std::string why_not;
};

/// Searches, or goes on with a search that was interrupted; one that is whole is left as it is. False: interrupted.
/// Errors: unsupported (not in this build), those of the log and of the weights.   pre: s.prepare()
[[nodiscard]] augur::result<bool> run_search(augur::session& s, const search_plan& plan, const search_row& row, std::uint64_t seed,
                                             progress_line& progress);

/// What a search has left in the folder. Errors: those of the log; not_found.
[[nodiscard]] augur::result<search_trace> read_search(const augur::session& s, const search_plan& plan, const search_row& row, std::uint64_t seed);

/// Names, sizes and times of the logs of the other platform, which `mtl` learns from, a line each; empty: there are none.
[[nodiscard]] std::string other_platform(const search_plan& plan);

/// Trains `tlp` (one head, all records of the teacher) or `mtl` (head 1 this machine with few labels, head 2 the other platform) on `collect.jsonl`,
/// unless it lies there already; goes on from its checkpoint. False: interrupted.
/// Errors: not_found (no records, no data of the other platform), those of the logs and of training.
[[nodiscard]] augur::result<bool> train_weights(const search_plan& plan, std::string_view name, progress_line& progress);

/// A head and the rows that there are, beside the paper's numbers; and sentences that say what they mean.
[[nodiscard]] std::vector<std::vector<std::string>> search_table(const augur::session& s, std::span<const search_outcome> all);
[[nodiscard]] std::vector<std::string> search_notes(const augur::session& s, const search_plan& plan, std::span<const search_outcome> all);

/// Table, notes, and the tuning curves over candidates and over time; refers to nothing outside.
[[nodiscard]] std::string search_html(const augur::session& s, const search_plan& plan, std::span<const search_outcome> all);

} // namespace examples

#endif
