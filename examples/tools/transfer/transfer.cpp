// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Good schedules for a network in minutes, from the logs of others: examples/transfer --help, docs/results/transfer.md.
#include "transfer.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <augur/record/replace_file.hpp>

#include "flags.hpp"
#include "program.hpp"
#include "schedule_text.hpp"
#include "session.hpp"

namespace {

using augur::errc;
using augur::error;

struct wishes {
    augur::session_options options;
    std::vector<counted_chooser> by;
    std::string weights; ///< of a TLP
    std::size_t count = 3;
    std::string full;                 ///< log of a long search; empty: none
    std::string results;              ///< file
    std::vector<std::string> summary; ///< files of results
    bool print = false;               ///< the schedules
};

augur::result<bool> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    auto& s = w.options;
    bool help = false;
    s.limits = false; // no table has them
    std::string names, level(to_string(s.transfer_level));
    for (const auto& c : choosers) names += "\n  " + std::string(c.name) + std::string(15 - c.name.size(), ' ') + std::string(c.help);
    flags.add_texts("from", "LOG", "log of tuned kernels; may be given again", s.transfer_from);
    examples::add_work_flags(flags, "to", s.work);
    flags.add("by", "NAME,...",
              "what chooses the schedules that are measured; default trees. random:63 measures 63, whatever --count says. Of several, the first is\n"
              "written to --log and compared with the others:" +
                  names,
              [&](std::string_view text) -> augur::result<void> {
                  for (std::size_t at = 0, end = 0; at <= text.size(); at = end + 1) {
                      end = (std::min)(text.find(',', at), text.size());
                      const auto found = read_chooser(text.substr(at, end - at));
                      if (!found) return found.error();
                      if (std::find(w.by.begin(), w.by.end(), *found) == w.by.end()) w.by.push_back(*found);
                  }
                  return {};
              });
    flags.add_number("count", "N", "schedules of a kernel to measure beside its untuned one; default 3", w.count, 1, 1000);
    flags.add_number("best", "N", "schedules of each kernel of the logs to choose from, its fastest ones; default 1", s.transfer_best, 1, 1000);
    flags.add_choice("level", {augur::class_level_names.begin(), augur::class_level_names.end()},
                     "what two kernels must have in common; default operations, the sequence of their operations; prefix: the first of them", level);
    flags.add_switch("other-machines",
                     "take what other machines, compilers or flags have measured as well, the kernels' own schedules among it;\ntrees learn from "
                     "this machine's records alone, so without any choose with --by class",
                     s.transfer_other_machines);
    flags.add_text("machine", "FILE", "machine file (`machine --out FILE`) or the name of a preset, for Crop", s.machine);
    flags.add_text("weights", "FILE", "weights of a TLP (`tlp_pretrain`, `tune --save-model`), for --by tlp", w.weights);
    flags.add_text("full", "LOG", "log of a long search of the same kernels, to compare with: its best are timed again next to those found", w.full);
    flags.add_text("log", "FILE", "write each record as soon as it is measured; `tune --log FILE --resume` goes on with it", s.log);
    flags.add_switch("resume", "go on with the log", s.resume);
    flags.add_text("results", "FILE", "write what was found, a line for each kernel and chooser", w.results);
    flags.add_texts("summary", "FILE", "only print the table of such files, the mean over all of their kernels; may be given again", w.summary);
    flags.add_switch("print", "print the schedule of each kernel, step by step", w.print);
    examples::add_run_flags(flags, s);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf("usage: transfer --from LOG --to NETWORK [flags]\n       transfer --summary FILE\n\n%s\n"
                    "Exit code: 0 done, 1 it failed on the way, 2 wrong flags or files, 130 interrupted.\n",
                    flags.help().c_str());
        return false;
    }
    s.transfer_level = static_cast<augur::class_level>(std::find(augur::class_level_names.begin(), augur::class_level_names.end(), level) -
                                                       augur::class_level_names.begin());
    const auto wrong = [](std::string text) { return error{errc::invalid_argument, std::move(text)}; };
    if (!w.summary.empty()) {
        if (const auto other = flags.given_beside("summary"); !other.empty())
            return wrong("--summary only prints: it does not go with --" + std::string(other));
        return true;
    }
    if (s.work.kernels.empty() || s.transfer_from.empty()) return wrong("expected --from LOG and --to NETWORK or --kernel KERNEL; try --help");
    if (s.resume && s.log.empty()) return wrong("--resume needs --log");
    if (w.by.empty()) w.by.push_back({choosers.data(), 0});
    if (s.transfer_other_machines && std::any_of(w.by.begin(), w.by.end(), [](const auto& c) { return c.by->first == replays; }))
        return wrong("--by replayed takes schedules of this machine only: it does not go with --other-machines");
    if (const auto& first = *w.by.front().by; (first.first == replays || first.first == picks) && !s.log.empty())
        return wrong("--log has what the first of --by measures, which --by " + std::string(first.name) + " does not write: name another one first");
    for (const auto& c : w.by) {
        if ((c.by->model == "crop" || c.by->first == picks) && s.machine.empty())
            return wrong("--by " + c.name() + " needs --machine: `machine --out FILE` writes one");
        if (c.by->model == "weights" && w.weights.empty()) return wrong("--by " + c.name() + " needs --weights: `tlp_pretrain` writes them");
    }
    return true;
}

