// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Crop's tables: how well the time of programs is predicted that were never run, on measured programs in LLVM IR.
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <augur/target/machine_check.hpp>
#include <augur/target/machine_file.hpp>
#include <augur/target/machine_presets.hpp>

#include "common/crop_tables.hpp"
#include "common/flags.hpp"
#include "common/program.hpp"

namespace {

/// Crop's Table 1, for this machine.
void print_machine(const augur::machine& m) {
    std::vector<std::vector<std::string>> rows{{"hardware feature", "value"}};
    rows.push_back({"processors", std::to_string(m.processors)});
    rows.push_back({"clock", examples::text_of("%.2f GHz", m.clock_hz * 1e-9)});
    for (const auto& c : m.caches)
        rows.push_back({"L" + std::to_string(c.level), examples::text_of("%.0f KiB, %d ways, %.1f cycles", static_cast<double>(c.bytes) / 1024,
                                                                         static_cast<int>(c.ways), c.latency)});
    rows.push_back({"memory", examples::text_of("%.0f cycles", m.memory.latency)});
    std::printf("%s\n", examples::table_text(rows).c_str());
}

augur::result<augur::machine> find_machine(const std::string& name) {
    if (auto known = augur::machine_preset(name); known) return known;
    return augur::read_machine(name);
}

} // namespace

int main(int argc, char** argv) {
    examples::gather_options gather;
    std::string target = "epyc-zen4", figure;
    bool help = false;
    examples::flag_set flags;
    flags.add_text("data", "FOLDER", "measured programs: <task>.jsonl and <task>.ll.tar.xz", gather.data);
    flags.add_text("cache", "FOLDER", "where features are kept: what is there is not gathered again", gather.cache);
    flags.add_text("machine", "FILE", "machine file, or the name of a preset, of the machine that measured; default epyc-zen4", target);
    flags.add_text("only", "TEXT", "tasks whose name has this", gather.only);
    flags.add_number("threads", "N", "1 or 2; default 1", gather.threads, 1, 2);
    flags.add_number("most", "N", "programs a task; default: all", gather.most, 1, 1'000'000);
    flags.add_text("figure", "FILE", "curves of measured and predicted times, SVG", figure);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read)
        return examples::complain("crop_tables", read.why(), examples::misuse);
    if (help) {
        std::printf("usage: crop_tables --data FOLDER --cache FOLDER [flags]\n\n%s", flags.help().c_str());
        return examples::done;
    }
    if (gather.data.empty() || gather.cache.empty())
        return examples::complain("crop_tables", {augur::errc::invalid_argument, "--data and --cache are needed; try --help"}, examples::misuse);
    auto machine = find_machine(target);
    if (!machine) return examples::complain("crop_tables", machine.why(), examples::misuse);
    if (auto whole = augur::check_machine(*machine); !whole) return examples::complain("crop_tables", whole.why(), examples::misuse);
    examples::catch_signals();
    examples::progress_line progress;
    auto tasks = examples::gather_programs(gather, progress);
    if (!tasks) return examples::complain("crop_tables", tasks.why(), examples::failed);
    if (examples::stop_requested().load()) return examples::interrupted;
    print_machine(*machine);
    for (const auto& t : *tasks)
        for (const auto& text : t.left_out) std::printf("left out: %s\n", text.c_str());
    if (auto printed = examples::print_crop_tables(*tasks, *machine, gather.threads); !printed)
        return examples::complain("crop_tables", printed.why(), examples::failed);
    if (!figure.empty())
        if (auto drawn = examples::draw_crop_curves(*tasks, *machine, gather.threads, figure); !drawn)
            return examples::complain("crop_tables", drawn.why(), examples::failed);
    return examples::done;
}
