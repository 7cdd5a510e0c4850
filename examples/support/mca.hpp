// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_EXAMPLES_SUPPORT_MCA_HPP
#define AUGUR_EXAMPLES_SUPPORT_MCA_HPP

/// @file
/// llvm-mca: how it is called, and what it says of each region of a file.

#include <cstddef>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <augur/core/error.hpp>
#include <augur/core/number.hpp>
#include <augur/loopnest/run/process.hpp>

#include "flags.hpp" // shown

namespace examples {

/// A tool of LLVM 19 as it may be called here, or nothing.
inline std::string find_llvm_tool(const std::string& name) {
    for (const auto& called : {name + "-19", name})
        if (augur::loopnest::run_process({{called, "--version"}, "", 20}).ok()) return called;
    return {};
}

/// What llvm-mca says of a file.
struct mca_report {
    std::vector<double> cycles; ///< of a round, by region; NaN where it says nothing
    std::string complaints;     ///< of what it left out, a line each: file:line:column: what
};

/// 100 rounds of each region of an assembly file, which begins with "# LLVM-MCA-BEGIN n", n < regions. A call is 100 cycles, as llvm-mca has it.
/// @param target  its arguments that say for what
/// @note errors: invalid_argument, its own words
inline augur::result<mca_report> run_mca(const std::string& tool, const std::vector<std::string>& target, const std::string& file,
                                         std::size_t regions) {
    augur::loopnest::process_spec job;
    job.arguments = {tool, "-iterations=100", "-instruction-info=false", "-resource-pressure=false", "-skip-unsupported-instructions=any", file};
    job.arguments.insert(job.arguments.end(), target.begin(), target.end());
    job.wall_seconds = 1800;
    job.max_output = std::size_t{256} << 20U;
    auto r = augur::loopnest::run_process(job);
    if (!r.ok())
        return augur::error{augur::errc::invalid_argument,
                            tool + ": " + (r.timed_out ? "took more than half an hour" : shown(r.errors.substr(0, 200)))};
    mca_report out{std::vector<double>(regions, std::numeric_limits<double>::quiet_NaN()), std::move(r.errors)};
    constexpr std::string_view begin = "Code Region - ", total = "Total Cycles:";
    std::size_t now = regions;
    std::istringstream lines(r.output);
    for (std::string line; std::getline(lines, line);) {
        const auto number = [&](std::size_t at) { return augur::parse_int(std::string_view(line).substr((std::min)(line.size(), at))); };
        if (const auto at = line.find(begin); at != std::string::npos) now = static_cast<std::size_t>(number(at + begin.size()).value_or(-1));
        if (!line.starts_with(total) || now >= regions) continue;
        if (const auto cycles = number(line.find_first_not_of(' ', total.size())); cycles && *cycles > 0)
            out.cycles[now] = static_cast<double>(*cycles) / 100;
    }
    return out;
}

} // namespace examples

#endif
