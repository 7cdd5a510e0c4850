// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where search pays: how much faster kernels become with more trials, at random and by guided searches. headroom --help, docs/results/headroom.md.
#include "headroom.hpp"
#include "writers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <augur/core/hash.hpp>
#include <augur/core/steady_seconds.hpp>
#include <augur/core/whole_file.hpp>
#include <augur/record/log_reader.hpp>
#include <augur/record/replace_file.hpp>
#include <augur/search/initial_points.hpp>
#include <augur/search/concepts.hpp>
#include <augur/tune/tuner.hpp>
#include <augur/tune/tuning_log.hpp>

#include "crop_picks.hpp"
#include "flags.hpp"
#include "program.hpp"
#include "report.hpp"
#include "session.hpp"

namespace {

using augur::errc;
using augur::error;

struct wishes {
    augur::session_options options; ///< what all sessions share
    std::string folder, language, base, weights, hard_of;
    std::vector<std::string> known_logs; ///< empty: one is measured
    std::size_t of_each = 16, known_kernels = 32, known_trials = 48;
    std::vector<std::string> networks; ///< in place of drawn kernels
    std::size_t easy = 0;              ///< kernels beside the hard ones
    std::vector<std::string> beside;   ///< folders of other runs of the same kernels, for tables
    table_options tables;
    std::size_t each = 0;  ///< trials of each guide; 0: its own number
    std::size_t share = 1; ///< of the trials of a guide, one in so many
    bool tables_only = false;
    bool only_recorded = false;                 ///< no kernel is measured that has no record yet
    std::vector<std::size_t> searches{0, 1, 2}; ///< the guides that are measured

