// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Crop's tables: how well the time of programs is predicted that were never run, on measured programs in LLVM IR.
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crop_tables.hpp"
#include "flags.hpp"
#include "program.hpp"
#include "report.hpp"
#include <augur/target/find_machine.hpp>

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

/// What was asked for.
struct wishes {
    examples::gather_options gather;
    examples::loopnest_options nests;
    examples::rival_options rivals;
    bool loopnest = false;
    std::string machine = "epyc-zen4", mca, figure;
};

int run(const wishes& w) {
    const auto complain = [](const augur::error& why) {
        return examples::complain("crop_tables", why, why.code == augur::errc::interrupted ? examples::interrupted : examples::failed);
    };
    auto machine = augur::find_machine(w.machine);
    if (!machine) return examples::complain("crop_tables", machine.error(), examples::misuse);
    if (!w.figure.empty())
        if (auto writable = examples::can_write(w.figure); !writable) return examples::complain("crop_tables", writable.error(), examples::misuse);
    examples::catch_signals();
    examples::progress_line progress;
    const auto tasks = w.loopnest ? examples::measure_loopnest(w.nests, progress) : examples::gather_programs(w.gather, progress);
    if (!tasks) return complain(tasks.error());
    if (examples::stop_requested().load()) return examples::interrupted;
    auto rows = examples::crop_rows(*tasks, *machine, w.gather.threads);
    if (!rows) return complain(rows.error());
    if (!w.mca.empty()) {
        auto mca = examples::mca_row(*tasks, *machine, w.mca, progress);
        if (!mca) return complain(mca.error());
        rows->push_back(*std::move(mca));
    }
    const auto learned = examples::learned_rows(*tasks, w.rivals, progress);
    if (!learned) return complain(learned.error());
    rows->insert(rows->end(), learned->begin(), learned->end());
    for (auto& row : examples::chance_rows(*tasks)) rows->push_back(std::move(row));

    print_machine(*machine);
    for (const auto& t : *tasks)
        for (const auto& text : t.left_out) std::printf("left out: %s\n", text.c_str());
    const int threads = w.gather.threads;
    examples::print_crop_tables(*tasks, *rows,
                                machine->cpu_name + ", " + std::to_string(threads) + (threads == 1 ? " thread, " : " threads, ") +
                                    std::to_string(tasks->size()) + " tasks");
    if (!w.figure.empty())
        if (auto drawn = examples::draw_crop_curves(*tasks, *machine, threads, w.figure); !drawn) return complain(drawn.error());
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    bool help = false;
    examples::flag_set flags;
    flags.add_text("data", "FOLDER", "measured programs: <task>.jsonl and <task>.ll.tar.xz", w.gather.data);
    flags.add_switch("loopnest", "instead: schedules of the embedded compiler, measured now or in an earlier run", w.loopnest);
    flags.add_text("cache", "FOLDER", "where measurements and features are kept: what is there is not made again", w.gather.cache);
    flags.add_text("machine", "FILE", "machine file, or the name of a preset, of the machine that measured; default epyc-zen4", w.machine);
    flags.add_number("threads", "N", "1 or 2; default 1", w.gather.threads, 1, 2);
    flags.add_text("only", "TEXT", "tasks whose name has this", w.gather.only);
    flags.add_number("most", "N", "programs a task; default: all", w.gather.most, 1, 1'000'000);
    flags.add_number("kernels", "N", "kernels of --loopnest; default 20", w.nests.kernels, 1, 1000);
    flags.add_number("schedules", "N", "schedules a kernel; default 64", w.nests.schedules, 1, 100'000);
    flags.add_number("rounds", "N", "times that all of them are measured, of which the median counts; default 1", w.nests.rounds, 1, 1000);
    flags.add_text("compiler", "COMMAND", "C compiler that measures them; default: the variable CC, else cc", w.nests.compiler);
    flags.add_text("clang", "COMMAND", "and a row of Crop on this compiler's IR", w.nests.clang);
    flags.add_text("mca", "CPU", "a row of llvm-mca for this -mcpu, times counts of blocks", w.mca);
    flags.add_number("seed", "N", "of all random numbers; default 1", w.rivals.seed, 0, 1'000'000'000);
    flags.add_number("seeds", "N", "trainings of each learned model, whose mean is told; default 3, 0: no learned model", w.rivals.seeds, 0, 1000);
    flags.add_number("folds", "N", "parts of the tasks: each is judged by models that learned from the others; default 5", w.rivals.folds, 2, 1000);
    flags.add_text("figure", "FILE", "curves of measured and predicted times, SVG", w.figure);
    flags.add_switch("help", "print this", help);
    const auto misuse = [](const augur::error& why) { return examples::complain("crop_tables", why, examples::misuse); };
    if (auto read = flags.parse(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0))); !read)
        return misuse(read.error());
    if (help) {
        std::printf("usage: crop_tables --data FOLDER --cache FOLDER [flags]\n       crop_tables --loopnest --cache FOLDER [flags]\n\n%s",
                    flags.help().c_str());
        return examples::done;
    }
    if (w.gather.cache.empty() || w.gather.data.empty() != w.loopnest)
        return misuse({augur::errc::invalid_argument, "--cache and one of --data and --loopnest are needed; try --help"});
    if (w.loopnest && (flags.given("only") || flags.given("most")))
        return misuse({augur::errc::invalid_argument, "--only and --most go with --data"});
    if (!w.loopnest && (flags.given("kernels") || flags.given("schedules") || flags.given("rounds") || flags.given("compiler")))
        return misuse({augur::errc::invalid_argument, "--kernels, --schedules, --rounds and --compiler go with --loopnest"});
    if (!w.mca.empty() && (w.gather.threads != 1 || (w.loopnest && w.nests.clang.empty())))
        return misuse({augur::errc::invalid_argument, "--mca is for one thread, and for IR: with --data or --clang"});
    if (!w.nests.clang.empty() && (!w.loopnest || w.gather.threads != 1))
        return misuse({augur::errc::invalid_argument, "--clang goes with --loopnest on one thread"});
    w.nests.cache = w.gather.cache;
    w.nests.threads = w.gather.threads;
    w.nests.seed = w.rivals.seed;
    return run(w);
}