augur::session_search search_by(const wishes& w, const counted_chooser& c) {
    auto out = w.options.search;
    const chooser& by = *c.by;
    const std::size_t count = c.count == 0 ? w.count : c.count;
    out.model = by.model == "weights" ? w.weights : std::string(by.model);
    out.scheduler = augur::scheduling::round_robin;
    if (by.first == every || by.first == replays) {
        out.only_transfers = true;
        out.transfers = (std::numeric_limits<std::size_t>::max)();
        return out;
    }
    out.transfers = by.first < 0 ? count : (std::min)(count, static_cast<std::size_t>(by.first));
    out.evolve_transfers = by.evolves;
    const std::size_t untuned = by.model == "none" ? 0 : 1; // a search with a model begins with the untuned schedule
    out.trials = count + untuned;
    out.round = (std::min)(count, w.count) + untuned; // of more than --count it learns in between
    return out;
}

/// The class of each kernel, for people: what is computed and fused, or what is written instead.
std::vector<std::string> classes_of(const augur::session& session) {
    std::vector<std::string> out;
    for (const auto& task : session.tasks()) {
        const auto& k = task.workload();
        std::string text(to_string(k.kind()));
        for (const auto op : k.fused()) text.append(" +").append(to_string(op));
        out.push_back(std::move(text));
    }
    return out;
}

int print_summary(const wishes& w) {
    std::vector<examples::transfer_result> all;
    for (const auto& path : w.summary) {
        auto read = examples::read_results(path);
        if (!read) return examples::complain("transfer", read.error(), examples::misuse);
        all.insert(all.end(), read->begin(), read->end());
    }
    std::printf("%s\n%s", examples::table_text(summary_table(all)).c_str(), examples::table_text(rivals_table(all)).c_str());
    return examples::done;
}

