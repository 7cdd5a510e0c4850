// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_PROGRAM_HPP
#define AUGUR_EXAMPLES_SUPPORT_PROGRAM_HPP

/// @file
/// The whole way of `tune` and `quickstart`: prepare, measure the baselines, search, check the best, print, report.

#include <cstdio>
#include <string>

#include "console.hpp"
#include "report.hpp"
#include "session.hpp"

namespace examples {

/// Exit codes.
enum : int { done = 0, failed = 1, misuse = 2, interrupted = 130 };

/// What a program wants beside the tuning itself.
struct job {
    settings what;
    bool collect = false;        ///< only the records count: no baselines, no table
    bool compare_random = false; ///< search at random as well, with the same budget
    std::string report;          ///< HTML; empty: none
    std::string save_model;      ///< weights that TLP has learned; empty: not kept
};

inline int complain(const char* program, const augur::error& why, int code) {
    std::fprintf(stderr, "%s: %s\n", program, why.detail.c_str());
    return code;
}

/// Runs a job and tells how it ended. Everything that is refused before anything was measured is misuse.
int run_job(const char* program, job j);

} // namespace examples

#endif
