// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rival that compiler writers have: the machine code of each block, its cycles by llvm-mca, times how often the block ran.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <augur/loopnest/run/process.hpp>
#include <augur/record/replace_file.hpp>

#include "crop_tables.hpp"
#include "mca.hpp"

namespace examples {

namespace {

using augur::errc;
using augur::error;
using augur::result;

/// Machine code that came from a block of the IR: the block's function and name, as llc tells them in comments.
struct machine_block {
    std::string function, block; ///< no block: llc made it, and does not say from what
    double cycles = 0;           ///< a run
    std::size_t instructions = 0;
};

/// The blocks of an assembly text, and the text with each of them as a region of llvm-mca, by its number.
std::vector<machine_block> mark_blocks(std::string_view assembly, std::string& marked) {
    std::vector<machine_block> out;
    std::string function;
    bool inside = false;
    const auto close = [&] {
        if (inside) marked += "# LLVM-MCA-END\n";
        inside = false;
    };
    while (!assembly.empty()) {
        const auto line = assembly.substr(0, assembly.find('\n'));
        assembly.remove_prefix((std::min)(assembly.size(), line.size() + 1));
        const auto comment = [&](std::string_view mark) { // the word behind a mark in the line's comment
            const auto at = line.find(mark, 1);
            const auto word = at == std::string_view::npos ? std::string_view() : line.substr(at + mark.size());
            return std::string(word.substr(0, word.find_first_of(" \t")));
        };
        const bool label = !line.empty() && line[0] != '\t' && line[0] != ' ';
        if (label && line.find("# @") != std::string_view::npos && !line.starts_with("#")) {
            close();
            function = comment("# @");
        } else if (line.starts_with(".Lfunc_end")) {
            close();
            function.clear();
        } else if (!function.empty() && (line.starts_with("# %bb.") || line.starts_with(".LBB"))) {
            close();
            out.push_back({function, comment("# %"), 0, 0});
        } else if (!function.empty() && !out.empty() && line.size() > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '#') {
            if (out.back().instructions++ == 0) {
                marked += "# LLVM-MCA-BEGIN " + std::to_string(out.size() - 1) + "\n";
                inside = true;
            }
        }
        (marked += line) += '\n';
    }
    close();
    return out;
}

struct tools {
    std::string llc, mca, cpu;

    /// @param stem  of the files that are made on the way
    [[nodiscard]] result<std::vector<machine_block>> measure(const std::string& ir, const std::string& stem) const {
        const std::string assembly = stem + ".s";
        if (const auto r = augur::loopnest::run_process({{llc, "-O3", "-mcpu=" + cpu, "-o", assembly, ir}, "", 300}); !r.ok())
            return error{errc::invalid_argument, llc + " " + ir + ": " + (r.timed_out ? "time limit" : shown(r.errors.substr(0, 200)))};
        std::ifstream in(assembly, std::ios::binary);
        std::stringstream text;
        text << in.rdbuf();
        std::string marked;
        auto blocks = mark_blocks(text.str(), marked);
        if (auto written = augur::replace_file(assembly, marked); !written) return written.error();
        const auto output = run_mca(mca, {"-mcpu=" + cpu}, assembly, blocks.size());
        std::error_code ignored;
        std::filesystem::remove(assembly, ignored);
        if (!output) return error{output.error().code, output.error().detail + " (" + ir + ")"};
        for (std::size_t b = 0; b < blocks.size(); ++b)
            if (!std::isnan(output->cycles[b])) blocks[b].cycles = output->cycles[b];
        return blocks;
    }
};

/// A line a block: cycles, instructions, function, block.
std::string text_of_blocks(const std::vector<machine_block>& blocks) {
    std::string out;
    for (const auto& b : blocks) out += text_of("%.2f %zu ", b.cycles, b.instructions) + b.function + " " + b.block + "\n";
    return out;
}

std::vector<machine_block> read_blocks(const std::string& path) {
    std::vector<machine_block> out;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        machine_block b;
        words >> b.cycles >> b.instructions >> b.function >> b.block; // no name: it stays empty
        out.push_back(std::move(b));
    }
    return out;
}

/// What of a program was matched: instructions of the IR that ran, of all and of blocks that no machine code says that it came from; machine
/// instructions of functions that ran, of all and of blocks without a name.
struct matched {
    double ran = 0, missing = 0, code = 0, nameless = 0;
};

double seconds_of(const augur::program_features& p, const std::vector<machine_block>& blocks, double clock_hz, matched& sum) {
    double cycles = 0;
    for (const auto& f : p.functions) {
        std::map<std::string, double, std::less<>> by_name;
        for (const auto& b : blocks) {
            if (b.function != f.name) continue;
            sum.code += static_cast<double>(b.instructions);
            if (b.block.empty()) sum.nameless += static_cast<double>(b.instructions);
            else by_name[b.block] += b.cycles; // several machine blocks of one: all run, or are taken to
        }
        for (std::uint32_t b = 0; b < f.flow.size(); ++b) {
            const auto times = static_cast<double>(f.flow[b].count), instructions = times * static_cast<double>(f.flow[b].code.size());
            sum.ran += instructions;
            const auto at = by_name.find(f.flow[b].name);
            if (at == by_name.end()) sum.missing += instructions;
            else cycles += times * at->second;
        }
    }
    return cycles / clock_hz;
}

} // namespace

result<score_row> mca_row(const std::vector<measured_task>& tasks, const augur::machine& target, const std::string& cpu, progress_line& progress) {
    score_row row{"llvm-mca x counts", true, {}, {}};
    const tools use{find_llvm_tool("llc"), find_llvm_tool("llvm-mca"), cpu};
    if (use.llc.empty() || use.mca.empty()) {
        row.note = "there is no llc or no llvm-mca";
        return row;
    }
    matched sum;
    for (const auto& t : tasks) {
        std::vector<double> predicted;
        for (const auto& p : t.programs) {
            if (stop_requested().load()) return error{errc::interrupted, "stopped"};
            progress.show(predicted.size(), t.programs.size(), "llvm-mca: " + t.name, predicted.empty());
            const std::string kept = p.ir + "." + cpu + ".cycles";
            if (std::error_code ignored; !std::filesystem::exists(kept, ignored)) {
                const auto blocks = use.measure(p.ir, kept);
                if (!blocks) return score_row{row.name, true, {}, blocks.error().detail};
                if (auto written = augur::replace_file(kept, text_of_blocks(*blocks)); !written) return written.error();
            }
            predicted.push_back(seconds_of(p.compiled ? *p.compiled : p.features, read_blocks(kept), target.clock_hz, sum));
        }
        row.scores.push_back(score_of(predicted, times_of(t)));
    }
    progress.clear();
    row.note = text_of("nothing; %.2f %% of the IR and %.2f %% of the code not matched", 100 * sum.missing / (std::max)(sum.ran, 1.0),
                       100 * sum.nameless / (std::max)(sum.code, 1.0));
    return row;
}

} // namespace examples