int run(wishes w) {
    examples::catch_signals();
    std::vector<examples::named_file> files{{"--log", w.options.log, true},
                                            {"--results", w.results, true},
                                            {"--full", w.full, false},
                                            {"--machine", w.options.machine, false},
                                            {"--weights", w.weights, false}};
    for (const auto& log : w.options.transfer_from) files.push_back({"--from", log, false});
    if (auto apart = examples::keep_apart(files); !apart) return examples::complain("transfer", apart.error(), examples::misuse);
    const auto trees = std::find_if(w.by.begin(), w.by.end(), [](const auto& c) { return c.by->model == "nest"; });
    w.options.search = search_by(w, w.by.front());
    auto prepared = w.options;
    if (trees != w.by.end()) prepared.search = search_by(w, *trees); // so that the logs are read for them
    auto session = augur::session::create(prepared);
    if (!session) return examples::complain("transfer", session.error(), examples::misuse);
    if (!w.results.empty())
        if (auto writable = examples::can_write(w.results); !writable) return examples::complain("transfer", writable.error(), examples::misuse);
    augur::session_report report;
    compared_searches compared;
    if (!w.full.empty()) {
        auto known = session->recorded("full", w.full);
        if (!known) return examples::complain("transfer", known.error(), examples::misuse);
        compared.full = 0;
        report.searches.push_back(*std::move(known));
    }
    examples::progress_line line;
    const auto hooks = examples::hooks_on(line);
    if (auto measured = session->measure_baselines(hooks); !measured) return examples::complain("transfer", measured.error(), examples::failed);
    compared.first = report.searches.size();
    for (const auto& c : w.by) {
        if (examples::stop_requested()) break;
        if (c.by->first == replays || c.by->first == picks) {
            auto made = c.by->first == replays ? replay_search(*session, c.name(), hooks)
                                               : pick_search(*session, c.name(), c.count == 0 ? w.count : c.count, hooks);
            if (!made) return examples::complain("transfer", made.error(), examples::failed);
            report.searches.push_back(*std::move(made));
            continue;
        }
        report.searches.push_back(session->search(c.name(), search_by(w, c), c == w.by.front(), hooks));
        if (report.searches.back().failed) return examples::complain("transfer", *report.searches.back().failed, examples::failed);
    }
    if (report.searches.size() == compared.first) { // stopped while the baselines were measured; what was measured is in the log
        line.clear();
        return examples::interrupted;
    }
    session->measure_best(report.searches, hooks);
    line.clear();
    auto searches = std::move(report.searches);
    report = session->report();
    report.searches = std::move(searches);
    report.options.search = w.options.search;

    for (const auto& [name, text] : examples::facts_of(report)) std::printf("%-16s %s\n", name.c_str(), text.c_str());
    std::printf("\n%s\n", examples::table_text(kernel_table(report, compared.first, compared)).c_str());
    for (std::size_t k = 0; w.print && k < report.kernels.size(); ++k) {
        std::printf("schedule of %s:\n", report.kernels[k].label.c_str());
        for (const auto& step : schedule_text(session->tasks()[k].dag(), report.searches[compared.first].result[k].schedule))
            std::printf("    %s\n", step.c_str());
    }
    if (!report.searches[compared.first].transfers.empty())
        std::printf("%s\n", examples::table_text(class_table(report, compared.first, classes_of(*session))).c_str());
    for (std::size_t i = compared.first; i < report.searches.size(); ++i)
        for (const auto& text : examples::account_of(report.searches[i])) std::printf("%s\n", text.c_str());
    std::vector<examples::transfer_result> all;
    for (std::size_t i = compared.first; i < report.searches.size(); ++i)
        for (auto& r : results_of(report, i, compared)) all.push_back(std::move(r));
    if (compared.full != compared_searches::none) // the long search as well: how many of its trials the first chooser is worth
        for (auto& r : results_of(report, compared.full, compared)) all.push_back(std::move(r));
    if (compared.full != compared_searches::none)
        std::printf("\n%s\n%s", examples::table_text(summary_table(all)).c_str(), examples::table_text(rivals_table(all)).c_str());
    if (!w.options.log.empty()) std::printf("log     %s\n", w.options.log.c_str());
    if (examples::stop_requested()) return examples::interrupted;
    if (!w.results.empty()) {
        std::string text;
        for (const auto& r : all) text += to_line(r) + "\n";
        if (auto written = augur::replace_file(w.results, text); !written) return examples::complain("transfer", written.error(), examples::failed);
        std::printf("results %s\n", w.results.c_str());
    }
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w);
    if (!go) return examples::complain("transfer", go.error(), examples::misuse);
    if (!*go) return examples::done;
    return w.summary.empty() ? run(std::move(w)) : print_summary(w);
}