    [[nodiscard]] std::string records() const { return folder + "/kernels.jsonl"; }
    [[nodiscard]] std::string measured_known() const { return folder + "/known.jsonl"; }
    [[nodiscard]] std::vector<std::string> known() const { return known_logs.empty() ? std::vector{measured_known()} : known_logs; }
    [[nodiscard]] std::size_t trials(const guide& g) const { return (each > 0 ? each : g.trials) / share; }
};

augur::result<bool> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    auto& s = w.options;
    bool help = false, quick = false;
    flags.add_text("work", "FOLDER", "records and tables; the same command goes on with what is there; default headroom.work", w.folder);
    flags.add_text("machine", "FILE", "machine file (`machine --out FILE`) or the name of a preset, for Crop; without it its columns are empty",
                   s.machine);
    flags.add_number("kernels", "N", "kernels of each of the three networks; default 16", w.of_each, 1, 1000);
    flags.add_list("networks", "instead of --kernels: all kernels of these networks; tables have the latency of each network, too", w.networks);
    flags.add_text("hard-of", "FILE",
                   "instead of --kernels: the half of the kernels of this kernels.jsonl where random search does worst; may be of another machine",
                   w.hard_of);
    flags.add_number("easy", "N", "beside those of --hard-of, N of its other kernels; default 0", w.easy, 0, 1000);
    flags.add_texts("known", "LOG",
                    "records for the guides with known or transfer, none of a tested kernel; may be given again; default: measured, in the folder",
                    w.known_logs);
    flags.add(
        "guides", "NAME,...",
        "searches to measure of each kernel, of: " + guide_names() +
            ";\nrandom: random search; tlp, crop, trees, hybrid, known (nest), weights: evolution under this model of `tune`; sa, descent, bo:\n"
            "this --search of `tune`; transfer: begins with schedules of known kernels; tlm: a language model drafts, tlm16: only 16 trials,\n"
            "tlm-fixed: without learning from them;\n"
            "crop+tlp, crop+trees, crop+known: Crop drafts for that model; known+descent: descent after 32 trials; without a search: transferred: "
            "schedules of\n"
            "known kernels, nearest first; likely: the most likely of the language model; unmasked: it writes without a mask; base: the model\n"
            "before fine-tuning; trigram: trigrams of the fastest known schedules; default random,tlp,known",
        [&](std::string_view text) -> augur::result<void> {
            w.searches.clear();
            for (std::size_t at = 0, end = 0; at <= text.size(); at = end + 1) {
                end = (std::min)(text.find(',', at), text.size());
                const auto g = find_guide(text.substr(at, end - at));
                if (g == guides.size())
                    return error{errc::invalid_argument,
                                 "expected one of " + guide_names() + ", got '" + examples::shown(text.substr(at, end - at)) + "'"};
                if (std::find(w.searches.begin(), w.searches.end(), g) != w.searches.end())
                    return error{errc::invalid_argument, "'" + std::string(guides[g].name) + "' twice"};
                w.searches.push_back(g);
            }
            return {};
        });
    flags.add_text("language", "FOLDER", "language model (`tlm train`), for the guides with tlm", w.language);
    flags.add_text("base", "FOLDER", "the language model before it was fine-tuned, for the guide base", w.base);
    flags.add_text("weights", "FILE", "weights of TLP or MetaTune, for the guides with weights", w.weights);
    flags.add_number(
        "trials", "N",
        "of each guide; searches of the folder with fewer go on; default: 256 of random and tlp, 128 of those with 128, 64 of the others", w.each, 1,
        1024);
    flags.add_number("seed", "N", "of all random numbers, the choice of kernels among them; default 1", s.search.seed, 0, 1'000'000'000);
    flags.add_number("threads", "N", "threads that kernels use; default: all processors", s.threads, 1, 1024);
    flags.add_text("compiler", "COMMAND", "C compiler, with leading arguments; default: the variable CC, else cc", s.compiler.command);
    flags.add_texts("beside", "FOLDER", "folder of a run of the same kernels with another seed: joins the tables; may be given again", w.beside);
    flags.add("over", "NAME", "search that tables compare the others with; default: the first that all kernels have",
              [&](std::string_view text) -> augur::result<void> {
                  w.tables.over = find_guide(text);
                  if (w.tables.over == guides.size())
                      return error{errc::invalid_argument, "expected one of " + guide_names() + ", got '" + examples::shown(text) + "'"};
                  return {};
              });
    flags.add_switch("quick", "one kernel of each network and an eighth of the trials: shows that it works, in five minutes", quick);
    flags.add_switch("recorded", "only kernels that the folder has records of: adds searches to them", w.only_recorded);
    flags.add_switch("tables", "measure nothing; make tables and chart of what is there", w.tables_only);
    flags.add_switch("help", "print this", help);
    if (auto read = flags.parse(arguments); !read) return read.error();
    if (help) {
        std::printf(
            "usage: headroom [flags]\n\nA kernel is measured on one machine from beginning to end; another machine goes on with the kernels that "
            "are left.\n\n%s\nExit code: 0 done, 1 it failed on the way, 2 wrong flags or files, 130 interrupted (Ctrl-C).\n",
            flags.help().c_str());
        return false;
    }
    if (quick) {
        for (const char* other : {"kernels", "hard-of", "networks"})
            if (flags.given(other)) return error{errc::invalid_argument, "--quick has its own kernels: it does not go with --" + std::string(other)};
        w.of_each = 1;
        w.share = 8;
        if (w.each > 0 && w.each < w.share)
            return error{errc::invalid_argument,
                         "--quick takes an eighth of the trials: expected --trials of 8 at least, got " + std::to_string(w.each)};
        w.known_kernels = 6;
        w.known_trials = 16;
    }
    for (const auto g : w.searches)
        if (s.machine.empty() && (guides[g].model == "crop" || guides[g].model == "hybrid" || guides[g].draft == "crop"))
            return error{errc::invalid_argument, "the guide '" + std::string(guides[g].name) + "' needs --machine"};
    for (const auto g : w.searches)
        if (w.language.empty() && guides[g].draft == "tlm")
            return error{errc::invalid_argument, "the guide '" + std::string(guides[g].name) + "' needs --language"};
    for (const auto g : w.searches)
        if (w.weights.empty() && guides[g].model == given_weights)
            return error{errc::invalid_argument, "the guide '" + std::string(guides[g].name) + "' needs --weights"};
    for (const auto g : w.searches)
        if (w.base.empty() && guides[g].strategy == "base") return error{errc::invalid_argument, "the guide 'base' needs --base"};
    if (std::find(augur::session_models.begin(), augur::session_models.end(), w.weights) != augur::session_models.end())
        return error{errc::invalid_argument, "--weights: expected a file, got the name of a model, '" + w.weights + "'"};
    if (flags.given("kernels") + flags.given("hard-of") + flags.given("networks") > 1)
        return error{errc::invalid_argument, "--hard-of and --networks are in place of --kernels: give one of them"};
    if (auto known = network_kernels(w.networks); !known) return error{known.error().code, "--networks: " + known.error().detail};
    if (w.easy > 0 && w.hard_of.empty()) return error{errc::invalid_argument, "--easy goes with --hard-of"};
    if (w.folder.empty()) w.folder = quick ? "headroom.quick" : "headroom.work";
    s.resume = true;
    s.take_over = false; // what another machine has measured of a kernel does not go into this one's row
    s.search.scheduler = augur::scheduling::round_robin;
    return true;
}

/// Measures random schedules of other networks, which the model `nest` learns from before it sees a test kernel.
augur::result<void> collect_known(const wishes& w, const augur::session_hooks& hooks) {
    auto o = w.options;
    o.work = other_kernels(w.known_kernels, o.search.seed);
    o.search.model = "none";
    o.search.trials = w.known_trials;
    o.search.round = 8;
    o.collect = true;
    o.log = w.measured_known();
    auto s = augur::session::create(std::move(o));
    if (!s) return s.error();
    const auto done = s->tune(hooks);
    if (!done) return done.error();
    return done->searches.back().failed ? augur::result<void>(*done->searches.back().failed) : augur::result<void>();
}

bool any_of_guides(std::span<const std::size_t> searches, bool (*wanted)(const guide&)) {
    return std::any_of(searches.begin(), searches.end(), [&](std::size_t g) { return wanted(guides[g]); });
}
bool has_nest(const guide& g) { return g.model == "nest"; }
bool has_transfers(const guide& g) { return g.transfers > 0; }
bool only_writes(const guide& g) { return std::find(writers.begin(), writers.end(), g.strategy) != writers.end(); }
bool has_language(const guide& g) { return g.draft == "tlm" && !only_writes(g); }
bool counts_trigrams(const guide& g) { return g.strategy == "trigram"; }
bool uses_known(std::span<const std::size_t> searches) {
    return any_of_guides(searches, has_nest) || any_of_guides(searches, has_transfers) || any_of_guides(searches, counts_trigrams);
}

/// A strategy that proposes nothing.
struct no_more {
    template <class Space, class Scorer>
    static augur::result<std::vector<augur::decision_vector>> propose(const Space&, Scorer&, std::size_t, augur::random_engine&) {
        return std::vector<augur::decision_vector>();
    }
    static void observe(std::span<const augur::measured_decisions>) {}
};

/// Measures given schedules of a session's only kernel, with a log as a search has it.
augur::result<augur::search_report> measure_points(augur::session& s, const std::string& name, const std::string& path,
                                                   std::vector<augur::decision_vector> points, const augur::session_hooks& hooks) {
    auto log = augur::open_tuning_log(path, s.tasks(), s.made_with());
    if (!log) return log.error();
    augur::tuning_options options;
    options.trials = points.size();
    options.batch = 8; // as a session
    options.round = (std::min)(points.size(), std::size_t{16});
    std::vector<augur::initial_points<no_more>> given;
    given.emplace_back(no_more(), std::move(points));
    augur::tuner tuner(s.tasks(), s.spaces(), given, options);
    (void)tuner.resume(std::move(log->found.trials));
    augur::tuning_hooks<augur::step_list, augur::loopnest::kernel_task> tuning;
    tuning.sink = augur::log_sink(log->writer, s.made_with());
    tuning.stop = hooks.stop;
    if (auto done = tuner.run(s.runner(), tuning); !done) return done.error();
    if (auto written = log->writer.flush(); !written) return written.error();
    return s.recorded(name, path);
}

/// Measures some searches of one kernel; none if it was interrupted.
/// @param others  the kernel's record with its other searches; null: there is none.   Errors: version_mismatch: it is of another machine
augur::result<std::optional<kernel_record>> measure_kernel(const wishes& w, const schedule_writers* writing, std::span<const std::size_t> searches,
                                                           const std::string& network, const augur::kernel& k, std::size_t number,
                                                           const kernel_record* others, const augur::session_hooks& hooks) {
    const auto log_of = [&](const guide& g) {
        return w.folder + "/logs/" + (number < 10 ? "0" : "") + std::to_string(number) + "_" + std::string(g.name) + ".jsonl";
    };
    auto o = w.options;
    o.work.name = k.text();
    o.work.add(k);
    o.search.model = "none";
    if (any_of_guides(searches, has_nest)) { // what they need is read now
        o.search.model = "nest";
    }
    if (uses_known(searches)) o.transfer_from = w.known(); // without what it has of this kernel
    if (any_of_guides(searches, has_language)) o.search.language = w.language;
    const auto first = std::find_if(searches.begin(), searches.end(), [](std::size_t g) { return !only_writes(guides[g]); });
    if (first != searches.end()) o.log = log_of(guides[*first]);
    auto s = augur::session::create(std::move(o));
    if (!s) return s.error();
    if (others != nullptr && others->machine != s->made_with().machine)
        return error{errc::version_mismatch, "its other searches are of another machine (" +
                                                 augur::first_difference(s->made_with().machine, others->machine) + "); use another folder"};
    if (auto measured = s->measure_baselines(hooks); !measured) return measured.error();

    kernel_record r;
    r.kernel = k.text();
    r.label = s->report().kernels[0].label;
    r.network = network;
    r.machine = s->made_with().machine;
    r.limit = s->report().kernels[0].limit;
    r.bound = s->report().kernels[0].bound_name();
    std::vector<augur::search_report> found;
    for (const auto g : searches) {
        r.searches[g].asked = w.trials(guides[g]);
        if (only_writes(guides[g])) {
            const bool fresh = !std::filesystem::exists(log_of(guides[g]));
            const double start = augur::steady_seconds();
            auto points = writing->write(guides[g].strategy, *s, 0, w.trials(guides[g]), w.options.search.seed);
            if (!points) return points.error();
            if (points->empty()) { // nothing legal was written
                r.searches[g].latencies.assign(1, std::numeric_limits<double>::infinity());
                found.emplace_back(std::string(guides[g].name), s->tasks().size());
                continue;
            }
            auto measured = measure_points(*s, std::string(guides[g].name), log_of(guides[g]), *std::move(points), hooks);
            if (!measured) return measured.error();
            if (examples::stop_requested().load()) return std::optional<kernel_record>();
            r.searches[g].latencies = measured->latencies[0];
            if (fresh) r.searches[g].seconds = augur::steady_seconds() - start;
            found.push_back(*std::move(measured));
            continue;
        }
        if (g != *first)
            if (auto opened = s->open_log(log_of(guides[g]), true); !opened) return opened.error();
        augur::session_search settings = w.options.search;
        settings.model = guides[g].model == given_weights ? w.weights : std::string(guides[g].model);
        if (guides[g].draft == "tlm") settings.language = w.language;
        else settings.draft = guides[g].draft;
        settings.transfers = (std::min)(guides[g].transfers, w.trials(guides[g]));
        settings.evolve_transfers = settings.transfers > 0;
        settings.only_transfers = guides[g].strategy == all_transfers;
        if (!settings.only_transfers) settings.strategy = guides[g].strategy;
        settings.descend_after = guides[g].descend_after;
        settings.language_trials = guides[g].language_trials;
        settings.language_learns = guides[g].language_learns;
        if (settings.language_trials > 0) settings.transfers = 0; // they join the population of the evolution that follows
        settings.trials = w.trials(guides[g]);
        settings.round = (std::min)(settings.trials, std::size_t{16});
        auto searched = s->search(std::string(guides[g].name), settings, true, hooks);
        if (searched.failed) return *searched.failed;
        if (examples::stop_requested().load()) return std::optional<kernel_record>();
        r.searches[g].latencies = searched.latencies[0];
        if (r.searches[g].latencies.empty()) r.searches[g].latencies.assign(1, std::numeric_limits<double>::infinity()); // no known schedule fits
        if (searched.summary && searched.summary->recorded == 0) {
            r.searches[g].seconds = searched.summary->seconds;
            r.searches[g].choosing = searched.summary->propose_seconds + searched.summary->train_seconds;
        }
        found.push_back(std::move(searched));
    }
    const auto picks = examples::crop_picks(*s, 0, 16, w.options.search.seed);
    if (!picks) return picks.error();
    for (const auto& m : s->measure(s->tasks()[0], *picks)) r.picks.push_back(m.latency());
    s->measure_best(found, hooks);
    if (examples::stop_requested().load()) return std::optional<kernel_record>();
    for (std::size_t i = 0; i < found.size(); ++i) r.searches[searches[i]].winner = found[i].checked_latency[0];
    r.untuned = s->report().kernels[0].untuned;
    return std::optional(std::move(r));
}

/// Writes tables and chart into the folder, and prints the tables that are not of single searches.
augur::result<void> show(const wishes& w, std::vector<kernel_record> records) {
    auto options = w.tables;
    options.own = records.size();
    for (const auto& folder : w.beside) {
        auto others = read_records(folder + "/kernels.jsonl");
        if (!others) return others.error();
        for (auto& r : *others) records.push_back(std::move(r));
    }
    std::map<std::string, double> best;
    for (const auto& r : records) {
        const auto [at, first] = best.emplace(r.kernel, r.best());
        if (!first) at->second = (std::min)(at->second, r.best());
    }
    for (auto& r : records) r.best_elsewhere = best[r.kernel];
    const auto tables = tables_of(records, options);
    if (auto written = augur::replace_file(w.folder + "/tables.md", markdown_of(tables)); !written) return written;
    if (auto written = augur::replace_file(w.folder + "/chart.svg", chart_of(records, options)); !written) return written;
    for (std::size_t t = 0; t < tables.size() && !tables[t].title.starts_with("Share of the best known latency, "); ++t)
        std::printf("\n%s\n\n%s", tables[t].title.c_str(), examples::table_text(tables[t].rows).c_str());
    std::printf("\nall tables: %s/tables.md, chart: %s/chart.svg\n", w.folder.c_str(), w.folder.c_str());
    return {};
}

/// Refuses known logs with records of a tested kernel. A session leaves out the records of its own kernel, but those of the other tested kernels would
/// teach it their networks, which have to be unseen.
/// Errors: invalid_argument: a log has records of a tested kernel; those of the logs
augur::result<void> check_known(std::span<const std::string> logs, std::span<const test_kernel> tested) {
    std::set<std::string> keys;
    for (const auto& [network, k] : tested) keys.insert(k.workload_key());
    for (const auto& path : logs) {
        auto reader = augur::log_reader::open(path);
        if (!reader) return reader.error();
        for (augur::record r;;) {
            const auto more = reader->next(r);
            if (!more) return more.error();
            if (!*more) break;
            if (const auto k = augur::kernel::from_workload_key(r.task.workload_key); k && keys.contains(k->workload_key()))
                return error{errc::invalid_argument, path + ": expected records of other kernels, got those of a tested one: " + k->text()};
        }
    }
    return {};
}

int run(wishes w) {
    examples::catch_signals();
    const auto failed = [](const error& why) { return examples::complain("headroom", why, examples::failed); };
    std::error_code wrong;
    std::filesystem::create_directories(w.folder + "/logs", wrong);
    if (wrong) return examples::complain("headroom", {errc::io, w.folder + ": " + wrong.message()}, examples::misuse);
    std::vector<kernel_record> records;
    if (std::filesystem::exists(w.records(), wrong)) {
        auto read = read_records(w.records());
        if (!read) return examples::complain("headroom", read.error(), examples::misuse);
        records = *std::move(read);
    }
    auto kernels = w.networks.empty() ? test_kernels(w.of_each, w.options.search.seed) : *network_kernels(w.networks);
    w.tables.networks = w.networks;
    if (!w.hard_of.empty()) {
        const auto others = read_records(w.hard_of);
        if (!others) return examples::complain("headroom", others.error(), examples::misuse);
        auto hard = hard_kernels(*others, w.easy);
        if (!hard) return examples::complain("headroom", {hard.error().code, w.hard_of + ": " + hard.error().detail}, examples::misuse);
        kernels = *std::move(hard);
        const auto only_hard = hard_kernels(*others);
        for (const auto& [network, k] : *only_hard) w.tables.hard.push_back(k.text());
    }
    if (!w.tables_only)
        if (auto checked = check_known(w.known_logs, kernels); !checked) return examples::complain("headroom", checked.error(), examples::misuse);
    // What a guide learned from, and what decides its trials, is a part of it.
    const auto claim = [&](const std::string& what, const std::string& settings) { return examples::claim_folder(w.folder + "/" + what, settings); };
    if (!w.tables_only) {
        std::string drawn = examples::text_of("seed %llu\none of %zu trials\n", static_cast<unsigned long long>(w.options.search.seed), w.share);
        if (auto same = claim("drawn", drawn); !same) return examples::complain("headroom", same.error(), examples::misuse);
        if (uses_known(w.searches) && w.known_logs.empty())
            if (auto same = claim("known", "measured\n"); !same) return examples::complain("headroom", same.error(), examples::misuse);
        if (const auto& m = w.options.machine; !m.empty()) {
            std::string name = m;
            if (std::filesystem::exists(m, wrong)) {
                const auto bytes = augur::read_whole_file(m, std::size_t{1} << 26U);
                if (!bytes) return examples::complain("headroom", bytes.error(), examples::misuse);
                name = examples::text_of("%016llx", static_cast<unsigned long long>(augur::fnv1a64(*bytes)));
            }
            if (auto same = claim("machine", "machine " + name + "\n"); !same) return examples::complain("headroom", same.error(), examples::misuse);
        }
    }
    const auto model_files = [](const std::string& folder) {
        return folder.empty() ? std::vector<std::string>() : std::vector{folder + "/model.safetensors", folder + "/tokenizer.json"};
    };
    for (const auto& [what, files] : {std::pair{"known", w.known_logs}, std::pair{"weights", std::vector{w.weights}},
                                      std::pair{"language", model_files(w.language)}, std::pair{"base", model_files(w.base)}}) {
        if (files.empty() || files.front().empty()) continue;
        std::string settings;
        for (const auto& file : files) {
            const auto bytes = augur::read_whole_file(file, std::size_t{1} << 32U);
            if (!bytes) return examples::complain("headroom", bytes.error(), examples::misuse);
            settings += examples::text_of("%s %016llx\n", what, static_cast<unsigned long long>(augur::fnv1a64(*bytes)));
        }
        if (auto same = claim(what, settings); !same) return examples::complain("headroom", same.error(), examples::misuse);
    }
    examples::progress_line progress;
    const auto hooks = examples::hooks_on(progress);
    bool known = !w.known_logs.empty();
    std::optional<schedule_writers> writing;
    for (std::size_t i = 0; i < kernels.size() && !w.tables_only && !examples::stop_requested().load(); ++i) {
        const auto& [network, k] = kernels[i];
        const auto old = std::find_if(records.begin(), records.end(), [text = k.text()](const auto& r) { return r.kernel == text; });
        if (w.only_recorded && old == records.end()) continue;
        std::vector<std::size_t> missing;
        for (const auto g : w.searches)
            if (old == records.end() || old->searches[g].lacks(w.trials(guides[g]))) missing.push_back(g);
        if (missing.empty()) continue;
        if (uses_known(missing) && !std::exchange(known, true))
            if (auto collected = collect_known(w, hooks); !collected) return failed(collected.error());
        if (examples::stop_requested().load()) break;
        if (!writing && any_of_guides(w.searches, only_writes)) {
            std::vector<augur::kernel> tested;
            for (const auto& [of, workload] : kernels) tested.push_back(workload);
            auto loaded = schedule_writers::load(w.language, w.base,
                                                 any_of_guides(w.searches, counts_trigrams) ? w.known() : std::vector<std::string>(), tested);
            if (!loaded) return failed(loaded.error());
            writing.emplace(*std::move(loaded));
        }
        auto measured = measure_kernel(w, writing ? &*writing : nullptr, missing, network, k, i + 1, old == records.end() ? nullptr : &*old, hooks);
        progress.clear();
        if (!measured) return failed({measured.error().code, k.text() + ": " + measured.error().detail});
        if (!*measured) break;
        if (old == records.end()) {
            records.push_back(*std::move(*measured));
        } else {
            for (const auto g : missing) old->searches[g] = std::move((*measured)->searches[g]);
            old->untuned = (*measured)->untuned; // timed next to the new winners
            if (old->picks.empty()) old->picks = std::move((*measured)->picks);
        }
        std::string text;
        for (const auto& r : records) text += to_line(r);
        if (auto written = augur::replace_file(w.records(), text); !written) return failed(written.error());
        std::fprintf(stderr, "%zu/%zu kernels\n", i + 1, kernels.size());
    }
    if (records.empty()) std::printf("nothing measured yet\n");
    else if (auto shown = show(w, records); !shown) return failed(shown.error());
    return examples::stop_requested().load() ? examples::interrupted : examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    const auto go = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w);
    if (!go) return examples::complain("headroom", go.error(), examples::misuse);
    return examples::finish(*go ? run(w) : examples::done);
}
