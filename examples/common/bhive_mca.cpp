// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// llvm-mca on measured blocks: one run for all of them, a region each.
#include <algorithm>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include <augur/core/number.hpp>
#include <augur/loopnest/process.hpp>

#include "bhive.hpp"

namespace examples {

augur::result<block_row> mca_blocks(const std::vector<measured_block>& blocks, const std::string& cpu) {
    block_row row{"llvm-mca", {}, ""};
    std::string tool;
    for (const char* called : {"llvm-mca-19", "llvm-mca"})
        if (tool.empty() && augur::run_process({{called, "--version"}, "", 20}).ok()) tool = called;
    if (tool.empty()) {
        row.note = "there is no llvm-mca";
        return row;
    }
    std::string text = ".intel_syntax noprefix\n";
    std::vector<std::size_t> block_of_line{blocks.size(), blocks.size()}; // lines count from 1
    const auto line = [&](const std::string& what, std::size_t block) {
        text += what + "\n";
        block_of_line.push_back(block);
    };
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        line("# LLVM-MCA-BEGIN " + std::to_string(b), b);
        std::string_view rest = blocks[b].text;
        while (!rest.empty()) {
            line(std::string(rest.substr(0, rest.find(';'))), b);
            rest.remove_prefix((std::min)(rest.size(), rest.find(';') == std::string_view::npos ? rest.size() : rest.find(';') + 1));
        }
        line("# LLVM-MCA-END", b);
    }
    auto folder = augur::work_folder::create();
    if (!folder) return folder.why();
    const auto file = folder->path() + "/blocks.s";
    if (auto kept = augur::write_private_file(file, text); !kept) return kept.why();
    const auto r = augur::run_process({{tool, "-mtriple=x86_64", "-mcpu=" + cpu, "-iterations=100", "-instruction-info=false",
                                        "-resource-pressure=false", "-skip-unsupported-instructions=any", file},
                                       "",
                                       1800,
                                       0,
                                       std::size_t{256} << 20U});
    if (!r.ok()) {
        row.note = r.timed_out ? "llvm-mca took more than half an hour" : "llvm-mca: " + shown(r.errors);
        return row;
    }
    row.cycles.assign(blocks.size(), std::numeric_limits<double>::quiet_NaN());
    std::size_t now = blocks.size();
    std::istringstream lines(r.output);
    for (std::string out; std::getline(lines, out);) {
        if (const auto at = out.find("Code Region - "); at != std::string::npos)
            now = static_cast<std::size_t>(augur::parse_int(std::string_view(out).substr(at + 14)).value_or(-1));
        constexpr std::string_view total = "Total Cycles:";
        if (!out.starts_with(total) || now >= blocks.size()) continue;
        const auto number = augur::parse_int(std::string_view(out).substr((std::min)(out.size(), out.find_first_not_of(' ', total.size()))));
        if (number && *number > 0) row.cycles[now] = static_cast<double>(*number) / 100;
    }
    std::istringstream complaints(r.errors); // file:line:column: of instructions that it left out
    for (std::string out; std::getline(complaints, out);) {
        if (!out.starts_with(file + ":")) continue;
        const auto rest = std::string_view(out).substr(file.size() + 1);
        const auto at = augur::parse_int(rest.substr(0, rest.find(':')));
        if (!at || *at < 0 || static_cast<std::size_t>(*at) >= block_of_line.size() || rest.find("error") == std::string_view::npos) continue;
        if (const auto b = block_of_line[static_cast<std::size_t>(*at)]; b < blocks.size()) row.cycles[b] = std::numeric_limits<double>::quiet_NaN();
    }
    return row;
}

} // namespace examples
