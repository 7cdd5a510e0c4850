// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// llvm-mca on measured blocks: one run for all of them, a region each.
#include <algorithm>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include <augur/core/number.hpp>
#include <augur/loopnest/run/work_folder.hpp>

#include "bhive.hpp"
#include "mca.hpp"

namespace examples {

augur::result<block_row> mca_blocks(const std::vector<measured_block>& blocks, const std::string& cpu) {
    block_row row{"llvm-mca", {}, ""};
    const auto tool = find_llvm_tool("llvm-mca");
    if (tool.empty()) {
        row.note = "there is no llvm-mca";
        return row;
    }
    std::string text = ".intel_syntax noprefix\n";
    std::vector<std::size_t> block_of_line{blocks.size(), blocks.size()}; // lines count from 1
    const auto line = [&](const std::string& name, std::size_t block) {
        text += name + "\n";
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
    auto folder = augur::loopnest::work_folder::create();
    if (!folder) return folder.error();
    const auto file = folder->path() + "/blocks.s";
    if (auto kept = augur::loopnest::write_private_file(file, text); !kept) return kept.error();
    auto output = run_mca(tool, {"-mtriple=x86_64", "-mcpu=" + cpu}, file, blocks.size());
    if (!output) {
        row.note = output.error().detail;
        return row;
    }
    row.cycles = std::move(output->cycles);
    std::istringstream complaints(output->complaints);
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
