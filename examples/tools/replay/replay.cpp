// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares searches without a machine, on recorded measurements: replay --help, docs/replay.md.
#include "replay.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <thread>
#include <utility>

#include "executor.hpp"
#include "flags.hpp"
#include "program.hpp"

#include <augur/core/steady_seconds.hpp>
#include <augur/io/autotvm_archive.hpp>
#include <augur/record/replace_file.hpp>

namespace {

using augur::errc;
using augur::error;

struct wishes {
    std::vector<std::string> logs, autotvm, searches;
    augur::tuning_options search;
    std::size_t seeds = 20, threads = 0;
    std::string report, t4;
    bool help = false;

    wishes() {
        search.trials = 200;
        search.round = 16;
        search.seed = 1;
    }
};

augur::result<void> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    flags.add_texts("log", "FILE", "Kernel Tuner cache or T4 results, plain, .gz or .zst; may be given again: one table each", w.logs);
    flags.add_texts("autotvm", "FILE", "AutoTVM log; may be given again: one table for each of its tasks", w.autotvm);
    const auto known = search_names();
    std::string list;
    for (const auto& name : known) list += (list.empty() ? "" : "|") + name;
    flags.add(
        "search", list, "a search to compare; may be given again; default: all",
        [&](std::string_view text) -> augur::result<void> {
            if (std::find(known.begin(), known.end(), text) == known.end())
                return error{errc::invalid_argument, "expected " + list + ", got '" + examples::shown(text) + "'"};
            w.searches.emplace_back(text);
            return {};
        },
        true);
    flags.add_number("trials", "N", "trials of a search; default 200", w.search.trials, 1, 1'000'000);
    flags.add_number("round", "N", "trials between two trainings of the model; default 16", w.search.round, 1, 1'000'000);
    flags.add_number("seeds", "N", "runs of each search, with different seeds; default 20", w.seeds, 1, 100'000);
    flags.add_number("seed", "N", "the first seed; default 1", w.search.seed, 0, 1'000'000'000'000);
    flags.add_number("threads", "N", "threads; the result is the same for any number; default: all processors", w.threads, 1, 1024);
    flags.add_text("report", "FILE", "write an HTML page with the curves", w.report);
    flags.add_text("t4", "FILE", "write the trials of the last search with the first seed on the last log as T4", w.t4);
    flags.add_switch("help", "print this", w.help);
    if (auto read = flags.parse(arguments); !read) return read;
    if (w.help) std::printf("usage: replay --log FILE | --autotvm FILE [flags]\n\n%s", flags.help().c_str());
    else if (w.logs.empty() && w.autotvm.empty()) return error{errc::invalid_argument, "--log or --autotvm is needed; try --help"};
    if (w.searches.empty()) w.searches = known;
    if (w.threads == 0) w.threads = (std::max)(1U, std::thread::hardware_concurrency());
    return {};
}

augur::result<void> add(std::vector<recording>& to, const std::string& path, augur::tuning_archive archive) {
    if (archive.bad > 0) std::fprintf(stderr, "replay: %s: %zu bad entries are left out\n", path.c_str(), archive.bad);
    std::string name = path + ": " + archive.workload + (archive.device.empty() ? "" : " on " + archive.device);
    auto made = examples::make_recording(std::move(name), std::move(archive));
    if (!made) return error{made.error().code, path + ": " + made.error().detail};
    to.push_back(*std::move(made));
    return {};
}

/// Reads all logs. What cannot be read of a log is said; a log without any record is an error.
augur::result<std::vector<recording>> read_logs(const wishes& w, examples::executor& executor) {
    std::vector<recording> out;
    for (auto& file : augur::read_tuning_archives(w.logs, executor)) {
        if (file.failed && (file.archive.records.empty() || file.failed->code != errc::parse)) return *file.failed;
        if (file.failed) std::fprintf(stderr, "replay: %s\n", file.failed->detail.c_str());
        if (auto ok = add(out, file.path, std::move(file.archive)); !ok) return ok.error();
    }
    auto files = augur::read_autotvm_archives(w.autotvm, executor);
    if (!files) return files.error();
    for (auto& file : *files) {
        const auto& path = file.report.path;
        if (file.tasks.empty()) return error{errc::not_found, path + ": expected records of AutoTVM, found none"};
        if (file.report.summary.bad > 0) std::fprintf(stderr, "replay: %s: %zu bad lines are left out\n", path.c_str(), file.report.summary.bad);
        if (file.report.summary.torn) std::fprintf(stderr, "replay: %s: the log ends within a record, which is left out\n", path.c_str());
        if (file.empty_tasks > 0)
            std::fprintf(stderr, "replay: %s: %zu tasks with %zu records are left out, as no record has a knob\n", path.c_str(), file.empty_tasks,
                         file.bad);
        for (auto& task : file.tasks)
            if (auto ok = add(out, path, std::move(task.records)); !ok) {
                if (ok.error().code != errc::not_found) return ok.error();
                std::fprintf(stderr, "replay: %s\n", ok.error().detail.c_str()); // a task that failed altogether
            }
    }
    if (out.empty()) return error{errc::not_found, "expected a task with a configuration that succeeded, found none"};
    return out;
}

int run(const wishes& w) {
    std::vector<examples::named_file> files{{"--report", w.report, true}, {"--t4", w.t4, true}};
    for (const auto& path : w.logs) files.push_back({"--log", path, false});
    for (const auto& path : w.autotvm) files.push_back({"--autotvm", path, false});
    if (auto apart = examples::keep_apart(files); !apart) return examples::complain("replay", apart.error(), examples::misuse);
    auto executor = examples::make_executor(w.threads);
    const double begin = augur::steady_seconds();
    const auto recordings = read_logs(w, executor);
    if (!recordings) return examples::complain("replay", recordings.error(), examples::misuse);
    for (const auto& path : {w.report, w.t4})
        if (auto ok = path.empty() ? augur::result<void>() : examples::can_write(path); !ok)
            return examples::complain("replay", ok.error(), examples::misuse);
    const double read = augur::steady_seconds();

    std::vector<replayed> all;
    for (const auto& r : *recordings) all.push_back({&r, std::vector(w.searches.size(), std::vector<search_curve>(w.seeds))});
    augur::t4_results trials;
    const std::size_t per_log = w.searches.size() * w.seeds;
    executor.bulk(all.size() * per_log, [&](std::size_t i) {
        const std::size_t log = i / per_log, search = i % per_log / w.seeds, seed = i % w.seeds;
        const bool written = !w.t4.empty() && log + 1 == all.size() && search + 1 == w.searches.size() && seed == 0;
        augur::tuning_options options = w.search;
        options.seed += seed;
        all[log].curves[search][seed] = run_search(*all[log].on, w.searches[search], options, written ? &trials : nullptr);
    });
    for (const auto& r : all)
        for (const auto& seeds : r.curves)
            for (const auto& curve : seeds)
                if (curve.failed) return examples::complain("replay", *curve.failed, examples::failed);

    for (const auto& r : all) {
        std::printf("%s: %zu points, the best has %s ms\n", r.on->name.c_str(), r.on->space.size(), examples::milliseconds(r.on->optimum).c_str());
        std::printf("%s\n", examples::table_text(table_of(r, w.searches, w.search.trials)).c_str());
    }
    std::printf(
        "at N: least recorded latency over the best latency after N trials, median of %zu seeds. seconds: recorded time of compiling and running "
        "the trials\n",
        w.seeds);
    if (!w.report.empty())
        if (auto ok = augur::replace_file(w.report, page_of(all, w.searches, w.search.trials, w.seeds)); !ok)
            return examples::complain("replay", ok.error(), examples::failed);
    if (!w.t4.empty())
        if (auto ok = trials.write(w.t4); !ok) return examples::complain("replay", ok.error(), examples::failed);
    std::fprintf(stderr, "reading %.2f s, %zu searches %.2f s\n", read - begin, all.size() * per_log, augur::steady_seconds() - read);
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    if (auto read = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w); !read)
        return examples::complain("replay", read.error(), examples::misuse);
    return examples::finish(w.help ? examples::done : run(w));
}
