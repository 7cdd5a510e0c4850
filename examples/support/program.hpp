// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_PROGRAM_HPP
#define AUGUR_EXAMPLES_SUPPORT_PROGRAM_HPP

/// @file
/// `tune` and `quickstart` after their flags are read: a session, its tables and reports.

#include <cstdio>
#include <string>

#include "console.hpp"
#include "report.hpp"
#include "whole.hpp"
#include <augur/core/error.hpp>
#include <augur/session/options.hpp>

namespace examples {

/// Exit codes.
enum : int { done = 0, failed = 1, misuse = 2, interrupted = 130 };

/// What a program wants beside the tuning itself.
struct job {
    augur::session_options options;
    std::string report;     ///< HTML; empty: none
    std::string save_model; ///< weights that TLP has learned; empty: not kept
    bool no_search = false; ///< the best schedules of the log, else untuned ones; the log is only read
    whole_job whole;
};

inline int complain(const char* program, const augur::error& why, int code) {
    std::fprintf(stderr, "%s: %s\n", program, why.detail.c_str());
    return code;
}

/// Exit code of an error: what the user has stopped, has asked for wrongly, or what failed on the way.
[[nodiscard]] inline int exit_code_of(const augur::error& why) {
    switch (why.code) {
    case augur::errc::interrupted: return interrupted;
    case augur::errc::invalid_argument:
    case augur::errc::not_found: return misuse;
    default: return failed;
    }
}

/// Runs a job and tells how it ended. Everything that is refused before anything was measured is misuse.
int run_job(const char* program, job j);

} // namespace examples

#endif
