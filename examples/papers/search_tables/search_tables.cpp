// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Searches on recorded measurements of AutoTVM and Kernel Tuner, and their tables: search_tables --help, docs/results/search.md.
#include "search_tables.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "console.hpp"
#include "executor.hpp"
#include "flags.hpp"
#include "program.hpp"

#include <augur/core/steady_seconds.hpp>

namespace {

using augur::errc;
using augur::error;

struct wishes {
    std::string data, work;
    std::vector<std::string> searches, devices;
    std::size_t trials = 128, seeds = 10, trainings = 1, threads = 0, first_round = 0;
    task_choice choice;
    bool quick = false, help = false;
};

augur::result<void> read_flags(std::span<char* const> arguments, wishes& w) {
    examples::flag_set flags;
    const auto known = search_names();
    std::string list;
    for (const auto& name : known) list += (list.empty() ? "" : "|") + name;
    flags.add_text("work", "FOLDER", "where the results are; the same command goes on from them", w.work);
    flags.add_data_folder("autotvm/ and kernel-tuner/", w.data);
    flags.add_texts(
        "device", "NAME",
        "only this device: a log's name up to the first dot, or up to .jsonl; each :NAME behind it is a log whose tasks are learned from; "
        "may be given again",
        w.devices);
    flags.add(
        "search", list,
        "a search to run; may be given again; default: all. STRATEGY+MODEL:HOW; reg: trees with a regression loss; plain: networks that read\n"
        "graphs without a super-graph, knobs: parameters instead of loops (MetaTune's meta-BO is bo+meta:faithful:plain,\n"
        "its meta-RL rl+meta:plain, and with -T without :plain)",
        [&](std::string_view text) -> augur::result<void> {
            if (std::find(known.begin(), known.end(), text) == known.end())
                return error{errc::invalid_argument, "expected " + list + ", got '" + examples::shown(text) + "'"};
            w.searches.emplace_back(text);
            return {};
        },
        true);
    flags.add_number("tasks", "N", "tasks of a device with AutoTVM logs; default 6", w.choice.tasks, 1, 1000);
    flags.add_number("draw", "N", "seed of the draw of these tasks; default 1", w.choice.seed, 0, 1'000'000'000'000);
    flags.add_switch("by-hash", "instead of a draw, the convolutions whose hash is 0 modulo 5: the same on all devices, and never learned from",
                     w.choice.by_hash);
    flags.add_number("trials", "N", "trials of a search; default 128", w.trials, 16, 100'000);
    flags.add_number("first-round", "N",
                     "trials of the first round; later ones are as large as what has been tried, up to the round of 16 (8 where all points are\n"
                     "recorded); default: all rounds are full. sa+xgb:64 keeps AutoTVM's plan",
                     w.first_round, 1, 100'000);
    flags.add_number("seeds", "N", "searches of each kind on each task; default 10", w.seeds, 1, 10'000);
    flags.add_number("trainings", "N", "trainings of each network; the search of seed s takes training 1 + (s - 1) mod N; default 1", w.trainings, 1,
                     1000);
    flags.add_number("threads", "N", "searches and trainings at the same time; of the tables only the seconds differ; default: all processors",
                     w.threads, 1, 1024);
    flags.add_switch("quick", "a made-up device instead of data, two seeds", w.quick);
    flags.add_switch("help", "print this", w.help);
    if (auto read = flags.parse(arguments); !read) return read;
    if (w.help) std::printf("usage: search_tables --work FOLDER [flags]\n\n%s", flags.help().c_str());
    else if (w.work.empty()) return error{errc::invalid_argument, "--work is needed; try --help"};
    for (const auto& search : w.searches)
        if (distinct_seeds(search, w.seeds, w.trainings) == 0)
            return error{errc::invalid_argument, "--search: expected --trainings of 2 or more for " + search + ", got 1"};
    if (w.searches.empty()) w.searches = known;
    w.choice.any_template = std::any_of(w.searches.begin(), w.searches.end(), [](const auto& s) { return encoding_of(s) == encoding::knobs; });
    if (w.threads == 0) w.threads = (std::max)(1U, std::thread::hardware_concurrency());
    if (w.quick) w.seeds = (std::min)(w.seeds, std::size_t{2});
    return {};
}

struct job {
    std::size_t device, task;
    std::string search, learned; ///< `learned_by`
    std::uint64_t seed;
};

network_plan quick_plan() {
    network_plan p;
    p.steps = 30;
    p.batch = 16;
    p.queries = 16;
    return p;
}

int run(const wishes& w) {
    std::error_code code;
    std::filesystem::create_directories(w.work, code);
    auto results = open_results(w.work + "/results.jsonl", w.trials, w.trainings);
    if (!results) return examples::complain("search_tables", results.error(), examples::misuse);
    auto threads = examples::make_executor(w.threads);
    std::vector<device_records> devices;
    if (w.quick) {
        devices.push_back(made_up_device());
    } else {
        auto read = read_devices(w.data, w.devices, w.choice, threads);
        if (!read) return examples::complain("search_tables", read.error(), examples::misuse);
        devices = *std::move(read);
    }
    examples::catch_signals();
    for (std::size_t e = 0; e < encodings; ++e) {
        const auto as = static_cast<encoding>(e);
        if (std::none_of(w.searches.begin(), w.searches.end(), [&](const auto& s) { return uses_network(s) && encoding_of(s) == as; })) continue;
        for (device_records& d : devices) {
            if (d.as(as).graphs.rows != nullptr) continue; // made up
            auto rows = recorded_loops_of(d, as);
            if (!rows) return examples::complain("search_tables", rows.error(), examples::misuse);
            d.as(as).graphs = *std::move(rows);
        }
    }
    if (std::any_of(w.searches.begin(), w.searches.end(), uses_network))
        if (auto learned = learn_networks(devices, w.quick ? quick_plan() : network_plan{}, w.trainings, w.work, threads); !learned)
            return examples::complain("search_tables", learned.error(), examples::exit_code_of(learned.error()));
    if (std::any_of(w.searches.begin(), w.searches.end(), uses_language))
        if (auto learned = learn_languages(devices, w.quick ? language_plan{20, 1, 4, 1} : language_plan{}, w.trainings, threads); !learned)
            return examples::complain("search_tables", learned.error(), examples::exit_code_of(learned.error()));
    std::vector<std::string> replayed, exhaustive;
    text_table sources{{"device", "records", "tasks", "replayed", "copied, left out", "slow sessions", "records scaled", "unreadable"}};
    for (const auto& d : devices) {
        (d.exhaustive ? exhaustive : replayed).push_back(d.device);
        const examples::cleaning& c = d.cleaned;
        std::vector<std::string> row{d.device};
        for (const std::size_t n : {c.records, d.all_tasks, d.replayed, c.copied, c.slow_sessions, c.scaled, c.bad}) row.push_back(std::to_string(n));
        sources.push_back(std::move(row));
    }
    std::printf("%s\n", examples::table_text(sources).c_str());

    std::vector<job> jobs;
    std::set<result_key> planned;
    for (std::size_t d = 0; d < devices.size(); ++d)
        for (std::size_t t = 0; t < devices[d].replayed; ++t)
            for (const auto& search : w.searches) {
                if (!applies(devices[d], t, search)) continue;
                const auto learned = learned_by(search, devices[d], t);
                for (std::uint64_t seed = 1; seed <= distinct_seeds(search, w.seeds, w.trainings); ++seed) {
                    result_key key{devices[d].device, devices[d].tasks[t].name, search, first_round_of(search, w.first_round), seed, learned};
                    if (results->find(key) == nullptr) jobs.push_back({d, t, search, learned, seed});
                    planned.insert(std::move(key));
                }
            }
    std::mutex one_at_a_time;
    std::optional<error> failed;
    std::size_t done = 0;
    const double begin = augur::steady_seconds();
    threads.bulk(jobs.size(), [&](std::size_t i) {
        if (examples::stop_requested()) return;
        const auto& [d, t, search, learned, seed] = jobs[i];
        const auto& task = devices[d].tasks[t];
        const std::size_t first_round = first_round_of(search, w.first_round);
        auto curve = run_search(devices[d], t, search, {w.trials, first_round}, seed);
        const std::scoped_lock<std::mutex> lock(one_at_a_time);
        if (curve.failed) {
            if (!failed) failed = error{curve.failed->code, devices[d].device + ", " + task.name + ", " + search + ": " + curve.failed->detail};
            examples::stop_requested() = true;
            return;
        }
        const auto errors = errors_of(curve, task.optimum);
        search_result found{devices[d].device,
                            task.name,
                            search,
                            seed,
                            w.trials,
                            first_round,
                            w.trainings,
                            task.optimum,
                            curve.proposing,
                            std::move(curve.best),
                            curve.seconds.empty() ? 0 : curve.seconds.back(),
                            errors,
                            learned};
        const auto key = key_of(found);
        if (auto added = results->add(key, std::move(found)); !added) {
            failed = added.error();
            examples::stop_requested() = true;
        }
        if (++done % 20 == 0) {
            const double seconds = augur::steady_seconds() - begin;
            const double left = seconds / static_cast<double>(done) * static_cast<double>(jobs.size() - done);
            std::fprintf(stderr, "%zu/%zu searches, %s left\n", done, jobs.size(), examples::clock_text(left).c_str());
        }
    });
    if (failed) return examples::complain("search_tables", *failed, examples::failed);
    if (examples::stop_requested()) {
        std::fprintf(stderr, "stopped after %zu of %zu searches; the same command goes on\n", done, jobs.size());
        return examples::interrupted;
    }
    std::map<result_key, search_result> shown; // the folder may have others
    for (const auto& [key, r] : results->all())
        if (planned.contains(key)) shown.insert({key, r});
    std::printf(
        "Share of the best recorded speed, geometric mean over the tasks of the geometric mean over %zu seeds (of what does not draw: over %zu "
        "trainings), and of the trials to 0.95 of it (a search that did not get there counts %zu); the share that did not, and the seconds of "
        "strategy and model in a search.\n\n",
        w.seeds, w.trainings, w.trials);
    for (const auto* group : {&replayed, &exhaustive}) {
        if (group->empty()) continue;
        std::printf("%s\n", group == &replayed ? "AutoTVM logs" : "All points of the space recorded");
        std::printf("%s\n", examples::table_text(share_table(shown, *group, w.searches, w.trials)).c_str());
        std::printf("%s\n", examples::table_text(ratio_table(shown, *group, w.searches, w.trials)).c_str());
        std::printf("Minutes of all searches of a device, one after the other\n%s\n",
                    examples::table_text(minutes_table(shown, *group, w.searches, w.trials)).c_str());
        std::printf("Errors of the predicted speeds, in units of the best recorded one; D: the fastest quarter of the trials\n%s\n",
                    examples::table_text(error_table(shown, *group, w.searches, w.trials)).c_str());
    }
    return examples::done;
}

} // namespace

int main(int argc, char** argv) {
    wishes w;
    if (auto read = read_flags(std::span<char* const>(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)), w); !read)
        return examples::complain("search_tables", read.error(), examples::misuse);
    return examples::finish(w.help ? examples::done : run(w));
}
