// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Crop and a learner together: the latency that tuning reaches with Crop's prediction, with trees that learn, with both, and at random.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <augur/core/hash.hpp>
#include <augur/core/whole_file.hpp>

#include "flags.hpp"
#include "program.hpp"
#include "session.hpp"
#include "statistics.hpp"

namespace {

using augur::errc;
using augur::error;

struct method {
    const char *id, *name, *model;
};
constexpr std::array methods{method{"random", "random", "none"}, // the only one that does not begin with the untuned schedule
                             method{"crop", "Crop alone", "crop"}, method{"trees", "learned alone", "trees"}, method{"hybrid", "hybrid", "hybrid"}};

struct wishes {
    augur::session_options options;
    std::string folder;
    std::size_t kernels = 6, seeds = 5;
    std::uint64_t drawn_by = 1;
    bool quick = false;
};

augur::result<bool> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    auto& s = w.options;
    bool help = false;
    flags.add_text("machine", "FILE", "machine file (`machine --out FILE`) or the name of a preset: what Crop predicts", s.machine);
    flags.add_text("work", "FOLDER", "logs; the same command goes on with what is there; default hybrid.work", w.folder);
    flags.add_number("kernels", "N", "kernels, drawn from the networks; default 6", w.kernels, 1, 1000);
    flags.add_number("draw", "N", "seed that draws them; default 1", w.drawn_by, 0, 1'000'000'000);
    flags.add_number("trials", "N", "candidates a kernel; default 64", s.search.trials, 2, 1'000'000);
    flags.add_number("round", "N", "candidates of a kernel between two looks at the model; default 8", s.search.round, 1, 1'000'000);
    flags.add_number("population", "N", "schedules a generation of the search; default 128", s.search.population, 16, 1'000'000);
    flags.add_number("seeds", "N", "searches of each kind; default 5", w.seeds, 1, 1000);
    flags.add_number("seed", "N", "the first; default 1", s.search.seed, 0, 1'000'000'000);
    flags.add_number("threads", "N", "threads that kernels use; default 1", s.threads, 1, 1024);
    flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc", s.compiler.command);
    flags.add_switch("quick", "two small kernels, few candidates: shows that it works, in a minute", w.quick);
    flags.add_switch("help", "print this", help);
    s.threads = 1;
    s.search.model = "hybrid"; // the one that needs most: what it lacks is told now
    s.search.population = 128;
    s.search.round = 8;
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf("usage: hybrid --machine FILE [flags]\n\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags or files, 130 "
                    "interrupted.\n",
                    flags.help().c_str());
        return false;
    }
    if (s.machine.empty()) return error{errc::invalid_argument, "--machine is needed: `machine --out FILE` writes one"};
    if (w.folder.empty()) w.folder = w.quick ? "hybrid.quick" : "hybrid.work";
    if (w.quick) {
        for (const char* name : {"kernels", "draw"})
            if (flags.given(name)) return error{errc::invalid_argument, "--quick has its own kernels: it does not go with --" + std::string(name)};
        if (!flags.given("trials")) s.search.trials = 16;
        if (!flags.given("seeds")) w.seeds = 2;
        if (!flags.given("population")) s.search.population = 64;
        s.work.name = "two small kernels";
        for (const char* k : {"dense:m=32,n=64,k=64,bias,relu", "conv2d:h=14,w=14,c=16,f=32,k=3,pad=1,bias"})
            if (auto added = s.work.add(augur::kernel::parse(k)); !added) return added.error();
    } else {
        s.work = examples::draw_kernels(w.kernels, w.drawn_by);
    }
    s.resume = true;
    s.take_over = false; // models are compared on one machine
    s.search.scheduler = augur::scheduling::round_robin;
    return true;
}

/// What must stay the same as long as a folder is gone on with.   Errors: those of the machine file
augur::result<std::string> settings_of(const augur::session& s) {
    std::string out;
    const auto& o = s.options();
    std::string machine = o.machine;
    if (std::error_code none; std::filesystem::exists(machine, none)) { // a file, whose content counts; else a preset
        const auto bytes = augur::read_whole_file(machine, std::size_t{1} << 26U);
        if (!bytes) return bytes.error();
        machine = examples::text_of("%016llx", static_cast<unsigned long long>(augur::fnv1a64(*bytes)));
    }
    const auto add = [&](const std::string& name, const std::string& value) { out += name + " " + value + "\n"; };
    add("platform", augur::to_text(s.made_with().machine));
    add("machine", machine);
    add("compiler", s.made_with().machine.compiler + " " + s.made_with().flags);
    add("threads", std::to_string(s.report().threads));
    add("candidates", std::to_string(o.search.trials) + " in rounds of " + std::to_string(o.search.round_size()));
    add("population", std::to_string(o.search.population));
    for (const auto& k : o.work.kernels) add("kernel", k.workload.text());
    return out;
}

/// Latencies of one search, by kernel in their order.
using search_log = std::vector<std::vector<double>>;

augur::result<search_log> read_log(const augur::session& s, const std::string& path) {
    const auto old = augur::read_trials(path, s.tasks(), s.made_with());
    if (!old) return old.error();
    search_log out(s.tasks().size());
    for (const auto& t : old->trials)
        for (std::size_t k = 0; k < out.size(); ++k)
            if (augur::task_identity(s.tasks()[k]) == t.task) out[k].push_back(t.outcome.latency());
    return out;
}
/// Has every kernel all its candidates? A search may end before where a space has no more to give: then it is done again, which measures nothing.
bool is_whole(const search_log& log, std::size_t trials) {
    return std::all_of(log.begin(), log.end(), [&](const auto& one) { return one.size() >= trials; });
}

double best_of(std::span<const double> latencies, std::size_t n) {
    double best = std::numeric_limits<double>::infinity();
    for (const double x : latencies.first((std::min)(n, latencies.size()))) best = (std::min)(best, x);
    return best;
}

/// "1.234 +- 0.056": the mean, and half of its 95 % interval.
std::string text_of_mean(const std::vector<double>& values) {
    const auto m = examples::arithmetic(values);
    return m.count < 2 ? examples::text_of("%.3f", m.mean) : examples::text_of("%.3f +- %.3f", m.mean, m.high - m.mean);
}

/// For each method and seed: a search.
using all_logs = std::array<std::vector<search_log>, methods.size()>;

void print_tables(const augur::session& s, const all_logs& logs) {
    const std::size_t trials = s.options().search.trials;
    const std::array counts{trials / 2, trials};
    std::vector<double> best(s.tasks().size(), std::numeric_limits<double>::infinity());
    auto untuned = best; // the first trial of each search with a model; counts for all searches, with its least measurement
    for (std::size_t m = 0; m < methods.size(); ++m)
        for (const auto& log : logs[m])
            for (std::size_t k = 0; k < best.size(); ++k) {
                best[k] = (std::min)(best[k], best_of(log[k], trials));
                if (m > 0) untuned[k] = (std::min)(untuned[k], best_of(log[k], 1));
            }
    // By kernel: the geometric mean over the seeds of the latency over the best one that any search found.
    std::vector<std::vector<std::string>> rows{{"kernel", "best ms"}};
    for (const auto n : counts)
        for (const auto& m : methods) rows[0].push_back(m.name + (" " + std::to_string(n)));
    const auto excess = [&](const search_log& log, std::size_t k, std::size_t n) {
        return std::log((std::min)(best_of(log[k], n), untuned[k]) / best[k]);
    };
    for (std::size_t k = 0; k < best.size(); ++k) {
        auto& row = rows.emplace_back(std::vector<std::string>{s.report().kernels[k].label, examples::milliseconds(best[k])});
        for (const auto n : counts)
            for (const auto& of_method : logs) {
                double sum = 0;
                for (const auto& log : of_method) sum += excess(log, k, n) / static_cast<double>(of_method.size());
                row.push_back(examples::text_of("%.3f", std::exp(sum)));
            }
    }
    std::printf("\n%s\n", examples::table_text(rows).c_str());
    // By method: the geometric mean over the kernels, then mean and interval over the seeds.
    rows.assign(1, {"latency over the best of all"});
    for (const auto n : counts) rows[0].push_back("after " + std::to_string(n));
    for (const auto n : counts) rows[0].push_back("hybrid's over it, " + std::to_string(n));
    for (std::size_t m = 0; m < methods.size(); ++m) {
        auto& row = rows.emplace_back(std::vector<std::string>{methods[m].name});
        const auto means = [&](const search_log& log, std::size_t n) {
            double sum = 0;
            for (std::size_t k = 0; k < best.size(); ++k) sum += excess(log, k, n) / static_cast<double>(best.size());
            return std::exp(sum);
        };
        for (const auto n : counts) {
            std::vector<double> values;
            for (const auto& log : logs[m]) values.push_back(means(log, n));
            row.push_back(text_of_mean(values));
        }
        for (const auto n : counts) {
            std::vector<double> values;
            for (std::size_t i = 0; i < logs[m].size(); ++i) values.push_back(means(logs.back()[i], n) / means(logs[m][i], n));
            row.push_back(m + 1 == methods.size() ? "-" : text_of_mean(values));
        }
    }
    std::printf("%s\n+- is half of the 95 %% interval over %zu seeds. The untuned schedule counts for all of them.\n",
                examples::table_text(rows).c_str(), logs.front().size());
}

int run(wishes& w) {
    const auto complain = [](const error& why, int code) { return examples::complain("hybrid", why, code); };
    examples::catch_signals();
    auto session = augur::session::create(std::move(w.options));
    if (!session) return complain(session.error(), examples::misuse);
    auto& s = *session;
    const auto settings_text = settings_of(s);
    if (!settings_text) return complain(settings_text.error(), examples::misuse);
    if (auto mine = examples::claim_folder(w.folder, *settings_text); !mine) return complain(mine.error(), examples::misuse);
    for (const auto& [name, text] : examples::facts_of(s.report())) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    std::fflush(stdout);
    examples::progress_line progress;
    const auto hooks = examples::hooks_on(progress);
    all_logs logs;
    auto settings = s.options().search;
    const auto first = settings.seed;
    for (std::uint64_t seed = first; seed < first + w.seeds; ++seed) // a seed of all methods, then the next: a busy hour meets all alike
        for (std::size_t m = 0; m < methods.size(); ++m) {
            settings.seed = seed;
            settings.model = methods[m].model;
            const auto path = w.folder + "/" + methods[m].id + "-" + std::to_string(seed) + ".jsonl";
            if (auto opened = s.open_log(path, true); !opened) return complain(opened.error(), examples::failed);
            auto log = read_log(s, path);
            if (log && !is_whole(*log, settings.trials)) {
                const auto searched = s.search(std::string(methods[m].name) + ", seed " + std::to_string(seed), settings, true, hooks);
                progress.clear();
                if (searched.failed) return complain(*searched.failed, examples::failed);
                if (examples::stop_requested().load()) return examples::interrupted;
                log = read_log(s, path);
            }
            if (!log) return complain(log.error(), examples::failed);
            logs[m].push_back(*std::move(log));
        }
    print_tables(s, logs);
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w);
    if (!go) return examples::complain("hybrid", go.error(), examples::misuse);
    return *go ? run(w) : examples::done;
}
