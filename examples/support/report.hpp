// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_REPORT_HPP
#define AUGUR_EXAMPLES_SUPPORT_REPORT_HPP

/// @file
/// What a session found, as a table of text and as one HTML file with the tuning curves in it.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/session/report.hpp>

namespace examples {

/// The table: a header, a row per kernel, the network. The last search is the tuned one; the others are compared with it.
[[nodiscard]] std::vector<std::vector<std::string>> result_table(const augur::session_report& s);

/// Whether a kernel has its latencies from the log of another machine. The table then has a column for the machines.
[[nodiscard]] bool measured_elsewhere(const augur::session_report& s);
/// The machine of a kernel's row.
[[nodiscard]] std::string machine_of(const augur::kernel_report& k);

/// Where it ran, what compiled it, and what was asked for: name and text.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of(const augur::session_report& s);

/// How a search went, in sentences.
[[nodiscard]] std::vector<std::string> account_of(const augur::search_report& s);

/// How a report begins, to the open body; `style` comes behind what all of them have.
[[nodiscard]] std::string html_head(std::string_view title, std::string_view style);
/// The work's name as a heading, and the facts.
[[nodiscard]] std::string html_facts(const augur::session_report& s);
/// A table, the first row its head.
[[nodiscard]] std::string html_table(const std::vector<std::vector<std::string>>& rows);

/// The whole report; refers to nothing outside.
[[nodiscard]] std::string report_html(const augur::session_report& s);

/// A file of a run.
struct named_file {
    std::string flag, path; ///< path: may be empty
    bool written;
};
/// No file that is written may be another one of the run.   Errors: invalid_argument, with both flags
[[nodiscard]] augur::result<void> keep_apart(const std::vector<named_file>& files);

/// Can a file be written there? What it holds stays, and what was not there is not there behind it.
[[nodiscard]] augur::result<void> can_write(const std::string& path);

/// Makes a work folder, or goes on with one that has the same `settings.txt`.
/// @param settings  what must stay the same, a line each
/// @note errors: io; invalid_argument, the first line that differs
[[nodiscard]] augur::result<void> claim_folder(const std::string& folder, const std::string& settings);

} // namespace examples

#endif
